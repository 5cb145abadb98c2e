//! Searches on the codes of `.onpair` return what a scan of the cells returns.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BinaryArray, RecordBatch, StringArray};
use bytes::Bytes;
use hypostyle::formats::onpair::OnPair;
use hypostyle::formats::{Format, Reader};
use hypostyle::predicate::Predicate;
use hypostyle::{ReadOptions, WriteOptions};
use hypostyle_testkit::build::onpair::{self, Column, ColumnChunk, File, numbers};
use hypostyle_testkit::laws;
use hypostyle_testkit::source::CountingSource;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

type Cell = Option<Vec<u8>>;

fn open(file: Vec<u8>) -> Arc<dyn Reader> {
    OnPair.open(Arc::new(Bytes::from(file)), &ReadOptions::default()).unwrap()
}

/// Returns the rows that a scan of all columns keeps.
fn scanned(
    reader: &Arc<dyn Reader>,
    chunk: usize,
    columns: &[usize],
    test: &Predicate,
) -> RecordBatch {
    let all: Vec<usize> = (0..reader.schema().fields().len()).collect();
    let whole = reader.read(chunk, &all).unwrap();
    let matching = laws::matching_rows(test, &whole).unwrap();
    matching.of(&whole.project(columns).unwrap()).unwrap()
}

fn same_as_a_scan(reader: &Arc<dyn Reader>, test: &Predicate) {
    let width = reader.schema().fields().len();
    if test.bind(&reader.schema()).is_err() {
        // For example a pattern beside a column of bytes.
        assert!(laws::read_where(reader, 0, &[0], test).is_err(), "{test}");
        return;
    }
    for chunk in 0..reader.row_groups() {
        for columns in [(0..width).rev().collect(), vec![0], vec![]] {
            let found = laws::read_where(reader, chunk, &columns, test).unwrap();
            let want = scanned(reader, chunk, &columns, test);
            assert_eq!(found, want, "{test} {columns:?}");
        }
    }
}

/// How a column is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Plain,
    Indexed,
    /// As codes of the longest tokens (parse 0) or of any tokens (parse 2), with byte lengths or
    /// without.
    Packed {
        parse: u8,
        shared: bool,
        lengths: bool,
    },
}

fn forms() -> impl Strategy<Value = Form> {
    prop_oneof![
        Just(Form::Plain),
        Just(Form::Indexed),
        (select(vec![0, 2]), any::<bool>(), any::<bool>())
            .prop_map(|(parse, shared, lengths)| Form::Packed { parse, shared, lengths }),
        (select(vec![0, 2]), any::<bool>(), any::<bool>())
            .prop_map(|(parse, shared, lengths)| Form::Packed { parse, shared, lengths }),
    ]
}

/// Returns sorted tokens: all bytes that occur in cells, and some longer ones.
const TOKENS: [&[u8]; 21] = [
    b" ",
    b"%",
    b"1",
    b"12",
    b"2",
    b"5",
    b"A",
    b"AB",
    b"B",
    b"_",
    b"a",
    b"a ",
    b"ab",
    b"aba",
    b"abab",
    b"b",
    b"ba",
    b"\xA9",
    b"\xC3",
    b"\xC3\xA9",
    b"\xFF",
];

/// Returns codes of a text: the longest token at every position, or the one that `choice`
/// picks.
fn cut(text: &[u8], parse: u8, choice: &mut impl FnMut(usize) -> usize) -> Vec<u16> {
    let (mut rest, mut codes) = (text, Vec::new());
    while !rest.is_empty() {
        let mut fit: Vec<usize> =
            (0..TOKENS.len()).filter(|&code| rest.starts_with(TOKENS[code])).collect();
        fit.sort_by_key(|&code| TOKENS[code].len());
        let code = if parse == 0 { *fit.last().unwrap() } else { fit[choice(fit.len())] };
        codes.push(u16::try_from(code).unwrap());
        rest = &rest[TOKENS[code].len()..];
    }
    codes
}

