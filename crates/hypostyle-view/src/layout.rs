//! The byte map of a file: which bytes are what.

use hypostyle::formats::at1::{Archive, Frame};
use hypostyle::formats::{FormatId, Reader};
use hypostyle::{ByteSource, Result};
use serde_json::{Value, json};

use crate::columns::{deviation, type_name};
use crate::file::OpenFile;

/// Streams whose frames are shown; the rest of a longer archive is one node.
const MAX_FRAMES: usize = 2000;

/// Says what the file is, without reading a row.
pub(crate) fn describe(file: &OpenFile) -> Result<Value> {
    let mut whole = json!({
        "name": file.name,
        "kind": kind_name(file),
        "format": file.kind.id().name(),
        "bytes": file.source.size(),
        "is_text": file.kind.is_text(),
    });
    if let Some(archive) = &file.archive {
        let facts = json!({
            "container": if archive.chunk_lines().is_some() { "streaming" } else { "whole-file" },
            "codec": archive.codec().name(),
            "chunk_lines": archive.chunk_lines(),
            "sha256": archive.hash().map(|hash| {
                hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
            }),
            "states_table": archive.states_table()?,
        });
        whole.as_object_mut().map(|whole| whole.insert("archive".to_owned(), facts));
    }
    Ok(whole)
}

/// Returns the name of a kind of file as people write it.
fn kind_name(file: &OpenFile) -> String {
    match file.kind.id() {
        FormatId::At1 => "AT-1".to_owned(),
        FormatId::OnPair => "OnPair".to_owned(),
        FormatId::Jsonl => "JSON Lines".to_owned(),
        id => id.name().to_uppercase(),
    }
}

/// Returns the byte map: nodes with a label, an offset, a length and nodes inside.
pub(crate) fn map(file: &OpenFile) -> Result<Value> {
    let size = file.source.size();
    let (nodes, deviations) = match &file.archive {
        Some(archive) => {
            (archive_nodes(archive)?, archive.deviations().iter().map(deviation).collect())
        }
        None if file.kind.format().is_some() => {
            let (_, reader) = file.table()?;
            (section_nodes(reader.as_ref()), reader.deviations().iter().map(deviation).collect())
        }
        None => (Vec::new(), Vec::<Value>::new()),
    };
    Ok(json!({ "bytes": size, "nodes": nodes, "deviations": deviations }))
}

fn section_nodes(reader: &dyn Reader) -> Vec<Value> {
    let schema = reader.schema();
    let node = |section: hypostyle::formats::Section| {
        let field = section.column.and_then(|index| schema.fields().get(index));
        json!({
            "label": section.what,
            "offset": section.offset,
            "stored": section.stored,
            "raw": section.raw,
            "column": section.column,
            "name": field.map(|field| field.name()),
            "type": field.map(|field| type_name(field.data_type())),
        })
    };
    reader.sections().into_iter().map(node).collect()
}

fn archive_nodes(archive: &Archive) -> Result<Vec<Value>> {
    let mut frames = archive.layout()?;
    let rest = frames.split_off(frames.len().min(MAX_FRAMES));
    let count = frames.len();
    let mut nodes: Vec<Value> =
        frames.iter().enumerate().map(|(number, frame)| frame_node(number, frame, count)).collect();
    if let (Some(first), Some(last)) = (rest.first(), rest.last()) {
        let end = last.offset.saturating_add(last.stored);
        nodes.push(json!({
            "label": format!("{} more frames", rest.len()),
            "offset": first.offset,
            "stored": end.saturating_sub(first.offset),
        }));
    }
    Ok(nodes)
}

fn frame_node(number: usize, frame: &Frame, count: usize) -> Value {
    let streams = frame.streams.iter().map(|stream| {
        let label = if frame.raw { "text" } else { &stream.name };
        json!({
            "label": label,
            "backend": stream.backend,
            "offset": stream.offset,
            "stored": stream.stored,
            "raw": stream.raw,
        })
    });
    let label = if count == 1 { "frame".to_owned() } else { format!("frame {}", number + 1) };
    json!({
        "label": label,
        "offset": frame.offset,
        "stored": frame.stored,
        "children": streams.collect::<Vec<_>>(),
    })
}
