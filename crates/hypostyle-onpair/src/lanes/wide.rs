//! Cutting strings with vectors of 512 bits.
//!
//! The steps of [`super::run`], eight strings to a vector: what is looked up is gathered,
//! and which way a search goes on is a bit of a mask.

#![expect(unsafe_code, reason = "gathers have no bounds checks, see above")]

use std::arch::x86_64::*;

use super::{LANES, Lane, TURN, in_doubt};
use crate::matcher::{Entry, FIRST, FOLD, MIXERS, Matcher, ONE, OTHER, PRINT, STEPS};

/// Strings in a vector.
const WIDTH: usize = 8;

/// Vectors that are worked on in turn, so that one waits while another works.
const VECTORS: usize = LANES / WIDTH;

/// Whether this machine has what is needed.
pub(super) fn is_there() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq")
}

/// Eight lanes, and what they look for.
#[derive(Clone, Copy)]
struct Lanes {
    at: __m512i,
    out: __m512i,
    row: __m512i,
    last: __m512i,
    /// The end of the string, and the bytes before it.
    end: __m512i,
    left: __m512i,
    low: __m512i,
    high: __m512i,
    span: __m512i,
    found: __m512i,
}

/// As [`super::run`].
///
/// # Safety
///
/// As there, and [`is_there`].
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) unsafe fn run(
    lanes: &mut [Lane; LANES],
    matcher: &Matcher,
    text: &[u8],
    ends: &[u32],
    room: &mut [u16],
    marks: &mut [u32],
) {
    let (groups, _) = lanes.as_chunks::<WIDTH>();
    let mut all = [Lanes::new(&[IDLE; WIDTH]); VECTORS];
    for (lanes, group) in all.iter_mut().zip(groups) {
        *lanes = Lanes::new(group);
    }
    let salts = salts(matcher);
    for _ in 0..TURN {
        for lanes in &mut all {
            // SAFETY: as asked for.
            unsafe { lanes.start(matcher, text, ends) };
        }
        for step in STEPS {
            for lanes in &mut all {
                lanes.step(matcher, salts, step);
            }
        }
        for lanes in &mut all {
            // SAFETY: as asked for; the lanes were started.
            unsafe { lanes.finish(matcher, room, marks) };
        }
    }
    let (groups, _) = lanes.as_chunks_mut::<WIDTH>();
    for (lanes, group) in all.iter().zip(groups) {
        lanes.tell(group);
    }
}

const IDLE: Lane = Lane { at: 0, out: 0, row: 0, last: 0 };

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
fn all_of(number: usize) -> __m512i {
    _mm512_set1_epi64((number as u64).cast_signed())
}

/// What hashes are made of, by span, in two vectors.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn salts(matcher: &Matcher) -> [__m512i; 2] {
    let mut halves = matcher.salts.as_chunks().0.iter();
    [(); 2].map(|()| load(halves.next().unwrap_or(&[0; WIDTH])))
}

/// Masks of the first bytes of two words, by how many these are.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn firsts(bytes: __m512i) -> [__m512i; 2] {
    let mask = |bytes: __m512i| {
        let ones = _mm512_set1_epi64(-1);
        // A shift by 64 and more leaves nothing.
        _mm512_andnot_si512(_mm512_sllv_epi64(ones, _mm512_slli_epi64::<3>(bytes)), ones)
    };
    let eight = all_of(8);
    [mask(bytes), mask(_mm512_sub_epi64(_mm512_max_epu64(bytes, eight), eight))]
}

impl Lanes {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn new(lanes: &[Lane; WIDTH]) -> Self {
        let of = |number: fn(&Lane) -> u32| load(&lanes.each_ref().map(|it| number(it).into()));
        let zero = _mm512_setzero_si512();
        Self {
            at: of(|lane| lane.at),
            out: of(|lane| lane.out),
            row: of(|lane| lane.row),
            last: of(|lane| lane.last),
            end: zero,
            left: zero,
            low: zero,
            high: zero,
            span: zero,
            found: zero,
        }
    }

