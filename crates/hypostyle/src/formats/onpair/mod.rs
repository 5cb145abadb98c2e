//! `.onpair`: columns of strings in chunks, each string by itself behind codes for tokens.
//!
//! The byte-level truth is `docs/specs/onpair.md`; section numbers in comments (§4.1)
//! refer to it. The codec is the crate `hypostyle-onpair`; this is the file around it:
//!
//! ```text
//! "HYPOPAIR" │ version u32 │ 0 u32
//! per column, per chunk: dictionary │ codes or text │ counts │ lengths │ indexes │ nulls
//! footer: rows, names, chunks, and an entry for each column and chunk
//! footer length u64 │ CRC-32 u32 │ version u32 │ "HYPOPAIR"
//! ```
//!
//! A reader starts at the end: `layout` turns the footer into a checked description of
//! where things are, `part` is a column in a chunk and its sections, `held` is a part that
//! was read and checked with `dictionary` and `ints`, and `decode` fills arrays with all
//! rows of it or with some. `search` says which rows pass a test. `encode` is the way back: `cells` decides what
//! a chunk is, and `pack` in which form a column of it is smallest. `cpp` reads the files
//! of another implementation, which start with `ONPAIR01`.

use std::sync::Arc;

use hypostyle_core::error::Result;
use hypostyle_core::format::{Format, Reader, Sniff};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::options::{ReadOptions, WriteOptions};
use hypostyle_core::sink::Sink;
use hypostyle_core::source::{self, ByteSource};
use hypostyle_core::table::Table;
use hypostyle_core::types::Capabilities;

mod arrays;
mod cells;
mod cpp;
mod decode;
mod dictionary;
mod encode;
mod held;
mod ints;
mod layout;
mod pack;
mod part;
mod reader;
mod schema;
mod search;
#[cfg(test)]
mod tests;
mod zones;

pub use arrays::strings;

/// The format of `.onpair` files.
#[derive(Clone, Copy, Debug)]
pub struct OnPair;

impl Format for OnPair {
    fn id(&self) -> FormatId {
        FormatId::OnPair
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["onpair"]
    }

    fn magics(&self) -> &'static [&'static [u8]] {
        &[&layout::MAGIC, &cpp::MAGIC]
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { nulls: true, int64: false, numbers: false, binary: true }
    }

    fn sniff(&self, source: &dyn ByteSource) -> Result<Sniff> {
        let len = layout::MAGIC.len() as u64;
        if source.size() < len {
            return Ok(Sniff::No);
        }
        let magic = source::range(source, 0, len, "magic")?;
        let known = [layout::MAGIC, cpp::MAGIC].iter().any(|known| *magic == *known);
        Ok(if known { Sniff::Yes } else { Sniff::No })
    }

    fn open(&self, source: Arc<dyn ByteSource>, options: &ReadOptions) -> Result<Box<dyn Reader>> {
        let open = || -> Result<Box<dyn Reader>> {
            let head = source::range(source.as_ref(), 0, layout::HEAD, "head")?;
            Ok(match head.starts_with(&cpp::MAGIC) {
                true => Box::new(cpp::CppFile::open(source.clone(), options)?),
                false => Box::new(reader::File::open(source.clone(), &head, options)?),
            })
        };
        open().map_err(|err| err.in_format(FormatId::OnPair))
    }

    fn encode(&self, table: &dyn Table, sink: &mut dyn Sink, options: &WriteOptions) -> Result<()> {
        encode::write(table, sink, options).map_err(|err| err.in_format(FormatId::OnPair))
    }
}
