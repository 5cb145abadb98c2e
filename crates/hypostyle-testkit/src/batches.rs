//! Proptest strategies for tables that a format supports.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Float64Array, Int32Array, Int64Array, LargeStringArray, RecordBatch,
    StringArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{Field, Schema};
use hypostyle::ColumnSource;
use hypostyle::coerce::{CoerceOptions, CoercedTable};
use hypostyle::formats::Format;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// The features of a format that a generated table may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// Null values.
    pub nulls: bool,
    /// 64-bit integers.
    pub int64: bool,
    /// Numbers of any type.
    pub numbers: bool,
}

impl Features {
    /// Returns the features of one format.
    pub fn of(format: &dyn Format) -> Self {
        let capabilities = format.capabilities();
        Self { nulls: capabilities.nulls, int64: capabilities.int64, numbers: capabilities.numbers }
    }

    /// Returns the features that both have.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            nulls: self.nulls && other.nulls,
            int64: self.int64 && other.int64,
            numbers: self.numbers && other.numbers,
        }
    }
}

/// Coerces a table to the types of a format: where it has no numbers, numbers become text.
pub fn coerced(format: &dyn Format, batch: &RecordBatch) -> RecordBatch {
    let coerced =
        CoercedTable::try_new(batch, format.capabilities(), &CoerceOptions::default()).unwrap();
    let arrays = (0..batch.num_columns()).map(|column| coerced.column(column).unwrap().remove(0));
    RecordBatch::try_new(coerced.schema(), arrays.collect()).unwrap()
}

/// Generates tables of 1 to 8 columns and 0 to 60 rows that this format supports.
pub fn for_format(format: &dyn Format) -> BoxedStrategy<RecordBatch> {
    batch(Features::of(format))
}

/// Generates tables of 1 to 8 columns and 0 to 60 rows.
///
/// Names are unique and not blank, even after the trimming that CLMN readers do. Arrays are slices
/// of longer arrays, and null slots contain values: an encoder must ignore both.
pub fn batch(features: Features) -> BoxedStrategy<RecordBatch> {
    (1..=8_usize, 0..=60_usize)
        .prop_flat_map(move |(width, rows)| {
            (vec(name(), width), vec(array(features, rows), width), Just(rows))
        })
        .prop_map(|(names, arrays, rows)| assemble(names, arrays, rows))
        .boxed()
}

fn assemble(names: Vec<String>, arrays: Vec<ArrayRef>, rows: usize) -> RecordBatch {
    let mut seen = HashSet::new();
    let unique = names.into_iter().enumerate().map(|(index, mut name)| {
        if trimmed(&name).is_empty() {
            name.push_str("blank");
        }
        while !seen.insert(trimmed(&name).to_owned()) {
            name = format!("{name}~{index}");
        }
        name
    });
    let fields: Vec<_> = unique
        .zip(&arrays)
        .map(|(name, array)| Field::new(name, array.data_type().clone(), array.null_count() > 0))
        .collect();
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options).unwrap()
}

/// Trims a name as Java's `String.trim` does.
fn trimmed(name: &str) -> &str {
    name.trim_matches(|c| c <= ' ')
}

fn name() -> BoxedStrategy<String> {
    let odd = [
        "id",
        "ID",
        "",
        " ",
        " id ",
        "a,b",
        "a\"b",
        "a\\b",
        "a\nb",
        "\u{1}\u{1f}x",
        "\u{7f}",
        "naïve",
        "名前",
        "😀",
        "e\u{301}",
        "\u{202e}rtl",
        "\u{feff}bom",
        "\u{a0}",
        "\0",
        "null",
        "{\"name\":1}",
        "\u{2028}",
        "𝔘𝔫𝔦",
    ];
    prop_oneof![
        4 => select(odd.to_vec()).prop_map(str::to_owned),
        4 => vec(any::<char>(), 1..6).prop_map(String::from_iter),
        1 => (select(&['n', 'é', '名'][..]), 50..300_usize).prop_map(|(c, n)| c.to_string().repeat(n)),
    ]
    .boxed()
}

