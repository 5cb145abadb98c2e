//! `hyp` with URLs, as users run it, against servers on the loopback interface.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a failed test may panic"
)]

mod buckets;
mod faults;
#[path = "../shared/folder.rs"]
mod folder;
#[path = "../shared/ran.rs"]
mod ran;
mod reads;
#[cfg(feature = "sql")]
#[path = "../recipes/mod.rs"]
mod recipe_pages;
#[cfg(feature = "sql")]
mod s3;
mod server;
#[cfg(feature = "sql")]
mod sql;

use std::fmt::Write as _;

pub(crate) use folder::Folder;
pub(crate) use ran::Ran;

impl Folder {
    /// Sets a variable of the environment.
    pub(crate) fn variable(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn hyp(&self, words: &[&str]) -> Ran {
        Ran::of(self.command(env!("CARGO_BIN_EXE_hyp")).args(words))
    }

    /// Runs a command that must succeed, and returns what it prints.
    #[track_caller]
    pub(crate) fn ok(&self, words: &[&str]) -> String {
        let ran = self.hyp(words);
        assert_eq!(ran.code, 0, "{words:?}: {}", ran.err);
        ran.out
    }

    /// Runs a command that must fail, and returns its error.
    #[track_caller]
    pub(crate) fn fails(&self, words: &[&str]) -> String {
        let ran = self.hyp(words);
        assert_ne!(ran.code, 0, "{words:?}: {}", ran.out);
        ran.err
    }
}

/// Returns a CSV file of flights on some days, in their order.
pub(crate) fn flights(days: usize, per_day: usize) -> String {
    let mut csv = String::from("day,carrier,flight,delay,tail\n");
    let mut state = 1_u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state >> 33
    };
    for day in 1..=days {
        for _ in 0..per_day {
            let carrier = ["AA", "DL", "UA", "WN"][(noise() % 4) as usize];
            let (flight, delay) = (noise() % 9000, (noise() % 200) as i64 - 30);
            let (one, two) = (noise() % 999_983, noise() % 999_983);
            writeln!(csv, "{day},{carrier},{flight},{delay},N{one:06}-{two}").unwrap();
        }
    }
    csv
}
