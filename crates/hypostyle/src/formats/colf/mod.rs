//! COLF: a JSON schema, nulls, and one zlib block per column, little-endian.
//!
//! The byte-level truth is `docs/specs/colf.md`; section numbers in comments
//! (§2.1) refer to it, and F-numbers to its section 4. A file looks like this:
//!
//! ```text
//! "COLF" │ version u8 │ endianness u8 │ header size u32 │ schema length u32 │ schema JSON
//! per column: offset u64 │ stored u64 │ raw u64 │ has nulls u8
//! per column: zlib( type u8 │ has nulls u8 │ [bitmap, 1 = null] │ values )
//! text values: rows × start u32 │ all bytes
//! ```
//!
//! Reading takes three steps, one file each: `layout` turns bytes into a checked
//! description of where things are, `schema` reads the JSON, `decode` fills
//! arrays. `encode` is the way back, and the only code that writes COLF bytes.

use std::sync::Arc;

use super::columnfile::{self, File};
use hypostyle_core::deviations::Deviations;
use hypostyle_core::error::Result;
use hypostyle_core::format::{Format, Reader, Sniff};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::options::{ReadOptions, WriteOptions};
use hypostyle_core::sink::Sink;
use hypostyle_core::source::ByteSource;
use hypostyle_core::table::Table;
use hypostyle_core::types::Capabilities;

mod decode;
mod encode;
mod layout;
mod schema;

/// The format COLF.
#[derive(Clone, Copy, Debug)]
pub struct Colf;

impl Format for Colf {
    fn id(&self) -> FormatId {
        FormatId::Colf
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["colf"]
    }

    fn magics(&self) -> &'static [&'static [u8]] {
        &[&layout::MAGIC, &layout::SWAPPED]
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { nulls: true, int64: false, numbers: true, binary: false }
    }

    fn sniff(&self, source: &dyn ByteSource) -> Result<Sniff> {
        layout::sniff(source)
    }

    fn open(&self, source: Arc<dyn ByteSource>, options: &ReadOptions) -> Result<Box<dyn Reader>> {
        let deviations = Deviations::new(options.strict);
        let layout = layout::parse(source.as_ref(), options, &deviations)
            .map_err(|err| err.in_format(FormatId::Colf))?;
        Ok(Box::new(File::<Colf>::new(source, options, layout, deviations)))
    }

    fn encode(&self, table: &dyn Table, sink: &mut dyn Sink, options: &WriteOptions) -> Result<()> {
        columnfile::write::<Self>(table, sink, options)
    }
}
