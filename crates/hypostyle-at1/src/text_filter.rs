//! Search filters: which short strings a text may have (§11.3).
//!
//! A filter is a bitmap with a bit for each hash of a *gram*, the bytes of a few adjacent
//! characters of a line. A string that the text has has only grams of the text, so a bit that is
//! not set tells that the text does not have the string.

#![deny(clippy::arithmetic_side_effects)]

use bytes::Bytes;

use super::frames::FrameReader;
use super::streams::{Backend, CompressedStream, StreamCursor};
use hypostyle_core::error::{Error, Result};
use hypostyle_core::source;
use hypostyle_core::wire::{crc32, put};

pub(crate) use super::codec::FILTER;

const VERSION: u8 = 1;

/// The lengths of a gram.
pub(crate) const GRAM_BYTES: std::ops::RangeInclusive<u32> = 3..=8;

/// The logarithms of the sizes of a bitmap, in bits.
pub(crate) const LOG_BITS: std::ops::RangeInclusive<u32> = 10..=27;

/// The shape of the bitmaps of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GramShape {
    /// Bytes of a gram.
    pub(crate) gram: u32,
    /// The logarithm of the bits of a bitmap.
    pub(crate) log_bits: u32,
}

/// The grams of a text that comes in pieces.
#[derive(Debug)]
pub(crate) struct GramReader {
    shape: GramShape,
    /// The last bytes, in lower case.
    window: u64,
    /// Bytes of the line in the window, at most those of a gram.
    len: u32,
}

/// A filter as an archive states it.
#[derive(Debug)]
pub(crate) struct TextFilter {
    shape: GramShape,
    /// The bitmap of each part of the text.
    parts: Vec<Bytes>,
}

impl GramShape {
    fn bitmap_bytes(self) -> usize {
        1_usize.checked_shl(self.log_bits.saturating_sub(3)).unwrap_or(usize::MAX)
    }

    /// Returns the bit of a gram.
    fn bit(self, gram: u64) -> u64 {
        let hash = gram.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hash.checked_shr(64_u32.saturating_sub(self.log_bits)).unwrap_or(0)
    }
}

impl GramReader {
    pub(crate) fn new(shape: GramShape) -> Self {
        Self { shape, window: 0, len: 0 }
    }

    /// Calls `each` with the bit of each gram that ends in the next piece.
    pub(crate) fn read(&mut self, piece: &[u8], mut each: impl FnMut(u64)) {
        let gram = self.shape.gram;
        let unused = 64_u32.saturating_sub(gram.saturating_mul(8));
        let mask = u64::MAX.checked_shr(unused).unwrap_or(u64::MAX);
        for &byte in piece {
            if byte == b'\n' {
                self.len = 0;
                continue;
            }
            let byte = u64::from(byte.to_ascii_lowercase());
            self.window = ((self.window << 8) | byte) & mask;
            self.len = self.len.saturating_add(1).min(gram);
            if self.len == gram {
                each(self.shape.bit(self.window));
            }
        }
    }
}

/// Sets a bit; bitmaps have all bits that grams hash to.
pub(crate) fn set_bit(bitmap: &mut [u8], bit: u64) {
    let (byte, mask) = place(bit);
    if let Some(byte) = bitmap.get_mut(byte) {
        *byte |= mask;
    }
}

pub(crate) fn has_bit(bitmap: &[u8], bit: u64) -> bool {
    let (byte, mask) = place(bit);
    bitmap.get(byte).is_none_or(|byte| byte & mask != 0)
}

fn place(bit: u64) -> (usize, u8) {
    (
        usize::try_from(bit >> 3).unwrap_or(usize::MAX),
        1_u8.wrapping_shl(u32::try_from(bit & 7).unwrap_or(0)),
    )
}

impl TextFilter {
    /// Reads the filter at a place of an archive: the backend, the offset and the length of the
    /// stream. `None` if a later version of it has been written.
    pub(crate) fn load(
        archive: &FrameReader,
        (backend, offset, len): (Backend, u64, u64),
    ) -> Result<Option<Self>> {
        let bytes = source::range(archive.source(), offset, len, "filter")?;
        let stream = CompressedStream { name: FILTER.to_owned(), backend, offset, bytes };
        Self::parse(&stream.decompress(archive.limits(), 1, archive.deviations())?)
    }

    /// Parses the content of the stream; `None` if a later version of it has been written.
    pub(crate) fn parse(content: &Bytes) -> Result<Option<Self>> {
        let mut stream = StreamCursor::new(FILTER, content);
        if stream.u8("version")? != VERSION {
            return Ok(None);
        }
        let sized = content.len().saturating_sub(4);
        let (body, stated) = content.split_at_checked(sized).unwrap_or_default();
        if stated != &crc32(body).to_le_bytes()[..] {
            return Err(stream.malformed("filter", "does not match its checksum"));
        }
        let shape = GramShape {
            gram: u32::from(stream.u8("gram")?),
            log_bits: u32::from(stream.u8("bits")?),
        };
        if !GRAM_BYTES.contains(&shape.gram) || !LOG_BITS.contains(&shape.log_bits) {
            return Err(stream.malformed("filter", "has a shape that does not exist"));
        }
        let count = stream.count(shape.bitmap_bytes(), "part count")?;
        let mut parts = Vec::with_capacity(count);
        for _ in 0..count {
            let bitmap = stream.take(shape.bitmap_bytes(), "bitmap")?;
            parts.push(content.slice_ref(bitmap));
        }
        stream.take(4, "checksum")?;
        if !stream.is_empty() {
            return Err(stream.malformed("filter", "does not end with the stream"));
        }
        Ok(Some(Self { shape, parts }))
    }

