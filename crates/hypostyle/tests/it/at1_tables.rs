//! A packed file is the same table as the file, whatever the codec.

use std::fmt::Write;
use std::num::NonZeroUsize;
use std::sync::Arc;

use bytes::Bytes;
use hypostyle::formats::at1::{self, Archive, Choice, Codec, PackOptions};
use hypostyle::text::TextOptions;
use hypostyle::{ErrorKind, Limits, RangeCache, ReadOptions, Table};
use hypostyle_core::compress::xz;
use hypostyle_testkit::text_tables::an_archive_is_the_table_of_its_text;
use proptest::prelude::*;

fn choices() -> Vec<Choice> {
    let codecs = Codec::ALL.into_iter().filter(|&codec| codec != Codec::Bundle);
    [Choice::Auto, Choice::Query].into_iter().chain(codecs.map(Choice::Only)).collect()
}

fn quick() -> PackOptions {
    PackOptions::default().with_level(1).with_rows_per_group(NonZeroUsize::new(7))
}

fn framed(text: &[u8], lines: u64, options: &PackOptions) -> Vec<u8> {
    let mut archive = Vec::new();
    let options = options.clone().with_chunk_lines(lines);
    at1::pack_stream(text, &mut archive, &options, |_, _| {}).unwrap();
    archive
}

/// Packs a text in every way, and compares the tables.
fn holds(name: Option<&str>, text: &[u8]) {
    let options = TextOptions::default();
    for choice in choices() {
        let pack = quick().with_codec(choice).with_name(name);
        let (archive, _) = at1::pack(text, &pack).unwrap();
        an_archive_is_the_table_of_its_text(name, text, &archive, &options);
        let archive = framed(text, 5, &pack);
        an_archive_is_the_table_of_its_text(name, text, &archive, &options);
    }
    let (archive, _) = at1::pack(text, &PackOptions::default().with_name(name)).unwrap();
    an_archive_is_the_table_of_its_text(name, text, &archive, &options);
    let mut no_header = TextOptions::default();
    no_header.header = Some(false);
    no_header.null_words = vec!["NA".to_owned()];
    an_archive_is_the_table_of_its_text(name, text, &archive, &no_header);
}

/// Texts of all kinds, with what makes each of them difficult.
fn texts() -> Vec<(&'static str, String)> {
    let mut texts = vec![
        ("empty.csv", String::new()),
        ("header.csv", "a,b\n".to_owned()),
        ("one.csv", "a,b\n1,2".to_owned()),
        ("ragged.csv", "a,b\n1,2\n3\n4,5,6\n".to_owned()),
        ("bom.csv", "\u{FEFF}a,b\n1,x\n2,y\n".to_owned()),
        ("blank.csv", "a,b\n\n1,2\n\n3,4\n\n".to_owned()),
        ("quotes.csv", "a,b\n1,\"x\ny\"\n2,\"say \"\"so\"\"\"\n3,\"\"\n4,\n".repeat(3)),
        ("words.csv", "city,land\nOslo,Norway\ncity,land\nRome,Italy\n".repeat(9)),
        ("array.json", "[1,\n2]\n".to_owned()),
        ("empty.txt", String::new()),
        ("open.txt", "one\ntwo\n\nthree".to_owned()),
        ("empty.jsonl", "\n\n".to_owned()),
        ("broken.jsonl", "{\"a\":1}\n{\"a\":\n".to_owned()),
    ];
    let table = |rows: usize, row: &dyn Fn(usize) -> String| (0..rows).map(row).collect::<String>();
    let time =
        |second: usize| format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
    let shifts = table(60, &|i| format!("{},{},u{}\n", time(i * 71), time(i * 71 + 40), i % 3));
    texts.push(("shifts.csv", "start,end,who\n".to_owned() + &shifts));
    let semicolons = table(40, &|i| format!("{i};{},5;\"a;b\"\r\n", i % 9));
    texts.push(("semicolons.csv", "id;price;name\r\n".to_owned() + &semicolons));
    let tabs =
        table(40, &|i| format!("g{i}\t{}\t{}\n", i * 1000, if i % 4 == 0 { "NA" } else { "7" }));
    texts.push(("genes.tsv", "gene\tstart\tcopies\n".to_owned() + &tabs));
    let nested = table(50, &|i| match i % 3 {
        0 => format!("{{\"id\":{i},\"tags\":[\"a\",{i}],\"at\":{{\"x\":{}.5}}}}\n", i % 7),
        1 => format!("{{\"id\":{i},\"name\":\"n{}\",\"ok\":true}}\n", i % 5),
        _ => format!("{{\"name\": null, \"id\": {i}}}\n"),
    });
    texts.push(("events.ndjson", nested));
    let log = table(60, &|i| {
        let (user, port) = (i % 4, 40_000 + i * 13);
        match i % 5 {
            0 => format!(
                "Dec 10 06:55:{i:02} LabSZ sshd[{port}]: Invalid user u{user} from 10.0.0.{i}\n"
            ),
            4 => "    at java.lang.Thread.run(Thread.java:745)\n".to_owned(),
            _ => format!("Dec 10 06:55:{i:02} LabSZ sshd[{port}]: Accepted password for u{user}\n"),
        }
    });
    texts.push(("auth.log", log.clone()));
    texts.push(("auth.txt", log));
    let mut vcf = "##fileformat=VCFv4.2\n##source=x\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tS1\tS2\n".to_owned();
    for i in 0..40 {
        let _ = writeln!(
            vcf,
            "1\t{}\trs{i}\tA\tG\t.\tPASS\tAC={}\tGT\t0|{}\t1|0",
            100 + i * 7,
            i % 3,
            i % 2
        );
    }
    texts.push(("calls.vcf", vcf));
    texts
}

