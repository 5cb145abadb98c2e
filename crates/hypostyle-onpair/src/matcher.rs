//! Finding the longest token at the start of a text.
//!
//! The matcher runs a binary search over lengths. A hash table holds prefixes of tokens. If it
//! contains the first 9 bytes of the text, the search continues with longer prefixes, else with
//! shorter ones: it looks up 13 or 5 bytes next, and so on, four lookups for lengths from 2 to
//! 16. The last prefix found is the longest one in the table, and its entry names the longest
//! token that it starts with.
//!
//! The table is a cuckoo hash table: a prefix is in one of two buckets. It stores a fingerprint
//! of 16 bits instead of the prefix, so a lookup may report a prefix that is not there, but
//! never misses one that is. The entry of a prefix therefore names a witness, a token that
//! starts with the prefix, and the matcher compares the last prefix found with its witness. All
//! prefixes found before are prefixes of the last one, so they need no comparison.

use crate::MAX_TOKEN_SIZE;
use crate::token::{Token, to_words};

/// Finds the longest token of a dictionary at the start of a text.
///
/// # Invariants
///
/// [`Matcher::new`], the only constructor, establishes them, and every method preserves them.
///
/// 1. The number of buckets is a power of two. `fingerprints` has one element per bucket and
///    one more, since a vector gather reads two. `entries` has one element per bucket, followed
///    by one for each of the 256 bytes.
/// 2. The witness of an entry is an index of `words`.
/// 3. An entry with a span other than 0 has a token of at least 1 byte and of at most `span`
///    bytes. The last 256 entries have a span other than 0.
#[derive(Clone, Debug)]
pub(crate) struct Matcher {
    tokens: Vec<Token>,
    /// The bytes of each token, padded with zeros.
    pub(crate) words: Vec<[u64; 2]>,
    /// For each token, the longest other token that it starts with, or itself for a single
    /// byte.
    parents: Vec<u16>,
    pub(crate) fingerprints: Vec<u16>,
    pub(crate) entries: Vec<PrefixEntry>,
    pub(crate) salts: Salts,
}

/// A prefix of tokens: its length, a token that it is a prefix of, and the longest token that
/// it starts with.
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub(crate) struct PrefixEntry(u64);

impl PrefixEntry {
    fn new(witness: u16, token: u16, len: u8, span: u8) -> Self {
        let numbers = u64::from(witness) | u64::from(token) << 16;
        Self(numbers | u64::from(len) << 32 | u64::from(span) << 40)
    }

    /// Returns a token that starts with the prefix.
    #[inline(always)]
    pub(crate) fn witness(self) -> u16 {
        let [a, b, ..] = self.0.to_le_bytes();
        u16::from_le_bytes([a, b])
    }

    /// Returns the longest token that the prefix starts with.
    #[inline(always)]
    pub(crate) fn token(self) -> u16 {
        let [_, _, a, b, ..] = self.0.to_le_bytes();
        u16::from_le_bytes([a, b])
    }

    /// Returns the length of [`PrefixEntry::token`].
    #[inline(always)]
    pub(crate) fn len(self) -> u8 {
        let [_, _, _, _, len, ..] = self.0.to_le_bytes();
        len
    }

    /// Returns the length of the prefix; 0 if the bucket is empty.
    #[inline(always)]
    pub(crate) fn span(self) -> u8 {
        let [_, _, _, _, _, span, ..] = self.0.to_le_bytes();
        span
    }
}

/// Returns the first `span` bytes of two words and zeros behind them; all 16 bytes for larger
/// spans.
#[inline(always)]
pub(crate) fn first_bytes(span: usize, [low, high]: [u64; 2]) -> [u64; 2] {
    let [one, other] = BYTE_MASKS.get(span).copied().unwrap_or([u64::MAX; 2]);
    [low & one, high & other]
}

