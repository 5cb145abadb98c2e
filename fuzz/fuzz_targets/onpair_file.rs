//! An .onpair file, mostly right and with checksums that agree: read or refused.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hypostyle_testkit::fuzz::onpair_file(bytes));
