//! The stream comes back as it was, and no damage to it does harm.

use super::*;
use hypostyle_core::spelling::Spelling;
use hypostyle_core::text::{
    ColumnState, ColumnSummary, DecimalRange, Encoding, InferredState, ObjectState, OddToken,
    RowPosition, Skipped, SpelledRange, TextKind, TextRange, ValueState,
};
use hypostyle_core::wire::crc32;

fn column(name: &str, state: ColumnState) -> ColumnSummary {
    ColumnSummary {
        name: name.to_owned(),
        state,
        nulls: Some(2),
        empty_texts: 1,
        texts: None,
        odd_token: None,
    }
}

fn numbers() -> InferredState {
    InferredState {
        ints: true,
        range: (-5, i64::MAX),
        float_range: (-0.5, 1e300),
        gaps: true,
        ..InferredState::NONE
    }
}

fn spelled() -> InferredState {
    let spelling = Spelling::of(b"2024-01-04 12:00:00.500+02:00").unwrap();
    InferredState {
        has_other_numbers: true,
        decimals: Some(Box::new(DecimalRange { scale: 2, min: -(1 << 100), max: 7 })),
        spelled: Some(SpelledRange { spelling, min: -500_000, max: 500_000_000_000 }),
        ..numbers()
    }
}

fn metadata() -> TableMetadata {
    let scalars = ValueState { count: 3, scalars: numbers(), ..ValueState::default() };
    let list = ValueState { list: Some(Box::new(scalars.clone())), ..ValueState::default() };
    let object = ObjectState::new(vec![("k".to_owned(), scalars), ("l".to_owned(), list)]);
    let nested = ValueState {
        object: Some(object),
        is_raw: true,
        null_token: Some("NA"),
        ..ValueState::default()
    };
    let format = TextFormat::delimited(b';');
    let summary = TextSummary {
        format,
        encoding: Encoding::Utf8,
        rows: 1000,
        columns: vec![
            column("", ColumnState::Cells(InferredState::NONE)),
            ColumnSummary {
                texts: Some(TextRange { min: b"a".to_vec(), max: b"\xff".to_vec() }),
                odd_token: Some(Box::new(OddToken {
                    text: "NA".to_owned(),
                    count: 7,
                    is_quoted: true,
                    others: spelled(),
                })),
                ..column("naïve", ColumnState::Cells(numbers()))
            },
            column("j", ColumnState::Values(nested)),
            column("t", ColumnState::Text),
            column("b", ColumnState::Binary),
            column("v", ColumnState::TextList),
        ],
        rows_are_lines: true,
        ends_open: true,
        row_index: vec![
            RowPosition { row: 0, offset: 10, line: 1 },
            RowPosition { row: 500, offset: 5000, line: 501 },
        ],
        bytes: 10_000,
        null_words: Vec::new(),
        skipped: Skipped::default(),
    };
    let frame = FrameSize { stored: 300, bytes: 5000, newlines: 501 };
    TableMetadata {
        format,
        summary: Some(summary),
        frames: vec![frame, frame],
        has_spellings: true,
    }
}

/// Corrects the checksum.
fn seal(content: &mut [u8]) {
    let (content, sum) = content.split_last_chunk_mut::<4>().unwrap();
    *sum = crc32(content).to_le_bytes();
}

#[test]
fn the_stream_comes_back() {
    let whole = metadata();
    let content = whole.content().unwrap();
    assert_eq!(TableMetadata::parse(&content).unwrap(), Some(whole.clone()));
    assert!(content.len() < 300, "{} bytes", content.len());
    for kind in [TextKind::JsonLines, TextKind::Lines, TextKind::Log, TextKind::VariantCalls] {
        let format = TextFormat::new(kind);
        let bare = TableMetadata { format, summary: None, frames: Vec::new(), has_spellings: true };
        let content = bare.content().unwrap();
        assert_eq!(content.len(), 7);
        assert_eq!(TableMetadata::parse(&content).unwrap(), Some(bare));
    }
}