/// Masks that select the first bytes of two words, by number of bytes.
const BYTE_MASKS: [[u64; 2]; MAX_TOKEN_SIZE + 1] = {
    const fn mask(bytes: u32) -> u64 {
        if bytes < 8 { !(u64::MAX << (bytes * 8)) } else { u64::MAX }
    }
    const fn masks(bytes: u32) -> [u64; 2] {
        [mask(bytes), mask(bytes.saturating_sub(8))]
    }
    [
        masks(0),
        masks(1),
        masks(2),
        masks(3),
        masks(4),
        masks(5),
        masks(6),
        masks(7),
        masks(8),
        masks(9),
        masks(10),
        masks(11),
        masks(12),
        masks(13),
        masks(14),
        masks(15),
        masks(16),
    ]
};

/// Salts of the hash by span, so that prefixes of different lengths hash differently.
pub(crate) type Salts = [u64; MAX_TOKEN_SIZE];

/// Odd multipliers of the hash.
pub(crate) const MIXERS: [u64; 3] =
    [0x9E37_79B9_7F4A_7C15, 0xD6E8_FEB8_6659_FD93, 0xC2B2_AE3D_27D4_EB4F];

/// Positions in a hash of the bits that select the two buckets and of the fingerprint.
pub(crate) const FIRST_BUCKET_SHIFT: u32 = 28;
pub(crate) const SECOND_BUCKET_SHIFT: u32 = 10;
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only the vectors take it out"))]
pub(crate) const FINGERPRINT_SHIFT: u32 = 48;

/// Shift by which the hash is folded between multiplications.
pub(crate) const FOLD_SHIFT: u32 = 29;

/// The first span to look up, and the steps from there: each adds the first number to the span
/// if the prefix was found, and subtracts the second if not. The search ends at the longest
/// span in the table.
pub(crate) const FIRST_SPAN: usize = 9;
pub(crate) const SPAN_STEPS: [(usize, usize); 4] = [(4, 4), (2, 2), (1, 1), (0, 1)];

/// Returns the two buckets of a prefix and its fingerprint.
#[inline(always)]
pub(crate) fn buckets(
    words: [u64; 2],
    span: usize,
    salts: &Salts,
    mask: usize,
) -> (usize, usize, u16) {
    let [low, high] = first_bytes(span, words);
    // The remainder changes nothing, since spans are 1 to 16.
    let salt = salts.get((span.wrapping_sub(1)) % MAX_TOKEN_SIZE).copied().unwrap_or(0);
    let mut hash = (low ^ salt).wrapping_mul(MIXERS[0]).wrapping_add(high.wrapping_mul(MIXERS[1]));
    hash = (hash ^ hash >> FOLD_SHIFT).wrapping_mul(MIXERS[2]);
    let [.., a, b] = hash.to_le_bytes();
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the mask keeps only bits that `usize` has"
    )]
    let bucket = |shift: u32| (hash >> shift) as usize & mask;
    (bucket(FIRST_BUCKET_SHIFT), bucket(SECOND_BUCKET_SHIFT), u16::from_le_bytes([a, b]))
}

/// Maximum number of evictions per insertion before the table counts as full.
const MAX_EVICTIONS: usize = 500;

/// Approximate number of prefixes per token in the table.
const PREFIXES_PER_TOKEN: usize = 2;

/// Maximum number of times that the table is doubled to find a bucket for every prefix.
const MAX_ENLARGEMENTS: u32 = 4;

impl Matcher {
    /// Builds the matcher of at most 65,536 distinct tokens, which include every single byte,
    /// and leaves room to grow to `capacity` tokens.
    ///
    /// Leaves out a token that finds no bucket in the largest table, which requires several
    /// prefixes with equal hashes.
    pub(crate) fn new(tokens: Vec<Token>, capacity: usize) -> Self {
        let mut matcher = Self {
            words: Vec::new(),
            parents: Vec::new(),
            fingerprints: Vec::new(),
            entries: Vec::new(),
            salts: [0; MAX_TOKEN_SIZE],
            tokens,
        };
        let mut enlargements = 0;
        loop {
            let prefixes = matcher.prefixes();
            // At a load below one half, nearly every prefix finds a bucket.
            let spare_prefixes = capacity.saturating_sub(matcher.tokens.len()) * PREFIXES_PER_TOKEN;
            let buckets = (prefixes.len() + spare_prefixes) * 17 / 8;
            let bits = buckets.next_power_of_two().trailing_zeros().max(8)
                + enlargements.min(MAX_ENLARGEMENTS);
            match matcher.fill(&prefixes, bits, enlargements) {
                Ok(()) => return matcher,
                Err(_) if enlargements < MAX_ENLARGEMENTS => {}
                Err(witness) => {
                    matcher.tokens.remove(witness);
                }
            }
            enlargements += 1;
        }
    }

