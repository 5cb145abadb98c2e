//! `hyp grep` beside GNU grep, and archives beside the files that they were made from.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Command;

use crate::{Folder, Ran};

/// A log with repeated words, empty lines, tabs, carriage returns, and no newline at its end.
fn text() -> String {
    let mut text = String::new();
    for i in 0..160_u32 {
        let _ = match i * i % 9 {
            0 => writeln!(text, "2024-05-06 10:{:02}:11 INFO [main] started worker {i}", i % 60),
            1 => writeln!(
                text,
                "2024-05-06 10:{:02}:12 WARN\tdisk sd{} is {}% full",
                i % 60,
                i % 4,
                i % 101
            ),
            4 => writeln!(
                text,
                "2024-05-06 11:{:02}:13 ERROR timeout after {}ms (try {})",
                i % 60,
                i * 7,
                i % 3
            ),
            7 if i % 2 == 0 => writeln!(text),
            7 => writeln!(text, "    at com.example.Main.run(Main.java:{i})\r"),
            _ => writeln!(text, "foo_bar foo-bar foo bar{i} Timeout é x.y a+b"),
        };
    }
    text + "the last line, without a newline: timeout"
}

const PATTERNS: &[&str] = &[
    "timeout",
    "Timeout",
    "nothing is here",
    "foo",
    "bar",
    "foo_bar",
    "sd[0-3]",
    "[0-9]+ms",
    "^2024",
    "full$",
    "^$",
    "^.",
    "e.*e",
    "(INFO|WARN)",
    "worker 1[0-9]*",
    "is [0-9]{2}%",
    "x\\.y",
    "a\\+b",
    "Main\\.java",
    "\\(try 2\\)",
    "é",
    "[^0-9a-z ]",
    "  +at",
    "o{2}",
    "t.m",
    "10:0[0-5]",
    "ERROR timeout after",
    "without a newline",
    "^    at .*run",
    "run\\(",
    "WARN.disk",
    "a|b|c",
    "(foo|bar)[-_]",
    "newline: timeout$",
    "b?ar[0-9]+ T",
    ".*",
    "INFO|ERROR|timeout",
    "2024.*full",
];

const OPTIONS: &[&str] =
    &["", "-n", "-c", "-v -n", "-i -n", "-w -n", "-m 3 -n", "-C 1 -n", "-A 2", "-x -n"];

/// Runs GNU grep in the folder; `None` if it is not installed.
fn grep(folder: &Folder, words: &[&str]) -> Option<(i32, Vec<u8>)> {
    let output = Command::new("grep")
        .args(words)
        .current_dir(folder.path("."))
        .env("LC_ALL", "C.UTF-8")
        .output()
        .ok()?;
    Some((output.status.code()?, output.stdout))
}

#[test]
fn lines_numbers_and_exit_codes_are_those_of_gnu_grep() {
    let folder = Folder::new().with("a.log", text()).with("b.log", "foo\nbar\n\nfoo timeout\n");
    if grep(&folder, &["--version"]).is_none_or(|(_, said)| !said.starts_with(b"grep (GNU grep)")) {
        return;
    }
    let same = |words: &[&str]| {
        let want = {
            // Both say how patterns are read.
            let extended: &[&str] = if words.contains(&"-F") { &[] } else { &["-E"] };
            grep(&folder, &[extended, words].concat()).unwrap()
        };
        let found = folder.hyp_words(&[&["grep"], words].concat());
        assert_eq!(
            (found.code, &found.out),
            (want.0, &String::from_utf8(want.1).unwrap()),
            "{words:?}"
        );
    };
    let mut compared = 0;
    for pattern in PATTERNS {
        for options in OPTIONS {
            // What an empty match at the end of a word is, is grep's own matter.
            if options.contains("-w") && [".*", "^$"].contains(pattern) {
                continue;
            }
            let mut words: Vec<&str> = options.split_whitespace().collect();
            words.extend(["-e", pattern, "a.log"]);
            same(&words);
            compared += 1;
        }
    }
    assert!(compared > 300, "{compared}");
    for words in [
        &["-n", "foo", "a.log", "b.log"][..],
        &["-c", "foo", "a.log", "b.log"],
        &["-l", "foo", "a.log", "b.log"],
        &["-L", "sd1", "a.log", "b.log"],
        &["-n", "-C", "1", "timeout", "a.log", "b.log"],
        &["-F", "-n", "-e", "a+b", "-e", "(try", "a.log"],
        &["-o", "-n", "[0-9]+ms", "a.log"],
        &["-o", "foo|timeout", "b.log"],
        &["-H", "bar", "b.log"],
        &["-q", "bar", "b.log"],
        &["-q", "never", "b.log"],
        &["-n", "foo\nbar", "b.log"],
        &["-r", "foo", "b.log"],
    ] {
        match words {
            ["-r", rest @ ..] => same(rest),
            words => same(words),
        }
    }
}

