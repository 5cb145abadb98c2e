//! Gives predicates access to the columns of an Arrow batch.

use std::cell::RefCell;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema};
use hashbrown::HashMap;

use super::column_access::ColumnAccess;
use crate::cast::cast;
use crate::error::{Error, Result, clipped};
use crate::projection::{field_names, unknown_column};

/// The columns of a batch by name, with each cell as its printed text.
#[derive(Debug)]
pub struct BatchColumns<'a> {
    batch: &'a RecordBatch,
    /// The columns that were cast to text so far; a predicate may test a column twice.
    texts: RefCell<HashMap<usize, ArrayRef>>,
}

impl<'a> BatchColumns<'a> {
    /// Wraps a batch.
    pub fn new(batch: &'a RecordBatch) -> Self {
        Self { batch, texts: RefCell::default() }
    }

    fn text(&self, name: &str) -> Result<ArrayRef> {
        let index = find_column(self.batch.schema_ref(), name)?;
        if let Some(text) = self.texts.borrow().get(&index) {
            return Ok(text.clone());
        }
        let text = cast(self.batch.column(index), &DataType::Utf8)
            .map_err(|error| error.in_column(index, name))?;
        self.texts.borrow_mut().insert(index, text.clone());
        Ok(text)
    }
}

impl ColumnAccess for BatchColumns<'_> {
    fn for_each(&self, column: &str, each: &mut dyn FnMut(Option<&[u8]>)) -> Result<()> {
        let text = self.text(column)?;
        text.as_string::<i32>().iter().for_each(|cell| each(cell.map(str::as_bytes)));
        Ok(())
    }
}

/// Returns the position of the column with this name.
///
/// # Errors
///
/// Fails if no column or more than one column has the name.
pub fn find_column(schema: &Schema, name: &str) -> Result<usize> {
    let fields = || schema.fields().iter().enumerate();
    let mut found = fields().filter(|(_, field)| field.name() == name);
    match (found.next(), found.next()) {
        (Some((index, _)), None) => Ok(index),
        (Some(_), Some(_)) => {
            Err(Error::invalid_argument(format!("several columns are named `{}`", clipped(name))))
        }
        (None, _) => Err(unknown_column(name, field_names(schema))),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{BooleanArray, DictionaryArray, Float64Array, Int64Array, StringArray};

    use super::*;
    use crate::predicate::Predicate;

    fn batch() -> RecordBatch {
        let words: DictionaryArray<arrow_array::types::Int8Type> =
            [Some("x"), None, Some("")].into_iter().collect();
        RecordBatch::try_from_iter_with_nullable([
            ("id", Arc::new(Int64Array::from(vec![Some(1), None, Some(3)])) as ArrayRef, true),
            ("rate", Arc::new(Float64Array::from(vec![0.1, f64::NAN, 2.0])), true),
            ("ok", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None])), true),
            ("word", Arc::new(words), true),
            ("a.b[0]", Arc::new(StringArray::from(vec!["p", "q", "r"])), true),
            ("last", Arc::new(StringArray::from(vec!["1", "2", "3"])), true),
        ])
        .unwrap()
    }

    #[test]
    fn columns_of_any_type_are_tested_alike() {
        let batch = batch();
        for (text, want) in [
            ("id >= 1 and id < 3", [true, false, false]),
            ("id is null", [false, true, false]),
            ("rate = 0.10 or rate = 2", [true, false, true]),
            ("not rate = 0.1", [false, false, true]),
            ("ok = false", [false, true, false]),
            ("ok <> false", [true, false, false]),
            ("word = ''", [false, false, true]),
            ("word is null", [false, true, true]),
            ("a.b[0] in ('q', 'r')", [false, true, true]),
        ] {
            let matches = Predicate::parse(text).unwrap().evaluate(3, &BatchColumns::new(&batch));
            assert_eq!(matches.unwrap(), want, "{text}");
        }
    }

    #[test]
    fn an_unknown_column_is_an_error_that_names_some() {
        let batch = batch();
        let error = |text: &str, batch: &RecordBatch| {
            let result = Predicate::parse(text).unwrap().evaluate(3, &BatchColumns::new(batch));
            result.unwrap_err().to_string()
        };
        assert_eq!(error("iD = 1", &batch), "no column named `iD`; did you mean `id`?");
        assert_eq!(
            error("x = 1", &batch),
            "no column named `x`; the columns are `id`, `rate`, `ok`, `word`, `a.b[0]` and 1 more"
        );
        let two = batch.project(&[0, 1]).unwrap();
        assert_eq!(error("x = 1", &two), "no column named `x`; the columns are `id`, `rate`");
        let twice = batch.project(&[0, 0]).unwrap();
        assert_eq!(error("id = 1", &twice), "several columns are named `id`");
    }
}
