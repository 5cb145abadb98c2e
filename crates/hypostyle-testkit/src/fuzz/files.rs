//! Files of any kind, through the front door; column files, Parquet and Arrow with changes.

#![expect(clippy::indexing_slicing, reason = "indices are in range by construction")]

use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use hypostyle::formats::{self, Format, FormatId};
use hypostyle::{OpenOptions, ReadOptions, Writer, WriterOptions, open_source};

use super::table_scans::scan_in_all_ways;
use super::{Seed, change_bytes, table_of};
use crate::batches::Features;
use crate::build::{Block, clmn, colf, colm};
use crate::laws::{self, small_limits};

/// Names that a text may have.
const NAMES: [&str; 8] = ["t.csv", "t.tsv", "t.jsonl", "t.log", "t.txt", "t.json", "t.vcf", "t"];

/// Opens any bytes as a file of any kind, and scans it in all ways. The first byte selects the name.
pub fn scan_any(bytes: &[u8]) {
    let (&first, bytes) = bytes.split_first().unwrap_or((&0, &[]));
    scan_as(NAMES[usize::from(first % 8)], bytes);
}

/// Opens bytes as a file of this name, and scans it in all ways.
pub fn scan_as(name: &str, bytes: &[u8]) {
    let read = ReadOptions::default()
        .with_limits(small_limits().with_output_bytes(1 << 20))
        .with_threads(NonZeroUsize::new(1));
    let options = OpenOptions::default().with_name(name).with_read(read);
    let Ok(table) = open_source(Arc::new(Bytes::copy_from_slice(bytes)), &options) else { return };
    scan_in_all_ways(&table);
}

/// Reads a column file of each format whose blocks are well compressed, with any content.
pub fn bent_columns(bytes: &[u8]) {
    let mut seed = Seed(bytes);
    let rows = u32::from(seed.byte() % 12);
    let kinds = seed.byte();
    let mut contents: Vec<(u8, u8, Vec<u8>)> = Vec::new();
    for _ in 0..1 + kinds % 3 {
        let (code, flag) = (seed.byte() % 6, seed.byte());
        let honest = seed.byte();
        let mut content = seed.bytes().to_vec();
        if honest % 4 == 0 {
            // Fixed widths: as many bytes as there are rows.
            content.resize(rows as usize * [4, 4, 8][usize::from(code % 3)], flag);
        }
        contents.push((code, flag, content));
    }
    let shared = |index: usize, block: Block| match (kinds >> 4) % 4 {
        1 if index > 0 => Block::shared(0, block.raw),
        _ => block,
    };
    let columns = contents.iter().enumerate();
    let colm = columns.clone().map(|(index, (code, _, content))| {
        let block = shared(index, Block::of(content));
        colm::Column { name: vec![b'a' + *code], code: *code, block }
    });
    let mut colm = colm::File::new(rows, colm.collect()).build().bytes;
    let clmn = columns.clone().map(|(index, (code, _, content))| {
        let block = shared(index, Block::of(content));
        clmn::Column { name: vec![b'a' + *code], code: *code, block }
    });
    let mut clmn = clmn::File::new(rows.into(), clmn.collect()).build().bytes;
    let colf = columns.map(|(index, (code, flag, content))| {
        let kind = ["int32", "float64", "utf8", "int32", "utf8", "int8"][usize::from(*code)];
        let nulls = colf::payload(*flag % 3, (flag % 2 == 1).then_some(&[*flag][..]), content);
        let block = shared(index, Block::of(if flag % 5 == 0 { content } else { &nulls }));
        colf::Column { flag: flag % 2, block, ..colf::Column::new(&format!("{code}"), kind, &[]) }
    });
    let mut colf = colf::File::new(rows.into(), colf.collect()).build().bytes;
    let changes = seed.byte() % 3;
    for (format, file) in [("colm", &mut colm), ("clmn", &mut clmn), ("colf", &mut colf)] {
        for _ in 0..changes {
            change_bytes(file, &mut seed);
        }
        let format: &dyn Format = formats::by_name(format).unwrap();
        laws::any_bytes_return_or_fail(format, file);
    }
}

/// Reads a Parquet or an Arrow file with a few changes. It does nothing if the library was built
/// without them.
pub fn bent_foreign(bytes: &[u8]) {
    static FILES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    let files = FILES.get_or_init(foreign_files);
    let mut seed = Seed(bytes);
    let Some(file) = files.get(usize::from(seed.byte()) % files.len().max(1)) else { return };
    let mut file = file.clone();
    for _ in 0..1 + seed.byte() % 3 {
        change_bytes(&mut file, &mut seed);
    }
    scan_as("t", &file);
}

fn foreign_files() -> Vec<Vec<u8>> {
    let all =
        Features { nulls: true, int64: true, ..Features::of(formats::by_name("colf").unwrap()) };
    let contents: [&[u8]; 3] = [
        &[3, 20, 0, 1, 3, b'a', b'b', b'c', 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
        &[5, 3],
        &[2, 60, 2, 1, 1, b'x', 9, 9, 9, 4, b'a', b'b', b'c', b'd', 4, b'a', b'b', b'c', b'd'],
    ];
    let mut files = Vec::new();
    for content in contents {
        let table = table_of(content, all);
        for format in [FormatId::Parquet, FormatId::Arrow] {
            let mut file = Vec::new();
            let options = WriterOptions::default();
            let Ok(mut writer) = Writer::create(&mut file, format, table.schema(), &options) else {
                continue;
            };
            writer.write(&table).unwrap();
            writer.finish().unwrap();
            files.push(file);
        }
    }
    files
}
