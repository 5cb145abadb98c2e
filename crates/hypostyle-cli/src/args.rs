//! Arguments that several commands share, and the parsers of their values.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
#[cfg(feature = "remote")]
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use hypostyle::formats::at1::PackOptions;
use hypostyle::text::{self, TextOptions};
use hypostyle::{FileKind, FormatId, Limits, OpenOptions, ReadOptions, TextPolicy};

use crate::failure::{Failure, InFile, Result};

use hypostyle::formats::RequestedType;

/// One input file, or `-`.
#[derive(Args, Clone, Debug)]
pub(crate) struct FileArg {
    /// The file to read, or its URL; - reads standard input
    pub(crate) file: PathBuf,
}

/// How an input is read.
#[derive(Args, Clone, Debug)]
pub(crate) struct ReadArgs {
    /// Format of the input, instead of detecting it from the content
    #[arg(long, value_name = "FORMAT", value_parser = file_kind())]
    pub(crate) from: Option<FileKind>,

    /// Reject column files that deviate from their specification
    #[arg(long)]
    pub(crate) strict: bool,

    /// What to do with invalid UTF-8 in column files: reject it, replace invalid bytes, or
    /// decode it as Java's modified UTF-8
    #[arg(long, value_enum, default_value_t = Text::Strict, value_name = "HOW")]
    pub(crate) text: Text,

    /// Maximum number of bytes to decode at once, such as 512M or 16G
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "8G")]
    pub(crate) max_decoded: u64,

    /// Maximum decompressed size of one column or stream
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "4G")]
    pub(crate) max_block: u64,

    /// Maximum unpacked size of an archive
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "64G")]
    pub(crate) max_output: u64,

    /// Maximum size of column tables, schemas and lists of frames
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "256M")]
    max_header: u64,

    /// Maximum number of columns of a text, and of keys of its objects
    #[arg(long, value_name = "N", default_value_t = 1 << 20)]
    max_columns: u64,

    /// Maximum size of one row of a text
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "2G")]
    max_row: u64,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    pub(crate) csv: CsvArgs,

    #[cfg(feature = "remote")]
    #[command(flatten)]
    pub(crate) servers: ServerArgs,
}

impl ReadArgs {
    pub(crate) fn threads(&self) -> Option<NonZeroUsize> {
        self.threads.count()
    }

    pub(crate) fn options(&self) -> ReadOptions {
        let limits = Limits::default()
            .with_read_bytes(self.max_decoded)
            .with_output_bytes(self.max_output)
            .with_block_bytes(self.max_block.min(self.max_decoded))
            .with_header_bytes(self.max_header)
            .with_columns(self.max_columns)
            .with_row_bytes(self.max_row);
        ReadOptions::default()
            .with_limits(limits)
            .with_strict(self.strict)
            .with_text(self.text.into())
            .with_threads(self.threads())
            .with_header(!self.csv.no_header)
    }

    /// Returns how a table is opened whose file has this name.
    pub(crate) fn open_options(&self, name: Option<&str>) -> OpenOptions {
        let mut options = OpenOptions::default().with_read(self.options());
        options.name = name.map(str::to_owned);
        options.format = self.from.map(FormatId::from);
        options.with_text(self.csv.options())
    }
}

/// Returns a parser of the names of all kinds of files.
pub(crate) fn file_kind() -> impl TypedValueParser<Value = FileKind> {
    let value = |kind: FileKind| match kind.id() {
        FormatId::Txt => PossibleValue::new(kind.name()).help("One column of lines"),
        _ => PossibleValue::new(kind.name()),
    };
    let names: Vec<PossibleValue> = FileKind::all().map(value).collect();
    PossibleValuesParser::new(names).try_map(|name| name.parse::<FileKind>())
}

/// How many threads a command uses.
#[derive(Args, Clone, Copy, Debug)]
struct ThreadArgs {
    /// Number of threads, 0 for one per core; the output does not depend on it [default: 0]
    #[arg(long, short = 'T', value_name = "N")]
    threads: Option<usize>,
}

