//! Archives that a reader must refuse.

use liblzma::stream::Check;

use super::Cases;
use super::columnar::{DEC, DERIVED, DICT, INT, NUMEXC, SHUF, TEXT, one};
use super::containers::log;
use super::groups::{SEGMENTS, people, trades};
use crate::build::at1::{
    Columnar, File, RowGroups, Stream, TRAILER, deltas, frame, lp, set, stored, sv, texts, uv, xz,
    xz_checked, zoned, zstd, zstd_block, zstd_run,
};

pub(super) fn add(cases: &mut Cases) {
    containers(cases);
    streams(cases);
    backends(cases);
    columns(cases);
    rows(cases);
    groups(cases);
    logs(cases);
    documents(cases);
    others(cases);
    bundles(cases);
    deviations(cases);
}

fn containers(cases: &mut Cases) {
    let good = File::whole(3, &log("one"));
    cases.bad("container/version-1", &File { version: 1, ..good.clone() });
    cases.bad("container/version-4", &File { version: 4, ..good.clone() });
    cases.bad_bytes("container/four-bytes", b"AT1\x02".to_vec());
    cases.bad_bytes("container/no-streams-at-all", b"AT1\x02\x03".to_vec());
    // The first test of section 2.1.
    cases.bad_bytes("container/sixteen-thousand-streams", b"AT1\x02\x07\xFF\xFF\x00".to_vec());
    cases.bad("container/codec-13", &File { codec: 13, ..good.clone() });
    cases.bad("container/codec-77", &File { codec: 77, ..good.clone() });
    cases.bad("container/wrong-hash", &good.clone().hashed(b"two"));
    cases.bad("container/wrong-hash-of-raw", &File::raw(2, b"one").hashed(b"One"));
    let bytes = good.hashed(b"one").build();
    let cut = |len: usize| bytes.get(..len).unwrap().to_vec();
    cases.bad_bytes("container/cut-within-a-name", cut(18));
    cases.bad_bytes("container/cut-within-a-stream", cut(bytes.len() - 37));
    // 40 bytes that end like a trailer, which would start within the header.
    let tiny = [&b"AT1\x02\xFF\x02"[..], &[0; 30], &TRAILER].concat();
    cases.bad_bytes("container/trailer-that-overlaps-the-header", tiny);
    cases.bad("container/raw-without-a-backend", &File { body: Vec::new(), ..File::raw(2, b"") });

    let frames = |frames: &[Vec<u8>]| File::streaming(4, 2, frames);
    cases.bad("frames/length-0", &frames(&[vec![0]]));
    cases.bad("frames/longer-than-the-file", &frames(&[vec![9, 1, 2, b'x']]));
    cases.bad("frames/longer-than-any-file", &frames(&[[vec![0xFF; 9], vec![1, 1, 2]].concat()]));
    cases.bad("frames/length-that-does-not-end", &frames(&[vec![0xFF; 12]]));
    cases.bad("frames/no-chunk-lines", &File { body: Vec::new(), ..frames(&[]) });
    cases.bad("frames/raw-without-a-backend", &frames(&[vec![1, 1]]));
    cases.bad("frames/structured-without-a-codec", &{
        File { codec: 255, ..frames(&[frame(0, &set(&log("x")))]) }
    });
    cases.bad("frames/second-frame-is-broken", &{
        frames(&[frame(1, b"\x02x\n"), frame(1, b"\x01no zstd")])
    });
    cases.bad("frames/wrong-hash", &frames(&[frame(1, b"\x02x\n")]).hashed(b"x"));
    cases.bad("frames/bundle", &File { codec: 12, ..frames(&[frame(1, b"\x02x\n")]) });
}

