//! Row groups of an archive: reads their metadata and blocks by byte ranges (§6.4).
//!
//! 1. `metadata` reads every stream but the blocks, with the ranges that `source` finds.
//! 2. `frame_tables` parses them: a `grouped_table` for each template, and verbatim lines.
//!    The readers of `table` decode the blocks into arrays.
//! 3. `salvage` recovers the lines of damaged archives, as far as `damage` lets it, and
//!    `verify` checks every block.

mod damage;
pub(super) mod frame_tables;
pub(super) mod grouped_table;
pub(super) mod metadata;
mod salvage;
pub(super) mod source;
mod verify;

pub use damage::Damage;
pub(super) use salvage::salvage;
pub(super) use verify::check_groups;
