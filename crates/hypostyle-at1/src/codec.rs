//! The codecs of AT-1 and what is fixed about each (§2.6).
//!
//! The decoders are in `codecs`; nothing here depends on them.

use std::fmt;

use hypostyle_core::error::{Error, Result};

/// The name of the stream that says which strings a text may have (§11.3), in any codec.
pub(crate) const FILTER: &str = "hyp.filter";

/// How an archive is coded (§2.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Codec {
    /// Lines of sshd in an auth log.
    Ssh,
    /// JSON Lines as a tape.
    Json,
    /// OpenStreetMap XML.
    Osm,
    /// Lines of any log.
    Log,
    /// Delimited text in typed columns.
    Columnar,
    /// Variant calls.
    Vcf,
    /// One JSON document.
    JsonDoc,
    /// Delimited text in row groups.
    QColumnar,
    /// JSON Lines of one template in row groups.
    QJson,
    /// Medical images.
    Dicom,
    /// Arrays of numbers.
    Embed,
    /// JSON Lines of several templates in row groups.
    QJson2,
    /// Several archives under names.
    Bundle,
    /// Any bytes.
    Raw,
}

/// What is fixed about a codec.
struct CodecInfo {
    id: u8,
    name: &'static str,
    has_groups: bool,
    about: &'static str,
}

/// Returns one row of the table in [`Codec::info`].
const fn row(id: u8, name: &'static str, has_groups: bool, about: &'static str) -> CodecInfo {
    CodecInfo { id, name, has_groups, about }
}

impl Codec {
    /// Every codec.
    pub const ALL: [Self; 14] = [
        Self::Ssh,
        Self::Json,
        Self::Osm,
        Self::Log,
        Self::Columnar,
        Self::Vcf,
        Self::JsonDoc,
        Self::QColumnar,
        Self::QJson,
        Self::Dicom,
        Self::Embed,
        Self::QJson2,
        Self::Bundle,
        Self::Raw,
    ];

    /// The table of codecs.
    const fn info(self) -> CodecInfo {
        match self {
            Self::Ssh => row(0, "ssh", false, "Lines of sshd in an auth log"),
            Self::Json => row(1, "json", false, "JSON Lines, values by path"),
            Self::Osm => row(2, "osm", false, "OpenStreetMap XML"),
            Self::Log => row(3, "log", false, "Log lines, by template"),
            Self::Columnar => row(4, "columnar", false, "Delimited text, by columns"),
            Self::Vcf => row(5, "vcf", false, "Variant calls with genotypes"),
            Self::JsonDoc => {
                row(6, "jsondoc", false, "One JSON document, or lines with values in like places")
            }
            Self::QColumnar => row(7, "qcolumnar", true, "Delimited text that can be queried"),
            Self::QJson => row(8, "qjson", true, "JSON Lines of one shape that can be queried"),
            Self::Dicom => row(9, "dicom", false, "A medical image"),
            Self::Embed => row(10, "embed", false, "An array of numbers, such as .npy"),
            Self::QJson2 => {
                row(11, "qjson2", true, "JSON Lines of several shapes that can be queried")
            }
            Self::Bundle => row(12, "bundle", false, "A folder, each file by its best codec"),
            Self::Raw => row(255, "raw", false, "Compressed as it is"),
        }
    }

    /// The byte that names the codec in the header of an archive.
    pub fn id(self) -> u8 {
        self.info().id
    }

    /// Returns the codec that a byte of the header names.
    pub(crate) fn from_id(id: u8) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|codec| codec.id() == id);
        found.ok_or_else(|| Error::unsupported(format!("codec {id}")))
    }

    /// Whether rows are in groups, so that an archive can be queried without unpacking it.
    pub fn has_groups(self) -> bool {
        self.info().has_groups
    }

    /// Whether a stream is a bulk one, of which a reader may read a part: the columns, the
    /// blocks of row groups, and the lists of line groups.
    pub(crate) fn is_bulk(self, stream: &str) -> bool {
        if stream == FILTER {
            return true;
        }
        let lists: &[&str] = match self {
            Self::Columnar => &["values"],
            Self::QColumnar | Self::QJson | Self::QJson2 => {
                return stream == "blocks" || stream.ends_with(":blocks");
            }
            Self::Log => &["flags", "tids", "vars", "verbatim"],
            Self::Json => &["flags", "verbatim", "values", "tape"],
            Self::JsonDoc => &["skeleton", "colids", "values"],
            Self::Ssh => &[
                "flags",
                "months",
                "days",
                "times",
                "hosts",
                "pids",
                "template_ids",
                "vars",
                "rawmsgs",
                "verbatim",
            ],
            Self::Osm | Self::Vcf | Self::Dicom | Self::Embed | Self::Bundle | Self::Raw => &[],
        };
        lists.contains(&stream)
    }

    /// The name, as users type it.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// A short description of what the codec is for.
    pub fn about(self) -> &'static str {
        self.info().about
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
