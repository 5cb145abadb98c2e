use super::*;

const EMPTY: &StreamList<'_> = &[("meta", b"\x00"), ("tag_keys", b"\x00"), ("roles", b"\x00")];
const TEXT: &str = r#"<osm>
  <bounds/>
  <node id="12" version="1" timestamp="2024-01-02T03:04:06Z" lat="0" lon="13.4050001">
    <tag k="name" v="A &amp; B"/>
    <tag k="" v=""/>
  </node>
  <node id="10" version="300" timestamp="1970-01-01T00:00:00Z" lat="-0.0000001" lon="-180"/>
  <way id="5" version="3" timestamp="1970-01-01T00:00:00Z">
    <nd ref="10"/>
    <nd ref="12"/>
    <tag k="hw" v=""/>
  </way>
  <way id="4" version="1" timestamp="1970-01-01T00:00:01Z"/>
  <way id="6" version="1" timestamp="1969-12-31T23:59:59Z">
    <nd ref="11"/>
  </way>
  <relation id="99" version="1" timestamp="1970-01-01T00:00:10Z">
    <member type="way" ref="5" role="outer"/>
    <member type="node" ref="10" role=""/>
    <member type="relation" ref="-1" role="outer"/>
  </relation>
  <relation id="98" version="2" timestamp="1970-01-01T00:00:10Z">
    <tag k="hw" v="x"/>
  </relation>
  <relation id="97" version="2" timestamp="1970-01-01T00:00:10Z"/>
</osm>
"#;

