//! Completes and checks what is typed at the prompt.

use std::fs;
use std::path::Path;

use datafusion::common::TableReference;
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use rustyline::completion::Completer;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper, Highlighter, Hinter};
use tokio::runtime::Handle;

use super::session::Session;

/// The commands of the prompt itself.
pub(crate) const COMMANDS: [(&str, &str); 5] = [
    ("\\d", "list tables; \\d 'file' or \\d NAME lists columns"),
    ("\\timing", "turn the time of each statement on or off"),
    ("\\stats", "turn what each statement read on or off"),
    ("\\q", "quit, as Ctrl-D does"),
    ("\\?", "print this list"),
];

/// The words of SQL that are worth completing.
const KEYWORDS: [&str; 36] = [
    "and", "as", "asc", "between", "by", "case", "cast", "copy", "create", "cross", "desc",
    "describe", "distinct", "else", "end", "explain", "external", "from", "group", "having", "in",
    "is", "join", "left", "like", "limit", "location", "not", "null", "on", "order", "select",
    "stored", "union", "using", "where",
];

/// What the prompt knows about the session.
#[derive(Helper, Highlighter, Hinter)]
pub(crate) struct PromptHelper {
    ctx: SessionContext,
    runtime: Handle,
}

impl PromptHelper {
    pub(crate) fn new(session: &Session) -> Self {
        Self { ctx: session.ctx.clone(), runtime: session.handle() }
    }

    /// Returns the columns of the tables that a statement names, and the names of all tables.
    fn names(&self, text: &str) -> Vec<String> {
        let mut names = Vec::new();
        let words = Tokenizer::new(&GenericDialect {}, text).tokenize().unwrap_or_default();
        for word in words {
            let name = match word {
                Token::SingleQuotedString(name) => name,
                Token::Word(word) => word.value,
                _ => continue,
            };
            let table = self.ctx.table_provider(TableReference::bare(name));
            if let Ok(table) = self.runtime.block_on(table) {
                names.extend(table.schema().fields().iter().map(|field| quoted(field.name())));
            }
        }
        let catalog = self.ctx.catalog("datafusion");
        let schema = catalog.and_then(|catalog| catalog.schema("public"));
        names.extend(schema.map(|schema| schema.table_names()).unwrap_or_default());
        names
    }

    fn functions(&self) -> Vec<String> {
        let state = self.ctx.state();
        let scalar = state.scalar_functions().keys();
        let names = scalar.chain(state.aggregate_functions().keys());
        names.chain(state.window_functions().keys()).map(|name| format!("{name}(")).collect()
    }
}

/// Returns a name as it is written in a statement.
fn quoted(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_numeric());
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// Returns where an open quote starts, if there is one.
fn open_quote(text: &str) -> Option<usize> {
    let quotes: Vec<usize> = text.match_indices('\'').map(|(at, _)| at).collect();
    if quotes.len() % 2 == 1 { quotes.last().map(|at| at + 1) } else { None }
}

/// Returns the files and folders whose paths start with a text.
fn paths(start: &str) -> Vec<String> {
    let (folder, prefix) = match start.rfind('/') {
        Some(at) => start.split_at(at + 1),
        None => ("", start),
    };
    let read = fs::read_dir(Path::new(if folder.is_empty() { "." } else { folder }));
    let mut found: Vec<String> = read
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_wanted =
                name.starts_with(prefix) && (!name.starts_with('.') || prefix.starts_with('.'));
            let end = if entry.path().is_dir() { "/" } else { "'" };
            is_wanted.then(|| format!("{folder}{name}{end}"))
        })
        .collect();
    found.sort();
    found
}

impl Completer for PromptHelper {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let before = line.get(..at).unwrap_or_default();
        if let Some(start) = open_quote(before) {
            return Ok((start, paths(before.get(start..).unwrap_or_default())));
        }
        if before.starts_with('\\') && !before.contains(char::is_whitespace) {
            let commands = COMMANDS.iter().map(|(name, _)| (*name).to_owned());
            return Ok((0, commands.filter(|name| name.starts_with(before)).collect()));
        }
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '"';
        let start = before.rfind(|c| !is_part(c)).map_or(0, |at| {
            at + before.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
        });
        let word = before.get(start..).unwrap_or_default().to_lowercase();
        if word.is_empty() {
            return Ok((start, Vec::new()));
        }
        let mut found = self.names(line);
        found.extend(self.functions());
        found.extend(KEYWORDS.map(str::to_owned));
        let starts = |name: &String| name.trim_start_matches('"').to_lowercase().starts_with(&word);
        found.retain(starts);
        found.sort();
        found.dedup();
        Ok((start, found))
    }
}

impl Validator for PromptHelper {
    /// A statement goes on until a semicolon.
    fn validate(&self, input: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let text = input.input().trim();
        let is_complete = text.is_empty() || text.starts_with('\\') || is_ended(text);
        Ok(if is_complete { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

/// Returns whether a text ends with a semicolon that is neither quoted nor in a comment.
fn is_ended(text: &str) -> bool {
    let Ok(tokens) = Tokenizer::new(&GenericDialect {}, text).tokenize() else { return false };
    let last = tokens.iter().rev().find(|token| !matches!(token, Token::Whitespace(_)));
    matches!(last, Some(Token::SemiColon))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_with_a_semicolon() {
        assert!(is_ended("select 1;"));
        assert!(is_ended("select 1; -- done"));
        assert!(!is_ended("select 1"));
        assert!(!is_ended("select ';"));
        assert!(!is_ended("select 1 -- ;"));
    }

    #[test]
    fn files_are_completed_inside_quotes() {
        assert_eq!(open_quote("select * from 'fl"), Some(15));
        assert_eq!(open_quote("select 'a' from t"), None);
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("flags")).unwrap();
        fs::write(folder.path().join("flights.csv"), "").unwrap();
        let start = format!("{}/fl", folder.path().display());
        let found = paths(&start);
        assert_eq!(found, [format!("{start}ags/"), format!("{start}ights.csv'")]);
        assert_eq!((quoted("a b"), quoted("a_1")), ("\"a b\"".to_owned(), "a_1".to_owned()));
    }
}
