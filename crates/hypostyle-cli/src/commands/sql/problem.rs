//! Errors of the engine, for people.

use datafusion::common::{DataFusionError, SchemaError};
use hypostyle::projection::unknown_column;
use hypostyle_datafusion::FileError;
use unicode_width::UnicodeWidthStr;

use crate::failure::{Failure, INPUT, INTERNAL, IO, USAGE};

/// What the engine puts before messages.
const PREFIXES: [&str; 9] = [
    "External error: ",
    "Error during planning: ",
    "Execution error: ",
    "Schema error: ",
    "Arrow error: ",
    "Object Store error: ",
    "Generic remote error: ",
    "Invalid or Unsupported Configuration: ",
    "This feature is not implemented: ",
];

/// Returns the failure of a statement, with the place in it if that is known.
pub(crate) fn failure(err: &DataFusionError, sql: &str) -> Failure {
    let root = err.find_root();
    let (code, hint) = match root {
        DataFusionError::SQL(..)
        | DataFusionError::Plan(_)
        | DataFusionError::SchemaError(..)
        | DataFusionError::Configuration(_)
        | DataFusionError::NotImplemented(_) => (USAGE, None),
        DataFusionError::ResourcesExhausted(_) => {
            (IO, Some("--memory-limit allows more memory; fewer --threads need less"))
        }
        DataFusionError::IoError(_) | DataFusionError::ObjectStore(_) => (IO, None),
        // The planner reports wrong types of arguments as a bug of its own.
        DataFusionError::Internal(_) if err.diagnostic().is_some() => (USAGE, None),
        DataFusionError::Internal(_) => (INTERNAL, None),
        DataFusionError::External(cause) => match cause.downcast_ref::<FileError>() {
            Some(error) => {
                let is_io = error
                    .library_error()
                    .is_some_and(|error| matches!(error.kind(), hypostyle::ErrorKind::Io(_)));
                (if is_io { IO } else { INPUT }, None)
            }
            None => (INPUT, None),
        },
        _ => (INPUT, None),
    };
    let mut message = worded(root);
    let place = place(err, root, sql);
    if let Some(place) = &place {
        message += &place.pointer(sql);
    }
    Failure::new(code, message).with_hint(hint)
}

/// Returns the message without what people do not need.
fn worded(root: &DataFusionError) -> String {
    if let DataFusionError::SchemaError(schema, _) = root
        && let SchemaError::FieldNotFound { field, valid_fields } = schema.as_ref()
    {
        let mut valid: Vec<&str> = valid_fields.iter().map(|field| field.name.as_str()).collect();
        valid.dedup();
        // The engine suggests a column with its table before it.
        let text = root.to_string();
        let near = text.split("Did you mean '").nth(1).and_then(|rest| rest.split('\'').next());
        let near = near.and_then(|near| {
            let near = near.trim_end_matches('"');
            valid.iter().find(|name| near.ends_with(**name))
        });
        return match near {
            Some(near) => format!("no column named `{}`; did you mean `{near}`?", field.name),
            None => unknown_column(&field.name, valid.iter().copied()).to_string(),
        };
    }
    let mut message = root.strip_backtrace();
    if let DataFusionError::SQL(cause, _) = root {
        message = cause.to_string();
        message = message.strip_prefix("sql parser error: ").unwrap_or(&message).to_owned();
        if let Some((before, _)) = message.split_once(" at Line: ") {
            message = before.to_owned();
        }
    }
    while let Some(rest) = PREFIXES.iter().find_map(|prefix| message.strip_prefix(prefix)) {
        message = rest.to_owned();
    }
    // The first half of such a message is for developers of the engine.
    if let Some(at) = message.find("No function matches") {
        message = message.get(at..).unwrap_or_default().replace("\n\t", "\n  ");
    }
    message.replace("'datafusion.public.", "'").trim_end().to_owned()
}

/// A place in a statement: a line and columns, from 1.
struct Place {
    line: usize,
    columns: std::ops::Range<usize>,
}

fn place(err: &DataFusionError, root: &DataFusionError, sql: &str) -> Option<Place> {
    let number = |value: u64| usize::try_from(value).ok().filter(|&value| value > 0);
    if let Some(span) = err.diagnostic().and_then(|diagnostic| diagnostic.span) {
        let (line, start) = (number(span.start.line)?, number(span.start.column)?);
        let end = match number(span.end.column) {
            Some(end) if span.end.line == span.start.line && end > start => end,
            _ => start + 1,
        };
        return Some(Place { line, columns: start..end });
    }
    let text = root.to_string();
    if let Some((_, rest)) = text.split_once("at Line: ") {
        let mut numbers = rest.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
        let line = numbers.next()?.parse().ok()?;
        let start: usize = numbers.next()?.parse().ok()?;
        return Some(Place { line, columns: start..start + word_at(sql, line, start) });
    }
    // The engine does not say where: find the first name that it quotes.
    let quoted = match root {
        DataFusionError::SchemaError(schema, _) => match schema.as_ref() {
            SchemaError::FieldNotFound { field, .. } => Some(field.name.clone()),
            _ => None,
        },
        DataFusionError::Plan(text) => text
            .split(['\'', '`'])
            .nth(1)
            .map(|name| name.rsplit("public.").next().unwrap_or(name).to_owned()),
        _ => None,
    }?;
    find_word(sql, &quoted)
}

/// Returns the length of the word at a place, at least 1.
fn word_at(sql: &str, line: usize, start: usize) -> usize {
    let line = sql.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let rest = line.chars().skip(start.saturating_sub(1));
    rest.take_while(|c| c.is_alphanumeric() || *c == '_').count().max(1)
}

fn find_word(sql: &str, word: &str) -> Option<Place> {
    if word.is_empty() {
        return None;
    }
    let (lower, word) = (sql.to_lowercase(), word.to_lowercase());
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let (at, _) = lower.match_indices(&word).find(|(at, _)| {
        let before = lower.get(..*at).and_then(|text| text.chars().next_back());
        let after = lower.get(at + word.len()..).and_then(|text| text.chars().next());
        !is_part(before) && !is_part(after)
    })?;
    let before = lower.get(..at)?;
    let line = before.matches('\n').count() + 1;
    let start = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    Some(Place { line, columns: start..start + word.chars().count() })
}

impl Place {
    /// Returns the line of the statement with a mark below the place.
    fn pointer(&self, sql: &str) -> String {
        let line = sql.lines().nth(self.line.saturating_sub(1));
        // A URL may have a password or a signature.
        let has_secrets = |line: &&str| line.contains("://") && line.contains(['@', '?']);
        let Some(line) = line.filter(|line| !has_secrets(line)) else { return String::new() };
        let before: String = line.chars().take(self.columns.start.saturating_sub(1)).collect();
        let marked = self.columns.end.saturating_sub(self.columns.start).max(1);
        let word: String = line.chars().skip(before.chars().count()).take(marked).collect();
        let marks = "^".repeat(word.width().max(1));
        let number =
            if sql.lines().count() > 1 { format!("{}: ", self.line) } else { String::new() };
        let gap = " ".repeat(number.width() + before.width());
        format!("\n  {number}{line}\n  {gap}{marks}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_as_a_whole() {
        let place = find_word("select abc,\n  ab from t", "ab").unwrap();
        assert_eq!((place.line, place.columns), (2, 3..5));
        assert!(find_word("select abc", "ab").is_none());
    }
}
