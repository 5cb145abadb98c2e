//! Round trips at every width and through every way of decoding.

use proptest::prelude::*;

use crate::{
    Column, Config, Dictionary, Effort, ErrorKind, Joined, Offsets, Parse, Parts, Section,
    compress, decompress, decompress_into, decompress_rows, naive, unpack,
};

fn config(bits: Option<u32>, parse: Parse) -> Config {
    Config { bits, parse, effort: Effort::Quick, lengths: true, ..Config::default() }
}

/// Compresses strings and decodes them in every way.
#[track_caller]
fn comes_back(strings: &[Vec<u8>], config: &Config) -> Parts<'static> {
    let parts = compress(strings, config).unwrap();
    let column = Column::new(parts.borrowed()).unwrap();
    let all = strings.concat();
    assert_eq!(column.len(), strings.len());
    assert_eq!(column.decode().unwrap(), all);
    assert_eq!(naive::decode(&parts), all);
    let mut exact = vec![0; all.len()];
    decompress_into(&parts, &mut exact).unwrap();
    assert_eq!(exact, all);
    let rows = decompress_rows(&parts).unwrap();
    assert_eq!((&rows.bytes, &rows.offsets), (&all, &column.decoded_offsets()));
    assert_eq!(rows.get(strings.len()), None);
    assert!(column.iter().map(Result::unwrap).eq(strings.iter().cloned()));

    let mut ends = 0;
    let offsets = column.decoded_offsets();
    for (row, string) in strings.iter().enumerate() {
        let mut out = b"before".to_vec();
        column.row_into(row, &mut out).unwrap();
        assert_eq!(out, [b"before", &string[..]].concat());
        ends += string.len();
        assert_eq!(offsets[row + 1], ends as u64);
        assert_eq!(column.row_len(row), string.len());
        assert_eq!(rows.get(row), Some(&string[..]));
    }
    for target in [1, 40, 100_000] {
        let mut seen = Vec::new();
        let mut rows = 0;
        let block = |first: usize, bytes: &[u8], ends: &[usize]| {
            assert_eq!(first, rows);
            rows += ends.len();
            assert_eq!(ends.last(), Some(&bytes.len()));
            seen.extend_from_slice(bytes);
            Ok::<_, ()>(())
        };
        column.for_each_block(target, block).unwrap();
        assert_eq!((seen, rows), (all.clone(), strings.len()));
    }
    if !strings.is_empty() {
        let rows: Vec<usize> = (0..100).map(|i| i * 7919 % strings.len()).collect();
        let (mut out, mut ends) = (b"x".to_vec(), Vec::new());
        column.take(&rows, &mut out, &mut ends).unwrap();
        let mut start = 1;
        for (row, end) in rows.into_iter().zip(ends) {
            assert_eq!(out[start..end], strings[row]);
            start = end;
        }
        assert_eq!(start, out.len());
    }
    // Other readers require these.
    assert!(parts.is_sorted() && parts.is_complete());
    assert!(parts.token_count() <= 1 << parts.bits);
    parts
}

fn text(seed: usize, rows: usize) -> Vec<Vec<u8>> {
    let words =
        ["http://", "www.", "example", ".org/", "index", "?id=", "&q=", "-", "ünïcode", "0"];
    (0..rows).map(|row| sentence(&words, row * 31 + seed, 9)).collect()
}

/// Returns fewer than `max_words` words, each followed by a number.
pub(crate) fn sentence(words: &[&str], mut state: usize, max_words: usize) -> Vec<u8> {
    let mut out = String::new();
    for _ in 0..state % max_words {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        out += words[(state >> 40) % words.len()];
        out += &((state >> 50) % 100).to_string();
    }
    out.into_bytes()
}

#[test]
fn every_width_comes_back() {
    for bits in 9..=16 {
        for parse in [Parse::Greedy, Parse::Fewest] {
            for rows in [0, 1, 2, 1500] {
                let parts = comes_back(&text(bits as usize, rows), &config(Some(bits), parse));
                assert!(parts.bits <= bits);
            }
        }
    }
}

