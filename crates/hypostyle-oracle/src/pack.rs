//! A simple writer of archives to measure and to mutate.
//!
//! It is not the product's encoder and does not optimize size: every column gets the first type that
//! restores its cells.

use std::collections::HashMap;
use std::fs;

use crate::wire::{
    self, COLUMNAR, PackedStream, ParsedArchive, QCOLUMNAR, QJSON, STORED, XZ, XzOptions, ZSTD,
    put_lp, put_sv, put_uv,
};
use crate::{Args, Result};

/// The maximum number of distinct cells of a DICT column.
const MAX_DICT_ENTRIES: usize = 4096;

/// The options of the writer.
#[derive(Clone, Copy)]
pub(crate) struct WriterOptions {
    pub(crate) backend: u8,
    /// An xz block for each column of `values`.
    pub(crate) xz_blocks: bool,
    pub(crate) rows_per_group: usize,
}

pub(crate) fn run(words: &[&str]) -> Result<bool> {
    let mut args = Args::new(words);
    let backend = match args.value("--backend")? {
        None | Some("xz") => XZ,
        Some("zstd") => ZSTD,
        Some("stored") => STORED,
        Some(other) => return Err(format!("unknown backend `{other}`").into()),
    };
    let options = WriterOptions {
        backend,
        xz_blocks: args.flag("--xz-blocks"),
        rows_per_group: args.number("--rows-per-group", 2000)?.max(1) as usize,
    };
    let [kind, from, to] = args.rest()?[..] else {
        return Err("pack takes KIND, IN and OUT".into());
    };
    let text = fs::read(from).map_err(|err| format!("{from}: {err}"))?;
    let packed = pack(kind, &text, options)?;
    println!("{to}: {} bytes of {}, {:.1} %", packed.len(), text.len(), percent(&packed, &text));
    fs::write(to, packed).map_err(|err| format!("{to}: {err}"))?;
    Ok(true)
}

fn percent(packed: &[u8], text: &[u8]) -> f64 {
    packed.len() as f64 * 100.0 / text.len().max(1) as f64
}

pub(crate) fn pack(kind: &str, text: &[u8], options: WriterOptions) -> Result<Vec<u8>> {
    let archive = match kind {
        "columnar" => columnar(text, options)?,
        "qcolumnar" => qcolumnar(text, options)?,
        "qjson" => qjson(text, options)?,
        other => return Err(format!("unknown kind `{other}`").into()),
    };
    Ok(archive.with_hash_of(text).bytes())
}

fn stream(name: &str, content: Vec<u8>, options: WriterOptions) -> Result<PackedStream> {
    let plain = PackedStream::stored(name, &content);
    if options.backend == STORED || content.len() < 64 {
        return Ok(plain);
    }
    let packed = plain.repacked(options.backend)?;
    Ok(if packed.payload.len() < plain.payload.len() { packed } else { plain })
}

/// Splits a text into lines, and returns whether it ends with a newline.
fn lines(text: &[u8]) -> (Vec<&[u8]>, bool) {
    let body = text.strip_suffix(b"\n");
    let trailing = body.is_some();
    (body.unwrap_or(text).split(|&byte| byte == b'\n').collect(), trailing)
}

fn delimiter(text: &[u8]) -> u8 {
    let head = &text[..text.len().min(1 << 16)];
    let count = |delimiter: u8| head.iter().filter(|&&byte| byte == delimiter).count();
    *b",\t;|".iter().rev().max_by_key(|&&delimiter| count(delimiter)).unwrap_or(&b',')
}

/// Splits a line into cells; `None` if a quote is inside a cell.
fn split(line: &[u8], delimiter: u8) -> Option<Vec<&[u8]>> {
    let cells: Vec<&[u8]> = line.split(|&byte| byte == delimiter).collect();
    let plain = |cell: &&[u8]| match cell {
        [b'"', inner @ .., b'"'] => !inner.contains(&b'"'),
        cell => !cell.contains(&b'"'),
    };
    cells.iter().all(plain).then_some(cells)
}

