//! Finding the tokens that strings have in common.
//!
//! Strings of a sample are cut into the longest tokens that there are so far, at first
//! single bytes. Two neighbours that have met often enough become a token. So far this
//! is OnPair. A merge is decided by what was seen until then and is never taken back;
//! therefore the sample is then cut again with the finished tokens, those that save
//! least are dropped, and others grow in their place, a few times over.

use crate::MAX_TOKEN_SIZE;
use crate::automaton::Automaton;
use crate::strings::Strings;

/// A token and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    bytes: [u8; MAX_TOKEN_SIZE],
    len: u8,
}

impl Token {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut token = Self { bytes: [0; MAX_TOKEN_SIZE], len: 0 };
        for (to, from) in token.bytes.iter_mut().zip(bytes) {
            *to = *from;
            token.len += 1;
        }
        token
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

/// The 256 single bytes, which every dictionary has.
pub(crate) const BYTES: usize = 256;

/// How hard good tokens are searched for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effort {
    /// What one look at a small sample gives.
    Quick,
    /// A width that is chosen with care, and tokens that are chosen twice.
    #[default]
    Usual,
    /// Many times over on a large sample.
    Thorough,
}

impl Effort {
    /// Bytes to learn from: so many for each token that there may be.
    pub(crate) fn sample(self, bits: Option<u32>) -> usize {
        let each = match self {
            Self::Quick => 96,
            Self::Usual => 128,
            Self::Thorough => 256,
        };
        // Few tokens need more each: there are fewer that are rare.
        let tokens = 1_usize << bits.unwrap_or(16);
        tokens * each.max(each * 8192 / tokens)
    }

    /// How often the least useful tokens give way to others, and which share of them.
    fn rounds(self) -> &'static [f64] {
        match self {
            Self::Quick => &[],
            Self::Usual => &[0.2],
            Self::Thorough => &[0.3, 0.2, 0.15, 0.1],
        }
    }
}

/// The strings that tokens are learned from.
///
/// They are copied, so that going through them is going through memory.
#[derive(Debug)]
pub(crate) struct Sample {
    text: Vec<u8>,
    lengths: Vec<u32>,
    /// Bytes that there are for each one of the sample.
    scale: f64,
}

/// Bytes of a string that are learned from in one piece: what meets far apart in one
/// long string would otherwise not be learned from at all.
const PIECE: usize = 4 << 10;

impl Sample {
    /// Some strings from all over, in an order that has nothing to do with theirs.
    pub(crate) fn new(strings: &(impl Strings + ?Sized), bytes: usize, seed: u64) -> Self {
        let total: usize = (0..strings.len()).map(|row| strings.get(row).len()).sum();
        let mut sample =
            Self { text: Vec::with_capacity(bytes.min(total)), lengths: Vec::new(), scale: 1.0 };
        let rows = strings.len();
        // Every step is the same, and meets every row before it meets one twice.
        let mut step = (rows as u64).wrapping_mul(0x9E37_79B9) >> 32 | 1;
        while gcd(step, rows as u64) > 1 {
            step += 2;
        }
        let mut row = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) % (rows as u64).max(1);
        let mut left = rows;
        while left > 0 && sample.text.len() < bytes {
            let string = strings.get(usize::try_from(row).unwrap_or(0));
            // Of a string that is longer than all of the sample may be, some places.
            let skip = (string.len() / bytes.max(1)).max(1);
            for piece in string.chunks(PIECE).step_by(skip) {
                sample.text.extend_from_slice(piece);
                sample.lengths.push(u32::try_from(piece.len()).unwrap_or(0));
            }
            row = (row + step) % rows as u64;
            left -= 1;
        }
        sample.scale = total as f64 / sample.text.len().max(1) as f64;
        sample
    }

    pub(crate) fn pieces(&self) -> Vec<&[u8]> {
        let mut rest = &self.text[..];
        let cut = |&len: &u32| {
            let (piece, after) = rest.split_at_checked(len as usize).unwrap_or((rest, &[]));
            rest = after;
            piece
        };
        self.lengths.iter().map(cut).collect()
    }
}

fn gcd(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { gcd(other, one % other) }
}

/// The bits that the codes of so many tokens have.
pub(crate) fn width(tokens: usize) -> u32 {
    tokens.max(2).next_power_of_two().trailing_zeros().clamp(9, 16)
}

