//! Columns at the limits of the layout.

#![expect(clippy::unwrap_used, reason = "helpers of tests, outside `#[test]`")]

use std::ops::Bound;

use hypostyle_onpair::{
    Column, Config, ErrorKind, Joined, Offsets, Parse, Parts, Pattern, Searcher, Section, compress,
    decompress, pack, unpack,
};

/// Builds a column of these tokens and rows of codes, with the minimum padding.
fn column(bits: u32, tokens: &[Vec<u8>], rows: &[Vec<u16>]) -> Parts<'static> {
    let sums = |lens: &mut dyn Iterator<Item = usize>| {
        let mut sum = 0;
        let after = lens.map(|len| {
            sum += u32::try_from(len).unwrap();
            sum
        });
        std::iter::once(0).chain(after).collect::<Vec<u32>>()
    };
    let mut dict_bytes = tokens.concat();
    let last = tokens.last().map_or(16, Vec::len);
    dict_bytes.resize(dict_bytes.len() + 16 - last, 0);
    let codes = rows.concat();
    Parts {
        bits,
        dict_offsets: sums(&mut tokens.iter().map(Vec::len)).into(),
        dict_bytes: dict_bytes.into(),
        codes: pack(&codes, bits).unwrap().into(),
        code_count: codes.len(),
        row_offsets: Offsets::Narrow(sums(&mut rows.iter().map(Vec::len)).into()),
        row_lengths: None,
        parse: Parse::Unknown,
    }
}

fn decoded(tokens: &[Vec<u8>], rows: &[Vec<u16>]) -> Vec<Vec<u8>> {
    let token = |code: &u16| tokens.get(usize::from(*code)).unwrap().clone();
    rows.iter().map(|row| row.iter().flat_map(token).collect()).collect()
}

