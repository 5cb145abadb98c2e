//! CLMN's blocks: arrays to bytes, in the form that every known reader takes (§5).

use arrow_array::ArrayRef;

use super::{Clmn, decode, layout};
use crate::formats::columnfile::{
    Codes, Content, Context, Dialect, Placed, Planned, Plot, pieces, refuse_duplicates,
};
use hypostyle_core::error::{Error, Refusal, Result};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::options::{DuplicateNames, WriteOptions};
use hypostyle_core::types::ColumnType;
use hypostyle_core::wire::numbers::Order;
use hypostyle_core::wire::prefixed::{Prefix, U16Be};

/// Sizes stay this far under 2^31: a known reader takes them as signed (N5), and
/// deflate may add a little to what it cannot compress.
const SIZE_MOST: u64 = (1 << 31) - (1 << 20);

impl Dialect for Clmn {
    const ID: FormatId = FormatId::Clmn;
    const NULLS: bool = false;
    const ABSENT_WHEN_EMPTY: bool = true; // N9
    const CODES: Codes = Codes {
        overlap: "N8",
        order: Some("N8"),
        gap: Some("N1"),
        trailing: "N19",
        after_stream: "N18",
        names: "N11",
        text: "N15",
    };

    fn decode(content: Content, plot: &Plot, rows: usize, cx: &Context<'_>) -> Result<ArrayRef> {
        decode::block(content, plot, rows, cx)
    }

    fn decode_absent(plot: &Plot, rows: usize, _cx: &Context<'_>) -> Result<ArrayRef> {
        decode::absent(plot, rows)
    }

    fn check(columns: &[Planned], _rows: u64, options: &WriteOptions) -> Result<()> {
        if i32::try_from(columns.len()).is_err() {
            return Err(Error::refused(
                Refusal::TooLarge,
                "CLMN has at most 2^31-1 columns",
                "split the table",
            ));
        }
        for (index, column) in columns.iter().enumerate() {
            check_column(column).map_err(|err| err.in_column(index, &column.name))?;
        }
        let way_out = match options.duplicate_names {
            DuplicateNames::Refuse => "rename one",
            DuplicateNames::Keep => "rename one: readers of CLMN refuse both",
        };
        refuse_duplicates(columns, trimmed, way_out) // N11, N12
    }

    fn header_len(columns: &[Planned], _rows: u64) -> Result<u64> {
        Ok(layout::header_len(columns))
    }

    fn header(columns: &[Planned], blocks: &[Placed], rows: u64) -> Result<Vec<u8>> {
        layout::write(columns, blocks, rows)
    }

    fn encode(column: &Planned, given: &[ArrayRef], out: &mut Vec<u8>) -> Result<()> {
        if column.kind.width().is_some() {
            return pieces::put_numbers(given, Order::Big, column.value_bytes(), out);
        }
        pieces::put_prefixed::<U16Be>(given, &column.stats, out)?;
        if column.options.compat.clmn_pad_last_empty && column.stats.ends_empty {
            out.push(0); // N10
        }
        Ok(())
    }
}

/// A name as a known reader sees it, which trims what Java's `trim` does (N12).
fn trimmed(name: &str) -> &str {
    name.trim_matches(|c| c <= ' ')
}

fn check_column(column: &Planned) -> Result<()> {
    let stats = &column.stats;
    if trimmed(&column.name).is_empty() {
        return Err(Error::refused(
            Refusal::EmptyName,
            "CLMN has no columns without a name",
            "give it a name",
        ));
    }
    if column.name.len() as u64 > U16Be::MAX {
        let why = format!("a name of {} bytes is over CLMN's limit of 65535", column.name.len());
        return Err(Error::refused(
            Refusal::NamesTooLong,
            why,
            "shorten it, or write COLM or COLF",
        )); // N7
    }
    if let Some(row) = stats.first_null {
        return Err(Error::refused(
            Refusal::NullsNotSupported,
            "CLMN has no nulls",
            "write COLF, or store the column as text with a word for null",
        )
        .in_row(row)); // N14
    }
    if let Some((row, len)) = stats.longest
        && len > U16Be::MAX
    {
        let why = format!("a text of {len} bytes is over CLMN's limit of 65535");
        return Err(Error::refused(Refusal::TextTooLong, why, "write COLM or COLF").in_row(row)); // N7
    }
    let prefixes = if column.kind == ColumnType::Text {
        stats.rows.saturating_mul(U16Be::BYTES as u64)
    } else {
        0
    };
    let raw = column.value_bytes().saturating_add(prefixes);
    if raw > SIZE_MOST {
        let why = format!("{raw} bytes are over the {SIZE_MOST} that a column of CLMN can have");
        return Err(Error::refused(Refusal::TooLarge, why, "split the table, or write COLM")); // N5, N6
    }
    Ok(())
}
