//! What decoders of blocks share.

use super::layout::DeviationCodes;
use hypostyle_core::deviations::Deviations;
use hypostyle_core::limits::Limits;
use hypostyle_core::options::TextPolicy;

/// What the decoder of a block needs besides the block.
pub(crate) struct DecodeContext<'a> {
    pub(crate) deviations: &'a Deviations,
    pub(crate) text: TextPolicy,
    pub(crate) codes: &'static DeviationCodes,
    pub(crate) limits: &'a Limits,
}
