//! COLM's blocks: arrays to bytes, in the form that every known reader takes (§5).

use arrow_array::ArrayRef;

use super::{Colm, decode, layout, schema};
use crate::formats::columnfile::{
    Codes, Content, Context, Dialect, Placed, Planned, Plot, no_int64, pieces, refuse_duplicates,
};
use hypostyle_core::error::{Error, Refusal, Result};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::options::{DuplicateNames, WriteOptions};
use hypostyle_core::wire::numbers::Order;
use hypostyle_core::wire::prefixed::{Prefix, U32Le};

impl Dialect for Colm {
    const ID: FormatId = FormatId::Colm;
    const NULLS: bool = false;
    const ABSENT_WHEN_EMPTY: bool = false; // M11
    const CODES: Codes = Codes {
        overlap: "M8",
        order: None,
        gap: None,
        trailing: "M23",
        after_stream: "M16",
        names: "M17",
        text: "M18",
    };

    fn decode(content: Content, plot: &Plot, rows: usize, cx: &Context<'_>) -> Result<ArrayRef> {
        decode::block(content, plot, rows, cx)
    }

    fn decode_absent(plot: &Plot, rows: usize, cx: &Context<'_>) -> Result<ArrayRef> {
        decode::absent(plot, rows, cx)
    }

    fn check(columns: &[Planned], rows: u64, options: &WriteOptions) -> Result<()> {
        if u32::try_from(rows).is_err() {
            let why = format!("COLM counts rows in 32 bits, and there are {rows}");
            return Err(Error::refused(Refusal::TooLarge, why, "split the table"));
        }
        if options.duplicate_names == DuplicateNames::Refuse {
            refuse_duplicates(columns, |name| name, "rename one, or set `DuplicateNames::Keep`")?;
        }
        for (index, column) in columns.iter().enumerate() {
            check_column(column).map_err(|err| err.in_column(index, &column.name))?;
        }
        Ok(())
    }

    fn header_len(columns: &[Planned], _rows: u64) -> Result<u64> {
        Ok(layout::header_len(columns))
    }

    fn header(columns: &[Planned], blocks: &[Placed], rows: u64) -> Result<Vec<u8>> {
        layout::write(columns, blocks, rows)
    }

    fn encode(column: &Planned, given: &[ArrayRef], out: &mut Vec<u8>) -> Result<()> {
        match column.kind.width() {
            Some(_) => pieces::put_numbers(given, Order::Little, column.value_bytes(), out),
            None => pieces::put_prefixed::<U32Le>(given, &column.stats, out),
        }
    }
}

fn check_column(column: &Planned) -> Result<()> {
    if schema::code(column.kind).is_none() {
        return Err(no_int64("COLM", &column.stats));
    }
    if let Some(row) = column.stats.first_null {
        return Err(Error::refused(
            Refusal::NullsNotSupported,
            "COLM has no nulls",
            "write COLF, or store the column as text with a word for null",
        )
        .in_row(row));
    }
    if let Some((row, len)) = column.stats.longest
        && len > U32Le::MAX
    {
        let why = format!("a text of {len} bytes is over COLM's limit of {}", U32Le::MAX);
        return Err(Error::refused(Refusal::TextTooLong, why, "shorten the text").in_row(row));
    }
    Ok(())
}
