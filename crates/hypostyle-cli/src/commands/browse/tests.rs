//! Keys and screens without a terminal.

#![expect(clippy::unwrap_used, reason = "a failed test may panic")]

use std::fs;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use bytes::Bytes;
use hypostyle::{FormatId, OpenOptions, WriteOptions, Writer, WriterOptions};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::browser::{Browser, Cell, Effect, Key, Mode};
use super::draw;
use super::source::Source;

const WIDTH: u16 = 60;
const HEIGHT: u16 = 10;

const CITIES: &str = "\
id,city,price,note
1,Lima,3.50,first
2,Oslo,1.25,
3,Pune,9.00,\"two
lines\"
4,東京,7.00,wide
5,lima,2.00,\"\u{1b}[31mred\u{1b}]0;title\u{7}\u{202e}\"
";

/// A browser whose tasks run as soon as it asks for them.
struct Played {
    browser: Browser,
    copied: Vec<String>,
    has_quit: bool,
}

impl Played {
    fn of_text(name: &str, text: &str) -> Self {
        let options = OpenOptions::default().with_name(name);
        let bytes = Arc::new(Bytes::from(text.to_owned()));
        Self::of(hypostyle::open_source(bytes, &options).unwrap(), name)
    }

    fn of(table: hypostyle::Table, name: &str) -> Self {
        let source = Source::new(name.to_owned(), table, None).unwrap();
        let browser = Browser::new(Arc::new(source));
        let mut played = Self { browser, copied: Vec::new(), has_quit: false };
        played.settle(WIDTH, HEIGHT);
        played
    }

    /// Runs what the browser asks for, until it asks for nothing.
    fn settle(&mut self, width: u16, height: u16) {
        loop {
            self.browser.prepare(width, height);
            let effects = self.browser.take_effects();
            if effects.is_empty() {
                return;
            }
            for effect in effects {
                match effect {
                    Effect::Start { id, task, ticket } => {
                        let answer = task.run(self.browser.source(), &ticket);
                        self.browser.answer(id, answer);
                    }
                    Effect::Copy(text) => self.copied.push(text),
                    Effect::Quit => self.has_quit = true,
                    Effect::Redraw | Effect::Suspend => {}
                }
            }
        }
    }

    fn keys(&mut self, keys: impl IntoIterator<Item = Key>) -> &mut Self {
        for key in keys {
            self.browser.key(key);
            self.settle(WIDTH, HEIGHT);
        }
        self
    }

    fn types(&mut self, text: &str) -> &mut Self {
        self.keys(text.chars().map(Key::Char))
    }

    /// Types a line into a prompt.
    fn says(&mut self, text: &str) -> &mut Self {
        self.types(text).keys([Key::Enter])
    }

