//! A source of the ranges that were fetched ahead.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use super::{ByteSource, FetchPlan, REMOTE_READ_COST, merge_near};

/// Holds ranges of a file that were fetched ahead, and serves reads from them.
///
/// With a source below, other ranges are read from it. Without one, a read of other bytes
/// fails with [`MissingRanges`]: the caller, such as an async engine, fetches them,
/// [supplies](RangeCache::supply) them and repeats what it was doing.
#[derive(Debug)]
pub struct RangeCache {
    size: u64,
    below: Option<Arc<dyn ByteSource>>,
    read_cost: u64,
    held: Mutex<HeldRanges>,
    bytes_read: AtomicU64,
    reads: AtomicU64,
}

#[derive(Debug, Default)]
struct HeldRanges {
    /// The pieces that are held, by their start.
    pieces: BTreeMap<u64, Bytes>,
    /// The reads that the caller was asked for, and the ranges that are wanted of each. The
    /// bytes between them are transferred because that costs less than another read.
    asked: HashMap<Range<u64>, Vec<Range<u64>>>,
    /// How many times each range is claimed.
    claims: HashMap<Range<u64>, usize>,
}

/// Ranges that a [`RangeCache`] does not release until this is dropped.
#[derive(Debug)]
pub struct ClaimedRanges {
    cache: Arc<RangeCache>,
    ranges: Vec<Range<u64>>,
}

impl ClaimedRanges {
    /// Returns the ranges.
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }
}

impl Drop for ClaimedRanges {
    fn drop(&mut self) {
        let claims = &mut self.cache.lock().claims;
        for range in self.ranges.drain(..) {
            if let Entry::Occupied(mut count) = claims.entry(range) {
                *count.get_mut() = count.get().saturating_sub(1);
                if *count.get() == 0 {
                    count.remove();
                }
            }
        }
    }
}

impl RangeCache {
    /// Returns a cache over a source.
    pub fn over(below: Arc<dyn ByteSource>) -> Self {
        let (size, read_cost) = (below.size(), below.read_cost());
        Self { size, read_cost, below: Some(below), ..Self::of_size(0) }
    }

    /// Returns a cache of a file of `size` bytes that only holds what it is supplied with.
    ///
    /// The caller is expected to fetch ranges from a remote source, see
    /// [`RangeCache::with_read_cost`].
    pub fn of_size(size: u64) -> Self {
        let (held, bytes_read, reads) = Default::default();
        Self { size, read_cost: REMOTE_READ_COST, below: None, held, bytes_read, reads }
    }

    /// Sets the [cost of a read](ByteSource::read_cost).
    #[must_use]
    pub fn with_read_cost(mut self, bytes: u64) -> Self {
        self.read_cost = bytes;
        self
    }

    /// Returns whether a read takes as long as the transfer of many bytes.
    ///
    /// Then it pays to fetch in one round what may be needed next.
    pub fn is_remote(&self) -> bool {
        self.below.as_ref().is_none_or(|below| below.concurrent_reads() > 1)
    }

    /// Returns the reads that would fetch what is not held of some ranges.
    pub fn plan(&self, ranges: &[Range<u64>]) -> FetchPlan {
        let mut plan = FetchPlan::new(self.read_cost);
        plan.add(&self.missing(ranges));
        plan
    }

    fn missing(&self, ranges: &[Range<u64>]) -> Vec<Range<u64>> {
        let inside = |range: &&Range<u64>| range.end <= self.size && range.start < range.end;
        let missing = ranges.iter().filter(inside).filter(|range| self.find(range).is_none());
        missing.cloned().collect()
    }

    /// Returns how many bytes were read from the source below, or supplied.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// Returns how many ranges were read from the source below, or supplied.
    pub fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    /// Returns how many bytes are held.
    pub fn held_bytes(&self) -> u64 {
        self.lock().pieces.values().map(|piece| piece.len() as u64).sum()
    }

