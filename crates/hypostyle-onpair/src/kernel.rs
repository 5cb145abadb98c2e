//! The loops that live on over-copying.
//!
//! A token is copied as 16 bytes, whatever its length, and the output moves on by the
//! length. Each function here is safe to call with anything; what makes it so stands
//! next to each block. `naive.rs` has a checked twin of decoding, and tests compare
//! the two.

#![expect(unsafe_code, reason = "copies of fixed size past the end of a token, see above")]

use std::mem::MaybeUninit;

use crate::bits::{GROUP, code, of_width};
use crate::{MAX_TOKEN_SIZE, Offset};

/// Tokens at a fixed stride, ready for over-copying.
///
/// # Invariants
///
/// Set up by [`Table::new`], the only constructor; no method breaks them.
///
/// 1. `slots` and `lengths` have `1 << bits` entries each, so any code of that width is
///    an index into both. Entries that are no tokens have length 0.
/// 2. No length is above [`MAX_TOKEN_SIZE`].
#[derive(Clone, Debug)]
pub(crate) struct Table {
    bits: u32,
    slots: Box<[[u8; MAX_TOKEN_SIZE]]>,
    lengths: Box<[u8]>,
}

impl Table {
    /// The table of some tokens, of which those beyond the width and bytes beyond 16
    /// are left out.
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

    /// The bytes of a token; empty if there is none.
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

/// How far decoding came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Codes that were decoded.
    pub(crate) codes: usize,
    /// Bytes that were written.
    pub(crate) bytes: usize,
}

/// Decodes codes until `out` is full or there are no more.
///
/// Writes nothing behind `out`, but any bytes within it, also behind what it says that
/// it has written. A code that does not fit any more is left, and so are all after it.
#[inline(never)]
pub(crate) fn decode(
    table: &Table,
    packed: &[u8],
    start: usize,
    count: usize,
    out: &mut [u8],
) -> Progress {
    of_width!(table.bits, decode_width(table, packed, start, count, out))
}

fn decode_width<const BITS: usize>(
    table: &Table,
    packed: &[u8],
    start: usize,
    count: usize,
    out: &mut [u8],
) -> Progress {
    let mut done = Progress { codes: 0, bytes: 0 };
    // Up to a code that starts at a byte.
    let head = (GROUP - start % GROUP) % GROUP;
    slow(table, packed, start, head.min(count), out, &mut done);
    if done.codes < head.min(count) {
        return done;
    }
    loop {
        let first = (start + done.codes) / GROUP * BITS;
        let room = out.len() - done.bytes;
        let groups = (count - done.codes) / GROUP;
        // A code is read as four bytes, of which the last may be behind its group.
        let groups = groups.min(packed.len().saturating_sub(first + 4) / BITS);
        let groups = groups.min(room / (GROUP * MAX_TOKEN_SIZE));
        if groups == 0 {
            break;
        }
        // SAFETY: `groups` groups of `BITS` bytes and four more are in `packed` from
        // `first` on, and `out` has room for as many groups of the longest tokens from
        // `done.bytes` on; both were computed above.
        done.bytes +=
            unsafe { decode_groups::<BITS>(table, packed, first, groups, out, done.bytes) };
        done.codes += groups * GROUP;
    }
    slow(table, packed, start + done.codes, count - done.codes, out, &mut done);
    done
}

/// Decodes whole groups; says how many bytes that gave.
///
/// # Safety
///
/// `packed` has `groups * BITS + 4` bytes from `first` on, and `out` has
/// `groups * GROUP * MAX_TOKEN_SIZE` from `at` on. `BITS` is the width of the table.
#[inline]
unsafe fn decode_groups<const BITS: usize>(
    table: &Table,
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
            // SAFETY: the last code of a group starts before its end, and four bytes
            // behind the last group are readable.
            let word = unsafe { packed.get_unchecked(from..from + 4) };
            let word = word.first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
            let code = (word >> (bit % 8)) as usize & ((1 << BITS) - 1);
            // SAFETY: invariant 1 of `Table`: every code of this width is an index.
            let slot = unsafe { table.slots.get_unchecked(code) };
            // SAFETY: the same.
            let length = unsafe { table.lengths.get_unchecked(code) };
            // SAFETY: no code before this one has moved `to` by more than 16 (invariant
            // 2), and there is room for all as 16 bytes each.
            let place = unsafe { out.get_unchecked_mut(to..to + MAX_TOKEN_SIZE) };
            place.copy_from_slice(slot);
            to += usize::from(*length);
        }
    }
    to - at
}

