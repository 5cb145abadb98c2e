//! Small archives of every kind, as seeds for mutants.

use crate::Result;
use crate::pack::{self, WriterOptions, bitmap};
use crate::wire::{
    COLUMNAR, FrameBody, PackedStream, ParsedArchive, RAW, STORED, XZ, XzOptions, ZSTD, put_lp,
    put_sv, put_uv, xz, zstd,
};

const CSV: &str = "\
id,name,price,qty,city,note
1,ann,1.50,10,Rome,a
2,bo,2.25,NA,Paris,\"b\"
3,cy,-0.05,12,Rome,
4,dan,0.00,9,Oslo,\"\"
5,eve,100.10,,Rome,x y
no row at all
6,fay,7.77,1000000,Paris,\"q\"
7,gus,8.88,-3,Rome,z
8,\"hal\",9.99,4,Oslo,w
";

const JSON: &str = r#"{"id":1,"n":"ann","p":1.5}
{"id":2,"n":"bo","p":-2.25}
{"id":3,"n":"cy","p":0}
{"id":3,"other":true}
{"id":4,"n":"dan","p":1e3}
{"id":5,"n":null,"p":7}
"#;

/// Returns all samples with their names.
pub(crate) fn all() -> Result<Vec<(String, Vec<u8>)>> {
    let mut all = Vec::new();
    for (backend, name) in [(STORED, "stored"), (ZSTD, "zstd"), (XZ, "xz")] {
        let options = WriterOptions { backend, xz_blocks: false, rows_per_group: 3 };
        let mut add = |kind: &str, archive: ParsedArchive| -> Result<()> {
            all.push((format!("{kind}-{name}"), repacked(archive, backend)?.bytes()));
            Ok(())
        };
        add("columnar", pack::columnar(CSV.as_bytes(), options)?)?;
        add("columnar-types", ParsedArchive::whole(COLUMNAR, every_type()))?;
        add("qcolumnar", pack::qcolumnar(CSV.as_bytes(), options)?)?;
        add("qjson", pack::qjson(JSON.as_bytes(), options)?)?;
        add("qjson2", ParsedArchive::whole(11, several_templates(options)?))?;
        add("log", ParsedArchive::whole(3, log()))?;
        add("streaming-columnar", streaming(pack::columnar(CSV.as_bytes(), options)?))?;
        add("streaming-qcolumnar", streaming(pack::qcolumnar(CSV.as_bytes(), options)?))?;
        add("streaming-log", streaming(ParsedArchive::whole(3, log())))?;
        let payload = match backend {
            STORED => CSV.as_bytes().to_vec(),
            ZSTD => zstd(CSV.as_bytes(), 3)?,
            _ => xz(CSV.as_bytes(), XzOptions { cuts: &[50, 100], ..XzOptions::default() })?,
        };
        let raw = FrameBody::Raw { backend, payload };
        add(
            "raw",
            ParsedArchive { codec: RAW, chunk_lines: None, frames: vec![(1, raw)], hash: None },
        )?;
    }
    let blocks = WriterOptions { backend: XZ, xz_blocks: true, rows_per_group: 3 };
    all.push(("columnar-xz-blocks".into(), pack::pack("columnar", CSV.as_bytes(), blocks)?));
    Ok(all)
}

/// Compresses every stream with one backend, even small ones that the writer stores uncompressed.
fn repacked(mut archive: ParsedArchive, backend: u8) -> Result<ParsedArchive> {
    for (_, body) in &mut archive.frames {
        if let FrameBody::Set { streams, .. } = body {
            for stream in streams.iter_mut().filter(|stream| !stream.name.ends_with(b"blocks")) {
                *stream = stream.repacked(backend)?;
            }
        }
    }
    Ok(archive)
}

/// Returns a streaming archive: a frame, a raw frame, and the first frame again.
fn streaming(archive: ParsedArchive) -> ParsedArchive {
    let (_, body) = archive.frames[0].clone();
    let raw = FrameBody::Raw { backend: STORED, payload: b"raw,line\nno end".to_vec() };
    let frames = vec![(0, body.clone()), (1, raw), (0, body)];
    ParsedArchive { codec: archive.codec, chunk_lines: Some(8), frames, hash: None }
}