fn array(features: Features, rows: usize) -> BoxedStrategy<ArrayRef> {
    let whole = (0..3_usize, 0..3_usize).prop_flat_map(move |(before, after)| {
        let len = before + rows + after;
        let numbers = (vec(int32(), len), vec(int64(), len), vec(float64(), len));
        let kinds = match features {
            Features { numbers: false, .. } => 2..4,
            Features { int64: true, .. } => 0..5,
            _ => 0..4,
        };
        (kinds, numbers, vec(text(), len), nulls(features.nulls, len), Just(before)).prop_map(
            move |(kind, (ints, longs, floats), texts, nulls, before)| {
                let array: ArrayRef = match kind {
                    0 => Arc::new(Int32Array::new(ints.into(), nulls)),
                    1 => Arc::new(Float64Array::new(floats.into(), nulls)),
                    2 => Arc::new(with_nulls(&StringArray::from(texts), nulls)),
                    3 => Arc::new(with_nulls(&LargeStringArray::from(texts), nulls)),
                    _ => Arc::new(Int64Array::new(longs.into(), nulls)),
                };
                array.slice(before, rows)
            },
        )
    });
    whole.boxed()
}

/// Returns the same strings with this null buffer; null slots keep their strings.
fn with_nulls<O: arrow_array::OffsetSizeTrait>(
    array: &arrow_array::GenericStringArray<O>,
    nulls: Option<NullBuffer>,
) -> arrow_array::GenericStringArray<O> {
    arrow_array::GenericStringArray::new(array.offsets().clone(), array.values().clone(), nulls)
}

fn nulls(allowed: bool, len: usize) -> BoxedStrategy<Option<NullBuffer>> {
    if !allowed {
        return Just(None).boxed();
    }
    prop_oneof![
        1 => Just(None),
        3 => vec(any::<bool>(), len).prop_map(|valid| Some(NullBuffer::from(valid))),
        1 => Just(Some(NullBuffer::new_null(len))),
        1 => Just(Some(NullBuffer::new_valid(len))),
    ]
    .boxed()
}

fn int32() -> BoxedStrategy<i32> {
    let edges = [0, 1, -1, i32::MIN, i32::MIN + 1, i32::MAX, 0x0102_0304];
    prop_oneof![select(edges.to_vec()), any::<i32>(), 0..10_i32].boxed()
}

fn int64() -> BoxedStrategy<i64> {
    let edges = [0, -1, i64::MIN, i64::MAX, i32::MAX as i64 + 1, i32::MIN as i64 - 1, 1 << 53];
    prop_oneof![select(edges.to_vec()), any::<i64>(), 0..10_i64].boxed()
}

fn float64() -> BoxedStrategy<f64> {
    let edges = [
        0.0,
        -0.0,
        1.5,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        f64::from_bits(0xFFF8_0000_DEAD_BEEF), // a NaN with a sign and a payload
        f64::from_bits(0x7FF0_0000_0000_0001), // a signalling NaN
        f64::from_bits(1),                     // the smallest subnormal
        f64::MIN_POSITIVE,
        f64::MAX,
        f64::MIN,
    ];
    prop_oneof![select(edges.to_vec()), any::<u64>().prop_map(f64::from_bits)].boxed()
}

fn text() -> BoxedStrategy<String> {
    let odd = ["", "", " ", "\0", "null", "a,b\n", "\u{feff}", "日本語", "😀", "e\u{301}", "\r\n"];
    prop_oneof![
        4 => select(odd.to_vec()).prop_map(str::to_owned),
        3 => vec(any::<char>(), 0..12).prop_map(String::from_iter),
        1 => (select(&['x', 'é', '語', '😀'][..]), 0..90_usize)
            .prop_map(|(c, n)| c.to_string().repeat(n)),
    ]
    .boxed()
}