/// The cells of a text by column, and the lines that are not rows.
struct ParsedTable<'a> {
    modes: Vec<u8>,
    columns: Vec<Vec<&'a [u8]>>,
    verbatim: Vec<&'a [u8]>,
}

/// Splits lines into cells; lines that do not have the most common width stay verbatim.
fn table<'a>(
    lines: &[&'a [u8]],
    cells: impl Fn(&'a [u8]) -> Option<Vec<&'a [u8]>>,
) -> ParsedTable<'a> {
    let mut widths: HashMap<usize, usize> = HashMap::new();
    for line in lines {
        *widths.entry(cells(line).map_or(0, |cells| cells.len())).or_default() += 1;
    }
    let width = widths.into_iter().max_by_key(|&(_, count)| count).map_or(0, |(width, _)| width);
    let mut table =
        ParsedTable { modes: Vec::new(), columns: vec![Vec::new(); width], verbatim: Vec::new() };
    for line in lines {
        match cells(line).filter(|cells| width > 0 && cells.len() == width) {
            Some(cells) => {
                table.modes.push(1);
                for (column, cell) in table.columns.iter_mut().zip(cells) {
                    column.push(cell);
                }
            }
            None => {
                table.modes.push(0);
                table.verbatim.push(line);
            }
        }
    }
    table
}

fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.join(&b'\n')
}

/// Parses an integer cell; `None` if printing the integer would not restore the cell.
fn integer(cell: &[u8]) -> Option<i64> {
    let digits = cell.strip_prefix(b"-").unwrap_or(cell);
    let plain = match digits {
        [] => false,
        [b'0'] => digits.len() == cell.len(),
        [b'0', ..] => false,
        digits => digits.iter().all(u8::is_ascii_digit),
    };
    if !plain {
        return None;
    }
    let value: i64 = std::str::from_utf8(cell).ok()?.parse().ok()?;
    (value.unsigned_abs() < 1 << 62).then_some(value)
}

/// Parses a decimal cell to its scaled value and scale; `None` if printing would not restore it.
fn decimal(cell: &[u8]) -> Option<(i64, u8)> {
    let point = cell.iter().position(|&byte| byte == b'.')?;
    let (whole, fraction) = (&cell[..point], &cell[point + 1..]);
    let scale = u8::try_from(fraction.len()).ok().filter(|scale| (1..=18).contains(scale))?;
    let negative = whole.starts_with(b"-");
    let digits = whole.strip_prefix(b"-").unwrap_or(whole);
    let canonical = matches!(digits, [b'0'] | [b'1'..=b'9', ..]);
    if !canonical || !digits.iter().chain(fraction).all(u8::is_ascii_digit) {
        return None;
    }
    let joined = [digits, fraction].concat();
    let value: i64 = std::str::from_utf8(&joined).ok()?.parse().ok()?;
    if value >= 1 << 62 || (negative && value == 0) {
        return None;
    }
    Some((if negative { -value } else { value }, scale))
}

