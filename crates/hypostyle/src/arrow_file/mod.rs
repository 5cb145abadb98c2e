//! Arrow IPC files and streams, through the `arrow-ipc` crate.
//!
//! `index` finds the messages, in the footer of a file or by walking over a stream. Every
//! record batch is a row group. `buffers` checks what a message claims before the crate
//! decodes it. Every call of the crate is [guarded](crate::guard).

mod buffers;
mod index;
mod write;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ArrayRef;
use arrow_buffer::Buffer;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_schema::{ArrowError, SchemaRef};

use self::index::{BatchPlace, CONTINUATION, FILE_MAGIC, Index, MessagePlace};
use crate::guard::catch_panics;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::limits::Limits;
use hypostyle_core::options::ReadOptions;
use hypostyle_core::projection::column_out_of_range;
use hypostyle_core::reader::{
    InFormat, Reader, RowGroupReader, RowGroupRequest, Section, WholeRowGroup,
    row_group_out_of_range,
};
use hypostyle_core::source::{self, ByteSource};

pub(crate) use write::ArrowWriter;

/// The bytes that a file and a stream start with.
pub(crate) const MAGICS: &[&[u8]] = &[FILE_MAGIC, CONTINUATION];

/// Opens an Arrow IPC file or stream: finds its messages.
///
/// # Errors
///
/// Fails for metadata that is damaged or over a limit.
pub(crate) fn open(source: Arc<dyn ByteSource>, options: &ReadOptions) -> Result<Arc<dyn Reader>> {
    InFormat::open(FormatId::Arrow, || {
        let limits = options.limits.clone();
        let index = catch_panics("metadata", || index::read(source.as_ref(), &limits))?;
        Ok(ArrowFile { source, limits, index, dictionaries: Mutex::default() })
    })
}

/// An open Arrow IPC file or stream.
#[derive(Debug)]
struct ArrowFile {
    source: Arc<dyn ByteSource>,
    limits: Limits,
    index: Index,
    dictionaries: Mutex<Dictionaries>,
}

/// The dictionaries after some of the dictionary messages, by their id.
#[derive(Clone, Debug, Default)]
struct Dictionaries {
    messages: usize,
    by_id: Arc<HashMap<i64, ArrayRef>>,
}

impl ArrowFile {
    /// Reads a message and returns its bytes.
    fn read(&self, place: &MessagePlace) -> Result<Buffer> {
        let range = place.range();
        let len = range.end - range.start;
        Ok(Buffer::from(source::range(self.source.as_ref(), range.start, len, "message")?))
    }

    /// Returns the dictionaries after the first `count` dictionary messages.
    fn dictionaries(&self, count: usize) -> Result<Arc<HashMap<i64, ArrayRef>>> {
        let mut held = self.dictionaries.lock().unwrap_or_else(PoisonError::into_inner);
        if held.messages > count {
            // A later message may have replaced a dictionary.
            *held = Dictionaries::default();
        }
        while held.messages < count {
            let place = self.index.dictionaries.get(held.messages);
            let place = place.ok_or_else(|| Error::malformed("dictionary", "is missing"))?;
            let bytes = self.read(place)?;
            let mut by_id = held.by_id.as_ref().clone();
            catch_panics("dictionary", || self.decode_dictionary(place, &bytes, &mut by_id))
                .map_err(|err| err.at(place.metadata.start))?;
            *held = Dictionaries { messages: held.messages + 1, by_id: Arc::new(by_id) };
        }
        Ok(held.by_id.clone())
    }

    fn decode_dictionary(
        &self,
        place: &MessagePlace,
        bytes: &Buffer,
        by_id: &mut HashMap<i64, ArrayRef>,
    ) -> Result<()> {
        let (metadata, body) = split(bytes, place)?;
        let message = index::message(metadata)?;
        let batch = message.header_as_dictionary_batch();
        let batch = batch.ok_or_else(|| Error::malformed("dictionary", "is another message"))?;
        let values = batch.data().ok_or_else(|| Error::malformed("dictionary", "has no values"))?;
        buffers::check(&values, &body, &self.limits)?;
        let schema = &self.index.schema;
        read_dictionary(&body, batch, schema, by_id, &message.version())
            .map_err(|err| failed("dictionary", &err))
    }

