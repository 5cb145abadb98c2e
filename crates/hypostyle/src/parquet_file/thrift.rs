//! Walks over footers and page headers, which are structs in the compact protocol of Thrift,
//! before the `parquet` crate parses them.
//!
//! The crate builds the schema with a recursive function, which a deep schema would overflow;
//! that ends the program. It passes over lists of booleans without reading them, so that a few
//! bytes could keep it busy for hours. And it allocates what a page header claims.

use hypostyle_core::error::{Error, Result};
use hypostyle_core::wire::Cursor;

/// The deepest nesting that is read. People write a handful of levels.
const MAX_SCHEMA_DEPTH: usize = 128;

/// The deepest nesting of Thrift values that are passed over.
const MAX_VALUE_DEPTH: usize = 32;

/// The field of `FileMetaData` that lists the elements of the schema, depth first.
const SCHEMA_FIELD: i16 = 2;

/// The field of `SchemaElement` that counts its children.
const CHILDREN_FIELD: i16 = 5;

/// The fields of `PageHeader` with the sizes of the page.
const UNCOMPRESSED_FIELD: i16 = 2;
const COMPRESSED_FIELD: i16 = 3;

/// Types of the compact protocol.
mod wire_type {
    pub(super) const STOP: u8 = 0;
    pub(super) const TRUE: u8 = 1;
    pub(super) const FALSE: u8 = 2;
    pub(super) const BYTE: u8 = 3;
    pub(super) const I16: u8 = 4;
    pub(super) const I32: u8 = 5;
    pub(super) const I64: u8 = 6;
    pub(super) const DOUBLE: u8 = 7;
    pub(super) const BINARY: u8 = 8;
    pub(super) const LIST: u8 = 9;
    pub(super) const SET: u8 = 10;
    pub(super) const MAP: u8 = 11;
    pub(super) const STRUCT: u8 = 12;
}

/// Fails if the schema is nested too deeply, or if the footer is not Thrift.
pub(super) fn check_footer(footer: &[u8]) -> Result<()> {
    let mut walk = Walk { cursor: Cursor::new(footer, 0) };
    let mut id = 0;
    // If the schema is missing, the `parquet` crate says so.
    while let Some(kind) = walk.field(&mut id)? {
        if id == SCHEMA_FIELD && kind == wire_type::LIST {
            walk.schema()?;
        } else {
            walk.skip(kind, 0)?;
        }
    }
    Ok(())
}

/// The sizes in the header of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PageSizes {
    pub(super) uncompressed: i128,
    pub(super) compressed: i128,
}

/// Reads the sizes in a page header, which `bytes` start with.
///
/// # Errors
///
/// Fails if the bytes end before the header does, and if they are no header.
pub(super) fn page_sizes(bytes: &[u8]) -> Result<PageSizes> {
    let mut walk = Walk { cursor: Cursor::new(bytes, 0) };
    let (mut id, mut sizes) = (0, PageSizes::default());
    while let Some(kind) = walk.field(&mut id)? {
        match (id, kind) {
            (UNCOMPRESSED_FIELD, wire_type::I32) => sizes.uncompressed = walk.cursor.sv("size")?,
            (COMPRESSED_FIELD, wire_type::I32) => sizes.compressed = walk.cursor.sv("size")?,
            _ => walk.skip(kind, 0)?,
        }
    }
    Ok(sizes)
}

struct Walk<'a> {
    cursor: Cursor<'a>,
}

