//! Fetches byte ranges from an object store, each once.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use hypostyle::RangeCache;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use tokio::sync::Notify;

/// Requests for ranges of one file that run at the same time.
const CONCURRENT_REQUESTS: usize = 16;

/// Fetches the ranges that the scans of a file miss, and supplies them.
///
/// Scans of several partitions may miss the same ranges at the same time; one of them fetches.
#[derive(Debug)]
pub(crate) struct RangeFetcher {
    store: Arc<dyn ObjectStore>,
    location: Path,
    cache: Arc<RangeCache>,
    flights: Mutex<Flights>,
    done: Notify,
}

/// Which ranges are being fetched, and which were.
#[derive(Debug, Default)]
struct Flights {
    in_flight: Vec<Range<u64>>,
    /// The last ranges that were supplied, each with its number.
    supplied: VecDeque<(u64, Range<u64>)>,
    count: u64,
}

/// A time, as the number of ranges that were supplied before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment(u64);

/// Ranges that are remembered after they were supplied.
const REMEMBERED_RANGES: usize = 1024;

/// What was fetched.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fetched {
    pub(crate) bytes: usize,
    pub(crate) requests: usize,
}

impl RangeFetcher {
    pub(crate) fn new(store: Arc<dyn ObjectStore>, location: Path, cache: Arc<RangeCache>) -> Self {
        let (flights, done) = Default::default();
        Self { store, location, cache, flights, done }
    }

    /// Returns the time, for a scan to tell later since when it misses ranges.
    pub(crate) fn now(&self) -> Moment {
        Moment(self.lock().count)
    }

    /// Fetches ranges that a scan misses since a moment, unless another scan has fetched some of
    /// them meanwhile, or is about to; then waits for that.
    ///
    /// After that, the caller repeats what it was doing, and may miss ranges again.
    pub(crate) async fn fetch(
        &self,
        ranges: &[Range<u64>],
        since: Moment,
    ) -> object_store::Result<Fetched> {
        let done = self.done.notified();
        let flight = match Flight::start(self, ranges, since) {
            Start::Fetch(flight) => flight,
            Start::Wait => {
                done.await;
                return Ok(Fetched::default());
            }
            Start::Supplied => return Ok(Fetched::default()),
        };
        let fetched: Vec<(Range<u64>, Bytes)> = futures::stream::iter(ranges.iter().cloned())
            .map(|range| async move {
                let bytes = self.store.get_range(&self.location, range.clone()).await?;
                Ok::<_, object_store::Error>((range, bytes))
            })
            .buffer_unordered(CONCURRENT_REQUESTS)
            .try_collect()
            .await?;
        let bytes = fetched.iter().map(|(_, bytes)| bytes.len()).sum();
        self.cache.supply(fetched);
        flight.supplied();
        Ok(Fetched { bytes, requests: ranges.len() })
    }

    /// Returns the cache that the ranges are supplied to.
    pub(crate) fn cache(&self) -> &Arc<RangeCache> {
        &self.cache
    }

    fn lock(&self) -> MutexGuard<'_, Flights> {
        self.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ranges that are being fetched; other scans may fetch them again once this is dropped.
struct Flight<'a> {
    fetcher: &'a RangeFetcher,
    ranges: &'a [Range<u64>],
}

/// What to do about missing ranges.
enum Start<'a> {
    Fetch(Flight<'a>),
    Wait,
    Supplied,
}

impl<'a> Flight<'a> {
    fn start(fetcher: &'a RangeFetcher, ranges: &'a [Range<u64>], since: Moment) -> Start<'a> {
        let overlaps = |other: &Range<u64>| {
            ranges.iter().any(|one| one.start < other.end && other.start < one.end)
        };
        let mut flights = fetcher.lock();
        let is_forgotten =
            flights.supplied.front().is_some_and(|(number, _)| *number > since.0.saturating_add(1));
        let mut later = flights.supplied.iter().rev().take_while(|(number, _)| *number > since.0);
        if is_forgotten || later.any(|(_, range)| overlaps(range)) {
            return Start::Supplied;
        }
        if flights.in_flight.iter().any(overlaps) {
            return Start::Wait;
        }
        flights.in_flight.extend_from_slice(ranges);
        Start::Fetch(Self { fetcher, ranges })
    }

    /// Notes that the ranges were supplied.
    fn supplied(&self) {
        let mut flights = self.fetcher.lock();
        for range in self.ranges {
            flights.count = flights.count.saturating_add(1);
            let number = flights.count;
            flights.supplied.push_back((number, range.clone()));
        }
        while flights.supplied.len() > REMEMBERED_RANGES.max(self.ranges.len()) {
            flights.supplied.pop_front();
        }
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        self.fetcher.lock().in_flight.retain(|range| !self.ranges.contains(range));
        self.fetcher.done.notify_waiters();
    }
}