#[test]
fn every_kind_of_text_in_every_codec() {
    for (name, text) in texts() {
        holds(Some(name), text.as_bytes());
    }
}

#[test]
fn texts_without_a_name() {
    for (_, text) in texts() {
        holds(None, text.as_bytes());
    }
    holds(None, b"\x00\x01\x02");
    holds(Some("data.bin"), b"a,b\n\xFF,1\n");
    holds(Some("latin.csv"), b"a,b\n\xE9,1\n");
}

/// The first lines of the files of the corpus, if it is there.
#[test]
fn real_files() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus");
    let Ok(files) = std::fs::read_dir(folder) else { return };
    for file in files {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if path.extension().is_none_or(|it| it != "xz") || name.ends_with(".tar") {
            continue;
        }
        let packed = std::fs::read(&path).unwrap();
        let (text, _) = xz::decompress(&packed, &Limits::default(), 2).unwrap();
        let end = text
            .iter()
            .enumerate()
            .filter(|it| *it.1 == b'\n')
            .nth(200)
            .map_or(text.len(), |(end, _)| end + 1);
        for choice in [Choice::Auto, Choice::Query, Choice::Only(Codec::Raw)] {
            let pack = quick().with_codec(choice).with_name(Some(name));
            let (archive, _) = at1::pack(&text[..end], &pack).unwrap();
            let options = TextOptions::default();
            an_archive_is_the_table_of_its_text(Some(name), &text[..end], &archive, &options);
            let archive = framed(&text[..end], 50, &pack);
            an_archive_is_the_table_of_its_text(Some(name), &text[..end], &archive, &options);
        }
    }
}

#[test]
fn the_stored_format_rules_if_the_name_is_not_known() {
    let text = "a,b\n1,2\n".repeat(200);
    for name in ["x.txt", "x.csv", "x.log"] {
        let archive = framed(text.as_bytes(), 50, &quick().with_name(Some(name)));
        let table = |name| {
            let archive =
                Archive::open(Arc::new(Bytes::from(archive.clone())), &ReadOptions::default());
            archive.unwrap().table(name, &TextOptions::default()).unwrap().schema()
        };
        assert_eq!(table(None), table(Some(name)));
        assert_eq!(table(None), table(Some("other.csv.at1")));
    }
}

fn sample(rows: usize) -> String {
    let row = |i: usize| {
        format!("{i},{},{}.25,n{}\n", if i % 10 == 3 { "" } else { "5" }, i % 77, i * i % 1009)
    };
    "id,gap,price,name\n".to_owned() + &(0..rows).map(row).collect::<String>()
}