fn streams(cases: &mut Cases) {
    let body = |body: Vec<u8>| File { body, ..File::whole(3, &[]) };
    cases.bad("streams/more-than-the-bytes-can-hold", &body(vec![100, 0, 2, 0]));
    cases.bad("streams/length-past-the-end", &body([vec![1], lp(b"meta"), vec![2, 9, 1]].concat()));
    cases.bad("streams/length-of-65-bits", &{
        body([vec![1], lp(b"meta"), vec![2], vec![0xFF; 9], vec![0x02]].concat())
    });
    cases.bad("streams/name-past-the-end", &body(vec![1, 100, b'm', 2, 0]));
    cases.bad("streams/name-that-is-not-utf-8", &body([vec![1], lp(b"\xFF"), vec![2, 0]].concat()));
    let backend = |byte| {
        let verbatim = Stream::packed("verbatim", byte, b"one");
        File::whole(3, &[stored(&[("meta", &[1, 0]), ("flags", &[0])]), vec![verbatim]].concat())
    };
    cases.bad("streams/backend-3", &backend(3));
    cases.bad("streams/backend-31", &backend(0x1F));
    cases.bad("streams/backend-32-is-a-length-of-something-else", &backend(0x20));
    cases.bad("streams/old-form-without-xz", &{
        let verbatim = [lp(b"verbatim"), lp(&[b'x'; 40])].concat();
        body([vec![1], verbatim].concat())
    });
    cases.bad("streams/number-that-does-not-end", &{
        File::whole(3, &stored(&[("meta", &[0xFF; 11])]))
    });
    cases.bad("streams/number-of-65-bits", &{
        File::whole(3, &stored(&[("meta", &[vec![0xFF; 9], vec![2, 0]].concat())]))
    });
    cases.bad("streams/no-meta", &File::whole(3, &stored(&[("flags", &[0])])));
}

fn backends(cases: &mut Cases) {
    let text = b"one\ntwo\nthree\n";
    let mut damaged = xz(text);
    let middle = damaged.len() / 2;
    *damaged.get_mut(middle).unwrap() ^= 0x10;
    cases.bad("backends/xz-damaged", &File::raw(0, &damaged));
    let whole = xz(text);
    cases.bad("backends/xz-cut", &File::raw(0, whole.get(..whole.len() - 1).unwrap()));
    cases.bad("backends/xz-that-is-none", &File::raw(0, text));
    // An empty stream with check 2, which is reserved, and correct checksums.
    let unknown = b"\xFD\x37\x7A\x58\x5A\x00\x00\x02\xD3\x73\xD7\xAF\x00\x00\x00\x00\
        \x1C\xDF\x44\x21\x2A\x13\x90\x94\x01\x00\x00\x00\x00\x02\x59\x5A";
    cases.bad("backends/xz-with-an-unknown-check", &File::raw(0, unknown));
    // The blocks are intact; the index or the footer is damaged.
    let blocks = xz_checked(text, 5, Check::Crc64);
    for (name, back) in
        [("backends/xz-index-of-a-wrong-sum", 13), ("backends/xz-footer-of-a-wrong-sum", 12)]
    {
        let mut wrong = blocks.clone();
        let at = wrong.len() - back;
        *wrong.get_mut(at).unwrap() ^= 0x10;
        cases.bad(name, &File::raw(0, &wrong));
    }
    let whole = zstd(text);
    cases.bad("backends/zstd-cut", &File::raw(1, whole.get(..whole.len() - 1).unwrap()));
    cases.bad("backends/zstd-that-is-none", &File::raw(1, text));
    // A raw block of three bytes, first without a content size, then with a wrong one.
    cases.bad("backends/zstd-without-its-size", &{
        File::raw(1, b"\x28\xB5\x2F\xFD\x00\x58\x19\0\0abc")
    });
    cases.bad("backends/zstd-of-another-size", &{
        File::raw(1, b"\x28\xB5\x2F\xFD\x20\x04\x19\0\0abc")
    });
    cases.bad("backends/zstd-with-a-dictionary", &{
        File::raw(1, b"\x28\xB5\x2F\xFD\x21\x07\x03\x19\0\0abc")
    });
    cases.bad("backends/zstd-to-skip-first", &{
        File::raw(1, &[b"\x50\x2A\x4D\x18\x01\0\0\0x".to_vec(), whole].concat())
    });
    cases.bad("backends/unknown", &File::raw(9, text));
}

