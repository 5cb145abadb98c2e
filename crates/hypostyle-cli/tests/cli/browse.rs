//! `hyp browse` in a pseudo-terminal, with its screen compared.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::Folder;

/// Runs a command in a pseudo-terminal. Prints what it writes, does what the lines of standard
/// input say, and reports on standard error how the command ended and whether the terminal is as it
/// was before.
const DRIVER: &str = r#"
import fcntl, os, pty, select, struct, sys, termios
rows, cols, *command = sys.argv[1:]
size = lambda rows, cols: struct.pack("HHHH", int(rows), int(cols), 0, 0)
start, go = os.pipe()
pid, terminal = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm-256color"
    os.read(start, 1)
    os.execv(command[0], command)
fcntl.ioctl(terminal, termios.TIOCSWINSZ, size(rows, cols))
before = termios.tcgetattr(terminal)
os.write(go, b"x")
pending, inputs = b"", [terminal, 0]
while True:
    ready, _, _ = select.select(inputs, [], [])
    if terminal in ready:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            data = b""
        if not data:
            break
        os.write(1, data)
    if 0 in ready:
        data = os.read(0, 65536)
        if not data:
            inputs.remove(0)
        *lines, pending = (pending + data).split(b"\n")
        for line in lines:
            verb, *words = line.decode().split()
            if verb == "keys":
                os.write(terminal, bytes.fromhex(words[0]))
            elif verb == "size":
                fcntl.ioctl(terminal, termios.TIOCSWINSZ, size(*words))
            elif verb == "kill":
                os.kill(pid, int(words[0]))
            elif verb == "hangup":
                os.close(terminal)
                _, status = os.waitpid(pid, 0)
                sys.exit("code %d without a terminal" % os.waitstatus_to_exitcode(status))
after = termios.tcgetattr(terminal)
_, status = os.waitpid(pid, 0)
print("code", os.waitstatus_to_exitcode(status), "restored" if before == after else "changed", file=sys.stderr)
"#;

/// What the terminal shows, and all bytes that it got.
struct Shown {
    parser: vt100::Parser,
    bytes: Vec<u8>,
}

/// A command in a terminal.
struct Terminal {
    driver: Child,
    commands: ChildStdin,
    shown: Arc<Mutex<Shown>>,
    reader: JoinHandle<()>,
}

/// How a command ended.
struct Ended {
    status: String,
    bytes: Vec<u8>,
    screen: vt100::Screen,
}

fn size(cells: u16) -> NonZeroU16 {
    NonZeroU16::new(cells).unwrap()
}

impl Terminal {
    fn start(folder: &Folder, rows: u16, cols: u16, words: &[&str]) -> Self {
        let mut driver = Command::new("python3")
            .args(["-c", DRIVER, &rows.to_string(), &cols.to_string()])
            .arg(env!("CARGO_BIN_EXE_hyp"))
            .args(words)
            .current_dir(folder.path("."))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = driver.stdout.take().unwrap();
        let parser = vt100::Parser::new(size(rows), size(cols), 0);
        let shown = Arc::new(Mutex::new(Shown { parser, bytes: Vec::new() }));
        let for_reader = shown.clone();
        let reader = thread::spawn(move || {
            let mut buffer = [0; 65536];
            while let Ok(count @ 1..) = out.read(&mut buffer) {
                let mut shown = for_reader.lock().unwrap();
                let read = buffer.get(..count).unwrap_or_default();
                shown.parser.process(read);
                shown.bytes.extend_from_slice(read);
            }
        });
        let commands = driver.stdin.take().unwrap();
        Self { driver, commands, shown, reader }
    }

    fn command(&mut self, line: &str) {
        self.commands.write_all(line.as_bytes()).unwrap();
        self.commands.write_all(b"\n").unwrap();
    }

    fn keys(&mut self, keys: &str) -> &mut Self {
        let mut hex = String::new();
        keys.bytes().for_each(|byte| write!(hex, "{byte:02x}").unwrap());
        self.command(&format!("keys {hex}"));
        self
    }

    fn resize(&mut self, rows: u16, cols: u16) -> &mut Self {
        self.shown.lock().unwrap().parser.screen_mut().set_size(size(rows), size(cols));
        self.command(&format!("size {rows} {cols}"));
        self
    }

    fn lines(&self) -> Vec<String> {
        let shown = self.shown.lock().unwrap();
        let (_, cols) = shown.parser.screen().size();
        shown.parser.screen().rows(0, cols.get()).map(|line| line.trim_end().to_owned()).collect()
    }

