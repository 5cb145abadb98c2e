//! Archives that try to exhaust memory or time.
//!
//! Tests are named after the hazards in section 9 of the spec, H1 to H10; the last test checks
//! that none is missing.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;

use bytes::Bytes;
use hypostyle::formats::at1::{Archive, Codec};
use hypostyle::{Error, ErrorKind, Limits, ReadOptions, Result};
use hypostyle_testkit::build::at1::{
    Columnar, File, RowGroups, Stream, TypedChunk, deltas, frame, lp, stored, sv, texts, uv, xz,
    zstd, zstd_block, zstd_run,
};

use super::{MOST_BYTES, MOST_TIME, alone, cost};

const TEXT: u8 = 0;
const INT: u8 = 1;
const NUMEXC: u8 = 3;
const DERIVED: u8 = 4;
const DICT: u8 = 5;
const SHUF: u8 = 6;

/// A count that no bytes back.
const HUGE: u128 = 1 << 60;

/// Unpacks everything, discards it, and returns the number of bytes.
fn unpack(file: &Bytes, options: &ReadOptions) -> Result<u64> {
    let archive = Archive::open(Arc::new(file.clone()), options)?;
    if archive.codec() != Codec::Bundle {
        return Ok(archive.unpack(&mut io::sink())?.bytes);
    }
    archive.bundle()?.iter().map(|entry| Ok(entry.archive.unpack(&mut io::sink())?.bytes)).sum()
}

/// Unpacks, describes and imports a file within the bounds, and returns the result.
#[track_caller]
fn spend(file: Vec<u8>, limits: &Limits) -> Result<u64> {
    let file = Bytes::from(file);
    let mut outcome = Ok(0);
    for threads in [1, 3] {
        let options = ReadOptions::default()
            .with_limits(limits.clone())
            .with_threads(NonZeroUsize::new(threads));
        let (bytes, time) = cost(|| outcome = unpack(&file, &options));
        let of = file.len();
        assert!(bytes <= MOST_BYTES, "{of} bytes of file cost {bytes} bytes: {outcome:?}");
        assert!(time <= MOST_TIME, "{of} bytes of file cost {time:?}: {outcome:?}");
        let (bytes, _) = cost(|| {
            let Ok(archive) = Archive::open(Arc::new(file.clone()), &options) else { return };
            let _ = (archive.frames(), archive.describe());
        });
        assert!(bytes <= MOST_BYTES, "a look at {of} bytes of file costs {bytes} bytes");
    }
    outcome
}

/// Checks that the file is refused within the bounds, with a message that contains `words`.
#[track_caller]
fn refused(file: &File, words: &str) -> Error {
    let err = spend(file.build(), &Limits::default()).unwrap_err();
    assert!(err.to_string().contains(words), "{err}");
    err
}

/// Checks that the file exceeds a limit, within the bounds.
#[track_caller]
fn stopped(file: &File, limits: &Limits) {
    let err = spend(file.build(), limits).unwrap_err();
    assert!(matches!(err.kind(), ErrorKind::LimitExceeded { .. }), "{err}");
}

/// Checks that a file of much more than 16 MiB of content is stopped at that limit.
#[track_caller]
fn stopped_at_16_mib(file: &File) {
    let limits = Limits::default().with_output_bytes(16 << 20);
    stopped(file, &limits);
    // A table is in memory, so the limit of a read applies too.
    let limits = Limits::default().with_read_bytes(4 << 20);
    let options = ReadOptions::default().with_limits(limits);
    let file = file.build();
    let (bytes, _) = cost(|| {
        let at1 = hypostyle::formats::by_name("at1").unwrap();
        let opened = at1.open(Arc::new(Bytes::from(file)), &options);
        assert!(opened.is_err(), "was read as a table");
    });
    assert!(bytes <= MOST_BYTES, "as a table it costs {bytes} bytes");
}

/// Returns one column of a columnar archive.
fn column(kind: u8, rows: usize, chunk: &[u8]) -> File {
    Columnar::new(rows, vec![(kind, 0, chunk.to_vec())]).file()
}

