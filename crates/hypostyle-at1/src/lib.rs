//! AT-1: text files split into streams and restored byte for byte.
//!
//! `docs/specs/at1.md` defines every byte; section numbers in comments (§2.3) refer to
//! it, and A-numbers to its section 8. An archive looks like this:
//!
//! ```text
//! "AT1" 02 │ codec u8 │ packed stream set                       │ [hash 32, A1 53 36 01]
//! "AT1" 03 │ codec u8 │ lines uv │ (length uv │ method u8 │ …)* │ [hash 32, A1 53 36 01]
//! stream set: count uv │ (name lp │ backend u8 │ length uv │ bytes)*
//! ```
//!
//! Reading goes through these modules in order. Each uses only the ones before it:
//!
//! 1. `codec` lists the codecs; `container` finds frames and the trailer; `streams`
//!    parses and decompresses the streams of a frame.
//! 2. `row_buffer` assembles rows, `output` counts, hashes and limits what is written, and
//!    `codecs` decodes the frames of each codec.
//! 3. `frames` walks the frames of an open archive; `table_frame` finds the one that holds no
//!    text, but the stream `hyp.table`, which `table_metadata` parses. `frame_checksums` are the
//!    checksums in it.
//! 4. `describe` lists what an archive contains, `unpack` decodes it, and `row_groups` and
//!    `table` read single row groups. `archive_table` opens the table that the text is: from `table`
//!    if the columns of the archive are those of the table, else from `archive_text`, which
//!    decodes single `line_groups` if the archive has them. `text_search` leaves out what the
//!    `text_filter` of a part excludes.
//! 5. [`Archive`] is the public type over these four, and `reader` adapts it to the traits
//!    that all formats have. `pack` writes archives.

#![cfg_attr(
    target_family = "wasm",
    expect(
        dead_code,
        unused_imports,
        reason = "`pack`, the only user of some items, needs encoders in C"
    )
)]

mod archive;
mod archive_table;
mod archive_text;
mod bloom;
mod bundle_budget;
mod cell_syntax;
mod codec;
mod codecs;
mod container;
mod describe;
mod description;
mod fields;
mod frame_checksums;
mod frame_pipe;
mod frames;
mod group_index;
mod group_statistics;
mod json_scan;
mod line_groups;
mod log_columns;
mod output;
#[cfg(not(target_family = "wasm"))]
mod pack;

mod reader;
mod row_buffer;
mod row_groups;
mod statistics;
mod streams;
mod table;
mod table_frame;
mod table_metadata;
#[cfg(not(target_family = "wasm"))]
mod text_filter;
#[cfg(not(target_family = "wasm"))]
mod text_search;
mod unpack;

pub use archive::{Archive, BundleEntry};
pub use codec::Codec;
pub use codecs::bundle::BundleFile;
pub use description::{ColumnInfo, Frame, FrameInfo, LogTemplate, StreamInfo};
#[cfg(not(target_family = "wasm"))]
pub use pack::{
    Appended, Appender, Choice, Content, FramePacker, FrameState, Layout, Outcome, PackOptions,
    Packed, PackedBundle, PackedFrame, Trial, append, frame_ranges, pack, pack_bundle, pack_frame,
    pack_stream, pack_stream_elsewhere, xz_size,
};
pub use reader::At1;
pub use row_groups::Damage;
pub use statistics::GroupStatistics;
pub use unpack::Unpacked;