    /// Fetches ranges, those that lie close together with one read.
    ///
    /// Does nothing for a resident source, and for ranges that are held.
    ///
    /// # Errors
    ///
    /// Fails if the source below does, and with [`MissingRanges`] if there is none.
    pub fn prefetch(&self, ranges: &[Range<u64>]) -> io::Result<()> {
        self.prefetch_with(ranges, &[])
    }

    /// Fetches ranges, and holds what is read of other ranges on the way.
    ///
    /// # Errors
    ///
    /// As [`RangeCache::prefetch`].
    pub fn prefetch_with(&self, ranges: &[Range<u64>], also: &[Range<u64>]) -> io::Result<()> {
        if self.below.as_ref().is_some_and(|below| below.is_resident()) {
            return Ok(());
        }
        let mut missing = self.missing(ranges);
        if missing.is_empty() {
            return Ok(());
        }
        let reads = merge_near(&missing, self.read_cost);
        let read_of = |range: &Range<u64>| reads.partition_point(|read| read.end < range.end);
        let is_read = |range: &&Range<u64>| {
            reads.get(read_of(range)).is_some_and(|read| read.start <= range.start)
        };
        missing.extend(also.iter().filter(is_read).cloned());
        let mut wanted: Vec<Vec<Range<u64>>> = vec![Vec::new(); reads.len()];
        for range in merge_near(&missing, 0) {
            let read = read_of(&range);
            wanted.get_mut(read).into_iter().for_each(|wanted| wanted.push(range.clone()));
        }
        let Some(below) = &self.below else {
            let asked = &mut self.lock().asked;
            for (read, mut wanted) in reads.iter().zip(wanted) {
                let before = asked.entry(read.clone()).or_default();
                wanted.append(before);
                *before = merge_near(&wanted, 0);
            }
            return Err(MissingRanges(reads).into());
        };
        let pieces = below.read_ranges(&reads)?;
        let mut held = self.lock();
        for ((read, wanted), bytes) in reads.iter().zip(&wanted).zip(pieces) {
            self.count(&bytes);
            held.insert_parts(read.start, &bytes, wanted);
        }
        Ok(())
    }

    /// Adds fetched ranges.
    ///
    /// Of a range that [`MissingRanges`] named, the cache holds only what was wanted of it.
    pub fn supply(&self, pieces: impl IntoIterator<Item = (Range<u64>, Bytes)>) {
        let mut held = self.lock();
        for (range, bytes) in pieces {
            self.count(&bytes);
            match held.asked.remove(&range) {
                Some(wanted) => held.insert_parts(range.start, &bytes, &wanted),
                None => held.insert(range.start, bytes),
            }
        }
    }

    fn count(&self, bytes: &Bytes) {
        self.bytes_read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.reads.fetch_add(1, Ordering::Relaxed);
    }

    /// Claims ranges, which are held or may be read later.
    ///
    /// Row groups share dictionaries and blocks, also those that several scans of one file read.
    #[must_use = "the claim ends when it is dropped"]
    pub fn claim(self: &Arc<Self>, ranges: Vec<Range<u64>>) -> ClaimedRanges {
        let claims = &mut self.lock().claims;
        for range in &ranges {
            *claims.entry(range.clone()).or_default() += 1;
        }
        ClaimedRanges { cache: self.clone(), ranges }
    }