/// The streams of [`TEXT`].
struct Map(Vec<(&'static str, Vec<u8>)>);

impl Map {
    fn new() -> Self {
        Self(vec![
            ("meta", vec![1]),
            ("opcodes", vec![0, 1, 1, 2, 2, 2, 3, 4, 255, 0]),
            ("verbatim", [lp(b"<osm>\n  <bounds/>"), lp(b"</osm>")].concat()),
            ("tag_keys", b"\x03name\0\0hw\0".to_vec()),
            ("roles", b"\x02\0outer\0".to_vec()),
            ("n_id", deltas(&[12, 10])),
            ("n_ver", [uv(1), uv(300)].concat()),
            ("n_ts", deltas(&[1_704_164_646, 0])),
            ("n_lat", deltas(&[0, -1])),
            ("n_lon", deltas(&[134_050_001, -1_800_000_000])),
            ("n_tagcnt", vec![2, 0]),
            ("n_tagkey", vec![0, 1]),
            ("n_tagval", [lp(b"A &amp; B"), lp(b"")].concat()),
            ("w_id", deltas(&[5, 4, 6])),
            ("w_ver", vec![3, 1, 1]),
            ("w_ts", deltas(&[0, 1, -1])),
            ("w_ndcnt", vec![2, 0, 1]),
            ("w_ndref", deltas(&[10, 12, 11])),
            ("w_tagcnt", vec![1, 0, 0]),
            ("w_tagkey", vec![2]),
            ("w_tagval", lp(b"")),
            ("r_id", deltas(&[99, 98, 97])),
            ("r_ver", vec![1, 2, 2]),
            ("r_ts", deltas(&[10, 10, 10])),
            ("r_memcnt", vec![3, 0, 0]),
            ("r_memtype", vec![1, 0, 2]),
            ("r_memref", deltas(&[5, 10, -1])),
            ("r_memrole", vec![1, 0, 1]),
            ("r_tagcnt", vec![0, 1, 0]),
            ("r_tagkey", vec![2]),
            ("r_tagval", lp(b"x")),
        ])
    }

    fn set(&self) -> Vec<(&str, &[u8])> {
        self.0.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect()
    }
}

/// The streams of one node.
const NODE: &StreamList<'_> = &[
    ("meta", b"\x00"),
    ("opcodes", b"\x01"),
    ("tag_keys", b"\x01k\0"),
    ("roles", b"\x00"),
    ("n_id", b"\x02"),
    ("n_ver", b"\x01"),
    ("n_ts", b"\x00"),
    ("n_lat", b"\x00"),
    ("n_lon", b"\x00"),
    ("n_tagcnt", b"\x00"),
];

#[test]
fn elements_are_laid_out_as_in_the_original() {
    let map = Map::new();
    assert_eq!(text(Codec::Osm, &map.set()), TEXT);
    deviates(Codec::Osm, &map.set(), &[]);
}

#[test]
fn only_one_means_a_last_newline() {
    let map = Map::new();
    let set = map.set();
    assert_eq!(text(Codec::Osm, &with(&set, &[("meta", b"\x00")])), TEXT.trim_end());
    let odd = with(&set, &[("meta", b"\x03")]);
    assert_eq!(text(Codec::Osm, &odd), TEXT.trim_end());
    deviates(Codec::Osm, &odd, &["A14"]);
}

#[test]
fn a_map_may_be_empty_but_has_its_lists_of_strings() {
    assert_eq!(text(Codec::Osm, EMPTY), "");
    assert_eq!(text(Codec::Osm, &with(EMPTY, &[("meta", b"\x01")])), "\n");
    for stream in ["meta", "tag_keys", "roles"] {
        refused(Codec::Osm, &without(EMPTY, stream), stream, 0);
    }
}

#[test]
fn strings_are_ended_by_a_byte_zero() {
    refused(Codec::Osm, &with(EMPTY, &[("tag_keys", b"\x02a\0b")]), "tag_keys", 3);
    refused(Codec::Osm, &with(EMPTY, &[("roles", b"\x03a\0")]), "roles", 0);
    let huge = uv(1 << 50);
    refused(Codec::Osm, &with(EMPTY, &[("roles", &huge)]), "roles", 0);
}

#[test]
fn timestamps_without_a_year_of_four_digits_are_refused() {
    let one = |seconds: i128| {
        let stamp = sv(seconds);
        unpack(Codec::Osm, &with(NODE, &[("n_ts", &stamp)]))
            .map(|bytes| String::from_utf8(bytes).unwrap())
    };
    assert!(one(253_402_300_799).unwrap().contains("9999-12-31T23:59:59Z"));
    assert!(one(-62_167_219_200).unwrap().contains("0000-01-01T00:00:00Z"));
    for seconds in
        [253_402_300_800, -62_167_219_201, i64::MAX.into(), i64::MIN.into(), i128::MAX, i128::MIN]
    {
        let err = one(seconds).unwrap_err();
        assert_eq!((err.stream(), err.offset()), (Some("n_ts"), Some(0)), "{err}");
    }
}

#[test]
fn numbers_beyond_64_bits_are_exact_and_recorded() {
    let wide = sv(i128::from(u64::MAX) * 10);
    let set = with(NODE, &[("n_id", &wide)]);
    let line = text(Codec::Osm, &set);
    assert!(line.starts_with("  <node id=\"184467440737095516150\" version"), "{line}");
    deviates(Codec::Osm, &set, &["A11"]);
}

#[test]
fn a_sum_beyond_128_bits_is_refused() {
    let map = Map::new();
    let ids = [sv(i128::MAX), sv(1)].concat();
    refused(Codec::Osm, &with(&map.set(), &[("n_id", &ids)]), "n_id", 19);
    let ids = [sv(i128::MIN), sv(-1)].concat();
    refused(Codec::Osm, &with(&map.set(), &[("n_id", &ids)]), "n_id", 19);
    let mut endless = vec![0xFF; 18];
    endless.push(0x04);
    refused(Codec::Osm, &with(&map.set(), &[("n_id", &endless)]), "n_id", 0);
}

#[test]
fn keys_roles_and_types_must_exist() {
    let map = Map::new();
    let set = map.set();
    refused(Codec::Osm, &with(&set, &[("n_tagkey", b"\x00\x03")]), "n_tagkey", 1);
    refused(Codec::Osm, &with(&set, &[("r_memrole", b"\x01\x02\x00")]), "r_memrole", 1);
    refused(Codec::Osm, &with(&set, &[("r_memtype", b"\x03\x00\x00")]), "r_memtype", 0);
}

#[test]
fn every_stream_is_needed() {
    let map = Map::new();
    let set = map.set();
    for (name, bytes) in set.iter().filter(|(name, _)| !["opcodes", "meta"].contains(name)) {
        let err = unpack(Codec::Osm, &without(&set, name)).expect_err("was accepted");
        assert_eq!(err.stream(), Some(*name), "{err}");
        let short = &bytes[..bytes.len() - 1];
        let err = unpack(Codec::Osm, &with(&set, &[(name, short)])).expect_err("was accepted");
        assert_eq!(err.stream(), Some(*name), "{err}");
    }
}

#[test]
fn claimed_counts_of_children_cost_nothing() {
    let map = Map::new();
    let set = map.set();
    let huge = uv(u128::from(u64::MAX));
    refused(Codec::Osm, &with(&set, &[("w_ndcnt", &huge)]), "w_ndref", 3);
    refused(Codec::Osm, &with(&set, &[("n_tagcnt", &huge)]), "n_tagkey", 2);
    refused(Codec::Osm, &with(&set, &[("r_memcnt", &huge)]), "r_memtype", 3);
}

#[test]
fn keys_that_are_repeated_count_towards_the_limit() {
    let key = [b"\x01", "k".repeat(1 << 20).as_bytes(), b"\0"].concat();
    let zeros = vec![0; 100];
    let set = with(
        NODE,
        &[("tag_keys", &key), ("n_tagcnt", b"\x64"), ("n_tagkey", &zeros), ("n_tagval", &zeros)],
    );
    limited(Codec::Osm, &set, 50 << 20);
}

#[test]
fn damage_is_an_error_at_worst() {
    let map = Map::new();
    survives_cuts(Codec::Osm, &map.set());
    survives_changes(Codec::Osm, &map.set());
}