/// Runs `hyp grep` on a file and on another one, and compares lines and exit codes.
#[track_caller]
fn same_lines(folder: &Folder, words: &[&str], file: &str, other: &str) {
    let run = |name: &str| {
        let Ran { code, raw, err, .. } = folder.hyp_words(&[&["grep"], words, &[name]].concat());
        assert_eq!(err, "", "{words:?} {name}");
        (code, raw)
    };
    assert!(run(file) == run(other), "{words:?} {other}");
}

const QUERIES: &[&[&str]] = &[
    &["-n", "timeout"],
    &["-n", "-i", "TIMEOUT after [0-9]+"],
    &["-c", "-v", "foo"],
    &["-n", "-C", "2", "sd1"],
    &["-n", "-F", "nothing is here"],
    &["-n", "foo", "--and", "9"],
    &["-n", "-m", "2", "INFO"],
    &["-n", "--since", "2024-05-06 10:30", "--until", "2024-05-06 11:05", "."],
    &["-o", "[0-9]+"],
];

#[test]
fn grep_of_an_archive_is_grep_of_the_file() {
    let mut objects = String::new();
    for (at, line) in text().lines().enumerate() {
        let line = serde_json::to_string(line).unwrap();
        let _ = writeln!(
            objects,
            "{{\"n\":{at},\"line\":{line},\"at\":\"2024-05-06 10:{:02}:00\"}}",
            at % 60
        );
    }
    let table: String =
        (0..900).map(|row| format!("{row},timeout {},INFO foo{}\n", row % 7, row * 9)).collect();
    let folder = Folder::new()
        .with("a.log", text())
        .with("b.ndjson", objects)
        .with("c.csv", table)
        .with("empty", "");
    for (file, codecs) in [
        ("a.log", &["log", "jsondoc", "columnar", "raw"][..]),
        ("b.ndjson", &["json", "qjson", "qjson2", "jsondoc", "columnar"]),
        ("c.csv", &["columnar", "qcolumnar"]),
        ("empty", &["raw"]),
    ] {
        for codec in codecs {
            folder.hyp(&format!("pack {file} --codec {codec} -f -o packed.at1")).ok();
            for query in QUERIES {
                same_lines(&folder, query, file, "packed.at1");
            }
        }
        // Frames of a few lines.
        folder.hyp(&format!("pack {file} --chunk-lines 40 -f -o packed.at1")).ok();
        for query in QUERIES {
            same_lines(&folder, query, file, "packed.at1");
        }
    }
}

#[test]
fn compressed_texts_are_searched_beside_archives() {
    let content = text();
    let bytes = content.as_bytes();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(bytes).unwrap();
    let gzip = gzip.finish().unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
    xz.write_all(bytes).unwrap();
    let folder = Folder::new()
        .with("a.log", bytes)
        .with("a.log.gz", [&gzip[..], &gzip].concat())
        .with("a.log.zst", zstd::encode_all(bytes, 1).unwrap())
        .with("a.log.xz", xz.finish().unwrap());
    for query in QUERIES {
        for other in ["a.log.zst", "a.log.xz"] {
            same_lines(&folder, query, "a.log", other);
        }
    }
    let count = |file: &str| folder.hyp(&format!("grep -c timeout {file}")).ok();
    let twice: u32 = count("a.log.gz").trim().parse().unwrap();
    // The last line of the first member goes on in the second one.
    assert_eq!(twice, 2 * count("a.log").trim().parse::<u32>().unwrap());
    let from_pipe = folder.hyp_with("grep -c timeout", bytes).ok();
    assert_eq!(from_pipe, count("a.log"));
    let broken = &gzip[..gzip.len() / 2];
    let folder = folder.with("broken.gz", broken);
    let ran = folder.hyp("grep -c timeout broken.gz a.log").fails(2, &["`broken.gz`"]);
    assert!(ran.out.contains("a.log:"), "{}", ran.out);
}