impl ThreadArgs {
    fn count(self) -> Option<NonZeroUsize> {
        self.threads.and_then(NonZeroUsize::new)
    }
}

/// How long servers are waited for.
#[cfg(feature = "remote")]
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "URLs")]
pub(crate) struct ServerArgs {
    /// Longest time to wait for bytes from a server, such as 30s or 500ms
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30s")]
    timeout: Duration,

    /// How often to repeat a request that failed, within three minutes
    #[arg(long, value_name = "N", default_value_t = 10)]
    retries: usize,
}

#[cfg(feature = "remote")]
impl ServerArgs {
    pub(crate) fn settings(self) -> hypostyle_remote::Settings {
        hypostyle_remote::Settings::default().with_timeout(self.timeout).with_retries(self.retries)
    }
}

/// Whether a command reports success.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct QuietArg {
    /// Print nothing on success
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// How output files are written.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct WriteArgs {
    /// Overwrite output files that exist
    #[arg(long, short)]
    pub(crate) force: bool,

    #[command(flatten)]
    report: QuietArg,
}

impl WriteArgs {
    pub(crate) fn is_quiet(self) -> bool {
        self.report.quiet
    }
}

/// Flags that users of xz, gzip and zstd type.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "As in xz")]
pub(crate) struct HabitArgs {
    /// Keep the input; hyp always does
    #[arg(long, short, conflicts_with = "rm")]
    keep: bool,

    /// Remove the input once the output is complete
    #[arg(long)]
    rm: bool,

    /// Say what was written; hyp always does without -q
    #[arg(long, short, conflicts_with = "quiet")]
    verbose: bool,
}

impl HabitArgs {
    /// Removes an input of which the output is complete, if the user asked for it.
    pub(crate) fn remove_input(self, path: &Path, is_stdout: bool) -> Result<()> {
        if !self.rm || is_stdout || path.as_os_str() == "-" {
            return Ok(());
        }
        if path.is_dir() {
            let why = "--rm removes no folders: remove it yourself";
            return Err(Failure::usage(why).in_file(path.display()));
        }
        fs::remove_file(path).in_file(path.display())
    }
}

/// Returns whether an output is a folder, or is written as one: `out/`.
pub(crate) fn names_folder(output: &Path) -> bool {
    let text = output.as_os_str().to_string_lossy();
    output.is_dir() || text.ends_with(std::path::is_separator)
}

/// Where the output of a command with several inputs goes, and how it is written.
#[derive(Args, Debug)]
pub(crate) struct OutputArgs {
    /// The file to write, or the folder if there are several files to write
    #[arg(long, short, value_name = "OUT")]
    output: Option<PathBuf>,

    /// Write to standard output
    #[arg(long, short = 'c', conflicts_with = "output")]
    pub(crate) stdout: bool,

    #[command(flatten)]
    pub(crate) write: WriteArgs,
}

impl OutputArgs {
    /// Returns the path of one output, `-` for standard output.
    ///
    /// The path is `default` unless the user named one. If `is_folder` says so of the named
    /// path, the output goes into that folder, under the file name of `default`.
    pub(crate) fn path(
        &self,
        is_folder: impl FnOnce(&Path) -> bool,
        default: impl FnOnce() -> Result<PathBuf>,
    ) -> Result<PathBuf> {
        if self.stdout {
            return Ok("-".into());
        }
        let Some(output) = &self.output else { return default() };
        if !is_folder(output) {
            return Ok(output.clone());
        }
        let default = default()?;
        fs::create_dir_all(output).in_file(output.display())?;
        Ok(output.join(default.file_name().unwrap_or_default()))
    }
}

/// How an archive is packed: effort, threads, and what queries can use.
#[derive(Args, Debug)]
pub(crate) struct PackArgs {
    /// Rows in each row group, the unit that a query reads [default: as few as cost little]
    #[arg(long, value_name = "N")]
    rows_per_group: Option<NonZeroUsize>,

    /// Omit row groups, search indexes and checksums of blocks, unless the codec needs them
    #[arg(long)]
    no_index: bool,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    level: LevelArgs,
}