fn columns(cases: &mut Cases) {
    cases.bad("columnar/type-7", &one(7, 1, b"x"));
    cases.bad("columnar/type-7-that-no-row-asks-for", &one(7, 0, b""));
    cases.bad("columnar/int-that-does-not-end", &one(INT, 1, &[0x80; 20]));
    cases.bad("columnar/int-of-129-bits", &one(INT, 1, &[vec![0xFF; 18], vec![0x04]].concat()));
    let far = [sv(i128::MAX), sv(1)].concat();
    cases.bad("columnar/sum-of-129-bits", &one(INT, 2, &far));
    cases.bad("columnar/int-cut", &one(INT, 1, &[0x80]));
    cases.bad("columnar/dec-without-a-scale", &one(DEC, 0, b""));
    cases.bad("columnar/numexc-subtype-2", &one(NUMEXC, 1, &[2, 1, 1, 0, 2]));
    cases.bad("columnar/numexc-count-over-its-bitmap", &one(NUMEXC, 1, &[0, 100, 1, 0]));
    cases.bad("columnar/numexc-more-exceptions-than-cells", &{
        one(NUMEXC, 1, &[vec![0, 1, 0], texts(&["x", "y"])].concat())
    });
    cases.bad("columnar/numexc-too-few-exceptions", &{
        one(NUMEXC, 2, &[vec![0, 2, 0], texts(&["x"])].concat())
    });
    cases.bad("columnar/numexc-too-few-numbers", &one(NUMEXC, 2, &[0, 2, 0b11, 0, 2]));
    let derive = |chunk: Vec<u8>| {
        Columnar::new(3, vec![(TEXT, 0, b"a\nb\nc".to_vec()), (DERIVED, 0, chunk)]).file()
    };
    cases.bad("columnar/derived-from-itself", &derive([vec![1], texts(&["x"])].concat()));
    cases.bad("columnar/derived-with-too-few-entries", &{
        derive([vec![0], texts(&["x", "y"])].concat())
    });
    cases.bad("columnar/derived-with-a-false-count", &derive(vec![0, 0xFF, 0xFF, 0x03, 1, b'x']));
    cases.bad("columnar/dict-index-past-the-end", &{
        one(DICT, 1, &[vec![1], texts(&["x"]), vec![1]].concat())
    });
    cases.bad("columnar/dict-with-a-false-count", &{
        one(DICT, 1, &[vec![0xFF, 0xFF, 0x03], texts(&["x"]), vec![0]].concat())
    });
    cases.bad("columnar/dict-with-a-false-size", &one(DICT, 1, &[1, 0xFF, 0xFF, 0x03, 1, b'x']));
    cases.bad("columnar/shuf-of-no-planes", &one(SHUF, 0, &[0, 0, 0]));
    cases.bad("columnar/shuf-of-nine-planes", &one(SHUF, 0, &[0, 0, 9]));
    // The product of width and count wraps to 0 in 64 bits.
    let wraps = [uv(1 << 61), sv(0), vec![8]].concat();
    cases.bad("columnar/shuf-whose-size-wraps", &one(SHUF, 1, &wraps));
    cases.bad("columnar/shuf-beyond-128-bits", &{
        one(SHUF, 1, &[uv(1), sv(i128::MAX), vec![1, 1]].concat())
    });
    let quoted = Columnar::new(9, vec![(TEXT, 2, b"1\n2\n3\n4\n5\n6\n7\n8\n9".to_vec())]);
    cases.bad("columnar/quotes-without-bits", &Columnar { bits: vec![1], ..quoted }.file());
}

fn rows(cases: &mut Cases) {
    let two = || Columnar::new(2, vec![(TEXT, 0, b"a\nb".to_vec())]);
    let with = |name: &str, content: &[u8]| {
        let mut streams = two().streams();
        streams.iter_mut().filter(|stream| stream.name == name).for_each(|stream| {
            stream.payload = content.to_vec();
        });
        File::whole(4, &streams)
    };
    cases.bad("columnar/too-few-modes", &with("row_modes", &[1]));
    cases.bad("columnar/too-few-field-counts", &with("fieldcounts", &[1]));
    cases.bad("columnar/more-fields-than-columns", &with("fieldcounts", &[1, 2]));
    cases.bad("columnar/too-few-cells", &{
        Columnar { rows: 3, counts: Some(vec![1; 3]), modes: Some(vec![1; 3]), ..two() }.file()
    });
    cases.bad("columnar/chunk-past-the-values", &with("col_index", &[4]));
    cases.bad(
        "columnar/chunk-length-that-wraps",
        &with("col_index", &[vec![0xFF; 9], vec![1]].concat()),
    );
    cases.bad("columnar/no-column-types", &with("coltypes", b""));
    cases.bad("columnar/no-quote-modes", &with("quotemodes", b""));
    cases.bad("columnar/more-columns-than-types", &{
        with("meta", &[vec![2, 1, 0, 1, b','], uv(1 << 60)].concat())
    });
    cases.bad("columnar/more-rows-than-modes", &{
        with("meta", &[uv(1 << 60), vec![1, 0, 1, b',', 1]].concat())
    });
    cases.bad("columnar/delimiter-past-the-end", &with("meta", &[2, 1, 0, 99, b',', 1]));
}

