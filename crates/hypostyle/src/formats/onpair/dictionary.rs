//! Stored dictionaries: tokens in ascending order, each without the prefix that it shares with
//! the token before (§5.1).

use hypostyle_onpair::MAX_TOKEN_SIZE;

use hypostyle_core::error::Result;
use hypostyle_core::wire::Cursor;

/// The flag that all 256 single bytes are tokens, which are then not stored.
const COMPLETE: u8 = 1;

/// A dictionary in the layout that the codec reads (§2.1).
#[derive(Debug)]
pub(super) struct TokenTable {
    pub(super) offsets: Vec<u32>,
    /// The tokens and the padding after them.
    pub(super) bytes: Vec<u8>,
}

impl TokenTable {
    fn new() -> Self {
        Self { offsets: vec![0], bytes: Vec::new() }
    }

    fn push(&mut self, token: &[u8]) {
        self.bytes.extend_from_slice(token);
        // At most 65,536 tokens of 16 bytes fit in 32 bits.
        self.offsets.push(u32::try_from(self.bytes.len()).unwrap_or(u32::MAX));
    }

    /// Adds the padding, so that 16 bytes can be read from the start of each token.
    fn finish(mut self) -> Self {
        self.bytes.resize(self.bytes.len() + MAX_TOKEN_SIZE - 1, 0);
        self
    }
}

/// Returns the stored form of tokens, which must be in strictly ascending order.
pub(super) fn store<'a>(tokens: impl Iterator<Item = &'a [u8]> + Clone) -> Vec<u8> {
    let complete = tokens.clone().filter(|token| token.len() == 1).count() == 256;
    let stored = || tokens.clone().filter(|token| !complete || token.len() > 1);
    let mut out = vec![if complete { COMPLETE } else { 0 }];
    out.extend(u32::try_from(stored().count()).unwrap_or(u32::MAX).to_le_bytes().iter().take(3));
    let mut previous: &[u8] = &[];
    for token in stored() {
        let shared = previous.iter().zip(token).take_while(|(one, other)| one == other).count();
        let last = token.len().saturating_sub(1);
        out.extend(u8::try_from(last | shared << 4));
        out.extend_from_slice(token.get(shared..).unwrap_or_default());
        previous = token;
    }
    out
}

