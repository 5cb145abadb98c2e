//! What was tried when an archive was made, and what came of it.

use crate::codec::Codec;

/// A codec that was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The codec.
    pub codec: Codec,
    /// In which form, for a codec that has several for different content; else empty.
    pub form: &'static str,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of trying a codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The content does not look like what the codec is for.
    Unlike,
    /// The content does not fit the codec's model.
    Unfit,
    /// Others were better on a sample.
    Sampled {
        /// Bytes of the sample.
        bytes: u64,
        /// Bytes that it took.
        stored: u64,
    },
    /// It was made in full, in so many bytes.
    Made(u64),
    /// It was given up when it was clear that it would take more than what won.
    GivenUp,
}
