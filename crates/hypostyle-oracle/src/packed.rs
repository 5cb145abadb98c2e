//! Does the vendor's decoder read what our encoder writes?
//!
//! In the layout of the published text it does not, whoever wrote it, so that is
//! left out.

use std::fs;
use std::num::NonZeroUsize;

use hypostyle::formats::at1::{self, Choice, Codec, PackOptions};

use crate::mutate::Dice;
use crate::{Args, Result};

/// What tables of dice are packed with.
const CODECS: [Codec; 6] = [
    Codec::Columnar,
    Codec::QColumnar,
    Codec::QJson,
    Codec::QJson2,
    Codec::Json,
    Codec::JsonDoc,
];

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
        let codec = CODECS[dice.below(CODECS.len())];
        let original = match codec {
            Codec::QJson | Codec::QJson2 => objects(&mut dice),
            Codec::Json | Codec::JsonDoc if dice.below(4) == 0 => objects(&mut dice),
            Codec::Json => links(&mut dice),
            Codec::JsonDoc => document(&mut dice),
            _ => table(&mut dice),
        };
        let level = u8::try_from(1 + dice.below(9))?;
        let options = PackOptions::default()
            .with_level(level)
            .with_codec(Choice::Only(codec))
            .with_rows_per_group(NonZeroUsize::new(dice.below(40)));
        check(&original, &options, &format!("table {number}"), &mut wrong)?;
    }
    println!("{count} tables of dice; {wrong} archives that the vendor reads otherwise");
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

/// Some lines of JSON of a few shapes, and some that are none.
fn objects(dice: &mut Dice) -> Vec<u8> {
    const VALUES: [&str; 10] = [
        "1",
        "-2.50",
        "1e400",
        "\"\"",
        "\"a b\"",
        "\"\\u00e9\\n\"",
        "null",
        "true",
        "[]",
        "{\"x\":[1,{\"y\":2}]}",
    ];
    const SHAPES: [&str; 6] = [
        "{\"a\":_,\"b\":_}",
        "{ \"b\" : _, \"a\":_ }\r",
        "{\"a\":{\"b\":_,\"c\":[_,_]}}",
        "{\"a\":_,\"a\":_}",
        "no object",
        "",
    ];
    let mut text = String::new();
    for _ in 0..dice.below(120) {
        let mut line = SHAPES[dice.below(SHAPES.len()).min(dice.below(12))].to_owned();
        while line.contains('_') {
            line = line.replacen('_', VALUES[dice.below(VALUES.len())], 1);
        }
        text += &line;
        text += "\n";
    }
    text.into_bytes()
}

/// Lines of compact JSON in which strings are made of other values, most of the time.
fn links(dice: &mut Dice) -> Vec<u8> {
    let mut text = String::new();
    for _ in 0..dice.below(200) {
        let (id, mut part) = (dice.below(1 << 30), dice.below(1 << 30));
        text += &format!("{{\"id\":{id},\"name\":\"n{part}\",\"more\":[");
        for item in 0..dice.below(4) {
            text += if item > 0 { "," } else { "" };
            part += dice.below(2);
            text += &format!("{{\"url\":\"http://x/{id}/n{part}#\"}}");
        }
        text += ["],\"\":{}}\n", "],\"o\":[[],-1.50e+3]}\n", "]}\n", "] }\r\n"][dice.below(4)];
    }
    text.into_bytes()
}

/// A document with spaces, of like and unlike parts, that may be cut off.
fn document(dice: &mut Dice) -> Vec<u8> {
    let mut text = String::from("{\n  \"all\": [\n");
    for _ in 0..dice.below(150) {
        let (id, at) = (dice.below(1 << 20), dice.below(360));
        text += &format!("    {{\n      \"id\": {id},\n      \"at\": [ {at}.5, -{id}e-2 ],\n");
        text += ["      \"t\": \"x\",\n", "", "\t\"k\" :\"two\nlines\", \n"][dice.below(3)];
        text += &format!("      \"m\": {{\"k{at}\": null, \"é\": true}}\n    }},\n");
    }
    text += ["    {}\n  ]\n}\n", "    []]}", "\"cut"][dice.below(3)];
    text.into_bytes()
}

/// A small table of odd and of ordinary cells.
fn table(dice: &mut Dice) -> Vec<u8> {
    const ODD: [&str; 16] = [
        "",
        "NA",
        "-0",
        "007",
        "+5",
        "5.",
        ".5",
        "1e5",
        "\"\"",
        "\"a,b\"",
        "\"a\"\"b\"",
        "\"",
        "x\r",
        "4611686018427387904",
        "-9223372036854775808",
        "0.000000000000000001",
    ];
    let delimiter = [",", ";", "\t", "|", " ", "\t|\t"][dice.below(6)];
    let (rows, width) = (dice.below(200), 2 + dice.below(6));
    let kinds: Vec<usize> = (0..width).map(|_| dice.below(7)).collect();
    let mut text = String::new();
    for row in 0..rows {
        let width = if dice.below(30) == 0 { 1 + dice.below(width + 2) } else { width };
        for column in 0..width {
            if column > 0 {
                text += delimiter;
            }
            let kind = kinds.get(column).copied().unwrap_or(0);
            text += &match kind {
                0 => row.to_string(),
                1 => (dice.below(1 << 40)).to_string(),
                2 => format!("{}.{:02}", dice.below(1000), dice.below(100)),
                3 => ["red", "green", "blue"][dice.below(3)].to_owned(),
                4 => format!("\"{}\"", dice.below(20)),
                5 => (row / 9).to_string(),
                _ => ODD[dice.below(16)].to_owned(),
            };
        }
        text += if row + 1 < rows || dice.below(2) == 0 { "\n" } else { "" };
    }
    text.into_bytes()
}
