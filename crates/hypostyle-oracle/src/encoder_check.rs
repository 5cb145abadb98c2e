//! Checks that the vendor's decoder reads the archives of our encoder.
//!
//! The vendor's decoder does not support the layout of the published description, so the check omits
//! it.

use std::fs;
use std::num::NonZeroUsize;

use hypostyle::formats::at1::{self, Choice, PackOptions};

use crate::rng::Rng;
use crate::{Args, Result, inputs};

/// Packs files and random inputs with many options, and decodes them with the vendor's decoder.
pub(crate) fn run(words: &[&str]) -> Result<bool> {
    let mut args = Args::new(words);
    let count = args.number("--count", 2000)?;
    let mut rng = Rng::new(args.number("--seed", 1)?);
    let levels = args.value("--levels")?.unwrap_or("1,6");
    let levels: Vec<u8> =
        levels.split(',').map(str::parse).collect::<std::result::Result<_, _>>()?;
    let rows = args.value("--rows-per-group")?.unwrap_or("0");
    let rows: Vec<usize> =
        rows.split(',').map(str::parse).collect::<std::result::Result<_, _>>()?;
    let mut wrong = 0;
    for file in args.rest()? {
        let original = fs::read(file)?;
        for &level in &levels {
            for codec in [Choice::Auto, Choice::Query] {
                for &rows in &rows {
                    let options = PackOptions::default()
                        .with_level(level)
                        .with_codec(codec)
                        .with_rows_per_group(NonZeroUsize::new(rows));
                    let size = check(&original, &options, file, &mut wrong)?;
                    let from = original.len();
                    println!("{file}: {codec:?}, level {level}, {rows} rows: {from} to {size}");
                }
            }
        }
    }
    for number in 0..count {
        let codec = inputs::CODECS[rng.below(inputs::CODECS.len())];
        let original = inputs::content(codec, &mut rng);
        let codec = Choice::Only(codec);
        let level = u8::try_from(1 + rng.below(9))?;
        let options = PackOptions::default()
            .with_level(level)
            .with_codec(codec)
            .with_rows_per_group(NonZeroUsize::new(rng.below(40)));
        check(&original, &options, &format!("{codec:?} {number}"), &mut wrong)?;
    }
    println!("{count} random inputs; {wrong} archives that the vendor decodes differently");
    Ok(wrong == 0)
}

fn check(original: &[u8], options: &PackOptions, name: &str, wrong: &mut u64) -> Result<usize> {
    let (whole, _) = at1::pack(original, options)?;
    let mut stream = Vec::new();
    let lines = original.iter().filter(|&&byte| byte == b'\n').count() as u64 / 3 + 1;
    let options = options.clone().with_chunk_lines(lines);
    at1::pack_stream(original, &mut stream, &options, |_, _| {})?;
    for (kind, archive) in [("whole", &whole), ("streaming", &stream)] {
        let why = match ::at1::decode(archive) {
            Ok(text) if text == original => continue,
            Ok(text) => format!("{} different bytes", text.len()),
            Err(err) => format!("{err:?}"),
        };
        *wrong += 1;
        println!("{name}, {kind}, {options:?}: {why}");
    }
    Ok(whole.len())
}
