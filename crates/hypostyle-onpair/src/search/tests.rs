//! Every search returns what the decoded strings give.

use std::cmp::Ordering;
use std::ops::Bound;

use proptest::prelude::*;

use super::{Pattern, Searcher};
use crate::tests::sentence;
use crate::{Column, Config, Effort, Offsets, Parse, Parts, compress, naive, pack};

/// Runs every search for a needle.
#[track_caller]
fn answers_are_right(parts: &Parts<'_>, strings: &[Vec<u8>], needle: &[u8]) {
    let column = Column::new(parts.borrowed()).unwrap();
    assert_eq!(column.len(), strings.len());
    let half = &needle[..needle.len() / 2];
    let other = strings.get(strings.len() / 2).map_or(half, |string| &string[..]);
    let patterns = [
        Pattern::Equals(needle),
        Pattern::StartsWith(needle),
        Pattern::EndsWith(needle),
        Pattern::Contains(needle),
        Pattern::ContainsIgnoringCase(needle),
        Pattern::AnyOf(&[]),
        Pattern::AnyOf(&[needle]),
        Pattern::AnyOf(&[needle, half, other, needle, b"\x00"]),
    ];
    for pattern in &patterns {
        let all: Vec<usize> =
            (0..strings.len()).filter(|&row| naive::matches(pattern, &strings[row])).collect();
        assert_eq!(column.find(pattern), all, "{pattern:?} {:?}", parts.parse);
        assert_eq!(column.count(pattern), all.len());
        // Ranges of rows, before and after the same searcher has searched all rows.
        let searcher = Searcher::new(&column, pattern);
        let (third, end) = (strings.len() / 3, strings.len());
        for _ in 0..2 {
            for rows in [0..third, third..end, end / 2..end / 2 + 1, third..end + 7, end..end + 1] {
                let some: Vec<usize> =
                    all.iter().copied().filter(|row| rows.contains(row)).collect();
                assert_eq!(searcher.find_in(rows.clone()), some, "{pattern:?} {rows:?}");
                assert_eq!(searcher.count_in(rows.clone()), some.len());
                assert_eq!(column.find_in(rows, pattern), some);
            }
            assert_eq!(searcher.find(), all);
        }
        for row in (0..end + 2).take(60) {
            assert_eq!(searcher.matches(row), all.contains(&row), "{pattern:?} {row}");
            assert_eq!(column.matches(row, pattern), all.contains(&row));
        }
        assert!(!searcher.matches(usize::MAX));
    }
    bounds_are_right(&column, strings, needle, other);
}

#[track_caller]
fn bounds_are_right(column: &Column<'_>, strings: &[Vec<u8>], one: &[u8], other: &[u8]) {
    for (row, string) in strings.iter().enumerate() {
        assert_eq!(column.compare_row(row, one), string[..].cmp(one));
    }
    let bounds = |bound| [Bound::Included(bound), Bound::Excluded(bound), Bound::Unbounded];
    for (low, high) in [(one, other), (other, one), (one, one)] {
        for lower in bounds(low) {
            for upper in bounds(high) {
                let is_within = |row: &usize| {
                    let string = &strings[*row][..];
                    let from = match lower {
                        Bound::Included(bound) => string >= bound,
                        Bound::Excluded(bound) => string > bound,
                        Bound::Unbounded => true,
                    };
                    let to = match upper {
                        Bound::Included(bound) => string <= bound,
                        Bound::Excluded(bound) => string < bound,
                        Bound::Unbounded => true,
                    };
                    from && to
                };
                let all: Vec<usize> = (0..strings.len()).filter(is_within).collect();
                assert_eq!(column.find_between(lower, upper), all, "{lower:?} {upper:?}");
                let rows = strings.len() / 4..strings.len() / 2;
                let some: Vec<usize> = all.into_iter().filter(|row| rows.contains(row)).collect();
                assert_eq!(column.find_between_in(rows, lower, upper), some);
            }
        }
    }
}

