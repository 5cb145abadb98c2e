//! Bytes as every format in turn: they are read or refused, within limits.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for format in hypostyle::formats::ALL {
        hypostyle_testkit::fuzz::decode_any(*format, bytes);
    }
});