#[test]
fn opening_decodes_nothing() {
    let text = sample(20_000);
    for choice in
        [Choice::Auto, Choice::Query, Choice::Only(Codec::Columnar), Choice::Only(Codec::Log)]
    {
        let pack = quick().with_codec(choice).with_rows_per_group(None).with_name(Some("a.csv"));
        let whole = at1::pack(text.as_bytes(), &pack).unwrap().0;
        for archive in [whole, framed(text.as_bytes(), 3000, &pack)] {
            let size = archive.len() as u64;
            let source = Arc::new(RangeCache::over(Arc::new(Bytes::from(archive))));
            let archive = Archive::open(source.clone(), &ReadOptions::default()).unwrap();
            let reader = archive.text_table(None, &TextOptions::default()).unwrap();
            let table = Table::new(reader, source.clone());
            assert_eq!(table.num_rows().unwrap(), 20_000);
            assert_eq!(table.schema().unwrap().fields().len(), 4);
            let gaps = table.column_statistics(1).unwrap();
            assert_eq!(gaps.null_count, Some(2000));
            let ids = table.column_statistics(0).unwrap();
            assert!(ids.is_exact && ids.min.is_some() && ids.max.is_some());
            let (reads, bytes) = (source.reads(), source.bytes_read());
            assert!(
                reads <= 6 && bytes < 20 << 10,
                "{choice:?}: {reads} reads, {bytes} of {size} bytes"
            );
        }
    }
}

#[test]
fn a_wrong_text_is_an_error_before_the_end() {
    let text = sample(300);
    let pack = quick().with_name(Some("a.csv"));
    for archive in
        [at1::pack(text.as_bytes(), &pack).unwrap().0, framed(text.as_bytes(), 100, &pack)]
    {
        let mut wrong = archive.clone();
        let hash = wrong.len() - 20;
        wrong[hash] ^= 1;
        let source = Arc::new(RangeCache::over(Arc::new(Bytes::from(wrong))));
        let archive = Archive::open(source.clone(), &ReadOptions::default()).unwrap();
        // The columns of an archive cannot be compared with a hash of the text.
        let reader = archive.text_table(None, &TextOptions::default()).unwrap();
        let mut batches = Table::new(reader, source).scan().batches().unwrap();
        let err = loop {
            match batches.next_batch() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("the end of a wrong text was reached"),
                Err(err) => break err,
            }
        };
        assert!(matches!(err.kind(), ErrorKind::Malformed { .. }), "{err}");
    }
}

#[test]
fn verify_compares_the_table_with_the_text() {
    for (name, text) in texts() {
        let pack = quick().with_name(Some(name));
        for archive in
            [at1::pack(text.as_bytes(), &pack).unwrap().0, framed(text.as_bytes(), 9, &pack)]
        {
            let archive = Archive::open(Arc::new(Bytes::from(archive)), &ReadOptions::default());
            assert!(archive.unwrap().check_table().unwrap().is_none(), "{name}");
        }
    }
}

fn any_cell() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => (0..30_u32).prop_map(|value| value.to_string()),
        1 => any::<i64>().prop_map(|value| value.to_string()),
        1 => prop::sample::select(&["", "NA", "-0", "1.50", "1e5", "\"\"", "\"a,b\"", "\"x\ny\"", "a", "007", "true", " 1"][..]).prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_table(
        rows in prop::collection::vec(prop::collection::vec(any_cell(), 3), 0..40),
        delimiter in prop::sample::select(&[",", ";", "\t", "|"][..]),
        ends in prop::sample::select(&["\n", "\r\n"][..]),
        is_open in any::<bool>(),
        name in prop::sample::select(&[None, Some("t.csv"), Some("t.tsv"), Some("t.txt")][..]),
        choice in prop::sample::select(choices()),
        lines in 1_u64..9,
    ) {
        let mut text = ["one", "two", "three"].join(delimiter) + ends;
        for row in rows {
            text += &(row.join(delimiter) + ends);
        }
        if is_open {
            text.truncate(text.trim_end().len());
        }
        let pack = quick().with_codec(choice).with_name(name);
        let options = TextOptions::default();
        let (archive, _) = at1::pack(text.as_bytes(), &pack).unwrap();
        an_archive_is_the_table_of_its_text(name, text.as_bytes(), &archive, &options);
        let archive = framed(text.as_bytes(), lines, &pack);
        an_archive_is_the_table_of_its_text(name, text.as_bytes(), &archive, &options);
    }
}
