#!/bin/sh
# A `RUSTC_WRAPPER` for the fuzzers: adds coverage instrumentation to our crates only.
rustc="$1"
shift
case "$*" in
*"--crate-name hypostyle"*)
    exec "$rustc" "$@" --cfg fuzzing -Cpasses=sancov-module \
        -Cllvm-args=-sanitizer-coverage-level=4 \
        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
        -Cllvm-args=-sanitizer-coverage-pc-table \
        -Cllvm-args=-sanitizer-coverage-trace-compares
    ;;
*) exec "$rustc" "$@" ;;
esac
