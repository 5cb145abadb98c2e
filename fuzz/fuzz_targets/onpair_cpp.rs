//! Reads a mostly valid file of the C++ implementation of OnPair.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hypostyle_testkit::fuzz::onpair_cpp(bytes));
