//! raw: any bytes, compressed as they are (§2.2).
//!
//! Frames of this codec have the method RAW and no streams, so there is nothing to decode.

use super::context::DecodeContext;
use super::entry::CodecEntry;
use crate::output::Output;
use hypostyle_core::error::{Error, Result};

pub(super) static ENTRY: CodecEntry = CodecEntry::new(decode);

fn decode(_: &DecodeContext<'_>, _: &mut Output<'_>) -> Result<()> {
    Err(Error::malformed("codec", "a raw archive has no streams"))
}
