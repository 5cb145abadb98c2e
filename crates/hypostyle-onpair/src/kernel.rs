//! Decode loops that copy whole token slots.
//!
//! The loops copy every token as 16 bytes and advance the output by the length of the token.
//! Every function is safe to call with any arguments; the comment at each `unsafe` block says
//! why. Tests compare decoding with the checked implementation in `naive.rs`.

#![expect(unsafe_code, reason = "copies of fixed size past the end of a token")]

use std::mem::MaybeUninit;

use crate::bits::{GROUP, code, of_width};
use crate::{MAX_TOKEN_SIZE, Offset};

/// The tokens at a fixed stride of 16 bytes.
///
/// # Invariants
///
/// [`DecodeTable::new`], the only constructor, establishes them, and every method preserves
/// them.
///
/// 1. `slots` and `lengths` have `1 << bits` entries each, so any code of that width is an
///    index into both. Entries without a token have length 0.
/// 2. No length exceeds [`MAX_TOKEN_SIZE`].
#[derive(Clone, Debug)]
pub(crate) struct DecodeTable {
    bits: u32,
    slots: Box<[[u8; MAX_TOKEN_SIZE]]>,
    lengths: Box<[u8]>,
}

impl DecodeTable {
    /// Creates the table. Leaves out tokens beyond the width, and bytes beyond 16.
    pub(crate) fn new<'t>(bits: u32, tokens: impl Iterator<Item = &'t [u8]>) -> Self {
        let bits = bits.clamp(9, 16);
        let mut slots = vec![[0; MAX_TOKEN_SIZE]; 1 << bits].into_boxed_slice();
        let mut lengths = vec![0; 1 << bits].into_boxed_slice();
        for ((slot, length), token) in slots.iter_mut().zip(&mut lengths).zip(tokens) {
            for (to, from) in slot.iter_mut().zip(token) {
                *to = *from;
                *length += 1;
            }
        }
        Self { bits, slots, lengths }
    }

    /// Returns the token of a code; empty if there is none.
    #[inline]
    pub(crate) fn token(&self, code: u16) -> &[u8] {
        let slot = self.slots.get(usize::from(code)).map_or(&[][..], |slot| slot);
        slot.get(..self.length(code)).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn length(&self, code: u16) -> usize {
        self.lengths.get(usize::from(code)).map_or(0, |&length| length.into())
    }
}

/// The progress of decoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Number of codes that were decoded.
    pub(crate) codes: usize,
    /// Number of bytes that were decoded.
    pub(crate) bytes: usize,
}

/// Decodes up to `count` codes from `start` on, until `out` is full.
///
/// May overwrite bytes of `out` after the decoded ones. Stops before the first code that does
/// not fit.
#[inline(never)]
pub(crate) fn decode(
    table: &DecodeTable,
    packed: &[u8],
    start: usize,
    count: usize,
    out: &mut [u8],
) -> Progress {
    of_width!(table.bits, decode_width(table, packed, start, count, out))
}

fn decode_width<const BITS: usize>(
    table: &DecodeTable,
    packed: &[u8],
    start: usize,
    count: usize,
    out: &mut [u8],
) -> Progress {
    let mut done = Progress { codes: 0, bytes: 0 };
    // Decode up to a code at a group boundary.
    let head = (GROUP - start % GROUP) % GROUP;
    decode_one_by_one(table, packed, start, head.min(count), out, &mut done);
    if done.codes < head.min(count) {
        return done;
    }
    loop {
        let first = (start + done.codes) / GROUP * BITS;
        let room = out.len() - done.bytes;
        let groups = (count - done.codes) / GROUP;
        // A code is read as four bytes, which may extend past its group.
        let groups = groups.min(packed.len().saturating_sub(first + 4) / BITS);
        let groups = groups.min(room / (GROUP * MAX_TOKEN_SIZE));
        if groups == 0 {
            break;
        }
        // SAFETY: from `first` on, `packed` has `groups` groups of `BITS` bytes and four more
        // bytes, and from `done.bytes` on, `out` has room for as many groups of tokens of
        // maximum length; `groups` was limited to that above.
        done.bytes +=
            unsafe { decode_groups::<BITS>(table, packed, first, groups, out, done.bytes) };
        done.codes += groups * GROUP;
    }
    decode_one_by_one(table, packed, start + done.codes, count - done.codes, out, &mut done);
    done
}