/// Decodes code by code, exactly.
#[inline]
fn slow(
    table: &Table,
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

/// Appends the bytes of some codes; says how many there were.
#[inline]
pub(crate) fn append(
    table: &Table,
    packed: &[u8],
    start: usize,
    end: usize,
    out: &mut Vec<u8>,
) -> usize {
    let count = end.saturating_sub(start);
    let most = count.saturating_mul(MAX_TOKEN_SIZE);
    if out.capacity() - out.len() < most {
        out.reserve(most);
    }
    let bits = table.bits as usize;
    let mask = (1 << bits) - 1;
    // A code is read as four bytes, so these are the codes from which there are four.
    let quick = match (end.checked_mul(bits), packed.len().checked_sub(4)) {
        (Some(bit), Some(last)) if bit / 8 <= last => count,
        (_, Some(last)) => ((last * 8 + 7) / bits + 1).min(end).saturating_sub(start),
        _ => 0,
    };
    let before = out.len();
    let room = out.spare_capacity_mut();
    let (mut at, mut bit) = (0, start.wrapping_mul(bits));
    for _ in 0..quick {
        // SAFETY: four bytes can be read from where each of these codes starts, as was
        // computed above.
        let word = unsafe { packed.get_unchecked(bit / 8..bit / 8 + 4) };
        let word = word.first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
        let code = (word >> (bit % 8)) as usize & mask;
        // SAFETY: invariant 1 of `Table`: every code of this width is an index.
        let slot = unsafe { table.slots.get_unchecked(code) };
        // SAFETY: the same.
        let length = unsafe { table.lengths.get_unchecked(code) };
        // SAFETY: there is room for 16 bytes for each code, and no code before this one
        // took more (invariant 2).
        let place = unsafe { room.get_unchecked_mut(at..at + MAX_TOKEN_SIZE) };
        place.write_copy_of_slice(slot);
        at += usize::from(*length);
        bit += bits;
    }
    // SAFETY: the codes so far have written all bytes up to here: each begins where the
    // one before it ends.
    unsafe { out.set_len(before + at) };
    for index in start + quick..end {
        out.extend_from_slice(table.token(code(packed, table.bits, index)));
    }
    out.len() - before
}

/// Bytes that codes stand for.
pub(crate) fn decoded_len(table: &Table, packed: &[u8], start: usize, end: usize) -> usize {
    (start..end).map(|index| table.length(code(packed, table.bits, index))).sum()
}

/// How many rows ahead the offsets of a row are asked for, and its codes.
const OFFSETS_AHEAD: usize = 24;
const CODES_AHEAD: usize = 12;

/// Appends rows in the order in which they are asked for, and where each ends.
///
/// What is asked for is known in advance, so memory is asked for in advance too. Rows
/// that do not exist, or whose codes do not, are empty.
pub(crate) fn take<O: Offset>(
    table: &Table,
    packed: &[u8],
    offsets: &[O],
    rows: &[usize],
    out: &mut Vec<u8>,
    ends: &mut Vec<usize>,
) {
    of_width!(table.bits, take_width(table, packed, offsets, rows, out, ends));
}

fn take_width<const BITS: usize>(
    table: &Table,
    packed: &[u8],
    offsets: &[impl Offset],
    rows: &[usize],
    out: &mut Vec<u8>,
    ends: &mut Vec<usize>,
) {
    let code_of = |row: usize| offsets.get(row).and_then(|offset| offset.place());
    // Eight bytes can be read from where each code up to this one starts.
    let quick = packed.len().checked_sub(8).map(|last| last.saturating_mul(8) / BITS);
    ends.reserve(rows.len());
    for (index, &row) in rows.iter().enumerate() {
        if let Some(&ahead) = rows.get(index + OFFSETS_AHEAD) {
            prefetch(offsets, ahead);
        }
        if let Some(&ahead) = rows.get(index + CODES_AHEAD) {
            // Most rows lie in one line of the cache or two.
            prefetch(packed, code_of(ahead).unwrap_or(0).wrapping_mul(BITS) / 8);
            prefetch(packed, code_of(ahead.wrapping_add(1)).unwrap_or(0).wrapping_mul(BITS) / 8);
        }
        let (start, end) = match (code_of(row), code_of(row.wrapping_add(1))) {
            (Some(start), Some(end)) if start <= end => (start, end),
            _ => (0, 0),
        };
        if quick.is_some_and(|quick| end <= quick) {
            // Whole words of codes are decoded, of which the last may not be full.
            let most = (end - start + WORD).saturating_mul(MAX_TOKEN_SIZE);
            if out.capacity() - out.len() < most {
                out.reserve(most);
            }
            let before = out.len();
            // SAFETY: the last of the codes, and so the last word that is read, starts
            // eight bytes before the end of `packed` at least, and there is room for
            // all codes and a word of more.
            let len =
                unsafe { decode_row::<BITS>(table, packed, start, end, out.spare_capacity_mut()) };
            // SAFETY: these bytes were written: each code began where the one before it
            // ended.
            unsafe { out.set_len(before + len) };
        } else {
            append(table, packed, start, end, out);
        }
        ends.push(out.len());
    }
}

/// Codes that are in a word at most.
const WORD: usize = 6;

/// Decodes the codes of a row; says how many bytes that gave.
///
/// # Safety
///
/// `packed` has eight bytes from where the code `end` starts, which is not before `start`.
/// `room` has 16 bytes for each code and for [`WORD`] more. `BITS` is the width of the table.
#[inline(always)]
unsafe fn decode_row<const BITS: usize>(
    table: &Table,
    packed: &[u8],
    start: usize,
    end: usize,
    room: &mut [MaybeUninit<u8>],
) -> usize {
    debug_assert_eq!(BITS, table.bits as usize);
    // A word starts up to seven bits before its first code, but for codes of whole bytes.
    let per = if BITS == 16 { 4 } else { 57 / BITS };
    let (mut at, mut first) = (0, start);
    loop {
        let left = end - first;
        let is_last = left <= per;
        let bit = first * BITS;
        // SAFETY: `first` is not behind `end`.
        let word = unsafe { packed.get_unchecked(bit / 8..bit / 8 + 8) };
        let word = word.first_chunk().map_or(0, |word| u64::from_le_bytes(*word)) >> (bit % 8);
        for index in 0..per {
            let [a, b, ..] = (word >> (index * BITS)).to_le_bytes();
            let code = usize::from(u16::from_le_bytes([a, b])) & ((1 << BITS) - 1);
            // SAFETY: invariant 1 of `Table`: every code of this width is an index.
            let slot = unsafe { table.slots.get_unchecked(code) };
            // SAFETY: the same.
            let length = usize::from(*unsafe { table.lengths.get_unchecked(code) });
            // SAFETY: no code before this one has moved `at` by more than 16 (invariant
            // 2), and there is room for all codes of the row and a word of others.
            let place = unsafe { room.get_unchecked_mut(at..at + MAX_TOKEN_SIZE) };
            place.write_copy_of_slice(slot);
            // Codes of the next row are written over.
            at += if is_last && index >= left { 0 } else { length };
        }
        if is_last {
            return at;
        }
        first += per;
    }
}

/// Asks for the cache line of a place that will be read soon.
#[inline]
pub(crate) fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(place) = slice.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the place is in the slice; a prefetch changes nothing that can be seen.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}
