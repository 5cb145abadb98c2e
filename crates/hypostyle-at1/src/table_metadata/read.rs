//! Parses the stream `hyp.table`.

use hashbrown::HashSet;

use super::{
    FrameSize, IMPLIES_NULLS, NUMBERS_ONLY, TableMetadata, VERSION, column_flag, flag, kind, state,
};
use hypostyle_core::error::{Error, Result};
use hypostyle_core::number;
use hypostyle_core::spelling::{NULL_TOKENS, Spelling};
use hypostyle_core::text::{
    ColumnState, ColumnSummary, DecimalRange, Encoding, InferredState, ObjectState, OddToken,
    RowPosition, Skipped, SpelledRange, TextFormat, TextKind, TextRange, TextSummary, ValueState,
};
use hypostyle_core::wire::{Cursor, crc32};

/// The deepest nesting of JSON values that is read; the writer nests less.
const MAX_DEPTH: usize = 256;

/// The most digits of a decimal after the point.
const MAX_SCALE: u8 = 38;

/// The fewest bytes of a column: name, state, empty texts and flags.
const MIN_COLUMN_BYTES: usize = 4;

pub(super) fn metadata(content: &[u8]) -> Result<Option<TableMetadata>> {
    let has_spellings = match content.first() {
        Some(&(VERSION | IMPLIES_NULLS)) | None => true,
        Some(&NUMBERS_ONLY) => false,
        Some(_) => return Ok(None),
    };
    let Some((content, sum)) = content.split_last_chunk::<4>() else {
        return Err(Error::malformed("table", "is too short"));
    };
    if crc32(content) != u32::from_le_bytes(*sum) {
        return Err(Error::malformed("table", "does not match its checksum"));
    }
    let mut cursor = Cursor::new(content, 0);
    let implies_nulls = cursor.u8("version")? == IMPLIES_NULLS;
    let kind = match cursor.u8("kind of text")? {
        kind::DELIMITED => TextKind::Delimited { delimiter: delimiter(&mut cursor)? },
        kind::JSON_LINES => TextKind::JsonLines,
        kind::LINES => TextKind::Lines,
        kind::LOG => TextKind::Log,
        kind::VARIANT_CALLS => TextKind::VariantCalls,
        other => return Err(unknown("kind of text", other)),
    };
    let flags = cursor.u8("flags")?;
    if flags & !flag::ALL != 0 {
        return Err(unknown("flags", flags));
    }
    let is_set = |flag: u8| flags & flag != 0;
    let mut format = TextFormat::new(kind);
    format.header = is_set(flag::HEADER);
    let versions = (has_spellings, implies_nulls);
    let mut summary =
        is_set(flag::SUMMARY).then(|| summary(&mut cursor, format, versions)).transpose()?;
    if let Some(summary) = &mut summary {
        summary.rows_are_lines = is_set(flag::ROWS_ARE_LINES);
        summary.ends_open = is_set(flag::ENDS_OPEN);
    }
    let mut frames = Vec::new();
    if is_set(flag::FRAMES) {
        for _ in 0..cursor.count(3, "frame count")? {
            frames.push(FrameSize {
                stored: cursor.uv("size of a frame")?,
                bytes: cursor.uv("text of a frame")?,
                newlines: cursor.uv("newlines of a frame")?,
            });
        }
    }
    if !cursor.is_empty() {
        let why = format!("{} bytes after the end", cursor.left());
        return Err(Error::malformed("table", why));
    }
    let metadata = TableMetadata { format, summary, frames, has_spellings };
    check(&metadata)?;
    Ok(Some(metadata))
}

/// Fails unless the numbers fit each other.
fn check(metadata: &TableMetadata) -> Result<()> {
    let Some(summary) = &metadata.summary else { return Ok(()) };
    let column = |(index, column): (usize, &ColumnSummary)| {
        let odd = column.odd_token.as_ref().map_or(0, |odd| odd.count);
        let cells = [column.nulls.unwrap_or_default(), column.empty_texts, odd];
        let sum = cells.iter().try_fold(0_u64, |sum, &count| sum.checked_add(count));
        if sum.is_none_or(|sum| sum > summary.rows) {
            let why = format!("has more cells than the table has rows, {}", summary.rows);
            return Err(Error::malformed("column", why).in_column(index, &column.name));
        }
        Ok(())
    };
    summary.columns.iter().enumerate().try_for_each(column)?;
    // Each row has at least a byte, except for an empty last one.
    if summary.rows > summary.bytes.saturating_add(1) {
        let why = format!("{} in {} bytes of text", summary.rows, summary.bytes);
        return Err(Error::malformed("row count", why));
    }
    if !metadata.frames.is_empty() {
        let bytes = metadata.frames.iter().try_fold(0_u64, |sum, it| sum.checked_add(it.bytes));
        if bytes != Some(summary.bytes) {
            return Err(Error::malformed("text of a frame", "the frames have another size"));
        }
    }
    Ok(())
}

