//! The fields of the cells of a column, and their values (§5.7).

use std::borrow::Cow;

use hashbrown::HashMap;

use super::cell_value::CellSyntax;
use super::verbatim_cells::{nth_cell, split};
use crate::cell_syntax::Syntax;
use crate::codecs::columnar::cell_template::CellTemplate;
use crate::codecs::columnar::group_directory::GroupDirectory;
use crate::row_buffer::{DictEntry, PaddedDict};

/// How the cells of a column consist of fields.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CellFields<'a> {
    /// Cells of delimited text, of one field or several.
    Delimited { delimiter: u8, width: usize },
    /// Parts of JSON objects, whose values are the fields.
    Objects(&'a CellTemplate),
}

impl<'a> CellFields<'a> {
    /// Returns the fields of a column of a frame with this directory.
    pub(crate) fn of(
        directory: Option<&'a GroupDirectory>,
        column: usize,
        delimiter: u8,
        width: usize,
    ) -> Self {
        match directory.and_then(|directory| directory.template(column)) {
            Some(template) => Self::Objects(template),
            None => Self::Delimited { delimiter, width },
        }
    }

    /// Returns the number of fields of each cell.
    pub(crate) fn width(&self) -> usize {
        match self {
            Self::Delimited { width, .. } => *width,
            Self::Objects(template) => template.values(),
        }
    }

    /// Returns whether each cell is its only field.
    pub(crate) fn are_cells(&self) -> bool {
        matches!(self, Self::Delimited { width: 1, .. })
    }

    /// Returns the fields of a cell; `None` if it does not have them.
    pub(crate) fn parts<'c>(&self, cell: &'c [u8]) -> Option<Vec<&'c [u8]>> {
        match *self {
            Self::Delimited { width: 1, .. } => Some(vec![cell]),
            Self::Delimited { delimiter, .. } => split(cell, delimiter),
            Self::Objects(template) => template.parts(cell),
        }
    }

    /// Returns one field of a cell; `None` if the cell does not have its fields.
    pub(crate) fn nth<'c>(&self, cell: &'c [u8], nth: usize) -> Option<&'c [u8]> {
        match *self {
            Self::Delimited { width: 1, .. } => Some(cell),
            Self::Delimited { delimiter, .. } => nth_cell(cell, delimiter, nth),
            Self::Objects(template) => template.nth(cell, nth),
        }
    }

    /// Returns the value of a field for statistics (§6.7); `None` is null.
    ///
    /// `is_last` and `is_quoted` say whether a cell of delimited text ends its line, and
    /// whether it is printed in quotes.
    pub(crate) fn value<'c>(
        &self,
        part: &'c [u8],
        is_last: bool,
        is_quoted: bool,
    ) -> Option<Cow<'c, [u8]>> {
        match self {
            Self::Delimited { .. } if is_quoted => Some(Cow::Borrowed(part)),
            Self::Delimited { .. } => {
                let syntax = CellSyntax::Csv { is_last, null_words: &[] };
                // A cell that is not closed makes the text no table of lines.
                syntax.text(part).ok().flatten()
            }
            // The reader of JSON Lines spells it so in a column of text.
            Self::Objects(_) if part == b"-0" => Some(Cow::Borrowed(b"-0.0")),
            Self::Objects(_) => Syntax::Json.value(part, false),
        }
    }
}

/// Numbers the distinct values of a field in the order of the entries.
///
/// An entry that does not have its fields has no number.
pub(crate) fn value_numbers(
    entries: &PaddedDict,
    field: usize,
    fields: CellFields<'_>,
) -> HashMap<Vec<u8>, usize> {
    let mut numbers = HashMap::new();
    for index in 0..entries.len() {
        let entry = entries.get(index).map(DictEntry::bytes).unwrap_or_default();
        let part = match (fields.parts(entry), fields) {
            (Some(parts), _) => parts.get(field).copied().unwrap_or_default().to_vec(),
            (None, CellFields::Delimited { .. }) => Vec::new(),
            (None, CellFields::Objects(_)) => continue,
        };
        let next = numbers.len();
        numbers.entry(part).or_insert(next);
    }
    numbers
}
