//! The memory of scans, as a part of that of the engine.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::memory_pool::{
    MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};

/// The least that the scan of a partition reserves.
const MIN_BYTES: u64 = 256 << 10;

/// The memory of the scan of one partition.
///
/// It is reserved when the first file is opened, and kept for the next ones: an operator that
/// collects rows may take all that is left meanwhile.
pub(crate) struct ScanMemory {
    reservation: MemoryReservation,
    limit: u64,
}

impl ScanMemory {
    /// Returns the memory of a partition that may have `limit` bytes; `None` if the pool has no
    /// limit, so that nobody waits for what a scan leaves.
    pub(crate) fn of_partition(
        pool: &Arc<dyn MemoryPool>,
        partition: usize,
        limit: u64,
    ) -> Option<Self> {
        let MemoryLimit::Finite(_) = pool.memory_limit() else { return None };
        let consumer = MemoryConsumer::new(format!("HypostyleScan[{partition}]"));
        Some(Self { reservation: consumer.register(pool), limit: limit.max(MIN_BYTES) })
    }

    /// Reserves memory for the scan of a file that has a use for `wanted` bytes; returns how many
    /// it may hold, which are fewer if the pool has fewer.
    ///
    /// # Errors
    ///
    /// Fails if the pool does not have the least that a scan needs.
    pub(crate) fn reserve(&self, wanted: u64) -> Result<u64> {
        let held = self.reservation.size() as u64;
        let mut bytes = wanted.clamp(MIN_BYTES, self.limit);
        while bytes > held {
            match self.reservation.try_resize(usize::try_from(bytes).unwrap_or(usize::MAX)) {
                Ok(()) => return Ok(bytes),
                Err(err) if held == 0 && bytes == MIN_BYTES => return Err(err),
                Err(_) => bytes = (bytes / 2).max(MIN_BYTES),
            }
        }
        Ok(held)
    }
}

impl fmt::Debug for ScanMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScanMemory").field("limit", &self.limit).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use datafusion::execution::memory_pool::{GreedyMemoryPool, UnboundedMemoryPool};

    use super::*;

    #[test]
    fn a_scan_takes_what_there_is_and_keeps_it() {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(10 << 20));
        let memory = |limit| ScanMemory::of_partition(&pool, 0, limit).unwrap();
        let one = memory(8 << 20);
        assert_eq!(one.reserve(1 << 20).unwrap(), 1 << 20);
        assert_eq!(one.reserve(100 << 20).unwrap(), 8 << 20);
        assert_eq!(one.reserve(1).unwrap(), 8 << 20);
        let two = memory(8 << 20);
        assert_eq!(two.reserve(8 << 20).unwrap(), 2 << 20);
        let err = memory(8 << 20).reserve(1).unwrap_err().to_string();
        assert!(err.contains("HypostyleScan[0]"), "{err}");
        drop(one);
        assert_eq!(two.reserve(8 << 20).unwrap(), 8 << 20);
        drop(two);
        assert_eq!(pool.reserved(), 0);
        let unbounded: Arc<dyn MemoryPool> = Arc::new(UnboundedMemoryPool::default());
        assert!(ScanMemory::of_partition(&unbounded, 0, 1).is_none());
    }
}
