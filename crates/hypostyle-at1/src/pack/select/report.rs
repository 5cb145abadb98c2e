//! The report of what was tried to make an archive.

use crate::codec::Codec;

/// An attempt to encode content with a codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The codec.
    pub codec: Codec,
    /// The form, for a codec that has several for different content; else empty.
    pub form: &'static str,
    /// The result of the attempt.
    pub outcome: Outcome,
}

/// The result of an attempt to encode content with a codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The content does not look like what the codec is for.
    Unlike,
    /// The content does not fit the codec's model.
    Unfit,
    /// Only a sample was encoded; other codecs made it smaller.
    Sampled {
        /// Bytes of the sample.
        bytes: u64,
        /// Bytes of the encoded sample.
        stored: u64,
    },
    /// The content was encoded in full, in this many bytes.
    Made(u64),
    /// The attempt was stopped once another codec was sure to be smaller.
    GivenUp,
}
