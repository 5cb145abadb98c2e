//! Finds columns by name or position.

use arrow_schema::Schema;

use crate::error::{Error, Result, clipped};

/// How a caller names a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// By position, from 0.
    Position(usize),
    /// By its exact name.
    Name(String),
}

/// Returns the positions of columns, in the order of the selectors.
///
/// No selectors give no columns. Names are compared exactly.
///
/// # Errors
///
/// Fails for a name or position that does not exist, and for a name that several
/// columns share: only their positions distinguish them.
pub fn select(schema: &Schema, selectors: &[Selector]) -> Result<Vec<usize>> {
    selectors.iter().map(|selector| find(schema, selector)).collect()
}

fn find(schema: &Schema, selector: &Selector) -> Result<usize> {
    let count = schema.fields().len();
    let name = match selector {
        Selector::Position(index) if *index < count => return Ok(*index),
        Selector::Position(index) => {
            return Err(column_out_of_range(*index, count));
        }
        Selector::Name(name) => name,
    };
    let mut found = schema.fields().iter().enumerate().filter(|(_, field)| field.name() == name);
    match (found.next(), found.next()) {
        (Some((index, _)), None) => Ok(index),
        (Some((a, _)), Some((b, _))) => Err(Error::invalid_argument(format!(
            "columns {} and {} are both named `{}`: select them by position",
            a.saturating_add(1),
            b.saturating_add(1),
            clipped(name),
        ))),
        (None, _) => Err(unknown_column(name, field_names(schema))),
    }
}

/// Returns the names of the fields of a schema, for [`unknown_column`].
pub fn field_names(schema: &Schema) -> impl Iterator<Item = &str> + Clone {
    schema.fields().iter().map(|field| field.name().as_str())
}

/// Returns the error for a name that none of the columns has.
///
/// The message suggests a column with a [similar name](nearest), and otherwise lists the first names.
pub fn unknown_column<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Error {
    let hint = match nearest(name, known.clone()) {
        Some(near) => format!("did you mean `{}`?", clipped(near)),
        None => listed(known),
    };
    Error::invalid_argument(format!("no column named `{}`; {hint}", clipped(name)))
}

/// Names that are longer, or of more candidates, are not compared letter by letter.
const MAX_COMPARED: (usize, usize) = (64, 2000);

/// Returns the known name that a user may have meant by `name`: one that differs in case or outer
/// spaces only, or in a third of its letters at most.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let name = name.trim().to_lowercase();
    let alike = |known: &&str| known.trim().to_lowercase() == name;
    let most = name.chars().count() / 3;
    known.clone().find(alike).or_else(|| {
        let short = |known: &&str| known.len() <= MAX_COMPARED.0 && name.len() <= MAX_COMPARED.0;
        let compared = known.take(MAX_COMPARED.1).filter(short);
        let distance = |known: &str| edit_distance(&known.trim().to_lowercase(), &name);
        let near = compared.map(|known| (distance(known), known));
        near.filter(|&(distance, _)| distance <= most)
            .min_by_key(|&(distance, _)| distance)
            .map(|(_, known)| known)
    })
}

/// Returns how many letters must be inserted, left out, replaced or swapped with the next one to
/// make one text of the other.
fn edit_distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    let mut letter_before = None;
    for (row, letter) in one.chars().enumerate() {
        let mut next = vec![row + 1];
        for (column, &wanted) in other.iter().enumerate() {
            let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX);
            let replaced = at(&last, column) + usize::from(letter != wanted);
            let mut least = replaced.min(at(&last, column + 1) + 1).min(at(&next, column) + 1);
            let previous = column.checked_sub(1).and_then(|column| other.get(column));
            if let Some(column) = column.checked_sub(1)
                && letter_before == Some(wanted)
                && previous == Some(&letter)
            {
                least = least.min(at(&before, column) + 1);
            }
            next.push(least);
        }
        (before, last) = (last, next);
        letter_before = Some(letter);
    }
    last.last().copied().unwrap_or_default()
}

/// Returns the error for a position beyond the last of `count` columns.
///
/// `index` counts from 0; the message counts from 1, as all messages do.
pub fn column_out_of_range(index: usize, count: usize) -> Error {
    let number = index.saturating_add(1);
    let plural = if count == 1 { "" } else { "s" };
    let why = format!("column {number} is out of range: the table has {count} column{plural}");
    Error::invalid_argument(why)
}

fn listed<'a>(known: impl Iterator<Item = &'a str> + Clone) -> String {
    /// Names that a message lists at most.
    const MAX_LISTED: usize = 5;
    let names: Vec<String> =
        known.clone().take(MAX_LISTED).map(|name| format!("`{}`", clipped(name))).collect();
    match (known.count().saturating_sub(MAX_LISTED), names.as_slice()) {
        (_, []) => "the table has no columns".to_owned(),
        (0, [name]) => format!("the only column is {name}"),
        (0, names) => format!("the columns are {}", names.join(", ")),
        (more, names) => format!("the columns are {} and {more} more", names.join(", ")),
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
        assert_eq!(err, "no column named `c`; the columns are `a`, `b`, `a`, ` B `");
        let err = select(&schema, &[name("A")]).unwrap_err().to_string();
        assert!(err.contains("did you mean `a`?"), "{err}");
        let err = select(&schema, &[Selector::Position(4)]).unwrap_err().to_string();
        assert_eq!(err, "column 5 is out of range: the table has 4 columns");
    }

    #[test]
    fn a_name_with_few_wrong_letters_is_known() {
        let names = ["carrier", "dep_delay", "arr_delay", "Month"];
        let near = |name: &str| nearest(name, names.into_iter());
        assert_eq!(near("carier"), Some("carrier"));
        assert_eq!(near("dep_dealy"), Some("dep_delay"));
        assert_eq!(near("arrdelay"), Some("arr_delay"));
        assert_eq!(near(" MONTH"), Some("Month"));
        assert_eq!(near("origin"), None);
        assert_eq!(near("x"), None);
        assert_eq!((edit_distance("", "ab"), edit_distance("kitten", "sitting")), (2, 3));
    }

    #[test]
    fn an_unknown_name_lists_some_of_the_columns() {
        let message = |known: &[&str]| unknown_column("x", known.iter().copied()).to_string();
        assert_eq!(message(&[]), "no column named `x`; the table has no columns");
        assert_eq!(message(&["s"]), "no column named `x`; the only column is `s`");
        assert_eq!(
            message(&["a", "b", "c", "d", "e", "f", "g"]),
            "no column named `x`; the columns are `a`, `b`, `c`, `d`, `e` and 2 more"
        );
    }
}
