//! Checks that a program outside the workspace gets the fast LZMA encoder. See README.md.

use std::error::Error;
use std::num::NonZero;
use std::time::{Duration, Instant};

use hypostyle::compress::xz::encode::compress_preset;
use hypostyle::formats::at1::{self, Choice, Codec, PackOptions};
use liblzma::stream::{Action, Check, PRESET_EXTREME, Stream};

/// Bytes of the corpus.
const CORPUS_BYTES: usize = 16 << 20;

/// Runs of each encoder; the fastest counts.
const ROUNDS: usize = 3;

/// How much faster Hypostyle's encoder must be, on average over the presets.
const MIN_RATIO: f64 = 1.3;

/// What is measured: names and presets of `xz`.
const PRESETS: [(&str, u32); 3] = [("-1", 1), ("-6", 6), ("-9e", 9 | PRESET_EXTREME)];

fn main() -> Result<(), Box<dyn Error>> {
    let corpus = log_lines();
    println!("{:8} {:>12} {:>12} {:>6} {:>10}", "preset", "hypostyle", "liblzma", "ratio", "bytes");
    let mut product = 1.0;
    for (name, preset) in PRESETS {
        let (ours, our_time) = fastest(|| Ok(compress_preset(&corpus, preset)?))?;
        let (theirs, their_time) = fastest(|| plain(&corpus, preset))?;
        if ours != theirs {
            return Err(format!("the encoders differ with preset {name}").into());
        }
        let ratio = their_time.as_secs_f64() / our_time.as_secs_f64();
        product *= ratio;
        println!(
            "xz {name:5} {:>9} ms {:>9} ms {ratio:>6.2} {:>10}",
            our_time.as_millis(),
            their_time.as_millis(),
            ours.len()
        );
    }
    let options = PackOptions::default()
        .with_threads(Some(NonZero::<usize>::MIN))
        .with_codec(Choice::Only(Codec::Raw));
    let (archive, time) = fastest(|| Ok(at1::pack(&corpus, &options)?.0))?;
    println!("{:8} {:>9} ms {:>30}", "at1 RAW", time.as_millis(), archive.len());

    let ratio = product.powf(1.0 / PRESETS.len() as f64);
    println!("ratio, mean: {ratio:.2}");
    let is_fast = cfg!(any(target_arch = "aarch64", target_arch = "x86_64"));
    if is_fast && ratio < MIN_RATIO {
        return Err(format!("the mean ratio must be at least {MIN_RATIO}").into());
    }
    Ok(())
}

/// Compresses with the crate `liblzma`.
fn plain(corpus: &[u8], preset: u32) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut stream = Stream::new_easy_encoder(preset, Check::Crc64)?;
    let mut out = Vec::with_capacity(corpus.len() + (corpus.len() >> 4) + 1024);
    stream.process_vec(corpus, &mut out, Action::Finish)?;
    Ok(out)
}

/// Returns the output and the time of the fastest run.
fn fastest(
    run: impl Fn() -> Result<Vec<u8>, Box<dyn Error>>,
) -> Result<(Vec<u8>, Duration), Box<dyn Error>> {
    let mut output = Vec::new();
    let mut time = Duration::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        output = run()?;
        time = time.min(start.elapsed());
    }
    Ok((output, time))
}

/// Generates lines of a server's log, always the same.
fn log_lines() -> Vec<u8> {
    const LEVELS: [&str; 4] = ["INFO", "INFO", "WARN", "DEBUG"];
    const MESSAGES: [&str; 6] = [
        "[Controller id=0] Processing automatic preferred replica leader election",
        "[GroupCoordinator 0]: Preparing to rebalance group in state PreparingRebalance",
        "[Log partition=events, dir=/var/lib/data] Rolled new log segment at offset",
        "Completed request in the expected time for client",
        "[ReplicaFetcher replicaId=0, leaderId=2] Retrying leaderEpoch request for partition",
        "Accepted connection from the load balancer on",
    ];
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % below
    };
    let mut pick = move |len: usize| usize::try_from(next(len as u64)).unwrap_or_default();
    let mut lines = String::with_capacity(CORPUS_BYTES + 256);
    let mut millis = 0_usize;
    while lines.len() < CORPUS_BYTES {
        millis += pick(40);
        let seconds = millis / 1000;
        let (level, message) = (pick(LEVELS.len()), pick(MESSAGES.len()));
        lines.push_str(&format!(
            "[2026-01-07 {:02}:{:02}:{:02},{:03}] {} {} {} (broker.Server{})\n",
            seconds / 3600 % 24,
            seconds / 60 % 60,
            seconds % 60,
            millis % 1000,
            LEVELS.get(level).unwrap_or(&""),
            MESSAGES.get(message).unwrap_or(&""),
            pick(5000),
            pick(9)
        ));
    }
    lines.into_bytes()
}
