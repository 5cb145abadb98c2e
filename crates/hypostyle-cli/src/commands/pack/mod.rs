//! `hyp pack`: packs files and folders into AT-1 archives.
//!
//! This file packs single files; `folder` packs a folder into a bundle, and `on_cluster` packs files on
//! a cluster. Both unpack what they
//! packed and compare it (in the library) before the archive gets its name.

mod folder;
#[cfg(feature = "cluster")]
mod on_cluster;

use std::io::{self, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use hypostyle::formats::at1::{self, Choice, Layout, Outcome, PackOptions, Packed, Trial};

use super::Status;
use super::cluster::ClusterArgs;
use crate::args::{OutputArgs, PackArgs};
use crate::failure::{Failure, Result};
use crate::input::Input;
use crate::output::{Out, Progress, Target, plain_lines};
use crate::path_arg::{input_name, is_dash};

/// Larger files are packed frame by frame, so they need not fit in memory.
pub(crate) const MAX_IN_MEMORY_BYTES: u64 = 1 << 30;

/// Shorter standard input is packed in memory, like a file.
const MAX_BUFFERED_STDIN_BYTES: u64 = 64 << 20;

/// Arguments of `hyp pack`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hyp pack data.csv                       write data.csv.at1
  hyp pack -9 *.csv -o packed             write all archives to the folder packed
  hyp pack folder                         write folder.at1, a bundle of all files in the folder
  hyp pack data.csv --compare             print the size that xz -9e reaches
  hyp pack --explain server.log           print the size that each codec reaches
  hyp cat data.csv.at1 --where 'price > 10'
  hyp pack --query data.csv               finer row groups: queries read less, the archive grows
  mysqldump ... | hyp pack - -o dump.at1
  hyp pack --cluster df://host:50050 /data/*.log -o /data/packed
  hyp unpack data.csv.at1 -c | cmp - data.csv

hyp splits tables, logs and JSON into columns and compresses other content as it is. Before it
names an archive, it unpacks the archive and compares it with the original. It keeps the original.

Tables are stored in row groups with statistics, so that queries and hyp get read a part of the
archive. That costs about two percent of its size; --no-index saves them.

A folder becomes a bundle of up to 255 files with their permissions and times; each file is packed
separately. hyp leaves out links and special files with a warning and exit code 1, and does not
store folders without files.")]
pub(crate) struct Args {
    /// The files and folders to pack; - reads standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,

    /// How to split the content into streams
    #[arg(long, value_enum, default_value_t = CodecArg::AUTO, value_name = "CODEC")]
    codec: CodecArg,

    /// Use smaller row groups, so that queries read less, at a small cost in size
    #[arg(long, conflicts_with = "codec")]
    query: bool,

    /// Pack frame by frame, with memory for a few frames; default above 1 GiB
    #[arg(long)]
    stream: bool,

    /// Lines in each frame
    #[arg(long, value_name = "N", default_value_t = PackOptions::CHUNK_LINES)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    chunk_lines: u64,

    /// Layout of the archive: the one that decoders read, or the published specification to the
    /// letter (xz only, no hash)
    #[arg(long, value_enum, default_value_t = LayoutArg::Reference, value_name = "WHICH")]
    dialect: LayoutArg,

    /// Print the size that `xz -9e` reaches; takes as long as xz does
    #[arg(long, conflicts_with = "cluster")]
    compare: bool,

    /// Print which codecs were tried, the size that each reaches, and why one was chosen
    #[arg(long, conflicts_with_all = ["quiet", "cluster"])]
    explain: bool,

    #[command(flatten)]
    pack: PackArgs,

    #[command(flatten)]
    cluster: ClusterArgs,
}

/// The value of `--codec`: a codec, or `auto`.
#[derive(Clone, Copy, Debug)]
struct CodecArg(Choice);

impl CodecArg {
    const AUTO: Self = Self(Choice::Auto);
}

impl ValueEnum for CodecArg {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<CodecArg>> = LazyLock::new(|| {
            let single = at1::Codec::ALL.into_iter().filter(|&codec| codec != at1::Codec::Bundle);
            let single = single.map(|codec| CodecArg(Choice::Only(codec)));
            std::iter::once(CodecArg::AUTO).chain(single).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self.0 {
            Choice::Only(codec) => PossibleValue::new(codec.name()).help(codec.about()),
            _ => {
                PossibleValue::new("auto").help("Choose the codec that makes the smallest archive")
            }
        })
    }
}

/// The value of `--dialect`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum LayoutArg {
    /// Compress each stream with its own backend, and append a hash
    Reference,
    /// Follow the published specification
    Published,
}

