//! Shows the layout of an AT-1 archive.

use hypostyle::formats::at1::{Archive, BundleEntry, Codec, Frame, FrameInfo, GroupStatistics};
use serde_json::{Value, json};

use super::ratio;
use crate::failure::Result;
use crate::output::{BAR_CELLS, Grid, Out, bar, counted, plain};

/// Row groups whose statistics are printed; `--json` prints all of them.
const MAX_PRINTED_GROUPS: usize = 20;

/// Prints the layout. With `by_ranges`, no stream is read that need not be, so less damage is
/// found.
pub(super) fn inspect(
    archive: &Archive,
    by_ranges: bool,
    as_json: bool,
    out: &mut dyn Out,
) -> Result<()> {
    let frames = if by_ranges { archive.layout()? } else { archive.frames()? };
    let described = archive.describe()?;
    let bundled = if archive.codec() == Codec::Bundle { archive.bundle()? } else { Vec::new() };
    if as_json {
        let whole = json!({
            "format": "at1",
            "container": container(archive),
            "codec": archive.codec().name(),
            "chunk_lines": archive.chunk_lines(),
            "sha256": archive.hash().map(hex),
            "frames": frames.iter().map(frame_json).collect::<Vec<_>>(),
            "files": bundled.iter().map(file_json).collect::<Vec<_>>(),
            "tables": described.iter().map(table_json).collect::<Vec<_>>(),
            "deviations": archive.deviations().iter()
                .map(|d| json!({ "code": d.code, "offset": d.offset, "message": d.message }))
                .collect::<Vec<_>>(),
        });
        writeln!(out, "{whole:#}")?;
        return Ok(());
    }
    let hash = archive.hash().map_or("no hash".to_owned(), |hash| format!("SHA-256 {}", hex(hash)));
    writeln!(
        out,
        "AT-1, {} container, codec {}, {}, {hash}",
        container(archive),
        archive.codec(),
        counted(frames.len() as u64, "frame")
    )?;
    print_streams(&frames, out)?;
    print_files(&bundled, out)?;
    for (index, table) in described.iter().enumerate() {
        print_table(index, table, described.len(), out)?;
    }
    for deviation in archive.deviations() {
        let line = out.paint().warn(format!("deviation {}", plain(&deviation.to_string())));
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn container(archive: &Archive) -> &'static str {
    if archive.chunk_lines().is_some() { "streaming" } else { "whole-file" }
}

fn hex(hash: [u8; 32]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn print_streams(frames: &[Frame], out: &mut dyn Out) -> Result<()> {
    let total: u64 = frames.iter().map(|frame| frame.stored).sum();
    let mut grid = Grid::default()
        .column("frame", true)
        .column("offset", true)
        .column("stream", false)
        .column("backend", false)
        .column("stored", true)
        .column("raw", true)
        .column("ratio", true)
        .column("share of the file", false);
    for (number, frame) in frames.iter().enumerate() {
        for stream in &frame.streams {
            let name = if frame.raw { "(raw)" } else { &stream.name };
            grid.texts([
                (number + 1).to_string(),
                stream.offset.to_string(),
                name.to_owned(),
                stream.backend.to_owned(),
                stream.stored.to_string(),
                stream.raw.map(|raw| raw.to_string()).unwrap_or_default(),
                stream.raw.map(|raw| ratio(stream.stored, raw)).unwrap_or_default(),
                bar(stream.stored, total, BAR_CELLS),
            ]);
        }
    }
    writeln!(out)?;
    grid.print(out)?;
    Ok(())
}

/// Prints the files of a bundle.
fn print_files(entries: &[BundleEntry], out: &mut dyn Out) -> Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let mut grid = Grid::default()
        .column("entry", false)
        .column("file", false)
        .column("mode", true)
        .column("codec", false);
    for (number, BundleEntry { file, archive }) in entries.iter().enumerate() {
        grid.texts([
            format!("e{number}"),
            file.name.clone(),
            file.mode.map(|mode| format!("{mode:04o}")).unwrap_or_default(),
            archive.codec().to_string(),
        ]);
    }
    writeln!(out)?;
    grid.print(out)?;
    Ok(())
}

fn file_json(entry: &BundleEntry) -> Value {
    let BundleEntry { file, archive } = entry;
    json!({
        "name": file.name,
        "mode": file.mode.map(|mode| format!("{mode:04o}")),
        "modified": file.modified,
        "codec": archive.codec().name(),
        "sha256": archive.hash().map(hex),
    })
}

fn print_table(index: usize, table: &FrameInfo, tables: usize, out: &mut dyn Out) -> Result<()> {
    writeln!(out)?;
    let which = if tables > 1 { format!("table {}: ", index + 1) } else { String::new() };
    let groups = table.statistics.len().checked_div(table.columns.len()).unwrap_or(0);
    match table.group_rows {
        Some(rows) => {
            let (lines, groups) = (counted(table.rows, "line"), counted(groups as u64, "group"));
            writeln!(out, "{which}{lines}, {groups} of {}", counted(rows, "row"))?;
        }
        None => writeln!(out, "{which}{}", counted(table.rows, "row"))?,
    }
    let mut grid = Grid::default()
        .column("#", true)
        .column("column", false)
        .column("type", false)
        .column("bytes", true);
    for (number, column) in table.columns.iter().enumerate() {
        grid.texts([
            (number + 1).to_string(),
            column.name.clone().unwrap_or_default(),
            column.kind.to_owned(),
            column.bytes.to_string(),
        ]);
    }
    grid.print(out)?;
    if table.statistics.iter().all(Option::is_none) {
        return Ok(());
    }
    writeln!(out)?;
    let mut grid = Grid::default().column("group", true).column("column", false);
    grid = grid.column("min", true).column("max", true);
    let blocks = table.statistics.iter().enumerate();
    for (at, statistics) in blocks.take(MAX_PRINTED_GROUPS * table.columns.len()) {
        let (group, column) = (at / table.columns.len(), at % table.columns.len());
        let Some(statistics) = statistics else { continue };
        let (min, max) = bounds(*statistics);
        let name = table.columns.get(column).and_then(|column| column.name.clone());
        let name = name.unwrap_or_else(|| format!("#{}", column + 1));
        grid.texts([(group + 1).to_string(), name, min, max]);
    }
    grid.print(out)?;
    if groups > MAX_PRINTED_GROUPS {
        writeln!(out, "{} more groups; --json prints all of them", groups - MAX_PRINTED_GROUPS)?;
    }
    Ok(())
}

fn bounds(statistics: GroupStatistics) -> (String, String) {
    match statistics {
        GroupStatistics::Integers { min, max } => (min.to_string(), max.to_string()),
        GroupStatistics::Decimals { min, max } => (min.to_string(), max.to_string()),
    }
}

fn frame_json(frame: &Frame) -> Value {
    let streams = frame.streams.iter().map(|stream| {
        json!({
            "name": stream.name,
            "backend": stream.backend,
            "offset": stream.offset,
            "stored": stream.stored,
            "raw": stream.raw,
        })
    });
    json!({
        "offset": frame.offset,
        "stored": frame.stored,
        "raw": frame.raw,
        "streams": streams.collect::<Vec<_>>(),
    })
}

fn table_json(table: &FrameInfo) -> Value {
    let columns = table
        .columns
        .iter()
        .map(|column| json!({ "name": column.name, "type": column.kind, "bytes": column.bytes }));
    let bounds_of = |it: &Option<GroupStatistics>| it.map(bounds).map(|(min, max)| [min, max]);
    let zones = table.statistics.iter().map(bounds_of);
    json!({
        "rows": table.rows,
        "columns": columns.collect::<Vec<_>>(),
        "group_rows": table.group_rows,
        "zones": zones.collect::<Vec<_>>(),
    })
}
