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

/// What a run of benches has at hand. What takes time to prepare is prepared when it is
/// first asked for.
#[derive(Debug)]
pub(crate) struct Setup {
    /// Little data and few rounds: whether everything runs, not how fast.
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

    /// The files that are measured; few if the run is quick.
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

    /// Python with the rivals that are wheels. A quick run installs nothing.
    pub(crate) fn python(&self) -> &Python {
        self.python.get_or_init(|| Python::prepare(!self.quick))
    }

    /// A folder for files that are not kept.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.temporary.path().join(name);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// How often something is timed.
    pub(crate) fn rounds(&self, usual: usize) -> usize {
        if self.quick { 1 } else { usual }
    }
}
