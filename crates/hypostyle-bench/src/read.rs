//! Reads a column file into Arrow, and inflates its blocks for comparison.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use bytes::Bytes;
use hypostyle::{RangeCache, ReadOptions, Table, formats};
use libdeflater::Decompressor;

use crate::Result;
use crate::measure::{self, Cost, Usage};

/// Arguments of `read`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The file to read.
    file: PathBuf,
    /// The number of threads.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// The number of rounds.
    #[arg(long, default_value_t = 1)]
    rounds: usize,
    /// The columns to read [default: all].
    #[arg(long, value_delimiter = ',')]
    columns: Vec<usize>,
    /// MB of memory for the scan [default: as much as the columns take].
    #[arg(long)]
    memory: Option<u64>,
    /// Do not inflate; print seconds, CPU seconds and MB of memory.
    #[arg(long)]
    alone: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut file = ColumnFile::load(&args.file)?;
    file.memory = args.memory.map_or(u64::MAX, |megabytes| megabytes * 1_000_000);
    if !args.columns.is_empty() {
        file = file.with_columns(&args.columns)?;
    }
    if args.alone {
        let cost = measure::repeated(args.rounds, || file.read(args.threads))?;
        Usage::of_this_process(cost).print();
        return Ok(());
    }
    let [inflate, read] = file.compare(args.threads, args.rounds)?;
    println!("inflate {inflate:?}\nread    {read:?}\nratio   {:?}", read.over(inflate));
    Ok(())
}

/// A column file in memory, and the columns to read.
pub(crate) struct ColumnFile {
    file: Bytes,
    columns: Vec<usize>,
    blocks: Vec<ZlibBlock>,
    memory: u64,
}

/// A zlib stream and its decompressed size.
struct ZlibBlock {
    stored: Bytes,
    raw: usize,
}

impl ColumnFile {
    /// Loads a file, with all its columns.
    pub(crate) fn load(path: &Path) -> Result<Self> {
        let file = Bytes::from(fs::read(path)?);
        let reader = formats::open(Arc::new(file.clone()), &ReadOptions::default())?;
        let all: Vec<usize> = (0..reader.schema().fields().len()).collect();
        Self { file, columns: Vec::new(), blocks: Vec::new(), memory: u64::MAX }.with_columns(&all)
    }

    /// Returns the same file with only these columns.
    pub(crate) fn with_columns(&self, columns: &[usize]) -> Result<Self> {
        let reader = formats::open(Arc::new(self.file.clone()), &ReadOptions::default())?;
        let sections = reader.sections();
        let mut blocks = Vec::new();
        for &column in columns {
            let section = sections.iter().find(|section| section.column == Some(column));
            let section = section.ok_or("a column is out of range")?;
            let start = usize::try_from(section.offset)?;
            let stored = self.file.slice(start..start + usize::try_from(section.stored)?);
            blocks.push(ZlibBlock { stored, raw: usize::try_from(section.raw.unwrap_or(0))? });
        }
        let (file, columns) = (self.file.clone(), columns.to_vec());
        Ok(Self { file, columns, blocks, memory: self.memory })
    }

    /// Returns the total size of the blocks, stored and decompressed.
    pub(crate) fn sizes(&self) -> (usize, usize) {
        self.blocks
            .iter()
            .fold((0, 0), |(stored, raw), block| (stored + block.stored.len(), raw + block.raw))
    }

    /// Times inflating and reading alternately and returns the best of `rounds` for each.
    pub(crate) fn compare(&self, threads: usize, rounds: usize) -> Result<[Cost; 2]> {
        self.inflate(threads)?;
        self.read(threads)?;
        Ok(measure::in_turn(rounds, || self.inflate(threads), || self.read(threads)))
    }

    /// Opens the file and scans the columns, with as much memory as they take.
    fn read(&self, threads: usize) -> Result<impl Sized + use<>> {
        let source = Arc::new(RangeCache::over(Arc::new(self.file.clone())));
        let reader = formats::open(source.clone(), &ReadOptions::default())?;
        let scan = Table::new(reader, source).scan().columns(self.columns.iter().copied());
        let batches = scan.threads(threads).memory_limit(self.memory).batches()?;
        Ok(batches.collect::<std::result::Result<Vec<_>, _>>()?)
    }

    /// Inflates each block of the columns into a buffer of its own, and does nothing else.
    fn inflate(&self, threads: usize) -> Result<impl Sized + use<>> {
        let next = AtomicUsize::new(0);
        let inflated = Mutex::new(Vec::new());
        let work = || {
            while let Some(block) = self.blocks.get(next.fetch_add(1, Ordering::Relaxed)) {
                let mut out = vec![0; block.raw];
                let done = Decompressor::new().zlib_decompress(&block.stored, &mut out);
                inflated.lock().map_err(|_| "a thread panicked")?.push(done.map(|_| out));
            }
            Ok::<(), &str>(())
        };
        if threads <= 1 {
            work()?;
        } else {
            thread::scope(|scope| {
                let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
                threads
                    .into_iter()
                    .try_for_each(|thread| thread.join().unwrap_or(Err("a thread panicked")))
            })?;
        }
        let inflated = inflated.into_inner().map_err(|_| "a thread panicked")?;
        Ok(inflated.into_iter().collect::<std::result::Result<Vec<_>, _>>()?)
    }
}