#[test]
fn odd_strings_come_back() {
    let mut odd: Vec<Vec<u8>> = vec![vec![], vec![0], vec![0xFF]];
    for len in 1..=40_u8 {
        odd.extend([vec![0; len.into()], vec![0xFF; len.into()], (0..len).collect()]);
        odd.push(vec![]);
    }
    odd.push((0..200_000_u32).map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect());
    odd.push(b"abcdefgh".repeat(30_000));
    for parse in [Parse::Greedy, Parse::Fewest] {
        comes_back(&odd, &config(None, parse));
        comes_back(
            &odd.iter().cloned().cycle().take(500).collect::<Vec<_>>(),
            &config(Some(9), parse),
        );
        comes_back(&vec![vec![]; 50], &config(None, parse));
    }
}

#[test]
fn threads_do_not_change_the_column_and_effort_makes_it_smaller() {
    let strings = text(3, 60_000);
    let one = compress(&strings, &config(None, Parse::Greedy)).unwrap();
    for threads in [2, 5] {
        let config = Config { threads, ..config(None, Parse::Greedy) };
        assert_eq!(compress(&strings, &config).unwrap(), one);
    }
    for effort in [Effort::Usual, Effort::Thorough] {
        let parts = comes_back(&strings, &Config { effort, ..Config::default() });
        assert!(parts.stored_len() <= one.stored_len() + one.stored_len() / 50);
    }
    let fewest = compress(&strings, &config(None, Parse::Fewest)).unwrap();
    assert!(fewest.code_count <= one.code_count);
}

#[test]
fn codes_are_those_of_the_longest_tokens() {
    let strings = text(8, 400);
    let parts = compress(&strings, &config(Some(10), Parse::Greedy)).unwrap();
    let tokens: Vec<&[u8]> = (0..parts.token_count()).map(|at| parts.token(at)).collect();
    let expected: Vec<u16> = strings.iter().flat_map(|it| naive::tokenize(&tokens, it)).collect();
    assert_eq!(unpack(&parts.codes, parts.bits, parts.code_count).unwrap(), expected);
    // The fewest codes are as few as the reference finds.
    let fewest = Config { parse: Parse::Fewest, ..config(Some(10), Parse::Greedy) };
    let column = compress(&strings, &fewest).unwrap();
    for (row, string) in strings.iter().enumerate() {
        let count = column.row_offsets.get(row + 1).unwrap() - column.row_offsets.get(row).unwrap();
        assert_eq!(count, naive::fewest(&tokens, string));
    }
}

#[test]
fn strings_may_contain_bytes_that_training_has_not_seen() {
    let config = config(Some(10), Parse::Greedy);
    let dictionary = Dictionary::train(&text(8, 400), &config).unwrap();
    let tokens: Vec<&[u8]> = dictionary.tokens().collect();
    // Batches with an increasing number of bytes that are in no longer token.
    for rare in [0, 1, 3, 7, 8, 9, 100] {
        let mut strings = text(9, 4000);
        for (byte, string) in (0..=u8::MAX).rev().zip(&mut strings).take(rare) {
            string.insert(string.len() / 2, byte);
        }
        strings.rotate_left(1300);
        let expected: Vec<u16> =
            strings.iter().flat_map(|it| naive::tokenize(&tokens, it)).collect();
        for threads in [1, 3] {
            let config = Config { threads, ..config.clone() };
            let parts = dictionary.compress(&strings, &config).unwrap();
            assert_eq!(unpack(&parts.codes, parts.bits, parts.code_count).unwrap(), expected);
            assert_eq!(decompress(&parts).unwrap(), strings.concat());
        }
    }
}

#[test]
fn one_dictionary_serves_several_columns() {
    let (one, other) = (text(1, 300), text(2, 300));
    let config = config(Some(11), Parse::Greedy);
    let dictionary = Dictionary::train(&one, &config).unwrap();
    let parts = dictionary.compress(&other, &config).unwrap();
    assert_eq!(decompress(&parts).unwrap(), other.concat());
    assert_eq!(dictionary.tokens().count(), parts.token_count());
}