fn part(cells: &[Cell], form: Form) -> ColumnChunk {
    let (parse, shared, lengths) = match form {
        Form::Plain => return ColumnChunk::plain(cells),
        Form::Indexed if cells.iter().all(Option::is_none) => return ColumnChunk::plain(cells),
        Form::Indexed => return ColumnChunk::indexed(cells),
        Form::Packed { parse, shared, lengths } => (parse, shared, lengths),
    };
    let present: Vec<&Vec<u8>> = cells.iter().flatten().collect();
    if present.is_empty() {
        return ColumnChunk::plain(cells);
    }
    let mut values = present.clone();
    if shared {
        values.sort_unstable();
        values.dedup();
    }
    let mut step = 0_usize;
    let mut choice = |count: usize| {
        step = step.wrapping_mul(31).wrapping_add(7);
        step / 8 % count
    };
    let rows: Vec<Vec<u16>> = values.iter().map(|value| cut(value, parse, &mut choice)).collect();
    let rows: Vec<&[u16]> = rows.iter().map(Vec::as_slice).collect();
    let mut part = ColumnChunk::packed(9, &TOKENS, &rows);
    part.parse = parse;
    let all = ColumnChunk::plain(cells);
    (part.nulls, part.text) = (all.nulls, all.text);
    part.sections[5].clone_from(&all.sections[5]);
    if shared {
        let index = |value: &&Vec<u8>| values.binary_search(value).unwrap();
        let indexes: Vec<u32> =
            present.iter().map(|value| u32::try_from(index(value)).unwrap()).collect();
        part.flags |= 1;
        part.sections[4] = numbers(&indexes);
    }
    if lengths {
        let lens: Vec<u32> =
            values.iter().map(|value| u32::try_from(value.len()).unwrap()).collect();
        part.flags |= 2;
        part.sections[3] = numbers(&lens);
    }
    part
}

const TEXTS: [&str; 14] =
    ["", "a", "ab", "aba", "abab", "b a", "AB", "é", "aé", "1", "12", "1.5", "5%", "a_b"];

fn text_cell() -> impl Strategy<Value = Cell> {
    prop_oneof![
        1 => Just(None),
        3 => select(TEXTS.to_vec()).prop_map(|text| Some(text.replace('.', "5").into_bytes())),
        3 => "[ab]{0,9}".prop_map(|text| Some(text.into_bytes())),
        1 => "[abAB15 %_é]{0,40}".prop_map(|text| Some(text.into_bytes())),
    ]
}

fn byte_cell() -> impl Strategy<Value = Cell> {
    prop_oneof![
        1 => Just(None),
        4 => vec(select(b"ab1\xC3\xA9\xFF".to_vec()), 0..5).prop_map(Some),
    ]
}

fn literal() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => select(TEXTS.to_vec()).prop_map(|text| format!("'{text}'")),
        2 => "[ab]{0,4}".prop_map(|text| format!("'{text}'")),
        1 => select(vec!["'61'", "'ff'", "'6162'", "'c3a9'"]).prop_map(str::to_owned),
        1 => select(vec!["1", "12", "1.50", "5", "61", "-1", "true", "false"])
            .prop_map(str::to_owned),
    ]
}

fn pattern() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => ("%?", "[abAé]{0,3}", "%?").prop_map(|(start, text, end)| format!("{start}{text}{end}")),
        1 => "[ab%_Aé]{0,6}",
    ]
}

fn leaf(names: Vec<&'static str>) -> impl Strategy<Value = String> {
    let column = || select(names.clone());
    let op = select(vec!["=", "<>", "<", "<=", ">", ">="]);
    let texts = "[ab]{0,3}";
    prop_oneof![
        4 => (column(), op, literal()).prop_filter_map("no order of truths", |(column, op, value)| {
            let ordered = op.starts_with(['<', '>']) && op != "<>";
            let truth = value == "true" || value == "false";
            (!(ordered && truth)).then(|| format!("{column} {op} {value}"))
        }),
        1 => (column(), texts, texts)
            .prop_map(|(column, low, high)| format!("{column} between '{low}' and '{high}'")),
        2 => (column(), vec(literal(), 1..4))
            .prop_map(|(column, values)| format!("{column} in ({})", values.join(", "))),
        4 => (column(), select(vec!["like", "ilike", "not like"]), pattern())
            .prop_map(|(column, like, pattern)| format!("{column} {like} '{pattern}'")),
        1 => (column(), select(vec!["is null", "is not null"]))
            .prop_map(|(column, is)| format!("{column} {is}")),
    ]
}

fn predicate() -> impl Strategy<Value = Predicate> {
    predicate_of(vec!["t", "t", "u", "b"])
}