/// Loads a stored dictionary of at most `max_tokens` tokens; `at` is its offset.
pub(super) fn load(bytes: &[u8], at: u64, max_tokens: usize) -> Result<TokenTable> {
    const WHAT: &str = "dictionary";
    let mut cursor = Cursor::new(bytes, at);
    let flags = cursor.u8(WHAT)?;
    let complete = match flags {
        0 => false,
        COMPLETE => true,
        _ => return Err(cursor.malformed(WHAT, format!("{flags:#04x} has unknown flags"))),
    };
    let count = cursor.take(3, WHAT)?;
    let count = count.iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
    let singles = if complete { 256 } else { 0 };
    if count + singles > max_tokens {
        let why =
            format!("{count} tokens and {singles} single bytes are over the limit of {max_tokens}");
        return Err(cursor.malformed(WHAT, why));
    }
    let mut tokens = TokenTable::new();
    // A single byte sorts before all longer tokens that start with it.
    let mut next = if complete { 0_u16 } else { 256 };
    let mut push_singles = |up_to: u16, tokens: &mut TokenTable| {
        for byte in next..=up_to {
            u8::try_from(byte).iter().for_each(|&byte| tokens.push(&[byte]));
        }
        next = next.max(up_to + 1);
    };
    let (mut previous, mut len) = ([0_u8; MAX_TOKEN_SIZE], 0_usize);
    for _ in 0..count {
        let start = cursor.clone();
        let head = cursor.u8(WHAT)?;
        let (whole, shared) = (usize::from(head & 15) + 1, usize::from(head >> 4));
        if shared > len || shared >= whole || (complete && whole == 1) {
            return Err(start.malformed(WHAT, "a token has an impossible length or prefix"));
        }
        let rest = cursor.take(whole - shared, WHAT)?;
        // The first byte after the shared prefix must be greater than that of the previous token.
        // This checks the order, and that the prefix is as long as possible.
        let old = previous.get(shared..len).unwrap_or_default().first();
        if old.is_some_and(|old| rest.first().is_none_or(|new| new <= old)) {
            return Err(start.malformed(WHAT, "tokens are out of order"));
        }
        for (place, byte) in previous.iter_mut().skip(shared).zip(rest) {
            *place = *byte;
        }
        len = whole;
        let token = previous.get(..len).unwrap_or_default();
        push_singles(token.first().copied().unwrap_or(0).into(), &mut tokens);
        tokens.push(token);
    }
    push_singles(255, &mut tokens);
    if !cursor.is_empty() {
        return Err(cursor.malformed(WHAT, "bytes are left over"));
    }
    Ok(tokens.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(tokens: &[&[u8]]) -> Vec<u8> {
        let stored = store(tokens.iter().copied());
        let back = load(&stored, 0, 1 << 16).unwrap();
        assert_eq!(back.offsets.len(), tokens.len() + 1);
        for (token, pair) in tokens.iter().zip(back.offsets.windows(2)) {
            assert_eq!(&back.bytes[pair[0] as usize..pair[1] as usize], *token);
        }
        assert!(back.bytes.len() >= back.offsets[tokens.len()] as usize + 15);
        stored
    }

    fn complete(more: &[&'static [u8]]) -> Vec<Vec<u8>> {
        let singles = (0..=255_u8).map(|byte| vec![byte]);
        let mut all: Vec<_> = singles.chain(more.iter().map(|token| token.to_vec())).collect();
        all.sort();
        all
    }

    #[test]
    fn tokens_round_trip_and_shared_prefixes_are_stored_once() {
        assert_eq!(round_trip(&[]), [0, 0, 0, 0]);
        assert_eq!(round_trip(&[b"abc", b"abd"]), b"\0\x02\0\0\x02abc\x22d");
        assert_eq!(round_trip(&[b"ab", b"abcdefghijklmnop", &[0xFF; 16]])[8..10], *b"cd");
        let all = complete(&[b"\0\0", b"ab", b"abc", b"\xFF\xFF"]);
        let all: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
        assert_eq!(round_trip(&all), b"\x01\x04\0\0\x01\0\0\x01ab\x22c\x01\xFF\xFF");
        assert_eq!(
            round_trip(&complete(&[]).iter().map(Vec::as_slice).collect::<Vec<_>>()).len(),
            4
        );
    }

    #[test]
    fn malformed_dictionaries_are_refused() {
        let refused = |bytes: &[u8]| load(bytes, 0, 512).unwrap_err().to_string();
        assert!(refused(b"\x02\0\0\0").contains("flags"));
        assert!(refused(b"\0\x02\0\0\x00b\x00a").contains("out of order"));
        assert!(refused(b"\0\x02\0\0\x00b\x00b").contains("out of order"));
        // The shared prefix is shorter than possible.
        assert!(refused(b"\0\x02\0\0\x01ab\x01ac").contains("out of order"));
        assert!(refused(b"\0\x01\0\0\x12ab").contains("impossible length or prefix"));
        assert!(refused(b"\0\x02\0\0\x01ab\x21").contains("impossible length or prefix"));
        assert!(refused(b"\x01\x01\0\0\x00a").contains("impossible length or prefix"));
        assert!(refused(b"\0\0\0\0a").contains("left over"));
        assert!(refused(b"\x01\x01\x01\0").contains("over the limit of 512"));
        assert!(refused(b"\0\x01\x02\0").contains("over the limit of 512"));
        assert!(refused(b"\0\x01\0\0\x02ab").contains("needs"));
        assert!(refused(b"\0\x01").contains("needs"));
    }
}
