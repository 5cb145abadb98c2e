//! Bundles: several files packed into one archive by the library.

use std::io::Cursor;
use std::sync::Arc;

use bytes::Bytes;
use hypostyle::formats::at1::{
    self, Archive, BundleFile, Choice, Codec, Content, Layout, PackOptions, PackedBundle,
};
use hypostyle::{Error, ErrorKind, ReadOptions, Result};

fn bundle(files: &[(BundleFile, &[u8])], options: &PackOptions) -> Result<(Vec<u8>, PackedBundle)> {
    let names: Vec<BundleFile> = files.iter().map(|(file, _)| file.clone()).collect();
    let mut contents = files.iter();
    let open = |file: &BundleFile| {
        let (expected, content) = contents.next().unwrap();
        assert_eq!(file, expected);
        Ok(Content::Whole(content.to_vec()))
    };
    at1::pack_bundle(&names, open, options, |_, _| {})
}

fn unbundled(archive: Vec<u8>) -> Vec<(BundleFile, Codec, Vec<u8>)> {
    let archive = Archive::open(Arc::new(Bytes::from(archive)), &ReadOptions::default()).unwrap();
    assert_eq!((archive.codec(), archive.hash()), (Codec::Bundle, None));
    let entries = archive.bundle().unwrap();
    let unpacked = entries.into_iter().map(|entry| {
        let mut out = Vec::new();
        assert!(entry.archive.unpack(&mut out).unwrap().hash_agreed);
        (entry.file, entry.archive.codec(), out)
    });
    let unpacked = unpacked.collect();
    assert_eq!(archive.deviations(), []);
    unpacked
}

fn table() -> Vec<u8> {
    (0..500).flat_map(|row| format!("{row},{},x\n", row * row).into_bytes()).collect()
}

#[test]
fn each_file_has_its_own_codec_and_what_was_known_of_it() {
    let table = table();
    let files = [
        (BundleFile::new("t.csv").with_mode(Some(0o104_755)).with_modified(Some(-5)), &table[..]),
        (BundleFile::new("d/\"quoted\" ä").with_mode(Some(0)), b"\0\xFF"),
        (BundleFile::new("d/empty").with_modified(Some(i64::MAX)), b""),
        (BundleFile::new("plain"), b"plain"),
    ];
    let (archive, packed) = bundle(&files, &PackOptions::default()).unwrap();
    assert_eq!(packed.stored, archive.len() as u64);
    assert_eq!(packed.original, table.len() as u64 + 7);
    let unpacked = unbundled(archive);
    for ((file, codec, bytes), (expected, original)) in unpacked.iter().zip(&files) {
        assert_eq!((file, &bytes[..]), (expected, *original));
        assert_eq!(*codec == Codec::Columnar, file.name == "t.csv");
    }
    assert_eq!((unpacked.len(), unpacked[0].0.mode), (4, Some(0o755)));
}

#[test]
fn manifests_are_as_other_decoders_look_for_them() {
    let file = BundleFile::new("d/ä.txt").with_mode(Some(0o644)).with_modified(Some(7));
    let (archive, _) = bundle(&[(file, b"x")], &PackOptions::default()).unwrap();
    let wanted = r#"[{"name":"d/ä.txt","bytes":1,"mode":"0644","modified":7}]"#;
    assert!(archive.windows(wanted.len()).any(|part| part == wanted.as_bytes()));
}

#[test]
fn large_files_are_packed_frame_by_frame_and_others_for_queries() {
    let table = table();
    let options = PackOptions::default().with_codec(Choice::Query).with_chunk_lines(100);
    let files = [BundleFile::new("whole"), BundleFile::new("frames")];
    let open = |file: &BundleFile| {
        Ok::<_, Error>(match file.name.as_str() {
            "whole" => Content::Whole(table.clone()),
            _ => Content::Stream(Box::new(Cursor::new(table.clone()))),
        })
    };
    let mut told = Vec::new();
    let (archive, packed) =
        at1::pack_bundle(&files, open, &options, |file, _| told.push(file.name.clone())).unwrap();
    assert_eq!(told, ["whole", "frames"]);
    assert_eq!(packed.files.iter().map(|file| file.frames.0).collect::<Vec<_>>(), [1, 5]);
    for (_, codec, bytes) in unbundled(archive) {
        assert_eq!(codec, Codec::Columnar);
        assert!(bytes == table);
    }
}

#[track_caller]
fn refused(files: &[BundleFile], options: &PackOptions, words: &str) {
    let open = |_: &BundleFile| -> Result<Content> { unreachable!("no file may be read") };
    let err = at1::pack_bundle(files, open, options, |_, _| {}).unwrap_err();
    assert!(matches!(err.kind(), ErrorKind::Refused { .. }), "{err}");
    assert!(err.to_string().contains(words), "{err}");
}

#[test]
fn what_no_reader_would_take_is_refused_before_a_file_is_read() {
    let options = PackOptions::default();
    let named =
        |names: &[&str]| names.iter().map(|&name| BundleFile::new(name)).collect::<Vec<_>>();
    refused(&[], &options, "at least one file");
    for name in ["", "/a", "../a", "a/./b", "a//b", "a\\b", "a:b", "a\nb", &"n".repeat(512)] {
        refused(&named(&["fine", name]), &options, "rename");
    }
    refused(&named(&["a", "b", "a"]), &options, "twice");
    refused(&named(&["a/b", "a"]), &options, "a file and a folder");
    let published = PackOptions::default().with_layout(Layout::Published);
    refused(&named(&["a"]), &published, "no bundles");
    let many: Vec<BundleFile> = (0..256).map(|at| BundleFile::new(at.to_string())).collect();
    refused(&many, &options, "at most 255");
    let full: Vec<_> = many[..255].iter().map(|file| (file.clone(), &b""[..])).collect();
    let (archive, _) = bundle(&full, &options.with_level(1)).unwrap();
    assert_eq!(unbundled(archive).len(), 255);
}

#[test]
fn what_opening_a_file_fails_with_comes_through() {
    #[derive(Debug)]
    enum Mine {
        Lost(String),
        Theirs,
    }
    impl From<Error> for Mine {
        fn from(_: Error) -> Self {
            Self::Theirs
        }
    }
    let open = |file: &BundleFile| Err(Mine::Lost(file.name.clone()));
    let files = [BundleFile::new("gone")];
    let result = at1::pack_bundle(&files, open, &PackOptions::default(), |_, _| {});
    assert!(matches!(result, Err(Mine::Lost(name)) if name == "gone"));
    let open = |_: &BundleFile| -> Result<Content, Mine> { unreachable!("nothing to open") };
    let result = at1::pack_bundle(&[], open, &PackOptions::default(), |_, _| {});
    assert!(matches!(result, Err(Mine::Theirs)));
}