/// Returns one text column of a qcolumnar archive, with this `meta` after the delimiter.
fn groups(meta: &[u8], modes: &[u8], index: &[u8], blocks: &[u8]) -> File {
    let meta = [&uv(modes.len() as u128), &[1, 1, b','][..], meta].concat();
    let streams = [("meta", &meta[..]), ("row_modes", modes), ("index", index), ("blocks", blocks)];
    File::whole(7, &stored(&streams))
}

fn log(streams: &[(&str, &[u8])]) -> File {
    File::whole(3, &stored(streams))
}

#[test]
fn h01_numbers_that_do_not_end() {
    let _alone = alone();
    let endless = vec![0x80; 4 << 20];
    refused(&log(&[("meta", &endless)]), "does not end");
    refused(&column(INT, 1, &endless), "does not end");
    refused(&column(SHUF, 1, &[vec![1], endless.clone()].concat()), "does not end");
    refused(&column(DICT, 1, &endless), "does not end");
    refused(&File { body: endless.clone(), ..File::whole(4, &[]) }, "does not end");
    refused(&File { version: 3, body: endless.clone(), ..File::whole(4, &[]) }, "does not end");
    refused(&File::streaming(4, 1, std::slice::from_ref(&endless)), "does not end");
    refused(&groups(&[1, 1, 1, 1, 0], &[1], &endless, b"x"), "does not end");
    // A bound of the statistics is skipped, but must end.
    refused(&groups(&[1, 1, 1, 1, 1], &[1], &[vec![1], endless].concat(), b"x"), "minimum");
}

#[test]
fn h02_planes_whose_size_wraps() {
    let _alone = alone();
    for count in [1 << 61, (1 << 61) + 1, u128::from(u64::MAX), HUGE, 1 << 32, 1 << 29] {
        for width in [1, 7, 8] {
            let chunk = [uv(count), sv(0), vec![width, 1, 2, 3]].concat();
            refused(&column(SHUF, 1, &chunk), "more than the chunk holds");
        }
    }
}

#[test]
fn h03_counts_that_no_bytes_back() {
    let _alone = alone();
    // The same in a tiny chunk and in one of a megabyte.
    for tail in [vec![0; 3], vec![0; 1 << 20]] {
        for count in [HUGE, u128::from(u64::MAX), 1 << 32, 1 << 28] {
            let chunk = |parts: &[&[u8]]| [&parts.concat(), &tail[..]].concat();
            let more = "is more than";
            refused(&column(NUMEXC, 1, &chunk(&[&[0], &uv(count)])), more);
            refused(&column(NUMEXC, 1, &chunk(&[&[0, 1, 1], &uv(count)])), more);
            refused(&column(DICT, 1, &chunk(&[&uv(count), &texts(&["x"])])), more);
            refused(&column(DICT, 1, &chunk(&[&[1], &uv(count)])), more);
            let derived = chunk(&[&[0], &uv(count)]);
            let columns = vec![(TEXT, 0, b"x".to_vec()), (DERIVED, 0, derived)];
            refused(&Columnar::new(1, columns).file(), more);
        }
    }
    // The counts of the containers and the other codecs.
    for count in [HUGE, u128::from(u64::MAX), 1 << 32] {
        let number = uv(count);
        refused(&File { body: number.clone(), ..File::whole(4, &[]) }, "more than the bytes");
        let meta = [&number, &[1, 0, 1, b',', 0][..]].concat();
        refused(&File::whole(4, &stored(&[("meta", &meta)])), "for");
        let meta = [&[0, 1, 0, 1, b','][..], &number].concat();
        refused(&File::whole(4, &stored(&[("meta", &meta), ("coltypes", &[0])])), "more than");
        refused(&groups(&[&number[..], &[1, 0, 0]].concat(), &[], b"", b""), "column types");
        refused(&groups(&[1, 1, 1, 1, 0], &[1], &number, b"x"), "runs past the blocks");
        refused(&log(&[("meta", &[&number[..], &[0]].concat())]), "flag");
        let json = |index: &[u8], rules: &[u8], tape: &[u8]| {
            File::whole(
                1,
                &stored(&[
                    ("meta", &[1, 0]),
                    ("flags", &[1]),
                    ("value_index", index),
                    ("rules", rules),
                    ("tape", tape),
                ]),
            )
        };
        refused(&json(&number, &[0], &[0, 0]), "more than the bytes");
        refused(&json(&[0], &number, &[0, 0]), "more than the bytes");
        refused(&json(&[0], &[&[1][..], &number].concat(), &[0, 0]), "more than the bytes");
        refused(&json(&[0], &[0], &[&[1][..], &number].concat()), "more than the bytes");
        refused(&json(&[0], &[0], &[&[2][..], &number].concat()), "more than the bytes");
        let template =
            File::whole(8, &stored(&[("meta", &[0, 1, 0, 1, 0, 0]), ("template", &number)]));
        refused(&template, "more than the bytes");
        let lines = [&number[..], &[1, 0]].concat();
        refused(&File::whole(11, &stored(&[("meta", &lines)])), "template of a line");
        let array = [&[8, 0][..], &number].concat();
        refused(&File::whole(10, &stored(&[("meta", &array)])), "elements");
        let image = [&[1, 1, 0][..], &number, &number, &[1, 8, 0]].concat();
        refused(&File::whole(9, &stored(&[("meta", &image)])), "rows, columns and samples");
    }
}

