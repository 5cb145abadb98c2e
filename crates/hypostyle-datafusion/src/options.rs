//! Options of a table, as SQL states them.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroUsize;

use datafusion::common::{DataFusionError, Result, config_err, plan_datafusion_err};
use hypostyle::formats::RequestedType;
use hypostyle::text::{Encoding, Infer, Ragged};
use hypostyle::{Dictionaries, FileKind, FormatId, OpenOptions, WriteOptions, WriterOptions};

/// The options that `OPTIONS (…)` knows, with what they do.
pub const KNOWN_OPTIONS: &[(&str, &str)] = &[
    ("header", "whether the first row of delimited text has the names; `true` by default"),
    ("delimiter", "the character between cells of delimited text, or `tab`"),
    ("null", "cells that mean null besides the empty one, separated by commas"),
    ("types", "types of columns, such as `id=int64,zip=text`"),
    ("infer", "`exact`, `numeric` or `text`: when columns of text become numbers"),
    ("encoding", "`utf8` or `latin1`"),
    ("ragged", "`refuse` or `pad`: what happens to rows with too few cells"),
    ("strict", "whether departures from the format's specification are errors"),
    ("skip_damaged", "whether damaged row groups are left out"),
    ("memory", "bytes that the scan of a partition, or a written file, holds at most"),
    ("dictionaries", "whether columns that are stored with a dictionary have one in queries too"),
    ("read_cost", "bytes that could be transferred in the time that a request takes"),
    ("level", "the compression level of written files"),
    ("null_as", "the text that is written for null where the format has no nulls"),
    ("text", "`csv`, `tsv` or `jsonl`: the text that a written archive stores"),
    ("rows_per_group", "rows of a row group of a written archive"),
];

/// Options of a table: how its files are read and written.
///
/// They are made of the keys and values of `OPTIONS (…)`, which [`KNOWN_OPTIONS`] lists.
#[derive(Clone, Debug, Default)]
pub struct TableOptions {
    /// What the options were made of; two tables with equal settings read files alike.
    settings: BTreeMap<String, String>,
    pub(crate) open: OpenOptions,
    pub(crate) writer: WriterOptions,
    pub(crate) skip_damaged: bool,
    pub(crate) without_dictionaries: bool,
    pub(crate) memory: Option<u64>,
    pub(crate) read_cost: Option<u64>,
    pub(crate) archived_text: Option<FormatId>,
    pub(crate) rows_per_group: Option<NonZeroUsize>,
}

impl PartialEq for TableOptions {
    fn eq(&self, other: &Self) -> bool {
        self.settings == other.settings
    }
}

/// The most values of a text column that reaches the engine as a dictionary. The engine looks at
/// all values of a dictionary in each batch of some thousand rows, and is faster with views of
/// many values.
const MAX_DICTIONARY_VALUES: u64 = 1024;

impl TableOptions {
    /// Returns which columns of text reach the engine as dictionaries.
    pub(crate) fn dictionaries(&self) -> Dictionaries {
        match self.without_dictionaries {
            true => Dictionaries::None,
            false => Dictionaries::UpTo(MAX_DICTIONARY_VALUES),
        }
    }

    /// Returns the keys and values that options were set with, and how files are opened, from which
    /// [`TableOptions::set`] and [`TableOptions::with_open`] make equal options.
    pub fn settings(&self) -> (impl Iterator<Item = (&str, &str)>, Option<&OpenOptions>) {
        let settings = self.settings.iter().filter(|(key, _)| !key.is_empty());
        let open = self.settings.contains_key("").then_some(&self.open);
        (settings.map(|(key, value)| (key.as_str(), value.as_str())), open)
    }

    /// Reads options; keys may start with `format.`.
    ///
    /// # Errors
    ///
    /// Fails for an unknown key and for a value that is not valid.
    pub fn try_new(settings: &HashMap<String, String>) -> Result<Self> {
        let mut options = Self::default();
        for (key, value) in settings {
            let key = key.strip_prefix("format.").unwrap_or(key).to_ascii_lowercase();
            options.set(&key, value)?;
        }
        Ok(options)
    }

