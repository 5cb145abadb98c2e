//! Bounded expansion and deterministic compression, one file per algorithm.
//!
//! Expansion is told how many bytes a block claims to become. A claim over the
//! limits, or over what the algorithm can reach, is refused before memory is
//! taken; a block that becomes anything else than it claims is an error.

pub mod zlib;
