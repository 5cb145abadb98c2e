//! The three laws for every format: `decode(encode(t)) == t`, `encode(decode(f)) == f` for
//! canonical files, and any bytes return or fail.

use hypostyle::formats::{self, Format};
use hypostyle::{ReadOptions, WriteOptions};
use hypostyle_testkit::build::{Block, clmn, colf, colm, onpair};
use hypostyle_testkit::{batches, fuzz, laws};
use proptest::prelude::*;

/// Generates a format that stores tables.
fn any_table_format() -> impl Strategy<Value = &'static dyn Format> {
    proptest::sample::select(formats::tables().collect::<Vec<_>>())
}

/// Generates a format and a table that it can store.
fn format_and_batch() -> impl Strategy<Value = (&'static dyn Format, arrow_array::RecordBatch)> {
    any_table_format().prop_flat_map(|format| (Just(format), batches::for_format(format)))
}

/// The first bytes of files that readers look into further.
const STARTS: &[&[u8]] = &[
    b"",
    b"COLM\x01\0\0\0",
    b"COLF\x01\x01",
    b"CLMN\0\x01\0\0\0\x01",
    b"AT1\x02\x04",
    b"AT1\x03\x07",
    b"HYPOPAIR\x01\0\0\0\0\0\0\0",
    b"ONPAIR01\x0C",
];

/// The first bytes of COLF blocks, and other bytes.
const HEADS: &[&[u8]] =
    &[b"", &[1, 0], &[1, 1], &[2, 0], &[2, 1], &[3, 0], &[3, 1], &[3, 1, 2], &[0, 0, 0, 0]];

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// A table round-trips bit for bit.
    #[test]
    fn decode_undoes_encode((format, batch) in format_and_batch()) {
        laws::decode_undoes_encode(format, &batch);
    }

    /// Encoding a decoded file of our writer returns the same file.
    #[test]
    fn a_canonical_file_encodes_to_itself((format, batch) in format_and_batch()) {
        let file = laws::encode(format, &batch, &WriteOptions::default());
        laws::a_canonical_file_encodes_to_itself(format, &file);
        prop_assert_eq!(laws::at_most_one_format_claims(&file).map(Format::id), Some(format.id()));
    }

    /// Files of every level have the same values.
    #[test]
    fn every_level_holds_the_same_values((format, batch) in format_and_batch(), level in 0..=12_u8) {
        let file = laws::encode(format, &batch, &WriteOptions::default().with_level(level));
        let (back, _) = laws::decode(format, &file, &ReadOptions::default().with_strict(true)).unwrap();
        let batch = [batch];
        prop_assert_eq!(
            hypostyle_testkit::content::Content::of(&back),
            hypostyle_testkit::content::Content::of(&batch)
        );
    }

    /// A file with a few changed bytes fails or has other values; the reader does not panic.
    #[test]
    fn a_damaged_file_returns_or_fails(
        (format, batch) in format_and_batch(),
        hits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        cut in any::<prop::sample::Index>(),
        grow in prop::collection::vec(any::<u8>(), 0..9),
    ) {
        let mut file = laws::encode(format, &batch, &WriteOptions::default());
        for (at, byte) in hits {
            let at = at.index(file.len());
            file[at] = byte;
        }
        if grow.is_empty() {
            file.truncate(cut.index(file.len()));
        }
        file.extend_from_slice(&grow);
        fuzz::decode_any(format, &file);
        fuzz::open_any(&file);
    }

    /// Random bytes return or fail, also after a valid magic.
    #[test]
    fn any_bytes_return_or_fail(
        format in prop::sample::select(formats::ALL),
        magic in prop::sample::select(STARTS),
        bytes: Vec<u8>,
    ) {
        let file = [magic, &bytes].concat();
        fuzz::decode_any(format, &file);
        fuzz::open_any(&file);
    }

    /// Any block content returns or fails, with valid header, column table and checksum.
    #[test]
    fn any_content_of_a_block_returns_or_fails(
        rows in 0..20_u32,
        code in 0..4_u8,
        flag in 0..3_u8,
        head in prop::sample::select(HEADS),
        content in prop::collection::vec(prop_oneof![Just(0_u8), Just(1), any::<u8>()], 0..90),
    ) {
        let content = [head, &content].concat();
        let block = Block::of(&content);
        let column = colm::Column { name: b"x".to_vec(), code, block: block.clone() };
        let file = colm::File::new(rows, vec![column]).build().bytes;
        fuzz::decode_any(formats::by_name("colm").unwrap(), &file);
        let column = clmn::Column { name: b"x".to_vec(), code, block: block.clone() };
        let file = clmn::File::new(rows.into(), vec![column]).build().bytes;
        fuzz::decode_any(formats::by_name("clmn").unwrap(), &file);
        let kind = ["int32", "int32", "float64", "utf8"][usize::from(code)];
        let column = colf::Column { flag, block, ..colf::Column::new("x", kind, &[]) };
        let file = colf::File::new(rows.into(), vec![column]).build().bytes;
        fuzz::decode_any(formats::by_name("colf").unwrap(), &file);
    }

    /// Any sections return or fail, with valid checksums and arbitrary numbers in the footer.
    #[test]
    fn any_sections_of_strings_return_or_fail(
        rows in 0..5_u32,
        numbers in prop::array::uniform5(0..6_u32),
        codes in (0..3_u8, 0..4_u8, 8..18_u8, 0..4_u8),
        sections in prop::array::uniform6(prop::collection::vec(
            prop_oneof![3 => 0..4_u8, 1 => any::<u8>()], 0..12,
        )),
        honest in any::<[bool; 2]>(),
    ) {
        let (encoding, flags, bits, parse) = codes;
        let [dictionary, nulls, values, code_count, text] = numbers;
        let mut part = onpair::ColumnChunk { encoding, flags, sections, nulls, ..Default::default() };
        part.values = if honest[0] { rows.saturating_sub(nulls) } else { values };
        part.text = if honest[1] { part.sections[1].len().try_into().unwrap() } else { text };
        if encoding == 1 {
            (part.bits, part.parse) = (bits, parse);
            part.dictionary = if honest[0] { 0 } else { dictionary };
            part.codes = code_count;
            if honest[1] {
                let bytes = (usize::from(bits) * code_count as usize).div_ceil(8);
                part.sections[1].resize(bytes, 0);
            }
        }
        let file = onpair::File::new(&[rows], vec![onpair::Column::new("x", part)]).build().bytes;
        fuzz::decode_any(formats::by_name("onpair").unwrap(), &file);
    }

    /// The round-trip fuzz targets accept any bytes.
    #[test]
    fn any_seed_makes_a_round_trip(format in any_table_format(), seed: Vec<u8>) {
        fuzz::roundtrip(format, &seed);
    }

    /// The fuzz targets that build files and buffers accept any bytes.
    #[test]
    fn any_seed_makes_buffers_and_files_of_strings(
        seed in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        fuzz::onpair_parts(&seed);
        fuzz::onpair_file(&seed);
        fuzz::onpair_cpp(&seed);
    }
}
