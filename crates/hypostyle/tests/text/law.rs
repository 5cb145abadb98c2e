//! The round-trip law: CSV to any format and back gives identical cells.

use std::fmt::Write as _;

use hypostyle::formats;
use hypostyle::text::Infer;
use hypostyle::text::TextOptions;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

use crate::support::{
    Cells, column, delimited, for_target, read_with, reference, store, there_and_back, to_csv,
};
use crate::support::{batches, read};

/// Cells that are nearly numbers, nearly empty, or nearly syntax.
const NASTY: &[&str] = &[
    "",
    "",
    " ",
    "  ",
    "0",
    "-0",
    "00",
    "007",
    "00501",
    "1",
    "-1",
    "+5",
    "1_000",
    "1.50",
    "1.5",
    "-0.0",
    "0.0",
    ".5",
    "5.",
    "1e3",
    "1e16",
    "1E16",
    "1e-6",
    "0.00001",
    "0.000001",
    "5e-324",
    "1e400",
    "-1e400",
    "NaN",
    "nan",
    "-NaN",
    "Infinity",
    "-Infinity",
    "inf",
    "true",
    "null",
    "NA",
    "2147483647",
    "2147483648",
    "-2147483648",
    "-2147483649",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "123456789012345678901234567890",
    "0.1",
    "0.30000000000000004",
    "0.10000000000000001",
    "123456789012345.6",
    "1234567890123456.7",
    "12345678901234567.8",
    "100000000000000000000.0",
    "10D",
    "5f",
    "0x1p3",
    "\"",
    "\"\"",
    "\"a",
    "a\"b",
    ",",
    "a,b",
    "\n",
    "\r",
    "\r\n",
    "\n\r",
    "a\nb",
    "\t",
    ";",
    "\u{FEFF}",
    "\u{FEFF}x",
    "é",
    "日本",
    "😀",
    "e\u{301}",
    "\0",
    "a\0b",
    "'",
    "\\",
    "\\N",
    "#",
    "=1+1",
    "٣",
    "\u{2028}",
    "\u{a0}5",
    " 5",
    "5 ",
];

/// A cell, and whether it is quoted without need.
type Cell = (String, bool);

/// Generates a column of `rows` cells that mostly have one type.
fn column_of(rows: usize) -> impl Strategy<Value = Vec<Cell>> {
    let nasty = select(NASTY).prop_map(str::to_owned).boxed();
    let ints = any::<i32>().prop_map(|value| value.to_string()).boxed();
    let longs = any::<i64>().prop_map(|value| value.to_string()).boxed();
    let floats = any::<f64>().prop_map(|value| format!("{value:?}")).boxed();
    let decimals = "-?[0-9]{1,3}\\.[0-9]{1,2}".boxed();
    let words = "[a-z \",\n\ré\u{FEFF}]{0,6}".boxed();
    let kinds = [nasty.clone(), ints, longs, floats, decimals, words];
    (select(kinds.to_vec()), 0..4_u8).prop_flat_map(move |(cell, rate)| {
        // Often all of one kind, sometimes with gaps, sometimes with an odd cell.
        let mut cells = vec![(10, cell)];
        if rate % 2 == 1 {
            cells.push((3, Just(String::new()).boxed()));
        }
        if rate >= 2 {
            cells.push((1, nasty.clone()));
        }
        vec((Union::new_weighted(cells), prop::bool::weighted(0.2)), rows)
    })
}

#[derive(Clone, Debug)]
struct Sheet {
    header: Vec<Cell>,
    rows: Vec<Vec<Cell>>,
    ends: Vec<&'static str>,
    bom: bool,
    final_end: bool,
    blank_lines: bool,
}

fn sheet() -> impl Strategy<Value = Sheet> {
    (1..=6_usize, 0..=12_usize).prop_flat_map(|(width, height)| {
        let names = vec((select(NASTY), any::<bool>()), width);
        let columns = vec(column_of(height), width);
        let ends = prop_oneof![
            Just(vec!["\n"]),
            Just(vec!["\r\n"]),
            Just(vec!["\r"]),
            Just(vec!["\n", "\r\n", "\r\n", "\n"]),
        ];
        (names, columns, ends, any::<(bool, bool, bool)>()).prop_map(
            move |(names, columns, ends, (bom, final_end, blank_lines))| {
                // CLMN refuses duplicate and blank names, so make them unique.
                let header = names.iter().enumerate();
                let header = header.map(|(at, (name, quoted))| (format!("{name}{at}"), *quoted));
                let row = |at: usize| columns.iter().map(|column| column[at].clone()).collect();
                Sheet {
                    header: header.collect(),
                    rows: (0..height).map(row).collect(),
                    ends,
                    bom,
                    final_end,
                    blank_lines,
                }
            },
        )
    })
}

