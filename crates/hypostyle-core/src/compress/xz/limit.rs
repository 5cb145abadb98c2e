//! The limit on what a stream may decompress to.

use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;

/// What errors are about.
pub(super) const WHAT: &str = "xz stream";

/// Fails if a stream asks for more bytes than the limits allow.
pub(super) fn check_limit(asked: u64, limits: &Limits) -> Result<()> {
    let (what, limit) = (WHAT, limits.block_bytes);
    if asked > limit {
        return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
    }
    Ok(())
}

/// Returns the error for a valid stream whose dictionary claims more memory than any decoder gets.
pub(super) fn dictionary_too_large() -> Error {
    Error::unsupported("an xz stream with a dictionary of 2 GiB or more")
}
