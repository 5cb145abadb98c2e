//! Checks and values for the tests of deviations in COLM, COLF and CLMN.
//!
//! Every number in section 4 of a spec has a test whose name starts with it.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{Schema, SchemaRef};
use hypostyle::formats::{self, Format};
use hypostyle::{
    ColumnSource, ColumnStats, Error, ErrorKind, ReadOptions, Result, TextPolicy, WriteOptions,
};
use hypostyle_testkit::build::BuiltFile;
use hypostyle_testkit::content::{Cell, Content};
use hypostyle_testkit::{laws, scans};

/// One format under test.
#[derive(Clone, Copy)]
pub(crate) struct Subject(pub(crate) &'static str);

impl Subject {
    pub(crate) fn format(self) -> &'static dyn Format {
        formats::by_name(self.0).unwrap()
    }

    /// Checks that the file has these values and exactly these deviations, and that strict
    /// reading accepts it without deviations and otherwise refuses it for one of them.
    pub(crate) fn reads(self, made: &BuiltFile, values: &[(&str, Vec<Cell>)], met: &[(&str, u64)]) {
        self.reads_with(made, TextPolicy::Strict, values, met);
    }

    pub(crate) fn reads_with(
        self,
        made: &BuiltFile,
        text: TextPolicy,
        values: &[(&str, Vec<Cell>)],
        met: &[(&str, u64)],
    ) {
        let options = ReadOptions::default().with_text(text);
        let read = laws::decode(self.format(), &made.bytes, &options);
        scans::a_scan_gives_what_a_read_gives(self.format(), &made.bytes, &options, &read);
        let (batches, found) = read.unwrap();
        let content = Content::of(&batches);
        let columns: Vec<_> =
            content.columns.iter().map(|c| (c.name.as_str(), c.cells.clone())).collect();
        assert_eq!(columns, values);
        let places: Vec<_> = found.iter().map(|found| (found.code, found.offset)).collect();
        assert_eq!(places, met, "{found:?}");

        let strict = laws::decode(self.format(), &made.bytes, &options.with_strict(true));
        match (strict, met.is_empty()) {
            (Ok((batches, _)), true) => assert_eq!(Content::of(&batches), content),
            (Err(err), false) => {
                let ErrorKind::Strict(first) = err.kind() else { unreachable!("{err}") };
                assert!(found.contains(first), "{first}");
                assert!(err.to_string().contains(&format!("{} at byte ", first.code)), "{err}");
            }
            (Ok(_), false) => unreachable!("strict reading takes a file with {found:?}"),
            (Err(err), true) => unreachable!("strict reading refuses: {err}"),
        }
    }

    /// Checks that every mode refuses the file, with a message that contains `words`.
    pub(crate) fn refuses(self, made: &BuiltFile, words: &str) -> Error {
        self.refuses_with(made, TextPolicy::Strict, words)
    }

    pub(crate) fn refuses_with(self, made: &BuiltFile, text: TextPolicy, words: &str) -> Error {
        let options = ReadOptions::default().with_text(text);
        let strict = options.clone().with_strict(true);
        assert!(laws::decode(self.format(), &made.bytes, &strict).is_err());
        let err = laws::decode(self.format(), &made.bytes, &options).unwrap_err();
        assert!(!matches!(err.kind(), ErrorKind::Strict(_)));
        assert!(err.to_string().contains(words), "{err}");
        let scan = scans::scan(self.format(), &made.bytes, &options, |scan| scan.memory_limit(0));
        if let Err(scan_err) = scan {
            // Decoding in windows finds that a size is wrong before it has all bytes.
            let is_about_size = err.to_string().ends_with("declared");
            assert!(is_about_size || scan_err.to_string() == err.to_string(), "{scan_err}");
        }
        err
    }

    /// Returns the file that the writer writes.
    pub(crate) fn writes(self, table: &dyn ColumnSource) -> Vec<u8> {
        self.writes_with(table, &WriteOptions::default())
    }

    pub(crate) fn writes_with(self, table: &dyn ColumnSource, options: &WriteOptions) -> Vec<u8> {
        laws::encode(self.format(), table, options)
    }

    /// Checks that the writer refuses a table, with a message that contains `words`.
    pub(crate) fn will_not_write(self, table: &dyn ColumnSource, words: &str) -> Error {
        let mut file = Vec::new();
        let err = self.format().encode(table, &mut file, &WriteOptions::default()).unwrap_err();
        assert!(file.is_empty());
        assert!(matches!(err.kind(), ErrorKind::Refused { .. }), "{err}");
        assert!(err.to_string().contains(words), "{err}");
        err
    }

    /// Checks that the tests, the list of numbers and section 4 of the spec agree.
    pub(crate) fn numbers_are_those_of_the_spec(self, numbers: &[&str], source: &str) {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/specs/");
        let spec = std::fs::read_to_string(format!("{root}{}.md", self.0)).unwrap();
        let section = spec.split("\n## 4 ").nth(1).unwrap().split("\n## ").next().unwrap();
        let in_spec: Vec<&str> = section
            .lines()
            .filter_map(|line| line.strip_prefix("| ")?.split(" |").next())
            .filter(|word| word.starts_with(['M', 'F', 'N']) && word[1..].parse::<u8>().is_ok())
            .collect();
        assert_eq!(numbers, in_spec, "the numbers tested and those of section 4");
        for number in numbers {
            let (letter, digits) = number.split_at(1);
            let start = format!("fn {}{digits:0>2}_", letter.to_lowercase());
            assert!(source.contains(&start), "no test starts with `{start}`");
        }
    }
}

