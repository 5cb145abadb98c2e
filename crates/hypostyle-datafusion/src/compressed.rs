//! Files that are read from start to end into temporary ones: texts of remote stores, and those
//! that are compressed as a whole, `.gz` and `.zst`.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};

use hypostyle::FileSource;

/// How a file is compressed as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    /// Finds the compression by the name of a file, and the name without its extension.
    pub(crate) fn of(name: &str) -> Option<(Self, &str)> {
        let (rest, extension) = name.rsplit_once('.')?;
        let compression = match extension.to_ascii_lowercase().as_str() {
            "gz" => Self::Gzip,
            "zst" | "zstd" => Self::Zstd,
            _ => return None,
        };
        Some((compression, rest))
    }

    /// Decompresses to a temporary file, of at most `limit` bytes.
    pub(crate) fn to_file(self, input: impl Read, limit: u64) -> io::Result<FileSource> {
        let mut file = tempfile::tempfile()?;
        match self {
            Self::Gzip => copy(flate2::read::MultiGzDecoder::new(input), &file, limit)?,
            Self::Zstd => copy(zstd::stream::read::Decoder::new(input)?, &file, limit)?,
        }
        file.rewind()?;
        FileSource::try_new(file)
    }
}

/// Copies an input to a temporary file.
pub(crate) fn copy_to_file(mut input: impl Read) -> io::Result<FileSource> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut input, &mut file)?;
    file.rewind()?;
    FileSource::try_new(file)
}

fn copy(decoder: impl Read, file: &File, limit: u64) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, file);
    let copied = io::copy(&mut decoder.take(limit.saturating_add(1)), &mut out)?;
    if copied > limit {
        let why = format!("decompresses to more than the limit of {limit} bytes");
        return Err(io::Error::other(why));
    }
    out.flush()
}
