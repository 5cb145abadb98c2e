//! Decompressed blocks that several line groups use.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::cell_list::CellList;

/// A block: its frame, table, row group and column.
pub(super) type BlockKey = (usize, usize, usize, usize);

/// Bytes of blocks that are kept.
const MAX_BYTES: usize = 32 << 20;

/// Keeps the blocks that were used last.
#[derive(Debug, Default)]
pub(super) struct SharedBlocks {
    blocks: Mutex<VecDeque<(BlockKey, Arc<CellList>)>>,
}

impl SharedBlocks {
    fn lock(&self) -> MutexGuard<'_, VecDeque<(BlockKey, Arc<CellList>)>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a block, if it is kept.
    pub(super) fn get(&self, key: BlockKey) -> Option<Arc<CellList>> {
        let mut blocks = self.lock();
        let at = blocks.iter().position(|(known, _)| *known == key)?;
        let entry = blocks.remove(at)?;
        let block = entry.1.clone();
        blocks.push_back(entry);
        Some(block)
    }

    /// Keeps a block, and drops the ones that were not used for longest.
    pub(super) fn put(&self, key: BlockKey, block: Arc<CellList>) {
        let mut blocks = self.lock();
        blocks.push_back((key, block));
        let mut bytes: usize = blocks.iter().map(|(_, block)| block.bytes()).sum();
        while bytes > MAX_BYTES
            && let Some((_, dropped)) = blocks.pop_front()
        {
            bytes -= dropped.bytes();
        }
    }
}
