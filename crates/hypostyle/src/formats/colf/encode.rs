//! COLF's blocks: arrays to bytes, in the form that every known reader takes (§5).

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int32Type};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use super::{Colf, decode, layout, schema};
use crate::formats::columnfile::{
    Codes, Content, Context, Dialect, Placed, Planned, Plot, no_int64, pieces, refuse_duplicates,
};
use hypostyle_core::error::{Error, Refusal, Result};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::options::{DuplicateNames, WriteOptions};
use hypostyle_core::types::ColumnType;
use hypostyle_core::wire::bitmap;
use hypostyle_core::wire::numbers::{Number, Order};

impl Dialect for Colf {
    const ID: FormatId = FormatId::Colf;
    const NULLS: bool = true;
    const ABSENT_WHEN_EMPTY: bool = false; // F13
    const CODES: Codes = Codes {
        overlap: "F23",
        order: None,
        gap: None,
        trailing: "F24",
        after_stream: "F22",
        names: "F19",
        text: "F16",
    };

    fn headroom(plot: &Plot, rows: usize) -> usize {
        decode::headroom(plot, rows)
    }

    fn decode(content: Content, plot: &Plot, rows: usize, cx: &Context<'_>) -> Result<ArrayRef> {
        decode::block(content, plot, rows, cx)
    }

    fn decode_absent(plot: &Plot, rows: usize, cx: &Context<'_>) -> Result<ArrayRef> {
        decode::absent(plot, rows, cx)
    }

    fn check(columns: &[Planned], _rows: u64, options: &WriteOptions) -> Result<()> {
        if options.duplicate_names == DuplicateNames::Refuse {
            refuse_duplicates(columns, |name| name, "rename one, or set `DuplicateNames::Keep`")?;
        }
        for (index, column) in columns.iter().enumerate() {
            check_column(column).map_err(|err| err.in_column(index, &column.name))?;
        }
        Ok(())
    }

    fn header_len(columns: &[Planned], rows: u64) -> Result<u64> {
        layout::header_len(columns, rows)
    }

    fn header(columns: &[Planned], blocks: &[Placed], rows: u64) -> Result<Vec<u8>> {
        layout::write(columns, blocks, rows)
    }

    fn encode(column: &Planned, given: &[ArrayRef], out: &mut Vec<u8>) -> Result<()> {
        let rows = column.stats.rows;
        let starts = if column.kind == ColumnType::Text { rows.saturating_mul(4) } else { 0 };
        let bits = rows.div_ceil(8).saturating_add(2);
        pieces::reserve(column.value_bytes().saturating_add(starts).saturating_add(bits), out)?;
        out.push(schema::code(column.kind).unwrap_or_default());
        out.push(u8::from(has_nulls(column)));
        let nulls: Vec<_> = given.iter().map(|piece| nulls_of(piece, column)).collect();
        if has_nulls(column) {
            let parts =
                given.iter().zip(&nulls).map(|(piece, nulls)| (piece.len(), nulls.as_ref()));
            bitmap::put_null_bits(parts, out);
        }
        match column.kind {
            ColumnType::Int32 => put_fixed::<Int32Type>(given, out),
            ColumnType::Float64 => put_fixed::<Float64Type>(given, out),
            _ => put_texts(given, out),
        }
    }
}

/// Whether a column is written with a bitmap: only if it has nulls (F12).
pub(super) fn has_nulls(column: &Planned) -> bool {
    let emptied = column.options.compat.colf_empty_as_null && column.stats.empty_texts > 0;
    column.stats.nulls > 0 || emptied
}

fn check_column(column: &Planned) -> Result<()> {
    if schema::code(column.kind).is_none() {
        return Err(no_int64("COLF", &column.stats));
    }
    if u32::try_from(column.stats.text_bytes).is_err() && column.kind == ColumnType::Text {
        let bytes = column.stats.text_bytes;
        let why = format!("{bytes} bytes of text are over COLF's limit of {} a column", u32::MAX);
        return Err(Error::refused(Refusal::TooLarge, why, "split the table, or write COLM")); // F7
    }
    Ok(())
}

/// The nulls of a piece, with empty texts among them if that was asked for (F2).
fn nulls_of(piece: &ArrayRef, column: &Planned) -> Option<NullBuffer> {
    if !column.options.compat.colf_empty_as_null {
        return piece.nulls().cloned();
    }
    match piece.data_type() {
        DataType::Utf8 => Some(present::<i32>(piece)),
        DataType::LargeUtf8 => Some(present::<i64>(piece)),
        _ => piece.nulls().cloned(),
    }
}

fn present<O: OffsetSizeTrait>(piece: &ArrayRef) -> NullBuffer {
    piece.as_string::<O>().iter().map(|text| text.is_some_and(|text| !text.is_empty())).collect()
}

/// Appends numbers, with 0 in the place of a null (F11).
fn put_fixed<T: ArrowPrimitiveType>(given: &[ArrayRef], out: &mut Vec<u8>) -> Result<()>
where
    T::Native: Number,
{
    for piece in given {
        let array = piece
            .as_primitive_opt::<T>()
            .ok_or_else(|| Error::invalid_argument("a piece of another type than its column"))?;
        if array.null_count() == 0 {
            T::Native::put(array.values(), Order::Little, out);
        } else {
            let values: Vec<T::Native> = array.iter().map(Option::unwrap_or_default).collect();
            T::Native::put(&values, Order::Little, out);
        }
    }
    Ok(())
}

/// Appends where each text starts, then all bytes; a null starts where the next
/// row does, so that every known way of finding its end agrees (F1).
fn put_texts(given: &[ArrayRef], out: &mut Vec<u8>) -> Result<()> {
    let mut start = 0_u32;
    pieces::for_each_text(given, |text| {
        out.extend_from_slice(&start.to_le_bytes());
        start = start.saturating_add(u32::try_from(text.len()).unwrap_or(u32::MAX));
    })?;
    pieces::for_each_text(given, |text| out.extend_from_slice(text))
}
