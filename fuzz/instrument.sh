#!/bin/sh
# A compiler that counts edges in our crates, and in no others: `RUSTC_WRAPPER` of the fuzzers.
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
