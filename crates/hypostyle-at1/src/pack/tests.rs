//! Archives restore every original, and are never larger than RAW.

use std::num::NonZeroUsize;
use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::archive::Archive;
use crate::codec::Codec;
use crate::codecs::columnar::group_directory::GROUPS;
use hypostyle_core::options::ReadOptions;

fn options() -> impl Strategy<Value = PackOptions> {
    let codec = prop::sample::select(
        &[
            Choice::Auto,
            Choice::Only(Codec::Raw),
            Choice::Only(Codec::Columnar),
            Choice::Query,
            Choice::Only(Codec::QColumnar),
            Choice::Only(Codec::QJson),
            Choice::Only(Codec::QJson2),
            Choice::Only(Codec::Vcf),
            Choice::Only(Codec::Osm),
        ][..],
    );
    let layout = prop_oneof![3 => Just(Layout::Reference), 1 => Just(Layout::Published)];
    let groups = prop_oneof![2 => Just(0_usize), 1 => 1_usize..9];
    (1_u8..=9, 1_usize..4, codec, layout, groups, any::<bool>()).prop_map(
        |(level, threads, codec, layout, rows, index)| {
            PackOptions::default()
                .with_level(level)
                .with_threads(NonZeroUsize::new(threads))
                .with_codec(codec)
                .with_layout(if codec.is_queryable() { Layout::Reference } else { layout })
                .with_rows_per_group(NonZeroUsize::new(rows))
                .with_index(index)
        },
    )
}

/// Packs an original whole and as a stream, and compares both archives with it.
fn packs(original: &[u8], options: &PackOptions) -> Vec<u8> {
    let (archive, packed) = pack(original, options).unwrap();
    assert_eq!(packed.original, original.len() as u64);
    assert_eq!(unpacked(&archive), original);
    let mut stream = Vec::new();
    let options = options.clone().with_chunk_lines(7);
    pack_stream(original, &mut stream, &options, |_, _| {}).unwrap();
    assert_eq!(unpacked(&stream), original);
    archive
}

fn unpacked(archive: &[u8]) -> Vec<u8> {
    let source = Arc::new(Bytes::copy_from_slice(archive));
    let archive = Archive::open(source, &ReadOptions::default()).unwrap();
    let mut out = Vec::new();
    archive.unpack(&mut out).unwrap();
    // Only the published layout deviates from what decoders read, by design.
    assert!(archive.deviations().iter().all(|met| matches!(met.code, "A1" | "A2" | "A3")));
    out
}

/// Usual cells of tables, and unusual ones.
fn cell() -> impl Strategy<Value = Vec<u8>> {
    let near = (any::<i64>(), 0..70_u32).prop_map(|(value, shift)| {
        let value = i128::from(value) * if shift > 64 { 7 } else { 1 };
        (value >> shift.min(63)).to_string().into_bytes()
    });
    let decimal = (any::<i32>(), 0_usize..20)
        .prop_map(|(value, digits)| format!("{:.digits$}", f64::from(value) / 1000.0).into_bytes());
    let odd: &[&[u8]] = &[
        b"",
        b"-0",
        b"007",
        b"+5",
        b"5.",
        b".5",
        b"NA",
        b"\"",
        b"\"\"",
        b"\"a,b\"",
        b"\"a\"\"b\"",
        b"\"a\"b",
        b"\r",
        b"x\r",
        b"\x00",
        b"\xff\xfe",
        b"4611686018427387904",
        b"-9223372036854775808",
        b"99999999999999999999",
        b"1e5",
        b" 1",
        b"0.0",
        b"-0.0",
    ];
    let common: &[&[u8]] = &[b"red", b"green", b"\"blue\""];
    prop_oneof![
        4 => (0..30_u32).prop_map(|value| value.to_string().into_bytes()),
        2 => near,
        2 => decimal,
        2 => prop::sample::select(odd).prop_map(<[u8]>::to_vec),
        2 => prop::sample::select(common).prop_map(<[u8]>::to_vec),
    ]
}