impl PackArgs {
    pub(crate) fn threads(&self) -> Option<NonZeroUsize> {
        self.threads.count()
    }

    pub(crate) fn options(&self) -> PackOptions {
        PackOptions::default()
            .with_level(self.level.number())
            .with_threads(self.threads())
            .with_rows_per_group(self.rows_per_group)
            .with_index(!self.no_index)
    }
}

/// The compression level as a flag, `-1` to `-9`.
#[derive(Args, Debug)]
#[group(multiple = false)]
#[command(next_help_heading = "Level")]
struct LevelArgs {
    /// Fastest: zstd, with a quick choice of encodings
    #[arg(short = '1')]
    one: bool,
    #[arg(short = '2', hide = true)]
    two: bool,
    #[arg(short = '3', hide = true)]
    three: bool,
    #[arg(short = '4', hide = true)]
    four: bool,
    #[arg(short = '5', hide = true)]
    five: bool,
    /// Default; -2 to -8 lie in between
    #[arg(short = '6')]
    six: bool,
    #[arg(short = '7', hide = true)]
    seven: bool,
    #[arg(short = '8', hide = true)]
    eight: bool,
    /// Smallest: takes several times as long
    #[arg(short = '9')]
    nine: bool,
}

impl LevelArgs {
    fn number(&self) -> u8 {
        let flags = [
            self.one, self.two, self.three, self.four, self.five, self.six, self.seven, self.eight,
            self.nine,
        ];
        let chosen = (1..).zip(flags).find(|&(_, chosen)| chosen);
        chosen.map_or(PackOptions::DEFAULT_LEVEL, |(level, _)| level)
    }
}

/// How CSV and TSV input is parsed.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "CSV input")]
pub(crate) struct CsvArgs {
    /// Split cells at this character, also `tab`, `\t` or `space`; parse .txt as delimited cells
    /// [default: , or tab for TSV]
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    pub(crate) delimiter: Option<u8>,

    /// Treat the first row as values; name the columns column_1, column_2, ...
    #[arg(long)]
    pub(crate) no_header: bool,

    /// When a column gets a type [default: values if Parquet or Arrow is written, exact otherwise]
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) infer: Option<Infer>,

    /// Make every column text
    #[arg(long, conflicts_with = "infer")]
    pub(crate) all_text: bool,

    /// Set the types of columns: int32, int64, float64, text, boolean, date, timestamp, timestamptz
    /// or decimal(P,S)
    #[arg(long, value_name = "NAME=TYPE,...", value_parser = column_types)]
    types: Vec<ColumnTypes>,

    /// Read this cell as null, besides the empty cell; can be repeated. CSV output prints the
    /// first one for null [default: NA, NULL, \\N, - and the like, in columns of other types than
    /// text; an empty TOKEN turns that off]
    #[arg(long, value_name = "TOKEN")]
    pub(crate) null: Vec<String>,

    /// What to do with rows that have too few cells: reject the file, or pad them with nulls
    #[arg(long, value_enum, default_value_t = Ragged::Refuse, value_name = "HOW")]
    pub(crate) ragged: Ragged,

    /// Encoding of the text
    #[arg(long, value_enum, default_value_t = Encoding::Utf8, value_name = "NAME")]
    pub(crate) encoding: Encoding,
}

impl CsvArgs {
    /// Returns the types that the user set.
    pub(crate) fn column_types(&self) -> Vec<(String, RequestedType)> {
        self.types.iter().flat_map(|types| types.0.iter().cloned()).collect()
    }

    fn options(&self) -> TextOptions {
        let mut options = TextOptions::default();
        options.delimiter = self.delimiter;
        options.header = self.no_header.then_some(false);
        options.ragged = match self.ragged {
            Ragged::Refuse => text::Ragged::Refuse,
            Ragged::Pad => text::Ragged::Pad,
        };
        options.encoding = match self.encoding {
            Encoding::Utf8 => text::Encoding::Utf8,
            Encoding::Latin1 => text::Encoding::Latin1,
        };
        options.infer = match (self.all_text, self.infer) {
            (true, _) => text::Infer::Text,
            (false, None | Some(Infer::Exact)) => text::Infer::Exact,
            (false, Some(Infer::Values)) => text::Infer::Values,
            (false, Some(Infer::Numeric)) => text::Infer::Numeric,
        };
        options.types = self.column_types();
        options.null_words.clone_from(&self.null);
        options
    }
}

