//! Dictionaries as they are stored: in order, each token behind what it shares with the
//! one before (§5.1).

use hypostyle_onpair::MAX_TOKEN_SIZE;

use hypostyle_core::error::Result;
use hypostyle_core::wire::Cursor;

/// Every single byte is a token, and none of them is stored.
const COMPLETE: u8 = 1;

/// A dictionary in the layout of the seed (§2.1).
#[derive(Debug)]
pub(super) struct Tokens {
    pub(super) offsets: Vec<u32>,
    /// The tokens and the padding behind them.
    pub(super) bytes: Vec<u8>,
}

impl Tokens {
    fn new() -> Self {
        Self { offsets: vec![0], bytes: Vec::new() }
    }

    fn push(&mut self, token: &[u8]) {
        self.bytes.extend_from_slice(token);
        // 65,536 tokens of 16 bytes at most.
        self.offsets.push(u32::try_from(self.bytes.len()).unwrap_or(u32::MAX));
    }

    /// Adds the padding: 16 bytes can be read from the start of each token.
    fn finish(mut self) -> Self {
        self.bytes.resize(self.bytes.len() + MAX_TOKEN_SIZE - 1, 0);
        self
    }
}

/// The stored form of tokens, which are in strictly ascending order.
pub(super) fn store<'a>(tokens: impl Iterator<Item = &'a [u8]> + Clone) -> Vec<u8> {
    let complete = tokens.clone().filter(|token| token.len() == 1).count() == 256;
    let stored = || tokens.clone().filter(|token| !complete || token.len() > 1);
    let mut out = vec![if complete { COMPLETE } else { 0 }];
    out.extend(u32::try_from(stored().count()).unwrap_or(u32::MAX).to_le_bytes().iter().take(3));
    let mut before: &[u8] = &[];
    for token in stored() {
        let shared = before.iter().zip(token).take_while(|(one, other)| one == other).count();
        let last = token.len().saturating_sub(1);
        out.extend(u8::try_from(last | shared << 4));
        out.extend_from_slice(token.get(shared..).unwrap_or_default());
        before = token;
    }
    out
}

/// Reads a stored dictionary that lies at `at`; at most `most` tokens.
pub(super) fn load(bytes: &[u8], at: u64, most: usize) -> Result<Tokens> {
    const WHAT: &str = "dictionary";
    let mut cursor = Cursor::new(bytes, at);
    let flags = cursor.u8(WHAT)?;
    let complete = match flags {
        0 => false,
        COMPLETE => true,
        _ => return Err(cursor.malformed(WHAT, format!("flags of {flags:#04x}"))),
    };
    let count = cursor.take(3, WHAT)?;
    let count = count.iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
    let singles = if complete { 256 } else { 0 };
    if count + singles > most {
        let why = format!("{count} tokens and {singles} bytes are more than codes can name");
        return Err(cursor.malformed(WHAT, why));
    }
    let mut tokens = Tokens::new();
    // Single bytes come before all that starts with them.
    let mut next = if complete { 0_u16 } else { 256 };
    let mut single = |up_to: u16, tokens: &mut Tokens| {
        for byte in next..=up_to {
            u8::try_from(byte).iter().for_each(|&byte| tokens.push(&[byte]));
        }
        next = next.max(up_to + 1);
    };
    let (mut before, mut len) = ([0_u8; MAX_TOKEN_SIZE], 0_usize);
    for _ in 0..count {
        let start = cursor.clone();
        let head = cursor.u8(WHAT)?;
        let (whole, shared) = (usize::from(head & 15) + 1, usize::from(head >> 4));
        if shared > len || shared >= whole || (complete && whole == 1) {
            return Err(start.malformed(WHAT, "a token that cannot be there"));
        }
        let rest = cursor.take(whole - shared, WHAT)?;
        // Greater than the one before where they part, which also says that they do there.
        let parted = before.get(shared..len).unwrap_or_default().first();
        if parted.is_some_and(|one| rest.first().is_none_or(|other| other <= one)) {
            return Err(start.malformed(WHAT, "tokens out of order"));
        }
        for (place, byte) in before.iter_mut().skip(shared).zip(rest) {
            *place = *byte;
        }
        len = whole;
        let token = before.get(..len).unwrap_or_default();
        single(token.first().copied().unwrap_or(0).into(), &mut tokens);
        tokens.push(token);
    }
    single(255, &mut tokens);
    match cursor.is_empty() {
        true => Ok(tokens.finish()),
        false => Err(cursor.malformed(WHAT, "bytes are left over")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(tokens: &[&[u8]]) -> Vec<u8> {
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
    fn tokens_come_back_and_shared_parts_are_stored_once() {
        assert_eq!(round(&[]), [0, 0, 0, 0]);
        assert_eq!(round(&[b"abc", b"abd"]), b"\0\x02\0\0\x02abc\x22d");
        assert_eq!(round(&[b"ab", b"abcdefghijklmnop", &[0xFF; 16]])[8..10], *b"cd");
        let all = complete(&[b"\0\0", b"ab", b"abc", b"\xFF\xFF"]);
        let all: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
        assert_eq!(round(&all), b"\x01\x04\0\0\x01\0\0\x01ab\x22c\x01\xFF\xFF");
        assert_eq!(round(&complete(&[]).iter().map(Vec::as_slice).collect::<Vec<_>>()).len(), 4);
    }

    #[test]
    fn what_is_no_dictionary_is_refused() {
        let refused = |bytes: &[u8]| load(bytes, 0, 512).unwrap_err().to_string();
        assert!(refused(b"\x02\0\0\0").contains("flags"));
        assert!(refused(b"\0\x02\0\0\x00b\x00a").contains("out of order"));
        assert!(refused(b"\0\x02\0\0\x00b\x00b").contains("out of order"));
        // Less is shared than could be.
        assert!(refused(b"\0\x02\0\0\x01ab\x01ac").contains("out of order"));
        assert!(refused(b"\0\x01\0\0\x12ab").contains("cannot be there"));
        assert!(refused(b"\0\x02\0\0\x01ab\x21").contains("cannot be there"));
        assert!(refused(b"\x01\x01\0\0\x00a").contains("cannot be there"));
        assert!(refused(b"\0\0\0\0a").contains("left over"));
        assert!(refused(b"\x01\x01\x01\0").contains("more than codes can name"));
        assert!(refused(b"\0\x01\x02\0").contains("more than codes can name"));
        assert!(refused(b"\0\x01\0\0\x02ab").contains("needs"));
        assert!(refused(b"\0\x01").contains("needs"));
    }
}
