//! COLM: a header, a column table, and one zlib block per column, little-endian.
//!
//! The byte-level truth is `docs/specs/colm.md`; section numbers in comments
//! (§2.1) refer to it, and M-numbers to its section 4. A file looks like this:
//!
//! ```text
//! "COLM" │ version u32 │ columns u32 │ rows u32 │ table offset u64 │ data offset u64
//! per column: name length u32 │ name │ type u8 │ stored u64 │ raw u64 │ offset u64
//! per column: zlib( rows × i32 │ rows × f64 │ rows × (length u32, UTF-8) )
//! ```
//!
//! Reading takes three steps, one file each: `layout` turns bytes into a checked
//! description of where things are, `schema` maps types, `decode` fills arrays.
//! `encode` is the way back, and the only code that writes COLM bytes.

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

/// The format COLM.
#[derive(Clone, Copy, Debug)]
pub struct Colm;

impl Format for Colm {
    fn id(&self) -> FormatId {
        FormatId::Colm
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["colm", "colfile"]
    }

    fn magics(&self) -> &'static [&'static [u8]] {
        &[&layout::MAGIC, &layout::SWAPPED]
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { nulls: false, int64: false, numbers: true, binary: false }
    }

    fn sniff(&self, source: &dyn ByteSource) -> Result<Sniff> {
        layout::sniff(source)
    }

    fn open(&self, source: Arc<dyn ByteSource>, options: &ReadOptions) -> Result<Box<dyn Reader>> {
        let deviations = Deviations::new(options.strict);
        let layout = layout::parse(source.as_ref(), options, &deviations)
            .map_err(|err| err.in_format(FormatId::Colm))?;
        Ok(Box::new(File::<Colm>::new(source, options, layout, deviations)))
    }

    fn encode(&self, table: &dyn Table, sink: &mut dyn Sink, options: &WriteOptions) -> Result<()> {
        columnfile::write::<Self>(table, sink, options)
    }
}
