//! Files of others: names that control terminals, links, and modes.

use crate::{Folder, Ran};

/// An escape sequence, and a mark that reverses the direction of text.
const SEQUENCE: &str = "\u{1b}]0;owned\u{7}\u{202e}";

#[track_caller]
fn is_plain(ran: &Ran) {
    for text in [&ran.out, &ran.err] {
        let is_unsafe = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(!text.contains(is_unsafe), "{text:?}");
    }
}

#[test]
fn names_of_files_and_columns_do_not_control_the_terminal() {
    let name = format!("a{SEQUENCE}.csv");
    let folder = Folder::new().with(&name, format!("id{SEQUENCE},b\n1,2\n"));
    let archive = format!("a{SEQUENCE}.at1");
    let pack = ["pack", "--query", &name, "-o", &archive];
    is_plain(&folder.hyp_words(&pack));
    for (words, code) in [
        (vec!["pack", "--query", &name, "-o", &archive], 2),
        (vec!["cat", &archive, "--columns", "c"], 2),
        (vec!["cat", &archive, "--where", "c = 1"], 2),
        (vec!["cat", "--format", "table", &archive], 0),
        (vec!["cat", &format!("{archive}x")], 3),
        (vec!["verify", &archive], 0),
        (vec!["inspect", &archive], 0),
        (vec!["schema", &archive], 0),
        (vec!["append", &archive, &name], 0),
        (vec!["convert", &name, &format!("b{SEQUENCE}.colf")], 0),
        (vec!["unpack", "-f", &archive, "-o", &format!("c{SEQUENCE}")], 0),
    ] {
        let ran = folder.hyp_words(&words);
        assert_eq!(ran.code, code, "{words:?}: {}{}", ran.out, ran.err);
        is_plain(&ran);
    }
}

/// A deviation quotes the name of a stream.
#[test]
fn names_of_streams_do_not_control_the_terminal() {
    let name = format!("x{SEQUENCE}");
    let stream = |name: &str| {
        let len = u8::try_from(name.len()).unwrap();
        [&[len], name.as_bytes(), &[2, 0]].concat()
    };
    let file = [&b"AT1\x02\x03\x03\x04meta\x02\x02\x00\x00"[..], &stream(&name), &stream(&name)];
    let folder = Folder::new().with("twice.at1", file.concat());
    for line in ["inspect twice.at1", "verify twice.at1"] {
        let ran = folder.hyp(line);
        assert!(ran.out.contains("second stream"), "{}{}", ran.out, ran.err);
        is_plain(&ran);
    }
}

#[cfg(unix)]
mod unix {
    use std::fs::{self, File, OpenOptions};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use crate::Folder;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Nobody who cannot read an input can read an output of it.
    #[test]
    fn outputs_have_the_mode_of_their_input() {
        let folder = Folder::new().with("a.csv", "id,b\n1,2\n");
        fs::create_dir(folder.path("in")).unwrap();
        fs::write(folder.path("in/open"), "x").unwrap();
        fs::write(folder.path("in/secret"), "x").unwrap();
        set_mode(&folder.path("in/open"), 0o644);
        set_mode(&folder.path("in/secret"), 0o600);
        for (input, output) in [(0o600, 0o600), (0o640, 0o640), (0o755, 0o644), (0o400, 0o400)] {
            set_mode(&folder.path("a.csv"), input);
            folder.hyp("pack --query a.csv -q").ok();
            folder.hyp("convert a.csv a.colf -q").ok();
            folder.hyp("convert a.csv.at1 b.csv -q").ok();
            folder.hyp("unpack a.csv.at1 -q -o c.csv").ok();
            for name in ["a.csv.at1", "a.colf", "b.csv", "c.csv"] {
                assert_eq!(mode(&folder.path(name)), output, "{name} of {input:o}");
                fs::remove_file(folder.path(name)).unwrap();
            }
        }
        folder.hyp("pack in -q").ok();
        assert_eq!(mode(&folder.path("in.at1")), 0o600);
        folder.hyp("unpack in.at1 -q -o out").ok();
        assert_eq!(mode(&folder.path("out/open")), 0o644);
        assert_eq!(mode(&folder.path("out/secret")), 0o600);
    }

    /// A file that is replaced keeps its own mode.
    #[test]
    fn an_append_keeps_the_mode_of_the_archive() {
        let folder = Folder::new().with("a.csv", "id,b\n1,2\n").with("more.csv", "3,4\n");
        folder.hyp("pack --query a.csv -q").ok();
        set_mode(&folder.path("a.csv.at1"), 0o600);
        folder.hyp("append a.csv.at1 more.csv -q").ok();
        assert_eq!(mode(&folder.path("a.csv.at1")), 0o600);
    }

    /// A bundle of one file in a folder.
    fn bundle() -> Folder {
        let folder = Folder::new();
        fs::create_dir_all(folder.path("in/deep/er")).unwrap();
        fs::create_dir(folder.path("elsewhere")).unwrap();
        fs::write(folder.path("in/deep/er/a"), "a").unwrap();
        folder.hyp("pack in -q").ok();
        folder
    }