    /// Drops what is held of `ranges`, except those that somebody has [claimed](Self::claim).
    ///
    /// What was read together with them stays: other row groups may need it.
    pub fn release(&self, ranges: &[Range<u64>]) {
        let HeldRanges { pieces: held, claims, .. } = &mut *self.lock();
        for range in ranges.iter().filter(|range| !claims.contains_key(*range)) {
            let end_of = |start: u64, bytes: &Bytes| start.saturating_add(bytes.len() as u64);
            let overlapping: Vec<u64> = held
                .range(..range.end)
                .filter(|&(&start, bytes)| end_of(start, bytes) > range.start)
                .map(|(&start, _)| start)
                .collect();
            for start in overlapping {
                let Some(bytes) = held.remove(&start) else { continue };
                let inside = |offset: u64| {
                    usize::try_from(offset.saturating_sub(start))
                        .map_or(bytes.len(), |offset| offset.min(bytes.len()))
                };
                let (head, tail) = (inside(range.start), inside(range.end));
                if head > 0 {
                    held.insert(start, bytes.slice(..head));
                }
                if tail < bytes.len() {
                    held.insert(range.end, bytes.slice(tail..));
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HeldRanges> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the bytes of a range, if one held piece has all of them.
    fn find(&self, range: &Range<u64>) -> Option<Bytes> {
        let held = self.lock();
        let (&start, bytes) = held.pieces.range(..=range.start).next_back()?;
        let from = usize::try_from(range.start.checked_sub(start)?).ok()?;
        let to = usize::try_from(range.end.checked_sub(start)?).ok()?;
        (to <= bytes.len()).then(|| bytes.slice(from..to))
    }
}

impl HeldRanges {
    /// Holds the parts that are wanted of bytes that were read at `start`.
    fn insert_parts(&mut self, start: u64, bytes: &Bytes, wanted: &[Range<u64>]) {
        let offset = |at: u64| {
            let offset = usize::try_from(at.saturating_sub(start));
            offset.map_or(bytes.len(), |offset| offset.min(bytes.len()))
        };
        for part in wanted {
            self.insert(part.start, bytes.slice(offset(part.start)..offset(part.end)));
        }
    }

    fn insert(&mut self, start: u64, bytes: Bytes) {
        match self.pieces.get(&start) {
            Some(longer) if longer.len() >= bytes.len() => {}
            _ => {
                self.pieces.insert(start, bytes);
            }
        }
    }
}

impl ByteSource for RangeCache {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        let range = offset..offset.saturating_add(len as u64);
        match (&self.below, self.find(&range)) {
            (_, Some(bytes)) => Ok(bytes),
            (Some(below), None) => {
                let bytes = below.read(offset, len)?;
                self.count(&bytes);
                Ok(bytes)
            }
            (None, None) => Err(MissingRanges(vec![range]).into()),
        }
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        self.prefetch(ranges)?;
        let len = |range: &Range<u64>| {
            let len = usize::try_from(range.end.saturating_sub(range.start));
            len.map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))
        };
        ranges.iter().map(|range| self.read(range.start, len(range)?)).collect()
    }

    fn is_resident(&self) -> bool {
        self.below.as_ref().is_some_and(|below| below.is_resident())
    }

    fn concurrent_reads(&self) -> usize {
        self.below.as_ref().map_or(1, |below| below.concurrent_reads())
    }

    fn read_cost(&self) -> u64 {
        self.read_cost
    }
}

/// The ranges that must be [supplied](RangeCache::supply) before a call can succeed.
///
/// It is the cause of an [`io::Error`], and [`MissingRanges::of`] finds it there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingRanges(pub Vec<Range<u64>>);

impl MissingRanges {
    /// Returns the missing ranges if they are the cause of an error.
    pub fn of(error: &crate::error::Error) -> Option<&Self> {
        match error.kind() {
            crate::error::ErrorKind::Io(cause) => cause.get_ref()?.downcast_ref(),
            _ => None,
        }
    }
}

impl fmt::Display for MissingRanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes: u64 = self.0.iter().map(|range| range.end.saturating_sub(range.start)).sum();
        write!(f, "{bytes} bytes in {} ranges have not been fetched", self.0.len())
    }
}

impl std::error::Error for MissingRanges {}

