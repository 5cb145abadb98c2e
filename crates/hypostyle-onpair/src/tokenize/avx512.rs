//! Tokenizing with vectors of 512 bits.
//!
//! The steps of [`super::advance`] with eight lanes per vector: table lookups are gathers, and
//! a mask selects how each lookup continues.

#![expect(unsafe_code, reason = "gathers have no bounds checks")]

use std::arch::x86_64::*;

use super::{LANES, Lane, STEPS_PER_CALL, verified_lookup};
use crate::matcher::{
    FINGERPRINT_SHIFT, FIRST_BUCKET_SHIFT, FIRST_SPAN, FOLD_SHIFT, MIXERS, Matcher, PrefixEntry,
    SECOND_BUCKET_SHIFT, SPAN_STEPS,
};

/// Number of lanes per vector.
const WIDTH: usize = 8;

/// Number of vectors that are interleaved, so that one computes while another waits for memory.
const VECTORS: usize = LANES / WIDTH;

/// Returns whether the processor supports the instructions that [`advance`] uses.
pub(super) fn is_supported() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq")
}

/// Eight lanes and their lookups.
#[derive(Clone, Copy)]
struct LaneVector {
    text_at: __m512i,
    code_at: __m512i,
    row: __m512i,
    end_row: __m512i,
    /// The end of the current string, and the number of bytes before it.
    end: __m512i,
    left: __m512i,
    low: __m512i,
    high: __m512i,
    span: __m512i,
    entry: __m512i,
}

/// Does the same as [`super::advance`].
///
/// # Safety
///
/// The conditions of [`super::advance`], and [`is_supported`] returned true.
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) unsafe fn advance(
    lanes: &mut [Lane; LANES],
    matcher: &Matcher,
    text: &[u8],
    ends: &[u32],
    code_buffer: &mut [u16],
    code_ends: &mut [u32],
) {
    let (groups, _) = lanes.as_chunks::<WIDTH>();
    let mut all = [LaneVector::new(&[IDLE_LANE; WIDTH]); VECTORS];
    for (lanes, group) in all.iter_mut().zip(groups) {
        *lanes = LaneVector::new(group);
    }
    let salts = salts(matcher);
    for _ in 0..STEPS_PER_CALL {
        for lanes in &mut all {
            // SAFETY: the caller guarantees the conditions.
            unsafe { lanes.start(matcher, text, ends) };
        }
        for step in SPAN_STEPS {
            for lanes in &mut all {
                lanes.step(matcher, salts, step);
            }
        }
        for lanes in &mut all {
            // SAFETY: the caller guarantees the conditions, and `start` was called.
            unsafe { lanes.finish(matcher, code_buffer, code_ends) };
        }
    }
    let (groups, _) = lanes.as_chunks_mut::<WIDTH>();
    for (lanes, group) in all.iter().zip(groups) {
        lanes.store_lanes(group);
    }
}

