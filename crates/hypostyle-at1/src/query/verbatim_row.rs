//! Lines that are not in a table, evaluated as rows.

use super::frame_tables::FrameTables;
use super::grouped_table::{put_object, put_row};
use crate::cell_syntax::Syntax;
use crate::json_scan::JsonMembers;
use hypostyle_core::error::Result;
use hypostyle_core::predicate::ColumnAccess;

/// A verbatim line that parses as a row.
pub(super) enum VerbatimRow<'l> {
    Fields { names: &'l [String], nulls: &'l [String], fields: Vec<&'l [u8]>, syntax: Syntax },
    Object { line: &'l [u8], members: JsonMembers },
}

impl<'l> VerbatimRow<'l> {
    /// Parses a line by the rules of its frame; `None` if it is not a row.
    pub(super) fn new(
        frame: &'l FrameTables,
        names: &'l [String],
        nulls: &'l [String],
        line: &'l [u8],
    ) -> Option<Self> {
        match &frame.dialect {
            Some(dialect) => {
                let fields = dialect.fields(line);
                let syntax = Syntax::of_delimiter(&dialect.delimiter);
                (fields.len() == names.len()).then_some(Self::Fields {
                    names,
                    nulls,
                    fields,
                    syntax,
                })
            }
            None => JsonMembers::of(line).map(|members| Self::Object { line, members }),
        }
    }

    /// Returns a cell as it is written, and whether it is the last of its line.
    fn cell(&self, name: &str) -> Option<(&[u8], bool)> {
        match self {
            Self::Fields { names, fields, .. } => {
                let at = names.iter().position(|known| known == name)?;
                Some((fields.get(at).copied()?, at + 1 == fields.len()))
            }
            Self::Object { line, members } => Some((line.get(members.get(name)?)?, false)),
        }
    }

    /// Appends the row as CSV or as an object, with these columns or with all.
    pub(super) fn put(&self, columns: Option<&[String]>, out: &mut Vec<u8>) {
        match (self, columns) {
            (Self::Object { line, .. }, None) => {
                out.extend_from_slice(line);
                out.push(b'\n');
            }
            (Self::Object { .. }, Some(columns)) => {
                let members = columns
                    .iter()
                    .map(|name| (name.as_str(), self.cell(name).map(|(cell, _)| cell)));
                put_object(members, out);
            }
            (Self::Fields { fields, syntax, .. }, None) => {
                let last = fields.len();
                let cells = (1..).zip(fields).map(|(nth, &cell)| (cell, nth == last));
                put_row(cells, *syntax, out);
            }
            (Self::Fields { syntax, .. }, Some(columns)) => {
                let cells = columns.iter().map(|name| self.cell(name).unwrap_or((b"", false)));
                put_row(cells, *syntax, out);
            }
        }
    }
}

impl ColumnAccess for VerbatimRow<'_> {
    fn for_each(&self, column: &str, each: &mut dyn FnMut(Option<&[u8]>)) -> Result<()> {
        let (syntax, nulls) = match self {
            Self::Fields { syntax, nulls, .. } => (*syntax, *nulls),
            Self::Object { .. } => (Syntax::Json, &[][..]),
        };
        let cell = self.cell(column);
        each(cell.and_then(|(cell, last)| syntax.value_unless(cell, last, nulls)).as_deref());
        Ok(())
    }
}
