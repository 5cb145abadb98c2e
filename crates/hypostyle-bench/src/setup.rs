//! The inputs that all benches share.

use std::cell::OnceCell;
use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::Result;
use crate::corpus::Corpus;
use crate::rivals::Python;

/// The folder of the report pages, relative to the root of the project.
pub(crate) const PAGES: &str = "docs/benchmarks";

/// The inputs of a run. Expensive ones are prepared on first use.
#[derive(Debug)]
pub(crate) struct Setup {
    /// Use little data and few rounds, to check that everything runs.
    pub(crate) quick: bool,
    corpus_folder: Option<PathBuf>,
    corpus: OnceCell<Corpus>,
    python: OnceCell<Python>,
    temporary: TempDir,
}

impl Setup {
    pub(crate) fn new(quick: bool, corpus_folder: Option<PathBuf>) -> Result<Self> {
        Ok(Self {
            quick,
            corpus_folder,
            corpus: OnceCell::new(),
            python: OnceCell::new(),
            temporary: tempfile::tempdir()?,
        })
    }

    /// Returns the corpus; a quick run uses only a few files.
    pub(crate) fn corpus(&self) -> Result<&Corpus> {
        if let Some(corpus) = self.corpus.get() {
            return Ok(corpus);
        }
        let folder = self.folder("corpus")?;
        let mut corpus = Corpus::collect(self.corpus_folder.as_deref(), &folder, self.quick)?;
        if self.quick {
            corpus.keep_few();
        }
        Ok(self.corpus.get_or_init(|| corpus))
    }

    /// Returns the Python environment of the rivals. A quick run installs nothing.
    pub(crate) fn python(&self) -> &Python {
        self.python.get_or_init(|| Python::prepare(!self.quick))
    }

    /// Creates a temporary folder.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.temporary.path().join(name);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Returns a folder next to that of this program, whose files later runs can use.
    #[cfg(feature = "sql")]
    pub(crate) fn kept_folder(&self, name: &str) -> Result<PathBuf> {
        let folder = crate::rivals::beside_program(&format!("bench-{name}"));
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Returns the number of rounds to time: `full` unless the run is quick.
    pub(crate) fn rounds(&self, full: usize) -> usize {
        if self.quick { 1 } else { full }
    }
}
