//! The other codecs (§7), and bundles.

use super::Cases;
use super::containers::log;
use crate::build::at1::{File, Stream, deltas, lp, stored, texts, uv};

pub(super) fn add(cases: &mut Cases) {
    logs(cases);
    json(cases);
    osm(cases);
    vcf(cases);
    images(cases);
    bundles(cases);
}

fn logs(cases: &mut Cases) {
    let streams = stored(&[
        ("meta", &[4, 1]),
        ("flags", &[1, 0, 1, 1]),
        ("templates", b"user \0 from \0\nup"),
        ("tids", &[0, 1, 0]),
        ("vars", b"ada\n10.0.0.1\n\nx"),
        ("verbatim", b"---"),
    ]);
    cases.good("log/templates-and-verbatim", &File::whole(3, &streams), {
        b"user ada from 10.0.0.1\n---\nup\nuser  from x\n"
    });
    cases.good("log/verbatim-alone", &File::whole(3, &log("a\n\nb")), b"a\n\nb");
    cases.good("log/no-lines-but-a-newline", &File::whole(3, &stored(&[("meta", &[0, 1])])), b"\n");

    let streams = stored(&[
        ("meta", &[4, 1]),
        ("flags", &[2, 0, 1, 2]),
        ("months", b"Jan\nFeb\nMar"),
        ("days", b" 9\n10\n11"),
        ("times", b"01:02:03\n04:05:06\n07:08:09"),
        ("hosts", b"a\nb\nc"),
        ("pids", &[uv(1), uv(300), uv(u64::MAX.into())].concat()),
        ("template_ids", &[1, 0]),
        ("templates", b"Bye <*>\nInvalid user <*> from <*>"),
        ("vars", b"webmaster\x001.2.3.4\nx\0y"),
        ("rawmsgs", b"plain <*>"),
        ("verbatim", b"-- MARK --"),
    ]);
    let original = b"Jan  9 01:02:03 a sshd[1]: Invalid user webmaster from 1.2.3.4\n-- MARK --\n\
        Feb 10 04:05:06 b sshd[300]: plain <*>\n\
        Mar 11 07:08:09 c sshd[18446744073709551615]: Bye x\n";
    cases.good("ssh/every-kind-of-line", &File::whole(0, &streams).hashed(original), original);
    let missing = stored(&[
        ("meta", &[1, 0]),
        ("flags", &[2]),
        ("months", b"Jan"),
        ("days", b"1"),
        ("times", b"t"),
        ("hosts", b"h"),
        ("pids", &[1]),
        ("template_ids", &[0]),
        ("templates", b"<*>-<*>-<*>"),
        ("vars", b"x"),
    ]);
    cases.good("ssh/missing-parts-are-empty", &File::whole(0, &missing), b"Jan 1 t h sshd[1]: x--");
}

fn json(cases: &mut Cases) {
    // The example of section 7.3, and a verbatim line.
    let rule = [vec![1], texts(&["https://x/", ""]), vec![1, 0]].concat();
    let streams = stored(&[
        ("meta", &[2, 1]),
        ("flags", &[1, 0]),
        ("verbatim", b"not json"),
        ("keyvocab", b"\"id\"\n\"url\"\n\"tags\"\n\"o\""),
        ("value_index", &[3, 3, 8, 3]),
        ("values", b"7\n8\n\"a\"\nnull\n\"s\""),
        ("rules", &rule),
        ("tape", b"\x01\x04\0\0\0\x01\x03\0\x02\x02\x02\0\x01\0\x01\x03\x01\0"),
    ]);
    let original = b"{\"id\":7,\"url\":\"https://x/7\",\"tags\":[\"a\",null],\"o\":{}}\nnot json\n";
    cases.good("json/example-of-the-spec", &File::whole(1, &streams).hashed(original), original);
    // A derived value before any token, after an unquoted one, and after a quoted one.
    let rule = [vec![1], texts(&["<", "|", ">"]), vec![2, 0, 1]].concat();
    let streams = stored(&[
        ("meta", &[5, 0]),
        ("flags", &[1; 5]),
        ("value_index", &[2, 1, 5]),
        ("values", b"1\n\"a\"\n2"),
        ("rules", &rule),
        ("tape", b"\x03\0\0\0\0\x01\x03\0\x02\0"),
    ]);
    cases.good("json/derived-from-the-last-tokens", &File::whole(1, &streams), {
        b"\"<|>\"\n1\n\"a\"\n\"<1|a>\"\n[]"
    });
    let deep = |levels: usize| {
        let tape = [[2, 1].repeat(levels - 1), vec![2, 0]].concat();
        stored(&[
            ("meta", &[1, 0]),
            ("flags", &[1]),
            ("value_index", &[0]),
            ("rules", &[0]),
            ("tape", &tape),
        ])
    };
    let nested = format!("{}{}", "[".repeat(8192), "]".repeat(8192));
    cases.good("json/nested-8192-deep", &File::whole(1, &deep(8192)), nested);

    let skeleton = b"{\n  \"a\": \0,\n  \"b\": [\0, \0]\n}\n";
    let streams = stored(&[
        ("meta", &[1]),
        ("skeleton", skeleton),
        ("colids", &[0, 1, 0]),
        ("value_index", &[2, 3, 4]),
        ("values", b"1\n2true"),
    ]);
    let original = b"{\n  \"a\": 1,\n  \"b\": [true, 2]\n}\n";
    cases.good("jsondoc/structured", &File::whole(6, &streams).hashed(original), original);
    let raw = stored(&[("meta", &[0]), ("raw", b"[1, 2")]);
    cases.good("jsondoc/raw", &File::whole(6, &raw), b"[1, 2");
}

