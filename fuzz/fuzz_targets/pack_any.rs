//! Packs a text: it unpacks to itself, and the archive is the table of its text.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hypostyle_testkit::fuzz::pack_any(bytes));
