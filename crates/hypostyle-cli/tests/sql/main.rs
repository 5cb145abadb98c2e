//! `hyp sql` as users run it, in a build with the engine.

#![expect(clippy::unwrap_used, reason = "a failed test may panic")]
#![expect(clippy::panic, reason = "a failed test may panic")]

#[path = "../shared/folder.rs"]
mod folder;
mod prompt;
mod queries;
#[path = "../shared/ran.rs"]
mod ran;
#[path = "../recipes/mod.rs"]
mod recipe_pages;
mod recipes;

pub(crate) use folder::Folder;
use ran::Ran;

impl Folder {
    pub(crate) fn hyp(&self, words: &[&str]) -> Ran {
        Ran::of(self.command(env!("CARGO_BIN_EXE_hyp")).args(words))
    }

    /// Runs a query that must succeed, and returns what it prints.
    #[track_caller]
    pub(crate) fn sql(&self, query: &str, more: &[&str]) -> String {
        let words: Vec<&str> = ["sql", query].iter().chain(more).copied().collect();
        let ran = self.hyp(&words);
        assert_eq!(ran.code, 0, "{query}: {}", ran.err);
        ran.out
    }
}