    /// Sets how files are opened, in place of the options for reading that were set before.
    #[must_use]
    pub fn with_open(mut self, open: OpenOptions) -> Self {
        self.settings.insert(String::new(), format!("{open:?}"));
        self.open = open;
        self
    }

    /// Sets whether columns that are stored with a dictionary have one in queries too.
    #[must_use]
    pub fn with_dictionaries(mut self, keep: bool) -> Self {
        self.settings.insert("dictionaries".to_owned(), keep.to_string());
        self.without_dictionaries = !keep;
        self
    }

    /// Leaves out damaged row groups.
    #[must_use]
    pub fn with_skip_damaged(mut self, skip: bool) -> Self {
        self.settings.insert("skip_damaged".to_owned(), skip.to_string());
        self.skip_damaged = skip;
        self
    }

    /// Sets one option.
    ///
    /// # Errors
    ///
    /// As [`TableOptions::try_new`].
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        self.apply(key, value).map_err(|why| match why {
            Invalid::Key => {
                let known: Vec<&str> = KNOWN_OPTIONS.iter().map(|(name, _)| *name).collect();
                plan_datafusion_err!("unknown option `{key}`; the options are {}", known.join(", "))
            }
            Invalid::Value(expected) => {
                plan_datafusion_err!("option `{key}`: expected {expected}, found `{value}`")
            }
        })?;
        self.settings.insert(key.to_owned(), value.to_owned());
        Ok(())
    }

    fn apply(&mut self, key: &str, value: &str) -> Result<(), Invalid> {
        let text = &mut self.open.text;
        match key {
            "header" | "has_header" => {
                let header = boolean(value)?;
                text.header = Some(header);
                self.open.read.header = header;
            }
            "delimiter" => text.delimiter = Some(delimiter(value)?),
            "null" => {
                text.null_words = value.split(',').map(|word| word.trim().to_owned()).collect();
            }
            "types" => {
                text.types = column_types(value)?;
                self.writer.types.clone_from(&text.types);
            }
            "infer" => {
                text.infer = match value.to_ascii_lowercase().as_str() {
                    "exact" => Infer::Exact,
                    "numeric" => Infer::Numeric,
                    "text" => Infer::Text,
                    _ => return Err(Invalid::Value("`exact`, `numeric` or `text`")),
                }
            }
            "encoding" => {
                text.encoding = match value.to_ascii_lowercase().as_str() {
                    "utf8" | "utf-8" => Encoding::Utf8,
                    "latin1" => Encoding::Latin1,
                    _ => return Err(Invalid::Value("`utf8` or `latin1`")),
                }
            }
            "ragged" => {
                text.ragged = match value.to_ascii_lowercase().as_str() {
                    "refuse" => Ragged::Refuse,
                    "pad" => Ragged::Pad,
                    _ => return Err(Invalid::Value("`refuse` or `pad`")),
                }
            }
            "strict" => self.open.read.strict = boolean(value)?,
            "skip_damaged" => self.skip_damaged = boolean(value)?,
            "memory" => {
                let bytes = number(value)?;
                self.memory = Some(bytes);
                self.writer.memory = bytes;
            }
            "dictionaries" => self.without_dictionaries = !boolean(value)?,
            "read_cost" => self.read_cost = Some(number(value)?),
            "level" => {
                let level = u8::try_from(number(value)?).ok();
                let level = level.filter(|&level| level <= WriteOptions::MAX_LEVEL);
                self.writer.encode.level = level.ok_or(Invalid::Value("a level from 0 to 12"))?;
            }
            "null_as" => self.writer.null_word = Some(value.to_owned()),
            "text" => {
                let kind = value.parse::<FileKind>().ok();
                let kind = kind.filter(|kind| kind.is_text() && kind.holds_tables());
                let kind = kind.ok_or(Invalid::Value("`csv`, `tsv` or `jsonl`"))?;
                self.archived_text = Some(kind.id());
            }
            "rows_per_group" => {
                let rows = usize::try_from(number(value)?).ok().and_then(NonZeroUsize::new);
                self.rows_per_group = Some(rows.ok_or(Invalid::Value("a number above 0"))?);
            }
            _ => return Err(Invalid::Key),
        }
        Ok(())
    }
}

