//! Files that are read from start to end into temporary ones: texts of remote stores.

use std::io::{self, Read, Seek};

use hypostyle::FileSource;

/// Copies an input to a temporary file.
pub(crate) fn copy_to_file(mut input: impl Read) -> io::Result<FileSource> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut input, &mut file)?;
    file.rewind()?;
    FileSource::try_new(file)
}
