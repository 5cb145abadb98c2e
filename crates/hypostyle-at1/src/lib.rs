//! AT-1: a text file taken apart into streams, and put together byte for byte.
//!
//! The byte-level truth is `docs/specs/at1.md`; section numbers in comments
//! (§2.3) refer to it, and A-numbers to its section 8. An archive looks like this:
//!
//! ```text
//! "AT1" 02 │ codec u8 │ packed stream set                       │ [hash 32, A1 53 36 01]
//! "AT1" 03 │ codec u8 │ lines uv │ (length uv │ method u8 │ …)* │ [hash 32, A1 53 36 01]
//! stream set: count uv │ (name lp │ backend u8 │ length uv │ bytes)*
//! ```
//!
//! Reading goes through these files: `container` finds the frames and the
//! trailer, `streams` the streams of a frame and expands them, `codecs` holds
//! one decoder for each codec, `page` puts their cells together, and `output`
//! takes what they write, hashes it and stops it at the limit. [`Archive`] is the
//! door to all of it; `view` and `reader` show an archive as a table, `describe`
//! what it is made of.

mod archive;
mod bloom;
mod cell_syntax;
mod codecs;
mod container;
mod describe;
mod fields;
mod group_index;
mod header_dedup;
mod json_scan;
mod output;
mod pack;
mod query;
mod reader;
mod row_buffer;
mod streams;
mod table_view;

pub use archive::{Archive, BundleEntry, Frame, StreamInfo, Unpacked};
pub use codecs::Codec;
pub use codecs::bundle::BundleFile;
pub use describe::{ColumnInfo, FrameInfo, Zone};
pub use pack::{
    Appended, Appender, Choice, Content, Layout, Outcome, PackOptions, Packed, PackedBundle, Trial,
    append, pack, pack_bundle, pack_stream, xz_size,
};
pub use query::{Answer, Damage, Query, QueryStats};
pub use reader::At1;
pub use table_view::TableOptions;
