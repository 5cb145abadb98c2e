//! The list of benches.

use std::path::Path;

use crate::Result;
use crate::page::ReportPage;
use crate::setup::{PAGES, Setup};
use crate::{archives, columnfiles, micro, queries, scaling, size, strings};

/// A bench and the title of its report page.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) name: &'static str,
    title: &'static str,
    run: fn(&Setup, &mut ReportPage) -> Result<()>,
}

/// Every bench, in the order in which they run.
pub(crate) const ALL: &[Bench] = &[
    Bench { name: "size", title: "Size: every file, every compressor", run: size::run },
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
    Bench { name: "micro", title: "Instruction counts of hot loops", run: micro::run },
    Bench {
        name: "queries",
        title: "Queryable AT-1 archives: size, bytes read and time",
        run: queries::run,
    },
    Bench { name: "scaling", title: "Scaling: threads, sizes, columns", run: scaling::run },
    #[cfg(feature = "sql")]
    Bench {
        name: "sql",
        title: "SQL: archives, column files, CSV and Parquet in DataFusion",
        run: crate::sql::run,
    },
    Bench { name: "strings", title: "Strings: OnPair and its rivals", run: strings::run },
];

impl Bench {
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|bench| bench.name == name)
    }

    /// Runs the bench, and writes its page if `write` is set.
    pub(crate) fn run(&self, setup: &Setup, write: bool) -> Result<()> {
        let mut page = ReportPage::new(self.name, self.title, setup.quick);
        (self.run)(setup, &mut page)?;
        page.close();
        if write { page.write(Path::new(PAGES)) } else { Ok(()) }
    }
}