/// Encodes a column. Returns its type and its chunk.
fn chunk(cells: &[&[u8]]) -> (u8, Vec<u8>) {
    let numbers = |value: &dyn Fn(&[u8]) -> Option<i64>| -> (Vec<Option<i64>>, usize) {
        let values: Vec<Option<i64>> = cells.iter().map(|cell| value(cell)).collect();
        let exceptions = values.iter().filter(|value| value.is_none()).count();
        (values, exceptions)
    };
    let max_exceptions = cells.len() / 5;
    let (integers, exceptions) = numbers(&integer);
    if exceptions == 0 {
        return (1, deltas(Vec::new(), &integers));
    }
    if exceptions <= max_exceptions {
        return (3, with_exceptions(&[0], cells, &integers, exceptions));
    }
    let mut scales = [0_usize; 19];
    for (_, scale) in cells.iter().filter_map(|cell| decimal(cell)) {
        scales[usize::from(scale)] += 1;
    }
    let scale = (1..19).rev().max_by_key(|&scale| scales[usize::from(scale)]).unwrap_or(1);
    let scaled =
        |cell: &[u8]| decimal(cell).filter(|parsed| parsed.1 == scale).map(|parsed| parsed.0);
    let (decimals, exceptions) = numbers(&scaled);
    if exceptions == 0 {
        return (2, deltas(vec![scale], &decimals));
    }
    if exceptions <= max_exceptions {
        return (3, with_exceptions(&[1, scale], cells, &decimals, exceptions));
    }
    let mut ids: HashMap<&[u8], usize> = HashMap::new();
    let mut entries: Vec<&[u8]> = Vec::new();
    for &cell in cells {
        ids.entry(cell).or_insert_with(|| {
            entries.push(cell);
            entries.len() - 1
        });
        if entries.len() > MAX_DICT_ENTRIES || entries.len() > cells.len() / 2 + 1 {
            return (0, join(cells));
        }
    }
    let mut out = Vec::new();
    put_uv(&mut out, cells.len() as u64);
    put_uv(&mut out, entries.len() as u64);
    entries.iter().for_each(|entry| put_lp(&mut out, entry));
    cells.iter().for_each(|cell| put_uv(&mut out, ids[cell] as u64));
    (5, out)
}

fn deltas(mut out: Vec<u8>, values: &[Option<i64>]) -> Vec<u8> {
    let mut before = 0;
    for &value in values.iter().flatten() {
        put_sv(&mut out, value - before);
        before = value;
    }
    out
}

fn with_exceptions(
    head: &[u8],
    cells: &[&[u8]],
    values: &[Option<i64>],
    exceptions: usize,
) -> Vec<u8> {
    let mut out = head.to_vec();
    put_uv(&mut out, cells.len() as u64);
    out.extend(bitmap(values.iter().map(Option::is_some)));
    put_uv(&mut out, exceptions as u64);
    for (cell, _) in cells.iter().zip(values).filter(|(_, value)| value.is_none()) {
        put_lp(&mut out, cell);
    }
    deltas(out, values)
}

pub(crate) fn bitmap(bits: impl Iterator<Item = bool>) -> Vec<u8> {
    let mut out = Vec::new();
    for (at, bit) in bits.enumerate() {
        if at % 8 == 0 {
            out.push(0);
        }
        if let Some(last) = out.last_mut() {
            *last |= u8::from(bit) << (at % 8);
        }
    }
    out
}

/// Removes the quotes of a cell, and returns whether it had any.
fn unquoted(cell: &[u8]) -> (&[u8], bool) {
    match cell {
        [b'"', inner @ .., b'"'] => (inner, true),
        cell => (cell, false),
    }
}

