//! Every format, behind one pair of traits and one list.
//!
//! [`ALL`] is that list: the command, tests, fuzzers and benchmarks loop over
//! it. A new format is a folder beside this file and a line there.

use std::sync::Arc;

use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::options::ReadOptions;
use hypostyle_core::source::ByteSource;

pub use hypostyle_core::format::{Format, Reader, ReaderTable, Section, Sniff};
pub use hypostyle_core::format_id::FormatId;
pub use hypostyle_core::types::{Capabilities, ColumnType};

#[cfg(feature = "at1")]
pub use hypostyle_at1 as at1;
#[cfg(any(feature = "colm", feature = "colf", feature = "clmn", feature = "onpair"))]
mod batch;
#[cfg(feature = "clmn")]
pub mod clmn;
#[cfg(feature = "colf")]
pub mod colf;
#[cfg(feature = "colm")]
pub mod colm;
#[cfg(any(feature = "colm", feature = "colf", feature = "clmn"))]
mod columnfile;
#[cfg(feature = "onpair")]
pub mod onpair;
mod writer;

pub use writer::Writer;

/// Every format this build knows, in the order in which detection tries them.
pub static ALL: &[&dyn Format] = &[
    #[cfg(feature = "colm")]
    &colm::Colm,
    #[cfg(feature = "colf")]
    &colf::Colf,
    #[cfg(feature = "clmn")]
    &clmn::Clmn,
    #[cfg(feature = "at1")]
    &at1::At1,
    #[cfg(feature = "onpair")]
    &onpair::OnPair,
];

/// The formats that tables can be written in.
pub fn tables() -> impl Iterator<Item = &'static dyn Format> {
    ALL.iter().copied().filter(|format| format.holds_tables())
}

/// The format with this name.
pub fn by_name(name: &str) -> Option<&'static dyn Format> {
    ALL.iter().copied().find(|format| format.id().name().eq_ignore_ascii_case(name))
}

/// The format that files with this extension are in, by convention.
pub fn by_extension(extension: &str) -> Option<&'static dyn Format> {
    let is_it = |known: &&str| known.eq_ignore_ascii_case(extension);
    ALL.iter().copied().find(|format| format.extensions().iter().any(is_it))
}

/// The format that a file with these first bytes is in, as far as they show.
///
/// For streams of which nothing else can be read yet; see [`Format::has_magic`].
pub fn by_magic(head: &[u8]) -> Option<&'static dyn Format> {
    ALL.iter().copied().find(|format| format.has_magic(head))
}

/// Finds the format of a file by its content.
///
/// `None` means that the bytes have nothing to do with any format here, so that
/// a caller may try others, such as text.
///
/// # Errors
///
/// [`ErrorKind::UnknownFormat`] for a file that only looks like one of ours, as
/// several unrelated formats share the same magic; the message says what it is
/// not, and why.
pub fn detect(source: &dyn ByteSource) -> Result<Option<&'static dyn Format>> {
    let mut lookalike = None;
    for &format in ALL {
        match format.sniff(source)? {
            Sniff::Yes => return Ok(Some(format)),
            Sniff::No => {}
            Sniff::Lookalike(why) => lookalike = lookalike.or(Some((format.id(), why))),
        }
    }
    match lookalike {
        Some((id, why)) => Err(Error::new(ErrorKind::UnknownFormat(why.into())).in_format(id)),
        None => Ok(None),
    }
}

/// Opens a file in whatever format its content shows.
pub fn open(source: Arc<dyn ByteSource>, options: &ReadOptions) -> Result<Box<dyn Reader>> {
    match detect(source.as_ref())? {
        Some(format) => format.open(source, options),
        None => Err(ErrorKind::UnknownFormat("is in no format known here".into()).into()),
    }
}