/// What to do with invalid UTF-8 in column files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Text {
    Strict,
    Lossy,
    Java,
}

impl From<Text> for TextPolicy {
    fn from(text: Text) -> Self {
        match text {
            Text::Strict => Self::Strict,
            Text::Lossy => Self::Lossy,
            Text::Java => Self::Java,
        }
    }
}

/// When a column of text becomes numeric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Infer {
    /// If every cell is printed as it was
    Exact,
    /// Also if every cell is a number and some have fractions: `1` beside `2.5`, but not `00501`
    Values,
    /// Also if every cell parses as a number
    Numeric,
}

/// What to do with rows that have too few cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ragged {
    Refuse,
    Pad,
}

/// The encoding of text input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Encoding {
    Utf8,
    Latin1,
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        "space" => Ok(b' '),
        _ => match text.as_bytes() {
            [byte] if !matches!(byte, b'"' | b'\n' | b'\r') && byte.is_ascii() => Ok(*byte),
            _ => Err("must be one ASCII character other than a quote or line end".to_owned()),
        },
    }
}

/// The types of some columns.
#[derive(Clone, Debug)]
struct ColumnTypes(Vec<(String, RequestedType)>);

/// Parses a list of types; a comma in parentheses does not end one.
fn column_types(text: &str) -> Result<ColumnTypes, String> {
    let mut depth = 0_usize;
    let parts = text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    parts.map(column_type).collect::<Result<_, _>>().map(ColumnTypes)
}

fn column_type(text: &str) -> Result<(String, RequestedType), String> {
    // Names may contain `=`, types do not.
    let (name, type_name) = text.rsplit_once('=').ok_or("must be NAME=TYPE")?;
    let column_type = RequestedType::by_name(type_name)
        .ok_or_else(|| format!("`{type_name}` is not {}", RequestedType::NAMES))?;
    Ok((name.to_owned(), column_type))
}

/// Parses a number of bytes with an optional unit, such as `512M`.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text.get(digits.len()..).unwrap_or("").to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        unit => return Err(format!("unknown unit `{unit}`: use K, M, G or T")),
    };
    let number: u64 = digits.parse().map_err(|_| "must be a number, such as 512M".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| "is too large".to_owned())
}

/// Parses a time with a unit, such as `30s`; without one it is in seconds.
#[cfg(feature = "remote")]
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..).unwrap_or("") {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        unit => return Err(format!("unknown unit `{unit}`: use ms, s or m")),
    };
    let number: f64 = digits.parse().map_err(|_| "must be a time, such as 30s".to_owned())?;
    match Duration::try_from_secs_f64(number * unit) {
        Ok(time) if time >= Duration::from_millis(1) => Ok(time),
        _ => Err("must be a time of at least 1ms".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "remote")]
    #[test]
    fn times_have_units() {
        assert_eq!(duration("30"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("0.5s"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for wrong in ["", "0", "-1s", "1h", "inf", "NaN", "1e400"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_and_types_are_read_as_people_write_them() {
        assert_eq!(size("512M"), Ok(512 << 20));
        assert_eq!(size("1GiB"), Ok(1 << 30));
        assert_eq!(size("7"), Ok(7));
        assert!(size("1X").is_err());
        assert!(size("99999999999T").is_err());
        let types = column_types("a=int,b (x)=decimal(10,2),c=date").unwrap().0;
        let names: Vec<&str> = types.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "b (x)", "c"]);
        assert_eq!(types.get(1).map(|it| it.1), Some(RequestedType::Decimal(10, 2)));
        assert!(column_types("a=decimal(50,2)").is_err());
        assert_eq!(column_type("a=b=int").map(|(name, _)| name), Ok("a=b".to_owned()));
    }
}
