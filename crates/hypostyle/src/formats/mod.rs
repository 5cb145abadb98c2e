//! The formats, behind the traits [`Format`] and [`Reader`].
//!
//! [`ALL`] lists the formats of this build; the command, the tests, the fuzzers and the
//! benchmarks loop over it. To add a format, add a folder here and a line to the list.
//!
//! - [`colm`], [`colf`], [`clmn`]: column files. `columnfile` is what they share.
//! - [`onpair`]: files of strings, around the codec `hypostyle-onpair`.
//! - [`at1`]: archives, from the crate `hypostyle-at1`.

use std::sync::Arc;

use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::options::ReadOptions;
use hypostyle_core::source::ByteSource;

pub use hypostyle_core::format::{Format, Sniff};
pub use hypostyle_core::format_id::FormatId;
pub use hypostyle_core::reader::{Reader, ReaderColumns, RowGroupReader, RowGroupRequest, Section};
pub use hypostyle_core::types::{Capabilities, ColumnType, RequestedType};

#[cfg(feature = "at1")]
pub use hypostyle_at1 as at1;
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

/// The formats of this build, in the order in which [`detect`] tries them.
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

/// Returns the formats that tables can be written in.
pub fn tables() -> impl Iterator<Item = &'static dyn Format> {
    ALL.iter().copied().filter(|format| format.holds_tables())
}

/// Returns the format with this name, in any case.
pub fn by_name(name: &str) -> Option<&'static dyn Format> {
    ALL.iter().copied().find(|format| format.id().name().eq_ignore_ascii_case(name))
}

/// Returns the format whose files have this extension, without the dot and in any case.
pub fn by_extension(extension: &str) -> Option<&'static dyn Format> {
    let matches = |known: &&str| known.eq_ignore_ascii_case(extension);
    ALL.iter().copied().find(|format| format.extensions().iter().any(matches))
}

/// The format that a file with these first bytes is in, as far as they show.
///
/// For streams of which nothing else can be read yet; see [`Format::has_magic`].
pub fn by_magic(head: &[u8]) -> Option<&'static dyn Format> {
    ALL.iter().copied().find(|format| format.has_magic(head))
}

/// Finds the format of a file by its content.
///
/// Returns `None` if the bytes resemble no format of this build, so that a caller may try
/// others, such as text.
///
/// # Errors
///
/// Fails with [`ErrorKind::UnknownFormat`] for a file that has the magic of a format and is not
/// in that format, since unrelated formats share magics; the message says why. Also fails if the
/// source does.
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

/// Detects the format of a file and opens it.
///
/// # Errors
///
/// As [`detect`] and [`Format::open`]; also [`ErrorKind::UnknownFormat`] if no format matches.
pub fn open(source: Arc<dyn ByteSource>, options: &ReadOptions) -> Result<Arc<dyn Reader>> {
    match detect(source.as_ref())? {
        Some(format) => format.open(source, options),
        None => Err(ErrorKind::UnknownFormat("is in no known format".into()).into()),
    }
}
