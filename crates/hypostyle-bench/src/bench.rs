//! The benches, and what all of them are given.

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::Result;
use crate::corpus::Corpus;
use crate::page::Page;
use crate::rivals::Python;
use crate::{archives, columnfiles, micro, queries, scaling, size, strings};

/// Something that is measured, and the page that tells of it.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) name: &'static str,
    title: &'static str,
    run: fn(&Setup, &mut Page) -> Result<()>,
}

/// Every bench, in the order in which they are run.
pub(crate) const ALL: [Bench; 7] = [
    Bench { name: "size", title: "Exact size: every file, every packer", run: size::run },
    Bench {
        name: "archives",
        title: "AT-1 archives: packing and unpacking, speed and memory",
        run: archives::run,
    },
    Bench {
        name: "columnfiles",
        title: "COLM, COLF and CLMN: speed and memory",
        run: columnfiles::run,
    },
    Bench { name: "micro", title: "Hot loops, in instructions", run: micro::run },
    Bench {
        name: "queries",
        title: "AT-1 archives that can be queried: size, bytes read and time",
        run: queries::run,
    },
    Bench { name: "scaling", title: "Scaling: threads, sizes, columns", run: scaling::run },
    Bench { name: "strings", title: "Strings: OnPair beside its rivals", run: strings::run },
];

/// Where pages go, seen from the project's root.
pub(crate) const PAGES: &str = "docs/benchmarks";

impl Bench {
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|bench| bench.name == name)
    }

    /// Runs it, and writes its page if that is wanted.
    pub(crate) fn run(&self, setup: &Setup, write: bool) -> Result<()> {
        let mut page = Page::new(self.name, self.title, setup.quick);
        (self.run)(setup, &mut page)?;
        page.close();
        if write { page.write(Path::new(PAGES)) } else { Ok(()) }
    }
}

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