/// Decodes whole groups; returns the number of bytes.
///
/// # Safety
///
/// `packed` has `groups * BITS + 4` bytes from `first` on, and `out` has
/// `groups * GROUP * MAX_TOKEN_SIZE` from `at` on. `BITS` is the width of the table.
#[inline]
unsafe fn decode_groups<const BITS: usize>(
    table: &DecodeTable,
    packed: &[u8],
    first: usize,
    groups: usize,
    out: &mut [u8],
    at: usize,
) -> usize {
    debug_assert_eq!(BITS, table.bits as usize);
    let mut to = at;
    for group in 0..groups {
        for index in 0..GROUP {
            let bit = index * BITS;
            let from = first + group * BITS + bit / 8;
            // SAFETY: the last code of a group starts before the end of the group, and four
            // bytes after the last group are readable.
            let word = unsafe { packed.get_unchecked(from..from + 4) };
            let word = word.first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
            let code = (word >> (bit % 8)) as usize & ((1 << BITS) - 1);
            // SAFETY: invariant 1 of `DecodeTable`: every code of this width is an index.
            let slot = unsafe { table.slots.get_unchecked(code) };
            // SAFETY: the same.
            let length = unsafe { table.lengths.get_unchecked(code) };
            // SAFETY: each code before this one advanced `to` by at most 16 (invariant 2), and
            // `out` has room for 16 bytes per code.
            let place = unsafe { out.get_unchecked_mut(to..to + MAX_TOKEN_SIZE) };
            place.copy_from_slice(slot);
            to += usize::from(*length);
        }
    }
    to - at
}

/// Decodes code by code, and stops at the first code that does not fit.
#[inline]
fn decode_one_by_one(
    table: &DecodeTable,
    packed: &[u8],
    start: usize,
    count: usize,
    out: &mut [u8],
    done: &mut Progress,
) {
    for index in start..start + count {
        let code = code(packed, table.bits, index);
        let (Some(slot), length) = (table.slots.get(usize::from(code)), table.length(code)) else {
            return;
        };
        let Some(rest) = out.get_mut(done.bytes..) else { return };
        if let Some(room) = rest.first_chunk_mut::<MAX_TOKEN_SIZE>() {
            *room = *slot;
        } else {
            let (Some(to), Some(from)) = (rest.get_mut(..length), slot.get(..length)) else {
                return;
            };
            to.copy_from_slice(from);
        }
        done.bytes += length;
        done.codes += 1;
    }
}

/// Appends the bytes of the codes from `start` to `end`; returns the number of bytes.
#[inline]
pub(crate) fn append(
    table: &DecodeTable,
    packed: &[u8],
    start: usize,
    end: usize,
    out: &mut Vec<u8>,
) -> usize {
    let count = end.saturating_sub(start);
    let max_len = count.saturating_mul(MAX_TOKEN_SIZE);
    if out.capacity() - out.len() < max_len {
        out.reserve(max_len);
    }
    let bits = table.bits as usize;
    let mask = (1 << bits) - 1;
    // A code is read as four bytes. This is the number of codes that four bytes can be read
    // from.
    let quick = match (end.checked_mul(bits), packed.len().checked_sub(4)) {
        (Some(bit), Some(last)) if bit / 8 <= last => count,
        (_, Some(last)) => ((last * 8 + 7) / bits + 1).min(end).saturating_sub(start),
        _ => 0,
    };
    let before = out.len();
    let spare = out.spare_capacity_mut();
    let (mut at, mut bit) = (0, start.wrapping_mul(bits));
    for _ in 0..quick {
        // SAFETY: four bytes can be read from the start of each of the first `quick` codes, as
        // computed above.
        let word = unsafe { packed.get_unchecked(bit / 8..bit / 8 + 4) };
        let word = word.first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
        let code = (word >> (bit % 8)) as usize & mask;
        // SAFETY: invariant 1 of `DecodeTable`: every code of this width is an index.
        let slot = unsafe { table.slots.get_unchecked(code) };
        // SAFETY: the same.
        let length = unsafe { table.lengths.get_unchecked(code) };
        // SAFETY: there is room for 16 bytes per code, and each code before this one advanced
        // `at` by at most 16 (invariant 2).
        let place = unsafe { spare.get_unchecked_mut(at..at + MAX_TOKEN_SIZE) };
        place.write_copy_of_slice(slot);
        at += usize::from(*length);
        bit += bits;
    }
    // SAFETY: the codes so far initialized all bytes up to `at`: each starts where the one
    // before ends.
    unsafe { out.set_len(before + at) };
    for index in start + quick..end {
        out.extend_from_slice(table.token(code(packed, table.bits, index)));
    }
    out.len() - before
}

/// Returns the total length of the tokens of the codes from `start` to `end`.
pub(crate) fn decoded_len(table: &DecodeTable, packed: &[u8], start: usize, end: usize) -> usize {
    (start..end).map(|index| table.length(code(packed, table.bits, index))).sum()
}

/// Number of rows by which offsets, and then codes, are prefetched.
const OFFSETS_AHEAD: usize = 24;
const CODES_AHEAD: usize = 12;