fn predicate_of(names: Vec<&'static str>) -> impl Strategy<Value = Predicate> {
    let tree = leaf(names).prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 2..4).prop_map(|parts| format!("({})", parts.join(" and "))),
            vec(inner.clone(), 2..4).prop_map(|parts| format!("({})", parts.join(" or "))),
            inner.prop_map(|part| format!("not ({part})")),
        ]
    });
    tree.prop_map(|text| Predicate::parse(&text).unwrap())
}

fn tables() -> impl Strategy<Value = Vec<(Cell, Cell, Cell)>> {
    vec((text_cell(), text_cell(), byte_cell()), 1..60)
}

fn columns(rows: &[(Cell, Cell, Cell)]) -> [Vec<Cell>; 3] {
    [
        rows.iter().map(|row| row.0.clone()).collect(),
        rows.iter().map(|row| row.1.clone()).collect(),
        rows.iter().map(|row| row.2.clone()).collect(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_encoding_matches_a_scan(
        rows in tables(),
        forms in vec(forms(), 3),
        tests in vec(predicate(), 1..5),
    ) {
        let cells = columns(&rows);
        let each = ["t", "u", "b"].into_iter().zip(&cells).zip(&forms);
        let parts = each.map(|((name, cells), &form)| Column {
            code: u8::from(name == "b"),
            ..Column::new(name, part(cells, form))
        });
        let rows = u32::try_from(rows.len()).unwrap();
        let reader = open(File::new(&[rows], parts.collect()).build().bytes);
        // Every encoding is valid and has the expected cells.
        let whole = reader.read(0, &[0]).unwrap();
        let texts = whole.column(0).as_string::<i32>().iter();
        prop_assert!(texts.map(|cell| cell.map(|it| it.as_bytes().to_vec())).eq(cells[0].clone()));
        for test in tests {
            same_as_a_scan(&reader, &test);
        }
    }

    /// Files of our writer, in the smallest encoding, also with a thorough read.
    #[test]
    fn files_of_our_writer_match_a_scan(
        rows in tables(),
        copies in select(vec![1_usize, 40]),
        tests in vec(predicate(), 1..5),
    ) {
        let rows: Vec<_> = (0..copies)
            .flat_map(|copy| rows.iter().map(move |(t, u, b)| {
                let t = t.clone().map(|t| [t, copy.to_string().into_bytes()].concat());
                (t, u.clone(), b.clone())
            }))
            .collect();
        let [t, u, b] = columns(&rows);
        let text = |cells: Vec<Cell>| -> ArrayRef {
            let cells = cells.into_iter().map(|cell| cell.map(|it| String::from_utf8(it).unwrap()));
            Arc::new(StringArray::from_iter(cells))
        };
        let b: ArrayRef = Arc::new(BinaryArray::from_iter(b));
        let columns = [("t", text(t), true), ("u", text(u), true), ("b", b, true)];
        let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        let file = laws::encode(&OnPair, &batch, &WriteOptions::default());
        let reader = open(file.clone());
        for test in &tests {
            same_as_a_scan(&reader, test);
        }
        let strict = ReadOptions::default().with_strict(true);
        let strict = OnPair.open(Arc::new(Bytes::from(file)), &strict).unwrap();
        same_as_a_scan(&strict, &tests[0]);
    }

    #[test]
    fn files_of_the_cpp_implementation_match_a_scan(
        cells in vec("[ab1]{0,9}", 0..30),
        test in predicate_of(vec!["value"]),
    ) {
        let mut choice = |count: usize| count / 2;
        let rows: Vec<Vec<u16>> =
            cells.iter().map(|cell| cut(cell.as_bytes(), 2, &mut choice)).collect();
        let rows: Vec<&[u16]> = rows.iter().map(Vec::as_slice).collect();
        let reader = open(onpair::cpp(9, &TOKENS, &rows).bytes);
        same_as_a_scan(&reader, &test);
    }
}

/// Without matching rows, a projected column is not read; a tested column is read once.
#[test]
fn a_projected_column_without_matching_rows_is_not_read() {
    let cells = |word: &str| -> Vec<Cell> {
        (0..200).map(|row| Some(format!("{word} {row}").into_bytes())).collect()
    };
    let (t, u) = (ColumnChunk::plain(&cells("ab")), ColumnChunk::plain(&cells("ba")));
    let made = File::new(&[200], vec![Column::new("t", t), Column::new("u", u)]).build();
    let source = Arc::new(CountingSource::new(Arc::new(Bytes::from(made.bytes))));
    let reader = OnPair.open(source.clone(), &ReadOptions::default()).unwrap();
    source.clear_reads();
    let none = Predicate::parse("t like '%x%'").unwrap();
    let found = laws::read_where(&reader, 0, &[0, 1], &none).unwrap();
    assert_eq!((found.num_rows(), found.num_columns()), (0, 2));
    assert_eq!(source.covered(), [made.blocks[0].clone()]);
    assert_eq!(source.reads().len(), 1);
    source.clear_reads();
    let some = Predicate::parse("t like '%b 77' and t <> 'x'").unwrap();
    let found = laws::read_where(&reader, 0, &[1, 0], &some).unwrap();
    assert_eq!(found.column(0).as_string::<i32>().value(0), "ba 77");
    assert_eq!(found.num_rows(), 1);
    assert_eq!(source.reads().len(), 2);
}

/// A row that is not UTF-8 fails a scan; a search that does not match it does not decode it.
#[test]
fn rows_that_are_not_kept_are_not_decoded() {
    let tokens: [&[u8]; 3] = [b"a", b"b", b"\xFF"];
    let file = |part| open(File::new(&[5], vec![Column::new("s", part)]).build().bytes);
    let reader = file(ColumnChunk::packed(9, &tokens, &[&[0, 1], &[2, 1], &[1], &[0, 0], &[0, 0]]));
    let ask = |test: &str| laws::read_where(&reader, 0, &[0], &Predicate::parse(test).unwrap());
    for (test, rows) in [
        ("s = 'b'", 1),
        ("s like '%b' and s < 'c'", 2),
        ("s in ('ab', 'b')", 2),
        ("s > 'aa' and s <= 'b'", 2),
        ("s like 'x'", 0),
    ] {
        assert_eq!(ask(test).unwrap().num_rows(), rows, "{test}");
    }
    let err = ask("s like '%b'").unwrap_err();
    assert_eq!((err.row(), err.to_string().contains("UTF-8")), (Some(1), true), "{err}");
}

/// The search does not rely on the parse that a file declares, since a scan ignores it.
#[test]
fn a_wrong_parse_in_the_entry_changes_no_result() {
    let tokens: [&[u8]; 4] = [b"a", b"ab", b"b", b"ba"];
    for parse in 0..3 {
        // `ab` stored as `a` and `b` is neither a greedy parse nor the one with the fewest codes.
        let mut part = ColumnChunk::packed(9, &tokens, &[&[0, 2], &[1], &[0, 2, 0], &[0, 3], &[2]]);
        part.parse = parse;
        let reader = open(File::new(&[5], vec![Column::new("s", part)]).build().bytes);
        for test in ["s = 'ab'", "s in ('ab', 'aba')", "s like 'ab%'", "s like '%ab%'", "s < 'ab'"]
        {
            same_as_a_scan(&reader, &Predicate::parse(test).unwrap());
        }
    }
}

#[test]
fn unknown_columns_are_errors() {
    let part = ColumnChunk::plain(&[Some("a")]);
    let reader = open(File::new(&[1], vec![Column::new("s", part)]).build().bytes);
    let ask = |test: &str| laws::read_where(&reader, 0, &[0], &Predicate::parse(test).unwrap());
    let err = ask("s = 'a' or x = 'b'").unwrap_err().to_string();
    assert_eq!(err, "no column named `x`; the only column is `s`");
    assert!(laws::read_where(&reader, 0, &[1], &Predicate::parse("s = 'a'").unwrap()).is_err());
}

/// Codes of more text than the entry declares are refused before they are decoded.
#[test]
fn codes_for_more_text_than_there_is_are_refused() {
    let token = [b'x'; 16];
    let mut part = ColumnChunk::packed(9, &[&token], &[&[0; 1000], &[0]]);
    part.text = 100;
    let reader = open(File::new(&[2], vec![Column::new("s", part)]).build().bytes);
    for test in ["s like '%x_x%'", "s = 1", "s like '%x%'"] {
        let err = laws::read_where(&reader, 0, &[0], &Predicate::parse(test).unwrap()).unwrap_err();
        assert!(err.to_string().contains("bytes of text"), "{test}: {err}");
    }
}
