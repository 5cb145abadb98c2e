//! The buffers of an OnPair column, mostly right: checked, decoded and searched.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hypostyle_testkit::fuzz::onpair_parts(bytes));
