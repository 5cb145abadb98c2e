//! Finds newlines that are close together.

/// Bytes that are searched together: one for each bit of a word.
const CHUNK: usize = u64::BITS as usize;

/// The offsets of the newlines of a text.
///
/// Cells are short, and a search that starts anew for each of them costs more than one that
/// marks all newlines of a chunk.
#[derive(Clone, Debug)]
pub(super) struct Newlines<'a> {
    text: &'a [u8],
    /// The offset of the marked chunk.
    base: usize,
    /// A bit for each newline of the chunk that was not returned yet.
    marks: u64,
}

impl<'a> Newlines<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, base: 0, marks: marks_at(text, 0) }
    }
}

impl Iterator for Newlines<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.marks == 0 {
            self.base += CHUNK;
            if self.base >= self.text.len() {
                return None;
            }
            self.marks = marks_at(self.text, self.base);
        }
        let place = self.marks.trailing_zeros() as usize;
        self.marks &= self.marks - 1;
        Some(self.base + place)
    }

    #[inline]
    fn nth(&mut self, mut n: usize) -> Option<usize> {
        loop {
            let count = self.marks.count_ones() as usize;
            if n < count {
                (0..n).for_each(|_| self.marks &= self.marks - 1);
                return self.next();
            }
            n -= count;
            self.base += CHUNK;
            if self.base >= self.text.len() {
                self.marks = 0;
                return None;
            }
            self.marks = marks_at(self.text, self.base);
        }
    }
}

/// Returns a bit for each newline of the chunk at an offset.
#[inline]
fn marks_at(text: &[u8], base: usize) -> u64 {
    let rest = text.get(base..).unwrap_or_default();
    match rest.first_chunk::<CHUNK>() {
        Some(chunk) => marks(chunk),
        None => {
            let mut chunk = [0; CHUNK];
            for (byte, &there) in chunk.iter_mut().zip(rest) {
                *byte = there;
            }
            marks(&chunk)
        }
    }
}

/// Returns a bit for each newline of a chunk.
#[inline]
fn marks(chunk: &[u8; CHUNK]) -> u64 {
    let mut flags = [0_u8; CHUNK];
    for (flag, &byte) in flags.iter_mut().zip(chunk) {
        *flag = u8::from(byte == b'\n');
    }
    // The multiplication gathers the low bits of eight bytes in the highest byte.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let (words, _) = flags.as_chunks::<8>();
    words
        .iter()
        .rev()
        .fold(0, |marks, word| marks << 8 | u64::from_le_bytes(*word).wrapping_mul(GATHER) >> 56)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_newline_is_found_once() {
        for len in [0, 1, 7, 63, 64, 65, 127, 128, 500] {
            for step in [1, 2, 3, 10, 64, 65, 200] {
                let text: Vec<u8> =
                    (0..len).map(|at| if at % step == 0 { b'\n' } else { b'x' }).collect();
                let found: Vec<usize> = Newlines::new(&text).collect();
                let want: Vec<usize> = (0..len).filter(|at| at % step == 0).collect();
                assert_eq!(found, want, "{len} {step}");
                for skip in 0..=want.len() {
                    let mut newlines = Newlines::new(&text);
                    assert_eq!(newlines.nth(skip), want.get(skip).copied(), "{len} {step} {skip}");
                    assert_eq!(newlines.next(), want.get(skip + 1).copied());
                }
            }
        }
    }
}