/// Learns tokens, at most as many as codes of these bits can name; of the best width if
/// none is given.
pub(crate) fn dictionary(sample: &Sample, bits: Option<u32>, effort: Effort) -> Vec<Token> {
    let pieces = &sample.pieces()[..];
    let bytes = sample.text.len();
    let mut tokens: Vec<Token> = (0..=u8::MAX).map(|byte| Token::new(&[byte])).collect();
    let mut from = 0;
    grow(&mut tokens, pieces, &mut from, bytes, 1 << bits.unwrap_or(16));
    if bits.is_none() || tokens.len() < 1 << bits.unwrap_or(16) {
        tokens = narrowed(tokens, sample, pieces);
    }
    let most = 1 << width(tokens.len());
    for share in effort.rounds() {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share")]
        let keep = (tokens.len() as f64 * (1.0 - share)) as usize;
        prune(&mut tokens, pieces, keep);
        grow(&mut tokens, pieces, &mut from, bytes, most);
    }
    tokens
}

/// Drops tokens to the next power of two for as long as that takes less.
fn narrowed(tokens: Vec<Token>, sample: &Sample, pieces: &[&[u8]]) -> Vec<Token> {
    let cost = |tokens: &[Token]| {
        let codes: u64 = uses(tokens, pieces).iter().map(|&uses| u64::from(uses)).sum();
        let dictionary: usize = tokens.iter().map(|token| token.bytes().len() / 2 + 1).sum();
        codes as f64 * sample.scale * f64::from(width(tokens.len())) / 8.0 + dictionary as f64
    };
    let mut best = (cost(&tokens), tokens);
    while width(best.1.len()) > 9 {
        let mut fewer = best.1.clone();
        prune(&mut fewer, pieces, 1 << (width(best.1.len()) - 1));
        let cost = cost(&fewer);
        if cost >= best.0 {
            break;
        }
        best = (cost, fewer);
    }
    best.1
}

/// Merges neighbours until there are enough tokens or `bytes` were seen.
pub(crate) fn grow(
    tokens: &mut Vec<Token>,
    pieces: &[&[u8]],
    from: &mut usize,
    bytes: usize,
    most: usize,
) {
    let mut trie = Trie::new(tokens);
    let mut counts = Counts::new(most);
    let mut pace = Pace::new(most.saturating_sub(tokens.len()), bytes);
    let mut seen = 0;
    for _ in 0..pieces.len() {
        if tokens.len() >= most || seen >= bytes {
            break;
        }
        let Some(piece) = pieces.get(*from) else {
            *from = 0;
            continue;
        };
        *from += 1;
        seen += piece.len();
        let mut rest = *piece;
        let mut last: Option<(u32, usize)> = None;
        while !rest.is_empty() {
            let (token, len) = trie.longest(rest);
            rest = rest.get(len..).unwrap_or_default();
            let Some((before, before_len)) = last.filter(|(_, it)| it + len <= MAX_TOKEN_SIZE)
            else {
                last = Some((token, len));
                continue;
            };
            if !counts.bump(before, token, pace.threshold) {
                last = Some((token, len));
                continue;
            }
            // The two stand side by side in the piece.
            let end = piece.len() - rest.len();
            let merged = piece.get(end - before_len - len..end).unwrap_or_default();
            let id = trie.insert(merged, tokens.len());
            tokens.push(Token::new(merged));
            last = Some((id, before_len + len));
            if tokens.len() >= most {
                break;
            }
            pace.created(seen);
        }
    }
}

/// Drops the tokens that save least until `keep` are left.
///
/// What a token saves is how often it is used, times the codes that its bytes would
/// take without it, less one.
pub(crate) fn prune(tokens: &mut Vec<Token>, pieces: &[&[u8]], keep: usize) {
    let uses = uses(tokens, pieces);
    let trie = Trie::new(tokens);
    let mut loss: Vec<(u64, usize)> = Vec::with_capacity(tokens.len());
    for (index, (token, &uses)) in tokens.iter().zip(&uses).enumerate().skip(BYTES) {
        loss.push((u64::from(uses) * (trie.without(token.bytes()) - 1), index));
    }
    let drop = tokens.len().saturating_sub(keep.max(BYTES)).min(loss.len());
    if drop == 0 {
        return;
    }
    loss.select_nth_unstable(drop - 1);
    let mut dropped = vec![false; tokens.len()];
    for &(_, index) in loss.iter().take(drop) {
        if let Some(dropped) = dropped.get_mut(index) {
            *dropped = true;
        }
    }
    let mut index = 0;
    tokens.retain(|_| {
        index += 1;
        !dropped.get(index - 1).copied().unwrap_or_default()
    });
}

