//! Writes archives: packs any bytes into a small archive that restores them.
//!
//! 1. `driver` packs one input, whole or in frames that `lines` splits off; `append` adds
//!    frames to an archive, and `bundle` packs several files into one archive. `elsewhere` has what
//!    other machines need to pack frames of an archive, whose frames `frame_encoder` makes.
//! 2. `frame` encodes a frame: with row groups if it is to be queried (`groups`), else with
//!    the smallest of the encoders that `select` finds.
//! 3. The encoders turn content into streams: `tables`, `logs`, `json` and `science`. Their
//!    `context` has the search parameters of the level (`search`), and they estimate sizes
//!    on samples (`sample`).
//! 4. `stream_set` compresses the streams and writes them; `line_groups` cuts those of JSON Lines
//!    and logs at the borders of groups of lines, if a `line_group_request` asks for it.
//! 5. `self_check` unpacks each archive and compares it with the original.

mod append;
mod bundle;
mod context;
mod driver;
mod elsewhere;
mod first_line;
mod fitted_block;
mod frame;
mod frame_encoder;
mod grouping;
mod groups;
mod json;
mod line_group_request;
mod line_groups;
mod lines;
mod logs;
mod newline_list;
mod options;
mod row_syntax;
mod sample;
mod science;
mod search;
mod select;
mod self_check;
mod stream_set;
mod table_summary;
mod tables;
mod text_filter;

#[cfg(test)]
mod tests;

pub use append::{Appended, Appender, append};
pub use bundle::{Content, PackedBundle, pack_bundle};
pub use driver::{Packed, pack, pack_stream, pack_stream_elsewhere, xz_size};
pub use elsewhere::{FramePacker, FrameState, PackedFrame, frame_ranges, pack_frame};
pub use options::{Choice, Layout, PackOptions};
pub use select::report::{Outcome, Trial};
