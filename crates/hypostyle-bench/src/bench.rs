//! The list of benches.

use std::path::Path;

use crate::Result;
use crate::page::Page;
use crate::setup::{PAGES, Setup};
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
