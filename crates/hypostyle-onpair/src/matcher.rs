//! The longest token that a text starts with.
//!
//! Lengths are searched, not tokens: a table has the strings of 9 bytes that tokens are
//! or start with, and if it has the first 9 of a text, no length below is of interest,
//! else none from there on. Then 5 or 13 bytes are looked up, and so on: four times, for
//! 2 to 16 bytes. What is there is the longest, and each string of the table knows the
//! longest token that it starts with.
//!
//! The table does not have the strings themselves, but 16 bits of a hash of each, in one
//! of two places. So it may be mistaken about what it has, never about what it has not.
//! Of the last string that was found it is known in which token it stands, and it is
//! compared with that; it has all that were found before it as its start, so these were
//! no mistakes either.

use crate::MAX_TOKEN_SIZE;
use crate::train::Token;

/// Finds the longest tokens of a dictionary.
///
/// # Invariants
///
/// Set up by [`Matcher::new`], the only constructor; no method breaks them.
///
/// 1. The table has a power of two places. `prints` has an element for each, and one more,
///    since vectors read two; `entries` has one for each, and 256 behind them, one for each
///    byte.
/// 2. The witness of an entry is an index of `words`.
/// 3. An entry of which the span is not 0 has a token of 1 byte at least, and of at most as
///    many as it spans. The last 256 entries are of this kind.
#[derive(Clone, Debug)]
pub(crate) struct Matcher {
    tokens: Vec<Token>,
    /// The tokens, with zeros behind them.
    pub(crate) words: Vec<[u64; 2]>,
    /// The longest token that each starts with but for itself; itself if it is a byte.
    parents: Vec<u16>,
    pub(crate) prints: Vec<u16>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) salts: Salts,
}

/// A string that tokens are or start with.
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub(crate) struct Entry(u64);

impl Entry {
    fn new(witness: u16, token: u16, len: u8, span: u8) -> Self {
        let numbers = u64::from(witness) | u64::from(token) << 16;
        Self(numbers | u64::from(len) << 32 | u64::from(span) << 40)
    }

    /// A token that starts with the string.
    #[inline(always)]
    pub(crate) fn witness(self) -> u16 {
        let [a, b, ..] = self.0.to_le_bytes();
        u16::from_le_bytes([a, b])
    }

    /// The longest token that the string starts with.
    #[inline(always)]
    pub(crate) fn token(self) -> u16 {
        let [_, _, a, b, ..] = self.0.to_le_bytes();
        u16::from_le_bytes([a, b])
    }

    /// The bytes of that token.
    #[inline(always)]
    pub(crate) fn len(self) -> u8 {
        let [_, _, _, _, len, ..] = self.0.to_le_bytes();
        len
    }

    /// The bytes of the string; 0 if there is none.
    #[inline(always)]
    pub(crate) fn span(self) -> u8 {
        let [_, _, _, _, _, span, ..] = self.0.to_le_bytes();
        span
    }
}

/// The first bytes of two words; more than 16 are all of them.
#[inline(always)]
pub(crate) fn first(span: usize, [low, high]: [u64; 2]) -> [u64; 2] {
    let [one, other] = FIRSTS.get(span).copied().unwrap_or([u64::MAX; 2]);
    [low & one, high & other]
}

