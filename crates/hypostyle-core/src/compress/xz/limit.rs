//! The limit on what a stream may decompress to.

use crate::error::{ErrorKind, Result};
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
