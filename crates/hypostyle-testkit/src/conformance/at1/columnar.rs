//! Delimited text in typed columns (§5).

use liblzma::stream::Check;

use super::Cases;
use crate::build::at1::{
    Columnar, File, Stream, TypedChunk, deltas, lp, sv, texts, uv, xz_checked,
};

pub(super) const TEXT: u8 = 0;
pub(super) const INT: u8 = 1;
pub(super) const DEC: u8 = 2;
pub(super) const NUMEXC: u8 = 3;
pub(super) const DERIVED: u8 = 4;
pub(super) const DICT: u8 = 5;
pub(super) const SHUF: u8 = 6;

/// An archive of one column whose cells are not quoted.
pub(super) fn one(kind: u8, rows: usize, chunk: &[u8]) -> File {
    Columnar::new(rows, vec![(kind, 0, chunk.to_vec())]).file()
}

/// A column of text.
fn text(cells: &str) -> TypedChunk {
    (TEXT, 0, cells.into())
}

pub(super) fn add(cases: &mut Cases) {
    types(cases);
    derived(cases);
    quotes(cases);
    rows(cases);
    fields(cases);
    // The complete archive of section 12, byte by byte.
    let body = b"\x0A\x04meta\x02\x06\x02\x01\x01\x01\x2C\x02\x09row_modes\x02\x02\x01\x01\
        \x0Bfieldcounts\x02\x02\x02\x02\x08coltypes\x02\x02\x01\x02\x09col_index\x02\x02\x02\x04\
        \x06values\x02\x06\x02\x02\x02\xAC\x02\x31\x0Aquotemodes\x02\x02\0\0\x09quotebits\x02\0\
        \x08verbatim\x02\0\x06header\x02\x08id,price";
    let hash = *b"\x64\xb0\x48\xdf\x6a\x3e\xc6\x6a\x0f\x03\xdb\xae\xba\x31\x28\x9b\
        \xa8\x63\x17\xa8\x45\xf3\xc5\x6c\x64\x41\x44\x7c\xb5\x2b\x26\x3c";
    let file = File { version: 2, codec: 4, body: body.to_vec(), hash: Some(hash) };
    cases.good("columnar/example-of-the-spec", &file, b"id,price\n1,1.50\n2,1.25\n");
}

fn types(cases: &mut Cases) {
    cases.good("columnar/text", &one(TEXT, 3, b"a\n\n\xE9 \0b"), b"a\n\n\xE9 \0b\n");
    cases.good("columnar/text-of-no-bytes-is-a-cell", &one(TEXT, 1, b""), b"\n");
    // The examples of section 5.2.
    cases.good("columnar/int", &one(INT, 3, b"\xC8\x01\x02\x8F\x03"), b"100\n101\n-99\n");
    cases.good("columnar/dec", &one(DEC, 2, b"\x02\xD2\x01\xDB\x01"), b"1.05\n-0.05\n");
    let mixed = b"\x00\x05\x15\x02\x02NA\x00\x14\x04\x05";
    cases.good("columnar/numexc", &one(NUMEXC, 5, mixed), b"10\nNA\n12\n\n9\n");
    let dict = b"\x04\x02\x03red\x04blue\x00\x01\x01\x00";
    cases.good("columnar/dict", &one(DICT, 4, dict), b"red\nblue\nblue\nred\n");
    let shuf = b"\x03\x03\x02\x00\x01\x00\x00\x00\x01";
    cases.good("columnar/shuf", &one(SHUF, 3, shuf), b"-2\n-1\n254\n");

    let ends = Columnar::new(1, vec![(INT, 0, sv(i64::MIN.into())), (INT, 0, sv(i64::MAX.into()))]);
    cases.good("columnar/int-extremes", &ends.file(), {
        b"-9223372036854775808,9223372036854775807\n"
    });
    let small = [vec![18], deltas(&[1, -1, 10_i128.pow(18)])].concat();
    cases.good("columnar/dec-scale-18", &one(DEC, 3, &small), {
        b"0.000000000000000001\n-0.000000000000000001\n1.000000000000000000\n"
    });
    // Ten cells, so the bitmap has two bytes; its padding bits are arbitrary.
    let exceptions = [lp(b"n/a"), lp(b"1e3")].concat();
    let values = deltas(&[15, -5, 0, 1, 2, 3, 4, 100]);
    let chunk = [vec![1, 1, 10, 0b1111_0111, 0b1111_1101, 2], exceptions, values].concat();
    cases.good("columnar/numexc-decimals", &one(NUMEXC, 10, &chunk), {
        b"1.5\n-0.5\n0.0\nn/a\n0.1\n0.2\n0.3\n0.4\n10.0\n1e3\n"
    });
    let none = [vec![0, 2, 0], texts(&["x", "y"])].concat();
    cases.good("columnar/numexc-of-exceptions-alone", &one(NUMEXC, 2, &none), b"x\ny\n");
    let wide: Vec<u8> = (1..=8).flat_map(|plane| [0, plane]).collect();
    let wide = [uv(2), sv(0), vec![8], wide].concat();
    cases.good("columnar/shuf-of-eight-planes", &one(SHUF, 2, &wide), b"0\n578437695752307201\n");
    let all = Columnar::new(
        2,
        vec![
            text("a\nb"),
            (INT, 0, deltas(&[7, -7])),
            (DEC, 0, [vec![1], deltas(&[7, -7])].concat()),
            (NUMEXC, 0, [vec![0, 2, 0b01], texts(&["?"]), deltas(&[7])].concat()),
            (DERIVED, 0, [vec![0], texts(&["A", "B"])].concat()),
            (DICT, 0, [vec![2], texts(&["x"]), vec![0, 0]].concat()),
            (SHUF, 0, [uv(2), sv(1), vec![1, 0, 9]].concat()),
        ],
    );
    let original = b"a,7,0.7,7,A,x,1\nb,-7,-0.7,?,B,x,10\n";
    cases.good("columnar/all-seven-types", &all.file().hashed(original), original);
}