#[track_caller]
fn order_is_right(parts: &Parts<'_>, strings: &[Vec<u8>]) {
    let column = Column::new(parts.borrowed()).unwrap();
    for (a, one) in strings.iter().enumerate().take(80) {
        for (b, other) in strings.iter().enumerate().take(80) {
            assert_eq!(column.compare_rows(a, b), one.cmp(other), "{one:?} {other:?}");
        }
        assert_eq!(column.compare_row(a, one), Ordering::Equal);
    }
    let first = |wanted: Option<&Vec<u8>>| {
        wanted.and_then(|wanted| strings.iter().position(|string| string == wanted))
    };
    assert_eq!(column.min_row(), first(strings.iter().min()));
    assert_eq!(column.max_row(), first(strings.iter().max()));
}

/// Builds a column from the codes of each row, and returns its strings. Codes before the first
/// row and after the last row belong to no row.
fn by_hand(
    tokens: &[Vec<u8>],
    rows: &[Vec<u16>],
    bits: u32,
    parse: Parse,
) -> (Parts<'static>, Vec<Vec<u8>>) {
    let mut codes: Vec<u16> = if tokens.is_empty() { vec![] } else { vec![0; 3] };
    let mut offsets = vec![u32::try_from(codes.len()).unwrap()];
    for row in rows {
        codes.extend_from_slice(row);
        offsets.push(u32::try_from(codes.len()).unwrap());
    }
    codes.extend(tokens.first().map(|_| 0));
    let mut ends = vec![0];
    for token in tokens {
        ends.push(ends[ends.len() - 1] + u32::try_from(token.len()).unwrap());
    }
    let parts = Parts {
        bits,
        dict_offsets: ends.into(),
        dict_bytes: [tokens.concat(), vec![b'a'; 16]].concat().into(),
        codes: pack(&codes, bits).unwrap().into(),
        code_count: codes.len(),
        row_offsets: match bits % 2 {
            0 => Offsets::Narrow(offsets.into()),
            _ => Offsets::Wide(offsets.into_iter().map(u64::from).collect()),
        },
        // These lengths are wrong, but no search reads them.
        row_lengths: Some(vec![1; rows.len()].into()),
        parse,
    };
    let strings = rows
        .iter()
        .map(|row| row.iter().flat_map(|&code| tokens[usize::from(code)].clone()).collect());
    (parts, strings.collect())
}

/// Tokenizes a string with the longest token at each position, and chooses among equal tokens.
fn longest(tokens: &[Vec<u8>], string: &[u8], mut state: usize) -> Option<Vec<u16>> {
    let (mut codes, mut rest) = (Vec::new(), string);
    while !rest.is_empty() {
        let fits = || (0..tokens.len()).filter(|&code| rest.starts_with(&tokens[code]));
        let max_len = fits().map(|code| tokens[code].len()).max()?;
        let fits: Vec<usize> = fits().filter(|&code| tokens[code].len() == max_len).collect();
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        codes.push(u16::try_from(fits[(state >> 33) % fits.len()]).unwrap());
        rest = &rest[max_len..];
    }
    Some(codes)
}

/// Returns needles from within a row, and similar ones.
fn needles(strings: &[Vec<u8>], state: usize) -> Vec<Vec<u8>> {
    let mut needles = vec![vec![], vec![0], vec![0xFF], b"zq".to_vec(), vec![b'a'; 400]];
    if let Some(string) = strings.get(state % strings.len().max(1)) {
        let start = (state >> 8) % (string.len() + 1);
        let end = start + (state >> 20) % (string.len() - start + 1);
        let inner = string[start..end].to_vec();
        let mut changed = inner.clone();
        if let Some(byte) = changed.get_mut((state >> 30) % (end - start).max(1)) {
            *byte ^= 0x20;
        }
        let next = strings.get(state % strings.len() + 1).unwrap_or(string);
        needles.extend([
            string.clone(),
            string[start..].to_vec(),
            string[..end].to_vec(),
            inner,
            changed,
            [&string[..], next].concat(),
            string[..start].to_ascii_uppercase(),
        ]);
    }
    needles
}

fn text(rows: usize) -> Vec<Vec<u8>> {
    let words = [
        "http://",
        "www.",
        "example",
        ".org/",
        "Index",
        "?id=",
        "&q=",
        "-",
        "ünïcode",
        "0",
        "SESSION=",
    ];
    (0..rows).map(|row| sentence(&words, row.wrapping_mul(2_654_435_761), 13)).collect()
}