impl From<MissingRanges> for io::Error {
    fn from(missing: MissingRanges) -> Self {
        Self::new(io::ErrorKind::WouldBlock, missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn a_cache_without_a_source_says_what_is_missing() {
        let cache = RangeCache::of_size(100);
        let error = Error::from(cache.read(10, 20).unwrap_err());
        let missing = MissingRanges::of(&error).unwrap();
        assert_eq!(missing.0.iter().cloned().flatten().count(), 20);
        cache.supply([(5..40, Bytes::from(vec![7; 35]))]);
        assert_eq!(cache.read(10, 20).unwrap(), vec![7; 20]);
        assert!(cache.read(39, 2).is_err());
        cache.release(&[12..14, 39..40, 40..41]);
        assert!(cache.read(10, 20).is_err());
        assert_eq!(cache.read(5, 7).unwrap(), vec![7; 7]);
        assert_eq!(cache.read(14, 25).unwrap(), vec![7; 25]);
        cache.release(&[0..20, 20..100]);
        assert!(cache.read(5, 1).is_err() && cache.read(38, 1).is_err());
        assert_eq!((cache.bytes_read(), cache.reads()), (35, 1));
    }

    #[test]
    fn claimed_ranges_are_held_until_the_last_claim_ends() {
        let cache = Arc::new(RangeCache::of_size(100));
        cache.supply([(0..50, Bytes::from(vec![7; 50]))]);
        let one = cache.claim(vec![0..10, 20..30]);
        let two = cache.claim(std::iter::once(20..30).collect());
        cache.release(&[0..10, 10..20, 20..30]);
        assert_eq!((cache.read(0, 10).is_ok(), cache.read(20, 10).is_ok()), (true, true));
        assert!(cache.read(10, 10).is_err());
        drop(one);
        cache.release(&[0..10, 20..30]);
        assert_eq!((cache.read(0, 10).is_ok(), cache.read(20, 10).is_ok()), (false, true));
        drop(two);
        assert!(cache.read(20, 10).is_ok());
        cache.release(std::slice::from_ref(&(20..30)));
        assert!(cache.read(20, 10).is_err());
    }

    #[test]
    fn a_cache_over_a_source_reads_each_range_once() {
        #[derive(Debug)]
        struct Far(Bytes);
        impl ByteSource for Far {
            fn size(&self) -> u64 {
                self.0.size()
            }
            fn read(&self, offset: u64, len: usize) -> io::Result<Bytes> {
                self.0.read(offset, len)
            }
        }
        let cache = RangeCache::over(Arc::new(Far(Bytes::from(vec![1; 100_000]))));
        cache.prefetch(&[0..10, 20..30, 90_000..90_010]).unwrap();
        assert_eq!((cache.bytes_read(), cache.reads()), (40, 2));
        assert_eq!(cache.read(25, 5).unwrap(), vec![1; 5]);
        cache.prefetch(&[0..10, 20..30]).unwrap();
        assert_eq!((cache.bytes_read(), cache.reads()), (40, 2));
        // The bytes between ranges are not held.
        assert_eq!(cache.read(12, 5).unwrap(), vec![1; 5]);
        assert_eq!((cache.bytes_read(), cache.reads()), (45, 3));
        // Those that may be wanted later are.
        let also = [50_100..50_200, 49_999..50_001, 50_900..51_001];
        cache.prefetch_with(&[50_000..50_010, 50_990..51_000], &also).unwrap();
        assert_eq!((cache.bytes_read(), cache.reads()), (1045, 4));
        assert_eq!(cache.read(50_100, 100).unwrap(), vec![1; 100]);
        assert_eq!((cache.bytes_read(), cache.held_bytes()), (1045, 40 - 10 + 120));
    }

    #[test]
    fn a_supplied_range_that_was_asked_for_leaves_what_was_wanted() {
        let cache = RangeCache::of_size(1 << 20).with_read_cost(1000);
        let asked = |ranges: &[Range<u64>]| {
            let err = Error::from(cache.prefetch(ranges).unwrap_err());
            MissingRanges::of(&err).unwrap().0.clone()
        };
        assert_eq!(asked(&[0..10, 500..510, 505..520, 9000..9001]), [0..520, 9000..9001]);
        cache.supply([(0..520, Bytes::from(vec![3; 520]))]);
        assert_eq!(cache.read(500, 20).unwrap(), vec![3; 20]);
        assert!(cache.read(10, 1).is_err());
        assert_eq!(asked(&[0..10, 9000..9001]), std::slice::from_ref(&(9000..9001)));
    }
}
