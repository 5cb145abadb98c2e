//! Writes the stream `hyp.table`.

use super::{
    FrameSize, IMPLIES_NULLS, NUMBERS_ONLY, TableMetadata, VERSION, column_flag, flag, kind, state,
};
use hypostyle_core::text::{
    ColumnState, ColumnSummary, DecimalRange, Encoding, InferredState, RowPosition, SpelledRange,
    TextKind, TextSummary, ValueState,
};
use hypostyle_core::wire::{crc32, put};

pub(super) fn content(metadata: &TableMetadata) -> Option<Vec<u8>> {
    let TableMetadata { format, summary, frames, has_spellings } = metadata;
    // A summary that depends on options says nothing about the text alone.
    let summary = summary.as_ref().filter(|it| {
        let is_default = it.null_words.is_empty() && it.skipped.count == 0;
        is_default && it.format == *format && it.encoding == Encoding::Utf8
    });
    let implies_nulls = |summary: &TextSummary| {
        summary.columns.iter().any(|column| are_nulls_implied(column, summary.rows))
    };
    let mut out = vec![match has_spellings {
        true if summary.is_some_and(implies_nulls) => IMPLIES_NULLS,
        true => VERSION,
        false => NUMBERS_ONLY,
    }];
    match format.kind {
        TextKind::Delimited { delimiter } => out.extend_from_slice(&[kind::DELIMITED, delimiter]),
        TextKind::JsonLines => out.push(kind::JSON_LINES),
        TextKind::Lines => out.push(kind::LINES),
        TextKind::Log => out.push(kind::LOG),
        TextKind::VariantCalls => out.push(kind::VARIANT_CALLS),
        _ => return None,
    }
    let set = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    out.push(
        set(format.header, flag::HEADER)
            | set(summary.is_some(), flag::SUMMARY)
            | set(summary.is_some_and(|it| it.rows_are_lines), flag::ROWS_ARE_LINES)
            | set(!frames.is_empty(), flag::FRAMES)
            | set(summary.is_some_and(|it| it.ends_open), flag::ENDS_OPEN),
    );
    if let Some(summary) = summary {
        put_summary(summary, *has_spellings, &mut out);
    }
    if !frames.is_empty() {
        put::uv(&mut out, frames.len() as u64);
        for FrameSize { stored, bytes, newlines } in frames {
            for number in [*stored, *bytes, *newlines] {
                put::uv(&mut out, number);
            }
        }
    }
    let sum = crc32(&out);
    out.extend_from_slice(&sum.to_le_bytes());
    Some(out)
}

fn put_summary(summary: &TextSummary, has_spellings: bool, out: &mut Vec<u8>) {
    put::uv(out, summary.rows);
    put::uv(out, summary.bytes);
    put::uv(out, summary.row_index.len() as u64);
    let mut last = RowPosition::default();
    for &position in &summary.row_index {
        put::uv(out, position.row.saturating_sub(last.row));
        put::uv(out, position.offset.saturating_sub(last.offset));
        put::uv(out, position.line.saturating_sub(last.line));
        last = position;
    }
    put::uv(out, summary.columns.len() as u64);
    for column in &summary.columns {
        let is_implied = has_spellings && are_nulls_implied(column, summary.rows);
        put_column(column, has_spellings, is_implied, out);
    }
}

/// Returns whether all rows without a value are null.
fn are_nulls_implied(column: &ColumnSummary, rows: u64) -> bool {
    match &column.state {
        ColumnState::Values(values) => column.nulls == rows.checked_sub(values.count),
        _ => false,
    }
}

fn put_column(
    column: &ColumnSummary,
    has_spellings: bool,
    are_nulls_implied: bool,
    out: &mut Vec<u8>,
) {
    put::lp(out, column.name.as_bytes());
    match &column.state {
        ColumnState::Cells(cells) => {
            out.push(state::CELLS);
            put_state(cells, has_spellings, out);
        }
        ColumnState::Values(values) => {
            out.push(state::VALUES);
            put_values(values, has_spellings, out);
        }
        ColumnState::Text => out.push(state::TEXT),
        ColumnState::Binary => out.push(state::BINARY),
        ColumnState::TextList => out.push(state::TEXT_LIST),
    }
    put::uv(out, column.empty_texts);
    let nulls = column.nulls.filter(|_| !are_nulls_implied);
    let flags = [
        (column.texts.is_some(), column_flag::BOUNDS),
        (column.odd_token.is_some(), column_flag::ODD_TOKEN),
        (nulls.is_some(), column_flag::NULLS),
        (are_nulls_implied, column_flag::IMPLIED_NULLS),
    ];
    out.push(flags.iter().fold(0, |all, &(is_set, flag)| if is_set { all | flag } else { all }));
    if let Some(nulls) = nulls {
        put::uv(out, nulls);
    }
    if let Some(texts) = &column.texts {
        put::lp(out, &texts.min);
        put::lp(out, &texts.max);
    }
    if let Some(odd) = &column.odd_token {
        put::lp(out, odd.text.as_bytes());
        put::uv(out, odd.count);
        out.push(odd.is_quoted.into());
        put_state(&odd.others, has_spellings, out);
    }
}

fn put_state(state: &InferredState, has_spellings: bool, out: &mut Vec<u8>) {
    let has_ints = state.range != InferredState::NONE.range;
    let has_floats = state.float_range != InferredState::NONE.float_range;
    let bits = [
        state.ints,
        state.floats,
        state.texts,
        state.bools,
        state.liberal_ints,
        state.liberal_floats,
        state.nans,
        state.gaps,
        has_ints,
        has_floats,
        has_spellings && state.has_other_numbers,
        has_spellings && state.decimals.is_some(),
        has_spellings && state.spelled.is_some(),
    ];
    let bits = bits.iter().enumerate().fold(0, |all, (at, &bit)| all | u64::from(bit) << at);
    put::uv(out, bits);
    if has_ints {
        put::sv(out, state.range.0);
        put::sv(out, state.range.1);
    }
    if has_floats {
        out.extend_from_slice(&state.float_range.0.to_le_bytes());
        out.extend_from_slice(&state.float_range.1.to_le_bytes());
    }
    if !has_spellings {
        return;
    }
    if let Some(DecimalRange { scale, min, max }) = state.decimals.as_deref() {
        out.push(*scale);
        put::lp(out, min.to_string().as_bytes());
        put::lp(out, max.to_string().as_bytes());
    }
    if let Some(SpelledRange { spelling, min, max }) = &state.spelled {
        put::uv(out, spelling.code());
        put::sv(out, *min);
        put::sv(out, *max);
    }
}

fn put_values(values: &ValueState, has_spellings: bool, out: &mut Vec<u8>) {
    put::uv(out, values.count);
    put_state(&values.scalars, has_spellings, out);
    let token = values.null_token.filter(|_| has_spellings);
    let bits = [values.object.is_some(), values.list.is_some(), values.is_raw, token.is_some()];
    out.push(bits.iter().enumerate().fold(0, |all, (at, &bit)| all | u8::from(bit) << at));
    if let Some(object) = &values.object {
        put::uv(out, object.fields().len() as u64);
        for (key, value) in object.fields() {
            put::lp(out, key.as_bytes());
            put_values(value, has_spellings, out);
        }
    }
    if let Some(list) = &values.list {
        put_values(list, has_spellings, out);
    }
    if let Some(token) = token {
        put::lp(out, token.as_bytes());
    }
}
