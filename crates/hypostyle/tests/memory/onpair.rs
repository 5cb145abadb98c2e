//! Files of strings that claim more than their bytes back.

use hypostyle::Limits;
use hypostyle_testkit::build::onpair::{Column, ColumnChunk, File, numbers};

use super::{Case, read, refused};

/// Returns a chunk in which all rows have the same text.
fn same(rows: u32, text: &str) -> ColumnChunk {
    let mut part = ColumnChunk::indexed(&[Some(text)]);
    part.text = rows * u32::try_from(text.len()).unwrap();
    part.sections[4] = numbers(&vec![0; rows as usize]);
    part
}

fn one(rows: u32, part: ColumnChunk) -> File {
    File::new(&[rows], vec![Column::new("s", part)])
}

pub(super) fn cases() -> Vec<Case> {
    let token = [b'x'; 16];
    let long = ColumnChunk::packed(9, &[&token], &[&vec![0; 100_000]]);
    let mut tokens = ColumnChunk::packed(16, &[b"x"], &[&[0]]);
    tokens.sections[0] = vec![1, 0xFF, 0xFF, 0xFF];
    let small = Limits::default().with_block_bytes(8 << 20).with_read_bytes(8 << 20);
    let chunks = File {
        chunks: vec![1; 1000],
        ..File::new(
            &[],
            vec![Column {
                name: b"s".to_vec(),
                code: 0,
                chunks: vec![ColumnChunk::plain(&[Some("x")]); 1000],
            }],
        )
    };
    vec![
        refused("2^32 - 1 columns", "onpair", {
            File { column_count: Some(u32::MAX), ..one(1, same(1, "x")) }.build()
        }),
        refused("2^32 - 1 columns in a megabyte", "onpair", {
            let more = vec![0; 1 << 20];
            File { column_count: Some(u32::MAX), more, ..one(1, same(1, "x")) }.build()
        }),
        refused("a footer of 2^60 bytes", "onpair", {
            File { footer_len: Some(1 << 60), ..one(1, same(1, "x")) }.build()
        }),
        refused(
            "65 MiB of text in a few bytes",
            "onpair",
            one(1 << 20, same(1 << 20, &"x".repeat(65))).build(),
        ),
        refused(
            "16 MiB of text, and a limit below",
            "onpair",
            one(1 << 20, same(1 << 20, &"x".repeat(16))).build(),
        )
        .with(small.clone()),
        refused(
            "rows of a chunk that are not there",
            "onpair",
            one(1 << 20, ColumnChunk::plain(&[Some("x")])).build(),
        ),
        refused("values that are not there", "onpair", {
            let mut part = ColumnChunk::plain(&[Some("x")]);
            part.values = 1 << 20;
            one(1 << 20, part).build()
        }),
        refused("16,777,215 tokens that are not there", "onpair", one(1, tokens).build()),
        refused("less text than codes stand for", "onpair", {
            let mut part = long.clone();
            part.text = 10;
            one(1, part).build()
        }),
        read("codes that become 14 times their size", "onpair", one(1, long).build()),
        read("nothing but nulls, a million of them", "onpair", {
            let mut part = ColumnChunk::plain::<&str>(&[]);
            part.nulls = 1 << 20;
            one(1 << 20, part).build()
        }),
        read("a thousand chunks of a row", "onpair", chunks.build()),
    ]
}
