//! OnPair: buffers and files that are mostly valid, so that a fuzzer gets past the first checks.

#![expect(clippy::indexing_slicing, reason = "indices are in range by construction")]

use std::borrow::Cow;
use std::ops::Bound;

use hypostyle::formats::onpair::OnPair;
use hypostyle_onpair::{Column, Offsets, Parse, Parts, Pattern, Searcher};

use super::Seed;
use crate::build::onpair::{self as build, ColumnChunk, File, numbers};
use crate::laws;

/// Validates the buffers of a column and, if they are valid, decodes and searches it with every
/// function. All results must agree with a naive implementation.
pub fn onpair_parts(bytes: &[u8]) {
    let mut seed = Seed(bytes);
    let parts = parts(&mut seed);
    let needle = seed.bytes();
    let column = match Column::new(parts.borrowed()) {
        Ok(column) => column,
        Err(err) => return assert_eq!(parts.validate(), Err(err)),
    };
    let rows = naive(&parts);
    let text = rows.concat();
    assert_eq!((column.len(), column.decoded_len()), (rows.len(), text.len()));
    assert_eq!(column.decode().unwrap(), text);
    let offsets = column.decoded_offsets();
    let mut one = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        one.clear();
        column.row_into(number, &mut one).unwrap();
        assert_eq!((&one, column.row_len(number)), (row, row.len()));
        assert_eq!(offsets[number + 1] - offsets[number], row.len() as u64);
        assert_eq!(column.compare_row(number, needle), row.as_slice().cmp(needle));
    }
    let (mut taken, mut ends) = (Vec::new(), Vec::new());
    let backwards: Vec<usize> = (0..rows.len()).rev().collect();
    column.take(&backwards, &mut taken, &mut ends).unwrap();
    assert_eq!(taken, rows.iter().rev().cloned().collect::<Vec<_>>().concat());
    let mut blocks = Vec::new();
    let each = |_: usize, block: &[u8], _: &[usize]| -> Result<(), ()> {
        blocks.extend_from_slice(block);
        Ok(())
    };
    column.for_each_block(64, each).unwrap();
    assert_eq!(blocks, text);
    searches(&column, &rows, needle);
}

fn searches(column: &Column<'_>, rows: &[Vec<u8>], needle: &[u8]) {
    let lower = needle.to_ascii_lowercase();
    let has = |row: &[u8], part: &[u8]| (0..=row.len()).any(|at| row[at..].starts_with(part));
    type Test<'a> = Box<dyn Fn(&[u8]) -> bool + 'a>;
    let both: [&[u8]; 2] = [needle, b""];
    let all: [(Pattern<'_>, Test<'_>); 6] = [
        (Pattern::Equals(needle), Box::new(|row| row == needle)),
        (Pattern::AnyOf(&both), Box::new(|row| row == needle || row.is_empty())),
        (Pattern::StartsWith(needle), Box::new(|row| row.starts_with(needle))),
        (Pattern::EndsWith(needle), Box::new(|row| row.ends_with(needle))),
        (Pattern::Contains(needle), Box::new(|row| has(row, needle))),
        (
            Pattern::ContainsIgnoringCase(needle),
            Box::new(|row| has(&row.to_ascii_lowercase(), &lower)),
        ),
    ];
    let found = |test: &dyn Fn(&[u8]) -> bool| -> Vec<usize> {
        (0..rows.len()).filter(|&row| test(&rows[row])).collect()
    };
    for (pattern, test) in all {
        let searcher = Searcher::new(column, &pattern);
        assert_eq!(searcher.find(), found(&*test), "{pattern:?}");
        assert!((0..rows.len()).all(|row| searcher.matches(row) == test(&rows[row])));
    }
    let above = column.find_between(Bound::Excluded(needle), Bound::Unbounded);
    assert_eq!(above, found(&|row| row > needle));
    let min = column.min_row().map(|row| &rows[row]);
    assert_eq!(min, rows.iter().min());
}