fn delimiter(cursor: &mut Cursor<'_>) -> Result<u8> {
    let byte = cursor.u8("delimiter")?;
    if !byte.is_ascii() || matches!(byte, b'"' | b'\n' | b'\r') {
        return Err(unknown("delimiter", byte));
    }
    Ok(byte)
}

fn summary(
    cursor: &mut Cursor<'_>,
    format: TextFormat,
    (has_spellings, implies_nulls): (bool, bool),
) -> Result<TextSummary> {
    let rows = cursor.uv("row count")?;
    let bytes = cursor.uv("size of the text")?;
    let mut row_index = Vec::new();
    let mut last = RowPosition::default();
    for at in 0..cursor.count(3, "row positions")? {
        let row = advance(last.row, cursor, rows, "row")?;
        let offset = advance(last.offset, cursor, bytes, "offset of a row")?;
        let line = advance(last.line, cursor, bytes, "line of a row")?;
        if at > 0 && (row == last.row || offset == last.offset) {
            return Err(Error::malformed("row positions", "do not ascend"));
        }
        last = RowPosition { row, offset, line };
        row_index.push(last);
    }
    let count = cursor.count(MIN_COLUMN_BYTES, "column count")?;
    let columns = (0..count)
        .map(|_| column(cursor, has_spellings, implies_nulls.then_some(rows)))
        .collect::<Result<_>>()?;
    Ok(TextSummary {
        format,
        encoding: Encoding::Utf8,
        rows,
        columns,
        rows_are_lines: false,
        ends_open: false,
        row_index,
        bytes,
        null_words: Vec::new(),
        skipped: Skipped::default(),
    })
}

/// Reads a difference from the last number; the sum may be at most `max`.
fn advance(last: u64, cursor: &mut Cursor<'_>, max: u64, what: &'static str) -> Result<u64> {
    let step = cursor.uv(what)?;
    last.checked_add(step)
        .filter(|&sum| sum <= max)
        .ok_or_else(|| Error::malformed(what, "is beyond the end of the text"))
}

/// Reads a column of a table of so many rows, unless nulls cannot follow from them.
fn column(
    cursor: &mut Cursor<'_>,
    has_spellings: bool,
    rows: Option<u64>,
) -> Result<ColumnSummary> {
    let name = text(cursor, "column name")?;
    let state = match cursor.u8("state of a column")? {
        state::CELLS => ColumnState::Cells(inferred(cursor, has_spellings)?),
        state::VALUES => ColumnState::Values(values(cursor, has_spellings, MAX_DEPTH)?),
        state::TEXT => ColumnState::Text,
        state::BINARY => ColumnState::Binary,
        state::TEXT_LIST => ColumnState::TextList,
        other => return Err(unknown("state of a column", other)),
    };
    let empty_texts = cursor.uv("empty texts")?;
    let flags = cursor.u8("flags of a column")?;
    let is_set = |flag: u8| flags & flag != 0;
    let nulls = match (&state, rows) {
        (ColumnState::Values(values), Some(rows)) if is_set(column_flag::IMPLIED_NULLS) => {
            let too_many = || Error::malformed("values of a column", "are more than the rows");
            Some(rows.checked_sub(values.count).ok_or_else(too_many)?)
        }
        _ if is_set(column_flag::IMPLIED_NULLS) => {
            return Err(unknown("flags of a column", flags));
        }
        _ => None,
    };
    let is_stated = is_set(column_flag::NULLS);
    if flags >= column_flag::IMPLIED_NULLS << 1 || (is_stated && nulls.is_some()) {
        return Err(unknown("flags of a column", flags));
    }
    let nulls = if is_stated { Some(cursor.uv("nulls")?) } else { nulls };
    let texts = is_set(column_flag::BOUNDS).then(|| {
        let (min, max) = (cursor.lp("least text")?.to_vec(), cursor.lp("greatest text")?.to_vec());
        if min > max {
            return Err(Error::malformed("least text", "is after the greatest one"));
        }
        Ok(TextRange { min, max })
    });
    let texts = texts.transpose()?;
    let odd_token = is_set(column_flag::ODD_TOKEN).then(|| {
        Ok::<_, Error>(Box::new(OddToken {
            text: text(cursor, "odd token")?,
            count: cursor.uv("odd tokens")?,
            is_quoted: bit(cursor, "quotes of the odd token")?,
            others: inferred(cursor, has_spellings)?,
        }))
    });
    Ok(ColumnSummary { name, state, nulls, empty_texts, texts, odd_token: odd_token.transpose()? })
}

