//! Parses, prints and evaluates a predicate, on all rows at once and on each.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hypostyle_testkit::fuzz::any_predicate(bytes));
