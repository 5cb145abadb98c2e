//! Reads bytes as every format: each must return values or an error, within limits.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for format in hypostyle::formats::ALL {
        hypostyle_testkit::fuzz::decode_any(*format, bytes);
    }
});
