//! The content of the stream `hyp.log`.

#![deny(clippy::arithmetic_side_effects)]

use super::LOG;
use crate::group_statistics::put_bitmap;
use crate::streams::StreamCursor;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::wire::{crc32, put};

/// The version of the content.
const VERSION: u8 = 2;

/// The flag of an archive whose times can be computed.
const HAS_TIME: u8 = 1;
/// The flag of an archive whose variables can be computed.
const HAS_VARIABLES: u8 = 2;

/// The lines whose variables have a checksum.
pub(crate) const VARIABLES_LINES: usize = 1 << 14;

/// What is known of the elements of a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SlotClass(u8);

impl SlotClass {
    /// All elements are equal.
    pub(crate) const CONSTANT: Self = Self(1);
    /// Each element has a digit and no separator, so that it is part of a variable.
    pub(crate) const OPAQUE: Self = Self(2);
    /// The time of a line may depend on the element.
    pub(crate) const TIME: Self = Self(4);

    /// No variable has bytes of an element.
    pub(crate) const SILENT: Self = Self(8);

    /// The bits that are stored as one number.
    const ALL_BITS: u8 = 7;

    /// Returns the class with the bits of another one added.
    #[must_use]
    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether the class has the bits of another one.
    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the class as it is stored, apart from whether slots are silent.
    fn number(self) -> u8 {
        self.0 & Self::ALL_BITS
    }

    /// Returns where columns of the class are stored: those that a template needs come first,
    /// then those that a time needs.
    pub(crate) fn rank(self) -> u8 {
        match (self.has(Self::CONSTANT), self.has(Self::OPAQUE), self.has(Self::TIME)) {
            (true, ..) => 0,
            (_, false, false) => 1,
            (_, false, true) => 2,
            (_, true, true) => 3,
            (_, true, false) => 4,
        }
    }
}

/// The checksums of the columns of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ColumnSums {
    pub(crate) template: u32,
    pub(crate) time: u32,
    /// Of each [`VARIABLES_LINES`] lines.
    pub(crate) variables: Vec<u32>,
}

/// What the stream says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogMetadata {
    /// Whether times can be computed without the lines.
    pub(crate) has_time: bool,
    /// Whether variables can.
    pub(crate) has_variables: bool,
    /// The class of each slot.
    pub(crate) slots: Vec<SlotClass>,
    /// Bytes of the stream `values` from which all columns that templates need can be
    /// decompressed, and also those that times need; 0 if that is not known.
    pub(crate) starts: [u64; 2],
    /// The checksums of each group.
    pub(crate) sums: Vec<ColumnSums>,
}

impl LogMetadata {
    /// Returns the content of the stream.
    pub(crate) fn content(&self) -> Vec<u8> {
        let time = if self.has_time { HAS_TIME } else { 0 };
        let variables = if self.has_variables { HAS_VARIABLES } else { 0 };
        let mut out = vec![VERSION, time | variables];
        for run in self.slots.chunk_by(|one, other| one.number() == other.number()) {
            out.push(run.first().copied().unwrap_or_default().number());
            put::uv(&mut out, run.len() as u64);
        }
        if self.has_variables {
            // Silent slots are among all others, so that runs of them would be short.
            put_bitmap(self.slots.iter().map(|class| class.has(SlotClass::SILENT)), &mut out);
        }
        for start in self.starts {
            put::uv(&mut out, start);
        }
        for sums in &self.sums {
            out.extend_from_slice(&sums.template.to_le_bytes());
            if self.has_time {
                out.extend_from_slice(&sums.time.to_le_bytes());
            }
            for sum in &sums.variables {
                out.extend_from_slice(&sum.to_le_bytes());
            }
        }
        let sum = crc32(&out);
        out.extend_from_slice(&sum.to_le_bytes());
        out
    }

    /// Parses the stream of an archive with so many slots and groups of so many lines; `None` if
    /// it has another version.
    pub(crate) fn parse(
        content: &[u8],
        slots: usize,
        group_lines: impl IntoIterator<Item = u64>,
    ) -> Result<Option<Self>> {
        if content.first() != Some(&VERSION) {
            return Ok(None);
        }
        let (content, sum) = content.split_last_chunk::<4>().unwrap_or((content, &[0; 4]));
        if crc32(content).to_le_bytes() != *sum {
            return Err(
                Error::malformed("columns of a log", "do not match their checksum").in_stream(LOG)
            );
        }
        let mut stream = StreamCursor::new(LOG, content);
        stream.u8("version")?;
        let flags = stream.u8("flags")?;
        if flags & !(HAS_TIME | HAS_VARIABLES) != 0 {
            return Err(stream.malformed("flags", "are unknown"));
        }
        let mut found = Self {
            has_time: flags & HAS_TIME != 0,
            has_variables: flags & HAS_VARIABLES != 0,
            ..Self::default()
        };
        while found.slots.len() < slots {
            let class = stream.u8("class of slots")?;
            let count = stream.size("slots of a class")?;
            let left = slots.saturating_sub(found.slots.len());
            if class > SlotClass::ALL_BITS || count == 0 || count > left {
                return Err(stream.malformed("class of slots", "does not fit the archive"));
            }
            found.slots.resize(found.slots.len().saturating_add(count), SlotClass(class));
        }
        if found.has_variables {
            let silent = stream.take(slots.div_ceil(8), "silent slots")?;
            for (slots, byte) in found.slots.chunks_mut(8).zip(silent) {
                let mut byte = *byte;
                for class in slots {
                    if byte & 1 != 0 {
                        *class = class.with(SlotClass::SILENT);
                    }
                    byte >>= 1;
                }
            }
        }
        for start in &mut found.starts {
            *start = stream.uv("start of the values")?;
        }
        for lines in group_lines {
            let mut sum = || -> Result<u32> {
                let bytes = stream.take(4, "checksum of a column")?;
                Ok(u32::from_le_bytes(bytes.first_chunk().copied().unwrap_or_default()))
            };
            let template = sum()?;
            let time = if found.has_time { sum()? } else { 0 };
            let blocks = lines.div_ceil(VARIABLES_LINES as u64);
            let blocks = 0..if found.has_variables { blocks } else { 0 };
            let variables = blocks.map(|_| sum()).collect::<Result<_>>()?;
            found.sums.push(ColumnSums { template, time, variables });
        }
        if !stream.is_empty() {
            return Err(stream.malformed("columns of a log", "do not end with the stream"));
        }
        Ok(Some(found))
    }
}