fn inferred(cursor: &mut Cursor<'_>, has_spellings: bool) -> Result<InferredState> {
    let bits = cursor.uv("state of cells")?;
    if bits >= if has_spellings { 1 << 13 } else { 1 << 10 } {
        return Err(Error::malformed("state of cells", format!("{bits} is unknown")));
    }
    let bit = |at: u32| bits >> at & 1 != 0;
    let mut state = InferredState {
        ints: bit(0),
        floats: bit(1),
        texts: bit(2),
        bools: bit(3),
        liberal_ints: bit(4),
        liberal_floats: bit(5),
        nans: bit(6),
        gaps: bit(7),
        // What is not known is not assumed.
        has_other_numbers: bit(10) || !has_spellings,
        ..InferredState::NONE
    };
    if bit(8) {
        state.range = (integer(cursor)?, integer(cursor)?);
        if state.range.0 > state.range.1 {
            return Err(Error::malformed("minimum", "is above the maximum"));
        }
    }
    if bit(9) {
        state.float_range = (float(cursor)?, float(cursor)?);
        // This also refuses bounds that are not numbers.
        if state.float_range.0.partial_cmp(&state.float_range.1).is_none_or(|it| it.is_gt()) {
            return Err(Error::malformed("minimum", "is above the maximum"));
        }
    }
    if bit(11) {
        state.decimals = Some(Box::new(decimals(cursor)?));
    }
    if bit(12) {
        state.spelled = Some(spelled(cursor)?);
    }
    Ok(state)
}

fn decimals(cursor: &mut Cursor<'_>) -> Result<DecimalRange> {
    let scale = cursor.u8("scale")?;
    let mut bound = || match number::exact_decimal(cursor.lp("bound")?) {
        Some((value, 0)) => Ok(value),
        _ => Err(Error::malformed("bound", "is not an integer")),
    };
    let (min, max) = (bound()?, bound()?);
    if min > max || scale > MAX_SCALE {
        return Err(Error::malformed("decimals", "have bounds or a scale that none have"));
    }
    Ok(DecimalRange { scale, min, max })
}

fn spelled(cursor: &mut Cursor<'_>) -> Result<SpelledRange> {
    let code = cursor.uv("spelling")?;
    let spelling = Spelling::from_code(code);
    let spelling =
        spelling.ok_or_else(|| Error::malformed("spelling", format!("{code} is unknown")))?;
    let (min, max) = (integer(cursor)?, integer(cursor)?);
    let is_value = |value| spelling.put(value, &mut Vec::new());
    if min > max || !is_value(min) || !is_value(max) {
        return Err(Error::malformed("bound", "is not a value that is spelled so"));
    }
    Ok(SpelledRange { spelling, min, max })
}

fn integer(cursor: &mut Cursor<'_>) -> Result<i64> {
    let value = cursor.sv("bound")?;
    i64::try_from(value).map_err(|_| Error::malformed("bound", "has more than 64 bits"))
}

fn float(cursor: &mut Cursor<'_>) -> Result<f64> {
    Ok(f64::from_bits(cursor.u64_le("bound")?))
}

fn values(cursor: &mut Cursor<'_>, has_spellings: bool, depth: usize) -> Result<ValueState> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(Error::malformed("state of values", "is nested too deeply"));
    };
    let count = cursor.uv("value count")?;
    let scalars = inferred(cursor, has_spellings)?;
    let flags = cursor.u8("flags of values")?;
    if flags > if has_spellings { 15 } else { 7 } {
        return Err(unknown("flags of values", flags));
    }
    let object = (flags & 1 != 0).then(|| {
        let mut fields = Vec::new();
        let mut keys = HashSet::new();
        for _ in 0..cursor.count(4, "key count")? {
            let key = text(cursor, "key")?;
            if !keys.insert(key.clone()) {
                return Err(Error::malformed("key", "occurs twice"));
            }
            fields.push((key, values(cursor, has_spellings, depth)?));
        }
        Ok(ObjectState::new(fields))
    });
    let object = object.transpose()?;
    let list =
        (flags & 2 != 0).then(|| Ok::<_, Error>(Box::new(values(cursor, has_spellings, depth)?)));
    let list = list.transpose()?;
    let null_token = (flags & 8 != 0).then(|| {
        let token = cursor.lp("null token")?;
        let known = NULL_TOKENS.into_iter().find(|known| known.as_bytes() == token);
        known.ok_or_else(|| Error::malformed("null token", "is unknown"))
    });
    let null_token = null_token.transpose()?;
    Ok(ValueState { count, scalars, null_token, object, list, is_raw: flags & 4 != 0 })
}

fn text(cursor: &mut Cursor<'_>, what: &'static str) -> Result<String> {
    let len = cursor.size(what)?;
    Ok(cursor.text(len, what)?.to_owned())
}

fn bit(cursor: &mut Cursor<'_>, what: &'static str) -> Result<bool> {
    match cursor.u8(what)? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(unknown(what, other)),
    }
}

fn unknown(what: &'static str, value: u8) -> Error {
    Error::malformed(what, format!("{value} is unknown"))
}