fn derived(cases: &mut Cases) {
    let land = || text("DE\nFR\nDE");
    // The example of section 5.2.4.
    let file = Columnar::new(3, vec![land(), (DERIVED, 0, b"\x00\x02\x0249\x0233".to_vec())]);
    cases.good("columnar/derived", &file.file(), b"DE,49\nFR,33\nDE,49\n");
    // Two source cells map to the same value, and the next column depends on that value.
    let map = |source, map: &[&str]| (DERIVED, 0, [vec![source], texts(map)].concat());
    let columns = vec![text("a\nb\nc\na"), map(0, &["x", "x", "y"]), map(1, &["1", "2"])];
    let file = Columnar::new(4, columns);
    cases.good("columnar/derived-from-derived", &file.file(), b"a,x,1\nb,x,1\nc,y,2\na,x,1\n");
    let source = (DEC, 0, [vec![1], deltas(&[5, 10, 5])].concat());
    let file = Columnar::new(3, vec![source, map(0, &["half", "one"])]);
    cases.good("columnar/derived-from-numbers", &file.file(), b"0.5,half\n1.0,one\n0.5,half\n");
    // Two equal dictionary entries are the same cell.
    let source = (DICT, 0, [vec![3], texts(&["a", "a", "b"]), vec![0, 1, 2]].concat());
    let file = Columnar::new(3, vec![source, map(0, &["1", "2"])]);
    cases.good("columnar/derived-from-equal-entries", &file.file(), b"a,1\na,1\nb,2\n");
    // An exception with the spelling of a number is the same cell as the number.
    let source = (NUMEXC, 0, [vec![0, 3, 0b101], texts(&["7"]), deltas(&[7, 8])].concat());
    let file = Columnar::new(3, vec![source, map(0, &["x", "y"])]);
    cases.good("columnar/derived-from-exceptions", &file.file(), b"7,x\n7,x\n8,y\n");
    // Quotes are not part of the cell.
    let source = (TEXT, 2, b"a\na\nb".to_vec());
    let file =
        Columnar { bits: vec![0b001], ..Columnar::new(3, vec![source, map(0, &["1", "2"])]) };
    cases.good("columnar/derived-does-not-see-quotes", &file.file(), b"\"a\",1\na,1\nb,2\n");
}

fn quotes(cases: &mut Cases) {
    let cells = "a\nsay \"hi\"\n\n,";
    let columns = (0..3).map(|mode| (TEXT, mode, cells.into())).collect();
    let file = Columnar { bits: vec![0b1010], ..Columnar::new(4, columns) };
    cases.good("columnar/quotes-none-all-and-some", &file.file(), {
        b"a,\"a\",a\nsay \"hi\",\"say \"\"hi\"\"\",\"say \"\"hi\"\"\"\n,\"\",\n,,\",\",\",\"\n"
    });
    let numbers = vec![
        (INT, 1, deltas(&[1, 2])),
        (DICT, 1, [vec![2], texts(&["x\"", "y"]), vec![0, 1]].concat()),
        (SHUF, 2, [uv(2), sv(0), vec![1, 5, 6]].concat()),
        (DEC, 2, [vec![1], deltas(&[5, 6])].concat()),
    ];
    let file = Columnar { bits: vec![0b01, 0b10], ..Columnar::new(2, numbers) };
    cases.good("columnar/quotes-around-any-type", &file.file(), {
        b"\"1\",\"x\"\"\",\"5\",0.5\n\"2\",\"y\",6,\"0.6\"\n"
    });
    // Nine cells: the bitmap of the second column starts at a byte boundary.
    let nine = || (TEXT, 2, b"1\n2\n3\n4\n5\n6\n7\n8\n9".to_vec());
    let bits = vec![0b0000_0001, 0b1, 0b1000_0000, 0b0];
    let file = Columnar { bits, ..Columnar::new(9, vec![nine(), nine()]) };
    cases.good("columnar/quotes-by-bitmaps-of-two-bytes", &file.file(), {
        b"\"1\",1\n2,2\n3,3\n4,4\n5,5\n6,6\n7,7\n8,\"8\"\n\"9\",9\n"
    });
}