fn groups(cases: &mut Cases) {
    let file = |groups: &RowGroups<'_>| File::whole(7, &groups.streams(""));
    cases.bad("qcolumnar/no-rows-in-a-group", &file(&RowGroups { group_rows: 0, ..trades() }));
    let mut blocks = trades().blocks;
    blocks.pop();
    cases.bad("qcolumnar/block-is-missing", &file(&RowGroups { blocks, ..trades() }));
    let block = |block: (Vec<u8>, Vec<u8>)| {
        let table = RowGroups { types: &[0], ..RowGroups::delimited(1, b",", &[1, 1]) };
        file(&RowGroups { blocks: vec![block], ..table })
    };
    cases.bad("qcolumnar/block-of-length-0", &block((Vec::new(), Vec::new())));
    cases.bad("qcolumnar/too-few-cells-in-a-block", &block(zstd_block("a")));
    cases.bad("qcolumnar/block-without-a-payload", &block((Vec::new(), vec![1])));
    cases.bad("qcolumnar/block-that-is-no-zstd", &block((Vec::new(), b"\x01abc".to_vec())));
    cases.bad("qcolumnar/block-tag-2-is-not-stored", &block((Vec::new(), b"\x02a\nb".to_vec())));
    let lengths = |index: &[u8]| {
        let mut streams = trades().streams("");
        *streams.get_mut(3).unwrap() = Stream::new("index", index);
        File::whole(7, &streams)
    };
    cases.bad("qcolumnar/block-past-the-blocks", &lengths(&[0xFF, 0x7F, 2, 4]));
    cases.bad("qcolumnar/lengths-that-wrap", &lengths(&[vec![0xFF; 9], vec![1, 2, 4]].concat()));
    cases.bad("qcolumnar/zone-cut", &lengths(&[11, 0x80]));
    let zone = zoned(&[0; 15], zstd_block("1\n2"));
    let table = RowGroups { types: &[2], ..RowGroups::delimited(1, b",", &[1, 1]) };
    let table = RowGroups { blocks: vec![zone], ..table };
    cases.bad("qcolumnar/zone-of-15-bytes", &file(&table));
    let few = RowGroups { head: [uv(9), vec![1], lp(b",")].concat(), ..trades() };
    cases.bad("qcolumnar/too-few-modes", &file(&few));
    let mut streams = trades().streams("");
    let meta = [vec![3, 1], lp(b","), uv(1 << 60), vec![2, 3, 2, 0]].concat();
    *streams.first_mut().unwrap() = Stream::new("meta", &meta);
    cases.bad("qcolumnar/more-columns-than-types", &File::whole(7, &streams));

    let qjson =
        |segments: &[&str]| File::whole(8, &people().template_streams("", segments, &["id", "n"]));
    cases.bad("qjson/too-few-segments", &qjson(SEGMENTS.get(..2).unwrap()));
    cases.bad("qjson/too-many-segments", &qjson(&["", "", "", ""]));
    let mut streams = people().template_streams("", &SEGMENTS, &["id", "n"]);
    streams.remove(1);
    cases.bad("qjson/no-template", &File::whole(8, &streams));

    let head = |templates: u8, map: &[u8]| {
        stored(&[("meta", &[1, 1, templates]), ("line_map", map), ("verbatim", b"")])
    };
    cases.bad("qjson2/sixty-five-templates", &File::whole(11, &head(65, &[0])));
    cases.bad("qjson2/template-without-streams", &File::whole(11, &head(1, &[1])));
    cases.bad("qjson2/unknown-template", &File::whole(11, &head(0, &[1])));
    cases.bad("qjson2/too-short-a-map", &File::whole(11, &head(0, b"")));
    let own = RowGroups::template(0, &[1]).template_streams("t0:", &["{}"], &[]);
    let streams = stored(&[("meta", &[2, 1, 1]), ("line_map", &[1, 1])]);
    let file = File::whole(11, &[streams, own].concat());
    cases.bad("qjson2/too-few-lines-of-a-template", &file);
}