    /// Returns every prefix that the binary search may look up. Also sets `words` and
    /// `parents`.
    fn prefixes(&mut self) -> Vec<PrefixEntry> {
        let mut prefixes = Vec::with_capacity(self.tokens.len() * PREFIXES_PER_TOKEN);
        self.words = self.tokens.iter().map(Token::words).collect();
        self.parents.clear();
        self.parents.resize(self.tokens.len(), 0);
        // For each prefix length of the current token: the longest token that the prefix starts
        // with, and whether `prefixes` has the prefix.
        let mut best = [(0_u16, 0_u8); MAX_TOKEN_SIZE + 1];
        let mut is_listed = [false; MAX_TOKEN_SIZE + 1];
        let mut last: &[u8] = &[];
        let mut order: Vec<(u16, &Token)> = (0..=u16::MAX).zip(&self.tokens).collect();
        order.sort_unstable_by_key(|&(_, token)| token.bytes());
        for (code, token) in order {
            let bytes = token.bytes();
            let shared = last.iter().zip(bytes).take_while(|(one, other)| one == other).count();
            let mut longest = best.get(shared).copied().unwrap_or_default();
            for (best, is_listed) in best.iter_mut().zip(&mut is_listed).skip(shared + 1) {
                (*best, *is_listed) = (longest, false);
            }
            let parent = if longest.1 == 0 { code } else { longest.0 };
            self.parents.get_mut(usize::from(code)).into_iter().for_each(|it| *it = parent);
            longest = (code, token.len());
            best.iter_mut().skip(bytes.len()).for_each(|best| *best = longest);
            let (mut span, mut steps) = (FIRST_SPAN, SPAN_STEPS.iter());
            while let (Some((longer, shorter)), true) = (steps.next(), bytes.len() > 1) {
                if span > bytes.len() {
                    span -= shorter;
                    continue;
                }
                let was_listed = is_listed.get_mut(span).map(|it| std::mem::replace(it, true));
                if let (Some(false), Some(&(token, len))) = (was_listed, best.get(span)) {
                    let span = u8::try_from(span).unwrap_or(0);
                    prefixes.push(PrefixEntry::new(code, token, len, span));
                }
                if span == bytes.len() {
                    break;
                }
                span += longer;
            }
            last = bytes;
        }
        prefixes
    }

    /// Inserts prefixes into an empty table of `1 << bits` buckets; fails with a token whose
    /// prefix finds no bucket.
    fn fill(&mut self, prefixes: &[PrefixEntry], bits: u32, seed: u32) -> Result<(), usize> {
        let size = 1 << bits;
        // A vector gather reads four bytes from each bucket.
        self.fingerprints = vec![0; size + 1];
        self.entries = vec![PrefixEntry::default(); size + 256];
        for (salt, span) in self.salts.iter_mut().zip(1..) {
            *salt = (u64::from(seed) << 32 | span).wrapping_mul(MIXERS[1]);
        }
        for (code, token) in (0..=u16::MAX).zip(&self.tokens) {
            if let [byte] = *token.bytes() {
                let entry = PrefixEntry::new(code, code, 1, 1);
                self.entries
                    .get_mut(size + usize::from(byte))
                    .into_iter()
                    .for_each(|it| *it = entry);
            }
        }
        prefixes.iter().try_for_each(|&prefix| self.put(prefix))
    }

