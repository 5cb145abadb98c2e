//! `hyp sql` as users run it, in a build with the engine.

#![expect(clippy::unwrap_used, reason = "a failed test may panic")]

mod prompt;
mod queries;
#[path = "../recipes/mod.rs"]
mod recipe_pages;
mod recipes;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// A temporary folder in which `hyp` runs.
pub(crate) struct Folder(tempfile::TempDir);

/// What a run printed.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn with(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        fs::write(self.path(name), content).unwrap();
        self
    }

    pub(crate) fn hyp(&self, words: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hyp"));
        self.run(command.args(words))
    }

    /// Runs a query that must succeed, and returns what it prints.
    #[track_caller]
    pub(crate) fn sql(&self, query: &str, more: &[&str]) -> String {
        let words: Vec<&str> = ["sql", query].iter().chain(more).copied().collect();
        let ran = self.hyp(&words);
        assert_eq!(ran.code, 0, "{query}: {}", ran.err);
        ran.out
    }

    pub(crate) fn run(&self, command: &mut Command) -> Ran {
        let output = command.current_dir(self.0.path()).output().unwrap();
        Ran {
            code: output.status.code().unwrap(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}
