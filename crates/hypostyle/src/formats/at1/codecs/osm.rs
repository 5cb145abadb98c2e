//! osm.

use super::Job;
use crate::error::{Error, Result};
use crate::formats::at1::output::Output;

/// Writes the bytes of one frame.
pub(super) fn decode(_job: &Job<'_>, _out: &mut Output<'_>) -> Result<()> {
    Err(Error::unsupported("this codec"))
}