impl Args {
    fn options(&self) -> PackOptions {
        self.pack
            .options()
            .with_chunk_lines(self.chunk_lines)
            .with_codec(if self.query { Choice::Query } else { self.codec.0 })
            .with_layout(match self.dialect {
                LayoutArg::Reference => Layout::Reference,
                LayoutArg::Published => Layout::Published,
            })
    }

    /// Returns the path of the archive of a file.
    fn target(&self, path: &Path) -> Result<PathBuf> {
        let is_folder = |output: &Path| self.files.len() > 1 || output.is_dir();
        self.output.path(is_folder, || {
            // `.` and `..` have no name either.
            if is_dash(path) || path.file_name().is_none() {
                return Err(Failure::usage("has no name: give one with -o, or write with -c"));
            }
            // `components` drops the slash of `folder/`.
            let mut name = path.components().as_path().as_os_str().to_owned();
            name.push(".at1");
            Ok(PathBuf::from(name))
        })
    }
}

/// Packs every file; stops at the first failure.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    if args.output.stdout && args.files.len() > 1 {
        return Err(Failure::usage("-c writes one archive: name one file"));
    }
    #[cfg(feature = "cluster")]
    if let Some(cluster) = args.cluster.open()? {
        return on_cluster::run(args, &cluster, out);
    }
    #[cfg(not(feature = "cluster"))]
    args.cluster.open()?;
    let mut worst = Status::Fine;
    for path in &args.files {
        let status = if !is_dash(path) && path.is_dir() {
            folder::pack(path, args, out)
        } else {
            pack_file(path, args, out).map(|()| Status::Fine)
        };
        worst = worst.max(status.map_err(|failure| failure.in_file(input_name(path)))?);
    }
    Ok(worst)
}

fn pack_file(path: &Path, args: &Args, out: &mut dyn Out) -> Result<()> {
    let place = args.target(path)?;
    let target = Target::create(&place, true, args.output.write.force, out)?;
    let input = Input::open(path)?;
    let target = target.with_attributes(input.attributes()?);
    let size = input.size()?;
    let mut text = input.into_read()?;
    let mut start = Vec::new();
    let whole = !args.stream
        && match size {
            Some(size) => size <= MAX_IN_MEMORY_BYTES,
            None => {
                text.by_ref().take(MAX_BUFFERED_STDIN_BYTES).read_to_end(&mut start)?
                    < as_size(MAX_BUFFERED_STDIN_BYTES)
            }
        };
    let file_name = path.file_name().filter(|_| !is_dash(path)).and_then(|name| name.to_str());
    let options = args.options().with_name(file_name);
    let mut packed = None;
    let mut xz_bytes = None;
    target.stream(out, |sink| {
        let message = format!("packing {}", input_name(path));
        if whole {
            text.read_to_end(&mut start)?;
            let progress = Progress::bytes(&message, 0);
            progress.set(start.len() as u64);
            let (archive, done) = at1::pack(&start, &options)?;
            sink.write_all(&archive)?;
            packed = Some(done);
            if args.compare {
                xz_bytes = Some(at1::xz_size(&start)?);
            }
            return Ok(());
        }
        let progress = Progress::bytes(&message, size.unwrap_or_default());
        let all = Cursor::new(std::mem::take(&mut start)).chain(text);
        packed = Some(at1::pack_stream(all, sink, &options, |read, _| progress.set(read))?);
        Ok(())
    })?;
    if let Some(packed) = packed
        && !args.output.write.is_quiet()
    {
        let mut line = summary(&place, &packed, xz_bytes, args);
        if args.explain {
            line += &explanation(&packed, args.options().codec);
        }
        print_summary(&place, &line, out)?;
    }
    Ok(())
}

