//! What a user can type.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use hypostyle::formats::at1::PackOptions;
use hypostyle::{Limits, ReadOptions, TextPolicy};

use crate::commands;
use crate::file_kind::FileKind;

/// Column files from the command line.
///
/// Reads and writes COLM, COLF, CLMN and columns of strings (.onpair), checks them,
/// shows what is inside, and converts them to and from CSV, TSV, JSON Lines, lines of
/// text, Parquet and Arrow. Packs files
/// into AT-1 archives, unpacks these, and shows the tables in them. The format of an input is found
/// by its content.
#[derive(Debug, Parser)]
#[command(name = "hyp", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 fine, 1 the data failed a check, 2 wrong usage, \
                        3 reading or writing failed, 4 corrupt or unsupported input, \
                        5 internal error: a bug in hyp, no output file was written.\n\n\
                        Start with `hyp demo`.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Convert a table from one format to another
    Convert(commands::convert::Args),
    /// Print rows of a table
    Cat(commands::cat::Args),
    /// Print single rows of a table by number
    Get(commands::get::Args),
    /// Print the first rows of a table
    Head(commands::head::Args),
    /// Print names and types of the columns
    Schema(commands::schema::Args),
    /// Show where the bytes of a column file go
    Inspect(commands::inspect::Args),
    /// Decode everything in column files and list what is wrong or unusual
    Verify(commands::verify::Args),
    /// Make small AT-1 archives of files, to be restored byte for byte
    Pack(commands::pack::Args),
    /// Add lines to AT-1 archives that can be queried
    Append(commands::append::Args),
    /// Restore the files in AT-1 archives, byte for byte
    Unpack(commands::unpack::Args),
    /// Measure what every codec here, xz, zstd, gzip and Parquet make of a file
    Bench(commands::bench::Args),
    /// A guided tour on a bundled sample
    Demo(commands::demo::Args),
    /// Print completions for a shell
    Completions(commands::completions::Args),
    /// Print the manual page
    Man(commands::man::Args),
}

/// How an input is read.
#[derive(Args, Clone, Debug)]
pub(crate) struct ReadArgs {
    /// Format of the input, where its content does not tell
    #[arg(long, value_name = "FORMAT")]
    pub(crate) from: Option<FileKind>,

    /// Refuse column files that depart from their spec in any way
    #[arg(long)]
    pub(crate) strict: bool,

    /// Text of column files that is not UTF-8: refuse it, replace what is bad, or
    /// read it as Java's modified UTF-8
    #[arg(long, value_enum, default_value_t = Text::Strict, value_name = "HOW")]
    pub(crate) text: Text,

    /// Most bytes that may be decoded at once, such as 512M or 16G
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "8G")]
    pub(crate) max_decoded: u64,

    /// Most bytes that one column or stream may become
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "4G")]
    pub(crate) max_block: u64,

    /// Most bytes that an archive may unpack to
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "64G")]
    pub(crate) max_output: u64,

    /// Threads to work with [default: one per core]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,

    #[command(flatten)]
    pub(crate) csv: CsvArgs,
}

impl ReadArgs {
    pub(crate) fn options(&self) -> ReadOptions {
        let limits = Limits::default()
            .with_read_bytes(self.max_decoded)
            .with_output_bytes(self.max_output)
            .with_block_bytes(self.max_block.min(self.max_decoded));
        ReadOptions::default()
            .with_limits(limits)
            .with_strict(self.strict)
            .with_text(self.text.into())
            .with_threads(self.threads)
            .with_header(!self.csv.no_header)
    }
}

/// How an archive is made: what is spent on it, and what queries get.
#[derive(Args, Debug)]
pub(crate) struct PackArgs {
    /// Rows that a query reads together [default: as few as cost little]
    #[arg(long, value_name = "N")]
    rows_per_group: Option<NonZeroUsize>,

    /// Leave out what tells a query where a text may be, and the checksums of blocks
    #[arg(long)]
    no_index: bool,

    /// Threads to work with; the archive is the same for any number [default: one per core]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    #[command(flatten)]
    level: Level,
}

impl PackArgs {
    pub(crate) fn threads(&self) -> Option<NonZeroUsize> {
        self.threads
    }

    pub(crate) fn options(&self) -> PackOptions {
        PackOptions::default()
            .with_level(self.level.number())
            .with_threads(self.threads)
            .with_rows_per_group(self.rows_per_group)
            .with_index(!self.no_index)
    }
}

/// The level, as compressors have it.
#[derive(Args, Debug)]
#[group(multiple = false)]
#[command(next_help_heading = "Level")]
struct Level {
    /// Quickest: zstd, and a quick choice of types
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
    /// The default; -2 to -8 are in between
    #[arg(short = '6')]
    six: bool,
    #[arg(short = '7', hide = true)]
    seven: bool,
    #[arg(short = '8', hide = true)]
    eight: bool,
    /// Smallest: searches several times as long
    #[arg(short = '9')]
    nine: bool,
}

impl Level {
    fn number(&self) -> u8 {
        let flags = [
            self.one, self.two, self.three, self.four, self.five, self.six, self.seven, self.eight,
            self.nine,
        ];
        let chosen = (1..).zip(flags).find(|&(_, chosen)| chosen);
        chosen.map_or(PackOptions::DEFAULT_LEVEL, |(level, _)| level)
    }
}

