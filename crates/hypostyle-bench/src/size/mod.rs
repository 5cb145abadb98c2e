//! What every packer makes of every file, in bytes.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use hypostyle::formats::at1::{self, Choice, Codec, PackOptions};

use crate::Result;
use crate::corpus::Sample;
use crate::packers::{
    self, BROTLI, DEFAULT, GZIP, LONG, Packer, QUICK, Tools, XZ, XZ_BEST, ZSTD, ZSTD_HIGH,
    ZSTD_LONG, ZSTD_ULTRA,
};
use crate::page::Page;
use crate::setup::Setup;

mod figures;
mod keepers;
mod tables;
mod targets;

use keepers::{Keeper, Kept};

/// Who packs, in the order of the columns.
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

/// What takes long, and a quick run does without.
const SLOW: [Packer; 3] = [ZSTD_ULTRA, BROTLI, LONG];

/// Codecs that are looked at one by one.
const CODECS: [Codec; 6] =
    [Codec::Columnar, Codec::Json, Codec::JsonDoc, Codec::Log, Codec::Ssh, Codec::Raw];

/// What was found about a file.
#[derive(Debug)]
struct Found<'a> {
    sample: &'a Sample,
    /// The codec of the archive at the default level.
    codec: &'static str,
    sizes: Vec<(Packer, u64)>,
    /// What single codecs make of it, unless it is a table.
    by_codec: Vec<(Codec, u64)>,
    /// What those make of it who keep the content rather than the bytes.
    kept: Vec<(Keeper, Kept)>,
}

impl Found<'_> {
    fn size(&self, by: Packer) -> Option<u64> {
        self.sizes.iter().find(|(packer, _)| *packer == by).map(|(_, bytes)| *bytes)
    }

    fn kept(&self, by: Keeper) -> Option<Kept> {
        self.kept.iter().find(|(keeper, _)| *keeper == by).map(|(_, kept)| *kept)
    }
}

pub(crate) fn run(setup: &Setup, page: &mut Page) -> Result<()> {
    let folder = setup.folder("size")?;
    let corpus = setup.corpus()?;
    let tools = Tools::look();
    let takes_part = |who: &Packer| tools.have(*who) && !(setup.quick && SLOW.contains(who));
    let packers: Vec<Packer> = PACKERS.into_iter().filter(takes_part).collect();
    let jobs: Vec<Job<'_>> = corpus
        .samples
        .iter()
        .flat_map(|sample| packers.iter().map(move |&packer| Job { sample, packer }))
        .filter(Job::makes_sense)
        .collect();
    let sizes = all_sizes(&jobs, &folder)?;
    let mut all = Vec::new();
    for sample in &corpus.samples {
        eprintln!("{}: single codecs, and who keeps the content", sample.name);
        let of_this = |job: &Job<'_>| job.sample.name == sample.name;
        let sizes = sizes.iter().filter(|(job, _)| of_this(job));
        let default = Job { sample, packer: DEFAULT };
        all.push(Found {
            sample,
            codec: packers::codec(&default.archive(&folder))?,
            sizes: sizes.map(|(job, bytes)| (job.packer, *bytes)).collect(),
            by_codec: if sample.is_table() { Vec::new() } else { by_codec(sample)? },
            kept: keepers::keep(sample, setup.python(), &folder),
        });
    }
    page.add(format!("{} {}", corpus.origin, tools.describe()));
    page.data("files", &corpus.table());
    targets::ask(page, &all);
    tables::report(page, &all, &packers, setup.python());
    Ok(())
}

/// A file, and who packs it.
#[derive(Clone, Copy, Debug)]
struct Job<'a> {
    sample: &'a Sample,
    packer: Packer,
}

impl Job<'_> {
    /// What has neither fields nor objects cannot be queried.
    fn makes_sense(&self) -> bool {
        self.packer != Packer::Queryable || self.sample.is_table() || self.sample.is_json_lines()
    }

    fn archive(self, folder: &Path) -> PathBuf {
        folder.join(format!("{}, {}", self.sample.name, self.packer))
    }

    /// Bytes of what was packed; `None` if a rival has failed.
    fn size(self, folder: &Path) -> Result<Option<u64>> {
        let archive = self.archive(folder);
        eprintln!("{}: {}", self.sample.name, self.packer);
        match self.packer.pack(&self.sample.path, &archive) {
            Err(err) if !self.packer.is_ours() => {
                eprintln!("left out: {err}");
                Ok(None)
            }
            packed => {
                packed?;
                Ok(Some(fs::metadata(archive)?.len()))
            }
        }
    }
}

/// Does as many jobs at once as there are cores: nobody looks at the clock here.
fn all_sizes<'a>(jobs: &[Job<'a>], folder: &Path) -> Result<Vec<(Job<'a>, u64)>> {
    let next = AtomicUsize::new(0);
    let work = || -> std::result::Result<Vec<(Job<'a>, u64)>, String> {
        let mut sizes = Vec::new();
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let size = job.size(folder).map_err(|err| err.to_string())?;
            sizes.extend(size.map(|size| (*job, size)));
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
        sizes.extend(worker.map_err(|_| "a thread has panicked")??);
    }
    Ok(sizes)
}

/// What single codecs make of a file, where it is what they are for.
fn by_codec(sample: &Sample) -> Result<Vec<(Codec, u64)>> {
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