    /// Waits until the screen is as it should be. The limit only ends a test that fails.
    #[track_caller]
    fn until(&mut self, what: &str, is_there: impl Fn(&[String]) -> bool) -> &mut Self {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let lines = self.lines();
            if is_there(&lines) {
                return self;
            }
            assert!(Instant::now() < end, "no {what} in:\n{}", lines.join("\n"));
            thread::sleep(Duration::from_millis(10));
        }
    }

    #[track_caller]
    fn shows(&mut self, text: &str) -> &mut Self {
        self.until(text, |lines| lines.iter().any(|line| line.contains(text)))
    }

    fn end(mut self) -> Ended {
        drop(self.commands);
        let mut status = String::new();
        self.driver.stderr.take().unwrap().read_to_string(&mut status).unwrap();
        self.driver.wait().unwrap();
        self.reader.join().unwrap();
        let shown = self.shown.lock().unwrap();
        let screen = shown.parser.screen().clone();
        Ended { status, bytes: shown.bytes.clone(), screen }
    }
}

const CITIES: &str = "id,city,price\n1,Lima,3.5\n2,Oslo,\n3,東京都,9.0\n";

#[test]
fn the_screen_shows_the_table_and_the_terminal_is_restored() {
    let folder = Folder::new().with("cities.csv", CITIES);
    let mut terminal = Terminal::start(&folder, 8, 44, &["browse", "cities.csv"]);
    terminal.until("the table", |lines| {
        lines
            == [
                " cities.csv   csv   3 rows",
                "   id  city     price",
                "0   1  Lima       3.5",
                "1   2  Oslo      NULL",
                "2   3  東京都     9.0",
                "",
                "",
                "? help   / find   & filter   q quit",
            ]
    });
    terminal.keys("\x1b[B\x1b[C").shows("row 1 of 3   city: text");
    terminal.keys("&price > 5\r").shows("1 of 3 rows match").shows("東京都");
    terminal.keys("y").shows("copied 3 characters");
    terminal.keys("&\x15\r").shows("all 3 rows");
    terminal.keys("&price > x\r").until("the error under the word", |lines| {
        lines.get(5).is_some_and(|line| line == "filter: price > x")
            && lines.get(6).is_some_and(|line| line == "                ^")
    });
    terminal.keys("\x1b").shows("cities.csv");
    terminal.keys("q");
    let ended = terminal.end();
    assert_eq!(ended.status, "code 0 restored\n");
    assert!(!ended.screen.alternate_screen() && !ended.screen.hide_cursor());
    let copied = b"\x1b]52;c;5p2x5Lqs6YO9\x07";
    assert!(ended.bytes.windows(copied.len()).any(|window| window == copied));
}

#[test]
fn terminals_of_any_size_survive() {
    let rows: String = (0..5000).map(|row| format!("{row},name {row}\n")).collect();
    let folder = Folder::new().with("a.csv", format!("id,name\n{rows}"));
    let mut terminal = Terminal::start(&folder, 10, 40, &["browse", "a.csv"]);
    terminal.shows("name 6").keys("G").shows("name 4999");
    terminal.resize(1, 1).resize(2, 3).resize(30, 100).shows("name 4975");
    terminal.resize(5, 12).until("a narrow grid", |lines| {
        lines.len() == 5 && lines.iter().any(|line| line.contains("4999"))
    });
    terminal.resize(10, 40).keys(":1234\r").shows("name 1234");
    // Ctrl-C ends the browser if nothing is running.
    terminal.keys("\x03");
    assert_eq!(terminal.end().status, "code 0 restored\n");
    // A terminal without a size is one of some size.
    let mut terminal = Terminal::start(&folder, 1, 1, &["browse", "a.csv"]);
    terminal.resize(6, 30).shows("name 1").keys("q");
    assert_eq!(terminal.end().status, "code 0 restored\n");
}