/// How often each token is used.
pub(crate) fn uses(tokens: &[Token], pieces: &[&[u8]]) -> Vec<u32> {
    let automaton = Automaton::new(tokens.iter().map(Token::bytes), &[]);
    let mut uses = vec![0_u32; tokens.len()];
    let mut codes = Vec::new();
    for piece in pieces {
        codes.clear();
        automaton.cut(piece, &mut codes);
        for &code in &codes {
            if let Some(uses) = uses.get_mut(usize::from(code)) {
                *uses += 1;
            }
        }
    }
    uses
}

/// How often two tokens must meet, so that the dictionary is full when the sample ends.
#[derive(Debug)]
struct Pace {
    threshold: u8,
    every: usize,
    created: usize,
    left: usize,
    bytes: usize,
    /// Where the last look was.
    last: usize,
}

impl Pace {
    fn new(slots: usize, bytes: usize) -> Self {
        Self { threshold: 2, every: (slots / 128).max(64), created: 0, left: slots, bytes, last: 0 }
    }

    fn created(&mut self, seen: usize) {
        self.created += 1;
        self.left = self.left.saturating_sub(1);
        if self.created < self.every {
            return;
        }
        let now = self.every as f64 / (seen - self.last).max(1) as f64;
        let wanted = self.left as f64 / self.bytes.saturating_sub(seen).max(1) as f64;
        if now > wanted * 2.0 {
            self.threshold = self.threshold.saturating_add(1);
        } else if now < wanted * 0.5 {
            self.threshold = (self.threshold - 1).max(2);
        }
        (self.created, self.last) = (0, seen);
    }
}

/// How often pairs of tokens were met.
#[derive(Debug)]
struct Counts {
    /// A pair in the upper bits, how often in the lowest eight; 0 is empty.
    entries: Vec<u64>,
    used: usize,
}

impl Counts {
    fn new(tokens: usize) -> Self {
        Self { entries: vec![0; (tokens * 8).next_power_of_two().max(1 << 14)], used: 0 }
    }

    /// Counts a pair; says whether it was met often enough, and forgets it then.
    #[inline]
    fn bump(&mut self, one: u32, other: u32, threshold: u8) -> bool {
        let key = (u64::from(one) << 20 | u64::from(other)) + 1;
        let mut at = hash(key);
        let mask = self.entries.len() - 1;
        loop {
            let Some(entry) = self.entries.get_mut(at & mask) else { return false };
            if *entry >> 8 == key {
                *entry += 1;
                if *entry & 0xFF >= u64::from(threshold) {
                    *entry &= !0xFF;
                    return true;
                }
                return false;
            }
            if *entry == 0 {
                *entry = key << 8 | 1;
                self.used += 1;
                if self.used * 4 > self.entries.len() * 3 {
                    self.grow();
                }
                return false;
            }
            at += 1;
        }
    }

    fn grow(&mut self) {
        let old = std::mem::take(&mut self.entries);
        self.entries = vec![0; old.len() * 2];
        let mask = self.entries.len() - 1;
        for entry in old.into_iter().filter(|&entry| entry != 0) {
            let mut at = hash(entry >> 8);
            while let Some(place) = self.entries.get_mut(at & mask) {
                if *place == 0 {
                    *place = entry;
                    break;
                }
                at += 1;
            }
        }
    }
}

#[inline]
fn hash(key: u64) -> usize {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 24) as usize
}

/// No token, and no node.
const NONE: u32 = u32::MAX;

/// Tokens by their bytes, to which more can be added.
#[derive(Debug)]
struct Trie {
    /// The token at each node.
    tokens: Vec<u32>,
    /// The node of every two bytes.
    pairs: Vec<u32>,
    /// Steps from deeper nodes: node and byte in the upper half, child in the lower.
    steps: Vec<u64>,
    used: usize,
}

