//! The command as users run it: output, exit codes and files.

#![expect(clippy::unwrap_used, reason = "a failed test may panic")]
#![expect(clippy::panic, reason = "a failed test may panic")]

mod append;
mod at1;
mod bench;
#[cfg(all(unix, feature = "browse"))]
mod browse;
mod bundle;
mod convert;
#[path = "../shared/folder.rs"]
mod folder;
mod grammar;
mod grep;
mod hostile;
mod logs;
mod onpair;
mod pack;
mod query;
mod show;
mod types;
mod verbs;
mod verify;
mod viewer;

use std::fs;
use std::io::Write;
use std::process::{Output, Stdio};

pub(crate) use folder::Folder;

impl Folder {
    pub(crate) fn read(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path(""))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Runs `hyp` in this folder; words are split at spaces.
    pub(crate) fn hyp(&self, line: &str) -> Ran {
        self.hyp_with(line, b"")
    }

    /// Runs `hyp` in this folder with words that may contain spaces.
    pub(crate) fn hyp_words(&self, words: &[&str]) -> Ran {
        run(self, words, b"")
    }

    pub(crate) fn hyp_with(&self, line: &str, stdin: &[u8]) -> Ran {
        run(self, &line.split(' ').collect::<Vec<_>>(), stdin)
    }
}

/// The result of a run.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) raw: Vec<u8>,
}

impl Ran {
    /// Fails unless the command succeeded; returns its output.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, 0, "{}{}", self.out, self.err);
        assert_eq!(self.err, "");
        self.out
    }

    /// Fails unless the command ended with `code` and a message with each of `words`.
    #[track_caller]
    pub(crate) fn fails(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.code, code, "{}{}", self.out, self.err);
        for word in words {
            assert!(self.err.contains(word), "no `{word}` in: {}", self.err);
        }
        self
    }
}

fn run(folder: &Folder, words: &[&str], stdin: &[u8]) -> Ran {
    let mut child = folder
        .command(env!("CARGO_BIN_EXE_hyp"))
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let stdin = stdin.to_vec();
    // Write from another thread: a child that prints before it has read all would block.
    let feeder = std::thread::spawn(move || {
        let _ = pipe.write_all(&stdin);
    });
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    Ran {
        code: status.code().unwrap(),
        out: String::from_utf8_lossy(&stdout).into_owned(),
        err: String::from_utf8(stderr).unwrap(),
        raw: stdout,
    }
}

/// A table with values that formats commonly get wrong.
pub(crate) const TRICKY: &str = "\
id,zip,price,ratio,name,note
1,00501,1.50,0.5,Ada,\"says \"\"hi\"\"\"
2,10001,2.25,-0.0,,\"two
lines\"
3,90210,3.00,1e-7,\"Grace, Adm.\",
-4,00000,10.10,2.0,名前, padded 
";