    /// Returns the content of the stream.
    pub(crate) fn content(shape: GramShape, parts: &[Vec<u8>]) -> Vec<u8> {
        let small = |number: u32| u8::try_from(number).unwrap_or(u8::MAX);
        let mut out = vec![VERSION, small(shape.gram), small(shape.log_bits)];
        put::uv(&mut out, parts.len() as u64);
        for part in parts {
            out.extend_from_slice(part);
        }
        let checksum = crc32(&out);
        out.extend_from_slice(&checksum.to_le_bytes());
        out
    }

    /// The number of parts of the text.
    pub(crate) fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Returns whether a part may contain a string, which is in lower case.
    pub(crate) fn may_contain(&self, part: usize, literal: &[u8]) -> bool {
        let Some(bitmap) = self.parts.get(part) else { return true };
        let mut is_possible = true;
        GramReader::new(self.shape).read(literal, |bit| is_possible &= has_bit(bitmap, bit));
        is_possible
    }

    /// Starts to compare the filter with the text.
    pub(crate) fn check(&self) -> FilterCheck<'_> {
        let grams = GramReader::new(self.shape);
        FilterCheck { filter: self, grams, part: 0, is_wrong: false }
    }
}

/// Compares a filter with the text that it is of.
#[derive(Debug)]
pub(crate) struct FilterCheck<'a> {
    filter: &'a TextFilter,
    grams: GramReader,
    part: usize,
    is_wrong: bool,
}

impl FilterCheck<'_> {
    /// Takes the next piece of the part.
    pub(crate) fn piece(&mut self, piece: &[u8]) {
        let bitmap = self.filter.parts.get(self.part).map(|part| &part[..]).unwrap_or_default();
        let mut is_right = true;
        self.grams.read(piece, |bit| is_right &= has_bit(bitmap, bit));
        self.is_wrong |= !is_right;
    }

    /// Ends a part.
    ///
    /// # Errors
    ///
    /// Fails if the filter excludes a string that the part has.
    pub(crate) fn end_part(&mut self) -> Result<()> {
        if self.is_wrong {
            let why = format!("excludes a string that part {} of the text has", self.part);
            return Err(Error::malformed("filter", why).in_stream(FILTER));
        }
        self.grams = GramReader::new(self.filter.shape);
        self.part = self.part.saturating_add(1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filter(shape: GramShape, parts: &[&[u8]]) -> TextFilter {
        let bitmap = |part: &&[u8]| {
            let mut bitmap = vec![0; shape.bitmap_bytes()];
            GramReader::new(shape).read(part, |bit| set_bit(&mut bitmap, bit));
            bitmap
        };
        let parts: Vec<Vec<u8>> = parts.iter().map(bitmap).collect();
        TextFilter::parse(&TextFilter::content(shape, &parts).into()).unwrap().unwrap()
    }

    #[test]
    fn strings_that_a_text_does_not_have_are_excluded() {
        let shape = GramShape { gram: 4, log_bits: 14 };
        let text = b"Connection TIMEOUT after 30 ms\nblk_1608999687919862906 is late\n";
        let filter = filter(shape, &[text, b"something else\n"]);
        for (literal, want) in [
            ("timeout", [true, false]),
            ("blk_1608", [true, false]),
            ("thing", [false, true]),
            ("nowhere", [false, false]),
            ("abc", [true, true]),
            ("", [true, true]),
        ] {
            let found = [0, 1].map(|part| filter.may_contain(part, literal.as_bytes()));
            assert_eq!(found, want, "{literal}");
        }
    }

    proptest! {
        #[test]
        fn no_string_of_a_line_is_excluded(
            text in "[a-cA-C \n]{0,200}",
            gram in GRAM_BYTES,
            log_bits in 10..16_u32,
            start in 0..200_usize,
            len in 0..20_usize,
        ) {
            let filter = filter(GramShape { gram, log_bits }, &[text.as_bytes()]);
            let found = text.as_bytes().get(start..start.saturating_add(len)).unwrap_or_default();
            if !found.contains(&b'\n') {
                prop_assert!(filter.may_contain(0, &found.to_ascii_lowercase()));
            }
            let mut check = filter.check();
            text.as_bytes().chunks(7).for_each(|piece| check.piece(piece));
            prop_assert!(check.end_part().is_ok());
        }

        #[test]
        fn any_bytes_are_a_filter_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = TextFilter::parse(&bytes.into());
        }
    }

    #[test]
    fn a_lying_filter_is_found() {
        let shape = GramShape { gram: 3, log_bits: 10 };
        let lies = filter(shape, &[b"abc", b"def"]);
        let mut check = lies.check();
        check.piece(b"ab");
        check.piece(b"c");
        assert!(check.end_part().is_ok());
        check.piece(b"xyz");
        assert!(check.end_part().unwrap_err().to_string().contains("part 1"));
        let mut content = TextFilter::content(shape, &[vec![0; 128]]);
        for at in 1..content.len() {
            content[at] ^= 1;
            assert!(TextFilter::parse(&content.clone().into()).is_err(), "{at}");
            content[at] ^= 1;
        }
        content[0] = 2;
        assert!(TextFilter::parse(&content.into()).unwrap().is_none());
    }
}