#[test]
fn searches_work_at_every_width() {
    let strings = text(300);
    for bits in 9..=16 {
        for parse in [Parse::Greedy, Parse::Fewest] {
            let config =
                Config { bits: Some(bits), parse, effort: Effort::Quick, ..Config::default() };
            let mut parts = compress(&strings, &config).unwrap();
            // Repack the codes at the wanted width, since training may choose a narrower one.
            let codes = crate::unpack(&parts.codes, parts.bits, parts.code_count).unwrap();
            parts.codes = pack(&codes, bits).unwrap().into();
            parts.bits = bits;
            order_is_right(&parts, &strings);
            let mut asked = needles(&strings, 0x9E37_79B9_7F4A_7C15 >> bits);
            asked.extend([b"session=".to_vec(), b"SESSION=4".to_vec(), b"x".to_vec()]);
            // Needles that are longer than a window, common and rare.
            let longest = strings.iter().max_by_key(|string| string.len()).unwrap();
            asked.extend([longest[1..longest.len() - 1].to_vec(), longest[..60].to_vec()]);
            for needle in asked {
                answers_are_right(&parts, &strings, &needle);
            }
        }
    }
}

#[test]
fn long_needles_match_as_a_whole() {
    // Rows that contain some part of the needle, but not all of it.
    let needle: Vec<u8> = (0..150).map(|at: u32| b"abc"[(at * at % 7 % 3) as usize]).collect();
    let mut strings = Vec::new();
    for split in [0, 1, 40, 47, 48, 49, 75, 100, 101, 102, 149] {
        strings.extend([needle[split..].to_vec(), needle[..split].to_vec()]);
        let mut wrong = [b"xx", &needle[..], b"yy"].concat();
        wrong[split + 2] = b'-';
        strings.extend([wrong, [b"ab", &needle[..], b"bc"].concat()]);
    }
    for len in [47, 48, 49, 50, 96, 150] {
        for parse in [Parse::Greedy, Parse::Fewest] {
            let parts = compress(&strings, &Config { parse, ..Config::default() }).unwrap();
            answers_are_right(&parts, &strings, &needle[..len]);
            answers_are_right(&parts, &strings, &needle[150 - len..]);
            // Among many other rows, so that the needle is rare.
            let many = [text(1000), strings.clone()].concat();
            let parts = compress(&many, &Config { parse, ..Config::default() }).unwrap();
            let column = Column::new(parts).unwrap();
            let pattern = Pattern::Contains(&needle[..len]);
            let all = (0..many.len()).filter(|&row| naive::matches(&pattern, &many[row]));
            assert_eq!(column.find(&pattern), all.collect::<Vec<_>>());
        }
    }
}

/// The rare byte is at any position of the needle, at either end of a token, and in rows far
/// apart or adjacent.
#[test]
fn needles_are_found_near_a_rare_byte() {
    let tokens: Vec<Vec<u8>> =
        ["a", "b", "ab", "xZ", "Zx", "Z", "aZb"].map(|token| token.as_bytes().to_vec()).into();
    for bits in 9..=16 {
        let row = |row: usize| {
            let state = row.wrapping_mul(0x9E37_79B9) >> 7;
            let mut codes: Vec<u16> =
                (0..state % 7).map(|at| [0, 1, 2, 1][(state >> (at + 3)) % 4]).collect();
            // Most rows lack the byte, and some rows with it are adjacent.
            if row % 301 < 4 {
                codes.insert(codes.len() / 2, [3, 4, 5, 6][state % 4]);
            }
            codes
        };
        let rows: Vec<Vec<u16>> = (0..4000).map(row).collect();
        let (parts, strings) = by_hand(&tokens, &rows, bits, Parse::Unknown);
        let column = Column::new(parts).unwrap();
        for needle in
            ["Z", "Zab", "Za", "Zb", "aZb", "abZ", "bZ", "xZb", "xZab", "bZx", "abb", "Zxa"]
        {
            let pattern = Pattern::Contains(needle.as_bytes());
            let all: Vec<usize> =
                (0..rows.len()).filter(|&row| naive::matches(&pattern, &strings[row])).collect();
            assert!(!all.is_empty(), "{needle}");
            assert_eq!(column.find(&pattern), all, "{needle}");
        }
    }
}

