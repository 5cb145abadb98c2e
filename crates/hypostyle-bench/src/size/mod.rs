//! The size of every file with every packer.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use hypostyle::formats::at1::{self, Choice, Codec, PackOptions};

use crate::Result;
use crate::corpus::CorpusFile;
use crate::packers::{
    self, BROTLI, DEFAULT, GZIP, LONG, Packer, QUICK, Tools, XZ, XZ_BEST, ZSTD, ZSTD_HIGH,
    ZSTD_LONG, ZSTD_ULTRA,
};
use crate::page::ReportPage;
use crate::setup::Setup;

mod figures;
mod python_rivals;
mod tables;
mod targets;

use python_rivals::{PythonRival, RivalSize};

/// The packers, in the order of the columns.
const PACKERS: [Packer; 12] = [
    GZIP,
    ZSTD,
    ZSTD_HIGH,
    ZSTD_LONG,
    ZSTD_ULTRA,
    BROTLI,
    XZ,
    XZ_BEST,
    QUICK,
    DEFAULT,
    LONG,
    Packer::Queryable,
];

/// Slow packers, which a quick run omits.
const SLOW: [Packer; 3] = [ZSTD_ULTRA, BROTLI, LONG];

/// The codecs that the bench also measures one by one.
const CODECS: [Codec; 6] =
    [Codec::Columnar, Codec::Json, Codec::JsonDoc, Codec::Log, Codec::Ssh, Codec::Raw];

/// The sizes of one file.
#[derive(Debug)]
struct FileSizes<'a> {
    sample: &'a CorpusFile,
    /// The codec of the archive at the default level.
    codec: &'static str,
    sizes: Vec<(Packer, u64)>,
    /// The size with each single codec, unless the file is a table.
    by_codec: Vec<(Codec, u64)>,
    /// The sizes of the rivals that store values rather than bytes.
    python_rivals: Vec<(PythonRival, RivalSize)>,
}

impl FileSizes<'_> {
    fn size(&self, by: Packer) -> Option<u64> {
        self.sizes.iter().find(|(packer, _)| *packer == by).map(|(_, bytes)| *bytes)
    }

    fn python_rival(&self, by: PythonRival) -> Option<RivalSize> {
        self.python_rivals.iter().find(|(rival, _)| *rival == by).map(|(_, size)| *size)
    }
}

pub(crate) fn run(setup: &Setup, page: &mut ReportPage) -> Result<()> {
    let folder = setup.folder("size")?;
    let corpus = setup.corpus()?;
    let tools = Tools::detect();
    let takes_part = |who: &Packer| tools.have(*who) && !(setup.quick && SLOW.contains(who));
    let packers: Vec<Packer> = PACKERS.into_iter().filter(takes_part).collect();
    let tasks: Vec<PackTask<'_>> = corpus
        .samples
        .iter()
        .flat_map(|sample| packers.iter().map(move |&packer| PackTask { sample, packer }))
        .filter(PackTask::is_supported)
        .collect();
    let sizes = all_sizes(&tasks, &folder)?;
    let mut all = Vec::new();
    for sample in &corpus.samples {
        eprintln!("{}: single codecs and Python rivals", sample.name);
        let of_this = |task: &PackTask<'_>| task.sample.name == sample.name;
        let sizes = sizes.iter().filter(|(task, _)| of_this(task));
        let default = PackTask { sample, packer: DEFAULT };
        all.push(FileSizes {
            sample,
            codec: packers::codec(&default.archive(&folder))?,
            sizes: sizes.map(|(task, bytes)| (task.packer, *bytes)).collect(),
            by_codec: if sample.is_table() { Vec::new() } else { by_codec(sample)? },
            python_rivals: python_rivals::measure(sample, setup.python(), &folder),
        });
    }
    page.add(format!("{} {}", corpus.origin, tools.describe()));
    page.data("files", &corpus.table());
    targets::add(page, &all);
    tables::report(page, &all, &packers, setup.python());
    Ok(())
}

/// A file and its packer.
#[derive(Clone, Copy, Debug)]
struct PackTask<'a> {
    sample: &'a CorpusFile,
    packer: Packer,
}

impl PackTask<'_> {
    /// Returns whether the packer supports the file: only tables and JSON Lines are queryable.
    fn is_supported(&self) -> bool {
        self.packer != Packer::Queryable || self.sample.is_table() || self.sample.is_json_lines()
    }

    fn archive(self, folder: &Path) -> PathBuf {
        folder.join(format!("{}, {}", self.sample.name, self.packer))
    }

    /// Packs the file and returns the size; `None` if a rival fails.
    fn size(self, folder: &Path) -> Result<Option<u64>> {
        let archive = self.archive(folder);
        eprintln!("{}: {}", self.sample.name, self.packer);
        match self.packer.pack(&self.sample.path, &archive) {
            Err(err) if !self.packer.is_ours() => {
                eprintln!("omitted: {err}");
                Ok(None)
            }
            packed => {
                packed?;
                Ok(Some(fs::metadata(archive)?.len()))
            }
        }
    }
}

/// Runs as many tasks in parallel as there are cores, because only sizes are measured.
fn all_sizes<'a>(tasks: &[PackTask<'a>], folder: &Path) -> Result<Vec<(PackTask<'a>, u64)>> {
    let next = AtomicUsize::new(0);
    let work = || -> std::result::Result<Vec<(PackTask<'a>, u64)>, String> {
        let mut sizes = Vec::new();
        while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
            let size = task.size(folder).map_err(|err| err.to_string())?;
            sizes.extend(size.map(|size| (*task, size)));
        }
        Ok(sizes)
    };
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let done: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join()).collect()
    });
    let mut sizes = Vec::new();
    for worker in done {
        sizes.extend(worker.map_err(|_| "a thread panicked")??);
    }
    Ok(sizes)
}

/// Packs a file with each single codec that supports its content.
fn by_codec(sample: &CorpusFile) -> Result<Vec<(Codec, u64)>> {
    let original = fs::read(&sample.path)?;
    let mut sizes = Vec::new();
    for codec in CODECS {
        let options = PackOptions::default().with_codec(Choice::Only(codec));
        let (_, packed) = at1::pack(&original, &options)?;
        if packed.codec == codec {
            sizes.push((codec, packed.stored));
        }
    }
    Ok(sizes)
}