#[test]
fn folders_globs_and_members_are_searched_by_name() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("logs/web")).unwrap();
    let folder = folder
        .with("logs/a.log", "one\ntwo\n")
        .with("logs/web/b.log", "two\nthree\n")
        .with("logs/web/c.txt", "two\n");
    folder.hyp("pack logs/a.log").ok();
    folder.hyp("pack logs -o all.at1").ok();
    let grep = |words: &str| {
        let ran = folder.hyp(&format!("grep {words}"));
        assert_eq!(ran.err, "");
        ran.out
    };
    assert_eq!(
        grep("two logs"),
        "logs/a.log:two\nlogs/a.log.at1:two\nlogs/web/b.log:two\nlogs/web/c.txt:two\n"
    );
    assert_eq!(grep("two logs -g *.log"), "logs/a.log:two\nlogs/web/b.log:two\n");
    assert_eq!(grep("two logs -g !*.log -g !*.at1"), "logs/web/c.txt:two\n");
    assert_eq!(grep("two logs/w*/*.txt"), "logs/web/c.txt:two\n");
    assert_eq!(grep("two all.at1 -g *.log"), "all.at1/a.log:two\nall.at1/web/b.log:two\n");
    assert_eq!(grep("-n two all.at1/web/b.log"), "all.at1/web/b.log:1:two\n");
    assert_eq!(grep("-c two all.at1/web"), "all.at1/web/b.log:1\nall.at1/web/c.txt:1\n");
    assert_eq!(grep("-I -n three all.at1"), "2:three\n");
    folder.hyp("grep two all.at1/web/d.log").fails(2, &["no member `web/d.log`"]);
    folder.hyp("grep two logs/a.log/x").fails(2, &["not a bundle"]);
    let ran = folder.hyp("grep two missing logs/a.log").fails(2, &["`missing`: cannot open"]);
    assert_eq!(ran.out, "two\n");
    folder.hyp("grep -s -q two missing logs/a.log").ok();
    folder.hyp("grep never logs/a.log").fails(1, &[]);
    folder.hyp("grep ( logs/a.log").fails(2, &["pattern", "unclosed group"]);
    folder.hyp("grep").fails(2, &["no pattern"]);
    folder.hyp("grep --since yesterday x logs/a.log").fails(2, &["`yesterday`"]);
}

#[test]
fn binary_files_are_named_and_not_printed() {
    let folder = Folder::new()
        .with("b.bin", b"needle\nx\0y\nneedle\n")
        .with("latin.txt", b"caf\xE9 needle\nna\xEFve\n");
    assert_eq!(folder.hyp("grep needle b.bin").ok(), "b.bin: binary file matches\n");
    assert_eq!(folder.hyp("grep -c needle b.bin").ok(), "2\n");
    assert_eq!(folder.hyp("grep -a -n needle b.bin").ok(), "1:needle\n3:needle\n");
    assert_eq!(folder.hyp("grep needle latin.txt").raw, b"caf\xE9 needle\n");
    assert_eq!(folder.hyp_words(&["grep", "(?-u:\\xEF)", "latin.txt"]).raw, b"na\xEFve\n");
    let far = [&vec![b'x'; 40_000][..], b"\nneedle 1\nneedle\0\nneedle 2\n"].concat();
    let folder = folder.with("far.bin", far);
    assert_eq!(folder.hyp("grep needle far.bin").ok(), "needle 1\nfar.bin: binary file matches\n");
}

#[test]
fn json_colors_and_statistics() {
    let folder = Folder::new().with("a.txt", b"one\ntwo ones\nca\xFF one");
    let said = folder.hyp("grep --json -B 1 ones? a.txt");
    let messages: Vec<serde_json::Value> =
        said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> =
        messages.iter().map(|message| message["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["begin", "match", "match", "match", "end", "summary"]);
    let second = &messages[2]["data"];
    assert_eq!(second["lines"]["text"], "two ones\n");
    assert_eq!((&second["line_number"], &second["absolute_offset"]), (&2.into(), &4.into()));
    assert_eq!(second["submatches"][0]["match"]["text"], "ones");
    assert_eq!(
        (&second["submatches"][0]["start"], &second["submatches"][0]["end"]),
        (&4.into(), &8.into())
    );
    assert_eq!(messages[3]["data"]["lines"]["bytes"], "Y2H/IG9uZQ==");
    assert_eq!(messages[5]["data"]["stats"]["matched_lines"], 3);
    let colored = folder.hyp("grep --color always -n two a.txt").ok();
    assert_eq!(colored, "\x1b[32m2\x1b[0m\x1b[36m:\x1b[0m\x1b[1;31mtwo\x1b[0m ones\n");
    let ran = folder.hyp("grep --stats -c one a.txt");
    assert_eq!(ran.out, "3\n");
    assert!(
        ran.err.starts_with("3 lines selected in 1 of 1 files\n20 bytes of text searched\n"),
        "{}",
        ran.err
    );
}

#[test]
fn a_line_of_many_megabytes_is_one_line() {
    let long =
        [&vec![b'a'; 5 << 20][..], b"needle", &vec![b'b'; 5 << 20], b"\nshort needle\n"].concat();
    let folder = Folder::new().with("long.txt", &long);
    assert_eq!(folder.hyp("grep -c needle long.txt").ok(), "2\n");
    assert_eq!(folder.hyp("grep -o -n aneedleb long.txt").ok(), "1:aneedleb\n");
    assert!(folder.hyp("grep needle long.txt").raw == long);
}
