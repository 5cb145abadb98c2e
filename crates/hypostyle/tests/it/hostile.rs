//! Files that try to make the reader return wrong values or panic; `tests/memory` has those
//! that try to exhaust memory or time.

use std::sync::Arc;

use arrow_schema::DataType;
use hypostyle::formats::{self, Format};
use hypostyle::{Error, ErrorKind, Limits, ReadOptions, TextPolicy};
use hypostyle_testkit::build::{Block, BuiltFile, clmn, colf, colm};
use hypostyle_testkit::laws;
use hypostyle_testkit::source::SparseSource;

fn error(format: &str, made: &BuiltFile, options: &ReadOptions) -> Error {
    let format: &dyn Format = formats::by_name(format).unwrap();
    laws::decode(format, &made.bytes, options).unwrap_err()
}

/// A replacement character takes three bytes in place of one, so 32-bit offsets can overflow,
/// on which Arrow's builder would panic.
#[test]
fn repaired_text_stays_within_the_limits_too() {
    let bad = vec![0xFF; 50_000];
    let files = [
        ("colm", {
            let content = colm::strings(&[&bad[..], &bad, &bad]);
            colm::File::new(3, vec![colm::Column::new("s", 3, &content)]).build()
        }),
        ("colf", {
            let starts = [0, 50_000, 100_000];
            let column = colf::Column::utf8_parts("s", None, &starts, &bad.repeat(3));
            colf::File::new(3, vec![column]).build()
        }),
        ("clmn", {
            let content = clmn::strings(&[&bad[..], &bad, &bad]);
            clmn::File::new(3, vec![clmn::Column::new("s", 3, &content)]).build()
        }),
    ];
    for (format, made) in files {
        let options = ReadOptions::default()
            .with_text(TextPolicy::Lossy)
            .with_limits(Limits::default().with_block_bytes(200_000));
        let err = error(format, &made, &options);
        let ErrorKind::LimitExceeded { what, asked, limit } = err.kind() else {
            unreachable!("{err}")
        };
        assert_eq!((*what, *asked, *limit), ("size of repaired text", 300_000, 200_000));
        assert_eq!(err.column().unwrap().name, "s");
    }
}

/// The reader checks the checksum after the stream, not the last bytes of the block.
#[test]
fn a_second_checksum_at_the_end_of_a_block_hides_nothing() {
    let column = |stored: &[u8]| colm::Column {
        name: b"x".to_vec(),
        code: 1,
        block: Block::stored(stored, 12),
    };
    let file = |stored: &[u8]| colm::File::new(3, vec![column(stored)]).build();
    let stream = colm::Column::int32("x", &[1, 2, 3]).block.stored;
    let (body, sum) = stream.split_at(stream.len() - 4);
    let format = formats::by_name("colm").unwrap();

    let hidden = file(&[&stream, &b"hidden"[..], sum].concat());
    let (_, met) = laws::decode(format, &hidden.bytes, &ReadOptions::default()).unwrap();
    assert_eq!(met.len(), 1, "bytes after the stream are seen: {met:?}");
    assert_eq!((met[0].code, met[0].offset), ("M16", hidden.blocks[0].start + stream.len() as u64));

    let false_sum = file(&[body, b"\xDE\xAD\xBE\xEF", b"hidden", sum].concat());
    let thorough = ReadOptions::default().with_thorough(true);
    for options in [thorough, ReadOptions::default().with_strict(true)] {
        let err = error("colm", &false_sum, &options);
        assert!(err.to_string().contains("checksum"), "{err}");
    }
}

/// A sparse file takes no disk space, but could cost its reader memory.
#[test]
fn a_block_of_a_terabyte_for_a_few_values_is_refused_before_it_is_read() {
    const HUGE: u64 = 1 << 40;
    let int = || colm::Column::int32("x", &[1, 2, 3]);
    let block = Block { size: Some(HUGE), ..int().block };
    let head = colm::File::new(3, vec![colm::Column { block, ..int() }]).build().bytes;
    let source = SparseSource::new(HUGE * 2, [(0, head)]);
    let reader = formats::open(Arc::new(source), &ReadOptions::default()).unwrap();
    let err = reader.read(0, &[0]).unwrap_err();
    assert!(matches!(err.kind(), ErrorKind::LimitExceeded { asked: HUGE, .. }), "{err}");
}

/// Text beyond 32-bit offsets is read with 64-bit offsets.
#[test]
#[ignore = "takes some seconds and 7 GB of memory"]
fn text_beyond_31_bits_gets_64_bit_offsets() {
    let len = 1_usize << 31;
    let mut content = u32::try_from(len).unwrap().to_le_bytes().to_vec();
    content.resize(4 + len, b'a');
    let made = colm::File::new(1, vec![colm::Column::new("s", 3, &content)]).build();
    drop(content);
    let colm = formats::by_name("colm").unwrap();
    let (batches, met) = laws::decode(colm, &made.bytes, &ReadOptions::default()).unwrap();
    assert!(met.is_empty());
    let column = batches[0].column(0);
    assert_eq!(column.data_type(), &DataType::LargeUtf8);
    assert!(matches!(&hypostyle_testkit::content::cells(column)[..],
        [hypostyle_testkit::content::Cell::Text(text)] if text.len() == len));
    let again = laws::encode(colm, &batches[0], &hypostyle::WriteOptions::default());
    assert!(again == made.bytes);
}