impl Sheet {
    fn cells(&self) -> Cells {
        let plain = |row: &Vec<Cell>| row.iter().map(|(text, _)| text.clone()).collect();
        std::iter::once(&self.header).chain(&self.rows).map(plain).collect()
    }

    /// Returns the text of a CSV file with varied line ends, quotes and blank lines.
    fn text(&self) -> String {
        let mut out = String::new();
        if self.bom {
            out.push('\u{FEFF}');
        }
        let mut ends = self.ends.iter().cycle();
        let last = self.rows.len();
        for (at, row) in std::iter::once(&self.header).chain(&self.rows).enumerate() {
            let start = out.len();
            for (index, (text, quoted)) in row.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                let must = text.contains(['"', ',', '\n', '\r'])
                    // Otherwise it would be read as a byte order mark.
                    || (at == 0 && index == 0 && text.starts_with('\u{FEFF}'));
                if *quoted || must {
                    write!(out, "\"{}\"", text.replace('"', "\"\"")).unwrap();
                } else {
                    out.push_str(text);
                }
            }
            let end = ends.next().unwrap();
            // A last row that is empty exists only with its line end.
            if at < last || self.final_end || out.len() == start {
                out.push_str(end);
            }
            if self.blank_lines && row.len() > 1 {
                out.push_str(end);
            }
        }
        out
    }
}

proptest! {
    /// The law itself.
    #[test]
    fn csv_to_any_format_and_back_gives_identical_cells(sheet in sheet()) {
        let text = sheet.text();
        let cells = sheet.cells();
        prop_assert_eq!(&reference(text.as_bytes(), b','), &cells, "{:?}", text);
        for format in formats::tables() {
            let back = there_and_back(format, text.as_bytes(), &TextOptions::default())
                .map_err(|err| TestCaseError::fail(format!("{}: {err}", format.id())))?;
            prop_assert_eq!(&reference(&back, b','), &cells, "{} {:?}", format.id(), text);
            // A second round trip gives identical text.
            let twice = there_and_back(format, &back, &TextOptions::default()).unwrap();
            prop_assert_eq!(String::from_utf8(twice), String::from_utf8(back));
        }
    }

    /// The same without inference, and with a delimiter that occurs in numbers.
    #[test]
    fn all_text_and_odd_delimiters_keep_cells_too(
        sheet in sheet(),
        delimiter in select(b"\t;|.-e0 \0".to_vec()),
    ) {
        let cells = sheet.cells();
        for format in formats::tables() {
            let mut options = for_target(format.capabilities());
            options.infer = Infer::Text;
            let as_text = read_with(sheet.text(), &options).unwrap();
            let exact = read_with(
                sheet.text(), &for_target(format.capabilities()),
            )
            .unwrap();
            for imported in [as_text, exact] {
                let reader = store(format, &imported).unwrap();
                let out = to_csv(&batches(&reader).unwrap(), delimiter);
                prop_assert_eq!(&reference(&out, delimiter), &cells, "{:?}", out);
                let again =
                    there_and_back(format, &out, &delimited(delimiter)).unwrap();
                prop_assert_eq!(&reference(&again, delimiter), &cells);
            }
        }
    }

    /// In a nullable text column, a gap is null and a quoted empty cell is a text.
    #[test]
    fn gaps_and_empty_texts_are_distinguished(rows in vec(0..4_usize, 1..8)) {
        let cell = |&pick: &usize| ["7", "x", "", "\"\""][pick];
        let mut text = "k,v\n".to_owned();
        rows.iter().for_each(|pick| writeln!(text, "1,{}", cell(pick)).unwrap());
        let imported = read(&text).unwrap();
        let is_text = rows.contains(&1) || !rows.contains(&0);
        let want: Vec<Option<String>> = rows
            .iter()
            .map(|pick| match pick {
                2 => None,
                3 if is_text => Some(String::new()),
                3 => None,
                _ => Some(cell(pick).to_owned()),
            })
            .collect();
        prop_assert_eq!(column(&imported, 1), want);
    }
}

#[test]
fn a_byte_order_mark_inside_the_table_is_an_ordinary_character() {
    // The first is the byte order mark, the second is part of the name.
    let text = "\u{FEFF}\u{FEFF}a,b\n\u{FEFF},\u{FEFF}1\n";
    for format in formats::tables() {
        let back = there_and_back(format, text.as_bytes(), &TextOptions::default()).unwrap();
        let want = [["\u{FEFF}a", "b"], ["\u{FEFF}", "\u{FEFF}1"]];
        assert_eq!(reference(&back, b','), want, "{}", format.id());
    }
}