    /// Inserts a prefix and evicts others from their buckets as needed; fails with the witness of
    /// a prefix that finds no bucket.
    fn put(&mut self, mut prefix: PrefixEntry) -> Result<(), usize> {
        let mut avoid = usize::MAX;
        for _ in 0..MAX_EVICTIONS {
            let (one, other, fingerprint) = self.buckets_of(prefix);
            let is_free =
                |bucket: usize| self.entries.get(bucket).is_some_and(|entry| entry.span() == 0);
            // An evicted prefix moves to its other bucket.
            let bucket = match (is_free(one), is_free(other)) {
                (true, _) => one,
                (_, true) => other,
                _ if one == avoid => other,
                _ => one,
            };
            let (Some(entry), Some(at)) =
                (self.entries.get_mut(bucket), self.fingerprints.get_mut(bucket))
            else {
                break;
            };
            std::mem::swap(entry, &mut prefix);
            *at = fingerprint;
            if prefix.span() == 0 {
                return Ok(());
            }
            avoid = bucket;
        }
        Err(prefix.witness().into())
    }

    fn buckets_of(&self, prefix: PrefixEntry) -> (usize, usize, u16) {
        let words = self.words.get(usize::from(prefix.witness())).copied().unwrap_or_default();
        buckets(words, prefix.span().into(), &self.salts, self.bucket_mask())
    }

    /// Adds a token of two bytes or more and returns its code; returns `None` if the token
    /// exists or the table is full.
    ///
    /// Entries of existing prefixes that start with the new token keep their shorter token. So
    /// some texts may get shorter tokens than the dictionary offers.
    pub(crate) fn insert(&mut self, token: Token) -> Option<u16> {
        let code = u16::try_from(self.tokens.len()).ok()?;
        let (words, len) = (token.words(), usize::from(token.len()));
        let known = self.find(words, len).and_then(|bucket| self.entries.get(bucket));
        if known.is_some_and(|entry| entry.len() == entry.span()) {
            return None;
        }
        let parent =
            self.longest_of(first_bytes(len - 1, words), len - 1, *token.bytes().first()?)?.0;
        self.tokens.push(token);
        self.words.push(words);
        self.parents.push(parent);
        let mut span = FIRST_SPAN;
        for (longer, shorter) in SPAN_STEPS {
            if span > len {
                span -= shorter;
                continue;
            }
            let bytes = u8::try_from(span).ok()?;
            let start = first_bytes(span, words);
            match self.find(start, span) {
                Some(bucket) if span == len => {
                    let entry = self.entries.get_mut(bucket)?;
                    *entry = PrefixEntry::new(entry.witness(), code, bytes, bytes);
                }
                Some(_) => {}
                None => {
                    let (token, len) = if span == len {
                        (code, span)
                    } else {
                        self.longest_of(start, span, *token.bytes().first()?)?
                    };
                    let entry = PrefixEntry::new(code, token, u8::try_from(len).ok()?, bytes);
                    self.put(entry).ok()?;
                }
            }
            if span == len {
                break;
            }
            span += longer;
        }
        Some(code)
    }

    /// Returns the bucket of a prefix, compared with its witness.
    fn find(&self, words: [u64; 2], span: usize) -> Option<usize> {
        let (one, other, _) = buckets(words, span, &self.salts, self.bucket_mask());
        [one, other].into_iter().find(|&bucket| {
            let entry = self.entries.get(bucket).copied().unwrap_or_default();
            let witness = self.words.get(usize::from(entry.witness())).copied();
            usize::from(entry.span()) == span
                && witness
                    .is_some_and(|witness| first_bytes(span, witness) == first_bytes(span, words))
        })
    }

    /// Returns the mask that reduces a hash to a bucket, which is also the last bucket.
    #[inline(always)]
    pub(crate) fn bucket_mask(&self) -> usize {
        self.fingerprints.len() - 2
    }

    /// Returns the index of the entry of a single byte, behind the buckets.
    #[inline(always)]
    pub(crate) fn byte_entry(&self, byte: u8) -> usize {
        self.fingerprints.len() - 1 + usize::from(byte)
    }