fn logs(cases: &mut Cases) {
    let log = |flags: &[u8], tids: &[u8], vars: &[u8]| {
        File::whole(
            3,
            &stored(&[
                ("meta", &[1, 0]),
                ("flags", flags),
                ("templates", b"a \0 b \0"),
                ("tids", tids),
                ("vars", vars),
            ]),
        )
    };
    cases.bad("log/no-flag", &log(b"", &[0], b"1\n2"));
    cases.bad("log/unknown-template", &log(&[1], &[1], b"1\n2"));
    cases.bad("log/too-few-variables", &log(&[1], &[0], b"1"));
    cases.bad("log/more-lines-than-flags", &{
        File::whole(3, &stored(&[("meta", &[uv(1 << 60), vec![0]].concat())]))
    });
    let ssh = |flag: u8, pids: &[u8]| {
        File::whole(0, &stored(&[("meta", &[1, 0]), ("flags", &[flag]), ("pids", pids)]))
    };
    cases.bad("ssh/flag-3", &ssh(3, &[1]));
    cases.bad("ssh/no-process", &ssh(1, b""));
    let streams = [("meta", &[1, 0][..]), ("flags", &[2]), ("pids", &[1]), ("template_ids", &[1])];
    cases.bad("ssh/unknown-template", &File::whole(0, &stored(&streams)));
}

fn documents(cases: &mut Cases) {
    let json = |index: &[u8], rules: &[u8], tape: &[u8]| {
        File::whole(
            1,
            &stored(&[
                ("meta", &[1, 0]),
                ("flags", &[1]),
                ("keyvocab", b"\"a\""),
                ("value_index", index),
                ("values", b"1"),
                ("rules", rules),
                ("tape", tape),
            ]),
        )
    };
    cases.bad("json/no-value-index", &json(b"", &[0], &[0, 0]));
    cases.bad("json/no-rules", &json(&[1, 1], b"", &[0, 0]));
    cases.bad("json/unknown-tag", &json(&[1, 1], &[0], &[4, 0]));
    cases.bad("json/unknown-column", &json(&[1, 1], &[0], &[0, 1]));
    cases.bad("json/unknown-key", &json(&[1, 1], &[0], &[1, 1, 1, 0, 0]));
    cases.bad("json/unknown-rule", &json(&[1, 1], &[0], &[3, 0]));
    cases.bad("json/column-has-ended", &json(&[1, 1], &[0], &[2, 2, 0, 0, 0, 0]));
    cases.bad("json/tape-has-ended", &json(&[1, 1], &[0], b""));
    cases.bad("json/more-elements-than-the-tape-holds", &json(&[1, 1], &[0], &[2, 100, 0, 0]));
    // A rule with as many sources as literals, then one without a source between two literals.
    let rule = |literals: &[&str], sources: &[u8]| {
        [vec![1], texts(literals), uv(sources.len() as u128), sources.to_vec()].concat()
    };
    cases.bad("json/as-many-sources-as-literals", &json(&[1, 1], &rule(&["x"], &[0]), &[3, 0]));
    cases.bad("json/two-literals-and-no-source", &json(&[1, 1], &rule(&["x", "y"], &[]), &[3, 0]));
    cases.bad("json/no-literal", &json(&[1, 1], &rule(&[], &[]), &[3, 0]));
    cases.bad("json/source-of-no-column", &json(&[1, 1], &rule(&["x", "y"], &[1]), &[3, 0]));
    cases.bad("json/nested-8193-deep", &{
        json(&[1, 1], &[0], &[[2, 1].repeat(8192), vec![2, 0]].concat())
    });
    cases.bad("json/columns-longer-than-the-values", &json(&[1, 9], &[0], &[0, 0]));

    let document = |streams: &[(&str, &[u8])]| File::whole(6, &stored(streams));
    cases.bad("jsondoc/no-meta", &document(&[("raw", b"{}")]));
    cases.bad("jsondoc/too-few-columns", &{
        document(&[("meta", &[1]), ("skeleton", b"\0"), ("colids", &[0]), ("value_index", &[0])])
    });
    cases.bad("jsondoc/too-few-numbers-of-columns", &{
        document(&[("meta", &[1]), ("skeleton", b"\0"), ("value_index", &[1, 0])])
    });
}

