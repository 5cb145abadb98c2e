//! Encodes and decodes a table with every table format.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for format in hypostyle::formats::tables() {
        hypostyle_testkit::fuzz::roundtrip(format, bytes);
    }
});
