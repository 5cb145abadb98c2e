//! AT-1 archives: `hyp unpack`, and the other commands on archives.

use crate::Folder;

/// Builds an archive of uncompressed streams.
fn archive(codec: u8, streams: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = b"AT1\x02".to_vec();
    out.push(codec);
    out.push(u8::try_from(streams.len()).unwrap());
    for (name, bytes) in streams {
        out.push(u8::try_from(name.len()).unwrap());
        out.extend_from_slice(name.as_bytes());
        out.push(2);
        out.extend_from_slice(&uv(bytes.len()));
        out.extend_from_slice(bytes);
    }
    out
}

fn uv(mut number: usize) -> Vec<u8> {
    let mut out = Vec::new();
    while number >= 0x80 {
        out.push(u8::try_from(number & 0x7F).unwrap() | 0x80);
        number >>= 7;
    }
    out.push(u8::try_from(number).unwrap());
    out
}

fn raw(text: &[u8]) -> Vec<u8> {
    [b"AT1\x02\xFF\x02", text].concat()
}

fn with_trailer(mut file: Vec<u8>, hash: [u8; 32]) -> Vec<u8> {
    file.extend_from_slice(&hash);
    file.extend_from_slice(&[0xA1, 0x53, 0x36, 0x01]);
    file
}

/// `id,name` with a header: an INT column, a TEXT column, and a line that is not a row.
fn people() -> Vec<u8> {
    archive(
        4,
        &[
            ("meta", b"\x03\x01\x01\x01,\x02"),
            ("row_modes", &[1, 0, 1]),
            ("fieldcounts", &[2, 2]),
            ("coltypes", &[1, 0]),
            ("col_index", &[2, 9]),
            ("values", b"\x02\x02Ada\nGrace"),
            ("quotemodes", &[0, 0]),
            ("verbatim", b"# a remark"),
            ("header", b"id,name"),
        ],
    )
}

const PEOPLE: &str = "id,name\n1,Ada\n# a remark\n2,Grace\n";

/// SHA-256 of [`PEOPLE`].
const HASH: &str = "e9d70c8b56fbfcf2f420996d9c92a8c29e2ea5d9b2a4b2aa5dd2c98a2cf04e02";

fn hash() -> [u8; 32] {
    let byte = |at: usize| u8::from_str_radix(HASH.get(at * 2..at * 2 + 2).unwrap(), 16).unwrap();
    std::array::from_fn(byte)
}

#[test]
fn a_file_is_restored_under_its_own_name() {
    let folder = Folder::new().with("people.csv.at1", with_trailer(people(), hash()));
    let said = folder.hyp("unpack people.csv.at1").ok();
    assert_eq!(said, "people.csv: 33 bytes, hash agrees\n");
    assert_eq!(folder.read("people.csv"), PEOPLE);
    folder.hyp("unpack people.csv.at1").fails(2, &["people.csv", "-f"]);
    assert_eq!(folder.hyp("unpack people.csv.at1 -f -q").ok(), "");
    assert_eq!(folder.hyp("unpack people.csv.at1 -c").ok(), PEOPLE);
    folder.hyp("unpack people.csv.at1 -q -o other.csv").ok();
    assert_eq!(folder.read("other.csv"), PEOPLE);
}

#[test]
fn several_archives_go_into_a_folder() {
    let folder = Folder::new().with("a.txt.at1", raw(b"one")).with("b.txt.at1", raw(b"two"));
    folder.hyp("unpack a.txt.at1 b.txt.at1 -q -o out").ok();
    assert_eq!((folder.read("out/a.txt"), folder.read("out/b.txt")), ("one".into(), "two".into()));
    assert_eq!(folder.hyp("unpack a.txt.at1 b.txt.at1 -c").ok(), "onetwo");
}

#[test]
fn standard_input_needs_a_name_or_standard_output() {
    let folder = Folder::new();
    folder.hyp_with("unpack -", &people()).fails(2, &["-o"]);
    assert_eq!(folder.hyp_with("unpack - -c", &people()).ok(), PEOPLE);
    folder.hyp_with("unpack - -q -o x.csv", &people()).ok();
    assert_eq!(folder.read("x.csv"), PEOPLE);
}

