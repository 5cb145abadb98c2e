//! Byte sources for tests: one records reads, one delays them, one lacks bytes, one is mostly
//! zeros.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use hypostyle::{ByteSource, MissingRanges};

/// A source that records every read.
#[derive(Debug)]
pub struct CountingSource {
    inner: Arc<dyn ByteSource>,
    reads: Mutex<Vec<(u64, usize)>>,
    /// The cost of a read, if the source is remote.
    read_cost: Option<u64>,
}

impl CountingSource {
    /// Wraps a source, which is then local.
    pub fn new(inner: Arc<dyn ByteSource>) -> Self {
        Self { inner, reads: Mutex::default(), read_cost: None }
    }

    /// Wraps a source, which is then remote: a read costs as much as so many bytes.
    pub fn remote(inner: Arc<dyn ByteSource>, read_cost: u64) -> Self {
        Self { read_cost: Some(read_cost), ..Self::new(inner) }
    }

    /// Returns the offset and length of every read so far.
    pub fn reads(&self) -> Vec<(u64, usize)> {
        self.reads.lock().unwrap().clone()
    }

    /// Clears the record of reads.
    pub fn clear_reads(&self) {
        self.reads.lock().unwrap().clear();
    }

    /// Returns the byte ranges that were read at least once, merged.
    pub fn covered(&self) -> Vec<Range<u64>> {
        merge_ranges(self.reads().into_iter().map(|(offset, len)| offset..offset + len as u64))
    }
}

impl ByteSource for CountingSource {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        self.reads.lock().unwrap().push((offset, len));
        self.inner.read(offset, len)
    }

    fn concurrent_reads(&self) -> usize {
        if self.read_cost.is_some() { 8 } else { 1 }
    }

    fn read_cost(&self) -> u64 {
        // That of a local source.
        self.read_cost.unwrap_or(16 << 10)
    }
}

/// A source with latency that serves several reads at the same time.
#[derive(Debug)]
pub struct SlowSource {
    inner: Arc<dyn ByteSource>,
    concurrent_reads: usize,
    in_flight: AtomicUsize,
    max_in_flight: AtomicUsize,
}

impl SlowSource {
    /// Wraps a source; `concurrent_reads` is the number of parallel reads that it asks for.
    pub fn new(inner: Arc<dyn ByteSource>, concurrent_reads: usize) -> Self {
        let (in_flight, max_in_flight) = Default::default();
        Self { inner, concurrent_reads, in_flight, max_in_flight }
    }

    /// Returns the maximum number of reads that were in flight at the same time.
    pub fn max_in_flight(&self) -> usize {
        self.max_in_flight.load(Ordering::SeqCst)
    }
}

impl ByteSource for SlowSource {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        let in_flight = self.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        self.max_in_flight.fetch_max(in_flight, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(5));
        self.in_flight.fetch_sub(1, Ordering::SeqCst);
        self.inner.read(offset, len)
    }

    fn concurrent_reads(&self) -> usize {
        self.concurrent_reads
    }

    // Small, so that a file of a test has ranges that are read one by one.
    fn read_cost(&self) -> u64 {
        4 << 10
    }
}

/// A source that lacks every range when it is first asked for it.
///
/// It stands for a source whose bytes arrive between two calls.
#[derive(Debug)]
pub struct HaltingSource {
    inner: Bytes,
    is_halting: AtomicBool,
    asked: Mutex<BTreeSet<(u64, usize)>>,
}

impl HaltingSource {
    /// Wraps bytes; all of them are there until [`HaltingSource::halt`].
    pub fn new(inner: Bytes) -> Self {
        Self { inner, is_halting: AtomicBool::new(false), asked: Mutex::default() }
    }

    /// From now on, the first read of every range fails with [`MissingRanges`].
    pub fn halt(&self) {
        self.is_halting.store(true, Ordering::SeqCst);
    }
}

impl ByteSource for HaltingSource {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        let is_new = self.asked.lock().unwrap().insert((offset, len));
        if is_new && self.is_halting.load(Ordering::SeqCst) {
            let missing = offset..offset.saturating_add(len as u64);
            return Err(MissingRanges(vec![missing]).into());
        }
        self.inner.read(offset, len)
    }
}

/// Sorts ranges and merges those that overlap or touch.
pub fn merge_ranges(ranges: impl IntoIterator<Item = Range<u64>>) -> Vec<Range<u64>> {
    let mut ranges: Vec<_> = ranges.into_iter().filter(|range| !range.is_empty()).collect();
    ranges.sort_by_key(|range| range.start);
    let mut out: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match out.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => out.push(range),
        }
    }
    out
}

/// A source of any size that is zero except for a few ranges.
#[derive(Debug)]
pub struct SparseSource {
    size: u64,
    data: BTreeMap<u64, Bytes>,
}

impl SparseSource {
    /// Creates a source of `size` bytes with this data at these offsets, which must not overlap.
    pub fn new(size: u64, data: impl IntoIterator<Item = (u64, Vec<u8>)>) -> Self {
        let data = data.into_iter().map(|(at, bytes)| (at, Bytes::from(bytes))).collect();
        Self { size, data }
    }
}

impl ByteSource for SparseSource {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        let end = offset.checked_add(len as u64).filter(|&end| end <= self.size);
        let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut out = vec![0; len];
        for (&at, bytes) in self.data.range(..end) {
            let from = offset.max(at);
            let to = end.min(at + bytes.len() as u64);
            if from < to {
                let take = usize::try_from(from - at).unwrap()..usize::try_from(to - at).unwrap();
                let start = usize::try_from(from - offset).unwrap();
                let hole = out.get_mut(start..start + take.len()).unwrap();
                hole.copy_from_slice(bytes.get(take).unwrap());
            }
        }
        Ok(out.into())
    }
}