    #[test]
    fn nothing_is_created_through_a_link_that_leads_outside() {
        let folder = bundle();
        fs::create_dir(folder.path("out")).unwrap();
        symlink(folder.path("elsewhere"), folder.path("out/deep")).unwrap();
        folder.hyp("unpack in.at1 -o out").fails(4, &["link leads outside"]);
        assert_eq!(fs::read_dir(folder.path("elsewhere")).unwrap().count(), 0);
    }

    #[test]
    fn a_pipe_in_the_place_of_a_member_is_refused() {
        let folder = bundle();
        fs::create_dir_all(folder.path("out/deep/er")).unwrap();
        let made = Command::new("mkfifo").arg(folder.path("out/deep/er/a")).status().unwrap();
        assert!(made.success());
        folder.hyp("unpack in.at1 -f -o out").fails(4, &["not a regular file"]);
    }

    #[test]
    fn a_bundle_without_a_name_is_not_unpacked_above() {
        let folder = bundle();
        fs::create_dir(folder.path("sub")).unwrap();
        fs::copy(folder.path("in.at1"), folder.path("sub/...at1")).unwrap();
        folder.hyp("unpack sub/...at1").fails(2, &["-o"]);
        assert_eq!(folder.names(), ["elsewhere", "in", "in.at1", "sub"]);
    }

    #[test]
    fn an_archive_is_not_appended_as_text() {
        let folder = Folder::new().with("a.csv", "id,b\n1,2\n");
        folder.hyp("pack --query a.csv -q").ok();
        let before = folder.bytes("a.csv.at1");
        folder.hyp("append a.csv.at1 a.csv.at1").fails(2, &["is an archive"]);
        assert_eq!(folder.bytes("a.csv.at1"), before);
    }

    /// Everything that can be written is written to a device without room.
    #[test]
    fn a_full_device_is_named_and_an_error() {
        let folder = Folder::new().with("a.csv", "id,b\n1,2\n".repeat(5000));
        folder.hyp("pack --query a.csv -q").ok();
        for line in
            ["--help", "cat a.csv", "cat a.csv.at1", "convert a.csv - --to colf", "pack a.csv -c"]
        {
            let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
            let ran = Command::new(env!("CARGO_BIN_EXE_hyp"))
                .args(line.split(' '))
                .current_dir(folder.path("."))
                .stdout(full)
                .stderr(Stdio::piped())
                .output()
                .unwrap();
            let said = String::from_utf8(ran.stderr).unwrap();
            assert_eq!(ran.status.code(), Some(3), "{line}: {said}");
            let whole = "error: `standard output`: cannot write: No space left";
            assert!(said.starts_with(whole), "{line}: {said}");
        }
        folder.hyp("convert a.csv /dev/full --to colf").fails(3, &["/dev/full", "No space left"]);
    }

    /// Ends the process at many moments: the output is as it was, or complete, and nothing else is
    /// left in the folder. A kill between the two steps that replace a file leaves the complete
    /// new one beside it, until the next run.
    #[test]
    fn a_kill_at_any_moment_leaves_the_old_file_or_the_new_one() {
        let rows: String =
            (0..20_000).map(|row| format!("{row},{},x{}\n", row * 7, row % 91)).collect();
        let text = format!("id,b,c\n{rows}");
        let folder = Folder::new().with("a.csv", &text).with("more.csv", &rows);
        folder.hyp("pack -1 a.csv -q -o old.at1").ok();
        folder.hyp("pack -1 --query a.csv -q -o table.at1").ok();
        let old = folder.bytes("table.at1");
        for (line, output) in [
            ("pack -1 a.csv -q -f -o out", "out"),
            ("convert a.csv out.colf -q -f", "out.colf"),
            ("unpack old.at1 -q -f -o out.csv", "out.csv"),
            ("append table.at1 more.csv -1 -q", "table.at1"),
        ] {
            let before = folder.names();
            let is_new = !before.iter().any(|name| name == output);
            let run = || {
                Command::new(env!("CARGO_BIN_EXE_hyp"))
                    .args(line.split(' '))
                    .current_dir(folder.path("."))
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap()
            };
            let start = Instant::now();
            assert!(run().wait().unwrap().success(), "{line}");
            let whole = start.elapsed();
            let complete = folder.bytes(output);
            let restore = || match is_new {
                true => fs::remove_file(folder.path(output)).unwrap_or_default(),
                false => fs::write(folder.path(output), &old).unwrap(),
            };
            for moment in 0..50_u32 {
                restore();
                let mut child = run();
                std::thread::sleep(whole * moment / 45 + Duration::from_micros(300));
                let _ = child.kill();
                child.wait().unwrap();
                let beside = format!(".{output}.partial");
                if let Ok(left) = fs::read(folder.path(&beside)) {
                    assert!(!is_new && left == complete, "{line}");
                }
                let mut names = folder.names();
                names.retain(|name| *name != beside);
                match File::open(folder.path(output)) {
                    Err(_) => assert!(is_new && names == before, "{line}: {names:?}"),
                    Ok(_) => {
                        let found = folder.bytes(output);
                        assert!(found == complete || (!is_new && found == old), "{line}");
                        let others = names.iter().filter(|name| *name != output);
                        assert!(
                            others.eq(before.iter().filter(|name| *name != output)),
                            "{names:?}"
                        );
                    }
                }
            }
            restore();
            assert!(run().wait().unwrap().success(), "{line}");
            restore();
            assert_eq!(folder.names(), before, "{line}");
        }
    }
}
