//! Does the vendor's decoder read what our encoder writes?
//!
//! In the layout of the published text it does not, whoever wrote it, so that is
//! left out.

use std::fs;
use std::num::NonZeroUsize;

use hypostyle::formats::at1::{self, Choice, PackOptions};

use crate::mutate::Dice;
use crate::{Args, Result, inputs};

/// Packs files, and tables made by dice, in every way; the vendor must give them back.
pub(crate) fn run(words: &[&str]) -> Result<bool> {
    let mut args = Args::new(words);
    let count = args.number("--count", 2000)?;
    let mut dice = Dice::new(args.number("--seed", 1)?);
    let levels = args.value("--levels")?.unwrap_or("1,6");
    let levels: Vec<u8> =
        levels.split(',').map(str::parse).collect::<std::result::Result<_, _>>()?;
    let mut wrong = 0;
    for file in args.rest()? {
        let original = fs::read(file)?;
        for &level in &levels {
            for codec in [Choice::Auto, Choice::Query] {
                let options = PackOptions::default().with_level(level).with_codec(codec);
                let size = check(&original, &options, file, &mut wrong)?;
                println!("{file}: {codec:?}, level {level}: {} to {size}", original.len());
            }
        }
    }
    for number in 0..count {
        let codec = inputs::CODECS[dice.below(inputs::CODECS.len())];
        let original = inputs::content(codec, &mut dice);
        let codec = Choice::Only(codec);
        let level = u8::try_from(1 + dice.below(9))?;
        let options = PackOptions::default()
            .with_level(level)
            .with_codec(codec)
            .with_rows_per_group(NonZeroUsize::new(dice.below(40)));
        check(&original, &options, &format!("{codec:?} {number}"), &mut wrong)?;
    }
    println!("{count} inputs of dice; {wrong} archives that the vendor reads otherwise");
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
            Ok(text) => format!("{} bytes that differ", text.len()),
            Err(err) => format!("{err:?}"),
        };
        *wrong += 1;
        println!("{name}, {kind}, {options:?}: {why}");
    }
    Ok(whole.len())
}
