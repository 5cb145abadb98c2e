//! The prompt, driven through a pseudo-terminal.

use crate::Folder;
use crate::ran::Ran;

/// Starts `hyp sql` in a terminal, and plays a dialogue: pairs of what to wait for, and what to
/// type then. Prints all that the terminal shows.
const DRIVER: &str = r#"
import os, pty, select, signal, sys, time
hyp, *dialogue = sys.argv[1:]
pid, terminal = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execv(hyp, [hyp, "sql"])
shown, seen = b"", 0
def give_up(*_):
    os.kill(pid, signal.SIGKILL)
    sys.exit(f"took too long: {shown!r}")
signal.signal(signal.SIGALRM, give_up)
signal.alarm(100)
interrupts = False
def read(until, limit=30):
    global shown, seen
    end = time.time() + limit
    while until not in shown[seen:]:
        # A terminal that has not left the mode of the prompt takes an interrupt for a key.
        wait = 0.5 if interrupts else max(0, end - time.time())
        ready, _, _ = select.select([terminal], [], [], wait)
        if not ready and interrupts and time.time() < end:
            os.write(terminal, b"\x03")
            continue
        if not ready:
            os.kill(pid, signal.SIGKILL)
            sys.exit(f"waited for {until!r}, and saw {shown[seen:]!r}")
        try:
            data = os.read(terminal, 65536)
        except OSError:
            data = b""
        if not data:
            sys.exit(f"ended before {until!r}: {shown!r}")
        shown += data
    seen = shown.index(until, seen) + len(until)
for until, keys in zip(dialogue[::2], dialogue[1::2]):
    read(until.encode())
    os.write(terminal, keys.encode())
    interrupts = keys == "\x03"
while True:
    try:
        data = os.read(terminal, 65536)
    except OSError:
        break
    if not data:
        break
    shown += data
_, status = os.waitpid(pid, 0)
print(shown.decode(errors="replace"))
print("exit", os.waitstatus_to_exitcode(status))
"#;

fn talk(folder: &Folder, dialogue: &[&str]) -> String {
    let mut command = folder.command("python3");
    command.args(["-c", DRIVER, env!("CARGO_BIN_EXE_hyp")]).args(dialogue);
    command.env("XDG_STATE_HOME", folder.path("state"));
    let ran = Ran::of(&mut command);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    ran.out
}

#[test]
fn statements_span_lines_and_errors_do_not_end_the_prompt() {
    let folder = Folder::new().with("people.csv", "id,name\n1,Ada\n2,Grace\n");
    let shown = talk(
        &folder,
        &[
            "hyp> ",
            "select name\r",
            "name",
            "from 'people.csv'\r",
            "people",
            "where id = 2;\r",
            "Grace",
            "",
            "1 row",
            "select nope;\r",
            "error: ",
            "\\timing\r",
            "timing is on",
            "select 40 + 2 as answer;\r",
            "Time: ",
            "\\d 'people.csv'\r",
            "Int32",
            "create view v as select 1 as one;\r",
            "Time: ",
            "\\d\r",
            "VIEW",
            "\\q\r",
        ],
    );
    assert!(shown.contains("42") && shown.ends_with("exit 0\n"), "{shown}");
    let history = std::fs::read_to_string(folder.path("state/hyp/sql_history")).unwrap();
    assert!(history.contains("where id = 2;") && history.contains("\\timing"), "{history}");
}

#[test]
fn tab_completes_files_columns_and_functions() {
    let folder = Folder::new().with("people.csv", "id,birthplace\n1,London\n2,New York\n");
    let shown = talk(
        &folder,
        &[
            "hyp> ",
            "select count(*) as n from 'peop\t;\r",
            "1 row",
            "select birt\x01\x0b", // the line is empty again
            "hyp> ",
            "select max(id) from 'people.csv' where birthp\t = 'London';\r",
            "1 row",
            "select approx_perc\t\t",
            "approx_percentile_cont_with_weight(",
            "\x01\x0b\x04",
        ],
    );
    assert!(shown.contains("max(id)") && shown.ends_with("exit 0\n"), "{shown}");
}

#[test]
fn an_interrupt_stops_the_query_and_not_the_prompt() {
    let folder = Folder::new();
    let endless = "select sum(a.value * b.value) as endless from generate_series(1, 1000) a \
                   cross join generate_series(1, 10000000000) b;\r";
    let shown = talk(
        &folder,
        &[
            "hyp> ",
            endless,
            ") b;",
            "",
            "\n",
            "\x03",
            "interrupted",
            "select 6 * 7 as answer;\r",
            "42",
            "",
            // Between prompts the end of input would be lost.
            "hyp> ",
            "\x04",
        ],
    );
    assert!(shown.ends_with("exit 0\n"), "{shown}");
}

#[test]
fn a_pipe_is_a_script() {
    let folder = Folder::new();
    let mut command = folder.command("sh");
    let hyp = env!("CARGO_BIN_EXE_hyp");
    command.arg("-c").arg(format!("echo 'select 1 as a; select 2 as b' | {hyp} sql"));
    assert_eq!(Ran::of(&mut command).out, "a\n1\nb\n2\n");
}
