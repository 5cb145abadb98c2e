//! Checks that both decoders agree on the same bytes.

use std::collections::BTreeMap;
use std::fs;
use std::panic;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::child::{self, Vendor, VendorOutcome};
use crate::mutate::mutant;
use crate::rng::Rng;
use crate::wire::{FrameBody, PackedStream, ParsedArchive, sha256};
use crate::{Args, Result, samples};

/// A mutant that takes us longer than this is a finding.
const MAX_TIME: Duration = Duration::from_secs(2);

/// The outcome of our reader on a file.
#[derive(Debug, PartialEq, Eq)]
enum OurOutcome {
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
    let parts: Vec<ParsedArchive> =
        seeds.iter().filter_map(|(_, file)| ParsedArchive::parse(file)).collect();
    println!("{} seeds, {count} mutants, random seed {seed}", seeds.len());
    panic::set_hook(Box::new(|_| {}));

    let mut vendor = Vendor::new();
    let mut tally: BTreeMap<String, u64> = BTreeMap::new();
    let mut unexplained = 0;
    for number in 0..seeds.len() as u64 + count {
        // First the seeds, then mutants. Each mutant has its own random numbers.
        let (name, file) = match seeds.get(usize::try_from(number)?) {
            Some((name, file)) => (name.clone(), file.clone()),
            None => {
                let mutation = number - seeds.len() as u64;
                let mut rng =
                    Rng::new(seed.wrapping_mul(0x1_0000_0001).wrapping_add(mutation << 20));
                let (name, file) = &seeds[rng.below(seeds.len())];
                (format!("{name}-{mutation}"), mutant(file, &parts, &mut rng))
            }
        };
        let start = Instant::now();
        let ours = decode(&file, 1);
        let spent = start.elapsed();
        let mut theirs = vendor.decode(&file)?;
        if matches!(compare(&file, &ours, &theirs), Verdict::Unexplained(_)) {
            theirs = vendor.decode_in_new_process(&file)?;
        }
        let verdict = if spent > MAX_TIME {
            Verdict::Unexplained("ours is slow")
        } else if ours != decode(&file, 2) && !matches!(ours, OurOutcome::Refused(_)) {
            Verdict::Unexplained("ours differs between one thread and two")
        } else {
            compare(&file, &ours, &theirs)
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

/// Prints the parts of archives and the result of each decoder.
pub(crate) fn look(words: &[&str]) -> Result<bool> {
    let mut vendor = Vendor::new();
    for path in words {
        let file = fs::read(path).map_err(|err| format!("{path}: {err}"))?;
        println!("{path}");
        match ParsedArchive::parse(&file) {
            None => println!("  not parsed: {}", file[..file.len().min(200)].escape_ascii()),
            Some(archive) => {
                let ParsedArchive { codec, chunk_lines, frames, hash } = archive;
                println!("  codec {codec}, chunk lines {chunk_lines:?}, hash {}", hash.is_some());
                for (method, body) in frames {
                    println!("  frame by method {method}");
                    let (streams, after) = match body {
                        FrameBody::Set { streams, after } => (streams, after),
                        FrameBody::Raw { backend, payload } => {
                            (vec![PackedStream { name: Vec::new(), backend, payload }], Vec::new())
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
            VendorOutcome::Decoded { .. } => {
                let text = at1::decode(&file).unwrap_or_default();
                println!("  vendor: {}", text[..text.len().min(400)].escape_ascii());
            }
            other => println!("  vendor: {other:?}"),
        }
    }
    Ok(true)
}

fn collect(place: &Path, seeds: &mut Vec<(String, Vec<u8>)>) -> Result<()> {
    let in_place = |err| format!("{}: {err}", place.display());
    if place.is_dir() {
        let mut entries: Vec<PathBuf> = fs::read_dir(place)
            .map_err(in_place)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<std::io::Result<_>>()?;
        entries.sort();
        for path in entries {
            if path.is_dir() || path.extension().is_some_and(|extension| extension == "at1") {
                collect(&path, seeds)?;
            }
        }
        return Ok(());
    }
    let name = place.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    seeds.push((name, fs::read(place).map_err(in_place)?));
    Ok(())
}

fn decode(file: &[u8], threads: usize) -> OurOutcome {
    match panic::catch_unwind(|| child::ours(file, threads)) {
        Err(_) => OurOutcome::Panicked,
        Ok(Err(err)) => OurOutcome::Refused(err.to_string()),
        Ok(Ok((text, deviations))) => {
            let mut codes: Vec<&str> = deviations.iter().map(|deviation| deviation.code).collect();
            codes.sort_unstable();
            codes.dedup();
            OurOutcome::Decoded { len: text.len() as u64, hash: sha256(&text), codes }
        }
    }
}

fn shown(ours: &OurOutcome) -> String {
    match ours {
        OurOutcome::Decoded { len, codes, .. } => format!("{len} bytes, deviations {codes:?}"),
        other => format!("{other:?}"),
    }
}

enum Verdict {
    Same(&'static str),
    Explained(&'static str),
    Unexplained(&'static str),
}

fn compare(file: &[u8], ours: &OurOutcome, theirs: &VendorOutcome) -> Verdict {
    use Verdict::{Explained, Same, Unexplained};
    match (ours, theirs) {
        (OurOutcome::Panicked, _) => Unexplained("ours panicked"),
        (OurOutcome::Refused(_), VendorOutcome::Refused(_)) => Same("both refuse"),
        (
            OurOutcome::Decoded { len, hash, codes },
            VendorOutcome::Decoded { len: len2, hash: hash2 },
        ) => {
            if (len, hash) == (len2, hash2) {
                Same("both decode to the same bytes")
            } else if codes.contains(&"A11") {
                Explained("values beyond 64 bits are exact (A11)")
            } else {
                Unexplained("different bytes")
            }
        }
        (OurOutcome::Refused(_), VendorOutcome::Died) => {
            Explained("the vendor's decoder crashes, we refuse")
        }
        (OurOutcome::Decoded { .. }, VendorOutcome::Died) => {
            Unexplained("the vendor crashes, we decode")
        }
        (_, VendorOutcome::TimedOut) => Explained("the vendor's decoder times out"),
        (OurOutcome::Decoded { codes, .. }, VendorOutcome::Refused(_)) => {
            match reason_to_accept(codes) {
                Some(why) => Explained(why),
                None if has_broken_stream(file) => {
                    Explained("we do not decompress streams that the codec does not need")
                }
                None if has_broken_surplus(file) => {
                    Explained("we ignore numbers after the last line of a vcf")
                }
                None => Unexplained("only ours decodes"),
            }
        }
        (OurOutcome::Refused(text), VendorOutcome::Decoded { .. }) => {
            match reason_to_refuse(text) {
                Some(why) => Explained(why),
                None => Unexplained("only the vendor decodes"),
            }
        }
    }
}

/// Returns why we accept an archive that the vendor refuses.
fn reason_to_accept(codes: &[&'static str]) -> Option<&'static str> {
    let why = |code: &&str| match *code {
        "A1" | "A2" | "A3" => Some("legacy forms are read (A1, A2, A3)"),
        "A7" => Some("bytes after a zstd frame are ignored (A7)"),
        _ => None,
    };
    codes.iter().find_map(why)
}

/// Returns whether an archive that we decoded has a stream that cannot be decompressed, so that the
/// codec did not need it.
fn has_broken_stream(file: &[u8]) -> bool {
    let broken = |body: &FrameBody| match body {
        FrameBody::Set { streams, .. } => !streams.iter().all(PackedStream::is_exact),
        FrameBody::Raw { .. } => false,
    };
    let archive = ParsedArchive::parse(file);
    archive.is_some_and(|archive| archive.frames.iter().any(|(_, body)| broken(body)))
}

/// Returns whether the positions of a decoded vcf end within a number that no line needs.
fn has_broken_surplus(file: &[u8]) -> bool {
    let broken = |body: &FrameBody| match body {
        FrameBody::Set { streams, .. } => streams.iter().any(|stream| {
            let content = stream.content().unwrap_or_default();
            stream.name == b"pos" && content.last().is_some_and(|&byte| byte >= 0x80)
        }),
        FrameBody::Raw { .. } => false,
    };
    let archive = ParsedArchive::parse(file).filter(|archive| archive.codec == 5);
    archive.is_some_and(|archive| archive.frames.iter().any(|(_, body)| broken(body)))
}

/// Returns why we refuse an archive that the vendor accepts, by the text of our error.
///
/// Each reason is a row of section 10 of the spec.
fn reason_to_refuse(text: &str) -> Option<&'static str> {
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
    REASONS.into_iter().find(|(pattern, _)| text.contains(pattern)).map(|(_, reason)| reason)
}