/// Prints a summary, on standard error if the archive goes to standard output.
fn print_summary(place: &Path, line: &str, out: &mut dyn Out) -> Result<()> {
    if is_dash(place) {
        io::stderr().write_all(plain_lines(line).as_bytes())?;
    } else {
        out.write_all(plain_lines(line).as_bytes())?;
    }
    Ok(())
}

/// Returns a part as a percentage of the whole.
fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / (whole.max(1)) as f64
}

fn summary(place: &Path, packed: &Packed, xz_bytes: Option<u64>, args: &Args) -> String {
    let &Packed { codec, original, stored, frames, is_queryable, .. } = packed;
    let mut line = String::new();
    if !is_dash(place) {
        line += &format!("{}: ", place.display());
    }
    line += &format!("{original} bytes to {stored}, {:.1} %, {codec}", percent(stored, original));
    if frames.0 != 1 {
        line += &format!(", {} frames", frames.0);
    }
    if args.options().codec.is_queryable() && !is_queryable {
        line += ", cannot be queried: the content is neither a table nor JSON objects";
    }
    line + &xz_comparison(stored, xz_bytes, "takes", args) + "\n"
}

/// Compares the size of an archive with that of xz, if the user asked for it.
fn xz_comparison(stored: u64, xz_bytes: Option<u64>, takes: &str, args: &Args) -> String {
    match xz_bytes {
        Some(xz_bytes) => {
            let ratio = percent(stored, xz_bytes) / 100.0;
            format!("; xz -9e {takes} {xz_bytes}, ratio {ratio:.3}")
        }
        None if args.compare => "; too large to compare with xz".to_owned(),
        None => String::new(),
    }
}

/// Lists the codecs that were tried and the size that each reached, the chosen one first.
fn explanation(packed: &Packed, choice: Choice) -> String {
    let Packed { codec: winner, trials, frames, .. } = packed;
    if trials.is_empty() || choice == Choice::Only(*winner) {
        let why = if choice == Choice::Query { "can be queried" } else { "was requested" };
        return format!("  {winner}: {why}, no other codec was tried\n");
    }
    let smallest = trials.iter().filter_map(|trial| match trial.outcome {
        Outcome::Made(bytes) if trial.codec == *winner => Some(bytes),
        _ => None,
    });
    let smallest = smallest.min().unwrap_or_default();
    let mut lines = Vec::new();
    let mut unlike = Vec::new();
    for &Trial { codec, form, outcome } in trials {
        let (order, what) = match outcome {
            Outcome::Unlike => {
                // A codec may have several forms, of which some were tried.
                let other = |it: &Trial| it.codec == codec && it.outcome != Outcome::Unlike;
                if !trials.iter().any(other) && !unlike.contains(&codec.name()) {
                    unlike.push(codec.name());
                }
                continue;
            }
            Outcome::Made(bytes) if codec == *winner && bytes == smallest => {
                (0, format!("{bytes:>12} bytes  the smallest"))
            }
            Outcome::Made(bytes) => (bytes, format!("{bytes:>12} bytes")),
            Outcome::Sampled { bytes, stored } => {
                let what =
                    format!("{stored:>12} bytes  of a sample of {bytes}; others were smaller");
                (u64::MAX - 2, what)
            }
            Outcome::GivenUp => {
                (u64::MAX - 1, format!("{:>18}  stopped early: already larger than another", ""))
            }
            _ => (u64::MAX, format!("{:>18}  cannot encode the content", "")),
        };
        let name = if form.is_empty() { codec.to_string() } else { format!("{codec}, {form}") };
        lines.push((order, format!("  {name:<17} {what}\n")));
    }
    lines.sort();
    let mut out: String = lines.into_iter().map(|(_, line)| line).collect();
    if !unlike.is_empty() {
        out += &format!("  not tried, the content does not look like it: {}\n", unlike.join(", "));
    }
    if frames.0 > 1 {
        out += "  for the first frame; the other frames use its codec or are stored raw\n";
    }
    out
}

fn as_size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