#[test]
fn searches_of_empty_columns_find_nothing() {
    for parse in [Parse::Greedy, Parse::Fewest, Parse::Unknown] {
        for rows in [vec![], vec![vec![]; 3]] {
            for tokens in [vec![], vec![b"a".to_vec()]] {
                let (parts, strings) = by_hand(&tokens, &rows, 9, parse);
                order_is_right(&parts, &strings);
                for needle in [&b""[..], b"a", b"ab"] {
                    answers_are_right(&parts, &strings, needle);
                }
            }
        }
    }
}

/// A needle may have more codes than a row that starts with it, if a longer token of the row
/// covers the end of the needle and more.
#[test]
fn a_row_of_fewer_codes_than_the_needle_may_start_with_it() {
    let texts = ["a", "b", "c", "d", "defg", "e", "ef", "f", "g"];
    let tokens: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    let (parts, strings) =
        by_hand(&tokens, &[vec![0, 1, 2, 4], vec![0, 1, 2, 3, 6]], 16, Parse::Greedy);
    assert_eq!(strings, [b"abcdefg".to_vec(), b"abcdef".to_vec()]);
    answers_are_right(&parts, &strings, b"abcdef");
    let column = Column::new(parts).unwrap();
    assert_eq!(column.find(&Pattern::StartsWith(b"abcdef")), [0, 1]);
}

/// Tokens of few distinct bytes, so that they overlap in many ways; some may be equal.
fn tokens() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let byte = || prop::sample::select(&b"aabbAB\x00\xFF\xC3"[..]);
    let short = prop::collection::vec(byte(), 1..4);
    let long = prop::collection::vec(byte(), 1..17);
    prop::collection::vec(prop_oneof![short, long], 1..40)
}

fn rows() -> impl Strategy<Value = Vec<Vec<prop::sample::Index>>> {
    let row = prop::collection::vec(any::<prop::sample::Index>(), 0..12);
    prop::collection::vec(row, 0..80)
}

fn numbered(tokens: &[Vec<u8>], rows: &[Vec<prop::sample::Index>]) -> Vec<Vec<u16>> {
    let code = |index: &prop::sample::Index| u16::try_from(index.index(tokens.len())).unwrap();
    rows.iter().map(|row| row.iter().map(code).collect()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Rows with any split into tokens, and tokens in any order.
    #[test]
    fn searches_work_for_any_split_into_tokens(tokens in tokens(), rows in rows(), bits in 9_u32..=16, state: usize) {
        let rows = numbered(&tokens, &rows);
        let (parts, strings) = by_hand(&tokens, &rows, bits, Parse::Unknown);
        order_is_right(&parts, &strings);
        for needle in needles(&strings, state) {
            answers_are_right(&parts, &strings, &needle);
        }
    }

    /// Rows with the longest token at each position. Tokens may be in any order, be equal, and
    /// lack single bytes.
    #[test]
    fn searches_work_for_the_longest_tokens(
        mut tokens in tokens(),
        rows in rows(),
        bits in 9_u32..=16,
        order in 0..3,
        state: usize,
    ) {
        if order > 0 { tokens.sort(); }
        if order > 1 { tokens.dedup(); }
        let strings = by_hand(&tokens, &numbered(&tokens, &rows), bits, Parse::Greedy).1;
        let tokenize = |(row, string): (usize, &Vec<u8>)| longest(&tokens, string, state ^ row);
        let rows: Vec<Vec<u16>> = strings.iter().enumerate().filter_map(tokenize).collect();
        let (parts, strings) = by_hand(&tokens, &rows, bits, Parse::Greedy);
        order_is_right(&parts, &strings);
        for needle in needles(&strings, state) {
            answers_are_right(&parts, &strings, &needle);
        }
    }

    /// Rows of few distinct bytes, and other strings as needles.
    #[test]
    fn searches_work_for_compressed_strings(
        strings in prop::collection::vec(prop::collection::vec(0_u8..3, 0..90), 1..60),
        fewest: bool,
        state: usize,
    ) {
        let parse = if fewest { Parse::Fewest } else { Parse::Greedy };
        let config = Config { parse, effort: Effort::Quick, ..Config::default() };
        let parts = compress(&strings, &config).unwrap();
        order_is_right(&parts, &strings);
        for needle in needles(&strings, state) {
            answers_are_right(&parts, &strings, &needle);
        }
    }
}