pub(crate) fn columnar(text: &[u8], options: WriterOptions) -> Result<ParsedArchive> {
    let delimiter = delimiter(text);
    let (mut lines, trailing) = lines(text);
    let names = |line: &&[u8]| {
        split(line, delimiter).is_some_and(|cells| {
            cells.iter().all(|cell| !cell.is_empty() && !unquoted(cell).0[0].is_ascii_digit())
        })
    };
    let header = lines.first().copied().filter(|line| lines.len() > 1 && names(&line));
    if header.is_some() {
        lines.remove(0);
    }
    let table = table(&lines, |line| split(line, delimiter));
    let (mut types, mut index, mut values, mut cuts) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut quote_modes, mut quote_bits) = (Vec::new(), Vec::new());
    for cells in &table.columns {
        let (inner, quoted): (Vec<&[u8]>, Vec<bool>) =
            cells.iter().map(|cell| unquoted(cell)).unzip();
        let count = quoted.iter().filter(|quoted| **quoted).count();
        quote_modes.push(match count {
            0 => 0,
            count if count == cells.len() => 1,
            _ => {
                quote_bits.extend(bitmap(quoted.into_iter()));
                2
            }
        });
        let (kind, chunk) = chunk(&inner);
        types.push(kind);
        put_uv(&mut index, chunk.len() as u64);
        values.extend(chunk);
        cuts.push(values.len());
    }
    let mut meta = Vec::new();
    put_uv(&mut meta, lines.len() as u64);
    meta.extend([u8::from(trailing), u8::from(header.is_some())]);
    put_lp(&mut meta, &[delimiter]);
    put_uv(&mut meta, table.columns.len() as u64);
    let mut fields = Vec::new();
    for _ in table.modes.iter().filter(|mode| **mode != 0) {
        put_uv(&mut fields, table.columns.len() as u64);
    }
    let values = if options.xz_blocks {
        let payload = wire::xz(&values, XzOptions { cuts: &cuts, ..XzOptions::default() })?;
        PackedStream { name: b"values".to_vec(), backend: XZ, payload }
    } else {
        stream("values", values, options)?
    };
    let pack = |name, content| stream(name, content, options);
    let streams = vec![
        pack("meta", meta)?,
        pack("row_modes", table.modes)?,
        pack("fieldcounts", fields)?,
        pack("coltypes", types)?,
        pack("col_index", index)?,
        values,
        pack("quotemodes", quote_modes)?,
        pack("quotebits", quote_bits)?,
        pack("verbatim", join(&table.verbatim))?,
        pack("header", header.unwrap_or_default().to_vec())?,
    ];
    Ok(ParsedArchive::whole(COLUMNAR, streams))
}

/// The parts that codecs with row groups share: the end of `meta`, `index` and `blocks`.
struct RowGroups {
    types: Vec<u8>,
    count: usize,
    index: Vec<u8>,
    blocks: Vec<u8>,
}

fn groups(columns: &[Vec<&[u8]>], options: WriterOptions) -> Result<RowGroups> {
    let kind = |cells: &Vec<&[u8]>| {
        if cells.iter().all(|cell| integer(cell).is_some()) {
            1
        } else if cells.iter().all(|cell| integer(cell).is_some() || decimal(cell).is_some()) {
            2
        } else {
            0
        }
    };
    let types: Vec<u8> = columns.iter().map(kind).collect();
    let rows = columns.first().map_or(0, Vec::len);
    let count = rows.div_ceil(options.rows_per_group);
    let (mut index, mut blocks) = (Vec::new(), Vec::new());
    for group in 0..count {
        let start = group * options.rows_per_group;
        let end = rows.min(start + options.rows_per_group);
        for (cells, kind) in columns.iter().zip(&types) {
            let cells = &cells[start..end];
            let block = block(&join(cells), options.backend)?;
            put_uv(&mut index, block.len() as u64);
            match kind {
                1 => {
                    let values = || cells.iter().filter_map(|cell| integer(cell));
                    put_sv(&mut index, values().min().unwrap_or_default());
                    put_sv(&mut index, values().max().unwrap_or_default());
                }
                2 => {
                    let text = |cell: &&[u8]| std::str::from_utf8(cell).ok()?.parse().ok();
                    let values = || cells.iter().filter_map(text);
                    let min = values().fold(f64::INFINITY, f64::min).next_down();
                    let max = values().fold(f64::NEG_INFINITY, f64::max).next_up();
                    index.extend(min.to_le_bytes());
                    index.extend(max.to_le_bytes());
                }
                _ => {}
            }
            blocks.extend(block);
        }
    }
    Ok(RowGroups { types, count, index, blocks })
}

