use super::*;

/// A zstd block that stores these bytes without compression.
fn block(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![1];
    out.extend(zstd::bulk::compress(bytes, 1).unwrap());
    out
}

/// The streams `index` and `blocks` of columns of text.
fn blocks(lists: &[&[u8]]) -> (Vec<u8>, Vec<u8>) {
    let all: Vec<Vec<u8>> = lists.iter().map(|list| block(list)).collect();
    (all.iter().flat_map(|block| uv(block.len() as u128)).collect(), all.concat())
}

#[test]
fn lines_that_fill_pages_go_on_where_they_stopped() {
    let segment = b"<>".repeat(700_000);
    let template = [vec![3], lp(&segment), lp(b","), lp(&segment)].concat();
    // Two groups of two rows, a verbatim line in the first.
    let (index, blocks) = blocks(&[b"a\nb", b"1\n2", b"c", b"3"]);
    let set: &StreamList<'_> = &[
        ("meta", &[4, 1, 2, 2, 3, 2, 0, 0]),
        ("template", &template),
        ("row_modes", &[1, 0, 1, 1]),
        ("verbatim", b"odd"),
        ("index", &index),
        ("blocks", &blocks),
    ];
    let around = std::str::from_utf8(&segment).unwrap();
    let row = |cells: &str| format!("{around}{cells}{around}");
    let want = [row("a,1"), "odd".to_owned(), row("b,2"), row("c,3")].join("\n") + "\n";
    for threads in 1..4 {
        let options = ReadOptions::default().with_threads(std::num::NonZeroUsize::new(threads));
        let got = unpack_with(Codec::QJson, set, &options).unwrap();
        assert!(got == want.as_bytes(), "{threads}");
    }
    survives_cuts(Codec::QJson, &with(set, &[("template", b"\x03\x01<\x01,\x01>")]));
}

#[test]
fn a_long_delimiter_between_many_columns_takes_no_memory() {
    let delimiter = vec![b'-'; 2 << 20];
    let cells: Vec<&[u8]> = vec![b"x"; 2000];
    let (index, blocks) = blocks(&cells);
    let meta = [vec![1, 0], lp(&delimiter), uv(2000), vec![1, 1, 1], vec![0; 2000]].concat();
    let set: &StreamList<'_> =
        &[("meta", &meta), ("row_modes", &[1]), ("index", &index), ("blocks", &blocks)];
    limited(Codec::QColumnar, set, 100 << 20);
}

#[test]
fn a_block_has_a_cell_for_every_row() {
    let (index, blocks) = blocks(&[b"a\nb", b"1"]);
    let set: &StreamList<'_> = &[
        ("meta", b"\x02\x00\x01,\x02\x05\x02\x01\0\0"),
        ("row_modes", &[1, 1]),
        ("index", &index),
        ("blocks", &blocks),
    ];
    let err = unpack(Codec::QColumnar, set).unwrap_err();
    let message = "at1: stream `blocks`: column 2: row 2: block: has only 1 cells";
    assert_eq!(err.to_string(), message);
    survives_cuts(Codec::QColumnar, set);
    survives_changes(Codec::QColumnar, set);
}

#[test]
fn the_lines_of_all_templates_have_one_limit() {
    // Two templates of a long segment and no cells, which no line uses.
    let template = [vec![1], lp(&[b'x'; 1000])].concat();
    let set: &StreamList<'_> = &[
        ("meta", &[0, 0, 2]),
        ("t0:meta", &[10, 0, 0, 1, 10, 10]),
        ("t0:template", &template),
        ("t0:row_modes", &[1; 10]),
        ("t1:meta", &[10, 0, 0, 1, 10, 10]),
        ("t1:template", &template),
        ("t1:row_modes", &[1; 10]),
    ];
    assert_eq!(text(Codec::QJson2, set), "");
    // With the newline between lines, each takes 10,009 bytes.
    let with = |limits: Limits| {
        unpack_with(Codec::QJson2, set, &ReadOptions::default().with_limits(limits)).is_ok()
    };
    assert!(with(Limits::default().with_output_bytes(20_018)));
    assert!(!with(Limits::default().with_output_bytes(20_017)));
    assert!(with(Limits::default().with_read_bytes(20_018)));
    assert!(!with(Limits::default().with_read_bytes(20_017)));
}