fn osm(cases: &mut Cases) {
    // The elements of section 7.5, between verbatim ones.
    let streams = stored(&[
        ("meta", &[1]),
        ("opcodes", &[0, 1, 2, 3, 2, 1, 0]),
        ("verbatim", &[lp(b"<?xml version='1.0'?>\n<osm>"), lp(b"</osm>")].concat()),
        ("tag_keys", b"\x02name\0hw\0"),
        ("roles", b"\x01outer\0"),
        ("n_id", &deltas(&[12, 11])),
        ("n_ver", &[1, 2]),
        ("n_ts", &deltas(&[1_704_164_646, -1])),
        ("n_lat", &deltas(&[0, 525_000_000])),
        ("n_lon", &deltas(&[134_050_001, -1])),
        ("n_tagcnt", &[1, 0]),
        ("n_tagkey", &[0]),
        ("n_tagval", &lp(b"A &amp; B")),
        ("w_id", &deltas(&[5, 4])),
        ("w_ver", &[3, 1]),
        ("w_ts", &deltas(&[0, 1])),
        ("w_ndcnt", &[1, 0]),
        ("w_ndref", &deltas(&[10])),
        ("w_tagcnt", &[1, 0]),
        ("w_tagkey", &[1]),
        ("w_tagval", &lp(b"")),
        ("r_id", &deltas(&[99])),
        ("r_ver", &[1]),
        ("r_ts", &deltas(&[10])),
        ("r_memcnt", &[1]),
        ("r_memtype", &[1]),
        ("r_memref", &deltas(&[5])),
        ("r_memrole", &[0]),
        ("r_tagcnt", &[0]),
    ]);
    let original = br#"<?xml version='1.0'?>
<osm>
  <node id="12" version="1" timestamp="2024-01-02T03:04:06Z" lat="0" lon="13.4050001">
    <tag k="name" v="A &amp; B"/>
  </node>
  <way id="5" version="3" timestamp="1970-01-01T00:00:00Z">
    <nd ref="10"/>
    <tag k="hw" v=""/>
  </way>
  <relation id="99" version="1" timestamp="1970-01-01T00:00:10Z">
    <member type="way" ref="5" role="outer"/>
  </relation>
  <way id="4" version="1" timestamp="1970-01-01T00:00:01Z"/>
  <node id="11" version="2" timestamp="1969-12-31T23:59:59Z" lat="52.5" lon="-0.0000001"/>
</osm>
"#;
    cases.good("osm/every-kind-of-element", &File::whole(2, &streams).hashed(original), original);
    let empty = stored(&[("meta", &[0]), ("tag_keys", &[0]), ("roles", &[0])]);
    cases.good("osm/empty-original", &File::whole(2, &empty), b"");
}

fn vcf(cases: &mut Cases) {
    let streams = |pos_delta: u8, pos: &[u8]| {
        let meta = [vec![4, 1, 3, pos_delta], lp(b"0|0"), texts(&["1|1", "0|1"])].concat();
        stored(&[
            ("meta", &meta),
            ("flags", &[0, 0, 1, 1]),
            ("chrom", b"1\n1"),
            ("pos", pos),
            ("id", b".\nrs1"),
            ("ref", b"A\nC"),
            ("alt", b"G\nT"),
            ("qual", b".\n50"),
            ("filter", b"PASS\nq10"),
            ("info", b"AC=1\n."),
            ("format", b"GT\nGT"),
            // The example of section 7.6, then an exception list that names a sample twice.
            ("gt", &[2, 0, 1, 2, 0, 2, 1, 0, 0, 1]),
            ("verbatim", b"##fileformat=VCFv4.2\n#CHROM\tPOS"),
        ])
    };
    let original = "##fileformat=VCFv4.2\n#CHROM\tPOS\n\
        1\t150\t.\tA\tG\t.\tPASS\tAC=1\tGT\t0|1\t0|0\t1|1\n\
        1\t149\trs1\tC\tT\t50\tq10\t.\tGT\t0|0\t0|1\t0|0\n";
    let text = File::whole(5, &streams(0, b"150\n149")).hashed(original.as_bytes());
    cases.good("vcf/positions-as-text", &text, original);
    let numbers = File::whole(5, &streams(1, &deltas(&[150, 149])));
    cases.good("vcf/positions-as-differences", &numbers, original);
    let meta = [vec![1, 0, 0, 0], lp(b"."), vec![0]].concat();
    let lists = ["chrom", "pos", "id", "ref", "alt", "qual", "filter", "info", "format"];
    let mut streams = stored(&[("meta", &meta), ("flags", &[1]), ("gt", &[0])]);
    streams.extend(lists.map(|name| Stream::new(name, b"x")));
    cases.good("vcf/no-samples-leave-a-tab", &File::whole(5, &streams), "x\t".repeat(9));
}

