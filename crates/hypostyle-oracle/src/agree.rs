//! Do both decoders say the same of the same bytes?

use std::collections::BTreeMap;
use std::fs;
use std::panic;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::child::{self, Answer, Vendor};
use crate::mutate::{Dice, mutant};
use crate::wire::{Archive, Body, Packed, sha256};
use crate::{Args, Result, samples};

/// A mutant on which we spend more than this is worth a look.
const SLOW: Duration = Duration::from_secs(2);

/// What our reader did with a file.
#[derive(Debug, PartialEq, Eq)]
enum Ours {
    Decoded { len: u64, hash: [u8; 32], codes: Vec<&'static str> },
    Refused(String),
    Panicked,
}

pub(crate) fn run(words: &[&str]) -> Result<bool> {
    let mut args = Args::new(words);
    let count = args.number("--count", 10_000)?;
    let seed = args.number("--seed", 1)?;
    let keep = args.value("--keep")?.map(PathBuf::from);
    let keep = keep.unwrap_or_else(|| std::env::temp_dir().join("hypostyle-oracle"));
    let mut seeds = samples::all()?;
    for place in args.rest()? {
        collect(Path::new(place), &mut seeds)?;
    }
    let parts: Vec<Archive> = seeds.iter().filter_map(|(_, file)| Archive::parse(file)).collect();
    println!("{} seeds, {count} mutants, dice start at {seed}", seeds.len());
    panic::set_hook(Box::new(|_| {}));

    let mut vendor = Vendor::new();
    let mut tally: BTreeMap<String, u64> = BTreeMap::new();
    let mut unexplained = 0;
    for number in 0..seeds.len() as u64 + count {
        // The seeds themselves first, then mutants; each has dice of its own.
        let (name, file) = match seeds.get(usize::try_from(number)?) {
            Some((name, file)) => (name.clone(), file.clone()),
            None => {
                let mutation = number - seeds.len() as u64;
                let mut dice =
                    Dice::new(seed.wrapping_mul(0x1_0000_0001).wrapping_add(mutation << 20));
                let (name, file) = &seeds[dice.below(seeds.len())];
                (format!("{name}-{mutation}"), mutant(file, &parts, &mut dice))
            }
        };
        let start = Instant::now();
        let ours = decode(&file, 1);
        let spent = start.elapsed();
        let mut theirs = vendor.decode(&file)?;
        if matches!(judge(&file, &ours, &theirs), Verdict::Unexplained(_)) {
            theirs = vendor.decode_afresh(&file)?;
        }
        let verdict = if spent > SLOW {
            Verdict::Unexplained("ours is slow")
        } else if ours != decode(&file, 2) && !matches!(ours, Ours::Refused(_)) {
            Verdict::Unexplained("ours differs between one thread and two")
        } else {
            judge(&file, &ours, &theirs)
        };
        let line = match verdict {
            Verdict::Same(what) => format!("same: {what}"),
            Verdict::Explained(why) => format!("differs on purpose: {why}"),
            Verdict::Unexplained(what) => {
                unexplained += 1;
                fs::create_dir_all(&keep)?;
                let path = keep.join(format!("{name}.at1"));
                fs::write(&path, &file)?;
                println!("\n{what}: {}", path.display());
                println!("  ours:   {}", shown(&ours));
                println!("  vendor: {theirs:?}");
                format!("UNEXPLAINED: {what}")
            }
        };
        *tally.entry(line).or_default() += 1;
    }
    println!("\n| outcome | files |\n|---|---|");
    for (line, count) in &tally {
        println!("| {line} | {count} |");
    }
    Ok(unexplained == 0)
}

/// Prints the parts of archives, and what each decoder makes of them.
pub(crate) fn look(words: &[&str]) -> Result<bool> {
    let mut vendor = Vendor::new();
    for path in words {
        let file = fs::read(path).map_err(|err| format!("{path}: {err}"))?;
        println!("{path}");
        match Archive::parse(&file) {
            None => println!("  odd: {}", file[..file.len().min(200)].escape_ascii()),
            Some(archive) => {
                let Archive { codec, chunk_lines, frames, hash } = archive;
                println!("  codec {codec}, chunk lines {chunk_lines:?}, hash {}", hash.is_some());
                for (method, body) in frames {
                    println!("  frame by method {method}");
                    let (streams, after) = match body {
                        Body::Set { streams, after } => (streams, after),
                        Body::Raw { backend, payload } => {
                            (vec![Packed { name: Vec::new(), backend, payload }], Vec::new())
                        }
                    };
                    for stream in streams {
                        let (name, backend) = (stream.name.escape_ascii(), stream.backend);
                        let content = stream.content();
                        let content = content.as_ref().unwrap_or(&stream.payload);
                        let shown = content[..content.len().min(200)].escape_ascii();
                        println!("    {name} {backend} {}: {shown}", content.len());
                    }
                    println!("    {} bytes after", after.len());
                }
            }
        }
        let ours = child::ours(&file, 1);
        match &ours {
            Ok((text, deviations)) => {
                println!("  ours: {}", text[..text.len().min(400)].escape_ascii());
                deviations.iter().for_each(|deviation| println!("    {deviation}"));
            }
            Err(err) => println!("  ours: {err}"),
        }
        match vendor.decode(&file)? {
            Answer::Decoded { .. } => {
                let text = at1::decode(&file).unwrap_or_default();
                println!("  vendor: {}", text[..text.len().min(400)].escape_ascii());
            }
            other => println!("  vendor: {other:?}"),
        }
    }
    Ok(true)
}

fn collect(place: &Path, seeds: &mut Vec<(String, Vec<u8>)>) -> Result<()> {
    let wrong = |err| format!("{}: {err}", place.display());
    if place.is_dir() {
        let mut inside: Vec<PathBuf> = fs::read_dir(place)
            .map_err(wrong)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<std::io::Result<_>>()?;
        inside.sort();
        for path in inside {
            if path.is_dir() || path.extension().is_some_and(|extension| extension == "at1") {
                collect(&path, seeds)?;
            }
        }
        return Ok(());
    }
    let name = place.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    seeds.push((name, fs::read(place).map_err(wrong)?));
    Ok(())
}

fn decode(file: &[u8], threads: usize) -> Ours {
    match panic::catch_unwind(|| child::ours(file, threads)) {
        Err(_) => Ours::Panicked,
        Ok(Err(err)) => Ours::Refused(err.to_string()),
        Ok(Ok((text, deviations))) => {
            let mut codes: Vec<&str> = deviations.iter().map(|deviation| deviation.code).collect();
            codes.sort_unstable();
            codes.dedup();
            Ours::Decoded { len: text.len() as u64, hash: sha256(&text), codes }
        }
    }
}

fn shown(ours: &Ours) -> String {
    match ours {
        Ours::Decoded { len, codes, .. } => format!("{len} bytes, deviations {codes:?}"),
        other => format!("{other:?}"),
    }
}

enum Verdict {
    Same(&'static str),
    Explained(&'static str),
    Unexplained(&'static str),
}

fn judge(file: &[u8], ours: &Ours, theirs: &Answer) -> Verdict {
    use Verdict::{Explained, Same, Unexplained};
    match (ours, theirs) {
        (Ours::Panicked, _) => Unexplained("ours panicked"),
        (Ours::Refused(_), Answer::Refused(_)) => Same("both refuse"),
        (Ours::Decoded { len, hash, codes }, Answer::Decoded { len: len2, hash: hash2 }) => {
            if (len, hash) == (len2, hash2) {
                Same("both decode to the same bytes")
            } else if codes.contains(&"A11") {
                Explained("values beyond 64 bits are exact (A11)")
            } else {
                Unexplained("other bytes")
            }
        }
        (Ours::Refused(_), Answer::Died) => Explained("the vendor's decoder crashes, we refuse"),
        (Ours::Decoded { .. }, Answer::Died) => Unexplained("the vendor crashes, we decode"),
        (_, Answer::Silent) => Explained("the vendor's decoder does not end in time"),
        (Ours::Decoded { codes, .. }, Answer::Refused(_)) => match accepted(codes) {
            Some(why) => Explained(why),
            None if has_broken_stream(file) => {
                Explained("streams that the codec does not need are not expanded")
            }
            None if has_broken_surplus(file) => {
                Explained("numbers after the last line of a vcf are not looked at")
            }
            None => Unexplained("only ours decodes"),
        },
        (Ours::Refused(text), Answer::Decoded { .. }) => match refused(text) {
            Some(why) => Explained(why),
            None => Unexplained("only the vendor decodes"),
        },
    }
}

/// Why we accept what the vendor refuses.
fn accepted(codes: &[&'static str]) -> Option<&'static str> {
    let why = |code: &&str| match *code {
        "A1" | "A2" | "A3" => Some("legacy forms are read (A1, A2, A3)"),
        "A7" => Some("bytes after a zstd frame are ignored (A7)"),
        _ => None,
    };
    codes.iter().find_map(why)
}

/// Whether an archive that we have decoded has a stream that cannot be expanded,
/// and so was not needed.
fn has_broken_stream(file: &[u8]) -> bool {
    let broken = |body: &Body| match body {
        Body::Set { streams, .. } => !streams.iter().all(Packed::is_exact),
        Body::Raw { .. } => false,
    };
    let archive = Archive::parse(file);
    archive.is_some_and(|archive| archive.frames.iter().any(|(_, body)| broken(body)))
}

/// Whether a vcf that we have decoded has positions that end within a number, which
/// no line asked for.
fn has_broken_surplus(file: &[u8]) -> bool {
    let broken = |body: &Body| match body {
        Body::Set { streams, .. } => streams.iter().any(|stream| {
            let content = stream.content().unwrap_or_default();
            stream.name == b"pos" && content.last().is_some_and(|&byte| byte >= 0x80)
        }),
        Body::Raw { .. } => false,
    };
    let archive = Archive::parse(file).filter(|archive| archive.codec == 5);
    archive.is_some_and(|archive| archive.frames.iter().any(|(_, body)| broken(body)))
}

/// Why we refuse what the vendor accepts, by what our error says.
///
/// Each is a row of section 10 of the spec.
fn refused(text: &str) -> Option<&'static str> {
    const REASONS: [(&str, &str); 22] = [
        ("byte 4: codec ", "unknown codec, though all frames are raw"),
        ("a bundle cannot be a streaming archive", "streaming bundle of raw frames"),
        ("zstd frame: has no zstd magic number", "zstd frame to skip before an empty one"),
        ("zstd frame: Data corruption detected", "zstd block larger than its window"),
        ("unknown kind of check", "xz with an unknown kind of check"),
        ("stream `meta`: byte 0: form needs 1 bytes", "jsondoc without `meta`"),
        ("a number of more than 64 bits", "varint over 64 bits"),
        ("a number that does not end", "varint of too many bytes"),
        ("a number of more than 128 bits", "varint over 128 bits"),
        ("leads beyond 128 bits", "values beyond 128 bits (A11)"),
        ("the sum has more than 128 bits", "values beyond 128 bits (A11)"),
        ("method: ", "method other than 0 and 1 (A19)"),
        ("subtype: ", "NUMEXC subtype other than 0 and 1"),
        ("backend: ", "backend 3 and above"),
        ("stream name: is not UTF-8", "name of a stream is not UTF-8"),
        ("column type: ", "column type 7 and above"),
        ("over the limit", "limits"),
        ("source count: ", "json rules with more or fewer literals than sources need (H6)"),
        ("the number of columns", "json rules with a source that no value uses (H6)"),
        ("flag: ", "ssh flag above 2"),
        ("elements have one byte", "dicom planes of one byte"),
        ("is outside the years", "osm year of more than four digits, or before 0"),
    ];
    REASONS.into_iter().find(|(sign, _)| text.contains(sign)).map(|(_, reason)| reason)
}