    fn decode(
        &self,
        place: &BatchPlace,
        bytes: &Buffer,
        columns: &[usize],
        dictionaries: &HashMap<i64, ArrayRef>,
    ) -> Result<Vec<ArrayRef>> {
        let (metadata, body) = split(bytes, &place.place)?;
        let message = index::message(metadata)?;
        let batch = message.header_as_record_batch();
        let batch = batch.ok_or_else(|| Error::malformed("record batch", "is another message"))?;
        buffers::check(&batch, &body, &self.limits)?;
        let (schema, version) = (self.index.schema.clone(), message.version());
        let decoded =
            read_record_batch(&body, batch, schema, dictionaries, Some(columns), &version)
                .map_err(|err| failed("record batch", &err))?;
        if decoded.num_rows() as u64 != place.rows {
            return Err(Error::malformed("record batch", "has another number of rows"));
        }
        Ok(decoded.columns().to_vec())
    }
}

/// Splits a message into its metadata and its body.
fn split<'a>(bytes: &'a Buffer, place: &MessagePlace) -> Result<(&'a [u8], Buffer)> {
    let metadata = bytes.get(..place.metadata_len());
    let metadata = metadata.ok_or_else(|| Error::malformed("message", "is too short"))?;
    Ok((metadata, bytes.slice(metadata.len())))
}

fn failed(what: &'static str, err: &ArrowError) -> Error {
    match err {
        ArrowError::NotYetImplemented(feature) => Error::unsupported(feature.clone()),
        other => Error::malformed(what, other.to_string()),
    }
}

impl Reader for ArrowFile {
    fn format(&self) -> FormatId {
        FormatId::Arrow
    }

    fn schema(&self) -> SchemaRef {
        self.index.schema.clone()
    }

    fn rows(&self) -> u64 {
        self.index.batches.iter().fold(0, |rows, batch| batch.rows.saturating_add(rows))
    }

    fn row_groups(&self) -> usize {
        self.index.batches.len()
    }

    fn row_group_rows(&self, group: usize) -> u64 {
        self.index.batches.get(group).map_or(0, |batch| batch.rows)
    }

    fn ranges(&self, group: usize, columns: &[usize]) -> Vec<Range<u64>> {
        // The columns of a record batch are in one message.
        let batch = self.index.batches.get(group).filter(|_| !columns.is_empty());
        batch.map(|batch| batch.place.range()).into_iter().collect()
    }

    fn open_row_group(
        self: Arc<Self>,
        group: usize,
        request: &RowGroupRequest<'_>,
    ) -> Result<Box<dyn RowGroupReader>> {
        let count = self.row_groups();
        let place = self.index.batches.get(group).cloned();
        let place = place.ok_or_else(|| row_group_out_of_range(group, count))?;
        let known = self.index.schema.fields().len();
        if let Some(&column) = request.columns.iter().find(|&&column| column >= known) {
            return Err(column_out_of_range(column, known));
        }
        let rows = usize::try_from(place.rows)
            .map_err(|_| Error::malformed("record batch", "has too many rows"))?;
        let mut held = None;
        let decode = move |columns: &[usize]| {
            let bytes = match &held {
                Some(bytes) => bytes,
                None => held.insert(self.read(&place.place)?),
            };
            let dictionaries = self.dictionaries(place.dictionaries)?;
            catch_panics("record batch", || self.decode(&place, bytes, columns, &dictionaries))
                .map_err(|err| err.at(place.place.metadata.start))
        };
        Ok(Box::new(WholeRowGroup::new(rows, decode)))
    }

    fn sections(&self) -> Vec<Section> {
        let section = |what: &'static str, place: &MessagePlace| Section {
            what,
            column: None,
            offset: place.metadata.start,
            stored: place.range().end - place.metadata.start,
            raw: None,
        };
        let dictionaries = self.index.dictionaries.iter().map(|p| section("dictionary", p));
        let batches = self.index.batches.iter().map(|batch| section("record batch", &batch.place));
        let mut sections: Vec<Section> = dictionaries.chain(batches).collect();
        sections.sort_by_key(|section| section.offset);
        sections
    }
}
