//! The deviations of section 8 of the spec: those that a reader accepts and reports, and those that
//! it accepts without a report. The `invalid` module has those that it refuses.
//!
//! A test compares the names of these files with the table in the spec.

use liblzma::stream::Check;

use super::Cases;
use super::columnar::{DEC, DICT, INT, NUMEXC, SHUF, TEXT, one};
use super::containers::log;
use super::groups::{PEOPLE, SEGMENTS, TRADES, people, trades};
use crate::build::at1::{
    Columnar, EMPTY_XZ, File, RowGroups, Stream, deltas, frame, lp, set, stored, sv, texts, uv, xz,
    xz_block, xz_checked, zoned, zstd, zstd_block,
};

pub(super) fn add(cases: &mut Cases) {
    containers(cases);
    backends(cases);
    numbers(cases);
    streams(cases);
    flags(cases);
    groups(cases);
}

fn containers(cases: &mut Cases) {
    let legacy = [
        Stream::legacy("meta", &[1, 0]),
        Stream::new("flags", &[0]),
        Stream::legacy("verbatim", b"one"),
    ];
    cases.odd(
        "deviations/a01-streams-without-a-backend",
        &File::whole(3, &legacy),
        b"one",
        &["A1", "A1"],
    );
    cases.good("deviations/a01-streams-with-a-backend", &File::whole(3, &log("one")), b"one");
    // A length of 128 or more: its first byte is over 0x7F.
    let long: String = (0..500).map(|n| n.to_string() + "\n").collect();
    let legacy = [
        Stream::new("meta", &[vec![0xF5, 3], vec![0]].concat()),
        Stream::new("flags", &[0; 501]),
        Stream::legacy("verbatim", long.as_bytes()),
    ];
    cases.odd("deviations/a01-length-of-two-bytes", &File::whole(3, &legacy), &long, &["A1"]);
    let text = b"hello, AT-1\n".repeat(50);
    let bare = File { body: xz(&text), ..File::raw(0, b"") };
    cases.odd("deviations/a02-raw-without-a-backend", &bare.hashed(&text), &text, &["A2"]);
    let bare = File::streaming(4, 1, &[frame(1, &xz(&text)), frame(1, b"\x02end\n")]);
    let original = [&text[..], b"end\n"].concat();
    cases.odd("deviations/a03-frame-without-a-backend", &bare, original, &["A3"]);
    cases.good("deviations/a04-no-trailer", &File::raw(2, b"x"), b"x");
    cases.good("deviations/a04-trailer", &File::raw(2, b"x").hashed(b"x"), b"x");
    let dict = (DICT, 0, [vec![1], texts(&["x"]), vec![0]].concat());
    let shuf = (SHUF, 0, [uv(1), sv(7), vec![1, 0]].concat());
    let file = Columnar::new(1, vec![dict, shuf]).file();
    cases.good("deviations/a05-dict-and-shuf", &file, b"x,7\n");
    cases.good("deviations/a06-codec-3", &File::whole(3, &log("x")), b"x");
    let structured = frame(0, &[set(&log("x")), b"stray".to_vec()].concat());
    let tail = File { body: [set(&log("x")), b"stray".to_vec()].concat(), ..File::whole(3, &[]) };
    cases.odd("deviations/a22-bytes-after-the-streams", &tail, b"x", &["A22"]);
    let tail = File::streaming(3, 1, &[structured]);
    cases.odd("deviations/a22-bytes-after-the-streams-of-a-frame", &tail, b"x", &["A22"]);
}

fn backends(cases: &mut Cases) {
    let text = b"one\ntwo\nthree\n";
    let after = |packed: Vec<u8>, tail: &[u8]| [&packed[..], tail].concat();
    let zeros = File::raw(0, &after(xz(text), &[0; 8]));
    cases.odd("deviations/a07-zeros-after-xz", &zeros, text, &["A7"]);
    let second = File::raw(0, &after(xz(text), &xz(b"second")));
    cases.odd("deviations/a07-second-xz-stream", &second, text, &["A7"]);
    let tail = File::raw(1, &after(zstd(text), b"tail"));
    cases.odd("deviations/a07-bytes-after-zstd", &tail, text, &["A7"]);
    let verbatim = Stream::packed("verbatim", 0, &after(xz(b"one"), b"tail"));
    let head = stored(&[("meta", &[1, 0]), ("flags", &[0])]);
    let file = File::whole(3, &[head, vec![verbatim]].concat());
    cases.odd("deviations/a07-bytes-after-a-stream", &file, b"one", &["A7"]);
    let (_, block) = zstd_block("x");
    let table = RowGroups {
        types: &[0],
        blocks: vec![(Vec::new(), after(block, b"tail"))],
        ..RowGroups::delimited(1, b",", &[1])
    };
    let file = File::whole(7, &table.streams(""));
    cases.odd("deviations/a07-bytes-after-a-block", &file, b"x\n", &["A7"]);
    let blocks = File::raw(0, &xz_checked(text, 5, Check::Crc64));
    cases.good("deviations/a07-xz-of-three-blocks", &blocks, text);
    let head = stored(&[("meta", &[1, 0]), ("flags", &[0])]);
    let zstd_stream = Stream::packed("verbatim", 1, &zstd(b"one"));
    let file = File::whole(3, &[head, vec![zstd_stream]].concat());
    cases.good("deviations/a08-a-stream-in-zstd", &file, b"one");
    let (_, block) = xz_block("x");
    for (name, tag) in [("deviations/a09-block-tag-2", 2), ("deviations/a09-block-tag-255", 255)] {
        let block = [&[tag], block.get(1..).unwrap()].concat();
        let table = RowGroups {
            types: &[0],
            blocks: vec![(Vec::new(), block)],
            ..RowGroups::delimited(1, b",", &[1])
        };
        cases.odd(name, &File::whole(7, &table.streams("")), b"x\n", &["A9"]);
    }
    cases.odd("deviations/a24-raw-backend-7", &File::raw(7, &xz(text)), text, &["A24"]);
    let head = stored(&[("meta", &[1, 0]), ("flags", &[0])]);
    let third = Stream::packed("verbatim", 3, &EMPTY_XZ);
    let file = File::whole(3, &[head, vec![third]].concat());
    cases.odd("deviations/a24-stream-backend-3", &file, b"", &["A24"]);
}

