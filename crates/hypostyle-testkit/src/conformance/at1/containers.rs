//! Whole files, frames, trailers, stream sets and backends (§2).

use liblzma::stream::Check;

use super::Cases;
use crate::build::at1::{
    Columnar, EMPTY_XZ, File, RowGroups, Stream, TRAILER, deltas, frame, lp, set, stored, uv, xz,
    xz_checked, zstd, zstd_block, zstd_run,
};

/// Returns the streams of a log of verbatim lines.
pub(super) fn log(lines: &str) -> Vec<Stream> {
    let count = lines.split('\n').count();
    stored(&[
        ("meta", &[uv(count as u128), vec![0]].concat()),
        ("flags", &vec![0; count]),
        ("verbatim", lines.as_bytes()),
    ])
}

pub(super) fn add(cases: &mut Cases) {
    raw(cases);
    frames(cases);
    streams(cases);
    backends(cases);
}

fn raw(cases: &mut Cases) {
    let text = b"hello, AT-1\n";
    cases.good("raw/stored", &File::raw(2, text), text);
    cases.good("raw/stored-and-empty", &File::raw(2, b""), b"");
    cases.good("raw/xz", &File::raw(0, &xz(text)).hashed(text), text);
    cases.good("raw/zstd", &File::raw(1, &zstd(text)).hashed(text), text);
    cases.good("raw/zstd-of-one-byte-repeated", &File::raw(1, &zstd_run(b'x', 300_000)), {
        "x".repeat(300_000)
    });
    cases.good("raw/any-bytes", &File::raw(2, b"\0\xFF\n\r\xA1S6").hashed(b"\0\xFF\n\r\xA1S6"), {
        b"\0\xFF\n\r\xA1S6"
    });
    // 35 bytes are too few for a trailer, so these four belong to the original.
    let short = [&[0; 25][..], &TRAILER].concat();
    cases.good("raw/too-short-for-a-trailer", &File::raw(2, &short), &short);
    // The 74 bytes of section 4.
    cases.good("raw/empty-original", &File::raw(0, &EMPTY_XZ).hashed(b""), b"");
}

fn frames(cases: &mut Cases) {
    let table = |cells: &str, trailing| {
        let rows = cells.split('\n').count();
        let columns = vec![(0, 0, cells.into())];
        set(&Columnar { trailing, ..Columnar::new(rows, columns) }.streams())
    };
    // The example of section 2.2: a raw frame that ends within a line.
    let five = frame(1, b"\x025\n6");
    let zstd_frame = frame(1, &[vec![1], zstd(b"7\n8\n")].concat());
    let example = File::streaming(4, 2, &[five.clone(), zstd_frame.clone()]);
    cases.good("frames/raw-stored-and-zstd", &example, b"5\n67\n8\n");
    let mixed = [frame(0, &table("a\nb", 1)), five, frame(0, &table("c", 0)), zstd_frame];
    let original = b"a\nb\n5\n6c7\n8\n";
    cases.good("frames/structured-and-raw", &File::streaming(4, 2, &mixed), original);
    let hashed = File::streaming(4, 500_000, &mixed).hashed(original);
    cases.good("frames/with-a-trailer", &hashed, original);
    cases.good("frames/none", &File::streaming(4, 500_000, &[]), b"");
    cases.good("frames/none-with-a-trailer", &File::streaming(3, 1, &[]).hashed(b""), b"");
    let bare = [frame(1, b"\x02"), frame(1, b"\x02x\n"), frame(1, b"\x02")];
    cases.good("frames/raw-without-a-codec", &File::streaming(255, 0, &bare), b"x\n");
    cases.good(
        "frames/long-way-to-write-a-length",
        &{
            let body = frame(1, b"\x02x\n");
            let body = [&[0x84, 0x80, 0x00], body.get(1..).unwrap()].concat();
            File::streaming(4, 0, &[body])
        },
        b"x\n",
    );
    // Sums restart in each frame.
    let numbers = |values: &[i128]| {
        frame(0, &set(&Columnar::new(values.len(), vec![(1, 0, deltas(values))]).streams()))
    };
    let file = File::streaming(4, 2, &[numbers(&[1_000, 1_001]), numbers(&[1_002])]);
    cases.good("frames/sums-start-anew", &file, b"1000\n1001\n1002\n");
    let group = |cells: &str, modes| {
        let groups = RowGroups { types: &[0], ..RowGroups::delimited(1, b",", modes) };
        frame(0, &set(&RowGroups { blocks: vec![zstd_block(cells)], ..groups }.streams("")))
    };
    let file = File::streaming(7, 2, &[group("id\n1", &[1, 1]), group("2", &[1])]);
    cases.good("frames/qcolumnar-appended-to", &file, b"id\n1\n2\n");
    let file = File::streaming(3, 1, &[frame(0, &set(&log("one"))), frame(0, &set(&log(" line")))]);
    cases.good("frames/a-line-over-two-frames", &file, b"one line");
}