/// Compresses a block with xz or zstd, whichever is smaller; only zstd if the backend is not xz.
fn block(cells: &[u8], backend: u8) -> Result<Vec<u8>> {
    let mut zstd = wire::zstd(cells, if backend == STORED { 1 } else { 19 })?;
    zstd.insert(0, 1);
    if backend != XZ {
        return Ok(zstd);
    }
    let mut xz = wire::xz(cells, XzOptions::default())?;
    xz.insert(0, 0);
    Ok(if xz.len() < zstd.len() { xz } else { zstd })
}

pub(crate) fn qcolumnar(text: &[u8], options: WriterOptions) -> Result<ParsedArchive> {
    let delimiter = delimiter(text);
    let (lines, trailing) = lines(text);
    // The first line is usually a header, which would make every column a text column.
    let mut table = table(&lines[1..], |line| split(line, delimiter));
    table.modes.insert(0, 0);
    table.verbatim.insert(0, lines[0]);
    let groups = groups(&table.columns, options)?;
    let mut meta = Vec::new();
    put_uv(&mut meta, lines.len() as u64);
    meta.push(u8::from(trailing));
    put_lp(&mut meta, &[delimiter]);
    rest_of_meta(&mut meta, &table, &groups, options);
    let pack = |name, content| stream(name, content, options);
    let streams = vec![
        pack("meta", meta)?,
        pack("row_modes", table.modes)?,
        pack("verbatim", join(&table.verbatim))?,
        pack("index", groups.index)?,
        PackedStream::stored("blocks", &groups.blocks),
    ];
    Ok(ParsedArchive::whole(QCOLUMNAR, streams))
}

fn rest_of_meta(
    meta: &mut Vec<u8>,
    table: &ParsedTable<'_>,
    groups: &RowGroups,
    options: WriterOptions,
) {
    put_uv(meta, table.columns.len() as u64);
    put_uv(meta, options.rows_per_group as u64);
    put_uv(meta, table.columns.first().map_or(0, Vec::len) as u64);
    put_uv(meta, groups.count as u64);
    meta.extend_from_slice(&groups.types);
}

/// Splits a flat JSON object into literal segments and scalars.
fn template(line: &[u8]) -> Option<(Vec<&[u8]>, Vec<&[u8]>)> {
    let (mut segments, mut cells) = (Vec::new(), Vec::new());
    let mut segment = 0;
    let mut at = 0;
    let string = |from: usize| -> Option<usize> {
        let mut at = from + 1;
        while *line.get(at)? != b'"' {
            at += if line[at] == b'\\' { 2 } else { 1 };
        }
        Some(at + 1)
    };
    let spaces = |mut at: usize| {
        while line.get(at) == Some(&b' ') {
            at += 1;
        }
        at
    };
    if *line.first()? != b'{' {
        return None;
    }
    loop {
        at = spaces(at + 1);
        if *line.get(at)? != b'"' {
            return None;
        }
        at = spaces(string(at)?);
        if *line.get(at)? != b':' {
            return None;
        }
        at = spaces(at + 1);
        let start = at;
        at = match *line.get(at)? {
            b'"' => string(at)?,
            b'{' | b'[' => return None,
            _ => at + line[at..].iter().position(|byte| b",} ".contains(byte))?,
        };
        segments.push(&line[segment..start]);
        cells.push(&line[start..at]);
        segment = at;
        at = spaces(at);
        match *line.get(at)? {
            b',' => {}
            b'}' if at + 1 == line.len() => break,
            _ => return None,
        }
    }
    segments.push(&line[segment..]);
    Some((segments, cells))
}

pub(crate) fn qjson(text: &[u8], options: WriterOptions) -> Result<ParsedArchive> {
    Ok(ParsedArchive::whole(QJSON, qjson_streams("", text, options)?))
}

