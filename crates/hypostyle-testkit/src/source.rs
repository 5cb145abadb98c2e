//! Sources for tests: one that keeps a record, one that is far away, one that is mostly holes.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use hypostyle::ByteSource;

/// A source that records every read.
#[derive(Debug)]
pub struct CountingSource {
    inner: Arc<dyn ByteSource>,
    reads: Mutex<Vec<(u64, usize)>>,
}

impl CountingSource {
    /// Wraps a source.
    pub fn new(inner: Arc<dyn ByteSource>) -> Self {
        Self { inner, reads: Mutex::default() }
    }

    /// Every read so far: offset and length.
    pub fn reads(&self) -> Vec<(u64, usize)> {
        self.reads.lock().unwrap().clone()
    }

    /// Forgets every read so far.
    pub fn forget(&self) {
        self.reads.lock().unwrap().clear();
    }

    /// The bytes that were read at least once, as ranges that do not touch.
    pub fn covered(&self) -> Vec<Range<u64>> {
        merged(self.reads().into_iter().map(|(offset, len)| offset..offset + len as u64))
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
}

/// A source whose answers are late, and which gives several at the same time.
#[derive(Debug)]
pub struct FarSource {
    inner: Arc<dyn ByteSource>,
    at_once: usize,
    under_way: AtomicUsize,
    most: AtomicUsize,
}

impl FarSource {
    /// Wraps a source; so many reads are worth making at the same time.
    pub fn new(inner: Arc<dyn ByteSource>, at_once: usize) -> Self {
        Self { inner, at_once, under_way: AtomicUsize::new(0), most: AtomicUsize::new(0) }
    }

    /// How many reads were under way at the same time, at most.
    pub fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

impl ByteSource for FarSource {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        let under_way = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(under_way, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(5));
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        self.inner.read(offset, len)
    }

    fn concurrent_reads(&self) -> usize {
        self.at_once
    }
}

/// The same bytes as ranges in order that neither overlap nor touch.
pub fn merged(ranges: impl IntoIterator<Item = Range<u64>>) -> Vec<Range<u64>> {
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

/// A source of any size, zero but for a few pieces.
#[derive(Debug)]
pub struct SparseSource {
    size: u64,
    pieces: BTreeMap<u64, Bytes>,
}

impl SparseSource {
    /// A source of `size` bytes with these pieces in it, which do not overlap.
    pub fn new(size: u64, pieces: impl IntoIterator<Item = (u64, Vec<u8>)>) -> Self {
        let pieces = pieces.into_iter().map(|(at, bytes)| (at, Bytes::from(bytes))).collect();
        Self { size, pieces }
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
        for (&at, piece) in self.pieces.range(..end) {
            let from = offset.max(at);
            let to = end.min(at + piece.len() as u64);
            if from < to {
                let take = usize::try_from(from - at).unwrap()..usize::try_from(to - at).unwrap();
                let start = usize::try_from(from - offset).unwrap();
                let hole = out.get_mut(start..start + take.len()).unwrap();
                hole.copy_from_slice(piece.get(take).unwrap());
            }
        }
        Ok(out.into())
    }
}