    /// Returns the tokens by code.
    pub(crate) fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// Returns the tokens by code.
    pub(crate) fn into_tokens(self) -> Vec<Token> {
        self.tokens
    }

    /// Returns the longest other token that a token starts with, or the token itself for a
    /// single byte.
    #[inline]
    pub(crate) fn parent(&self, token: u16) -> u16 {
        self.parents.get(usize::from(token)).copied().unwrap_or(token)
    }

    /// Returns the longest token that a text starts with, and its length; `None` for an empty
    /// text.
    #[inline]
    pub(crate) fn longest(&self, text: &[u8]) -> Option<(u16, usize)> {
        let words = match text.first_chunk::<MAX_TOKEN_SIZE>() {
            Some(bytes) => to_words(bytes),
            None => Token::new(text).words(),
        };
        self.longest_of(words, text.len(), *text.first()?)
    }

    /// Does the same for a text of `left` bytes that starts with `words`, padded with zeros.
    fn longest_of(&self, words: [u64; 2], left: usize, byte: u8) -> Option<(u16, usize)> {
        let (mut found_at, mut span) = (self.byte_entry(byte), FIRST_SPAN);
        for (longer, shorter) in SPAN_STEPS {
            let (one, other, fingerprint) = buckets(words, span, &self.salts, self.bucket_mask());
            let is_at = |bucket: usize| self.fingerprints.get(bucket) == Some(&fingerprint);
            match (is_at(one), is_at(other)) {
                (false, false) => span -= shorter,
                (is_one, _) => {
                    found_at = if is_one { one } else { other };
                    span += longer;
                }
            }
        }
        let entry = self.entries.get(found_at)?;
        let witness = *self.words.get(usize::from(entry.witness()))?;
        let is_plausible = usize::from(entry.span()) == span && span <= left;
        if is_plausible && first_bytes(span, witness) == first_bytes(span, words) {
            return Some((entry.token(), entry.len().into()));
        }
        self.longest_verified(words, left, byte)
    }

    /// Does the same, but looks up every length and compares each result with its witness.
    #[cold]
    pub(crate) fn longest_verified(
        &self,
        words: [u64; 2],
        left: usize,
        byte: u8,
    ) -> Option<(u16, usize)> {
        for span in (2..=left.min(MAX_TOKEN_SIZE)).rev() {
            let entry = self.find(words, span).and_then(|bucket| self.entries.get(bucket));
            if let Some(entry) = entry.filter(|entry| entry.len() == entry.span()) {
                return Some((entry.token(), span));
            }
        }
        let byte = self.entries.get(self.byte_entry(byte))?;
        Some((byte.token(), 1))
    }

    /// Appends the codes of a string, with the longest token at each position.
    pub(crate) fn tokenize(&self, mut string: &[u8], out: &mut Vec<u16>) {
        while let Some((token, len)) = self.longest(string) {
            out.push(token);
            string = string.get(len..).unwrap_or_default();
        }
    }

    /// Returns the number of codes that the bytes of a token would take without the token.
    pub(crate) fn codes_without(&self, token: u16) -> u32 {
        let bytes = self.bytes(token);
        let mut rest = bytes.get(self.bytes(self.parent(token)).len()..).unwrap_or_default();
        let mut codes = 1;
        while let Some((_, len)) = self.longest(rest) {
            rest = rest.get(len..).unwrap_or_default();
            codes += 1;
        }
        codes
    }

    fn bytes(&self, token: u16) -> &[u8] {
        self.tokens.get(usize::from(token)).map(Token::bytes).unwrap_or_default()
    }