#[test]
fn h03_children_that_are_not_there() {
    let _alone = alone();
    let way = |ndcnt: &[u8], tagcnt: &[u8]| {
        File::whole(
            2,
            &stored(&[
                ("meta", &[1]),
                ("opcodes", &[2]),
                ("tag_keys", &[0]),
                ("roles", &[0]),
                ("w_id", &[2]),
                ("w_ver", &[1]),
                ("w_ts", &[0]),
                ("w_ndcnt", ndcnt),
                ("w_ndref", &[2, 2]),
                ("w_tagcnt", tagcnt),
            ]),
        )
    };
    refused(&way(&uv(HUGE), &[0]), "node reference");
    refused(&way(&[0], &uv(HUGE)), "tag key");
    let strings = [("meta", &[1][..]), ("tag_keys", &uv(HUGE)), ("roles", &[0])];
    refused(&File::whole(2, &stored(&strings)), "more than the bytes");
}

#[test]
fn h04_samples_that_only_a_number_claims() {
    let _alone = alone();
    let lists = ["chrom", "pos", "id", "ref", "alt", "qual", "filter", "info", "format"];
    let vcf = |samples: u128, lines: usize| {
        let meta = [uv(lines as u128), vec![0], uv(samples), vec![0], lp(b"0|0"), vec![0]].concat();
        let mut streams =
            stored(&[("meta", &meta), ("flags", &vec![1; lines]), ("gt", &vec![0; lines])]);
        let list = "\n".repeat(lines - 1);
        streams.extend(lists.map(|name| Stream::new(name, list.as_bytes())));
        File::whole(5, &streams)
    };
    for samples in [HUGE, u128::from(u64::MAX), 1 << 40] {
        refused(&vcf(samples, 1), "over the limit");
    }
    // Many lines with the maximum number of samples.
    stopped_at_16_mib(&vcf(1 << 20, 100_000));
}

