//! Columns by name or position.

use arrow_schema::Schema;

use crate::error::{Error, Result};

/// How a caller names a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// By position, from 0.
    Position(usize),
    /// By its exact name.
    Name(String),
}

/// Finds columns, in the order asked for.
///
/// No selectors give no columns. Names are compared exactly.
///
/// # Errors
///
/// A name or position that does not exist, and a name that several columns
/// have: those can only be told apart by position.
pub fn select(schema: &Schema, selectors: &[Selector]) -> Result<Vec<usize>> {
    selectors.iter().map(|selector| find(schema, selector)).collect()
}

fn find(schema: &Schema, selector: &Selector) -> Result<usize> {
    let count = schema.fields().len();
    let name = match selector {
        Selector::Position(index) if *index < count => return Ok(*index),
        Selector::Position(index) => {
            let why = format!("there is no column {}, only {count}", index.saturating_add(1));
            return Err(Error::invalid_argument(why));
        }
        Selector::Name(name) => name,
    };
    let mut found = schema.fields().iter().enumerate().filter(|(_, field)| field.name() == name);
    match (found.next(), found.next()) {
        (Some((index, _)), None) => Ok(index),
        (Some((a, _)), Some((b, _))) => Err(Error::invalid_argument(format!(
            "`{name}` is the name of columns {} and {}: say which by position",
            a.saturating_add(1),
            b.saturating_add(1),
        ))),
        (None, _) => Err(Error::invalid_argument(unknown(schema, name))),
    }
}

fn unknown(schema: &Schema, name: &str) -> String {
    let near =
        schema.fields().iter().find(|field| field.name().trim().eq_ignore_ascii_case(name.trim()));
    match near {
        Some(field) => format!("there is no column `{name}`; did you mean `{}`?", field.name()),
        None => format!("there is no column `{name}`"),
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, Field};

    use super::*;

    #[test]
    fn names_are_exact_and_duplicates_need_a_position() {
        let fields = ["a", "b", "a", " B "].map(|name| Field::new(name, DataType::Int32, false));
        let schema = Schema::new(fields.to_vec());
        let name = |name: &str| Selector::Name(name.to_owned());
        assert_eq!(select(&schema, &[]).unwrap(), Vec::<usize>::new());
        assert_eq!(select(&schema, &[name(" B "), name("b")]).unwrap(), [3, 1]);
        assert_eq!(select(&schema, &[Selector::Position(2)]).unwrap(), [2]);
        let err = select(&schema, &[name("a")]).unwrap_err().to_string();
        assert!(err.contains("columns 1 and 3"), "{err}");
        let err = select(&schema, &[name("c")]).unwrap_err().to_string();
        assert_eq!(err, "there is no column `c`");
        let err = select(&schema, &[name("A")]).unwrap_err().to_string();
        assert!(err.contains("did you mean `a`?"), "{err}");
        assert!(select(&schema, &[Selector::Position(4)]).is_err());
    }
}