fn table() -> impl Strategy<Value = Vec<u8>> {
    let delimiter = prop::sample::select(&[",", ";", "\t", "|", " ", "\t|\t"][..]);
    let columns = (1_usize..6, 0_usize..60).prop_flat_map(|(width, rows)| {
        prop::collection::vec(prop::collection::vec(cell(), width.saturating_sub(1)..=width), rows)
    });
    let end = prop::sample::select(&["", "\n", "\n\n", "\r\n"][..]);
    (delimiter, columns, end, any::<bool>(), any::<bool>()).prop_map(
        |(delimiter, rows, end, crlf, header)| {
            let separator = if crlf { &b"\r\n"[..] } else { b"\n" };
            let mut lines: Vec<Vec<u8>> =
                rows.iter().map(|row| row.join(delimiter.as_bytes())).collect();
            if header {
                lines.insert(0, ["id", "name", "size"].join(delimiter).into_bytes());
            }
            let mut text = lines.join(separator);
            text.extend_from_slice(end.as_bytes());
            text
        },
    )
}

/// Lines of JSON with a few templates, some of them malformed.
fn json_lines() -> impl Strategy<Value = Vec<u8>> {
    let values: &[&str] = &[
        "1",
        "-2.50",
        "1e400",
        "123456789012345678901234567890",
        "\"\"",
        "\"a b\"",
        "\"\\u00e9\\n\"",
        "\"é\"",
        "null",
        "true",
        "false",
        "[]",
        "{}",
        "[1,2]",
        "{\"x\":[{\"y\":1}]}",
        "\"\\ud800\"",
    ];
    let value = prop::sample::select(values);
    let shapes: &[&str] = &[
        "{\"a\":_,\"b\":_}",
        "{ \"b\" : _, \"a\":_ }\r",
        "{\"a\":{\"b\":_,\"c\":[_,_]}}",
        "{\"a\":_,\"a\":_}",
        "[_]",
        "{\"a\":_",
        "",
        "{}",
    ];
    let shape = prop::sample::select(shapes);
    let line = (shape, prop::collection::vec(value, 3)).prop_map(|(shape, values)| {
        values.iter().fold(shape.to_owned(), |line, value| line.replacen('_', value, 1))
    });
    let end = prop::sample::select(&["", "\n", "\n\n"][..]);
    (prop::collection::vec(line, 0..40), end)
        .prop_map(|(lines, end)| (lines.join("\n") + end).into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn any_lines_of_json_come_back(original in json_lines(), options in options()) {
        packs(&original, &options);
    }

    #[test]
    fn any_bytes_come_back(
        original in prop::collection::vec(any::<u8>(), 0..300), options in options()
    ) {
        packs(&original, &options);
    }

    #[test]
    fn any_table_comes_back(original in table(), options in options()) {
        packs(&original, &options);
    }

    #[test]
    fn auto_is_never_larger_than_raw(original in table(), level in 2_u8..=9) {
        let options = PackOptions::default().with_level(level);
        let auto = pack(&original, &options).unwrap().0.len();
        let raw = pack(&original, &options.with_codec(Choice::Only(Codec::Raw))).unwrap().0.len();
        // A form that serves the table may be one percent larger.
        prop_assert!(auto <= raw + raw / 100);
        let xz = usize::try_from(xz_size(&original).unwrap()).unwrap();
        prop_assert!(raw <= xz + 64);
    }
}

/// A table with a column for every type, and pairs of columns that are correlated.
fn sample(rows: usize) -> Vec<u8> {
    let mut text = b"id,city,land,price,size,note,code,day\n".to_vec();
    let cities = [("Oslo", "NO"), ("Bergen", "NO"), ("Lyon", "FR"), ("Nice", "FR"), ("Rome", "IT")];
    let mut dice = 12_345_u64;
    for row in 0..rows {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let roll = |bits: u32| (dice >> 33) % (1 << bits);
        let (city, land) = cities[usize::try_from(roll(20)).unwrap() % cities.len()];
        let price = format!("{}.{:02}", roll(9), roll(6) % 100);
        let size = if roll(5) == 0 { "NA".to_owned() } else { roll(14).to_string() };
        let note = if roll(4) == 0 { "\"so, \"\"well\"\"\"" } else { "plain" };
        let day = row / 50;
        let line = format!("{row},{city},{land},{price},{size},{note},{:06x},{day}\n", roll(24));
        text.extend_from_slice(line.as_bytes());
    }
    text
}

#[test]
fn every_level_restores_and_higher_ones_are_smaller() {
    let original = sample(3000);
    let xz = xz_size(&original).unwrap();
    let mut before = u64::MAX;
    for level in [1, 3, 6, 9] {
        let archive = packs(&original, &PackOptions::default().with_level(level));
        let size = archive.len() as u64;
        assert!(size <= before, "level {level} takes {size} where a lower one took {before}");
        before = size;
    }
    assert!(before * 10 < xz * 8, "{before} where xz takes {xz}");
}

#[test]
fn archives_do_not_depend_on_threads() {
    let original = sample(2000);
    for level in [1, 6, 9] {
        let options = PackOptions::default().with_level(level);
        let archive = |threads| {
            pack(&original, &options.clone().with_threads(NonZeroUsize::new(threads))).unwrap().0
        };
        let one = archive(1);
        assert!(one == archive(2));
        assert!(one == archive(5));
    }
}

#[test]
fn one_odd_line_costs_little_and_the_table_stays_one() {
    let original = sample(5000);
    let (plain, packed) = pack(&original, &PackOptions::default()).unwrap();
    assert_eq!(packed.codec, Codec::Columnar);
    let middle = original.len() / 2;
    let middle = middle + memchr::memchr(b'\n', &original[middle..]).unwrap() + 1;
    for odd in ["a line of its own\n", "\n", ",,,,,,,,,,,,,,,,,,\n", "\"\n", "\u{0}\n"] {
        let mut text = original.clone();
        text.splice(middle..middle, odd.bytes());
        let (archive, packed) = pack(&text, &PackOptions::default()).unwrap();
        assert_eq!(packed.codec, Codec::Columnar);
        assert!(archive.len() < plain.len() + 100 + odd.len(), "{odd:?}");
    }
}

#[test]
fn quotes_and_line_ends_cost_next_to_nothing() {
    let original = sample(4000);
    let text = String::from_utf8(original.clone()).unwrap();
    let plain = pack(&original, &PackOptions::default()).unwrap().0.len();
    let crlf =
        pack(text.replace('\n', "\r\n").as_bytes(), &PackOptions::default()).unwrap().0.len();
    assert!(crlf < plain + plain / 50 + 100, "{crlf} with, {plain} without");
    let row = |line: &str| {
        let mut cells = line.splitn(3, ',');
        let (id, city) = (cells.next().unwrap(), cells.next().unwrap());
        format!("\"{id}\",\"{city}\",{}\n", cells.next().unwrap())
    };
    let quoted: String = text.lines().map(row).collect();
    let quoted = pack(quoted.as_bytes(), &PackOptions::default()).unwrap().0.len();
    assert!(quoted < plain + plain / 50 + 100, "{quoted} with, {plain} without");
}

#[test]
fn queryable_content_gets_a_queryable_codec() {
    let options = PackOptions::default().with_codec(Choice::Query);
    let codec = |text: &[u8]| pack(text, &options).unwrap().1.codec;
    assert_eq!(codec(&sample(300)), Codec::Columnar);
    let object = |i: usize| format!("{{\"i\":{i},\"j\":{{\"k\":[{},\"x\"]}}}}\n", i * i % 17);
    let one: String = (0..300).map(object).collect();
    assert_eq!(codec(one.as_bytes()), Codec::QJson);
    let other = |i: usize| format!("{{\"name\": \"number {i}\", \"size\": {}}}\n", i % 10);
    let two: String = (0..300).map(|i| object(i) + &other(i)).collect();
    assert_eq!(codec(two.as_bytes()), Codec::QJson2);
    assert_eq!(codec(b"neither\nthis\nnor\nthat\n"), Codec::Raw);
    assert_eq!(codec(b""), Codec::Raw);
}

/// Returns the columns of the first frame, as the archive describes them.
fn columns(archive: &[u8]) -> Vec<Option<String>> {
    let source = Arc::new(Bytes::copy_from_slice(archive));
    let archive = Archive::open(source, &ReadOptions::default()).unwrap();
    let tables = archive.describe().unwrap();
    tables[0].columns.iter().map(|column| column.name.clone()).collect()
}

#[test]
fn queries_have_the_columns_of_the_table() {
    let time = |second: usize| {
        format!("{:02}:{:02}:{:02}", second / 3600 % 24, second / 60 % 60, second % 60)
    };
    let row = |i: usize| format!("{},{},u{}\n", time(i * 7), time(i * 7 + 5), i * i % 11);
    let text = "start,end,who\n".to_owned() + &(0..3000).map(row).collect::<String>();
    let query = PackOptions::default().with_codec(Choice::Query);
    for name in [None, Some("shifts.csv")] {
        let (archive, _) = pack(text.as_bytes(), &query.clone().with_name(name)).unwrap();
        // Fields may share a column.
        let names: Vec<String> = columns(&archive).into_iter().flatten().collect();
        assert_eq!(names.join(", "), "start, end, who");
    }
    // A query of a text without cells would find other columns than its table has.
    let log =
        |i: usize| format!("Jan  1 {} host sshd[{i}]: session opened for u{}\n", time(i), i % 7);
    let log: String = (0..500).map(log).collect();
    for name in ["server.log", "notes.txt"] {
        let packed = pack(log.as_bytes(), &query.clone().with_name(Some(name))).unwrap().1;
        assert!(!packed.codec.has_groups(), "{name}: {:?}", packed.codec);
    }
    let packed = pack(text.as_bytes(), &query.with_name(Some("shifts.txt"))).unwrap().1;
    assert!(!packed.codec.has_groups(), "lines of text have no cells");
}

#[test]
fn frames_of_a_table_have_its_cells_and_one_header() {
    let row = |i: usize| format!("{};{};x{}\n", i, i * i % 97, i % 5);
    let text = "a;b;c\n".to_owned() + &(0..400).map(row).collect::<String>();
    for codec in [Choice::Auto, Choice::Only(Codec::Columnar), Choice::Query] {
        let options = PackOptions::default().with_codec(codec).with_chunk_lines(101);
        let mut archive = Vec::new();
        pack_stream(text.as_bytes(), &mut archive, &options, |_, _| {}).unwrap();
        assert_eq!(unpacked(&archive), text.as_bytes());
        let source = Arc::new(Bytes::from(archive));
        let archive = Archive::open(source, &ReadOptions::default()).unwrap();
        let tables = archive.describe().unwrap();
        assert_eq!(tables.len(), 4, "the frame of the table is no frame of the text");
        let names: Vec<usize> = tables
            .iter()
            .map(|table| table.columns.iter().flat_map(|column| &column.name).count())
            .collect();
        if tables[0].columns.len() == 3 && codec != Choice::Query {
            assert_eq!(names, [3, 0, 0, 0]);
        }
        let metadata = archive.table_metadata().unwrap().unwrap();
        assert_eq!(metadata.frames.len(), 4);
        assert_eq!(metadata.frames.iter().map(|it| it.bytes).sum::<u64>(), text.len() as u64);
        assert_eq!(metadata.frames.iter().map(|it| it.newlines).sum::<u64>(), 401);
    }
}

#[test]
fn row_groups_cost_little_where_rows_repeat_far_apart() {
    let mut state = 7_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    let block: Vec<String> =
        (0..4000).map(|_| format!("{},{}", random(100_000), random(250))).collect();
    // The last column does not repeat, so that row groups pay.
    let row = |row: &String| format!("{row},{}\n", random(1000));
    let repeated: String = (0..6).flat_map(|_| &block).map(row).collect();
    let text = "id,kind,count\n".to_owned() + &repeated;
    for codec in [Choice::Auto, Choice::Query, Choice::Only(Codec::Columnar)] {
        let options = PackOptions::default().with_codec(codec);
        let (archive, packed) = pack(text.as_bytes(), &options).unwrap();
        assert_eq!(unpacked(&archive), text.as_bytes());
        assert_eq!(packed.codec, Codec::Columnar);
        let (without, _) = pack(text.as_bytes(), &options.with_index(false)).unwrap();
        let ratio = archive.len() as f64 / without.len() as f64;
        assert!(ratio < 1.05, "{codec:?}: {} and {} bytes", archive.len(), without.len());
        let source = Arc::new(Bytes::from(archive));
        let archive = Archive::open(source, &ReadOptions::default()).unwrap();
        let streams = &archive.frames().unwrap()[0].streams;
        assert!(streams.iter().any(|stream| stream.name == GROUPS), "{codec:?}");
        assert!(archive.check_groups().unwrap().is_empty());
    }
}

#[test]
fn options_that_make_no_sense_are_refused() {
    for options in [
        PackOptions::default().with_codec(Choice::Query).with_layout(Layout::Published),
        PackOptions::default().with_level(0),
        PackOptions::default().with_level(10),
        PackOptions::default().with_chunk_lines(0),
    ] {
        assert!(pack(b"", &options).is_err());
        assert!(pack_stream(&b""[..], Vec::new(), &options, |_, _| {}).is_err());
    }
}