#[test]
fn arrow_offsets_need_not_start_at_zero() {
    let bytes = b"xxabcdefyy";
    let joined = Joined::new(bytes, &[2_i32, 4, 4, 8]).unwrap();
    let parts = compress(&joined, &Config::default()).unwrap();
    assert_eq!(decompress(&parts).unwrap(), b"abcdef");
    assert_eq!(parts.row_count(), 3);
    for offsets in [vec![0_i32, -1], vec![3, 2], vec![0, 11]] {
        assert_eq!(Joined::new(bytes, &offsets).unwrap_err().section, Section::Input);
    }
}

/// Returns a column of the rows `abc`, an empty row and `cab`.
fn small() -> Parts<'static> {
    Parts {
        bits: 9,
        dict_offsets: vec![0, 2, 3].into(),
        dict_bytes: [&b"abc"[..], &[7; 15]].concat().into(),
        codes: crate::pack(&[0, 1, 1, 0], 9).unwrap().into(),
        code_count: 4,
        row_offsets: Offsets::Wide(vec![0, 2, 2, 4].into()),
        row_lengths: Some(vec![3, 0, 3].into()),
        parse: Parse::Unknown,
    }
}

#[test]
fn errors_name_what_is_malformed() {
    assert_eq!(decompress(&small()).unwrap(), b"abccab");
    let wrong = |change: &dyn Fn(&mut Parts<'static>), section, at, kind| {
        let mut parts = small();
        change(&mut parts);
        let err = parts.validate().unwrap_err();
        assert_eq!((err.section, err.at, err.kind), (section, at, kind), "{err}");
        assert!(Column::new(parts.clone()).is_err() && decompress(&parts).is_err());
    };
    use ErrorKind::*;
    wrong(&|it| it.bits = 8, Section::Bits, 0, Width);
    wrong(&|it| it.bits = 17, Section::Bits, 0, Width);
    wrong(&|it| it.dict_offsets = vec![].into(), Section::DictOffsets, 0, FirstOffset);
    wrong(&|it| it.dict_offsets = vec![1, 2].into(), Section::DictOffsets, 0, FirstOffset);
    wrong(&|it| it.dict_offsets = vec![0, 2, 2].into(), Section::DictOffsets, 2, Order);
    wrong(&|it| it.dict_offsets = vec![0, 2, 1].into(), Section::DictOffsets, 2, Order);
    wrong(&|it| it.dict_offsets = vec![0, 17].into(), Section::DictOffsets, 1, Order);
    let many: Vec<u32> = (0..=513).collect();
    wrong(&|it| it.dict_offsets = many.clone().into(), Section::DictOffsets, 513, TooMany);
    wrong(&|it| it.dict_bytes = vec![0; 17].into(), Section::DictBytes, 17, TooShort);
    wrong(&|it| it.codes = vec![0; 4].into(), Section::Codes, 4, TooShort);
    wrong(&|it| it.code_count = usize::MAX, Section::Codes, 5, TooShort);
    let beyond = crate::pack(&[0, 1, 2, 0], 9).unwrap();
    wrong(&|it| it.codes = beyond.clone().into(), Section::Codes, 2, NoSuchToken);
    let rows = |rows: Vec<u32>| Offsets::Narrow(rows.into());
    wrong(&|it| it.row_offsets = rows(vec![]), Section::RowOffsets, 0, FirstOffset);
    wrong(&|it| it.row_offsets = rows(vec![0, 3, 2]), Section::RowOffsets, 2, Order);
    wrong(&|it| it.row_offsets = rows(vec![0, 5]), Section::RowOffsets, 1, TooShort);
    wrong(&|it| it.row_lengths = Some(vec![3, 0].into()), Section::RowLengths, 2, TooShort);
    // Rows need not use all codes, and bytes after the codes are ignored.
    let mut slice = small();
    slice.row_offsets = rows(vec![1, 2]);
    slice.row_lengths = None;
    slice.codes.to_mut().extend_from_slice(&[0xFF; 8]);
    assert_eq!(decompress(&slice).unwrap(), b"c");
    // An empty dictionary has no codes.
    let empty = Parts {
        dict_offsets: vec![0].into(),
        dict_bytes: vec![].into(),
        codes: vec![].into(),
        code_count: 0,
        row_offsets: rows(vec![0, 0]),
        row_lengths: None,
        ..small()
    };
    assert_eq!(decompress(&empty).unwrap(), b"");
    assert!(Parts { code_count: 1, codes: vec![0; 2].into(), ..empty }.validate().is_err());
}