/// Builds the buffers of a valid column, then changes a few bytes.
fn parts(seed: &mut Seed<'_>) -> Parts<'static> {
    let changes = usize::from(seed.byte() % 4);
    let mut bits = 9 + u32::from(seed.byte() % 8);
    let tokens: Vec<Vec<u8>> = (0..1 + usize::from(seed.byte() % 60))
        .map(|_| {
            let len = 1 + usize::from(seed.byte() % 16);
            (0..len).map(|_| seed.byte()).collect()
        })
        .collect();
    let mut dict_offsets = sums(tokens.iter().map(Vec::len));
    let mut dict_bytes = tokens.concat();
    let last = tokens.last().map_or(0, Vec::len);
    dict_bytes.resize(dict_bytes.len() + 16 - last, 0);
    let rows: Vec<usize> = (0..seed.byte() % 40).map(|_| usize::from(seed.byte() % 12)).collect();
    let mut row_offsets = sums(rows.iter().copied());
    let mut code_count = rows.iter().sum::<usize>();
    let code = |seed: &mut Seed<'_>| usize::from(seed.byte()) % tokens.len();
    let codes: Vec<u64> = (0..code_count).map(|_| code(seed) as u64).collect();
    let mut codes = build::bits(codes.into_iter().map(|code| (code, bits as usize)));
    for _ in 0..changes {
        let (which, at, to) = (seed.byte() % 6, usize::from(seed.byte()), seed.byte());
        let number = |number: &mut u32| *number = number.wrapping_add(to.into()).wrapping_sub(128);
        match which {
            0 => bits = u32::from(to % 20),
            1 => dict_offsets.get_mut(at).into_iter().for_each(number),
            2 => dict_bytes.truncate(dict_bytes.len().saturating_sub(at % 18)),
            3 => codes.get_mut(at).into_iter().for_each(|byte| *byte ^= to),
            4 => row_offsets.get_mut(at).into_iter().for_each(number),
            _ => code_count = (code_count + usize::from(to)).saturating_sub(128),
        }
    }
    let row_offsets = match seed.byte() % 2 {
        0 => Offsets::Narrow(row_offsets.into()),
        _ => Offsets::Wide(row_offsets.into_iter().map(u64::from).collect()),
    };
    Parts {
        bits,
        dict_offsets: dict_offsets.into(),
        dict_bytes: dict_bytes.into(),
        codes: Cow::Owned(codes),
        code_count,
        row_offsets,
        row_lengths: None,
        parse: Parse::Unknown,
    }
}

fn sums(numbers: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut sum = 0;
    let after = numbers.map(|number| {
        sum += u32::try_from(number).unwrap();
        sum
    });
    std::iter::once(0).chain(after).collect()
}

/// Decodes the rows of a valid column bit by bit.
fn naive(parts: &Parts<'_>) -> Vec<Vec<u8>> {
    let bit = |at: usize| usize::from(parts.codes[at / 8] >> (at % 8) & 1);
    let width = parts.bits as usize;
    let code = |at: usize| (0..width).map(|i| bit(at * width + i) << i).sum::<usize>();
    let row = |row: usize| {
        let (start, end) = (parts.row_offsets.get(row), parts.row_offsets.get(row + 1));
        (start.unwrap()..end.unwrap()).flat_map(|at| parts.token(code(at)).to_vec()).collect()
    };
    (0..parts.row_count()).map(row).collect()
}

/// Reads a file with columns in every encoding and a few changed bytes. Checksums are computed
/// after the changes, so they agree.
pub fn onpair_file(bytes: &[u8]) {
    let mut seed = Seed(bytes);
    let rows = usize::from(seed.byte() % 20);
    let columns = (0..1 + seed.byte() % 3).map(|index| {
        let cells: Vec<Option<&[u8]>> =
            (0..rows).map(|_| (seed.byte() % 4 > 0).then(|| seed.bytes())).collect();
        let mut chunk = chunk(&cells, seed.byte());
        for _ in 0..seed.byte() % 3 {
            change(&mut chunk, &mut seed);
        }
        let name = format!("{index}").into_bytes();
        build::Column { name, code: seed.byte() % 2, chunks: vec![chunk] }
    });
    let columns = columns.collect();
    let mut file = File::new(&[u32::try_from(rows).unwrap()], columns);
    if seed.byte() % 8 == 7 {
        file.chunks[0] = u32::from(seed.byte());
    }
    laws::any_bytes_return_or_fail(&OnPair, &file.build().bytes);
}

/// Encodes cells in one of the encodings.
fn chunk(cells: &[Option<&[u8]>], form: u8) -> ColumnChunk {
    let present: Vec<&[u8]> = cells.iter().copied().flatten().collect();
    if form.is_multiple_of(4) || present.is_empty() {
        return ColumnChunk::plain(cells);
    }
    if form % 4 == 1 {
        return ColumnChunk::indexed(cells);
    }
    let mut values = present.clone();
    if form % 4 == 3 {
        values.sort_unstable();
        values.dedup();
    }
    // Single bytes and prefixes of the texts.
    let mut tokens: Vec<&[u8]> = present.iter().flat_map(|text| text.chunks(1)).collect();
    tokens.extend(present.iter().map(|text| &text[..text.len().min(5)]));
    tokens.retain(|token| !token.is_empty());
    tokens.sort_unstable();
    tokens.dedup();
    let rows: Vec<Vec<u16>> = values.iter().map(|value| tokenize(value, &tokens)).collect();
    let rows: Vec<&[u16]> = rows.iter().map(Vec::as_slice).collect();
    let bits = 10 + form / 4 % 7;
    let mut chunk = ColumnChunk::packed(bits, &tokens, &rows);
    let all = ColumnChunk::plain(cells);
    (chunk.nulls, chunk.text) = (all.nulls, all.text);
    chunk.sections[5].clone_from(&all.sections[5]);
    if form % 4 == 3 {
        let index = |value: &&[u8]| values.binary_search(value).unwrap();
        let indexes = present.iter().map(|value| u32::try_from(index(value)).unwrap());
        chunk.flags |= 1;
        chunk.sections[4] = numbers(&indexes.collect::<Vec<_>>());
    }
    chunk
}

/// Tokenizes greedily: the longest token at every position.
fn tokenize(text: &[u8], tokens: &[&[u8]]) -> Vec<u16> {
    let (mut rest, mut codes) = (text, Vec::new());
    while !rest.is_empty() {
        let fit = (0..tokens.len()).filter(|&code| rest.starts_with(tokens[code]));
        let code = fit.max_by_key(|&code| tokens[code].len()).unwrap();
        codes.push(u16::try_from(code).unwrap());
        rest = &rest[tokens[code].len()..];
    }
    codes
}

/// Changes a byte of a section, or a field of the entry.
fn change(chunk: &mut ColumnChunk, seed: &mut Seed<'_>) {
    let (which, at, to) = (seed.byte(), usize::from(seed.byte()), seed.byte());
    let number = |number: &mut u32| *number = number.wrapping_add(to.into()).wrapping_sub(128);
    match which % 12 {
        section @ 0..6 => {
            let section = &mut chunk.sections[usize::from(section)];
            match section.get_mut(at) {
                Some(byte) => *byte ^= to,
                None => section.push(to),
            }
        }
        6 => chunk.flags ^= to,
        7 => chunk.bits = to % 20,
        8 => number(&mut chunk.nulls),
        9 => number(&mut chunk.values),
        10 => number(&mut chunk.codes),
        _ => number(&mut chunk.text),
    }
}

/// Reads a file of the C++ implementation with a few changed bytes.
pub fn onpair_cpp(bytes: &[u8]) {
    let mut seed = Seed(bytes);
    let changes = seed.byte() % 4;
    let width = 9 + seed.byte() % 8;
    let texts: Vec<&[u8]> = (0..seed.byte() % 20).map(|_| seed.bytes()).collect();
    let mut tokens: Vec<&[u8]> = texts.iter().flat_map(|text| text.chunks(2)).collect();
    tokens.extend(texts.iter().flat_map(|text| text.chunks(1)));
    tokens.sort_unstable();
    tokens.dedup();
    let rows: Vec<Vec<u16>> = texts.iter().map(|text| tokenize(text, &tokens)).collect();
    let rows: Vec<&[u16]> = rows.iter().map(Vec::as_slice).collect();
    // 19 texts of 39 bytes may have more tokens than nine bits can number.
    let width = if tokens.len() > 512 { width.max(11) } else { width };
    let mut file = build::cpp(width, &tokens, &rows).bytes;
    for _ in 0..changes {
        let at = usize::from(seed.byte()) << 8 | usize::from(seed.byte());
        let len = file.len();
        file[at % len] ^= seed.byte();
    }
    laws::any_bytes_return_or_fail(&OnPair, &file);
}