/// Masks of the first bytes of two words, by how many they are.
const FIRSTS: [[u64; 2]; MAX_TOKEN_SIZE + 1] = {
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

/// What hashes are made of: the same bytes of another length are another string.
pub(crate) type Salts = [u64; MAX_TOKEN_SIZE];

/// Odd numbers that mix.
pub(crate) const MIXERS: [u64; 3] =
    [0x9E37_79B9_7F4A_7C15, 0xD6E8_FEB8_6659_FD93, 0xC2B2_AE3D_27D4_EB4F];

/// Where the bits of a hash are that make both places, and the fingerprint.
pub(crate) const ONE: u32 = 28;
pub(crate) const OTHER: u32 = 10;
pub(crate) const PRINT: u32 = 48;

/// By how many bits a hash is folded.
pub(crate) const FOLD: u32 = 29;

/// The first length that is looked up, and by how much the next is more if it is there,
/// and less if not. So it ends with the longest that is there.
pub(crate) const FIRST: usize = 9;
pub(crate) const STEPS: [(usize, usize); 4] = [(4, 4), (2, 2), (1, 1), (0, 1)];

/// The two places that a string may have in a table of which this is the last place, and its
/// fingerprint.
#[inline(always)]
pub(crate) fn places(
    words: [u64; 2],
    span: usize,
    salts: &Salts,
    last: usize,
) -> (usize, usize, u16) {
    let [low, high] = first(span, words);
    // Spans are 1 to 16.
    let salt = salts.get((span.wrapping_sub(1)) % MAX_TOKEN_SIZE).copied().unwrap_or(0);
    let mut hash = (low ^ salt).wrapping_mul(MIXERS[0]).wrapping_add(high.wrapping_mul(MIXERS[1]));
    hash = (hash ^ hash >> FOLD).wrapping_mul(MIXERS[2]);
    let [.., a, b] = hash.to_le_bytes();
    #[expect(clippy::cast_possible_truncation, reason = "no more bits than a place has are left")]
    let place = |bit: u32| (hash >> bit) as usize & last;
    (place(ONE), place(OTHER), u16::from_le_bytes([a, b]))
}

/// How often a string may push another out of its place until the table is given up.
const PUSHES: usize = 500;

/// Strings that a token has in the table, more or less.
const STRINGS: usize = 2;

/// How often a larger table is tried.
const TRIES: u32 = 4;

impl Matcher {
    /// The matcher of tokens, all different, with every single byte among them, 65,536 at
    /// most, and with room for so many.
    ///
    /// A token that finds no place in tables of any size is left out: that takes several
    /// strings whose hashes are the same.
    pub(crate) fn new(tokens: Vec<Token>, most: usize) -> Self {
        let mut matcher = Self {
            words: Vec::new(),
            parents: Vec::new(),
            prints: Vec::new(),
            entries: Vec::new(),
            salts: [0; MAX_TOKEN_SIZE],
            tokens,
        };
        let mut tried = 0;
        loop {
            let strings = matcher.strings();
            // A table that is filled to less than a half has a place for nearly everything.
            let spare = most.saturating_sub(matcher.tokens.len()) * STRINGS;
            let places = (strings.len() + spare) * 17 / 8;
            let bits = places.next_power_of_two().trailing_zeros().max(8) + tried.min(TRIES);
            match matcher.fill(&strings, bits, tried) {
                Ok(()) => return matcher,
                Err(_) if tried < TRIES => {}
                Err(witness) => {
                    matcher.tokens.remove(witness);
                }
            }
            tried += 1;
        }
    }

    /// Every string that the search may have to find, with its witness. Also says which
    /// tokens start with which.
    fn strings(&mut self) -> Vec<Entry> {
        let mut strings = Vec::with_capacity(self.tokens.len() * 2);
        self.words = self.tokens.iter().map(Token::words).collect();
        self.parents.clear();
        self.parents.resize(self.tokens.len(), 0);
        // For the token at hand: the longest token that its first bytes start with, for
        // each number of bytes, and whether the table has them.
        let mut best = [(0_u16, 0_u8); MAX_TOKEN_SIZE + 1];
        let mut has = [false; MAX_TOKEN_SIZE + 1];
        let mut last: &[u8] = &[];
        let mut order: Vec<(u16, &Token)> = (0..=u16::MAX).zip(&self.tokens).collect();
        order.sort_unstable_by_key(|&(_, token)| token.bytes());
        for (number, token) in order {
            let bytes = token.bytes();
            let shared = last.iter().zip(bytes).take_while(|(one, other)| one == other).count();
            let mut longest = best.get(shared).copied().unwrap_or_default();
            for (best, has) in best.iter_mut().zip(&mut has).skip(shared + 1) {
                (*best, *has) = (longest, false);
            }
            let parent = if longest.1 == 0 { number } else { longest.0 };
            self.parents.get_mut(usize::from(number)).into_iter().for_each(|it| *it = parent);
            longest = (number, token.len());
            best.iter_mut().skip(bytes.len()).for_each(|best| *best = longest);
            let (mut span, mut steps) = (FIRST, STEPS.iter());
            while let (Some((more, less)), true) = (steps.next(), bytes.len() > 1) {
                if span > bytes.len() {
                    span -= less;
                    continue;
                }
                let has = has.get_mut(span).map(|has| std::mem::replace(has, true));
                if let (Some(false), Some(&(token, len))) = (has, best.get(span)) {
                    let span = u8::try_from(span).unwrap_or(0);
                    strings.push(Entry::new(number, token, len, span));
                }
                if span == bytes.len() {
                    break;
                }
                span += more;
            }
            last = bytes;
        }
        strings
    }

    /// Puts strings into a table; fails with a token that finds no place.
    fn fill(&mut self, strings: &[Entry], bits: u32, seed: u32) -> Result<(), usize> {
        let size = 1 << bits;
        // A vector of places reads four bytes from each.
        self.prints = vec![0; size + 1];
        self.entries = vec![Entry::default(); size + 256];
        for (salt, span) in self.salts.iter_mut().zip(1..) {
            *salt = (u64::from(seed) << 32 | span).wrapping_mul(MIXERS[1]);
        }
        for (number, token) in (0..=u16::MAX).zip(&self.tokens) {
            if let [byte] = *token.bytes() {
                let entry = Entry::new(number, number, 1, 1);
                self.entries
                    .get_mut(size + usize::from(byte))
                    .into_iter()
                    .for_each(|it| *it = entry);
            }
        }
        strings.iter().try_for_each(|&string| self.put(string))
    }

    fn put(&mut self, mut string: Entry) -> Result<(), usize> {
        let mut avoid = usize::MAX;
        for _ in 0..PUSHES {
            let (one, other, print) = self.places_of(string);
            let is_free =
                |place: usize| self.entries.get(place).is_some_and(|entry| entry.span() == 0);
            // One that was pushed out goes to its other place.
            let place = match (is_free(one), is_free(other)) {
                (true, _) => one,
                (_, true) => other,
                _ if one == avoid => other,
                _ => one,
            };
            let (Some(entry), Some(at)) = (self.entries.get_mut(place), self.prints.get_mut(place))
            else {
                break;
            };
            std::mem::swap(entry, &mut string);
            *at = print;
            if string.span() == 0 {
                return Ok(());
            }
            avoid = place;
        }
        Err(string.witness().into())
    }

    fn places_of(&self, string: Entry) -> (usize, usize, u16) {
        let words = self.words.get(usize::from(string.witness())).copied().unwrap_or_default();
        places(words, string.span().into(), &self.salts, self.last())
    }

    /// Adds a token of two bytes or more, unless it is there or there is no room; says by
    /// which number.
    ///
    /// Strings that are there already, and start with it, are not told. So what starts
    /// with one of these may be cut into shorter tokens than need be.
    pub(crate) fn insert(&mut self, token: Token) -> Option<u16> {
        let number = u16::try_from(self.tokens.len()).ok()?;
        let (words, len) = (token.words(), usize::from(token.len()));
        let known = self.find(words, len).and_then(|place| self.entries.get(place));
        if known.is_some_and(|entry| entry.len() == entry.span()) {
            return None;
        }
        let parent = self.longest_of(first(len - 1, words), len - 1, *token.bytes().first()?)?.0;
        self.tokens.push(token);
        self.words.push(words);
        self.parents.push(parent);
        let mut span = FIRST;
        for (more, less) in STEPS {
            if span > len {
                span -= less;
                continue;
            }
            let bytes = u8::try_from(span).ok()?;
            let start = first(span, words);
            match self.find(start, span) {
                Some(place) if span == len => {
                    let entry = self.entries.get_mut(place)?;
                    *entry = Entry::new(entry.witness(), number, bytes, bytes);
                }
                Some(_) => {}
                None => {
                    let (token, len) = match span == len {
                        true => (number, span),
                        false => self.longest_of(start, span, *token.bytes().first()?)?,
                    };
                    let entry = Entry::new(number, token, u8::try_from(len).ok()?, bytes);
                    self.put(entry).ok()?;
                }
            }
            if span == len {
                break;
            }
            span += more;
        }
        Some(number)
    }

    /// The place of a string.
    fn find(&self, words: [u64; 2], span: usize) -> Option<usize> {
        let (one, other, _) = places(words, span, &self.salts, self.last());
        [one, other].into_iter().find(|&place| {
            let entry = self.entries.get(place).copied().unwrap_or_default();
            let witness = self.words.get(usize::from(entry.witness())).copied();
            usize::from(entry.span()) == span
                && witness.is_some_and(|witness| first(span, witness) == first(span, words))
        })
    }

    /// The last place of the table.
    #[inline(always)]
    pub(crate) fn last(&self) -> usize {
        self.prints.len() - 2
    }

    /// The place of a byte, behind the table.
    #[inline(always)]
    pub(crate) fn place_of(&self, byte: u8) -> usize {
        self.prints.len() - 1 + usize::from(byte)
    }

    /// The tokens, by number.
    pub(crate) fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// The tokens, given back.
    pub(crate) fn into_tokens(self) -> Vec<Token> {
        self.tokens
    }

    /// The longest token that a token starts with but for itself; itself if it is a byte.
    #[inline]
    pub(crate) fn parent(&self, token: u16) -> u16 {
        self.parents.get(usize::from(token)).copied().unwrap_or(token)
    }

    /// The longest token that a text starts with, and its length; of an empty text none.
    #[inline]
    pub(crate) fn longest(&self, text: &[u8]) -> Option<(u16, usize)> {
        let words = match text.first_chunk::<MAX_TOKEN_SIZE>() {
            Some(bytes) => words(bytes),
            None => Token::new(text).words(),
        };
        self.longest_of(words, text.len(), *text.first()?)
    }

    /// The same of a text of `left` bytes that starts with these words; zeros follow its end.
    fn longest_of(&self, words: [u64; 2], left: usize, byte: u8) -> Option<(u16, usize)> {
        let (mut found, mut span) = (self.place_of(byte), FIRST);
        for (more, less) in STEPS {
            let (one, other, print) = places(words, span, &self.salts, self.last());
            let is_at = |place: usize| self.prints.get(place) == Some(&print);
            match (is_at(one), is_at(other)) {
                (false, false) => span -= less,
                (is_one, _) => {
                    found = if is_one { one } else { other };
                    span += more;
                }
            }
        }
        let entry = self.entries.get(found)?;
        let witness = *self.words.get(usize::from(entry.witness()))?;
        let is_true = usize::from(entry.span()) == span && span <= left;
        if is_true && first(span, witness) == first(span, words) {
            return Some((entry.token(), entry.len().into()));
        }
        self.longest_in_doubt(words, left, byte)
    }

    /// The same, looking for every length and comparing all that is found.
    #[cold]
    pub(crate) fn longest_in_doubt(
        &self,
        words: [u64; 2],
        left: usize,
        byte: u8,
    ) -> Option<(u16, usize)> {
        for span in (2..=left.min(MAX_TOKEN_SIZE)).rev() {
            let entry = self.find(words, span).and_then(|place| self.entries.get(place));
            if let Some(entry) = entry.filter(|entry| entry.len() == entry.span()) {
                return Some((entry.token(), span));
            }
        }
        let byte = self.entries.get(self.place_of(byte))?;
        Some((byte.token(), 1))
    }

    /// Appends the longest tokens of a string.
    pub(crate) fn cut(&self, mut string: &[u8], out: &mut Vec<u16>) {
        while let Some((token, len)) = self.longest(string) {
            out.push(token);
            string = string.get(len..).unwrap_or_default();
        }
    }

    /// The codes that the bytes of a token would take without it.
    pub(crate) fn without(&self, token: u16) -> u32 {
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

    /// Appends the tokens of a string, as few as there can be; of several such ways the
    /// one whose first tokens are longest.
    pub(crate) fn cut_fewest(&self, string: &[u8], out: &mut Vec<u16>, room: &mut Vec<Fewest>) {
        // Long strings in pieces, which costs at most a token for each.
        for piece in string.chunks(PIECE) {
            room.clear();
            room.resize(piece.len() + 1, Fewest::default());
            for start in (0..piece.len()).rev() {
                let mut best = Fewest { left: u32::MAX, ..Fewest::default() };
                let longest = self.longest(piece.get(start..).unwrap_or_default());
                let Some((mut token, mut len)) = longest else { continue };
                loop {
                    let left = room.get(start + len).map_or(0, |it| it.left) + 1;
                    if left < best.left {
                        best = Fewest { left, token, len: u8::try_from(len).unwrap_or(1) };
                    }
                    let parent = self.parent(token);
                    if parent == token {
                        break;
                    }
                    (token, len) = (parent, self.bytes(parent).len());
                }
                room.get_mut(start).into_iter().for_each(|place| *place = best);
            }
            let mut at = 0;
            while let Some(first) = room.get(at).filter(|_| at < piece.len()) {
                out.push(first.token);
                at += usize::from(first.len.max(1));
            }
        }
    }
}

/// Bytes of a string that are cut into the fewest tokens at once.
const PIECE: usize = 1 << 16;

/// How a text is cut into the fewest tokens.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fewest {
    /// How many there are.
    left: u32,
    /// The first of them.
    token: u16,
    len: u8,
}

/// Sixteen bytes as two words.
#[inline(always)]
pub(crate) fn words(bytes: &[u8; MAX_TOKEN_SIZE]) -> [u64; 2] {
    let (low, high) = bytes.split_at(8);
    [low, high].map(|half| half.first_chunk().map_or(0, |half| u64::from_le_bytes(*half)))
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
        // Longer ones before shorter ones that they start with, too.
        let more = ["ab", "abcdefgh", "abcd", "abcdefghijklmnop", "abcdefghij", "xyz", "xy"];
        for (token, number) in more.iter().zip(256..) {
            assert_eq!(matcher.insert(Token::new(token.as_bytes())), Some(number));
        }
        for (token, number) in more.iter().zip(256..) {
            assert_eq!(matcher.longest(token.as_bytes()), Some((number, token.len())));
        }
        assert_eq!(matcher.insert(Token::new(b"abcd")), None, "it is there");
        assert_eq!(matcher.longest(b"xyy"), Some((262, 2)));
        assert_eq!(matcher.longest(b""), None);
        // The same, made anew.
        let anew = Matcher::new(matcher.into_tokens(), 0);
        assert_eq!(anew.longest(b"abcdefghijklm"), Some((260, 10)));
        assert_eq!(anew.parent(260), 257);
        assert_eq!(anew.without(260), 3);
    }

    #[test]
    fn a_token_without_a_place_is_left_out() {
        // So many that a table that may not grow is too small for them.
        let more = (0..300_u32).map(|number| Token::new(format!("{number:08}").as_bytes()));
        let tokens: Vec<Token> = bytes().into_iter().chain(more).collect();
        let all = Matcher::new(tokens.clone(), 0);
        assert_eq!(all.tokens(), tokens);
        let strings = { all }.strings();
        let mut small = Matcher::new(bytes(), 0);
        small.tokens = tokens;
        small.strings();
        assert!(small.fill(&strings, 8, 0).is_err());
    }

    #[test]
    fn fewest_tokens() {
        let more: [&[u8]; 4] = [b"ab", b"abc", b"cdef", b"bcde"];
        let mut tokens = bytes();
        tokens.extend(more.map(Token::new));
        let matcher = Matcher::new(tokens.clone(), 0);
        let plain: Vec<&[u8]> = tokens.iter().map(Token::bytes).collect();
        for text in ["", "a", "abcdef", "abcde", "abab", "xabcdefx"] {
            let (mut codes, mut room) = (Vec::new(), Vec::new());
            matcher.cut_fewest(text.as_bytes(), &mut codes, &mut room);
            assert_eq!(codes.len(), naive::fewest(&plain, text.as_bytes()), "{text}");
            let back: Vec<&[u8]> = codes.iter().map(|&code| plain[usize::from(code)]).collect();
            assert_eq!(back.concat(), text.as_bytes());
        }
    }
}
