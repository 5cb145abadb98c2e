//! Errors that name their file.

use std::fmt;

use datafusion::common::DataFusionError;
use object_store::path::Path;

/// An error of this library, with the file that it is about.
#[derive(Debug)]
pub struct FileError {
    location: Path,
    cause: Box<dyn std::error::Error + Send + Sync>,
}

impl FileError {
    /// Returns the error of a file.
    pub(crate) fn new(
        location: &Path,
        cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self { location: location.clone(), cause: cause.into() }
    }

    /// Returns the location of the file in its store.
    pub fn location(&self) -> &Path {
        &self.location
    }

    /// Returns the error of the library, if it is the cause.
    pub fn library_error(&self) -> Option<&hypostyle::Error> {
        self.cause.downcast_ref()
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cause.downcast_ref() {
            // What the engine puts before the message tells a reader nothing.
            Some(object_store::Error::Generic { source, .. }) => {
                write!(f, "`{}`: {source}", self.location)
            }
            _ => write!(f, "`{}`: {}", self.location, self.cause),
        }
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.source()
    }
}

impl From<FileError> for DataFusionError {
    fn from(error: FileError) -> Self {
        Self::External(Box::new(error))
    }
}