/// Checks that every way of decoding gives these rows.
#[track_caller]
fn assert_rows(parts: &Parts<'_>, rows: &[Vec<u8>]) {
    let column = Column::new(parts.borrowed()).unwrap();
    assert_eq!(column.decode().unwrap(), rows.concat());
    let (mut one, mut taken, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..rows.len() {
        column.row_into(number, &mut one).unwrap();
    }
    assert_eq!(one, rows.concat());
    column.take(&(0..rows.len()).collect::<Vec<_>>(), &mut taken, &mut ends).unwrap();
    assert_eq!(taken, rows.concat());
    let mut blocks = Vec::new();
    let each = |_: usize, block: &[u8], _: &[usize]| -> Result<(), ()> {
        blocks.extend_from_slice(block);
        Ok(())
    };
    column.for_each_block(100, each).unwrap();
    assert_eq!(blocks, rows.concat());
}

/// Returns distinct tokens of three bytes each, in order.
fn numbered(count: u32) -> Vec<Vec<u8>> {
    (0..count).map(|number| number.to_be_bytes().into_iter().skip(1).collect()).collect()
}

/// As many tokens as codes, and one less: then the largest code has no token.
#[test]
fn a_dictionary_may_be_full_or_one_short_of_it() {
    for bits in 9..=16 {
        for count in [1_u32 << bits, (1 << bits) - 1] {
            let tokens = numbered(count);
            let last = u16::try_from(count - 1).unwrap();
            let rows = vec![vec![last], vec![], vec![0, last, last - 1], vec![last; 20]];
            let parts = column(bits, &tokens, &rows);
            let want = decoded(&tokens, &rows);
            assert_rows(&parts, &want);
            let searched = Column::new(parts.borrowed()).unwrap();
            let token = tokens.last().unwrap();
            for (pattern, found) in [
                (Pattern::Equals(token), vec![0]),
                (Pattern::StartsWith(token), vec![0, 3]),
                (Pattern::Contains(token), vec![0, 2, 3]),
                (Pattern::EndsWith(&token[1..]), vec![0, 3]),
            ] {
                assert_eq!(Searcher::new(&searched, &pattern).find(), found, "{bits} {count}");
            }
            let above = searched.find_between(Bound::Included(token), Bound::Unbounded);
            assert_eq!(above, [0, 3]);
            assert_eq!((searched.min_row(), searched.max_row()), (Some(1), Some(3)));

            let beyond = Parts { codes: pack(&[0, 1, 2], bits).unwrap().into(), ..parts.clone() };
            assert_eq!(beyond.validate().unwrap_err().section, Section::Codes, "too few codes");
            let mut codes = unpack(&parts.codes, bits, parts.code_count).unwrap();
            *codes.last_mut().unwrap() = u16::try_from((1_u32 << bits) - 1).unwrap();
            let largest = Parts { codes: pack(&codes, bits).unwrap().into(), ..parts };
            match largest.validate() {
                Ok(()) => assert_eq!(count, 1 << bits),
                Err(err) => {
                    assert_eq!((err.section, err.kind), (Section::Codes, ErrorKind::NoSuchToken));
                    assert_eq!((err.at, count), (codes.len() as u64 - 1, (1 << bits) - 1));
                }
            }
        }
        // One token more than there are codes.
        let parts = column(bits, &numbered((1 << bits) + 1), &[vec![0]]);
        assert_eq!(parts.validate().unwrap_err().kind, ErrorKind::TooMany);
    }
}

/// Codes may end anywhere in a word, and a zero word may follow them.
#[test]
fn any_number_of_codes_is_decoded_to_the_last() {
    let tokens: Vec<Vec<u8>> = (0..300_u16)
        .map(|number| {
            let [low, high] = number.to_le_bytes();
            [vec![low, high], vec![b'x'; usize::from(number % 15)]].concat()
        })
        .collect();
    for bits in 9..=16 {
        for count in 0..=130_u16 {
            let row: Vec<u16> = (0..count).map(|at| at.wrapping_mul(7919) % 300).collect();
            let rows = vec![vec![], row.clone(), vec![]];
            let mut parts = column(bits, &tokens, &rows);
            assert_eq!(parts.codes.len(), (usize::from(count) * bits as usize).div_ceil(8));
            assert_rows(&parts, &decoded(&tokens, &rows));
            parts.codes.to_mut().extend_from_slice(&[0; 8]);
            assert_rows(&parts, &decoded(&tokens, &rows));
            // A row per code gives the same bytes.
            let single: Vec<Vec<u16>> = row.into_iter().map(|code| vec![code]).collect();
            assert_rows(&column(bits, &tokens, &single), &decoded(&tokens, &single));
        }
    }
}

/// The last token ends at the end of the buffer, or up to 15 bytes before.
#[test]
fn the_last_token_may_be_of_any_length_with_the_minimum_padding() {
    for bits in 9..=16 {
        for len in [1, 2, 15, 16] {
            // 16 bytes of 0xFF are the largest possible token.
            let tokens = vec![b"a".to_vec(), vec![0xFF; len]];
            let rows = vec![vec![1], vec![1, 0, 1], vec![0], vec![1; 9]];
            let parts = column(bits, &tokens, &rows);
            assert_eq!(parts.dict_bytes.len(), 1 + 16);
            assert_rows(&parts, &decoded(&tokens, &rows));
            let whole = vec![0xFF; len];
            let found = Column::new(parts.borrowed()).unwrap().find(&Pattern::Equals(&whole));
            assert_eq!(found, [0]);
            let mut short = parts.clone();
            short.dict_bytes.to_mut().pop();
            let err = short.validate().unwrap_err();
            assert_eq!((err.section, err.kind), (Section::DictBytes, ErrorKind::TooShort));
        }
    }
}

/// Repacks the codes at every width that is large enough.
#[test]
fn odd_strings_come_back_at_every_width() {
    let mut strings: Vec<Vec<u8>> = vec![vec![], vec![0xFF; 16], b"\0\xFF\x80".to_vec()];
    for len in 1..=17_u8 {
        strings.extend([vec![0; len.into()], vec![0xFF; len.into()], (0..len).rev().collect()]);
    }
    strings
        .push((0..100_000_u32).map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect());
    let strings: Vec<Vec<u8>> = strings.into_iter().cycle().take(150).collect();
    let parts = compress(&strings, &Config::default()).unwrap();
    let codes = unpack(&parts.codes, parts.bits, parts.code_count).unwrap();
    for bits in parts.bits..=16 {
        let repacked = Parts { bits, codes: pack(&codes, bits).unwrap().into(), ..parts.clone() };
        assert_rows(&repacked, &strings);
    }
}

/// Offsets of 64 bits are not truncated to 32 bits.
#[test]
fn row_offsets_beyond_32_bits_are_not_taken_for_small_ones() {
    let tokens = vec![b"ab".to_vec(), b"c".to_vec()];
    let parts = column(9, &tokens, &[vec![0, 1], vec![1]]);
    for offsets in [
        vec![0, 2, (1 << 32) + 3],
        vec![0, 1 << 32, (1 << 32) + 3],
        vec![1 << 32, (1 << 32) + 2, (1 << 32) + 3],
        vec![0, 2, u64::MAX],
    ] {
        let wide = Parts { row_offsets: Offsets::Wide(offsets.into()), ..parts.clone() };
        let err = wide.validate().unwrap_err();
        assert_eq!((err.section, err.kind), (Section::RowOffsets, ErrorKind::TooShort));
        assert!(Column::new(wide).is_err());
    }
    let wide = Parts { row_offsets: Offsets::Wide(vec![0, 2, 3].into()), ..parts.clone() };
    assert_rows(&wide, &[b"abc".to_vec(), b"c".to_vec()]);
    let narrow = Parts { row_offsets: Offsets::Narrow(vec![0, u32::MAX].into()), ..parts };
    assert_eq!(narrow.validate().unwrap_err().kind, ErrorKind::TooShort);
}

#[test]
fn offsets_of_every_type_may_start_anywhere() {
    let bytes = b"xxabcdefyy";
    let check = |parts: Parts<'_>| {
        assert_eq!(decompress(&parts).unwrap(), b"abcdef");
        assert_rows(&parts, &[b"ab".to_vec(), vec![], b"cdef".to_vec()]);
    };
    let config = Config::default();
    check(compress(&Joined::new(bytes, &[2_i32, 4, 4, 8]).unwrap(), &config).unwrap());
    check(compress(&Joined::new(bytes, &[2_i64, 4, 4, 8]).unwrap(), &config).unwrap());
    check(compress(&Joined::new(bytes, &[2_u32, 4, 4, 8]).unwrap(), &config).unwrap());
    check(compress(&Joined::new(bytes, &[2_u64, 4, 4, 8]).unwrap(), &config).unwrap());
    assert!(Joined::new(bytes, &[0_u64, 1 << 32]).is_err());
    assert!(Joined::new(bytes, &[0_i64, i64::MIN]).is_err());
}
