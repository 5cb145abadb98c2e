use super::*;
use crate::BundleEntry;

/// An archive that unpacks to these bytes, with a trailer.
fn inner(bytes: &[u8]) -> Vec<u8> {
    use sha2::{Digest, Sha256};
    let mut file = b"AT1\x02\xFF\x02".to_vec();
    file.extend_from_slice(bytes);
    file.extend_from_slice(&Sha256::digest(bytes));
    file.extend_from_slice(&[0xA1, 0x53, 0x36, 0x01]);
    file
}

fn bundle(streams: &StreamList<'_>) -> Result<Vec<BundleEntry>> {
    open(archive(Codec::Bundle, streams), &ReadOptions::default())?.bundle()
}

/// Opens the entries of a bundle with this manifest and `count` entries.
fn named(manifest: &str, entries: usize) -> Result<Vec<String>> {
    let bytes = inner(b"x");
    let names: Vec<String> = (0..entries).map(|index| format!("e{index}")).collect();
    let mut set: Vec<(&str, &[u8])> = vec![("manifest", manifest.as_bytes())];
    set.extend(names.iter().map(|name| (name.as_str(), bytes.as_slice())));
    Ok(bundle(&set)?.into_iter().map(|entry| entry.file.name).collect())
}

/// One entry of this name.
fn name(name: &str) -> Result<Vec<String>> {
    named(&serde_json::json!([{ "name": name }]).to_string(), 1)
}

#[test]
fn entries_have_names_and_unpack() {
    let (one, two) = (inner(b"one\n"), inner(b""));
    // The last entry's trailer ends the file, and is not the bundle's.
    let set: &StreamList<'_> = &[
        ("manifest", br#"[{"name":"a.txt","bytes":4},{"x":[{"name":"no"}],"name":"d/b.csv"}]"#),
        ("e0", &one),
        ("e1", &two),
    ];
    let file = open(archive(Codec::Bundle, set), &ReadOptions::default()).unwrap();
    assert_eq!(file.hash(), None);
    let entries = file.bundle().unwrap();
    let mut unpacked = Vec::new();
    for entry in &entries {
        let mut out = Vec::new();
        assert!(entry.archive.unpack(&mut out).unwrap().hash_agreed);
        unpacked.push((entry.file.name.as_str(), out));
    }
    assert_eq!(unpacked, [("a.txt", b"one\n".to_vec()), ("d/b.csv", Vec::new())]);
}

#[test]
fn a_bundle_is_not_one_file() {
    let err = unpack(Codec::Bundle, &[("manifest", b"[]")]).unwrap_err();
    assert!(matches!(err.kind(), ErrorKind::Unsupported(_)), "{err}");
    let log = open(archive(Codec::Log, &[]), &ReadOptions::default()).unwrap();
    let err = log.bundle().unwrap_err();
    assert!(matches!(err.kind(), ErrorKind::InvalidArgument(_)), "{err}");
}

#[test]
fn entries_end_at_the_first_that_is_missing_or_empty() {
    let bytes = inner(b"x");
    let manifest = br#"[{"name":"a"},{"name":"b"},{"name":"c"}]"#;
    let base: &StreamList<'_> =
        &[("manifest", manifest), ("e2", &bytes), ("e0", &bytes), ("e1", &bytes)];
    let names = |set: &StreamList<'_>| -> Vec<String> {
        bundle(set).unwrap().into_iter().map(|entry| entry.file.name).collect()
    };
    assert_eq!(names(base), ["a", "b", "c"]);
    assert_eq!(names(&without(base, "e1")), ["a"]);
    assert_eq!(names(&with(base, &[("e1", b"")])), ["a"]);
    assert_eq!(names(&without(base, "e0")), [""; 0]);
    assert_eq!(names(&[("manifest", b"[]")]), [""; 0]);
    // Streams with other spellings are not entries.
    assert_eq!(names(&[("manifest", manifest), ("e00", &bytes), ("e+0", &bytes)]), [""; 0]);
}