#[test]
fn h05_a_derived_column_of_half_a_million_distinct_cells() {
    let _alone = alone();
    // Comparing each with all before it would take over 10^11 steps.
    let count = 500_000;
    let numbers = deltas(&(0..count).collect::<Vec<_>>());
    let cells: Vec<String> = (0..count).map(|cell| cell.to_string()).collect();
    let names: Vec<&str> = cells.iter().map(String::as_str).collect();
    let rows = cells.len();
    let dictionary = [uv(count.cast_unsigned()), texts(&names)].concat();
    let indices: Vec<u8> = (0..count).flat_map(|index| uv(index.cast_unsigned())).collect();
    let bitmap = vec![0xFF; rows.div_ceil(8)];
    let mixed = [vec![0], uv(count.cast_unsigned()), bitmap, vec![0], numbers.clone()].concat();
    let map = (DERIVED, 0, [uv(0), uv(count.cast_unsigned()), vec![0; rows]].concat());
    for source in [
        (TEXT, 0, cells.join("\n").into_bytes()),
        (INT, 0, numbers),
        (NUMEXC, 0, mixed),
        (DICT, 0, [dictionary, indices].concat()),
    ] {
        let table = Columnar::new(rows, vec![source, map.clone()]);
        let file = Bytes::from(table.file().build());
        let mut outcome = Ok(0);
        let (bytes, time) = cost(|| outcome = unpack(&file, &ReadOptions::default()));
        // Each takes a cell, a delimiter and a newline.
        let digits: usize = cells.iter().map(String::len).sum();
        assert_eq!(outcome.unwrap(), (digits + 2 * rows) as u64);
        assert!(time <= MOST_TIME, "{time:?}");
        assert!(bytes <= 64 * file.len(), "{} bytes of file cost {bytes}", file.len());
    }
}

#[test]
fn h05_many_derived_columns_of_a_long_one() {
    let _alone = alone();
    // A megabyte of cells and 60 KB of columns would take 80 GB.
    let columns = 20_000;
    let derived: Vec<_> = (0..columns).map(|_| (DERIVED, 0, vec![0, 1, 0])).collect();
    let source = (TEXT, 0, vec![b'\n'; 1 << 20]);
    let table = Columnar { rows: 0, ..Columnar::new(0, [vec![source], derived].concat()) };
    let streams = {
        let meta = [vec![0, 0, 0, 0], uv(columns + 1)].concat();
        let mut streams = table_streams(&table);
        *streams.first_mut().unwrap() = Stream::new("meta", &meta);
        streams
    };
    let limits = Limits::default().with_read_bytes(16 << 20);
    stopped(&File::whole(4, &streams), &limits);
}

/// Returns the streams of a table with any number of columns and no rows.
fn table_streams(table: &Columnar<'_>) -> Vec<Stream> {
    let of = |pick: fn(&TypedChunk) -> Vec<u8>| -> Vec<u8> {
        table.columns.iter().flat_map(pick).collect()
    };
    stored(&[
        ("meta", b""),
        ("coltypes", &of(|column| vec![column.0])),
        ("quotemodes", &of(|column| vec![column.1])),
        ("col_index", &of(|column| uv(column.2.len() as u128))),
        ("values", &of(|column| column.2.clone())),
    ])
}

#[test]
fn h06_rules_whose_literals_and_sources_do_not_fit() {
    let _alone = alone();
    let json = |rules: &[u8]| {
        File::whole(
            1,
            &stored(&[
                ("meta", &[1, 0]),
                ("flags", &[1]),
                ("value_index", &[0]),
                ("rules", rules),
                ("tape", &[3, 0]),
            ]),
        )
    };
    refused(&json(&[vec![1], texts(&["x"]), uv(HUGE)].concat()), "more than the bytes");
    refused(
        &json(&[vec![1], texts(&["x"]), vec![200, 1], vec![0; 200]].concat()),
        "do not fit between",
    );
    refused(&json(&[vec![1], texts(&["x", "y"]), vec![1, 0]].concat()), "not below 0");
}