    fn screen(&self, width: u16, height: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw::draw(&self.browser, frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let line = |y| {
            let cells = (0..width).map(|x| buffer.cell((x, y)).unwrap().symbol());
            cells.collect::<String>().trim_end().to_owned()
        };
        (0..height).map(line).collect()
    }

    fn shown(&self) -> String {
        self.screen(WIDTH, HEIGHT).join("\n")
    }

    /// Returns the numbers of the rows in the order in which they are shown.
    fn rows(&self) -> Vec<u64> {
        (0..self.browser.rows().len()).filter_map(|at| self.browser.rows().at(at)).collect()
    }

    #[track_caller]
    fn says_at_the_end(&self, text: &str) {
        let shown = self.shown();
        assert!(shown.lines().last().unwrap().contains(text), "no `{text}` in:\n{shown}");
    }
}

#[test]
fn the_grid_shows_cells_and_spells_out_controls() {
    let played = Played::of_text("cities.csv", CITIES);
    let screen = played.screen(WIDTH, HEIGHT);
    assert_eq!(screen[0], " cities.csv   csv   5 rows");
    assert_eq!(screen[1].split_whitespace().collect::<Vec<_>>(), ["id", "city", "price", "note"]);
    assert_eq!(screen[2], "0   1  Lima     3.50  first");
    assert_eq!(screen[3], "1   2  Oslo     1.25  NULL");
    assert!(screen[4].ends_with("9.00  two\\nlines"), "{screen:?}");
    assert!(screen[6].contains("\\u{1b}[31mred"), "{screen:?}");
    assert!(!screen.concat().contains(['\u{1b}', '\u{7}', '\u{202e}']), "{screen:?}");
    assert!(screen[9].starts_with("? help"));
}

#[test]
fn keys_move_the_current_cell() {
    let mut played = Played::of_text("cities.csv", CITIES);
    played.types("jjl");
    played.says_at_the_end("row 2 of 5   city: text");
    played.types("G").says_at_the_end("row 4 of 5");
    played.types("g$").says_at_the_end("row 0 of 5   note: text");
    played.types(":").says("3").says_at_the_end("row 3 of 5");
    played.types(":").says("50%").says_at_the_end("row 2 of 5");
    played.types("9").keys([Key::Enter]);
    assert!(played.shown().contains("the last row is 4"));
    played.keys([Key::Esc]).types("q");
    assert!(played.has_quit);
}

#[test]
fn a_wrong_filter_is_marked_under_the_word() {
    let mut played = Played::of_text("cities.csv", CITIES);
    played.types("&").says("price > 2 and town = 'x'");
    let screen = played.screen(WIDTH, HEIGHT);
    assert_eq!(screen[7], "filter: price > 2 and town = 'x'");
    assert_eq!(screen[8], "                      ^^^^");
    assert!(screen[9].contains("town"), "{screen:?}");
    played.keys([Key::Ctrl('u')]).says("price >");
    assert!(played.shown().lines().last().unwrap().starts_with("at character 8"));
    played.keys([Key::Ctrl('u')]).says("price > 2");
    assert_eq!(played.rows(), [0, 2, 3]);
    played.says_at_the_end("3 of 5 rows match");
    assert!(played.shown().contains("3 of 5 rows where price > 2"));
    played.types("&").keys([Key::Ctrl('u')]).says("price > 100");
    assert!(played.shown().contains("no rows"));
    played.types("&").keys([Key::Ctrl('u'), Key::Enter]);
    assert_eq!(played.rows(), [0, 1, 2, 3, 4]);
}

#[test]
fn rows_are_sorted_up_and_down_and_filters_stay() {
    let mut played = Played::of_text("cities.csv", CITIES);
    played.types("lls");
    assert_eq!(played.rows(), [1, 4, 0, 3, 2]);
    assert!(played.shown().contains("price▲"), "{}", played.shown());
    played.types("s");
    assert_eq!(played.rows(), [2, 3, 0, 4, 1]);
    played.types("&").says("price >= 2");
    assert_eq!(played.rows(), [2, 3, 0, 4]);
    assert!(played.shown().contains("price▼"));
    played.types(":").says("0").says_at_the_end("row 0, 3 of 4");
    played.types("s");
    assert_eq!(played.rows(), [0, 2, 3, 4], "the filter stays");
    played.types("ls");
    assert_eq!(played.rows(), [4, 0, 2, 3], "nulls would be last");
}

#[test]
fn text_is_found_in_shown_columns_in_both_directions() {
    let mut played = Played::of_text("cities.csv", CITIES);
    played.types("j/").says("lima").says_at_the_end("row 4 of 5   city: text");
    played.types("n").says_at_the_end("went on at the other end");
    played.types("n").says_at_the_end("row 4 of 5");
    played.types("N").says_at_the_end("row 0 of 5");
    played.types("/").says("Lima").types("n").says_at_the_end("other end");
    played.types("l").says_at_the_end("row 0 of 5");
    played.types("/").says("nowhere").says_at_the_end("no shown column has nowhere");
    // Sorted rows are searched in the order in which they are shown.
    played.types("0lls").types("g/").says("lima").says_at_the_end("row 4, 2 of 5");
    played.types("n").says_at_the_end("row 0, 3 of 5");
    played.types("N").says_at_the_end("row 4, 2 of 5");
    played.types("-/").says("lima").says_at_the_end("no shown column");
}

#[test]
fn columns_are_hidden_frozen_and_listed() {
    let mut played = Played::of_text("cities.csv", CITIES);
    played.types("l-");
    assert!(!played.shown().contains("Lima"));
    played.types("c");
    let listed = played.shown();
    assert!(listed.contains("[x] id") && listed.contains("[ ] city"), "{listed}");
    played.types("j").keys([Key::Enter]);
    assert!(matches!(played.browser.mode(), Mode::Grid));
    played.types("+");
    assert!(played.shown().contains("Lima"));
    played.types("0f$");
    let narrow = {
        played.settle(16, HEIGHT);
        played.screen(16, HEIGHT).join("\n")
    };
    assert!(narrow.contains("id") && narrow.contains("note"), "{narrow}");
}

#[test]
fn a_record_statistics_and_copies() {
    let mut played = Played::of_text("cities.csv", CITIES);
    played.types("jj").keys([Key::Enter]);
    let record = played.screen(WIDTH, HEIGHT);
    assert_eq!(record[0], " Row 2   Esc closes");
    assert_eq!(record[4..6], ["note   two", "       lines"]);
    played.keys([Key::Right]);
    assert!(played.shown().contains("Row 3") && played.shown().contains("東"));
    played.keys([Key::Esc]).types("$ky");
    assert_eq!(played.copied, ["two\nlines"]);
    played.types("Y");
    assert_eq!(played.copied[1], "3\tPune\t9.00\ttwo\nlines");
    played.types("0lli");
    let page = played.shown();
    assert!(page.contains("Statistics of price"), "{page}");
    for fact in [
        "rows            5",
        "smallest        1.25",
        "largest         9.00",
        "mean            4.55",
    ] {
        assert!(page.contains(fact), "no `{fact}` in:\n{page}");
    }
    played.types("G");
    assert!(played.shown().contains("█"), "{}", played.shown());
    played.keys([Key::Esc]).types("?");
    assert!(played.shown().contains("one screen"));
}

#[test]
fn a_damaged_column_does_not_hide_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.colf");
    let ids = Arc::new(Int32Array::from_iter_values(0..100)) as ArrayRef;
    let names = StringArray::from_iter_values((0..100).map(|row| format!("name {row}")));
    let batch = RecordBatch::try_from_iter([("id", ids), ("name", Arc::new(names))]).unwrap();
    let mut options = WriterOptions::default();
    options.encode = WriteOptions::default().with_level(0);
    let mut writer = Writer::create(&path, FormatId::Colf, batch.schema(), &options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let place = bytes.windows(7).position(|window| window == b"name 50").unwrap();
    bytes[place] = b'N';
    fs::write(&path, bytes).unwrap();
    let played = Played::of(hypostyle::open(&path).unwrap(), "a.colf");
    let cell = |column| played.browser.cell(3, column).unwrap();
    assert_eq!((cell(0), cell(1)), (Cell::Text("3".to_owned()), Cell::Damaged));
    played.says_at_the_end("error: ");
}

#[test]
fn any_size_of_terminal_is_drawn() {
    let mut played = Played::of_text("cities.csv", CITIES);
    let modes = ["", "?", "i", "c", "&pri", "lf", "s"];
    for keys in modes {
        played.keys([Key::Esc]).types(keys);
        if keys == "&pri" {
            played.keys([Key::Enter]);
        }
        for width in 1..24 {
            for height in 1..8 {
                played.settle(width, height);
                assert_eq!(played.screen(width, height).len(), usize::from(height));
            }
        }
    }
}

#[test]
fn work_is_stopped_and_its_answer_is_ignored() {
    let mut played = Played::of_text("cities.csv", CITIES);
    played.browser.key(Key::Char('s'));
    let effects = played.browser.take_effects();
    assert!(played.browser.progress().is_some());
    played.browser.key(Key::Esc);
    let Some(Effect::Start { id, task, ticket }) = effects.into_iter().next() else {
        panic!("nothing was started");
    };
    assert!(ticket.is_cancelled());
    let answer = task.run(played.browser.source(), &ticket);
    assert!(matches!(answer, Ok(None)));
    played.browser.answer(id, answer);
    played.says_at_the_end("stopped");
    assert_eq!(played.rows(), [0, 1, 2, 3, 4]);
}

fn any_key() -> impl Strategy<Value = Key> {
    let special = [
        Key::Up,
        Key::Down,
        Key::Left,
        Key::Right,
        Key::PageUp,
        Key::PageDown,
        Key::Home,
        Key::End,
        Key::FirstRow,
        Key::LastRow,
        Key::Enter,
        Key::Esc,
        Key::Backspace,
        Key::Delete,
        Key::Ctrl('u'),
        Key::Ctrl('w'),
    ];
    let chars: Vec<char> = "hjklgG[]:/nN&s-+f<>owciyY?q 0$5price>2'%".chars().collect();
    prop_oneof![
        2 => prop::sample::select(chars).prop_map(Key::Char),
        1 => prop::sample::select(special.to_vec()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_keys_leave_a_screen(keys in prop::collection::vec(any_key(), 0..60), width in 1_u16..50, height in 1_u16..12) {
        let mut played = Played::of_text("cities.csv", CITIES);
        for key in keys {
            played.browser.key(key);
            played.settle(width, height);
            prop_assert_eq!(played.screen(width, height).len(), usize::from(height));
            let (position, top) = played.browser.positions();
            let rows = played.browser.rows().len();
            prop_assert!(top <= position && position < rows.max(1), "{} {} {}", top, position, rows);
        }
    }
}
