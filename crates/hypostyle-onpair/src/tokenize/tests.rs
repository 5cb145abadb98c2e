use proptest::prelude::*;

use super::*;
use crate::naive;
use crate::token::Token;

/// Returns tokens that include every single byte, in order.
fn tokens(more: impl IntoIterator<Item = Vec<u8>>) -> Vec<Token> {
    let mut all: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    all.extend(more);
    all.sort_unstable();
    all.dedup();
    all.iter().map(|token| Token::new(token)).collect()
}

/// Returns the codes, and the number of codes of each string.
fn tokenize(
    matcher: &Matcher,
    strings: &[Vec<u8>],
    total_bytes: usize,
    advance: Advance,
) -> (Vec<u16>, Vec<u32>) {
    let mut batch = TokenizedBatch::default();
    batch.append_with(matcher, strings.iter().map(Vec::as_slice), total_bytes, advance);
    batch.take()
}

/// Returns every implementation that the processor supports.
fn implementations() -> Vec<Advance> {
    let mut implementations: Vec<Advance> = vec![advance];
    #[cfg(target_arch = "x86_64")]
    if avx512::is_supported() {
        implementations.push(avx512::advance);
    }
    implementations
}

#[track_caller]
fn check(dictionary: Vec<Token>, strings: &[Vec<u8>]) {
    let plain: Vec<&[u8]> = dictionary.iter().map(Token::bytes).collect();
    let expected: Vec<Vec<u16>> = strings.iter().map(|it| naive::tokenize(&plain, it)).collect();
    let matcher = Matcher::new(dictionary.clone(), 0);
    assert_eq!(matcher.tokens(), dictionary, "none was left out");
    let counts: Vec<u32> = expected.iter().map(|codes| to_u32(codes.len())).collect();
    let bytes = strings.iter().map(Vec::len).sum();
    for advance in implementations() {
        // The stated size may be wrong.
        for total_bytes in [bytes, 0, 1 << 20] {
            let tokenized = tokenize(&matcher, strings, total_bytes, advance);
            assert_eq!(tokenized, (expected.concat(), counts.clone()));
        }
    }
    for (string, codes) in strings.iter().zip(&expected) {
        let mut one = Vec::new();
        matcher.tokenize(string, &mut one);
        assert_eq!(&one, codes);
    }
}

/// Strings of few distinct bytes, so that tokens overlap in many ways.
fn string(max_len: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(vec![0_u8, b'a', b'b', b'c', 0xFF]), 0..max_len)
}

proptest! {
    #[test]
    fn lanes_agree_with_the_reference(
        more in prop::collection::vec(string(17).prop_filter("no token", |it| !it.is_empty()), 0..200),
        strings in prop::collection::vec(string(60), 0..100),
    ) {
        check(tokens(more), &strings);
    }
}

#[test]
fn the_end_of_a_string_is_not_taken_for_zeros() {
    // Strings that end where a token continues with zeros, and strings that have the zeros.
    let dictionary = tokens([b"ab\0".to_vec(), b"ab\0\0\0\0\0\0\0\0\0".to_vec(), vec![0; 16]]);
    let strings = [
        b"ab".to_vec(),
        b"ab\0".to_vec(),
        b"ab\0\0\0\0\0\0\0\0".to_vec(),
        vec![0; 40],
        vec![0; 15],
    ];
    check(dictionary, &strings);
    check(tokens([vec![0xFF; 16], vec![0xFF; 2]]), &[vec![0xFF; 33], vec![0xFF; 3]]);
}

#[test]
fn strings_beyond_the_maximum_text_are_tokenized() {
    let dictionary = tokens([b"ab".to_vec(), b"abab".to_vec(), b"ba".to_vec()]);
    let repeated = |len: usize| b"ab".iter().copied().cycle().take(len).collect::<Vec<u8>>();
    // Some fill the text exactly, and some are too long for any text.
    let lens = [3, MAX_TEXT_BYTES - 3, 0, 1, MAX_TEXT_BYTES, MAX_TEXT_BYTES + 1, 0, 5, 40];
    check(dictionary.clone(), &lens.map(repeated));
    check(dictionary, &vec![repeated(0); MAX_TEXT_BYTES * 2 + 1]);
}

#[test]
fn many_tokens_and_many_strings() {
    // So many lookups that some fingerprints match wrongly.
    let mut state = 1_u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    let mut bytes = |max_more: u64| -> Vec<u8> {
        let len = 2 + next(max_more);
        (0..len).map(|_| b'a' + u8::try_from(next(7)).unwrap()).collect()
    };
    let dictionary = tokens((0..60_000).map(|_| bytes(15)));
    let strings: Vec<Vec<u8>> = (0..10_000).map(|_| bytes(80)).collect();
    let matcher = Matcher::new(dictionary, 0);
    for advance in implementations() {
        let (codes, counts) = tokenize(&matcher, &strings, 1 << 19, advance);
        let mut rest = &codes[..];
        for (string, count) in strings.iter().zip(counts) {
            let (row, after) = rest.split_at(count as usize);
            let mut expected = Vec::new();
            let mut left = &string[..];
            while let Some(&byte) = left.first() {
                // Compares bytes at each length.
                let words = Token::new(left).words();
                let (token, len) = matcher.longest_verified(words, left.len(), byte).unwrap();
                expected.push(token);
                left = &left[len..];
            }
            assert_eq!(row, expected);
            rest = after;
        }
    }
}