#[test]
fn h07_depth() {
    let _alone = alone();
    let json = File::whole(
        1,
        &stored(&[
            ("meta", &[1, 0]),
            ("flags", &[1]),
            ("value_index", &[0]),
            ("rules", &[0]),
            ("tape", &[2, 1].repeat(1 << 20)),
        ]),
    );
    refused(&json, "8192");
    let deep = format!(r#"[{{"x":{}"#, "[".repeat(1 << 20));
    refused(&File::whole(12, &stored(&[("manifest", deep.as_bytes())])), "manifest");
    let inner = File::raw(2, b"x").build();
    let deep = format!(r#"[{{"name":"a","x":{}1{}}}]"#, "[".repeat(1 << 20), "]".repeat(1 << 20));
    let parts = [("manifest", deep.as_bytes()), ("e0", &inner[..])];
    // Values of unknown keys may have any depth: the parser skips them without recursion.
    assert_eq!(spend(File::whole(12, &stored(&parts)).build(), &Limits::default()).unwrap(), 1);
}

#[test]
fn h08_cells_that_multiply() {
    let _alone = alone();
    let rows = 1 << 20;
    let long = vec![b'x'; 1 << 16];
    let dict = |entry: &[u8]| [uv(rows as u128), vec![1], lp(entry), vec![0; rows]].concat();
    stopped_at_16_mib(&column(DICT, rows, &dict(&long)));
    // The same in quotes, each of which is doubled.
    let quoted = Columnar::new(rows, vec![(DICT, 1, dict(&vec![b'"'; 1 << 16]))]);
    stopped_at_16_mib(&quoted.file());
    let map = [vec![0, 1], lp(&long)].concat();
    let derived = Columnar::new(rows, vec![(DICT, 0, dict(b"")), (DERIVED, 0, map)]);
    stopped_at_16_mib(&derived.file());
    let wide = vec![(TEXT, 0, vec![b'\n'; 4095]); 100];
    let table = Columnar { delimiter: &long, ..Columnar::new(4096, wide) };
    stopped_at_16_mib(&table.file());
}

#[test]
fn h08_templates_that_multiply() {
    let _alone = alone();
    let rows = 1 << 20;
    let segment = "x".repeat(1 << 16);
    let modes = vec![1; rows];
    let table = RowGroups::template(1, &modes).template_streams("", &[&segment], &[]);
    stopped_at_16_mib(&File::whole(8, &table));
    let delimiter = segment.as_bytes();
    let cells = "\n".repeat((1 << 16) - 1);
    let types = [0; 64];
    let modes = vec![1; 1 << 16];
    let table = RowGroups {
        types: &types,
        blocks: vec![zstd_block(&cells); 64],
        ..RowGroups::delimited(1, delimiter, &modes)
    };
    stopped_at_16_mib(&File::whole(7, &table.streams("")));
    // Templates of qjson2 are built before lines are assigned to them.
    let modes = vec![1; rows];
    let set = |number: usize| {
        let prefix = format!("t{number}:");
        RowGroups::template(1, &modes).template_streams(&prefix, &[&segment], &[])
    };
    for lines in [0, 1] {
        let head = stored(&[("meta", &[lines, 1, 2]), ("line_map", &[1])]);
        stopped_at_16_mib(&File::whole(11, &[head, set(0), set(1)].concat()));
    }
    let lines = [uv(rows as u128), vec![1]].concat();
    let template = segment.as_bytes();
    let logs = log(&[
        ("meta", &lines),
        ("flags", &vec![1; rows]),
        ("templates", template),
        ("tids", &vec![0; rows]),
    ]);
    stopped_at_16_mib(&logs);
    let list = "\n".repeat(rows - 1);
    let mut ssh = stored(&[
        ("meta", &lines),
        ("flags", &vec![2; rows]),
        ("pids", &vec![1; rows]),
        ("template_ids", &vec![0; rows]),
        ("templates", template),
    ]);
    ssh.extend(
        ["months", "days", "times", "hosts", "vars"].map(|name| Stream::new(name, list.as_bytes())),
    );
    stopped(&File::whole(0, &ssh), &Limits::default().with_output_bytes(16 << 20));
    let rule = [vec![1], texts(&["", ""]), vec![1, 0]].concat();
    let token = [vec![0, 0], [3, 0].repeat(rows - 1)].concat();
    let json = File::whole(
        1,
        &stored(&[
            ("meta", &lines),
            ("flags", &vec![1; rows]),
            ("value_index", &[vec![1], uv(1 << 16)].concat()),
            ("values", template),
            ("rules", &rule),
            ("tape", &token),
        ]),
    );
    stopped_at_16_mib(&json);
}

#[test]
fn h08_frames_and_entries_together() {
    let _alone = alone();
    let bomb = [vec![1], zstd_run(b'x', 1 << 20)].concat();
    let frames = vec![frame(1, &bomb); 10_000];
    let limits = Limits::default().with_output_bytes(16 << 20);
    stopped(&File::streaming(3, 1, &frames), &limits);
    let inner = File::raw(1, &zstd_run(b'x', 1 << 20)).build();
    let names: Vec<String> = (0..200).map(|n| format!(r#"{{"name":"{n}"}}"#)).collect();
    let manifest = format!("[{}]", names.join(","));
    let mut streams = stored(&[("manifest", manifest.as_bytes())]);
    streams.extend((0..200).map(|n| Stream::new(&format!("e{n}"), &inner)));
    stopped(&File::whole(12, &streams), &limits);
    // Within the limit, all of them are read.
    let limits = Limits::default().with_output_bytes(200 << 20);
    let unpacked = spend(File::whole(12, &streams).build(), &limits).unwrap();
    assert_eq!(unpacked, 200 << 20);
}

#[test]
fn h09_unknown_column_types() {
    let _alone = alone();
    for kind in [7, 255] {
        refused(&column(kind, 1, &[0; 1000]), "column type");
        refused(&column(kind, 0, b""), "column type");
    }
}

#[test]
fn h10_unknown_backends() {
    let _alone = alone();
    let bytes = vec![0; 1 << 20];
    for backend in [3, 31, 255] {
        refused(&File::raw(backend, &bytes), "backend");
        let stream = Stream::packed("meta", backend, &bytes);
        refused(&File::whole(3, &[stream]), "backend");
    }
}

#[test]
fn further_bombs_in_xz_and_zstd() {
    let _alone = alone();
    let limits = Limits::default().with_block_bytes(1 << 20);
    let xz_bomb = xz(&vec![0; 48 << 20]);
    let zstd_bomb = zstd_run(0, 1 << 30);
    for (backend, bomb) in [(0, &xz_bomb), (1, &zstd_bomb)] {
        stopped(&File::raw(backend, bomb), &limits);
        stopped(&File::streaming(4, 1, &[frame(1, &[&[backend], &bomb[..]].concat())]), &limits);
        stopped(&File::whole(3, &[Stream::packed("meta", backend, bomb)]), &limits);
        let block = [&[backend], &bomb[..]].concat();
        let table = RowGroups { types: &[0], ..RowGroups::delimited(1, b",", &[1]) };
        let table = RowGroups { blocks: vec![(Vec::new(), block)], ..table };
        stopped(&File::whole(7, &table.streams("")), &limits);
        // Without an index, the size is known only after unpacking.
        if backend == 0 {
            stopped(&File::raw(0, &[&bomb[..], b"tail"].concat()), &limits);
        }
    }
    // Each is within its limit, but not their sum.
    let within = zstd_run(0, 1 << 20);
    let names = ["templates", "flags", "tids", "vars", "verbatim"];
    let mut streams: Vec<Stream> =
        names.iter().map(|name| Stream::packed(name, 1, &within)).collect();
    streams.push(Stream::new("meta", &[0, 0]));
    stopped(&File::whole(3, &streams), &limits.clone().with_read_bytes(4 << 20));
    assert!(spend(File::whole(3, &streams).build(), &limits).is_ok());
    // Sizes of a gigabyte and more that no bytes back.
    for size in [1_u64 << 30, (4 << 30) - 1] {
        let claim = [&b"\x28\xB5\x2F\xFD\xC0\x38"[..], &size.to_le_bytes(), b"\x19\0\0abc"];
        refused(&File::raw(1, &claim.concat()), "zstd frame");
    }
    stopped(&File::raw(1, &zstd_run(0, 1 << 33)), &Limits::default());
}

#[test]
fn further_streams_and_frames_without_end() {
    let _alone = alone();
    refused(&File { body: vec![0xFF, 0xFF, 0x03], ..File::whole(7, &[]) }, "stream count");
    // As many as fit in the bytes, but more than a stream set may have.
    let body = [uv(100_000), [0, 2, 0].repeat(100_000)].concat();
    refused(&File { body, ..File::whole(7, &[]) }, "over the limit of 256");
    refused(&File::whole(3, &[Stream::new(&"n".repeat(1 << 20), b"")]), "over the limit of 1024");
    let names: Vec<Stream> = (0..256).map(|_| Stream::new("same", b"")).collect();
    refused(&File::whole(3, &names), "meta");
    for len in [HUGE, u128::from(u64::MAX)] {
        refused(&File::streaming(4, 1, &[[uv(len), vec![1, 2]].concat()]), "frame needs");
    }
    // Very many tiny frames.
    let frames = vec![frame(1, &[2]); 200_000];
    assert_eq!(spend(File::streaming(4, 1, &frames).build(), &Limits::default()).unwrap(), 0);
}

#[test]
fn further_many_small_things() {
    let _alone = alone();
    let rows = 1 << 20;
    // One group per line, and no column with statistics.
    let table = groups(&[0, 1, 0, 0], &vec![1; rows], b"", b"");
    assert_eq!(spend(table.build(), &Limits::default()).unwrap(), rows as u64);
    // Rows without cells, and missing lines (A20).
    let bare = Columnar { counts: Some(vec![0; rows]), ..Columnar::new(rows, vec![]) };
    assert_eq!(spend(bare.file().build(), &Limits::default()).unwrap(), rows as u64);
    let missing = Columnar { modes: Some(vec![0; rows]), ..bare };
    assert_eq!(spend(missing.file().build(), &Limits::default()).unwrap(), rows as u64);
    // As many columns as the bytes allow, and no row.
    let columns = 100_000;
    let table = Columnar::new(0, vec![(TEXT, 0, vec![]); columns]);
    let mut streams = table_streams(&table);
    let meta = [vec![0, 1, 0, 0], uv(columns as u128)].concat();
    *streams.first_mut().unwrap() = Stream::new("meta", &meta);
    assert_eq!(spend(File::whole(4, &streams).build(), &Limits::default()).unwrap(), 1);
    let packed = [vec![1], zstd(b"")].concat();
    let meta = [uv(columns as u128), vec![1, 1, 1], vec![0; columns]].concat();
    let index: Vec<u8> = uv(packed.len() as u128).repeat(columns);
    let table = groups(&meta, &[1], &index, &packed.repeat(columns));
    assert_eq!(spend(table.build(), &Limits::default()).unwrap(), columns as u64);
}

#[test]
fn every_weak_spot_of_the_spec_has_a_test() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/specs/at1.md");
    let spec = std::fs::read_to_string(path).unwrap();
    let section = spec.split("\n## 9 ").nth(1).unwrap().split("\n## ").next().unwrap();
    let numbers: Vec<u8> = section
        .lines()
        .filter_map(|line| line.strip_prefix("| H")?.split(" |").next()?.parse().ok())
        .collect();
    assert_eq!(numbers, (1..=10).collect::<Vec<u8>>());
    for number in numbers {
        let start = format!("fn h{number:02}_");
        assert!(include_str!("at1.rs").contains(&start), "no test starts with `{start}`");
    }
}

/// Lists that are made of streams count to the limit of a read, whose bytes they multiply.
#[test]
fn further_lists_that_are_larger_than_their_streams() {
    let _alone = alone();
    const ELEMENTS: usize = 12 << 20;
    let limits = Limits::default().with_read_bytes(40 << 20).with_header_bytes(8 << 20);
    let zeros = zstd(&vec![0; ELEMENTS]);
    let newlines = zstd(&vec![b'\n'; ELEMENTS]);
    let holes = zstd(&b"<*>".repeat(ELEMENTS / 3));
    let packed = |name: &str, payload: &[u8]| Stream::packed(name, 1, payload);
    let file = |codec: u8, small: &[(&str, &[u8])], large: Vec<Stream>| {
        File::whole(codec, &[stored(small), large].concat())
    };
    let count = uv(ELEMENTS as u128);
    let prefixed = |head: &[u8]| zstd(&[head, &vec![0; ELEMENTS]].concat());
    for file in [
        file(3, &[("meta", &[0, 0])], vec![packed("templates", &newlines)]),
        file(3, &[("meta", &[0, 0])], vec![packed("templates", &zeros)]),
        file(0, &[("meta", &[0, 0])], vec![packed("templates", &newlines)]),
        file(0, &[("meta", &[0, 0])], vec![packed("templates", &holes)]),
        file(
            1,
            &[("meta", &[0, 0]), ("value_index", &[0]), ("rules", &[0])],
            vec![packed("keyvocab", &newlines)],
        ),
        file(
            1,
            &[("meta", &[0, 0]), ("rules", &[0])],
            vec![packed("value_index", &prefixed(&count)), packed("values", &zeros)],
        ),
        file(6, &[("meta", &[1])], vec![packed("value_index", &prefixed(&count))]),
        file(2, &[("meta", &[0]), ("roles", &[0])], vec![packed("tag_keys", &prefixed(&count))]),
        file(
            4,
            &[("meta", &[&[0, 0, 0, 1, b','], &count[..]].concat())],
            vec![
                packed("coltypes", &zeros),
                packed("quotemodes", &zeros),
                packed("col_index", &zeros),
            ],
        ),
    ] {
        stopped(&file, &limits);
    }
    // One row in each group, and as many blocks of one column.
    let meta = [&count[..], &[1, 1, b',', 1, 1], &count, &count, &[0]].concat();
    let ones = zstd(&vec![1; ELEMENTS]);
    let streams = vec![packed("row_modes", &ones), packed("index", &ones), packed("blocks", &ones)];
    stopped(&file(7, &[("meta", &meta)], streams), &limits);
}

/// A look at an archive takes memory for each frame and column.
#[test]
fn further_long_lists_of_frames_and_columns() {
    let _alone = alone();
    let limits = Limits::default().with_header_bytes(8 << 20);
    let options = ReadOptions::default().with_limits(limits);
    let frames = vec![frame(1, &[2]); 300_000];
    let file = File::streaming(255, 1, &frames).build();
    let archive = Archive::open(Arc::new(Bytes::from(file)), &options).unwrap();
    let (bytes, time) = cost(|| {
        let err = archive.frames().unwrap_err();
        assert!(matches!(err.kind(), ErrorKind::LimitExceeded { .. }), "{err}");
    });
    assert!(bytes <= 32 << 20, "{bytes} bytes");
    assert!(time <= MOST_TIME, "{time:?}");
    let (bytes, time) = cost(|| {
        let err = archive.layout().unwrap_err();
        assert!(matches!(err.kind(), ErrorKind::LimitExceeded { .. }), "{err}");
    });
    assert!(bytes <= 64 << 20, "{bytes} bytes");
    assert!(time <= MOST_TIME, "{time:?}");
    let (_, time) = cost(|| assert_eq!(archive.unpack(&mut io::sink()).unwrap().bytes, 0));
    assert!(time <= MOST_TIME, "{time:?}");
}

/// The blocks of a row group are in memory together, and so are those of several groups.
#[test]
fn further_row_groups_of_many_large_blocks() {
    let _alone = alone();
    const COLUMNS: usize = 40;
    let block = [&[1][..], &zstd(&vec![b'\n'; 4 << 20])].concat();
    let rows = 4;
    let meta = [
        &uv(rows)[..],
        &[1, 1, b','],
        &uv(COLUMNS as u128),
        &[1],
        &uv(rows),
        &uv(rows),
        &[0; COLUMNS],
    ]
    .concat();
    let index = uv(block.len() as u128).repeat(COLUMNS * 4);
    let blocks = block.repeat(COLUMNS * 4);
    let streams =
        [("meta", &meta[..]), ("row_modes", &[1; 4]), ("index", &index), ("blocks", &blocks)];
    let file = File::whole(7, &stored(&streams));
    // One group has 160 MiB.
    stopped(&file, &Limits::default().with_read_bytes(16 << 20));
}