fn others(cases: &mut Cases) {
    let node = |seconds: i128| {
        File::whole(
            2,
            &stored(&[
                ("meta", &[1]),
                ("opcodes", &[1]),
                ("tag_keys", &[0]),
                ("roles", &[0]),
                ("n_id", &[2]),
                ("n_ver", &[1]),
                ("n_ts", &deltas(&[seconds])),
                ("n_lat", &[0]),
                ("n_lon", &[0]),
                ("n_tagcnt", &[0]),
            ]),
        )
    };
    cases.bad("osm/year-10000", &node(253_402_300_800));
    cases.bad("osm/year-before-0", &node(-62_167_219_201));
    cases.bad("osm/no-tag-keys", &File::whole(2, &stored(&[("meta", &[1]), ("roles", &[0])])));
    let relation = |kind: u8, role: u8| {
        File::whole(
            2,
            &stored(&[
                ("meta", &[1]),
                ("opcodes", &[3]),
                ("tag_keys", &[0]),
                ("roles", b"\x01r\0"),
                ("r_id", &[2]),
                ("r_ver", &[1]),
                ("r_ts", &[0]),
                ("r_memcnt", &[1]),
                ("r_memtype", &[kind]),
                ("r_memref", &[2]),
                ("r_memrole", &[role]),
                ("r_tagcnt", &[0]),
            ]),
        )
    };
    cases.bad("osm/member-type-3", &relation(3, 0));
    cases.bad("osm/unknown-role", &relation(0, 1));

    let vcf = |samples: u128, gt: &[u8]| {
        let meta = [vec![1, 0], uv(samples), vec![0], lp(b"."), texts(&["1"])].concat();
        File::whole(5, &stored(&[("meta", &meta), ("flags", &[1]), ("gt", gt)]))
    };
    cases.bad("vcf/sample-past-the-last", &vcf(3, &[1, 3, 0]));
    cases.bad("vcf/unknown-token", &vcf(3, &[1, 0, 1]));
    cases.bad("vcf/no-genotypes", &vcf(3, b""));
    cases.bad("vcf/as-many-samples-as-there-are-numbers", &vcf(u64::MAX.into(), &[0]));

    let image = |meta: &[u8]| {
        let meta = [meta, &[0]].concat();
        File::whole(9, &stored(&[("meta", &meta), ("pix", b"abcd")]))
    };
    cases.bad("dicom/form-2", &image(&[2]));
    cases.bad("dicom/transform-4", &image(&[1, 4, 0, 2, 2, 1, 8]));
    cases.bad("dicom/pixels-of-an-image-codec", &image(&[1, 0, 1, 2, 2, 1, 8]));
    cases.bad("dicom/planes-of-one-byte", &image(&[1, 3, 0, 2, 2, 1, 8]));
    cases.bad("dicom/too-few-pixels", &image(&[1, 1, 0, 2, 2, 1, 16]));
    let huge = [vec![1, 1, 0], uv(1 << 32), uv(1 << 32), vec![1, 8]].concat();
    cases.bad("dicom/sizes-that-wrap", &image(&huge));
    let array = |width: u8, count: &[u8]| {
        let meta = [vec![width], lp(b""), count.to_vec()].concat();
        File::whole(10, &stored(&[("meta", &meta), ("data", b"abcd")]))
    };
    cases.bad("embed/width-0", &array(0, &[4]));
    cases.bad("embed/width-33", &array(33, &[4]));
    cases.bad("embed/too-few-bytes", &array(2, &[3]));
    cases.bad("embed/size-that-wraps", &array(4, &uv((1 << 62) + 1)));
}