const IDLE_LANE: Lane = Lane { text_at: 0, code_at: 0, row: 0, end_row: 0 };

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn load(numbers: &[u64; WIDTH]) -> __m512i {
    // SAFETY: eight numbers have 512 bits.
    unsafe { _mm512_loadu_si512(std::ptr::from_ref(numbers).cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn store(vector: __m512i) -> [u64; WIDTH] {
    let mut numbers = [0; WIDTH];
    // SAFETY: eight numbers have 512 bits.
    unsafe { _mm512_storeu_si512(std::ptr::from_mut(&mut numbers).cast(), vector) };
    numbers
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn splat(number: usize) -> __m512i {
    _mm512_set1_epi64((number as u64).cast_signed())
}

/// Returns the salts of the hash by span, in two vectors.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn salts(matcher: &Matcher) -> [__m512i; 2] {
    let mut halves = matcher.salts.as_chunks().0.iter();
    [(); 2].map(|()| load(halves.next().unwrap_or(&[0; WIDTH])))
}

/// Returns masks that select the first `bytes` bytes of two words.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn byte_masks(bytes: __m512i) -> [__m512i; 2] {
    let mask = |bytes: __m512i| {
        let ones = _mm512_set1_epi64(-1);
        // A shift by 64 or more gives zero.
        _mm512_andnot_si512(_mm512_sllv_epi64(ones, _mm512_slli_epi64::<3>(bytes)), ones)
    };
    let eight = splat(8);
    [mask(bytes), mask(_mm512_sub_epi64(_mm512_max_epu64(bytes, eight), eight))]
}

impl LaneVector {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn new(lanes: &[Lane; WIDTH]) -> Self {
        let load_field =
            |field: fn(&Lane) -> u32| load(&lanes.each_ref().map(|lane| field(lane).into()));
        let zero = _mm512_setzero_si512();
        Self {
            text_at: load_field(|lane| lane.text_at),
            code_at: load_field(|lane| lane.code_at),
            row: load_field(|lane| lane.row),
            end_row: load_field(|lane| lane.end_row),
            end: zero,
            left: zero,
            low: zero,
            high: zero,
            span: zero,
            entry: zero,
        }
    }

    /// Writes the state back to the lanes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn store_lanes(&self, lanes: &mut [Lane; WIDTH]) {
        let (ats, outs, rows) = (store(self.text_at), store(self.code_at), store(self.row));
        for (lane, ((at, out), row)) in lanes.iter_mut().zip(ats.into_iter().zip(outs).zip(rows)) {
            (lane.text_at, lane.code_at, lane.row) = (low_half(at), low_half(out), low_half(row));
        }
    }

    /// Starts a lookup in each lane.
    ///
    /// # Safety
    ///
    /// `row` is an index of `ends`, and `text` has 16 bytes from `text_at` on.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    unsafe fn start(&mut self, matcher: &Matcher, text: &[u8], ends: &[u32]) {
        let bytes = text.as_ptr();
        // SAFETY: `text` has 16 bytes from `text_at` on.
        let low = unsafe { _mm512_i64gather_epi64::<1>(self.text_at, bytes.cast()) };
        // SAFETY: the same, so the text has at least 16 bytes.
        let high =
            unsafe { _mm512_i64gather_epi64::<1>(self.text_at, bytes.wrapping_add(8).cast()) };
        // SAFETY: `row` is an index of `ends`.
        let end = unsafe { _mm512_i64gather_epi32::<4>(self.row, ends.as_ptr().cast()) };
        self.end = _mm512_cvtepu32_epi64(end);
        self.left = _mm512_sub_epi64(self.end, self.text_at);
        let [first, second] = byte_masks(self.left);
        self.low = _mm512_and_si512(low, first);
        self.high = _mm512_and_si512(high, second);
        self.span = splat(FIRST_SPAN);
        let byte = _mm512_and_si512(low, splat(0xFF));
        self.entry = _mm512_add_epi64(splat(matcher.byte_entry(0)), byte);
    }

    /// Looks up the prefix of the current span, then lengthens or shortens the span.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn step(&mut self, matcher: &Matcher, salts: [__m512i; 2], (longer, shorter): (usize, usize)) {
        let [one, other, last] = MIXERS.map(|mixer| _mm512_set1_epi64(mixer.cast_signed()));
        let [first, second] = byte_masks(self.span);
        let index = _mm512_sub_epi64(self.span, splat(1));
        let salt = _mm512_permutex2var_epi64(salts[0], index, salts[1]);
        let low = _mm512_xor_si512(_mm512_and_si512(self.low, first), salt);
        let high = _mm512_and_si512(self.high, second);
        let hash = _mm512_add_epi64(_mm512_mullo_epi64(low, one), _mm512_mullo_epi64(high, other));
        let hash = _mm512_xor_si512(hash, _mm512_srli_epi64::<FOLD_SHIFT>(hash));
        let hash = _mm512_mullo_epi64(hash, last);

        let mask = splat(matcher.bucket_mask());
        let one = _mm512_and_si512(_mm512_srli_epi64::<FIRST_BUCKET_SHIFT>(hash), mask);
        let other = _mm512_and_si512(_mm512_srli_epi64::<SECOND_BUCKET_SHIFT>(hash), mask);
        let fingerprint = _mm512_srli_epi64::<FINGERPRINT_SHIFT>(hash);
        let fingerprints = |bucket: __m512i| {
            // SAFETY: `bucket` is an index of the table. A gather reads four bytes from there,
            // and the fingerprints have one element more than the table has buckets.
            let pair = unsafe {
                _mm512_i64gather_epi32::<2>(bucket, matcher.fingerprints.as_ptr().cast())
            };
            _mm512_and_si512(_mm512_cvtepu32_epi64(pair), splat(0xFFFF))
        };
        let is_one = _mm512_cmpeq_epi64_mask(fingerprints(one), fingerprint);
        let is_found = is_one | _mm512_cmpeq_epi64_mask(fingerprints(other), fingerprint);
        let bucket = _mm512_mask_mov_epi64(other, is_one, one);
        self.entry = _mm512_mask_mov_epi64(self.entry, is_found, bucket);
        let shortened = _mm512_sub_epi64(self.span, splat(shorter));
        self.span = _mm512_mask_add_epi64(shortened, is_found, self.span, splat(longer));
    }

    /// Writes the tokens and moves on behind them.
    ///
    /// # Safety
    ///
    /// `entry` is a bucket of the table or the entry of a byte, `code_at` is an index of
    /// `code_buffer`, and `row` is an index of `code_ends`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    unsafe fn finish(&mut self, matcher: &Matcher, code_buffer: &mut [u16], code_ends: &mut [u32]) {
        let entries: *const PrefixEntry = matcher.entries.as_ptr();
        // SAFETY: the table has an entry for each bucket and for each byte, and an entry is one
        // word.
        let entry = unsafe { _mm512_i64gather_epi64::<8>(self.entry, entries.cast()) };
        let field = |entry: __m512i, mask| _mm512_and_si512(entry, splat(mask));
        let witness = _mm512_slli_epi64::<1>(field(entry, 0xFFFF));
        let words: *const u64 = matcher.words.as_ptr().cast();
        // SAFETY: witnesses are tokens, and each token has two words.
        let low = unsafe { _mm512_i64gather_epi64::<8>(witness, words.cast()) };
        // SAFETY: the same.
        let high = unsafe { _mm512_i64gather_epi64::<8>(witness, words.wrapping_add(1).cast()) };
        let mut tokens = store(field(_mm512_srli_epi64::<16>(entry), 0xFFFF));
        let mut len = field(_mm512_srli_epi64::<32>(entry), 0xFF);
        let span = field(_mm512_srli_epi64::<40>(entry), 0xFF);

        let [first, second] = byte_masks(self.span);
        let low = _mm512_and_si512(_mm512_xor_si512(low, self.low), first);
        let high = _mm512_and_si512(_mm512_xor_si512(high, self.high), second);
        let differs = _mm512_or_si512(low, high);
        let is_token = _mm512_test_epi64_mask(self.left, self.left);
        let is_unverified = _mm512_test_epi64_mask(differs, differs)
            | _mm512_cmpneq_epi64_mask(span, self.span)
            | _mm512_cmpgt_epu64_mask(self.span, self.left);
        if is_unverified & is_token != 0 {
            len = self.verified_lookup(matcher, is_unverified & is_token, &mut tokens, len);
        }
        let (outs, rows) = (store(self.code_at), store(self.row));
        let written = tokens.iter().zip(outs).zip(rows).enumerate();
        for (index, ((&token, out), row)) in written {
            let [a, b, ..] = token.to_le_bytes();
            // SAFETY: `code_at` is an index.
            *unsafe { code_buffer.get_unchecked_mut(low_half(out) as usize) } =
                u16::from_le_bytes([a, b]);
            // SAFETY: `row` is an index.
            *unsafe { code_ends.get_unchecked_mut(low_half(row) as usize) } =
                low_half(out) + u32::from(is_token >> index & 1);
        }
        self.text_at = _mm512_mask_add_epi64(self.text_at, is_token, self.text_at, len);
        self.code_at = _mm512_mask_add_epi64(self.code_at, is_token, self.code_at, splat(1));
        let is_end = _mm512_cmpeq_epi64_mask(self.text_at, self.end)
            & _mm512_cmplt_epu64_mask(self.row, self.end_row);
        self.row = _mm512_mask_add_epi64(self.row, is_end, self.row, splat(1));
    }

    /// Repeats the lookups that a wrong fingerprint match misled; returns the lengths of all
    /// tokens.
    #[cold]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn verified_lookup(
        &self,
        matcher: &Matcher,
        which: __mmask8,
        tokens: &mut [u64; WIDTH],
        lens: __m512i,
    ) -> __m512i {
        let mut lens = store(lens);
        let texts = store(self.low).into_iter().zip(store(self.high)).zip(store(self.left));
        let all = tokens.iter_mut().zip(&mut lens).zip(texts).enumerate();
        for (_, ((token, len), ((low, high), left))) in
            all.filter(|(index, _)| which >> index & 1 != 0)
        {
            let (number, bytes) = verified_lookup(matcher, [low, high], low_half(left) as usize);
            (*token, *len) = (number.into(), bytes.into());
        }
        load(&lens)
    }
}

/// Returns the low 32 bits of a 64-bit lane.
#[inline(always)]
fn low_half(number: u64) -> u32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}