/// Returns the streams of a columnar table with all column types, ragged rows and all quote modes.
fn every_type() -> Vec<PackedStream> {
    let rows = 12_usize;
    let mut index = Vec::new();
    let mut values = Vec::new();
    let mut types = Vec::new();
    let mut add = |kind: u8, chunk: Vec<u8>| {
        types.push(kind);
        put_uv(&mut index, chunk.len() as u64);
        values.extend(chunk);
    };
    // INT
    let mut chunk = Vec::new();
    for delta in [100, 1, -200, 0, 1 << 40, -(1 << 40), 1, 1, 1, 5, 63, -64] {
        put_sv(&mut chunk, delta);
    }
    add(1, chunk);
    // DEC
    let mut chunk = vec![2];
    for delta in [105, -110, 1000, 5, -5, 0, 0, 7, 100_000, -1, -1, -1] {
        put_sv(&mut chunk, delta);
    }
    add(2, chunk);
    // TEXT
    add(0, b"a\nbb\n\nccc\nd\"d\ne,e\nf\ng\nh\ni\nj\nk".to_vec());
    // NUMEXC with integers and with decimals
    for head in [&[0][..], &[1, 3]] {
        let mut chunk = head.to_vec();
        put_uv(&mut chunk, rows as u64);
        chunk.extend(bitmap((0..rows).map(|row| row % 4 != 1)));
        put_uv(&mut chunk, 3);
        [&b"NA"[..], b"", b"a \"b\""].iter().for_each(|cell| put_lp(&mut chunk, cell));
        (0..9).for_each(|delta| put_sv(&mut chunk, delta * 37 - 100));
        add(3, chunk);
    }
    // DICT
    let mut chunk = Vec::new();
    put_uv(&mut chunk, rows as u64);
    put_uv(&mut chunk, 3);
    [&b"red"[..], b"blue", b""].iter().for_each(|cell| put_lp(&mut chunk, cell));
    (0..rows).for_each(|row| put_uv(&mut chunk, row as u64 * 5 % 3));
    add(5, chunk);
    // DERIVED from the DICT column and from itself
    for (source, entries) in [(5, [&b"R"[..], b"B", b"-"]), (6, [b"1", b"22", b""])] {
        let mut chunk = Vec::new();
        put_uv(&mut chunk, source);
        put_uv(&mut chunk, 3);
        entries.iter().for_each(|cell| put_lp(&mut chunk, cell));
        add(4, chunk);
    }
    // SHUF, as the last column, which only some rows have
    let cells = rows as u64 - 4;
    let mut chunk = Vec::new();
    put_uv(&mut chunk, cells);
    put_sv(&mut chunk, -2);
    chunk.push(2);
    chunk.extend((0..cells).map(|row| row as u8));
    chunk.extend((0..cells).map(|row| (row % 2) as u8));
    add(6, chunk);
    let columns = types.len();
    let mut meta = Vec::new();
    put_uv(&mut meta, rows as u64 + 2);
    meta.extend([1, 1]);
    put_lp(&mut meta, b",");
    put_uv(&mut meta, columns as u64);
    let modes: Vec<u8> = (0..rows + 2).map(|row| u8::from(row != 3 && row != 7)).collect();
    let mut fields = Vec::new();
    (0..rows).for_each(|row| put_uv(&mut fields, (columns - usize::from(row % 3 == 2)) as u64));
    let quote_modes = [0, 0, 2, 0, 2, 1, 0, 0, 0];
    let bits = bitmap((0..rows).map(|row| row % 3 == 1));
    vec![
        PackedStream::stored("meta", &meta),
        PackedStream::stored("row_modes", &modes),
        PackedStream::stored("fieldcounts", &fields),
        PackedStream::stored("coltypes", &types),
        PackedStream::stored("col_index", &index),
        PackedStream::stored("values", &values),
        PackedStream::stored("quotemodes", &quote_modes),
        PackedStream::stored("quotebits", &[&bits[..], &bits].concat()),
        PackedStream::stored("verbatim", b"a line\nanother"),
        PackedStream::stored("header", b"i,d,t,n,x,c,e,f,s"),
    ]
}

fn log() -> Vec<PackedStream> {
    vec![
        PackedStream::stored("meta", &[6, 1]),
        PackedStream::stored("flags", &[1, 1, 0, 1, 0, 1]),
        PackedStream::stored("templates", b"start \0 of \0\nend\n\0"),
        PackedStream::stored("tids", &[0, 1, 0, 2]),
        PackedStream::stored("vars", b"1\n2\nthree\n\nfive"),
        PackedStream::stored("verbatim", b"as it is\n"),
    ]
}

fn several_templates(options: WriterOptions) -> Result<Vec<PackedStream>> {
    let mut meta = Vec::new();
    put_uv(&mut meta, 8);
    meta.push(1);
    put_uv(&mut meta, 2);
    let second = "{\"x\":1}\n{\"x\":22}\n{\"x\":-3}";
    let mut streams = vec![
        PackedStream::stored("meta", &meta),
        PackedStream::stored("line_map", &[1, 2, 0, 1, 2, 1, 0, 2]),
        PackedStream::stored("verbatim", b"[1]\n[2]"),
    ];
    streams.extend(pack::qjson_streams("t0:", JSON.as_bytes(), options)?);
    streams.extend(pack::qjson_streams("t1:", second.as_bytes(), options)?);
    Ok(streams)
}

#[cfg(test)]
mod tests {
    #[test]
    fn both_decoders_read_every_sample() {
        for (name, file) in super::all().unwrap() {
            let vendor = at1::decode(&file);
            let ours = crate::child::ours(&file, 1);
            let vendor = vendor.unwrap_or_else(|err| panic!("{name}: vendor: {err:?}"));
            let (ours, _) = ours.unwrap_or_else(|err| panic!("{name}: ours: {err}"));
            assert!(!vendor.is_empty(), "{name}");
            assert_eq!(String::from_utf8_lossy(&ours), String::from_utf8_lossy(&vendor), "{name}");
        }
    }
}