#[test]
fn cells_and_names_do_not_control_the_terminal() {
    const ATTACK: &str = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\u{9b}5m\u{202e}\x08\x7f";
    let text = format!("id,\"{ATTACK}\"\n1,\"{ATTACK}\"\n2,{}\n", "e\u{301}".repeat(3000));
    let name = "a\x1b[31mb.csv";
    let folder = Folder::new().with(name, text);
    let mut terminal = Terminal::start(&folder, 12, 60, &["browse", name]);
    terminal.shows("\\u{1b}]0;owned").keys("\r").shows("Row 0").shows("owned");
    terminal.keys("\x1b").shows("csv").keys("lc").shows("Esc closes").keys("\x1b");
    terminal.keys("li").shows("Most frequent").keys("\x1bq");
    let ended = terminal.end();
    assert_eq!(ended.status, "code 0 restored\n");
    let has = |part: &[u8]| ended.bytes.windows(part.len()).any(|window| window == part);
    for part in [&b"\x1b]0;"[..], b"\x1b[31m", b"\xc2\x9b", "\u{202e}".as_bytes(), b"\x08"] {
        assert!(!has(part), "{part:?} reached the terminal");
    }
}

#[test]
fn long_work_is_stopped_by_escape() {
    let rows: String = (0..200_000).map(|row| format!("{row},{}\n", row * 7 % 1000)).collect();
    let folder = Folder::new().with("a.csv", format!("id,n\n{rows}"));
    let mut terminal = Terminal::start(&folder, 10, 40, &["browse", "a.csv"]);
    terminal.shows("200,000 rows").keys("ls").shows("sorting").keys("\x1b").shows("stopped");
    terminal.keys("/nowhere\r").shows("no shown column has nowhere");
    terminal.keys("s").until("the largest rows", |lines| lines[2].contains("0    0"));
    terminal.keys("q");
    assert_eq!(terminal.end().status, "code 0 restored\n");
}

#[test]
fn a_signal_restores_the_terminal_and_ends_the_process() {
    for signal in [1, 2, 15] {
        let folder = Folder::new().with("cities.csv", CITIES);
        let mut terminal = Terminal::start(&folder, 8, 44, &["browse", "cities.csv"]);
        terminal.shows("Lima").command(&format!("kill {signal}"));
        let ended = terminal.end();
        assert_eq!(ended.status, format!("code -{signal} restored\n"));
        assert!(!ended.screen.alternate_screen() && !ended.screen.hide_cursor());
    }
}

#[test]
fn a_closed_terminal_ends_the_process() {
    let folder = Folder::new().with("cities.csv", CITIES);
    let mut terminal = Terminal::start(&folder, 10, 40, &["browse", "cities.csv"]);
    terminal.shows("Lima").command("hangup");
    let ended = terminal.end();
    assert_eq!(ended.status.trim(), "code -1 without a terminal");
}

#[test]
fn every_kind_of_table_is_browsed() {
    let folder = Folder::new().with("cities.csv", "id,city\n1,Lima\n2,Oslo\n");
    for name in ["cities.colm", "cities.colf", "cities.clmn", "cities.parquet", "cities.arrow"] {
        folder.hyp(&format!("convert cities.csv {name} -q")).ok();
    }
    fs::write(folder.path("city.txt"), "Lima\nOslo\n").unwrap();
    folder.hyp("convert city.txt city.onpair -q").ok();
    folder.hyp("convert cities.csv cities.jsonl -q").ok();
    folder.hyp("pack cities.csv -q").ok();
    for name in folder.names() {
        let mut terminal = Terminal::start(&folder, 8, 44, &["browse", &name]);
        terminal.shows("Lima").keys("q");
        assert_eq!(terminal.end().status, "code 0 restored\n", "{name}");
    }
}

#[test]
fn bad_files_give_the_sentences_of_the_other_commands() {
    let folder = Folder::new()
        .with("bad.colf", "COLF\x01 and nothing that follows")
        .with("ragged.csv", "a,b\n1,2\n3\n")
        .with("nothing", b"\x00\x01\x02\x03");
    for name in ["bad.colf", "ragged.csv", "nothing", "missing.csv"] {
        let cat = folder.hyp_words(&["cat", name]);
        let mut terminal = Terminal::start(&folder, 20, 300, &["browse", name]);
        let sentence = cat.err.lines().next().unwrap().to_owned();
        terminal.shows(&sentence);
        let ended = terminal.end();
        assert_eq!(ended.status, format!("code {} restored\n", cat.code), "{name}");
        assert!(!String::from_utf8_lossy(&ended.bytes).contains("\x1b[?1049h"), "{name}");
    }
    folder.hyp("browse ragged.csv").fails(4, &["row"]);
    let folder = folder.with("a.csv", "a\n1\n");
    folder.hyp("browse a.csv").fails(2, &["is not a terminal", "hyp cat"]);
}
