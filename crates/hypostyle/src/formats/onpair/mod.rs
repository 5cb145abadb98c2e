//! `.onpair`: columns of strings in chunks, each string decodable by itself.
//!
//! `docs/specs/onpair.md` specifies every byte; comments cite its sections (§4.1). The crate
//! `hypostyle-onpair` is the codec; this module is the file around it:
//!
//! ```text
//! "HYPOPAIR" │ version u32 │ 0 u32
//! per column, per chunk: dictionary │ codes or text │ counts │ lengths │ indexes │ nulls
//! footer: rows, names, chunks, and an entry for each column and chunk
//! footer length u64 │ CRC-32 u32 │ version u32 │ "HYPOPAIR"
//! ```
//!
//! To read a file, `layout` parses the footer into a `ColumnChunk` for each column and chunk
//! (`column_chunk`, with `bounds`), `sections` reads the bytes of a chunk, `encoded_chunk` checks
//! them with `dictionary` and `ints`, and `decode` fills arrays with all rows or with some.
//! `search` evaluates predicates on encoded values, `statistics` prunes chunks by their bounds,
//! and `reader` puts these together. `cpp` reads the files of the C++ implementation.
//!
//! To write a file, `chunking` splits the rows into chunks, `chunk_encoder` picks the smallest
//! encoding of each column chunk, and `encode` writes them and the footer.

use std::sync::Arc;

use hypostyle_core::column_source::ColumnSource;
use hypostyle_core::error::Result;
use hypostyle_core::format::{Format, Sniff};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::options::{ReadOptions, WriteOptions};
use hypostyle_core::reader::{InFormat, Reader};
use hypostyle_core::sink::Sink;
use hypostyle_core::source::ByteSource;
use hypostyle_core::types::Capabilities;

mod arrays;
mod bounds;
mod chunk_encoder;
mod chunking;
mod column_chunk;
mod cpp;
mod decode;
mod dictionary;
mod encode;
mod encoded_chunk;
mod ints;
mod layout;
mod reader;
mod schema;
mod search;
mod sections;
mod statistics;
#[cfg(test)]
mod tests;

pub use arrays::strings;

const ID: FormatId = FormatId::OnPair;

/// The format of `.onpair` files.
#[derive(Clone, Copy, Debug)]
pub struct OnPair;

impl Format for OnPair {
    fn id(&self) -> FormatId {
        ID
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["onpair"]
    }

    fn magics(&self) -> &'static [&'static [u8]] {
        &[&layout::MAGIC, &layout::CPP_MAGIC]
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { nulls: true, int64: false, numbers: false, binary: true, arrow_types: false }
    }

    fn sniff(&self, source: &dyn ByteSource) -> Result<Sniff> {
        layout::sniff(source)
    }

    fn open(&self, source: Arc<dyn ByteSource>, options: &ReadOptions) -> Result<Arc<dyn Reader>> {
        let head = layout::read_head(source.as_ref()).map_err(|err| err.in_format(ID))?;
        if head.starts_with(&layout::CPP_MAGIC) {
            InFormat::open(ID, || cpp::CppFile::open(source, options))
        } else {
            InFormat::open(ID, || reader::OnPairFile::open(source, &head, options))
        }
    }

    fn encode(
        &self,
        table: &dyn ColumnSource,
        sink: &mut dyn Sink,
        options: &WriteOptions,
    ) -> Result<()> {
        encode::write(table, sink, options).map_err(|err| err.in_format(ID))
    }
}