#[test]
fn a_later_version_is_passed_over() {
    let mut content = metadata().content().unwrap();
    content[0] = IMPLIES_NULLS + 1;
    assert_eq!(TableMetadata::parse(&content).unwrap(), None);
}

/// The states of an older stream have no decimals and no spellings, and say so.
#[test]
fn an_older_version_is_read() {
    let older = TableMetadata { has_spellings: false, ..metadata() };
    let content = older.content().unwrap();
    assert_eq!(content[0], 1);
    let found = TableMetadata::parse(&content).unwrap().unwrap();
    assert!(!found.has_spellings);
    let odd = found.summary.as_ref().unwrap().columns[1].odd_token.clone().unwrap();
    let want = InferredState { has_other_numbers: true, ..numbers() };
    assert_eq!(odd.others, want);
    assert_eq!(found.content().unwrap(), content);
}

/// Returns metadata of a column whose rows without a value are null.
fn with_implied_nulls() -> TableMetadata {
    let values = ValueState { count: 998, scalars: numbers(), ..ValueState::default() };
    let mut metadata = metadata();
    let columns = &mut metadata.summary.as_mut().unwrap().columns;
    columns.push(column("implied", ColumnState::Values(values)));
    metadata
}

#[test]
fn nulls_that_follow_from_values_are_not_stored() {
    let implied = with_implied_nulls();
    let mut stated = implied.clone();
    let columns = &mut stated.summary.as_mut().unwrap().columns;
    columns.last_mut().unwrap().nulls = Some(1);
    let (content, longer) = (implied.content().unwrap(), stated.content().unwrap());
    assert_eq!((content[0], longer[0]), (3, 2));
    assert_eq!(content.len() + 1, longer.len());
    assert_eq!(TableMetadata::parse(&content).unwrap(), Some(implied));
    assert_eq!(TableMetadata::parse(&longer).unwrap(), Some(stated));
}

#[test]
fn damage_is_found_or_harmless() {
    for metadata in [metadata(), with_implied_nulls()] {
        damage_each_byte(&metadata);
    }
}

fn damage_each_byte(metadata: &TableMetadata) {
    let content = metadata.content().unwrap();
    for len in 0..content.len() {
        assert!(TableMetadata::parse(&content[..len]).is_err(), "{len} bytes");
        let mut short = content[..len.max(5)].to_vec();
        seal(&mut short);
        assert!(TableMetadata::parse(&short).is_err(), "{len} bytes");
    }
    for at in 0..content.len() {
        for byte in 0..=255 {
            let mut damaged = content.clone();
            damaged[at] = byte;
            let is_damage = at > 0 && byte != content[at];
            assert!(!is_damage || TableMetadata::parse(&damaged).is_err());
            // Without the checksum, the parser meets the damage itself.
            seal(&mut damaged);
            if let Ok(Some(parsed)) = TableMetadata::parse(&damaged) {
                // What is accepted can be written again, and means the same.
                let again = parsed.content().unwrap();
                assert_eq!(TableMetadata::parse(&again).unwrap(), Some(parsed));
            }
        }
    }
    let mut longer = content;
    longer.push(0);
    seal(&mut longer);
    assert!(TableMetadata::parse(&longer).is_err());
}

#[test]
fn counts_that_contradict_each_other_are_refused() {
    let refused = |change: &dyn Fn(&mut TextSummary)| {
        let mut metadata = metadata();
        change(metadata.summary.as_mut().unwrap());
        TableMetadata::parse(&metadata.content().unwrap()).is_err()
    };
    assert!(!refused(&|_| {}));
    assert!(refused(&|summary| summary.rows = 9));
    assert!(refused(&|summary| summary.rows = 20_000));
    assert!(refused(&|summary| summary.bytes = 9_999));
    assert!(refused(&|summary| summary.columns[3].nulls = Some(u64::MAX)));
    assert!(refused(&|summary| summary.row_index[1].row = 1001));
    assert!(refused(&|summary| summary.row_index[1].offset = 10));
    assert!(refused(&|summary| {
        summary.columns[1].texts = Some(TextRange { min: b"b".to_vec(), max: b"a".to_vec() });
    }));
}
