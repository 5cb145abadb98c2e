//! Reading a file into Arrow, and only inflating it.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use bytes::Bytes;
use hypostyle::{ReadOptions, formats};
use libdeflater::Decompressor;

use crate::Result;
use crate::measure::{self, Cost, Usage};

/// Arguments of `read`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The file.
    file: PathBuf,
    /// How many threads.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// How often.
    #[arg(long, default_value_t = 1)]
    rounds: usize,
    /// Which columns; all, if none are given.
    #[arg(long, value_delimiter = ',')]
    columns: Vec<usize>,
    /// Read only, and print seconds, CPU seconds and MB of memory.
    #[arg(long)]
    alone: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut subject = Subject::load(&args.file)?;
    if !args.columns.is_empty() {
        subject = subject.with_columns(&args.columns)?;
    }
    if args.alone {
        let cost = measure::repeated(args.rounds, || subject.read(args.threads))?;
        Usage::of_this_process(cost).tell();
        return Ok(());
    }
    let [inflate, read] = subject.compare(args.threads, args.rounds)?;
    println!("inflate {inflate:?}\nread    {read:?}\nratio   {:?}", read.over(inflate));
    Ok(())
}

/// A file in memory, and the columns to be read.
pub(crate) struct Subject {
    file: Bytes,
    columns: Vec<usize>,
    blocks: Vec<Block>,
}

/// A zlib stream, and what it expands to.
struct Block {
    stored: Bytes,
    raw: usize,
}

impl Subject {
    /// All columns of a file.
    pub(crate) fn load(path: &Path) -> Result<Self> {
        let file = Bytes::from(fs::read(path)?);
        let reader = formats::open(Arc::new(file.clone()), &ReadOptions::default())?;
        let all: Vec<usize> = (0..reader.schema().fields().len()).collect();
        Self { file, columns: Vec::new(), blocks: Vec::new() }.with_columns(&all)
    }

    /// The same file, and only these columns.
    pub(crate) fn with_columns(&self, columns: &[usize]) -> Result<Self> {
        let reader = formats::open(Arc::new(self.file.clone()), &ReadOptions::default())?;
        let sections = reader.sections();
        let mut blocks = Vec::new();
        for &column in columns {
            let section = sections.iter().find(|section| section.column == Some(column));
            let section = section.ok_or("no such column")?;
            let start = usize::try_from(section.offset)?;
            let stored = self.file.slice(start..start + usize::try_from(section.stored)?);
            blocks.push(Block { stored, raw: usize::try_from(section.raw.unwrap_or(0))? });
        }
        Ok(Self { file: self.file.clone(), columns: columns.to_vec(), blocks })
    }

    /// Bytes of the blocks, as stored and expanded.
    pub(crate) fn sizes(&self) -> (usize, usize) {
        self.blocks
            .iter()
            .fold((0, 0), |(stored, raw), block| (stored + block.stored.len(), raw + block.raw))
    }

    /// Inflating and reading, in turn; best of `rounds`.
    pub(crate) fn compare(&self, threads: usize, rounds: usize) -> Result<[Cost; 2]> {
        self.inflate(threads)?;
        self.read(threads)?;
        Ok(measure::in_turn(rounds, || self.inflate(threads), || self.read(threads)))
    }

    /// Opens the file and reads the columns into Arrow.
    fn read(&self, threads: usize) -> Result<impl Sized + use<>> {
        let options = ReadOptions::default().with_threads(NonZeroUsize::new(threads));
        let reader = formats::open(Arc::new(self.file.clone()), &options)?;
        Ok(reader.read(0, &self.columns)?)
    }

    /// Inflates the blocks of the columns, each into memory of its own, as
    /// whoever wants to keep them must, and does nothing else.
    fn inflate(&self, threads: usize) -> Result<impl Sized + use<>> {
        let next = AtomicUsize::new(0);
        let made = Mutex::new(Vec::new());
        let work = || {
            while let Some(block) = self.blocks.get(next.fetch_add(1, Ordering::Relaxed)) {
                let mut out = vec![0; block.raw];
                let done = Decompressor::new().zlib_decompress(&block.stored, &mut out);
                made.lock().map_err(|_| "a thread has failed")?.push(done.map(|_| out));
            }
            Ok::<(), &str>(())
        };
        if threads <= 1 {
            work()?;
        } else {
            thread::scope(|scope| {
                let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
                threads.into_iter().try_for_each(|thread| thread.join().unwrap_or(Err("failed")))
            })?;
        }
        let made = made.into_inner().map_err(|_| "a thread has failed")?;
        Ok(made.into_iter().collect::<std::result::Result<Vec<_>, _>>()?)
    }
}
