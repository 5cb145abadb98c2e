//! Reading files of the C++ implementation, which start with `ONPAIR01`.
//!
//! ```text
//! "ONPAIR01" │ width u8 │ n u32, n bytes: tokens │ n u32, n × u32: offsets of tokens
//!            │ n u32, n × u64: packed codes │ n u32, n × u32: offsets of rows, in codes
//! ```
//!
//! All numbers are little-endian. The tokens have no padding and the codes have no extra word;
//! the C++ reader adds both, and this reader adds padding where it needs it.

use std::borrow::Cow;

use crate::MAX_TOKEN_SIZE;
use crate::error::{Error, ErrorKind, Result, Section};
use crate::parts::{Offsets, Parse, Parts};

/// The first bytes of a file.
const MAGIC: &[u8; 8] = b"ONPAIR01";

/// Reads and checks a file of the C++ implementation.
///
/// The file does not say how rows were split into tokens, so the result has [`Parse::Unknown`].
/// A file without any row offset has no rows.
///
/// # Errors
///
/// Returns the first violation, at a byte of the file or an element of a part.
pub fn read_cpp(bytes: &[u8]) -> Result<Parts<'static>> {
    let wrong = |at: usize, kind| Error::new(Section::File, at, kind);
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        return Err(wrong(0, ErrorKind::Magic));
    };
    let Some((&bits, rest)) = rest.split_first() else {
        return Err(wrong(bytes.len(), ErrorKind::TooShort));
    };
    let mut rest = rest;
    // An array is checked to be complete before any memory is allocated for it.
    let mut array = |width: usize| {
        let at = bytes.len() - rest.len();
        let short = || wrong(at, ErrorKind::TooShort);
        let (count, tail) = rest.split_first_chunk::<4>().ok_or_else(short)?;
        let len = (u32::from_le_bytes(*count) as usize).checked_mul(width).ok_or_else(short)?;
        let (array, tail) = tail.split_at_checked(len).ok_or_else(short)?;
        rest = tail;
        Ok(array)
    };
    let (tokens, starts, words, rows) = (array(1)?, array(4)?, array(8)?, array(4)?);
    if !rest.is_empty() {
        return Err(wrong(bytes.len() - rest.len(), ErrorKind::Size));
    }
    let mut row_offsets = numbers(rows);
    if row_offsets.is_empty() {
        row_offsets.push(0);
    }
    let dict_offsets = numbers(starts);
    // The tokens must be complete, so that padding does not replace missing bytes.
    let logical = dict_offsets.last().map_or(0, |&last| last as usize);
    if logical != tokens.len() {
        return Err(Error::new(Section::DictBytes, tokens.len(), ErrorKind::Size));
    }
    let mut dict_bytes = Vec::with_capacity(tokens.len() + MAX_TOKEN_SIZE);
    dict_bytes.extend_from_slice(tokens);
    dict_bytes.resize(tokens.len() + MAX_TOKEN_SIZE - 1, 0);
    let parts = Parts {
        bits: bits.into(),
        dict_offsets: dict_offsets.into(),
        dict_bytes: dict_bytes.into(),
        code_count: row_offsets.last().map_or(0, |&last| last as usize),
        codes: Cow::Owned(words.to_vec()),
        row_offsets: Offsets::Narrow(row_offsets.into()),
        row_lengths: None,
        parse: Parse::Unknown,
    };
    parts.validate()?;
    // Codes are padded to a whole word, so less than one word is left over.
    let used = (parts.code_count as u128 * u128::from(parts.bits)).div_ceil(64) * 8;
    if used != parts.codes.len() as u128 {
        return Err(Error::new(Section::Codes, parts.code_count, ErrorKind::Size));
    }
    Ok(parts)
}

