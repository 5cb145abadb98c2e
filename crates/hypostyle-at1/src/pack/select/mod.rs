//! Selects the encoder that makes some content smallest.
//!
//! 1. `encoders` lists all encoders; each tells quickly whether it suits the content.
//! 2. `selection` compares those that do on a sample, and encodes the content in full with
//!    the best of them.
//! 3. `raw` compresses the content without structure, on a thread of its own, and stops
//!    early if `structured_size` tells it that the structured form is smaller.
//! 4. `report` describes what was tried.
//!
//! RAW is always a candidate, so a wrong estimate never makes an archive larger than RAW.

pub(in crate::pack) mod encoders;
pub(in crate::pack) mod raw;
pub(in crate::pack) mod report;
pub(in crate::pack) mod selection;
pub(in crate::pack) mod structured_size;
