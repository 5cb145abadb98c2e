//! A text in parts, of which some may be left out.

use std::fmt;
use std::io::Read;

use crate::error::Result;
use crate::text::{LineBlock, LineBlocks, RowPosition};

/// Bytes of a block, unless one of its lines is longer.
const BLOCK_BYTES: usize = 512 << 10;

/// The most bytes of a line.
const MAX_LINE_BYTES: usize = 2 << 30;

/// Adjacent lines of a text.
pub struct TextPart {
    /// Where the part starts, which is the start of a line.
    pub start: RowPosition,
    /// The text of the part. Only the last line of the last part may have no newline.
    pub text: Box<dyn Read + Send>,
}

/// A text that is read once, from its start to its end.
pub trait TextParts: fmt::Debug {
    /// Returns the next part that may have a line that is searched for.
    ///
    /// # Errors
    ///
    /// Fails if the text cannot be read.
    fn next_part(&mut self) -> Result<Option<TextPart>>;

    /// Bytes of the text that are left out, so far or in all.
    fn skipped_bytes(&self) -> u64;
}

/// A text that is searched as a whole.
#[derive(Debug)]
pub struct WholeText(Option<TextPart>);

/// The blocks of the parts of a text.
pub struct PartBlocks {
    parts: Box<dyn TextParts>,
    blocks: Option<LineBlocks<Box<dyn Read + Send>>>,
}

impl WholeText {
    /// Returns a text of one part.
    pub fn new(text: Box<dyn Read + Send>) -> Self {
        Self(Some(TextPart { start: RowPosition::default(), text }))
    }
}

impl TextParts for WholeText {
    fn next_part(&mut self) -> Result<Option<TextPart>> {
        Ok(self.0.take())
    }

    fn skipped_bytes(&self) -> u64 {
        0
    }
}

impl fmt::Debug for TextPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextPart").field("start", &self.start).finish_non_exhaustive()
    }
}

impl fmt::Debug for PartBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartBlocks").field("parts", &self.parts).finish_non_exhaustive()
    }
}

impl PartBlocks {
    /// Returns the blocks of a text.
    pub fn new(parts: Box<dyn TextParts>) -> Self {
        Self { parts, blocks: None }
    }

    /// Returns the next block in the memory of `block`; `None` at the end of the text.
    ///
    /// # Errors
    ///
    /// Fails if the text cannot be read, and for a line of more than 2 GiB.
    pub fn next(&mut self, mut block: LineBlock) -> Result<Option<LineBlock>> {
        loop {
            if let Some(blocks) = &mut self.blocks {
                match blocks.next(block)? {
                    Some(next) => return Ok(Some(next)),
                    None => block = LineBlock::default(),
                }
            }
            let Some(TextPart { start, text }) = self.parts.next_part()? else { return Ok(None) };
            self.blocks = Some(LineBlocks::resume(text, BLOCK_BYTES, MAX_LINE_BYTES, start));
        }
    }

    /// Bytes of the text that were left out.
    pub fn skipped_bytes(&self) -> u64 {
        self.parts.skipped_bytes()
    }
}