    /// Says how far the lanes are.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn tell(&self, lanes: &mut [Lane; WIDTH]) {
        let (ats, outs, rows) = (store(self.at), store(self.out), store(self.row));
        for (lane, ((at, out), row)) in lanes.iter_mut().zip(ats.into_iter().zip(outs).zip(rows)) {
            (lane.at, lane.out, lane.row) = (low_half(at), low_half(out), low_half(row));
        }
    }

    /// Begins to look for tokens.
    ///
    /// # Safety
    ///
    /// `row` is an index of `ends`, and 16 bytes of `text` are there from `at` on.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    unsafe fn start(&mut self, matcher: &Matcher, text: &[u8], ends: &[u32]) {
        let bytes = text.as_ptr();
        // SAFETY: 16 bytes are there.
        let low = unsafe { _mm512_i64gather_epi64::<1>(self.at, bytes.cast()) };
        // SAFETY: the same, and the text has 16 bytes at least.
        let high = unsafe { _mm512_i64gather_epi64::<1>(self.at, bytes.wrapping_add(8).cast()) };
        // SAFETY: rows are indexes.
        let end = unsafe { _mm512_i64gather_epi32::<4>(self.row, ends.as_ptr().cast()) };
        self.end = _mm512_cvtepu32_epi64(end);
        self.left = _mm512_sub_epi64(self.end, self.at);
        let [first, second] = firsts(self.left);
        self.low = _mm512_and_si512(low, first);
        self.high = _mm512_and_si512(high, second);
        self.span = all_of(FIRST);
        let byte = _mm512_and_si512(low, all_of(0xFF));
        self.found = _mm512_add_epi64(all_of(matcher.place_of(0)), byte);
    }

    /// Looks up one length.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn step(&mut self, matcher: &Matcher, salts: [__m512i; 2], (more, less): (usize, usize)) {
        let [one, other, last] = MIXERS.map(|mixer| _mm512_set1_epi64(mixer.cast_signed()));
        let [first, second] = firsts(self.span);
        let index = _mm512_sub_epi64(self.span, all_of(1));
        let salt = _mm512_permutex2var_epi64(salts[0], index, salts[1]);
        let low = _mm512_xor_si512(_mm512_and_si512(self.low, first), salt);
        let high = _mm512_and_si512(self.high, second);
        let hash = _mm512_add_epi64(_mm512_mullo_epi64(low, one), _mm512_mullo_epi64(high, other));
        let hash = _mm512_xor_si512(hash, _mm512_srli_epi64::<FOLD>(hash));
        let hash = _mm512_mullo_epi64(hash, last);

        let mask = all_of(matcher.last());
        let one = _mm512_and_si512(_mm512_srli_epi64::<ONE>(hash), mask);
        let other = _mm512_and_si512(_mm512_srli_epi64::<OTHER>(hash), mask);
        let print = _mm512_srli_epi64::<PRINT>(hash);
        let prints = |place: __m512i| {
            // SAFETY: places are indexes of the table, and four bytes are there from each,
            // since the table has one more element than places.
            let pair =
                unsafe { _mm512_i64gather_epi32::<2>(place, matcher.prints.as_ptr().cast()) };
            _mm512_and_si512(_mm512_cvtepu32_epi64(pair), all_of(0xFFFF))
        };
        let is_one = _mm512_cmpeq_epi64_mask(prints(one), print);
        let is_there = is_one | _mm512_cmpeq_epi64_mask(prints(other), print);
        let place = _mm512_mask_mov_epi64(other, is_one, one);
        self.found = _mm512_mask_mov_epi64(self.found, is_there, place);
        let shorter = _mm512_sub_epi64(self.span, all_of(less));
        self.span = _mm512_mask_add_epi64(shorter, is_there, self.span, all_of(more));
    }

    /// Writes what was found, and goes on behind it.
    ///
    /// # Safety
    ///
    /// `found` is a place of the table or that of a byte, `out` an index of `room`, and
    /// `row` one of `marks`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    unsafe fn finish(&mut self, matcher: &Matcher, room: &mut [u16], marks: &mut [u32]) {
        let entries: *const Entry = matcher.entries.as_ptr();
        // SAFETY: the table has an entry for each place, and for each byte; an entry is a
        // word.
        let entry = unsafe { _mm512_i64gather_epi64::<8>(self.found, entries.cast()) };
        let field = |entry: __m512i, mask| _mm512_and_si512(entry, all_of(mask));
        let witness = _mm512_slli_epi64::<1>(field(entry, 0xFFFF));
        let words: *const u64 = matcher.words.as_ptr().cast();
        // SAFETY: witnesses are tokens, each of which has two words.
        let low = unsafe { _mm512_i64gather_epi64::<8>(witness, words.cast()) };
        // SAFETY: the same.
        let high = unsafe { _mm512_i64gather_epi64::<8>(witness, words.wrapping_add(1).cast()) };
        let mut tokens = store(field(_mm512_srli_epi64::<16>(entry), 0xFFFF));
        let mut len = field(_mm512_srli_epi64::<32>(entry), 0xFF);
        let span = field(_mm512_srli_epi64::<40>(entry), 0xFF);

        let [first, second] = firsts(self.span);
        let low = _mm512_and_si512(_mm512_xor_si512(low, self.low), first);
        let high = _mm512_and_si512(_mm512_xor_si512(high, self.high), second);
        let differs = _mm512_or_si512(low, high);
        let is_token = _mm512_test_epi64_mask(self.left, self.left);
        let is_false = _mm512_test_epi64_mask(differs, differs)
            | _mm512_cmpneq_epi64_mask(span, self.span)
            | _mm512_cmpgt_epu64_mask(self.span, self.left);
        if is_false & is_token != 0 {
            len = self.in_doubt(matcher, is_false & is_token, &mut tokens, len);
        }
        let (outs, rows) = (store(self.out), store(self.row));
        let written = tokens.iter().zip(outs).zip(rows).enumerate();
        for (index, ((&token, out), row)) in written {
            let [a, b, ..] = token.to_le_bytes();
            // SAFETY: `out` is an index.
            *unsafe { room.get_unchecked_mut(low_half(out) as usize) } = u16::from_le_bytes([a, b]);
            // SAFETY: `row` is an index.
            *unsafe { marks.get_unchecked_mut(low_half(row) as usize) } =
                low_half(out) + u32::from(is_token >> index & 1);
        }
        self.at = _mm512_mask_add_epi64(self.at, is_token, self.at, len);
        self.out = _mm512_mask_add_epi64(self.out, is_token, self.out, all_of(1));
        let is_end = _mm512_cmpeq_epi64_mask(self.at, self.end)
            & _mm512_cmplt_epu64_mask(self.row, self.last);
        self.row = _mm512_mask_add_epi64(self.row, is_end, self.row, all_of(1));
    }

    /// Looks up again where something was found by mistake; says how long tokens are.
    #[cold]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn in_doubt(
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
            let (number, bytes) = in_doubt(matcher, [low, high], low_half(left) as usize);
            (*token, *len) = (number.into(), bytes.into());
        }
        load(&lens)
    }
}

/// A number of 32 bits from a lane of 64.
#[inline(always)]
fn low_half(number: u64) -> u32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}