fn numbers(cases: &mut Cases) {
    let bare_point = [vec![0], deltas(&[5, -7])].concat();
    cases.odd("deviations/a10-dec-scale-0", &one(DEC, 2, &bare_point), b"5.\n-7.\n", &["A10"]);
    let mixed = [vec![1, 0, 2, 0b01], texts(&["x"]), deltas(&[5])].concat();
    cases.odd("deviations/a10-numexc-scale-0", &one(NUMEXC, 2, &mixed), b"5.\nx\n", &["A10"]);
    let wide = deltas(&[1, 1 << 63, -5, 10_i128.pow(20), i128::MAX]);
    let original = b"1\n9223372036854775808\n-5\n100000000000000000000\n\
        170141183460469231731687303715884105727\n";
    cases.odd("deviations/a11-sums-beyond-64-bits", &one(INT, 5, &wide), original, &["A11"]);
    let ends = deltas(&[i64::MIN.into(), i64::MAX.into()]);
    let original = b"-9223372036854775808\n9223372036854775807\n";
    cases.odd("deviations/a11-delta-beyond-64-bits", &one(INT, 2, &ends), original, &["A11"]);
    let top = [uv(1), sv(0), vec![8], vec![0xFF; 8]].concat();
    cases.odd(
        "deviations/a11-shuf-without-wrapping",
        &one(SHUF, 1, &top),
        b"18446744073709551615\n",
        &["A11"],
    );
    let dec = [vec![2], deltas(&[10_i128.pow(20)])].concat();
    let original = b"1000000000000000000.00\n";
    cases.odd("deviations/a11-dec-beyond-64-bits", &one(DEC, 1, &dec), original, &["A11"]);
    // The reader skips a bound of 25 bytes: cells do not depend on it.
    let endless = [vec![0xFF; 24], vec![0x00], sv(9)].concat();
    let table = RowGroups {
        types: &[1],
        blocks: vec![zoned(&endless, zstd_block("9"))],
        ..RowGroups::delimited(1, b",", &[1])
    };
    let file = File::whole(7, &table.streams(""));
    cases.odd("deviations/a11-zone-beyond-128-bits", &file, b"9\n", &["A11"]);
}

fn streams(cases: &mut Cases) {
    let column = (TEXT, 9, b"a\nb".to_vec());
    let file = Columnar { bits: vec![0b10], ..Columnar::new(2, vec![column]) }.file();
    cases.odd("deviations/a12-quote-mode-9", &file, b"a\n\"b\"\n", &["A12"]);
    let mut twice = log("one");
    twice.push(Stream::new("verbatim", b"two"));
    cases.odd("deviations/a13-first-of-a-name-counts", &File::whole(3, &twice), b"one", &["A13"]);
    let other = stored(&[("bloom", b"?"), ("meta", &[1, 1]), ("flags", &[0])]);
    let file = File::whole(3, &other);
    cases.good("deviations/a13-unknown-and-missing-streams", &file, b"\n");
    let few = Columnar { modes: Some(vec![0, 0, 0]), verbatim: b"a", ..Columnar::new(3, vec![]) };
    let file = Columnar { counts: Some(vec![]), ..few }.file();
    cases.odd("deviations/a20-columnar-runs-out-of-lines", &file, b"a\n\n\n", &["A20"]);
}

