//! Implementations of `Strings` that break its contract: compression fails, or returns a
//! consistent column.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, outside `#[test]`")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, ThreadId};

use hypostyle_onpair::{
    Column, Config, Dictionary, ErrorKind, Parse, Section, Strings, compress, decompress_rows,
};

/// Changes its answers from a certain call on.
struct Changing {
    before: Vec<Vec<u8>>,
    after: Vec<Vec<u8>>,
    /// The number of calls of `get` before the change, and the number so far.
    honest_calls: usize,
    calls: AtomicUsize,
}

impl Changing {
    fn current(&self, calls: usize) -> &[Vec<u8>] {
        if calls < self.honest_calls { &self.before } else { &self.after }
    }
}

impl Strings for Changing {
    fn len(&self) -> usize {
        self.current(self.calls.load(Ordering::Relaxed)).len()
    }

    fn get(&self, index: usize) -> &[u8] {
        let strings = self.current(self.calls.fetch_add(1, Ordering::Relaxed));
        strings.get(index).map_or(b"out of range", Vec::as_slice)
    }
}

fn config(parse: Parse, threads: usize) -> Config {
    let mut config = Config::default();
    config.parse = parse;
    config.threads = threads;
    config.lengths = true;
    config
}

/// Compresses strings that change at every possible call; returns the number of errors.
#[track_caller]
fn compress_changing(before: &[Vec<u8>], after: &[Vec<u8>], config: &Config) -> usize {
    let mut errors = 0;
    for honest_calls in 0.. {
        let strings = Changing {
            before: before.to_vec(),
            after: after.to_vec(),
            honest_calls,
            calls: AtomicUsize::new(0),
        };
        match compress(&strings, config) {
            Ok(parts) => {
                // `decompress_rows` compares every row with its stored length.
                let rows = decompress_rows(&parts).unwrap();
                let column = Column::new(parts).unwrap();
                for (row, bytes) in column.iter().enumerate() {
                    let bytes = bytes.unwrap();
                    assert_eq!(rows.get(row), Some(&bytes[..]));
                    let is_known = |strings: &[Vec<u8>]| strings.get(row) == Some(&bytes);
                    assert!(is_known(before) || is_known(after) || bytes == b"out of range");
                }
            }
            Err(err) => {
                assert_eq!((err.section, err.kind), (Section::Input, ErrorKind::Length), "{err}");
                errors += 1;
            }
        }
        if strings.calls.into_inner() < honest_calls {
            return errors;
        }
    }
    errors
}

#[test]
fn strings_that_change_give_an_error_or_a_column() {
    let before: Vec<Vec<u8>> = (1..=4).map(|row| b"some text ".repeat(row)).collect();
    let mut same_lengths = before.clone();
    same_lengths.iter_mut().for_each(|string| string.reverse());
    let longer: Vec<Vec<u8>> = before.iter().map(|string| string.repeat(50)).collect();
    let shorter: Vec<Vec<u8>> = before.iter().map(|string| string.split_at(3).0.to_vec()).collect();
    for parse in [Parse::Greedy, Parse::Fewest] {
        let config = config(parse, 1);
        assert_eq!(compress_changing(&before, &same_lengths, &config), 0);
        // Any change between the first length and the last copy is an error.
        for after in [&longer, &shorter, &vec![Vec::new(); 4], &Vec::new()] {
            assert_ne!(compress_changing(&before, after, &config), 0);
            compress_changing(after, &before, &config);
        }
    }
}

/// Returns strings of different lengths at each call.
struct Random {
    text: Vec<u8>,
    rows: usize,
    calls: AtomicUsize,
}

impl Strings for Random {
    fn len(&self) -> usize {
        self.rows
    }

    fn get(&self, _: usize) -> &[u8] {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let len = call.wrapping_mul(0x9E37_79B9) % self.text.len();
        self.text.split_at(len).0
    }
}

#[test]
#[cfg_attr(miri, ignore = "too slow")]
fn strings_of_random_lengths_are_refused_on_any_number_of_threads() {
    for threads in [1, 4] {
        for parse in [Parse::Greedy, Parse::Fewest] {
            let text = b"0123456789abcdef".repeat(64);
            let strings = Random { text, rows: 20_000, calls: AtomicUsize::new(0) };
            let err = compress(&strings, &config(parse, threads)).unwrap_err();
            assert_eq!((err.section, err.kind), (Section::Input, ErrorKind::Length));
        }
    }
}

/// Panics in `get` on any thread but one, and lets that one wait for the panic.
struct Panicking {
    string: Vec<u8>,
    rows: usize,
    calls: AtomicUsize,
    main: ThreadId,
    has_panicked: AtomicBool,
}

impl Strings for Panicking {
    fn len(&self) -> usize {
        self.rows
    }

    fn get(&self, _: usize) -> &[u8] {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        if thread::current().id() != self.main {
            self.has_panicked.store(true, Ordering::Relaxed);
            panic!("no string for a worker");
        }
        // The first calls ask for the lengths, before there are workers.
        while call >= self.rows && !self.has_panicked.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        &self.string
    }
}

#[test]
#[cfg_attr(miri, ignore = "too slow")]
fn a_panic_on_a_worker_thread_reaches_the_caller() {
    let strings = Panicking {
        string: b"0123456789abcdef".repeat(1 << 14),
        rows: 20,
        calls: AtomicUsize::new(0),
        main: thread::current().id(),
        has_panicked: AtomicBool::new(false),
    };
    let config = config(Parse::Greedy, 2);
    let dictionary = Dictionary::train(slice::from_ref(&strings.string), &config).unwrap();
    let compressed = || dictionary.compress(&strings, &config).map(|_| ());
    let payload = catch_unwind(AssertUnwindSafe(compressed)).unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&"no string for a worker"));
}
