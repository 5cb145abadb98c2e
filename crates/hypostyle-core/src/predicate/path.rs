//! Names of columns and paths into nested columns, such as `a.b[0].c`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt64Array};
use arrow_schema::{DataType, Field, Fields, Schema};
use arrow_select::nullif::nullif;
use arrow_select::take::take;

use super::token;
use super::value_type::{plain, plain_array};
use crate::error::{Error, Result, clipped};
use crate::projection::{field_names, unknown_column};

/// A column, or a part of a nested column.
#[derive(Clone, Debug)]
pub struct ColumnPath {
    /// The position of the column in the schema.
    pub index: usize,
    /// The name of the column.
    pub(super) name: String,
    pub(super) steps: Vec<Step>,
    /// The plain type of the values.
    pub data_type: DataType,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The member of a struct at this position, and its name.
    Member(usize, String),
    /// The element of a list at this position, from 0.
    Element(usize),
}

impl ColumnPath {
    /// Finds the column or the part of a column that a name denotes.
    ///
    /// A column whose name is the whole text wins; otherwise the column with the longest name
    /// that the text starts with.
    ///
    /// # Errors
    ///
    /// Fails if no column has such a name or part.
    pub fn resolve(schema: &Schema, text: &str) -> Result<Self> {
        let fields = schema.fields();
        let mut missing = None;
        for (name, rest) in prefixes(text) {
            let Some(index) = find(fields, name)? else { continue };
            let Some(field) = fields.get(index) else { continue };
            let mut steps = Vec::new();
            match walk(rest, &mut steps, plain(field.data_type())) {
                Ok(data_type) => {
                    return Ok(Self { index, name: name.to_owned(), steps, data_type });
                }
                Err((at, found)) => {
                    missing.get_or_insert_with(|| no_part(text, at, &found));
                }
            }
        }
        if let Some(missing) = missing {
            return Err(missing);
        }
        // `first-name` is read as a difference.
        let longer = |name: &&str| name.starts_with(text) && !token::is_bare(name);
        if let Some(longer) = field_names(schema).find(longer) {
            let (text, longer) = (clipped(text), clipped(longer));
            return Err(Error::invalid_argument(format!(
                "no column named `{text}`; did you mean \"{longer}\", in double quotes?"
            )));
        }
        Err(unknown_column(text, field_names(schema)))
    }

    /// Returns whether the path leads to a part of a column, not to a whole column.
    pub fn is_nested(&self) -> bool {
        !self.steps.is_empty()
    }

    /// Returns the names of the members that the path goes through; `None` if it goes through
    /// a list.
    pub(super) fn members_only(&self) -> Option<Vec<&str>> {
        let names = self.steps.iter().map(|step| match step {
            Step::Member(_, name) => Some(name.as_str()),
            Step::Element(_) => None,
        });
        names.collect()
    }

    /// Returns the values of the path in an array of its column.
    ///
    /// # Errors
    ///
    /// Fails for an array of another type than the column.
    pub fn extract(&self, column: &ArrayRef) -> Result<ArrayRef> {
        let mut array = plain_array(column)?;
        for step in &self.steps {
            array = plain_array(&match step {
                Step::Member(at, _) => member(&array, *at)?,
                Step::Element(at) => element(&array, *at)?,
            })?;
        }
        Ok(array)
    }
}

/// Follows a path of members and elements, and returns the type that it leads to; fails with
/// the part that does not exist, and the type that does not have it.
fn walk<'a>(
    path: &'a str,
    steps: &mut Vec<Step>,
    at: DataType,
) -> Result<DataType, (&'a str, DataType)> {
    if path.is_empty() {
        return Ok(at);
    }
    if let (Some(members), DataType::Struct(fields)) = (path.strip_prefix('.'), &at) {
        let (taken, mut missing) = (steps.len(), None);
        for (name, rest) in prefixes(members) {
            let Ok(Some(index)) = find(fields, name) else { continue };
            let Some(field) = fields.get(index) else { continue };
            steps.push(Step::Member(index, name.to_owned()));
            match walk(rest, steps, plain(field.data_type())) {
                Ok(found) => return Ok(found),
                Err(at) => missing = missing.or(Some(at)),
            }
            steps.truncate(taken);
        }
        return Err(missing.unwrap_or((path, at)));
    }
    let element = match &at {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _) => plain(field.data_type()),
        _ => return Err((path, at)),
    };
    let index = path.strip_prefix('[').and_then(|path| path.split_once(']'));
    match index.map(|(index, rest)| (index.parse(), rest)) {
        Some((Ok(index), rest)) => {
            steps.push(Step::Element(index));
            walk(rest, steps, element)
        }
        _ => Err((path, at)),
    }
}