    /// Appends the codes of a string, as few as possible; among several such codings it prefers
    /// longer tokens at the front.
    pub(crate) fn tokenize_fewest(
        &self,
        string: &[u8],
        out: &mut Vec<u16>,
        states: &mut Vec<FewestState>,
    ) {
        // Blocks bound the memory, and each costs at most one code more.
        for block in string.chunks(MAX_FEWEST_BYTES) {
            states.clear();
            states.resize(block.len() + 1, FewestState::default());
            for start in (0..block.len()).rev() {
                let mut best = FewestState { codes: u32::MAX, ..FewestState::default() };
                let longest = self.longest(block.get(start..).unwrap_or_default());
                let Some((mut token, mut len)) = longest else { continue };
                loop {
                    let codes = states.get(start + len).map_or(0, |it| it.codes) + 1;
                    if codes < best.codes {
                        best = FewestState { codes, token, len: u8::try_from(len).unwrap_or(1) };
                    }
                    let parent = self.parent(token);
                    if parent == token {
                        break;
                    }
                    (token, len) = (parent, self.bytes(parent).len());
                }
                states.get_mut(start).into_iter().for_each(|state| *state = best);
            }
            let mut at = 0;
            while let Some(first) = states.get(at).filter(|_| at < block.len()) {
                out.push(first.token);
                at += usize::from(first.len.max(1));
            }
        }
    }
}

/// Maximum number of bytes that [`Matcher::tokenize_fewest`] optimizes together.
const MAX_FEWEST_BYTES: usize = 1 << 16;

/// The best coding of the rest of a text.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FewestState {
    /// Number of codes.
    codes: u32,
    /// The first token and its length.
    token: u16,
    len: u8,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive;

    fn bytes() -> Vec<Token> {
        (0..=255).map(|byte| Token::new(&[byte])).collect()
    }

    #[test]
    fn tokens_that_are_added_are_found() {
        let mut matcher = Matcher::new(bytes(), 512);
        // Includes longer tokens before shorter ones that they start with.
        let more = ["ab", "abcdefgh", "abcd", "abcdefghijklmnop", "abcdefghij", "xyz", "xy"];
        for (token, code) in more.iter().zip(256..) {
            assert_eq!(matcher.insert(Token::new(token.as_bytes())), Some(code));
        }
        for (token, code) in more.iter().zip(256..) {
            assert_eq!(matcher.longest(token.as_bytes()), Some((code, token.len())));
        }
        assert_eq!(matcher.insert(Token::new(b"abcd")), None, "the token exists");
        assert_eq!(matcher.longest(b"xyy"), Some((262, 2)));
        assert_eq!(matcher.longest(b""), None);
        // A new matcher of the same tokens.
        let rebuilt = Matcher::new(matcher.into_tokens(), 0);
        assert_eq!(rebuilt.longest(b"abcdefghijklm"), Some((260, 10)));
        assert_eq!(rebuilt.parent(260), 257);
        assert_eq!(rebuilt.codes_without(260), 3);
    }

    #[test]
    fn a_full_table_is_an_error() {
        // More prefixes than fit into the small table below.
        let more = (0..300_u32).map(|number| Token::new(format!("{number:08}").as_bytes()));
        let tokens: Vec<Token> = bytes().into_iter().chain(more).collect();
        let all = Matcher::new(tokens.clone(), 0);
        assert_eq!(all.tokens(), tokens);
        let prefixes = { all }.prefixes();
        let mut small = Matcher::new(bytes(), 0);
        small.tokens = tokens;
        small.prefixes();
        assert!(small.fill(&prefixes, 8, 0).is_err());
    }

    #[test]
    fn fewest_tokens() {
        let more: [&[u8]; 4] = [b"ab", b"abc", b"cdef", b"bcde"];
        let mut tokens = bytes();
        tokens.extend(more.map(Token::new));
        let matcher = Matcher::new(tokens.clone(), 0);
        let plain: Vec<&[u8]> = tokens.iter().map(Token::bytes).collect();
        for text in ["", "a", "abcdef", "abcde", "abab", "xabcdefx"] {
            let (mut codes, mut states) = (Vec::new(), Vec::new());
            matcher.tokenize_fewest(text.as_bytes(), &mut codes, &mut states);
            assert_eq!(codes.len(), naive::fewest(&plain, text.as_bytes()), "{text}");
            let back: Vec<&[u8]> = codes.iter().map(|&code| plain[usize::from(code)]).collect();
            assert_eq!(back.concat(), text.as_bytes());
        }
    }
}
