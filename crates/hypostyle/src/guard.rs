//! Turns panics of other people's decoders into errors.
//!
//! The decoders of this library do not panic on any input. Those of Parquet and Arrow do on
//! some, and a program that opens files of strangers must not end because of it. The guard
//! cannot catch an abort: callers check claimed sizes before they let a decoder allocate.
//! A program that is built with `panic = "abort"` ends all the same.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use hypostyle_core::error::{Error, Result, clipped};

/// Runs a decoder, and returns its panic as an error about `what`.
///
/// The decoder must be dropped after an error, because a panic may leave it half changed.
pub(crate) fn catch_panics<T>(what: &'static str, decode: impl FnOnce() -> Result<T>) -> Result<T> {
    // What `decode` changed is dropped after a panic, see above.
    match catch_unwind(AssertUnwindSafe(decode)) {
        Ok(result) => result,
        Err(panic) => {
            let why = message(panic.as_ref());
            Err(Error::malformed(what, format!("its decoder panicked: {}", clipped(why))))
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "no message",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_with_its_message() {
        let panics = |rows: usize| -> Result<()> { panic!("index {rows} out of bounds") };
        let err = catch_panics("page", || panics(7)).unwrap_err();
        assert_eq!(err.to_string(), "page: its decoder panicked: index 7 out of bounds");
        assert_eq!(catch_panics("page", || Ok(5)).unwrap(), 5);
    }
}
