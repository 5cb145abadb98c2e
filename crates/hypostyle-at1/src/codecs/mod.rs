//! Decodes the structured frames of every codec (§3 to §7).
//!
//! A decoder gets a [`context::DecodeContext`] with the compressed streams of one frame.
//! It decompresses the streams that it needs, rebuilds lines or rows from them, and writes
//! these to an `Output`. `entry` defines what a codec can do besides that, each codec module
//! has one `ENTRY`, and [`entry()`] is the table of them. `line_flags`, `deltas`,
//! `token_columns` and `groups` hold what several codecs share.

use super::codec::Codec;
use entry::CodecEntry;

pub(super) mod bundle;
pub(super) mod columnar;
pub(super) mod context;
mod deltas;
pub(super) mod dicom;
mod embed;
pub(super) mod entry;
pub(super) mod groups;
pub(super) mod json;
pub(super) mod jsondoc;
mod line_flags;
pub(super) mod log;
mod osm;
mod qcolumnar;
pub(super) mod qjson;
mod qjson2;
mod raw;
pub(super) mod ssh;
mod token_columns;
mod vcf;

#[cfg(test)]
mod tests;

pub(super) use columnar::{FIELDS, kind};

/// Returns the row of a codec in the table of codecs.
pub(super) fn entry(codec: Codec) -> &'static CodecEntry {
    match codec {
        Codec::Ssh => &ssh::ENTRY,
        Codec::Json => &json::ENTRY,
        Codec::Osm => &osm::ENTRY,
        Codec::Log => &log::ENTRY,
        Codec::Columnar => &columnar::ENTRY,
        Codec::Vcf => &vcf::ENTRY,
        Codec::JsonDoc => &jsondoc::ENTRY,
        Codec::QColumnar => &qcolumnar::ENTRY,
        Codec::QJson => &qjson::ENTRY,
        Codec::Dicom => &dicom::ENTRY,
        Codec::Embed => &embed::ENTRY,
        Codec::QJson2 => &qjson2::ENTRY,
        Codec::Bundle => &bundle::ENTRY,
        Codec::Raw => &raw::ENTRY,
    }
}
