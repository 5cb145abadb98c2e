//! `hyp pack`: files and folders into AT-1 archives that restore them byte for byte.

mod folder;

use std::fs;
use std::io::{self, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use hypostyle::formats::at1::{self, Choice, Layout, Outcome, PackOptions, Packed, Trial};

use super::Status;
use crate::cli::PackArgs;
use crate::failure::{Failure, InFile, Result};
use crate::input::{Input, is_dash, name_of};
use crate::output::{Out, Progress, Target};

/// A file that is larger is packed frame by frame, so that it need not fit memory.
pub(crate) const WHOLE: u64 = 1 << 30;

/// Standard input that ends within so many bytes is packed as a file would be.
const SMALL: u64 = 64 << 20;

/// Arguments of `hyp pack`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hyp pack data.csv                       writes data.csv.at1
  hyp pack -9 *.csv -o packed             writes every archive into the folder packed
  hyp pack folder                         writes folder.at1, a bundle of all files in it
  hyp pack data.csv --compare             says what xz -9e would make of it
  hyp pack --explain server.log           says what was tried, and what each would take
  hyp pack --query data.csv               can be asked: hyp cat data.csv.at1 --where 'price > 10'
  mysqldump ... | hyp pack - -o dump.at1
  hyp unpack data.csv.at1 -c | cmp - data.csv

Tables are taken apart into columns; what is no table is compressed as it is. An archive is unpacked
and compared with the original before it gets its name. The original is kept.

A folder becomes a bundle of up to 255 files, each packed as it would be by itself, with permissions
and times. Links and special files are left out with a warning and exit code 1; folders without
files are not kept.")]
pub(crate) struct Args {
    /// The files and folders; - for standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// The archive to write, or the folder for several of them
    #[arg(long, short, value_name = "OUT")]
    output: Option<PathBuf>,

    /// Write to standard output
    #[arg(long, short = 'c', conflicts_with = "output")]
    stdout: bool,

    /// Overwrite archives that exist
    #[arg(long, short)]
    force: bool,

    /// Say nothing when all is well
    #[arg(long, short)]
    quiet: bool,

    /// How the content is taken apart
    #[arg(long, value_enum, default_value_t = Codec::AUTO, value_name = "CODEC")]
    codec: Codec,

    /// Make an archive that can be queried without unpacking it, if a little larger
    #[arg(long, conflicts_with = "codec")]
    query: bool,

    /// Pack frame by frame, with memory for a few frames; so are files above 1 GiB
    #[arg(long)]
    stream: bool,

    /// Lines in a frame
    #[arg(long, value_name = "N", default_value_t = PackOptions::CHUNK_LINES)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    chunk_lines: u64,

    /// What the archive follows: what decoders really read, or the published text to
    /// the letter (xz only, no hash)
    #[arg(long, value_enum, default_value_t = Dialect::Reference, value_name = "WHICH")]
    dialect: Dialect,

    /// Say what `xz -9e` would take; as slow as that is
    #[arg(long)]
    compare: bool,

    /// Say which codecs were tried, what each would take, and why the winner won
    #[arg(long, conflicts_with = "quiet")]
    explain: bool,

    #[command(flatten)]
    pack: PackArgs,
}

/// How the content is taken apart: a codec, or whichever is best.
#[derive(Clone, Copy, Debug)]
struct Codec(Choice);

impl Codec {
    const AUTO: Self = Self(Choice::Auto);
}

impl ValueEnum for Codec {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<Codec>> = LazyLock::new(|| {
            let one = at1::Codec::ALL.into_iter().filter(|&codec| codec != at1::Codec::Bundle);
            let one = one.map(|codec| Codec(Choice::Only(codec)));
            std::iter::once(Codec::AUTO).chain(one).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self.0 {
            Choice::Only(codec) => PossibleValue::new(codec.name()).help(codec.about()),
            _ => PossibleValue::new("auto").help("Whatever makes the smallest archive"),
        })
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Dialect {
    /// A compression for each stream, and a hash at the end
    Reference,
    /// As the format was first published
    Published,
}

impl Args {
    fn options(&self) -> PackOptions {
        self.pack
            .options()
            .with_chunk_lines(self.chunk_lines)
            .with_codec(if self.query { Choice::Query } else { self.codec.0 })
            .with_layout(match self.dialect {
                Dialect::Reference => Layout::Reference,
                Dialect::Published => Layout::Published,
            })
    }

    /// Where the archive of a file goes.
    fn target(&self, path: &Path) -> Result<PathBuf> {
        if self.stdout {
            return Ok("-".into());
        }
        let named = || {
            // Neither do `.` and `..`; what `folder/` is called ends before the slash.
            if is_dash(path) || path.file_name().is_none() {
                return Err(Failure::usage("has no name: give one with -o, or write with -c"));
            }
            let mut name = path.components().as_path().as_os_str().to_owned();
            name.push(".at1");
            Ok(PathBuf::from(name))
        };
        let Some(output) = &self.output else { return named() };
        if self.files.len() == 1 && !output.is_dir() {
            return Ok(output.clone());
        }
        let named = named()?;
        fs::create_dir_all(output).in_file(output.display())?;
        Ok(output.join(named.file_name().unwrap_or_default()))
    }
}

/// Packs every file; the first failure ends it.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    if args.stdout && args.files.len() > 1 {
        return Err(Failure::usage("-c writes one archive: give one file"));
    }
    let mut worst = Status::Fine;
    for path in &args.files {
        let status = match !is_dash(path) && path.is_dir() {
            true => folder::pack(path, args, out),
            false => one(path, args, out).map(|()| Status::Fine),
        };
        worst = worst.max(status.map_err(|failure| failure.in_file(name_of(path)))?);
    }
    Ok(worst)
}

fn one(path: &Path, args: &Args, out: &mut dyn Out) -> Result<()> {
    let place = args.target(path)?;
    let target = Target::create(&place, true, args.force, out)?;
    let input = Input::open(path)?;
    let size = input.size()?;
    let mut text = input.into_read();
    let mut start = Vec::new();
    let whole = !args.stream
        && match size {
            Some(size) => size <= WHOLE,
            None => text.by_ref().take(SMALL).read_to_end(&mut start)? < as_size(SMALL),
        };
    let options = args.options();
    let mut packed = None;
    let mut rival = None;
    target.stream(out, |sink| {
        let shown = format!("packing {}", name_of(path));
        if whole {
            text.read_to_end(&mut start)?;
            let progress = Progress::bytes(&shown, 0);
            progress.set(start.len() as u64);
            let (archive, done) = at1::pack(&start, &options)?;
            sink.write_all(&archive)?;
            packed = Some(done);
            if args.compare {
                rival = Some(at1::xz_size(&start)?);
            }
            return Ok(());
        }
        let progress = Progress::bytes(&shown, size.unwrap_or_default());
        let all = Cursor::new(std::mem::take(&mut start)).chain(text);
        packed = Some(at1::pack_stream(all, sink, &options, |read, _| progress.set(read))?);
        Ok(())
    })?;
    if let Some(packed) = packed
        && !args.quiet
    {
        let mut line = summary(&place, &packed, rival, args);
        if args.explain {
            line += &explained(&packed, args.options().codec);
        }
        tell(&place, &line, out)?;
    }
    Ok(())
}

/// Prints what came of packing. Standard output may be where the archive goes.
fn tell(place: &Path, line: &str, out: &mut dyn Out) -> Result<()> {
    if is_dash(place) {
        io::stderr().write_all(line.as_bytes())?;
    } else {
        out.write_all(line.as_bytes())?;
    }
    Ok(())
}

/// A part in hundredths of a whole.
fn share(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / (whole.max(1)) as f64
}

fn summary(place: &Path, packed: &Packed, rival: Option<u64>, args: &Args) -> String {
    let &Packed { codec, original, stored, frames, .. } = packed;
    let mut line = String::new();
    if !is_dash(place) {
        line += &format!("{}: ", place.display());
    }
    line += &format!("{original} bytes to {stored}, {:.1} %, {codec}", share(stored, original));
    if frames.0 != 1 {
        line += &format!(", {} frames", frames.0);
    }
    if args.options().codec.is_queryable() && !codec.has_groups() {
        line += ", cannot be queried: it has neither rows of fields nor objects";
    }
    line + &compared(stored, rival, "takes", args) + "\n"
}

/// How an archive compares with what xz would take, if that was asked for.
fn compared(stored: u64, rival: Option<u64>, takes: &str, args: &Args) -> String {
    match rival {
        Some(rival) => {
            let times = share(stored, rival) / 100.0;
            format!("; xz -9e {takes} {rival}, of which this is {times:.3}")
        }
        None if args.compare => "; too large to compare with xz".to_owned(),
        None => String::new(),
    }
}

/// What was tried, the winner first, and what came of it.
fn explained(packed: &Packed, choice: Choice) -> String {
    let Packed { codec: winner, trials, frames, .. } = packed;
    if trials.is_empty() || choice == Choice::Only(*winner) {
        let why = if choice == Choice::Query { "it can be queried" } else { "it was asked for" };
        return format!("  {winner}: {why}, nothing else was tried\n");
    }
    let least = trials.iter().filter_map(|trial| match trial.outcome {
        Outcome::Made(bytes) if trial.codec == *winner => Some(bytes),
        _ => None,
    });
    let least = least.min().unwrap_or_default();
    let mut lines = Vec::new();
    let mut unlike = Vec::new();
    for &Trial { codec, form, outcome } in trials {
        let (order, what) = match outcome {
            Outcome::Unlike => {
                // A codec may be tried in more ways than one.
                let other = |it: &Trial| it.codec == codec && it.outcome != Outcome::Unlike;
                if !trials.iter().any(other) && !unlike.contains(&codec.name()) {
                    unlike.push(codec.name());
                }
                continue;
            }
            Outcome::Made(bytes) if codec == *winner && bytes == least => {
                (0, format!("{bytes:>12} bytes  the smallest"))
            }
            Outcome::Made(bytes) => (bytes, format!("{bytes:>12} bytes")),
            Outcome::Sampled { bytes, stored } => {
                let what = format!("{stored:>12} bytes  of a sample of {bytes}; others took less");
                (u64::MAX - 2, what)
            }
            Outcome::GivenUp => {
                (u64::MAX - 1, format!("{:>18}  given up when it was clear to take more", ""))
            }
            _ => (u64::MAX, format!("{:>18}  does not fit the content", "")),
        };
        let name = if form.is_empty() { codec.to_string() } else { format!("{codec}, {form}") };
        lines.push((order, format!("  {name:<17} {what}\n")));
    }
    lines.sort();
    let mut out: String = lines.into_iter().map(|(_, line)| line).collect();
    if !unlike.is_empty() {
        out += &format!("  not tried, the content is not like it: {}\n", unlike.join(", "));
    }
    if frames.0 > 1 {
        out += "  this was for the first frame; the others have its codec, or none\n";
    }
    out
}

fn as_size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
