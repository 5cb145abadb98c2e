//! Which rows of a chunk pass a test, found on codes where that can be.

use std::cell::OnceCell;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use hypostyle_onpair::{Column, Pattern};

use super::decode;
use super::held::{Held, Values};
use super::schema::Strings;
use hypostyle_core::cast::cast;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::predicate::{ColumnAccess, ColumnFilter, FilterSearch, SearchForm};
use hypostyle_core::row_selection::RowSelection;

/// Bytes that are decoded at a time where cells have to be looked at: they stay in the cache.
const BLOCK: usize = 32 << 10;

/// The columns of a chunk that a predicate asks for, as they are stored.
#[derive(Debug)]
pub(super) struct Tested<'h> {
    pub(super) rows: usize,
    pub(super) columns: Vec<TestedColumn<'h>>,
}

#[derive(Debug)]
pub(super) struct TestedColumn<'h> {
    pub(super) index: usize,
    pub(super) name: &'h str,
    pub(super) strings: Strings,
    pub(super) held: &'h Held<'h>,
    /// The cells as they are printed, where that is not as they are stored.
    pub(super) printed: OnceCell<ArrayRef>,
}

impl<'h> Tested<'h> {
    fn find(&self, name: &str) -> Result<&TestedColumn<'h>> {
        let found = self.columns.iter().find(|column| column.name == name);
        found.ok_or_else(|| Error::invalid_argument("no such column"))
    }
}

impl TestedColumn<'_> {
    /// The cells as text, decoded once.
    fn printed(&self, rows: usize) -> Result<&ArrayRef> {
        if let Some(printed) = self.printed.get() {
            return Ok(printed);
        }
        let array = decode::some::<i64>(self.held, &RowSelection::from(0..rows), self.strings)?;
        let printed = cast(&array, &DataType::Utf8)?;
        Ok(self.printed.get_or_init(|| printed))
    }

    fn placed(&self, err: Error) -> Error {
        err.in_column(self.index, self.name)
    }
}

impl ColumnAccess for Tested<'_> {
    fn for_each(&self, name: &str, each: &mut dyn FnMut(Option<&[u8]>)) -> Result<()> {
        let column = self.find(name)?;
        let printed = column.printed(self.rows).map_err(|err| column.placed(err))?;
        printed.as_string::<i32>().iter().for_each(|cell| each(cell.map(str::as_bytes)));
        Ok(())
    }

    fn evaluate_encoded(
        &self,
        name: &str,
        ask: &mut ColumnFilter<'_>,
    ) -> Result<Option<Vec<Option<bool>>>> {
        let column = self.find(name)?;
        // Binary cells are tested as they are printed.
        match column.strings {
            Strings::Text => {
                let answer = evaluate_chunk(column.held, self.rows, ask);
                answer.map(Some).map_err(|err| column.placed(err))
            }
            Strings::Binary => Ok(None),
        }
    }
}

/// What a test says of every row.
fn evaluate_chunk(
    held: &Held<'_>,
    rows: usize,
    ask: &mut ColumnFilter<'_>,
) -> Result<Vec<Option<bool>>> {
    let values = match &held.values {
        Values::Plain(texts) => {
            (0..texts.len()).map(|number| ask.test(Some(texts.get(number)))).collect()
        }
        Values::Codes(column) => on_codes(held, column, ask)?,
    };
    // One value may be that of many rows, and then it was tested once.
    let mut present: Box<dyn Iterator<Item = Option<bool>>> = match &held.indexes {
        None => Box::new(values.into_iter()),
        Some(indexes) => Box::new(
            indexes.iter().map(move |&index| values.get(index as usize).copied().flatten()),
        ),
    };
    let Some(nulls) = &held.nulls else { return Ok(present.take(rows).collect()) };
    let null = ask.test(None);
    let answer = |valid| if valid { present.next().flatten() } else { null };
    Ok(nulls.iter().map(answer).collect())
}

/// What a test says of every value.
fn on_codes(
    held: &Held<'_>,
    column: &Column<'_>,
    ask: &mut ColumnFilter<'_>,
) -> Result<Vec<Option<bool>>> {
    let Some(FilterSearch { form, exact }) = ask.search() else {
        return by_cells(held, column, ask);
    };
    let found = find(column, &form);
    let mut answers = vec![Some(false); column.len()];
    let mut text = Vec::new();
    for number in found {
        let answer = match exact {
            true => Some(true),
            false => {
                check_len(held, column.row_len(number) as u64)?;
                text.clear();
                let done = column.row_into(number, &mut text);
                done.map_err(|err| Error::malformed("codes", err.to_string()).at(held.at))?;
                ask.test(Some(&text))
            }
        };
        answers.get_mut(number).into_iter().for_each(|to| *to = answer);
    }
    Ok(answers)
}

fn find(column: &Column<'_>, form: &SearchForm<'_>) -> Vec<usize> {
    column.find(&match *form {
        SearchForm::Is(text) => Pattern::Equals(text),
        SearchForm::AnyOf(texts) => Pattern::AnyOf(texts),
        SearchForm::StartsWith(text) => Pattern::StartsWith(text),
        SearchForm::EndsWith(text) => Pattern::EndsWith(text),
        SearchForm::Contains(text) => Pattern::Contains(text),
        SearchForm::ContainsIgnoringCase(text) => Pattern::ContainsIgnoringCase(text),
        SearchForm::Within(low, high) => return column.find_between(low, high),
    })
}

/// Decodes every value, a few at a time.
fn by_cells(
    held: &Held<'_>,
    column: &Column<'_>,
    ask: &mut ColumnFilter<'_>,
) -> Result<Vec<Option<bool>>> {
    check_len(held, column.decoded_len() as u64)?;
    let mut answers = Vec::with_capacity(column.len());
    column.for_each_block(BLOCK, |_, bytes, ends| -> Result<()> {
        let mut start = 0;
        for &end in ends {
            answers.push(ask.test(Some(bytes.get(start..end).unwrap_or_default())));
            start = end;
        }
        Ok(())
    })?;
    Ok(answers)
}

/// No values have more text than all rows, so that memory is only taken for what is there.
fn check_len(held: &Held<'_>, len: u64) -> Result<()> {
    match len <= held.text {
        true => Ok(()),
        false => {
            let why = format!("they stand for {len} bytes of text, and there are {}", held.text);
            Err(Error::malformed("codes", why).at(held.at))
        }
    }
}