/// Why an option cannot be set.
enum Invalid {
    Key,
    /// What was expected of the value.
    Value(&'static str),
}

fn boolean(value: &str) -> Result<bool, Invalid> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "1" | "on" | "yes" => Ok(true),
        "false" | "0" | "off" | "no" => Ok(false),
        _ => Err(Invalid::Value("`true` or `false`")),
    }
}

fn number(value: &str) -> Result<u64, Invalid> {
    value.parse().map_err(|_| Invalid::Value("a whole number"))
}

fn delimiter(value: &str) -> Result<u8, Invalid> {
    match value.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
        _ => Err(Invalid::Value("one ASCII character other than a quote or line end")),
    }
}

fn column_types(value: &str) -> Result<Vec<(String, RequestedType)>, Invalid> {
    const EXPECTED: Invalid = Invalid::Value("NAME=TYPE, such as `id=int64,price=decimal(10,2)`");
    let one = |part: &str| {
        let (name, of) = part.rsplit_once('=').ok_or(EXPECTED)?;
        Ok((name.trim().to_owned(), RequestedType::by_name(of.trim()).ok_or(EXPECTED)?))
    };
    // A comma in parentheses belongs to a type.
    let mut depth = 0_usize;
    let parts = value.split(move |c: char| {
        match c {
            '(' => depth = depth.saturating_add(1),
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    parts.map(one).collect()
}

/// Fails for options that only make sense for another kind of files.
pub(crate) fn check(kind: FileKind, options: &TableOptions) -> Result<()> {
    let archived = [
        ("text", options.archived_text.is_some()),
        ("rows_per_group", options.rows_per_group.is_some()),
    ];
    match archived.into_iter().find(|(_, is_set)| *is_set) {
        Some((name, _)) if kind.id() != FormatId::At1 => {
            return config_err!("option `{name}` is for AT1, not for {}", kind.name());
        }
        _ => {}
    }
    Ok::<(), DataFusionError>(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_option_can_be_set() {
        let values = [
            ("header", "false"),
            ("delimiter", ";"),
            ("null", "NA,-"),
            ("types", "id=int64, zip=text,price=decimal(10,2)"),
            ("infer", "numeric"),
            ("encoding", "latin1"),
            ("ragged", "pad"),
            ("strict", "true"),
            ("skip_damaged", "on"),
            ("memory", "1000000"),
            ("dictionaries", "no"),
            ("read_cost", "0"),
            ("level", "9"),
            ("null_as", "NA"),
            ("text", "jsonl"),
            ("rows_per_group", "1000"),
        ];
        let names: Vec<&str> = KNOWN_OPTIONS.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, values.map(|(name, _)| name));
        let settings =
            values.map(|(key, value)| (format!("format.{key}"), value.to_owned())).into();
        let options = TableOptions::try_new(&settings).unwrap();
        assert_eq!(options.open.text.null_words, ["NA", "-"]);
        assert_eq!(options.open.text.types.len(), 3);
        assert_eq!(options.writer.encode.level, 9);
        assert_eq!(options.archived_text, Some(FormatId::Jsonl));
        for (key, _) in values.iter().filter(|(key, _)| !["null", "null_as"].contains(key)) {
            let err = TableOptions::default().set(key, "?!").unwrap_err().to_string();
            assert!(err.contains(key) && err.contains("`?!`"), "{err}");
        }
        let err = TableOptions::default().set("colour", "red").unwrap_err().to_string();
        assert!(err.contains("`colour`") && err.contains("skip_damaged"), "{err}");
    }
}