/// How a CSV or TSV input is read.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "CSV input")]
pub(crate) struct CsvArgs {
    /// The character between cells; `tab` and `\t` work too [default: , or tab for TSV].
    /// With it, a .txt is no lines, but cells
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    pub(crate) delimiter: Option<u8>,

    /// The first row holds values, not names; columns are column_1, column_2, ...
    #[arg(long)]
    pub(crate) no_header: bool,

    /// When a column becomes numbers: if every cell comes back exactly as it is, or
    /// if every cell can be read as a number
    #[arg(long, value_enum, default_value_t = Infer::Exact, value_name = "HOW")]
    pub(crate) infer: Infer,

    /// Make every column text
    #[arg(long, conflicts_with = "infer")]
    pub(crate) all_text: bool,

    /// Types of some columns: int32, int64, float64 or text
    #[arg(long, value_name = "NAME=TYPE", value_delimiter = ',', value_parser = column_type)]
    pub(crate) types: Vec<(String, ColumnType)>,

    /// A cell that means null, besides the empty one; may be given several times.
    /// For CSV output, the first one is printed for null
    #[arg(long, value_name = "TOKEN")]
    pub(crate) null: Vec<String>,

    /// Rows with too few cells: refuse the file, or fill them up
    #[arg(long, value_enum, default_value_t = Ragged::Refuse, value_name = "HOW")]
    pub(crate) ragged: Ragged,

    /// The encoding of the text
    #[arg(long, value_enum, default_value_t = Encoding::Utf8, value_name = "NAME")]
    pub(crate) encoding: Encoding,
}

/// How rows are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowFormat {
    Table,
    Csv,
    Tsv,
    Jsonl,
}

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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Infer {
    Exact,
    Numeric,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ragged {
    Refuse,
    Pad,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Encoding {
    Utf8,
    Latin1,
}

pub(crate) use hypostyle::formats::ColumnType;

/// Which columns.
#[derive(Args, Clone, Debug)]
pub(crate) struct ColumnArgs {
    /// Columns to print, in this order: names, or #1, #2, ... by position
    #[arg(long, short, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) columns: Option<Vec<String>>,

    /// One more column, whose name may hold commas; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) column: Vec<String>,
}

impl ColumnArgs {
    /// The names, if columns were chosen and all of them by name.
    pub(crate) fn names(&self) -> Option<Vec<String>> {
        let listed = self.columns.iter().flatten().filter(|name| !name.is_empty());
        let mut names: Vec<String> = listed.chain(&self.column).cloned().collect();
        names.sort_unstable();
        names.dedup();
        let by_name = names.iter().all(|name| !name.starts_with('#'));
        (!names.is_empty() && by_name).then_some(names)
    }
}

/// A file to read, or `-`.
#[derive(Args, Clone, Debug)]
pub(crate) struct FileArg {
    /// The file to read; - for standard input
    pub(crate) file: PathBuf,
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        "space" => Ok(b' '),
        _ => match text.as_bytes() {
            [byte] if !matches!(byte, b'"' | b'\n' | b'\r') && byte.is_ascii() => Ok(*byte),
            _ => Err("must be one ASCII character, and no quote or line end".to_owned()),
        },
    }
}

fn column_type(text: &str) -> Result<(String, ColumnType), String> {
    // Names may hold `=`, types do not.
    let (name, name_of_type) = text.rsplit_once('=').ok_or("must be NAME=TYPE")?;
    let cell_type = ColumnType::by_name(name_of_type)
        .ok_or_else(|| format!("`{name_of_type}` is not int32, int64, float64 or text"))?;
    Ok((name.to_owned(), cell_type))
}

pub(crate) fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text.get(digits.len()..).unwrap_or("").to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        unit => return Err(format!("`{unit}` is no unit: use K, M, G or T")),
    };
    let number: u64 = digits.parse().map_err(|_| "must be a number, such as 512M".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| "is too large".to_owned())
}

/// Rows as `A..B`, from 0, without B; either end may be left out.
pub(crate) fn row_range(text: &str) -> Result<std::ops::Range<u64>, String> {
    let (from, to) = text.split_once("..").ok_or("must be A..B, such as 100..200")?;
    let number = |text: &str, default| match text.trim() {
        "" => Ok(default),
        text => text.parse().map_err(|_| format!("`{text}` is not a row number")),
    };
    let (from, to) = (number(from, 0)?, number(to, u64::MAX)?);
    if from > to {
        return Err(format!("{from} comes after {to}"));
    }
    Ok(from..to)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes_and_ranges_are_read_as_people_write_them() {
        assert_eq!(size("512M"), Ok(512 << 20));
        assert_eq!(size("1GiB"), Ok(1 << 30));
        assert_eq!(size("7"), Ok(7));
        assert!(size("1X").is_err());
        assert!(size("99999999999T").is_err());
        assert_eq!(row_range("5..9"), Ok(5..9));
        assert_eq!(row_range("..9"), Ok(0..9));
        assert_eq!(row_range("5.."), Ok(5..u64::MAX));
        assert!(row_range("9..5").is_err());
        assert!(row_range("9").is_err());
        assert_eq!(column_type("a=b=int").map(|(name, _)| name), Ok("a=b".to_owned()));
    }
}