/// Cells of several fields, with the streams that our encoder adds (§5.6).
fn fields(cases: &mut Cases) {
    let pairs = (DICT, 0, [vec![3], texts(&["1,\"a,b\"", "2,c"]), vec![0, 1, 0]].concat());
    let answer = (DERIVED, 0, [vec![0], texts(&["x", "y"])].concat());
    let table = Columnar { header: Some("n,t,u"), ..Columnar::new(3, vec![pairs, answer]) };
    let original = b"n,t,u\n1,\"a,b\",x\n2,c,y\n1,\"a,b\",x\n";
    cases.good("columnar/fields-that-share-a-column", &table.file(), original);
    for (name, widths) in [
        ("columnar/fields-said", &[2, 1][..]),
        ("columnar/fields-said-wrongly", &[9, 9]),
        ("columnar/fields-said-too-short", &[2]),
    ] {
        let streams = [table.streams(), vec![Stream::new("hyp.fields", widths)]].concat();
        cases.good(name, &File::whole(4, &streams), original);
    }
    // Entries that no index refers to.
    let gaps = [uv(2), texts(&["", "", "b", "", "a"]), vec![4, 2]].concat();
    cases.good("columnar/dict-with-gaps", &one(DICT, 2, &gaps), b"a\nb\n");
    // One block for each column, without integrity checks.
    let mut streams = Columnar::new(2, vec![text("a\nb"), text("c\nd")]).streams();
    let blocks = xz_checked(b"a\nbc\nd", 3, Check::None);
    streams.retain(|stream| stream.name != "values");
    streams.push(Stream::packed("values", 0, &blocks));
    cases.good("columnar/block-per-column", &File::whole(4, &streams), b"a,c\nb,d\n");
}

fn rows(cases: &mut Cases) {
    let ragged = Columnar {
        counts: Some(vec![1, 3, 0, 2]),
        ..Columnar::new(4, vec![text("a\nb\nc"), text("1\n2"), text("x")])
    };
    cases.good("columnar/ragged-rows", &ragged.file(), b"a\nb,1,x\n\nc,2\n");
    let mixed = Columnar {
        modes: Some(vec![0, 1, 0, 0, 1]),
        counts: Some(vec![2, 2]),
        verbatim: b"# first\n\n\"not, closed",
        ..Columnar::new(5, vec![text("a\nb"), text("1\n2")])
    };
    let original = b"# first\na,1\n\n\"not, closed\nb,2\n";
    cases.good("columnar/verbatim-lines", &mixed.file(), original);
    let header = || Columnar {
        header: Some("\"id\",na\"me"),
        ..Columnar::new(1, vec![text("1"), text("x")])
    };
    cases.good("columnar/header-as-it-was", &header().file(), b"\"id\",na\"me\n1,x\n");
    let alone = Columnar { rows: 0, ..header() };
    cases.good("columnar/header-alone", &alone.file(), b"\"id\",na\"me\n");
    let no_newline = Columnar { trailing: 0, ..header() };
    cases.good("columnar/no-newline-at-the-end", &no_newline.file(), b"\"id\",na\"me\n1,x");
    let bars = Columnar { delimiter: b"||", ..header() };
    cases.good("columnar/delimiter-of-two-bytes", &bars.file(), b"\"id\",na\"me\n1||x\n");
    let tabs = Columnar { delimiter: b"\t", ..Columnar::new(2, vec![text("a\nb"), text("\n1")]) };
    cases.good("columnar/delimiter-of-tab", &tabs.file(), b"a\t\nb\t1\n");
    let nothing = Columnar { delimiter: b"", ..header() };
    cases.good("columnar/delimiter-of-nothing", &nothing.file(), b"\"id\",na\"me\n1x\n");
    let crlf = Columnar {
        header: Some("a,b\r"),
        ..Columnar::new(2, vec![text("1\n2"), text("x\r\ny\r")])
    };
    cases.good("columnar/crlf", &crlf.file(), b"a,b\r\n1,x\r\n2,y\r\n");
    cases.good("columnar/no-lines-but-a-newline", &Columnar::new(0, vec![]).file(), b"\n");
    let empty = Columnar { trailing: 0, ..Columnar::new(0, vec![]) };
    cases.good("columnar/empty-original", &empty.file(), b"");
    let many = Columnar {
        counts: Some([0x80, 0x01].repeat(2)),
        ..Columnar::new(2, vec![text("x\ny"); 128])
    };
    let line = |cell: &str| vec![cell; 128].join(",");
    cases.good("columnar/a-hundred-and-twenty-eight-columns", &many.file(), {
        format!("{}\n{}\n", line("x"), line("y"))
    });
}
