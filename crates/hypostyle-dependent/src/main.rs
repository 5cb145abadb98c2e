//! Checks that a program outside the workspace gets the fast LZMA encoder. See README.md.

use std::error::Error;
use std::fs;
use std::time::{Duration, Instant};

use hypostyle::formats::at1::{self, Choice, Codec, PackOptions};
use hypostyle_core::compress::xz::encode::compress_preset;
use liblzma::stream::{Action, Check, PRESET_EXTREME, Stream};

/// Bytes of the corpus.
const CORPUS_BYTES: usize = 2 << 20;

/// Runs of each encoder; the fastest counts.
const ROUNDS: usize = 7;

/// How many times as fast as `liblzma` Hypostyle's encoder must be with the last preset.
const MIN_RATIO: f64 = 1.3;

/// Options of `xz`, and their presets.
const PRESETS: [(&str, u32); 2] = [("-6", 6), ("-9e", 9 | PRESET_EXTREME)];

fn main() -> Result<(), Box<dyn Error>> {
    let corpus = stack_traces();
    println!("{:8} {:>12} {:>12} {:>6} {:>10}", "preset", "hypostyle", "liblzma", "ratio", "bytes");
    let mut ratio = 0.0;
    for (name, preset) in PRESETS {
        let (mut our_time, mut their_time) = (Duration::MAX, Duration::MAX);
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        // In turns, so that a busy machine slows down both.
        for _ in 0..ROUNDS {
            ours = timed(&mut our_time, || Ok(compress_preset(&corpus, preset)?))?;
            theirs = timed(&mut their_time, || plain(&corpus, preset))?;
        }
        if ours != theirs {
            return Err(format!("the encoders differ with preset {name}").into());
        }
        ratio = their_time.as_secs_f64() / our_time.as_secs_f64();
        println!(
            "xz {name:5} {:>9} ms {:>9} ms {ratio:>6.2} {:>10}",
            our_time.as_millis(),
            their_time.as_millis(),
            ours.len()
        );
    }
    let options = PackOptions::default().with_codec(Choice::Only(Codec::Raw));
    let start = Instant::now();
    let (archive, _) = at1::pack(&corpus, &options)?;
    println!("{:8} {:>9} ms {:>30}", "at1 RAW", start.elapsed().as_millis(), archive.len());

    let is_fast = cfg!(any(target_arch = "aarch64", target_arch = "x86_64"));
    if is_fast && ratio < MIN_RATIO {
        return Err(format!("the last ratio must be at least {MIN_RATIO}").into());
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

/// Runs an encoder, and lowers `shortest` to the time it took.
fn timed(
    shortest: &mut Duration,
    run: impl Fn() -> Result<Vec<u8>, Box<dyn Error>>,
) -> Result<Vec<u8>, Box<dyn Error>> {
    let (start, started) = (Instant::now(), cpu_time());
    let output = run()?;
    let time = match (started, cpu_time()) {
        (Some(started), Some(ended)) => ended.saturating_sub(started),
        _ => start.elapsed(),
    };
    *shortest = time.min(*shortest);
    Ok(output)
}

/// Returns the time that this thread has had on a processor, where Linux tells it. Other programs
/// make less difference to it than to the time of the day.
fn cpu_time() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}

/// Generates the log of a server that fails in a hundred ways, always the same.
///
/// Stack traces come again and again. The encoder compares long matches then, which is what costs
/// it more without the flag.
fn stack_traces() -> Vec<u8> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut below = move |bound: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % bound
    };
    let traces: Vec<String> = (0..100)
        .map(|_| {
            let frame = |_| {
                let (module, class, line) = (below(1 << 20), below(1 << 20), below(5000));
                format!("\tat org.example.m{module:x}.C{class:x}.run(C{class:x}.java:{line})\n")
            };
            (0..20).map(frame).collect()
        })
        .collect();
    let mut log = String::with_capacity(CORPUS_BYTES + 4096);
    let mut millis = 1_767_744_000_000;
    while log.len() < CORPUS_BYTES {
        millis += below(40);
        let trace = usize::try_from(below(traces.len() as u64)).unwrap_or_default();
        log.push_str(&format!("{millis} ERROR request {} failed\n", below(100_000)));
        log.push_str(traces.get(trace).map_or("", String::as_str));
    }
    log.into_bytes()
}