fn images(cases: &mut Cases) {
    let image = |transform, bits, pix: &[u8]| {
        // Two rows of two pixels, one sample each, and a byte of padding.
        let meta = [vec![1, transform, 0, 2, 2, 1, bits], lp(b"\0")].concat();
        let parts = [("meta", &meta[..]), ("pre", b"PRE"), ("pix", pix), ("suf", b"SUF")];
        File::whole(9, &stored(&parts))
    };
    cases.good("dicom/raw", &File::whole(9, &stored(&[("meta", &[0]), ("raw", b"DICM")])), b"DICM");
    cases.good("dicom/pixels-as-they-are", &image(0, 16, b"any"), b"PREany\0SUF");
    // 1, +2 | 255, +2: sums restart in each row, modulo 256.
    cases.good("dicom/across-8-bits", &image(1, 8, &[1, 2, 255, 2]), b"PRE\x01\x03\xFF\x01\0SUF");
    // 0x00FF, +1 | 0xFFFF, +2: little-endian, modulo 65,536.
    let pixels = [0xFF, 0, 1, 0, 0xFF, 0xFF, 2, 0];
    cases.good("dicom/across-16-bits", &image(1, 16, &pixels), {
        b"PRE\xFF\0\0\x01\xFF\xFF\x01\0\0SUF"
    });
    cases.good("dicom/down-8-bits", &image(2, 8, &[1, 2, 255, 2]), b"PRE\x01\x02\0\x04\0SUF");
    cases.good("dicom/down-16-bits", &image(2, 12, &pixels), {
        b"PRE\xFF\0\x01\0\xFE\0\x03\0\0SUF"
    });
    cases.good("dicom/planes", &image(3, 16, b"ABCDabcd"), b"PREaAbBcCdD\0SUF");

    // The example of section 7.8.
    let streams =
        stored(&[("meta", &[vec![2], lp(b"HDR"), vec![3]].concat()), ("data", b"abcABC")]);
    cases.good(
        "embed/two-bytes-each",
        &File::whole(10, &streams).hashed(b"HDRaAbBcC"),
        b"HDRaAbBcC",
    );
    let wide: Vec<u8> = (b'A'..b'A' + 32).collect();
    let streams = stored(&[("meta", &[vec![32], lp(b""), vec![1]].concat()), ("data", &wide)]);
    cases.good("embed/thirty-two-bytes", &File::whole(10, &streams), &wide);
    let none = stored(&[("meta", &[vec![4], lp(b"H"), vec![0]].concat())]);
    cases.good("embed/no-elements", &File::whole(10, &none), b"H");
}

fn bundles(cases: &mut Cases) {
    let text = |text: &str| File::raw(2, text.as_bytes()).hashed(text.as_bytes()).build();
    let lines = File::whole(3, &log("1\n2")).build();
    let manifest = br#"[{"name":"a.txt","bytes":4},{"x":[{"name":"no"}],"name":"d/b.csv"}]"#;
    let streams = [("manifest", &manifest[..]), ("e0", &text("one\n")), ("e1", &lines)];
    cases.bundle(
        "bundle/two-files",
        &File::whole(12, &stored(&streams)),
        &[("a.txt", "one\n"), ("d/b.csv", "1\n2")],
    );
    // The trailer at the end belongs to the last entry.
    let streams = [("manifest", &br#"[{"name":"a"}]"#[..]), ("e0", &text("one\n"))];
    cases.bundle(
        "bundle/ends-like-a-trailer",
        &File::whole(12, &stored(&streams)),
        &[("a", "one\n")],
    );
    let manifest = r#"[{"name":"\u0061\/\u00e9.txt"},{"name":"..a/b"},{"name":"unused"}]"#;
    let streams = [
        ("e1", &text("two")[..]),
        ("e3", &text("after the gap")),
        ("manifest", manifest.as_bytes()),
        ("e0", &text("")),
        ("e2", b""),
    ];
    cases.bundle(
        "bundle/names-with-escapes-and-a-gap",
        &File::whole(12, &stored(&streams)),
        &[("a/é.txt", ""), ("..a/b", "two")],
    );
    let streams = stored(&[("manifest", b"[]")]);
    cases.bundle("bundle/empty", &File::whole(12, &streams), &[]);
}