#[test]
fn names_must_cover_the_entries() {
    assert_eq!(named(r#"[{"name":"a"},{"name":"b"}]"#, 1).unwrap(), ["a"]);
    let err = named(r#"[{"name":"a"},{"name":"b"}]"#, 3).unwrap_err();
    assert_eq!(err.stream(), Some("manifest"));
    assert!(err.to_string().contains("2 names for 3 entries"), "{err}");
}

#[test]
fn safe_names_pass() {
    for safe in
        ["a", "a.txt", "d/e/f", "..a", "a..", "...", "a b", "名前/é.csv", ".hidden", "~", "-"]
    {
        assert_eq!(name(safe).unwrap(), [safe]);
    }
    assert_eq!(name(&"n".repeat(511)).unwrap().len(), 1);
    assert_eq!(named(r#"[{"name":"\u0061\/b"}]"#, 1).unwrap(), ["a/b"]);
}

#[test]
fn names_that_could_lead_elsewhere_are_refused() {
    let long = "n".repeat(512);
    let wide = "é".repeat(256);
    for bad in [
        "", "/", "/a", "//a", "a/", "a//b", ".", "..", "./a", "../a", "a/.", "a/..", "a/./b",
        "a/../b", "\\", "a\\b", "..\\a", "C:", "c:/a", "a:b", "\0", "a\0", "a\nb", "a\tb",
        "\u{7F}", "\u{85}", &long, &wide,
    ] {
        let err = name(bad).expect_err(bad);
        assert_eq!(err.stream(), Some("manifest"), "{bad:?}: {err}");
        assert!(err.to_string().contains("name: "), "{bad:?}: {err}");
        assert!(err.to_string().len() < 200, "{err}");
    }
    for escaped in
        [r"\u002e\u002e/a", r"\u002Fa", r"a\\b", r"a\u005cb", r"a\u003ab", r"a\u0000", r"a\nb"]
    {
        assert!(named(&format!(r#"[{{"name":"{escaped}"}}]"#), 1).is_err(), "{escaped}");
    }
    // A bad name is found wherever it is, and before any entry is opened.
    assert!(named(r#"[{"name":"a"},{"name":"b"},{"name":"../c"}]"#, 3).is_err());
}

#[test]
fn entries_must_not_get_in_each_others_way() {
    for manifest in [
        r#"[{"name":"a"},{"name":"a"}]"#,
        r#"[{"name":"a"},{"name":"\u0061"}]"#,
        r#"[{"name":"a"},{"name":"a/b"}]"#,
        r#"[{"name":"a/b/c"},{"name":"a/b"}]"#,
    ] {
        assert!(named(manifest, 2).is_err(), "{manifest}");
        assert_eq!(named(manifest, 1).unwrap().len(), 1, "a surplus name has no effect");
    }
    assert_eq!(named(r#"[{"name":"a/b"},{"name":"a/c"}]"#, 2).unwrap(), ["a/b", "a/c"]);
    assert_eq!(named(r#"[{"name":"ab"},{"name":"a/b"}]"#, 2).unwrap(), ["ab", "a/b"]);
}

#[test]
fn a_manifest_is_an_array_of_objects_with_one_name_each() {
    let deep = format!(r#"[{{"name":"a","x":{}1{}}}]"#, "[".repeat(100_000), "]".repeat(100_000));
    for manifest in [
        "",
        "{}",
        "null",
        "[1]",
        "[[]]",
        "[null]",
        "[{}]",
        r#"[{"Name":"a"}]"#,
        r#"[{"name":1}]"#,
        r#"[{"name":null}]"#,
        r#"[{"name":"a","name":"b"}]"#,
        r#"[{"name":"a"}"#,
        r#"[{"name":"a"}] x"#,
        r#"[{"name":"\ud800"}]"#,
        r#"{"name":"a"}"#,
        &format!("[{:?}]", "long ".repeat(1000)),
    ] {
        let err = named(manifest, 1).expect_err(manifest);
        assert_eq!(err.stream(), Some("manifest"), "{manifest}: {err}");
        assert!(err.to_string().len() < 200, "{err}");
    }
    let bytes = inner(b"x");
    assert!(bundle(&[("manifest", b"[{\"name\":\"\xFF\"}]"), ("e0", &bytes)]).is_err());
    assert!(bundle(&[("e0", &bytes)]).is_err(), "no manifest at all");
    // Deep nesting in an ignored member must not overflow the stack.
    let _ = named(&deep, 1);
    let many = format!("[{}{{\"name\":\"z\"}}]", r#"{"name":"a"},"#.repeat(300));
    assert_eq!(named(&many, 1).unwrap(), ["a"]);
}

#[test]
fn an_entry_is_an_archive_but_no_bundle() {
    let manifest = br#"[{"name":"a"}]"#;
    let nested = archive(Codec::Bundle, &[("manifest", b"[]")]);
    let err = bundle(&[("manifest", manifest), ("e0", &nested)]).unwrap_err();
    assert_eq!(err.stream(), Some("e0"));
    assert!(err.to_string().contains("bundle in a bundle"), "{err}");
    let err = bundle(&[("manifest", manifest), ("e0", b"plain text")]).unwrap_err();
    assert_eq!((err.stream(), err.offset()), (Some("e0"), Some(0)), "{err}");
}

#[test]
fn a_bundle_cannot_be_a_streaming_archive() {
    let err = open(b"AT1\x03\x0C\x00".to_vec(), &ReadOptions::default()).unwrap_err();
    assert!(err.to_string().contains("bundle"), "{err}");
}

#[test]
fn entries_are_read_with_the_options_of_the_bundle() {
    let inner = archive(Codec::Log, &[("meta", b"\x00\x07")]);
    let set: &StreamList<'_> = &[("manifest", br#"[{"name":"a"}]"#), ("e0", &inner)];
    let options = ReadOptions::default().with_strict(true);
    let entries = open(archive(Codec::Bundle, set), &options).unwrap().bundle().unwrap();
    let err = entries[0].archive.unpack(&mut Vec::new()).unwrap_err();
    assert!(matches!(err.kind(), ErrorKind::Strict(_)), "{err}");
}

#[test]
fn entries_share_one_limit_on_what_they_unpack_to() {
    let (one, two) = (inner(&[b'x'; 600]), inner(&[b'y'; 500]));
    let set: &StreamList<'_> =
        &[("manifest", br#"[{"name":"a"},{"name":"b"}]"#), ("e0", &one), ("e1", &two)];
    let unpack = |limit: u64| -> Vec<bool> {
        let limits = Limits::default().with_output_bytes(limit);
        let options = ReadOptions::default().with_limits(limits);
        let entries = open(archive(Codec::Bundle, set), &options).unwrap().bundle().unwrap();
        // Unpacking an entry twice does not count twice.
        let again = entries.iter().chain(&entries);
        again.map(|entry| entry.archive.unpack(&mut std::io::sink()).is_ok()).collect()
    };
    assert_eq!(unpack(1100), [true, true, true, true]);
    assert_eq!(unpack(1099), [true, false, true, false]);
    assert_eq!(unpack(599), [false, true, false, true]);
}

#[test]
fn permissions_and_times_are_read_where_they_are_what_they_should_be() {
    let known = |members: &str| {
        let manifest = format!(r#"[{{"name":"a",{members}}}]"#);
        let bytes = inner(b"x");
        let set: &StreamList<'_> = &[("manifest", manifest.as_bytes()), ("e0", &bytes)];
        let file = bundle(set).unwrap().remove(0).file;
        (file.mode, file.modified)
    };
    assert_eq!(known(r#""mode":"0644","modified":-7"#), (Some(0o644), Some(-7)));
    // Only the bits for read, write and execute are kept.
    assert_eq!(known(r#""mode":"107755""#), (Some(0o755), None));
    let deep = format!(r#""mode":{0}1{1},"modified":{0}1{1}"#, "[".repeat(500), "]".repeat(500));
    for odd in [
        r#""mode":420,"modified":"7""#,
        r#""mode":"+644","modified":1.5"#,
        r#""mode":"","modified":9223372036854775808"#,
        r#""mode":"0o644","modified":null"#,
        r#""mode":"999","modified":[7]"#,
        &deep,
    ] {
        assert_eq!(known(odd), (None, None), "{odd}");
    }
}