fn streams(cases: &mut Cases) {
    let mut reversed = log("one\ntwo");
    reversed.reverse();
    cases.good("streams/in-any-order", &File::whole(3, &reversed), b"one\ntwo");
    let mut many = log("one\ntwo");
    many.extend((0..253).map(|index| Stream::new(&format!("unknown-{index}"), b"")));
    cases.good("streams/two-hundred-and-fifty-six", &File::whole(3, &many), b"one\ntwo");
    // A reader does not decompress a stream that the codec does not use, so it may be broken.
    let mut unknown = log("one\ntwo");
    unknown.insert(0, Stream::packed("bloom", 1, b"no zstd at all"));
    cases.good("streams/unknown-and-broken", &File::whole(3, &unknown), b"one\ntwo");
    // Names with the same first 31 bytes are different names.
    let start = "verbatim-and-then-some-more-of-it";
    let mut long = log("one");
    long.insert(0, Stream::new(start, b"not this"));
    long.insert(0, Stream::new(&format!("{start}!"), b"nor this"));
    cases.good("streams/names-of-more-than-31-bytes", &File::whole(3, &long), b"one");
    let named = [log("one"), vec![Stream::new(&"n".repeat(1024), b"")]].concat();
    cases.good("streams/a-name-of-1024-bytes", &File::whole(3, &named), b"one");
    // Varints with redundant bytes.
    let longer = stored(&[
        ("meta", &[0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00, 0]),
        ("flags", &[0]),
        ("verbatim", b"one"),
    ]);
    let mut body = set(&longer);
    body.splice(0..1, [0x83, 0x00]);
    cases.good("streams/long-ways-to-write-numbers", &File { body, ..File::whole(3, &[]) }, b"one");
    let surplus = stored(&[
        ("meta", &[1, 0, 9, 9]),
        ("flags", &[0, 0, 1]),
        ("verbatim", b"one\ntwo\nthree"),
        ("tids", &[200, 1]),
    ]);
    cases.good("streams/surplus-everywhere", &File::whole(3, &surplus), b"one");
}

fn backends(cases: &mut Cases) {
    let text = "one\ntwo\n".repeat(40);
    let packed = |backend, payload: &[u8]| {
        let mut streams = log(&text);
        streams.pop();
        streams.push(Stream::packed("verbatim", backend, payload));
        File::whole(3, &streams).hashed(text.as_bytes())
    };
    let bytes = text.as_bytes();
    cases.good("backends/xz", &packed(0, &xz(bytes)), &text);
    cases.good("backends/zstd", &packed(1, &zstd(bytes)), &text);
    cases.good("backends/stored", &packed(2, bytes), &text);
    for (name, check) in [
        ("backends/xz-without-a-check", Check::None),
        ("backends/xz-with-crc-32", Check::Crc32),
        ("backends/xz-with-sha-256", Check::Sha256),
    ] {
        cases.good(name, &packed(0, &xz_checked(bytes, 1000, check)), &text);
    }
    let many = xz_checked(bytes, 50, Check::Crc64);
    cases.good("backends/xz-of-seven-blocks", &packed(0, &many), &text);
    let raw = File::raw(0, &many).hashed(bytes);
    cases.good("backends/raw-xz-of-seven-blocks", &raw, &text);
    let empty = |backend, payload: &[u8]| {
        let streams = stored(&[("meta", &[1, 1]), ("flags", &[0])]);
        let verbatim = Stream::packed("verbatim", backend, payload);
        File::whole(3, &[streams, vec![verbatim]].concat())
    };
    cases.good("backends/xz-of-nothing", &empty(0, &EMPTY_XZ), b"\n");
    cases.good("backends/zstd-of-nothing", &empty(1, b"\x28\xB5\x2F\xFD\x20\0\x01\0\0"), b"\n");
    // A raw block, written byte by byte.
    let by_hand = b"\x28\xB5\x2F\xFD\x20\x03\x19\0\0abc";
    cases.good("backends/zstd-by-hand", &empty(1, by_hand), b"abc\n");
    // A backend byte, then a length: the byte after a name is not a length of the old form (§2.3).
    let meta = [lp(b"meta"), vec![2, 2, 1, 0]].concat();
    let flags = [lp(b"flags"), vec![2, 1, 0]].concat();
    let verbatim = [lp(b"verbatim"), vec![2, 3], b"one".to_vec()].concat();
    let body = [vec![3], meta, flags, verbatim].concat();
    cases.good("streams/byte-by-byte", &File { body, ..File::whole(3, &[]) }, b"one");
}