fn bundles(cases: &mut Cases) {
    let inner = File::raw(2, b"x").hashed(b"x").build();
    let named = |manifest: &str| {
        let parts = [("manifest", manifest.as_bytes()), ("e0", &inner[..])];
        File::whole(12, &stored(&parts))
    };
    for (name, manifest) in [
        ("bundle/name-leads-up", r#"[{"name":"../x"}]"#),
        ("bundle/name-leads-up-inside", r#"[{"name":"a/../../x"}]"#),
        ("bundle/name-is-absolute", r#"[{"name":"/etc/x"}]"#),
        ("bundle/name-of-a-drive", r#"[{"name":"c:x"}]"#),
        ("bundle/name-with-a-backslash", r#"[{"name":"..\\x"}]"#),
        ("bundle/name-with-an-escaped-dot", r#"[{"name":"\u002e\u002e/x"}]"#),
        ("bundle/name-with-a-null", r#"[{"name":"a\u0000"}]"#),
        ("bundle/name-with-a-newline", r#"[{"name":"a\nb"}]"#),
        ("bundle/name-with-an-empty-part", r#"[{"name":"a//b"}]"#),
        ("bundle/name-with-a-dot-alone", r#"[{"name":"a/./b"}]"#),
        ("bundle/name-that-is-empty", r#"[{"name":""}]"#),
        ("bundle/no-name", r#"[{"Name":"a"}]"#),
        ("bundle/too-few-names", "[]"),
        ("bundle/manifest-cut", r#"[{"name":"a"}"#),
        ("bundle/manifest-that-is-no-list", r#"{"name":"a"}"#),
    ] {
        cases.bad(name, &named(manifest));
    }
    cases
        .bad("bundle/name-of-512-bytes", &named(&format!(r#"[{{"name":"{}"}}]"#, "n".repeat(512))));
    let two = |manifest: &str| {
        let parts = [("manifest", manifest.as_bytes()), ("e0", &inner[..]), ("e1", &inner[..])];
        File::whole(12, &stored(&parts))
    };
    cases.bad("bundle/name-given-twice", &two(r#"[{"name":"a"},{"name":"\u0061"}]"#));
    cases.bad("bundle/file-that-is-a-folder-too", &two(r#"[{"name":"a"},{"name":"a/b"}]"#));
    let entry = |inner: &[u8]| {
        File::whole(12, &stored(&[("manifest", br#"[{"name":"a"}]"#), ("e0", inner)]))
    };
    cases.bad("bundle/bundle-in-a-bundle", &{
        entry(&File::whole(12, &stored(&[("manifest", b"[]")])).build())
    });
    cases.bad("bundle/entry-that-is-no-archive", &entry(b"plain text"));
    cases.bad("bundle/entry-with-a-wrong-hash", &entry(&File::raw(2, b"x").hashed(b"y").build()));
    cases.bad("bundle/no-manifest", &File::whole(12, &stored(&[("e0", &inner)])));
}

/// The deviations of section 8 that a reader refuses in some form.
fn deviations(cases: &mut Cases) {
    let image = [1, 0, 7, 1, 1, 1, 8, 0];
    cases.bad("deviations/a06-pixels-of-an-image-codec", &{
        File::whole(9, &stored(&[("meta", &image), ("pix", b"x")]))
    });
    let scale = |scale: u8| [vec![scale], deltas(&[1])].concat();
    cases.bad("deviations/a11-dec-scale-19", &one(DEC, 1, &scale(19)));
    cases.bad("deviations/a11-numexc-scale-19", &one(NUMEXC, 1, &[1, 19, 1, 1, 0, 2]));
    for (name, method) in [("deviations/a19-method-2", 2), ("deviations/a19-method-255", 255)] {
        cases.bad(name, &File::streaming(3, 1, &[frame(method, &set(&log("x")))]));
    }
    let short = |codec| {
        let meta: &[u8] = if codec == 7 { b"\x02\x01\x01,\0\x01\0\0" } else { b"\x02\x01" };
        let modes = if codec == 7 { "row_modes" } else { "flags" };
        File::whole(
            codec,
            &stored(&[
                ("meta", meta),
                (modes, &[0, 0]),
                ("verbatim", b"a"),
                ("value_index", &[0]),
                ("rules", &[0]),
            ]),
        )
    };
    cases.bad("deviations/a20-log-runs-out-of-lines", &short(3));
    cases.bad("deviations/a20-ssh-runs-out-of-lines", &short(0));
    cases.bad("deviations/a20-json-runs-out-of-lines", &short(1));
    cases.bad("deviations/a20-qcolumnar-runs-out-of-lines", &short(7));
    let mut many = log("one");
    many.extend((0..254).map(|index| Stream::new(&format!("u{index}"), b"")));
    cases.bad("deviations/a21-two-hundred-and-fifty-seven-streams", &File::whole(3, &many));
    let long = Stream::new(&"n".repeat(1025), b"");
    cases.bad(
        "deviations/a21-name-of-1025-bytes",
        &File::whole(3, &[log("one"), vec![long]].concat()),
    );
    // The frame declares 5 GiB and is truncated; a reader must not decompress it.
    let huge = zstd_run(0, 5 << 30);
    let claim = huge.get(..40).unwrap();
    cases.bad("deviations/a21-zstd-of-5-gib", &File::raw(1, claim));
}