/// Returns the streams of a qjson set, with a prefix to each name.
pub(crate) fn qjson_streams(
    prefix: &str,
    text: &[u8],
    options: WriterOptions,
) -> Result<Vec<PackedStream>> {
    let (lines, trailing) = lines(text);
    let segments = lines.iter().find_map(|line| template(line)).map(|(segments, _)| segments);
    let segments = segments.ok_or("no line is a flat object")?;
    let table = table(&lines, |line| {
        template(line).filter(|(around, _)| *around == segments).map(|(_, cells)| cells)
    });
    let groups = groups(&table.columns, options)?;
    let mut meta = Vec::new();
    put_uv(&mut meta, lines.len() as u64);
    meta.push(u8::from(trailing));
    rest_of_meta(&mut meta, &table, &groups, options);
    let (mut template, mut paths) = (Vec::new(), Vec::new());
    put_uv(&mut template, segments.len() as u64);
    segments.iter().for_each(|segment| put_lp(&mut template, segment));
    put_uv(&mut paths, segments.len() as u64 - 1);
    for segment in &segments[..segments.len() - 1] {
        let mut parts = segment.split(|&byte| byte == b'"');
        let name = parts.nth(1).unwrap_or_default();
        put_lp(&mut paths, name);
    }
    let pack = |name: &str, content| stream(&format!("{prefix}{name}"), content, options);
    Ok(vec![
        pack("meta", meta)?,
        pack("template", template)?,
        pack("paths", paths)?,
        pack("row_modes", table.modes)?,
        pack("verbatim", join(&table.verbatim))?,
        pack("index", groups.index)?,
        PackedStream::stored(&format!("{prefix}blocks"), &groups.blocks),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cells_that_printing_restores_are_numbers() {
        for cell in ["0", "-1", "120", "4611686018427387903"] {
            assert_eq!(integer(cell.as_bytes()).map(|n| n.to_string()).as_deref(), Some(cell));
        }
        for cell in ["", "-", "-0", "00", "007", "+1", "1.5", "4611686018427387904", " 1"] {
            assert_eq!(integer(cell.as_bytes()), None, "{cell}");
        }
        assert_eq!(decimal(b"-0.05"), Some((-5, 2)));
        assert_eq!(decimal(b"120.5"), Some((1205, 1)));
        for cell in ["-0.0", ".5", "5.", "00.5", "1e3", "1.5e3", "1.-5", "-.5"] {
            assert_eq!(decimal(cell.as_bytes()), None, "{cell}");
        }
    }

    #[test]
    fn a_flat_object_is_segments_and_scalars() {
        let (segments, cells) = template(br#"{"a":1, "b": "x\",}","c":null}"#).unwrap();
        assert_eq!(cells, [&b"1"[..], br#""x\",}""#, b"null"]);
        assert_eq!(segments, [&br#"{"a":"#[..], br#", "b": "#, br#","c":"#, b"}"]);
        for line in ["", "{}", "[1]", r#"{"a":[1]}"#, r#"{"a":1} "#, r#"{"a":1"#] {
            assert!(template(line.as_bytes()).is_none(), "{line}");
        }
    }

    #[test]
    fn both_decoders_read_every_kind() {
        let csv = b"id,name,price,note\n1,\"ann\",1.50,x\n2,\"bo\",2.25,\n3,\"cy\",NA,z\n\n\
            4,dan,10.00,y\"y\n5,eve,7.00,w";
        let json = b"{\"a\":1,\"b\":\"x\"}\n{\"a\":-2,\"b\":\"y\"}\n[]\n{\"a\":3,\"b\":null}\n";
        for (kind, text) in [("columnar", &csv[..]), ("qcolumnar", csv), ("qjson", json)] {
            for backend in [XZ, ZSTD, STORED] {
                let options =
                    WriterOptions { backend, xz_blocks: backend == XZ, rows_per_group: 2 };
                let file = pack(kind, text, options).unwrap();
                assert_eq!(at1::decode(&file).unwrap(), text, "{kind} {backend}");
                let (ours, _) = crate::child::ours(&file, 2).unwrap();
                assert_eq!(ours, text, "{kind} {backend}");
            }
        }
    }
}
