use proptest::prelude::*;

use super::*;
use crate::naive;
use crate::train::Token;

/// Tokens with every byte among them, in order.
fn tokens(more: impl IntoIterator<Item = Vec<u8>>) -> Vec<Token> {
    let mut all: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    all.extend(more);
    all.sort_unstable();
    all.dedup();
    all.iter().map(|token| Token::new(token)).collect()
}

/// Cuts in one of the ways that there are.
fn cut(matcher: &Matcher, strings: &[Vec<u8>], run: Run) -> (Vec<u16>, Vec<u32>) {
    let mut cut = Cut::default();
    let sizes: Vec<usize> = strings.iter().map(Vec::len).collect();
    cut.text = strings.concat();
    let mut end = 0;
    for (row, size) in sizes.iter().enumerate() {
        // Parts of several strings and of one.
        let (start, first) = (place(end), place(cut.ends.len()));
        end += size;
        cut.ends.push(place(end));
        match cut.parts.last_mut().filter(|_| row % 3 != 0) {
            Some(part) => {
                // The end that stands behind the part moves on.
                let last = cut.ends.len() - 2;
                cut.ends.swap_remove(last);
                cut.ends.push(place(end));
                part.last = place(cut.ends.len() - 1);
            }
            None => {
                cut.ends.push(place(end));
                let out = start + place(cut.parts.len());
                cut.parts.push(Part { start, out, first, last: first + 1 });
            }
        }
    }
    cut.in_lanes(matcher, run);
    (cut.codes, cut.counts)
}

/// Every way that this machine has.
fn ways() -> Vec<Run> {
    let mut ways: Vec<Run> = vec![run];
    #[cfg(target_arch = "x86_64")]
    if wide::is_there() {
        ways.push(wide::run);
    }
    ways
}

fn check(dictionary: Vec<Token>, strings: &[Vec<u8>]) {
    let plain: Vec<&[u8]> = dictionary.iter().map(Token::bytes).collect();
    let expected: Vec<Vec<u16>> = strings.iter().map(|it| naive::cut(&plain, it)).collect();
    let matcher = Matcher::new(dictionary.clone(), 0);
    assert_eq!(matcher.tokens(), dictionary, "none was left out");
    let counts: Vec<u32> = expected.iter().map(|codes| place(codes.len())).collect();
    for run in ways() {
        assert_eq!(cut(&matcher, strings, run), (expected.concat(), counts.clone()));
    }
    let mut all = Cut::default();
    all.rows(&matcher, strings, 0..strings.len());
    assert_eq!((all.codes, all.counts), (expected.concat(), counts));
    for (string, codes) in strings.iter().zip(&expected) {
        let mut one = Vec::new();
        matcher.cut(string, &mut one);
        assert_eq!(&one, codes);
    }
}

/// Strings of few different bytes, so that tokens overlap in every way.
fn string(most: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(vec![0_u8, b'a', b'b', b'c', 0xFF]), 0..most)
}

proptest! {
    #[test]
    fn lanes_cut_as_the_plainest_way_does(
        more in prop::collection::vec(string(17).prop_filter("no token", |it| !it.is_empty()), 0..200),
        strings in prop::collection::vec(string(60), 0..100),
    ) {
        check(tokens(more), &strings);
    }
}

#[test]
fn ends_of_text_and_zeros_are_told_apart() {
    // A row that ends where a token goes on with zeros, and one that has them.
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
fn many_tokens_and_many_texts() {
    // So many look-ups that some find by mistake what is not there.
    let mut state = 1_u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    let mut bytes = |most: u64| -> Vec<u8> {
        let len = 2 + next(most);
        (0..len).map(|_| b'a' + u8::try_from(next(7)).unwrap()).collect()
    };
    let dictionary = tokens((0..60_000).map(|_| bytes(15)));
    let strings: Vec<Vec<u8>> = (0..10_000).map(|_| bytes(80)).collect();
    let matcher = Matcher::new(dictionary, 0);
    for run in ways() {
        let (codes, counts) = cut(&matcher, &strings, run);
        let mut rest = &codes[..];
        for (string, count) in strings.iter().zip(counts) {
            let (row, after) = rest.split_at(count as usize);
            let mut expected = Vec::new();
            let mut left = &string[..];
            while let Some(&byte) = left.first() {
                // With a comparison for each length.
                let words = Token::new(left).words();
                let (token, len) = matcher.longest_in_doubt(words, left.len(), byte).unwrap();
                expected.push(token);
                left = &left[len..];
            }
            assert_eq!(row, expected);
            rest = after;
        }
    }
}