/// Splits a text at every place where a part of a path may start, longest name first.
fn prefixes(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let ends = text.char_indices().filter(|(_, c)| matches!(c, '.' | '[')).map(|(at, _)| at);
    let mut ends: Vec<usize> = ends.collect();
    ends.push(text.len());
    ends.into_iter().rev().filter_map(|end| text.split_at_checked(end))
}

fn find(fields: &Fields, name: &str) -> Result<Option<usize>> {
    let mut found = fields.iter().enumerate().filter(|(_, field)| field.name() == name);
    match (found.next(), found.next()) {
        (Some(_), Some(_)) => {
            Err(Error::invalid_argument(format!("several columns are named `{}`", clipped(name))))
        }
        (first, _) => Ok(first.map(|(index, _)| index)),
    }
}

/// Returns the error for a path whose part `rest` is not in the type that it leads to.
fn no_part(path: &str, rest: &str, found: &DataType) -> Error {
    let parent = path.strip_suffix(rest).unwrap_or(path);
    let what = match found {
        DataType::Struct(fields) => {
            let names: Vec<String> = fields
                .iter()
                .map(|field: &Arc<Field>| format!("`{}`", clipped(field.name())))
                .collect();
            format!("is a struct with the members {}", names.join(", "))
        }
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::FixedSizeList(..) => {
            "is a list: its elements are `[0]`, `[1]` and so on".to_owned()
        }
        other => format!("has the type {other}, which has no parts"),
    };
    let (path, parent) = (clipped(path), clipped(parent));
    Error::invalid_argument(format!("no column named `{path}`: `{parent}` {what}"))
}

fn member(array: &ArrayRef, at: usize) -> Result<ArrayRef> {
    let Some(parent) = array.as_struct_opt() else { return Err(changed(array)) };
    let child = parent.columns().get(at).ok_or_else(|| changed(array))?;
    match parent.nulls() {
        Some(nulls) if nulls.null_count() > 0 => {
            let null = arrow_array::BooleanArray::new(!nulls.inner(), None);
            Ok(nullif(&plain_array(child)?, &null)?)
        }
        _ => Ok(child.clone()),
    }
}

fn element(array: &ArrayRef, at: usize) -> Result<ArrayRef> {
    let rows = array.len();
    let at = at as u64;
    // Returns the position of the element in the child array.
    let place = |row: usize, start: Option<u64>, len: Option<u64>| match (start, len) {
        (Some(start), Some(len)) if array.is_valid(row) && at < len => Some(start + at),
        _ => None,
    };
    let (values, places): (&ArrayRef, UInt64Array) = match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let ends = |row| u64::try_from(*list.value_offsets().get(row)?).ok();
            let len = |row| Some(ends(row + 1)? - ends(row)?);
            (list.values(), (0..rows).map(|row| place(row, ends(row), len(row))).collect())
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let ends = |row| u64::try_from(*list.value_offsets().get(row)?).ok();
            let len = |row| Some(ends(row + 1)? - ends(row)?);
            (list.values(), (0..rows).map(|row| place(row, ends(row), len(row))).collect())
        }
        DataType::ListView(_) => {
            let list = array.as_list_view::<i32>();
            let start = |row| u64::try_from(*list.offsets().get(row)?).ok();
            let len = |row| u64::try_from(*list.sizes().get(row)?).ok();
            (list.values(), (0..rows).map(|row| place(row, start(row), len(row))).collect())
        }
        DataType::LargeListView(_) => {
            let list = array.as_list_view::<i64>();
            let start = |row| u64::try_from(*list.offsets().get(row)?).ok();
            let len = |row| u64::try_from(*list.sizes().get(row)?).ok();
            (list.values(), (0..rows).map(|row| place(row, start(row), len(row))).collect())
        }
        DataType::FixedSizeList(..) => {
            let list = array.as_fixed_size_list();
            let len = u64::try_from(list.value_length()).ok();
            let start = |row: usize| Some(row as u64 * len?);
            (list.values(), (0..rows).map(|row| place(row, start(row), len)).collect())
        }
        _ => return Err(changed(array)),
    };
    Ok(take(values, &places, None)?)
}

/// Returns the error for an array that has another type than the schema.
fn changed(array: &ArrayRef) -> Error {
    let found = array.data_type();
    Error::invalid_argument(format!("a nested column has the type {found}, unlike in the schema"))
}