impl Walk<'_> {
    /// Reads the header of the next field and returns its type; `None` at the end.
    fn field(&mut self, id: &mut i16) -> Result<Option<u8>> {
        let header = self.cursor.u8("field")?;
        let (delta, kind) = (header >> 4, header & 0x0F);
        if kind == wire_type::STOP {
            return Ok(None);
        }
        *id = if delta == 0 {
            i16::try_from(self.cursor.sv("field id")?).unwrap_or(i16::MAX)
        } else {
            id.saturating_add(i16::from(delta))
        };
        Ok(Some(kind))
    }

    /// Reads the header of a list: the type and the number of its items.
    fn list(&mut self) -> Result<(u8, usize)> {
        let header = self.cursor.u8("list")?;
        let count = match header >> 4 {
            15 => self.cursor.count(1, "list")?,
            count => usize::from(count),
        };
        Ok((header & 0x0F, count))
    }

    /// Walks the elements of the schema, whose children follow them.
    fn schema(&mut self) -> Result<()> {
        // The children that are still to come, of each open element.
        let mut open: Vec<i128> = Vec::new();
        let (kind, count) = self.list()?;
        if kind != wire_type::STRUCT {
            return Err(Error::malformed("schema", "is not a list of elements"));
        }
        for _ in 0..count {
            let children = self.children()?;
            while open.last() == Some(&0) {
                open.pop();
            }
            if let Some(left) = open.last_mut() {
                *left -= 1;
            }
            if children > 0 {
                open.push(children);
            }
            if open.len() > MAX_SCHEMA_DEPTH {
                let why = format!("is nested more than {MAX_SCHEMA_DEPTH} levels deep");
                return Err(Error::malformed("schema", why));
            }
        }
        Ok(())
    }

    /// Passes over a schema element and returns the number of its children.
    fn children(&mut self) -> Result<i128> {
        let (mut id, mut children) = (0, 0);
        while let Some(kind) = self.field(&mut id)? {
            if id == CHILDREN_FIELD && kind == wire_type::I32 {
                children = self.cursor.sv("number of children")?;
            } else {
                self.skip(kind, 0)?;
            }
        }
        Ok(children)
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Result<()> {
        if depth > MAX_VALUE_DEPTH {
            return Err(Error::malformed("footer", "has values that are nested too deeply"));
        }
        match kind {
            // A field of type boolean has its value in the type.
            wire_type::TRUE | wire_type::FALSE => {}
            wire_type::BYTE => drop(self.cursor.u8("byte")?),
            wire_type::I16 | wire_type::I32 | wire_type::I64 => drop(self.cursor.sv("number")?),
            wire_type::DOUBLE => drop(self.cursor.take(8, "double")?),
            wire_type::BINARY => drop(self.cursor.lp("text")?),
            wire_type::LIST | wire_type::SET => {
                let (item, count) = self.list()?;
                (0..count).try_for_each(|_| self.skip_item(item, depth))?;
            }
            wire_type::MAP => {
                let count = self.cursor.count(1, "map")?;
                if count > 0 {
                    let kinds = self.cursor.u8("map")?;
                    for _ in 0..count {
                        self.skip_item(kinds >> 4, depth)?;
                        self.skip_item(kinds & 0x0F, depth)?;
                    }
                }
            }
            wire_type::STRUCT => {
                let mut id = 0;
                while let Some(kind) = self.field(&mut id)? {
                    self.skip(kind, depth + 1)?;
                }
            }
            _ => return Err(Error::malformed("footer", format!("`{kind}` is not a type"))),
        }
        Ok(())
    }

    fn skip_item(&mut self, kind: u8, depth: usize) -> Result<()> {
        match kind {
            wire_type::TRUE | wire_type::FALSE => self.skip(wire_type::BYTE, depth + 1),
            kind => self.skip(kind, depth + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a footer whose schema is a chain of groups.
    fn chain(depth: usize) -> Vec<u8> {
        // version 1, then a list of structs
        let mut footer = vec![0x15, 2, 0x19, 0xFC];
        hypostyle_core::wire::put::uv(&mut footer, depth as u64 + 1);
        for level in 0..=depth {
            // name "g", and one child unless it is the last
            footer.extend([0x48, 1, b'g']);
            if level < depth {
                footer.extend([0x15, 2]);
            }
            footer.push(0);
        }
        footer.push(0);
        footer
    }

    #[test]
    fn a_list_of_booleans_that_are_not_there_is_refused() {
        // Field 9 is a list of 2^31 - 1 booleans.
        let mut footer = chain(1);
        footer.pop();
        footer.extend([0x79, 0xF1, 0xFF, 0xFF, 0xFF, 0xFF, 0x07, 0]);
        check_footer(&footer).unwrap_err();
        let header = [0x15, 0, 0x15, 20, 0x15, 10, 0x59, 0xF1, 0xFF, 0xFF, 0xFF, 0xFF, 0x07, 0];
        page_sizes(&header).unwrap_err();
        let (header, rest) =
            ([&header[..6], &[0]].concat(), PageSizes { uncompressed: 10, compressed: 5 });
        assert_eq!(page_sizes(&header).unwrap(), rest);
        page_sizes(&header[..6]).unwrap_err();
    }

    #[test]
    fn a_deep_schema_is_refused_and_a_wide_one_is_not() {
        check_footer(&chain(MAX_SCHEMA_DEPTH)).unwrap();
        let err = check_footer(&chain(MAX_SCHEMA_DEPTH + 1)).unwrap_err().to_string();
        assert!(err.contains("more than 128 levels"), "{err}");
        // A root with 1000 children, each a leaf.
        let mut wide = vec![0x15, 2, 0x19, 0xFC];
        hypostyle_core::wire::put::uv(&mut wide, 1001);
        wide.extend([0x48, 1, b'r', 0x15]);
        hypostyle_core::wire::put::uv(&mut wide, 2000);
        wide.push(0);
        (0..1000).for_each(|_| wide.extend([0x48, 1, b'c', 0]));
        wide.push(0);
        check_footer(&wide).unwrap();
        assert!(check_footer(&wide[..wide.len() - 1000]).is_err());
    }
}