fn flags(cases: &mut Cases) {
    let file = File::whole(3, &stored(&[("meta", &[1, 2]), ("flags", &[0]), ("verbatim", b"x")]));
    cases.odd("deviations/a14-trailing-2-is-set-in-log", &file, b"x\n", &["A14"]);
    let json = stored(&[
        ("meta", &[1, 2]),
        ("flags", &[0]),
        ("verbatim", b"x"),
        ("value_index", &[0]),
        ("rules", &[0]),
    ]);
    let file = File::whole(1, &json);
    cases.odd("deviations/a14-trailing-2-is-not-set-in-json", &file, b"x", &["A14"]);
    let osm = stored(&[
        ("meta", &[255]),
        ("opcodes", &[0]),
        ("verbatim", &lp(b"x")),
        ("tag_keys", &[0]),
        ("roles", &[0]),
    ]);
    let file = File::whole(2, &osm);
    cases.odd("deviations/a14-trailing-255-is-not-set-in-osm", &file, b"x", &["A14"]);
    let meta = [1, 1, 7, 1, b',', 1];
    let mut header =
        Columnar { header: Some("h"), ..Columnar::new(1, vec![(TEXT, 0, b"x".into())]) }.streams();
    *header.first_mut().unwrap() = Stream::new("meta", &meta);
    let file = File::whole(4, &header);
    cases.odd("deviations/a14-header-flag-7", &file, b"h\nx\n", &["A14"]);
    let rows = Columnar {
        modes: Some(vec![1, 2, 255]),
        ..Columnar::new(3, vec![(TEXT, 0, b"a\nb\nc".to_vec())])
    };
    cases.odd("deviations/a14-columnar-modes", &rows.file(), b"a\nb\nc\n", &["A14"]);
    let table = RowGroups {
        types: &[0],
        blocks: vec![zstd_block("a\nb")],
        ..RowGroups::delimited(1, b",", &[1, 9])
    };
    cases.odd(
        "deviations/a14-qcolumnar-modes",
        &File::whole(7, &table.streams("")),
        b"a\nb\n",
        &["A14"],
    );
    let lines =
        stored(&[("meta", &[2, 0]), ("flags", &[3, 1]), ("templates", b"t"), ("tids", &[0, 0])]);
    cases.odd("deviations/a14-log-flags", &File::whole(3, &lines), b"t\nt", &["A14"]);
    let meta = [vec![0, 0, 0, 2], lp(b"."), vec![0]].concat();
    let file = File::whole(5, &stored(&[("meta", &meta)]));
    cases.odd("deviations/a14-vcf-pos-delta-2", &file, b"", &["A14"]);
    let file =
        File::whole(6, &stored(&[("meta", &[2]), ("skeleton", b"{}"), ("value_index", &[0])]));
    cases.odd("deviations/a14-jsondoc-form-2", &file, b"{}", &["A14"]);
}

fn groups(cases: &mut Cases) {
    let mut compressed = trades().streams("");
    let blocks = compressed.pop().unwrap().payload;
    for (name, backend, payload) in [
        ("deviations/a15-blocks-in-xz", 0, xz(&blocks)),
        ("deviations/a15-blocks-in-zstd", 1, zstd(&blocks)),
    ] {
        let streams = [&compressed[..], &[Stream::packed("blocks", backend, &payload)]].concat();
        cases.odd(name, &File::whole(7, &streams), TRADES, &["A15"]);
    }
    let empty = RowGroups {
        types: &[0],
        blocks: vec![xz_block("")],
        ..RowGroups::delimited(1, b",", &[1])
    };
    let file = File::whole(7, &empty.streams(""));
    cases.good("deviations/a16-block-of-no-bytes-is-a-cell", &file, b"\n");
    for (name, stated) in [
        ("deviations/a17-wrong-number-of-groups", (3, 3)),
        ("deviations/a17-wrong-number-of-rows", (4, 2)),
        ("deviations/a17-both-wrong", (u64::MAX, 0)),
    ] {
        let file = File::whole(7, &RowGroups { stated, ..trades() }.streams(""));
        cases.odd(name, &file, TRADES, &["A17"]);
    }
    let none = stored(&[("meta", &[1, 1, 0]), ("line_map", &[0]), ("verbatim", b"x")]);
    cases.good("deviations/a18-codec-11", &File::whole(11, &none), b"x\n");
    let paths = |change: fn(&mut Vec<Stream>)| {
        let mut streams = people().template_streams("", &SEGMENTS, &["id", "n"]);
        change(&mut streams);
        File::whole(8, &streams)
    };
    let missing = paths(|streams| streams.retain(|stream| stream.name != "paths"));
    cases.odd_table("deviations/a23-paths-are-missing", &missing, PEOPLE, &["A23"]);
    let fewer = paths(|streams| {
        streams.iter_mut().filter(|stream| stream.name == "paths").for_each(|stream| {
            stream.payload = texts(&["id"]);
        });
    });
    cases.odd_table("deviations/a23-fewer-paths-than-columns", &fewer, PEOPLE, &["A23"]);
    let broken = paths(|streams| {
        streams.iter_mut().filter(|stream| stream.name == "paths").for_each(|stream| {
            stream.payload = vec![2, 200];
        });
    });
    cases.odd_table("deviations/a23-paths-are-broken", &broken, PEOPLE, &["A23"]);
}