/// Appends rows to `out` in the order of `rows`, and the end of each in `out` to `ends`.
///
/// Prefetches the offsets and codes of later rows. Rows out of range, and rows whose codes are
/// out of range, are empty.
pub(crate) fn take<O: Offset>(
    table: &DecodeTable,
    packed: &[u8],
    offsets: &[O],
    rows: &[usize],
    out: &mut Vec<u8>,
    ends: &mut Vec<usize>,
) {
    of_width!(table.bits, take_width(table, packed, offsets, rows, out, ends));
}

fn take_width<const BITS: usize>(
    table: &DecodeTable,
    packed: &[u8],
    offsets: &[impl Offset],
    rows: &[usize],
    out: &mut Vec<u8>,
    ends: &mut Vec<usize>,
) {
    let code_of = |row: usize| offsets.get(row).and_then(|offset| offset.to_usize());
    // Eight bytes can be read from the start of each code up to this one.
    let quick = packed.len().checked_sub(8).map(|last| last.saturating_mul(8) / BITS);
    ends.reserve(rows.len());
    for (index, &row) in rows.iter().enumerate() {
        if let Some(&ahead) = rows.get(index + OFFSETS_AHEAD) {
            prefetch(offsets, ahead);
        }
        if let Some(&ahead) = rows.get(index + CODES_AHEAD) {
            // Most rows take one or two cache lines.
            prefetch(packed, code_of(ahead).unwrap_or(0).wrapping_mul(BITS) / 8);
            prefetch(packed, code_of(ahead.wrapping_add(1)).unwrap_or(0).wrapping_mul(BITS) / 8);
        }
        let (start, end) = match (code_of(row), code_of(row.wrapping_add(1))) {
            (Some(start), Some(end)) if start <= end => (start, end),
            _ => (0, 0),
        };
        if quick.is_some_and(|quick| end <= quick) {
            // Rows are decoded in whole words of codes, so the last word may decode codes of
            // the next row.
            let max_len = (end - start + CODES_PER_WORD).saturating_mul(MAX_TOKEN_SIZE);
            if out.capacity() - out.len() < max_len {
                out.reserve(max_len);
            }
            let before = out.len();
            // SAFETY: the code `end`, and so the last word that is read, starts at least eight
            // bytes before the end of `packed`, and there is room for all codes and one word
            // more.
            let len =
                unsafe { decode_row::<BITS>(table, packed, start, end, out.spare_capacity_mut()) };
            // SAFETY: `decode_row` initialized these bytes: each code starts where the one
            // before ends.
            unsafe { out.set_len(before + len) };
        } else {
            append(table, packed, start, end, out);
        }
        ends.push(out.len());
    }
}

/// Maximum number of codes per word.
const CODES_PER_WORD: usize = 6;

/// Decodes the codes of a row; returns the number of bytes.
///
/// # Safety
///
/// `start <= end`, and `packed` has eight bytes from the start of the code `end`. `spare` has
/// 16 bytes for each code and for [`CODES_PER_WORD`] more. `BITS` is the width of the table.
#[inline(always)]
unsafe fn decode_row<const BITS: usize>(
    table: &DecodeTable,
    packed: &[u8],
    start: usize,
    end: usize,
    spare: &mut [MaybeUninit<u8>],
) -> usize {
    debug_assert_eq!(BITS, table.bits as usize);
    // A word starts up to seven bits before its first code, except for codes of 16 bits.
    let per = if BITS == 16 { 4 } else { 57 / BITS };
    let (mut at, mut first) = (0, start);
    loop {
        let left = end - first;
        let is_last = left <= per;
        let bit = first * BITS;
        // SAFETY: `first` is at most `end`.
        let word = unsafe { packed.get_unchecked(bit / 8..bit / 8 + 8) };
        let word = word.first_chunk().map_or(0, |word| u64::from_le_bytes(*word)) >> (bit % 8);
        for index in 0..per {
            let [a, b, ..] = (word >> (index * BITS)).to_le_bytes();
            let code = usize::from(u16::from_le_bytes([a, b])) & ((1 << BITS) - 1);
            // SAFETY: invariant 1 of `DecodeTable`: every code of this width is an index.
            let slot = unsafe { table.slots.get_unchecked(code) };
            // SAFETY: the same.
            let length = usize::from(*unsafe { table.lengths.get_unchecked(code) });
            // SAFETY: each code before this one advanced `at` by at most 16 (invariant 2), and
            // there is room for all codes of the row and one word more.
            let place = unsafe { spare.get_unchecked_mut(at..at + MAX_TOKEN_SIZE) };
            place.write_copy_of_slice(slot);
            // Codes of the next row are overwritten.
            at += if is_last && index >= left { 0 } else { length };
        }
        if is_last {
            return at;
        }
        first += per;
    }
}

/// Prefetches the cache line of an element; does nothing if the index is out of range.
#[inline]
pub(crate) fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(element) = slice.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the element is in the slice, and a prefetch has no visible effect.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(element).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}