fn numbers(bytes: &[u8]) -> Vec<u32> {
    let (chunks, _) = bytes.as_chunks::<4>();
    chunks.iter().map(|chunk| u32::from_le_bytes(*chunk)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Config, compress, pack};

    /// Writes a column as a file.
    fn file(parts: &Parts<'_>) -> Vec<u8> {
        let put = |out: &mut Vec<u8>, count: usize, bytes: &[u8]| {
            out.extend_from_slice(&u32::try_from(count).unwrap().to_le_bytes());
            out.extend_from_slice(bytes);
        };
        let numbers = |numbers: &[u32]| -> Vec<u8> {
            numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
        };
        let mut out = MAGIC.to_vec();
        out.push(u8::try_from(parts.bits).unwrap());
        let logical = *parts.dict_offsets.last().unwrap() as usize;
        put(&mut out, logical, &parts.dict_bytes[..logical]);
        put(&mut out, parts.dict_offsets.len(), &numbers(&parts.dict_offsets));
        let mut words = parts.codes.to_vec();
        words.resize(words.len().next_multiple_of(8), 0);
        put(&mut out, words.len() / 8, &words);
        let Offsets::Narrow(rows) = &parts.row_offsets else { panic!("rows of 32 bits") };
        put(&mut out, rows.len(), &numbers(rows));
        out
    }

    /// Returns a column of a few tokens and rows.
    fn small() -> Parts<'static> {
        Parts {
            bits: 9,
            dict_offsets: vec![0, 1, 3, 19].into(),
            dict_bytes: b"aab0123456789abcdef".to_vec().into(),
            codes: pack(&[0, 1, 2, 1], 9).unwrap().into(),
            code_count: 4,
            row_offsets: Offsets::Narrow(vec![0, 1, 1, 4].into()),
            row_lengths: None,
            parse: Parse::Unknown,
        }
    }

    fn rows(parts: Parts<'_>) -> Vec<Vec<u8>> {
        let column = Column::new(parts).unwrap();
        (0..column.len())
            .map(|row| {
                let mut out = Vec::new();
                column.row_into(row, &mut out).unwrap();
                out
            })
            .collect()
    }

    #[test]
    fn rows_of_a_file_are_read() {
        let want: [&[u8]; 3] = [b"a", b"", b"ab0123456789abcdefab"];
        assert_eq!(rows(read_cpp(&file(&small())).unwrap()), want);
        let names: Vec<String> = (0..300).map(|i| format!("name-{}-of-{}", i * 7, i % 9)).collect();
        for bits in 9..=16 {
            let config = Config { bits: Some(bits), ..Config::default() };
            let parts = compress(&names, &config).unwrap();
            let want: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
            assert_eq!(rows(read_cpp(&file(&parts)).unwrap()), want);
        }
    }

    #[test]
    fn a_file_of_no_rows_may_have_no_boundary() {
        let mut bytes = MAGIC.to_vec();
        bytes.push(12);
        bytes.extend_from_slice(&0_u32.to_le_bytes());
        bytes.extend_from_slice(&1_u32.to_le_bytes());
        bytes.extend_from_slice(&[0; 12]);
        assert_eq!(read_cpp(&bytes).unwrap().row_count(), 0);
        assert_eq!(Column::new(read_cpp(&bytes).unwrap()).unwrap().decode().unwrap(), b"");
    }

    #[test]
    fn every_prefix_and_every_longer_file_is_refused() {
        let whole = file(&small());
        for len in 0..whole.len() {
            assert!(read_cpp(&whole[..len]).is_err(), "{len}");
        }
        let longer = [&whole[..], &[0]].concat();
        let err = read_cpp(&longer).unwrap_err();
        assert_eq!((err.section, err.at), (Section::File, whole.len() as u64));
    }

    #[test]
    fn every_byte_changed_is_refused_or_read() {
        let mut bytes = file(&small());
        for at in 0..bytes.len() {
            let was = bytes[at];
            for now in [0, 0xFF].into_iter().chain((0..8).map(|bit| was ^ (1 << bit))) {
                bytes[at] = now;
                if let Ok(parts) = read_cpp(&bytes) {
                    rows(parts);
                }
            }
            bytes[at] = was;
        }
    }

    #[test]
    fn errors_name_what_is_wrong() {
        let refused = |change: fn(&mut Parts<'static>)| {
            let mut parts = small();
            change(&mut parts);
            let err = read_cpp(&file(&parts)).unwrap_err();
            (err.section, err.kind)
        };
        assert_eq!(read_cpp(b"ONPAIR02\x0C").unwrap_err().kind, ErrorKind::Magic);
        assert_eq!(refused(|parts| parts.bits = 8), (Section::Bits, ErrorKind::Width));
        let order = |parts: &mut Parts<'_>| parts.dict_offsets.to_mut()[1] = 4;
        assert_eq!(refused(order), (Section::DictOffsets, ErrorKind::Order));
        let long = |parts: &mut Parts<'_>| parts.dict_offsets.to_mut()[2] = 2;
        assert_eq!(refused(long), (Section::DictOffsets, ErrorKind::Order));
        let code = |parts: &mut Parts<'_>| parts.codes.to_mut()[0] = 3;
        assert_eq!(refused(code), (Section::Codes, ErrorKind::NoSuchToken));
        let words = |parts: &mut Parts<'_>| parts.codes.to_mut().resize(16, 0);
        assert_eq!(refused(words), (Section::Codes, ErrorKind::Size));
        let rows =
            |parts: &mut Parts<'_>| parts.row_offsets = Offsets::Narrow(vec![0, 2, 1].into());
        assert_eq!(refused(rows), (Section::RowOffsets, ErrorKind::Order));
        // A count of 4 billion allocates nothing.
        let mut huge = file(&small());
        huge[9..13].fill(0xFF);
        assert_eq!(read_cpp(&huge).unwrap_err().kind, ErrorKind::TooShort);
    }
}