impl Trie {
    fn new(tokens: &[Token]) -> Self {
        let room = (tokens.len() * 8).next_power_of_two().max(1 << 12);
        let mut trie = Self {
            // The nodes of single bytes.
            tokens: vec![NONE; BYTES],
            pairs: vec![NONE; BYTES * BYTES],
            steps: vec![u64::MAX; room],
            used: 0,
        };
        for (index, token) in tokens.iter().enumerate() {
            trie.insert(token.bytes(), index);
        }
        trie
    }

    fn insert(&mut self, bytes: &[u8], token: usize) -> u32 {
        let token = u32::try_from(token).unwrap_or(NONE);
        let mut node = match *bytes {
            [] => return NONE,
            [byte] => usize::from(byte),
            [one, other, ..] => {
                let next = self.tokens.len();
                match self.pairs.get_mut(usize::from(one) << 8 | usize::from(other)) {
                    Some(node) if *node == NONE => {
                        *node = u32::try_from(next).unwrap_or(NONE);
                        self.tokens.push(NONE);
                        next
                    }
                    Some(node) => *node as usize,
                    None => return NONE,
                }
            }
        };
        for &byte in bytes.iter().skip(2) {
            node = self.add(node, byte);
        }
        if let Some(place) = self.tokens.get_mut(node) {
            *place = token;
        }
        token
    }

    fn add(&mut self, node: usize, byte: u8) -> usize {
        let key = (node as u64) << 8 | u64::from(byte);
        if let Some(child) = self.step(key) {
            return child as usize;
        }
        if self.used * 2 > self.steps.len() {
            let old = std::mem::take(&mut self.steps);
            self.steps = vec![u64::MAX; old.len() * 2];
            old.into_iter().filter(|&step| step != u64::MAX).for_each(|step| self.put(step));
        }
        let child = self.tokens.len();
        self.tokens.push(NONE);
        self.put(key << 32 | child as u64);
        self.used += 1;
        child
    }

    fn put(&mut self, step: u64) {
        let mask = self.steps.len() - 1;
        let mut at = hash(step >> 32);
        while let Some(place) = self.steps.get_mut(at & mask) {
            if *place == u64::MAX {
                *place = step;
                return;
            }
            at += 1;
        }
    }

    #[inline]
    fn step(&self, key: u64) -> Option<u32> {
        let mask = self.steps.len() - 1;
        let mut at = hash(key);
        loop {
            let step = *self.steps.get(at & mask)?;
            if step >> 32 == key {
                return u32::try_from(step & 0xFFFF_FFFF).ok();
            }
            if step == u64::MAX {
                return None;
            }
            at += 1;
        }
    }

    /// The longest token that bytes start with, which has at most so many.
    #[inline]
    fn longest_within(&self, bytes: &[u8], most: usize) -> (u32, usize) {
        let Some((&first, rest)) = bytes.split_first() else { return (NONE, 0) };
        let token = |node: usize| self.tokens.get(node).copied().unwrap_or(NONE);
        let mut best = (token(first.into()), 1);
        let Some((&second, rest)) = rest.split_first().filter(|_| most > 1) else { return best };
        let pair = self.pairs.get(usize::from(first) << 8 | usize::from(second));
        let Some(&pair) = pair.filter(|&&pair| pair != NONE) else { return best };
        let mut node = pair as usize;
        if token(node) != NONE {
            best = (token(node), 2);
        }
        for (len, &byte) in (3..=most).zip(rest) {
            let Some(child) = self.step((node as u64) << 8 | u64::from(byte)) else { break };
            node = child as usize;
            if token(node) != NONE {
                best = (token(node), len);
            }
        }
        best
    }

    #[inline]
    fn longest(&self, bytes: &[u8]) -> (u32, usize) {
        self.longest_within(bytes, MAX_TOKEN_SIZE)
    }

    /// The codes that the bytes of a token would take without it.
    fn without(&self, token: &[u8]) -> u64 {
        let (mut rest, mut codes) = (token, 0);
        let mut most = token.len() - 1;
        while !rest.is_empty() {
            let (_, len) = self.longest_within(rest, most.max(1));
            rest = rest.get(len.max(1)..).unwrap_or_default();
            codes += 1;
            most = MAX_TOKEN_SIZE;
        }
        codes
    }
}