#[test]
fn rows_out_of_range_and_wrong_sizes_are_errors() {
    let column = Column::new(small()).unwrap();
    let mut out = b"kept".to_vec();
    for row in [3, usize::MAX] {
        assert_eq!(column.row_into(row, &mut out).unwrap_err().kind, ErrorKind::NoSuchRow);
        let err = column.take(&[row], &mut out, &mut Vec::new()).unwrap_err();
        assert_eq!((err.section, err.at), (Section::Rows, row as u64));
    }
    assert_eq!(out, b"kept");
    for size in [0, 5, 7] {
        assert_eq!(column.decode_into(&mut vec![0; size]).unwrap_err().section, Section::Output);
    }
    // A wrong stored length is found when its row is decoded.
    let mut parts = small();
    parts.row_lengths = Some(vec![3, 0, 4].into());
    let column = Column::new(parts).unwrap();
    assert_eq!(column.row_into(2, &mut out).unwrap_err().kind, ErrorKind::Length);
    assert_eq!(column.take(&[0, 2], &mut out, &mut Vec::new()).unwrap_err().at, 2);
    assert_eq!(column.get(2).unwrap_err().kind, ErrorKind::Length);
    let err = column.decode_rows().unwrap_err();
    assert_eq!((err.section, err.at, err.kind), (Section::RowLengths, 2, ErrorKind::Length));
}

/// The last token may have any length, with no more padding than required.
#[test]
fn the_end_of_the_dictionary_is_read_exactly() {
    for len in 1..=16_u8 {
        let mut parts = small();
        parts.dict_offsets = vec![0, 2, 2 + u32::from(len)].into();
        parts.dict_bytes = (0..18).collect::<Vec<u8>>().into();
        parts.row_lengths = None;
        let token: Vec<u8> = (2..2 + len).collect();
        assert_eq!(decompress(&parts).unwrap(), [&[0, 1][..], &token, &token, &[0, 1]].concat());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_strings_come_back(
        strings in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..30), 0..60),
        bits in prop::option::of(9_u32..=16),
        fewest: bool,
    ) {
        comes_back(&strings, &config(bits, if fewest { Parse::Fewest } else { Parse::Greedy }));
    }

    #[test]
    fn strings_of_few_bytes_come_back(
        strings in prop::collection::vec(prop::collection::vec(0_u8..4, 0..200), 0..60),
        bits in prop::option::of(9_u32..=16),
        fewest: bool,
    ) {
        comes_back(&strings, &config(bits, if fewest { Parse::Fewest } else { Parse::Greedy }));
    }

    /// Any buffers are a valid column or an error, and a valid column decodes as in the
    /// reference.
    #[test]
    fn any_buffers_are_a_column_or_an_error(
        bits in 8_u32..=17,
        steps in prop::collection::vec(0_u32..18, 0..40),
        bytes in prop::collection::vec(any::<u8>(), 0..700),
        codes in prop::collection::vec(any::<u8>(), 0..60),
        code_count in 0_usize..60,
        rows in prop::collection::vec(0_u32..60, 0..8),
        lengths in prop::option::of(prop::collection::vec(0_u32..40, 0..8)),
    ) {
        let mut sum = 0;
        let ends = steps.iter().map(|step| { sum += step; sum });
        let dict_offsets: Vec<u32> = [0].into_iter().chain(ends).collect();
        let mut rows = rows;
        if code_count % 3 > 0 { rows.sort_unstable(); }
        let parts = Parts {
            bits, dict_offsets: dict_offsets.into(), dict_bytes: bytes.into(), codes: codes.into(),
            code_count, row_offsets: Offsets::Narrow(rows.into()),
            row_lengths: lengths.map(Into::into), parse: Parse::Unknown,
        };
        if let Ok(column) = Column::new(parts.borrowed()) {
            prop_assert_eq!(column.decode().unwrap(), naive::decode(&parts));
        }
    }
}