#[test]
fn a_wrong_hash_leaves_no_file_and_is_exit_code_four() {
    let folder = Folder::new().with("bad.csv.at1", with_trailer(people(), [7; 32]));
    folder.hyp("unpack bad.csv.at1").fails(4, &["bad.csv.at1", "hash"]);
    assert_eq!(folder.names(), ["bad.csv.at1"]);
    folder.hyp("unpack bad.csv.at1 -c").fails(4, &["hash"]);
    let ran = folder.hyp("verify bad.csv.at1").fails(4, &[]);
    assert!(ran.out.contains("hash"), "{}", ran.out);
}

#[test]
fn a_bundle_becomes_a_folder_and_stays_in_it() {
    let inner = raw(b"one\n");
    let good = [
        ("manifest", &br#"[{"name":"a.txt"},{"name":"d/b.txt"}]"#[..]),
        ("e0", &inner),
        ("e1", &inner),
    ];
    let folder = Folder::new().with("b.at1", archive(12, &good));
    folder.hyp("unpack b.at1 -q").ok();
    assert_eq!(
        (folder.read("b/a.txt"), folder.read("b/d/b.txt")),
        ("one\n".into(), "one\n".into())
    );
    folder.hyp("unpack b.at1 -c").fails(2, &["bundle"]);
    for name in ["../x", "/x", "a/../../x", "", "a\\\\b", "c:x", "a//b"] {
        let manifest = format!(r#"[{{"name":"{name}"}}]"#);
        let bad = archive(12, &[("manifest", manifest.as_bytes()), ("e0", &inner)]);
        let folder = Folder::new().with("b.at1", bad);
        folder.hyp("unpack b.at1").fails(4, &["manifest"]);
        assert_eq!(folder.names(), ["b.at1"], "{name}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_does_not_lead_a_bundle_out_of_its_folder() {
    let inner = raw(b"one\n");
    let bundle = [("manifest", &br#"[{"name":"d/b.txt"}]"#[..]), ("e0", &inner)];
    let folder = Folder::new().with("b.at1", archive(12, &bundle));
    std::fs::create_dir_all(folder.path("elsewhere")).unwrap();
    std::fs::create_dir_all(folder.path("b")).unwrap();
    std::os::unix::fs::symlink("../elsewhere", folder.path("b/d")).unwrap();
    folder.hyp("unpack b.at1").fails(4, &["outside"]);
    assert!(!folder.path("elsewhere/b.txt").exists());
}

#[test]
fn an_archive_is_a_table_to_the_other_commands() {
    let folder = Folder::new().with("people.csv.at1", people());
    let text = folder.hyp("unpack people.csv.at1 -c").ok();
    let folder = folder.with("people.csv", text);
    // A line that is no row is an error, as it is in the file.
    folder.hyp("cat people.csv.at1").fails(4, &["row", "--ragged pad"]);
    for words in [
        "cat people.csv",
        "cat people.csv --ragged pad",
        "cat people.csv --ragged pad --no-header",
        "head people.csv -n 1 --ragged pad",
        "get people.csv 2 0 --ragged pad",
        "schema people.csv --ragged pad",
    ] {
        let (plain, packed) = (folder.hyp(words), folder.hyp(&words.replace(".csv", ".csv.at1")));
        assert_eq!((packed.code, packed.out), (plain.code, plain.out), "{words}");
    }
    folder.hyp("convert people.csv.at1 people.colm -q --ragged pad").ok();
    let table = folder.hyp("cat people.csv --ragged pad").ok();
    assert_eq!(folder.hyp("cat people.colm").ok(), table);
    folder.hyp("convert people.colm x.at1 -q").ok();
    assert_eq!(folder.hyp("cat x.at1").ok(), table);
}

#[test]
fn inspect_shows_the_parts_of_an_archive() {
    let folder = Folder::new().with("people.csv.at1", with_trailer(people(), hash()));
    let out = folder.hyp("inspect people.csv.at1").ok();
    for part in ["whole-file container", "codec columnar", HASH, "values", "stored", "INT", "TEXT"]
    {
        assert!(out.contains(part), "no {part} in {out}");
    }
    let json = folder.hyp("inspect people.csv.at1 --json").ok();
    for part in ["\"codec\": \"columnar\"", "\"name\": \"id\"", "\"backend\": \"stored\""] {
        assert!(json.contains(part), "no {part} in {json}");
    }
    let said = folder.hyp("verify people.csv.at1").ok();
    assert_eq!(said, "people.csv.at1: ok: AT-1, unpacks to 33 bytes, the hash agrees\n");
}

#[test]
fn unsupported_archives_are_refused_with_the_reason() {
    let folder = Folder::new()
        .with("old.at1", b"AT1\x01\x04rest")
        .with("new.at1", b"AT1\x02\x4Drest")
        .with("cut.at1", &people()[..40]);
    folder.hyp("unpack old.at1").fails(4, &["version 1", "not supported"]);
    folder.hyp("unpack new.at1").fails(4, &["codec 77", "not supported"]);
    folder.hyp("unpack cut.at1").fails(4, &["cut.at1"]);
    assert_eq!(folder.names(), ["cut.at1", "new.at1", "old.at1"]);
}

#[test]
fn limits_on_the_output_hold() {
    let folder = Folder::new().with("a.txt.at1", raw(&[b'x'; 5000]));
    folder.hyp("unpack a.txt.at1 --max-output 4999").fails(4, &["5000", "limit of 4999"]);
    assert_eq!(folder.names(), ["a.txt.at1"]);
    folder.hyp("unpack a.txt.at1 -q --max-output 5000").ok();
}

#[test]
fn limits_on_the_output_hold_for_all_of_a_bundle() {
    let inner = raw(&[b'x'; 3000]);
    let entries =
        [("manifest", &br#"[{"name":"a"},{"name":"b"}]"#[..]), ("e0", &inner), ("e1", &inner)];
    let folder = Folder::new().with("b.at1", archive(12, &entries));
    folder.hyp("unpack b.at1 --max-output 5999").fails(4, &["3000", "limit of 2999"]);
    folder.hyp("unpack b.at1 -f -q --max-output 6000").ok();
    folder.hyp("verify b.at1 --max-output 5999").fails(4, &[]);
}

#[test]
fn limits_on_a_stream_hold() {
    // A zstd frame of 5,000 equal bytes.
    let packed = b"AT1\x02\xFF\x01\x28\xB5\x2F\xFD\x60\x88\x12\x43\x9C\x00x";
    let folder = Folder::new().with("a.txt.at1", packed);
    folder.hyp("unpack a.txt.at1 --max-block 4999").fails(4, &["5000", "limit of 4999"]);
    folder.hyp("unpack a.txt.at1 --max-decoded 4999").fails(4, &["5000", "limit of 4999"]);
    assert_eq!(folder.names(), ["a.txt.at1"]);
    folder.hyp("unpack a.txt.at1 -q --max-decoded 5000 --max-block 5000").ok();
    assert_eq!(folder.read("a.txt"), "x".repeat(5000));
}

#[test]
fn paths_of_a_bundle_are_shorter_than_1024_bytes_before_anything_is_written() {
    let inner = raw(b"one\n");
    let name = ["n".repeat(250), "m".repeat(250)].join("/");
    let manifest = format!(r#"[{{"name":"a"}},{{"name":"{name}"}}]"#);
    let entries = [("manifest", manifest.as_bytes()), ("e0", &inner), ("e1", &inner)];
    let folder = Folder::new().with("b.at1", archive(12, &entries));
    let long = ["o".repeat(180), "p".repeat(180), "q".repeat(180)].join("/");
    folder.hyp(&format!("unpack b.at1 -o {long}")).fails(4, &["1023 bytes", "nnn"]);
    assert_eq!(folder.names(), ["b.at1"]);
    folder.hyp("unpack b.at1 -q -o c").ok();
    assert_eq!(folder.read(&format!("c/{name}")), "one\n");
}

#[test]
fn a_deviation_of_an_entry_is_a_deviation_of_its_bundle() {
    // A log whose flag for the last newline is 7.
    let odd = archive(3, &[("meta", b"\x00\x07")]);
    let entries = [("manifest", &br#"[{"name":"a"}]"#[..]), ("e0", &odd)];
    let folder = Folder::new().with("b.at1", archive(12, &entries));
    assert!(folder.hyp("verify b.at1").ok().contains("A14"));
    folder.hyp("verify b.at1 --strict").fails(1, &[]);
}