pub(crate) fn int(values: &[i64]) -> Vec<Cell> {
    values.iter().copied().map(Cell::Int).collect()
}

pub(crate) fn float(bits: &[u64]) -> Vec<Cell> {
    bits.iter().copied().map(Cell::Float).collect()
}

pub(crate) fn text(values: &[&str]) -> Vec<Cell> {
    values.iter().map(|&value| Cell::Text(value.to_owned())).collect()
}

/// Returns texts, and a null for `None`.
pub(crate) fn maybe(values: &[Option<&str>]) -> Vec<Cell> {
    let cell = |value: &Option<&str>| value.map_or(Cell::Null, |value| Cell::Text(value.into()));
    values.iter().map(cell).collect()
}

pub(crate) fn int32s(values: &[i32]) -> ArrayRef {
    Arc::new(Int32Array::from(values.to_vec()))
}

pub(crate) fn int64s(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

pub(crate) fn float64s(bits: &[u64]) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values(bits.iter().copied().map(f64::from_bits)))
}

pub(crate) fn strings(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

pub(crate) fn maybe_strings(values: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

pub(crate) fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .unwrap()
}

pub(crate) fn no_columns() -> RecordBatch {
    RecordBatch::new_empty(Arc::new(Schema::empty()))
}

/// A table of one column whose statistics claim more data than fits in memory.
pub(crate) struct Boast {
    schema: SchemaRef,
    stats: ColumnStats,
}

impl Boast {
    pub(crate) fn new(array: &ArrayRef, stats: impl FnOnce(&mut ColumnStats)) -> Self {
        let mut said = ColumnStats::of(std::slice::from_ref(array));
        stats(&mut said);
        Self { schema: table(vec![("boast", array.clone())]).schema(), stats: said }
    }
}

impl ColumnSource for Boast {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn rows(&self) -> u64 {
        self.stats.rows
    }

    fn column(&self, _index: usize) -> Result<Vec<ArrayRef>> {
        unreachable!("the stats are enough to refuse it")
    }

    fn stats(&self, _index: usize) -> Result<ColumnStats> {
        Ok(self.stats.clone())
    }
}
