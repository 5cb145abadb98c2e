//! What was found, as tables and as pictures.

use super::figures::{Belongs, MEANS, mean, memory, speed, unpack_speed};
use super::targets::{self, SPEED};
use super::vendor::Decoded;
use super::{Contest, Found, PACK_SECONDS};
use crate::packers::{DEFAULT, Packer, THREADS, Tools, Unpacker, ZSTD_HIGH};
use crate::page::Page;
use crate::plot::Bars;
use crate::table::{Table, megabytes};

/// Who is in the picture of unpacking.
const DRAWN: [Unpacker; 3] = [
    Unpacker { of: DEFAULT, threads: 1 },
    Unpacker { of: DEFAULT, threads: 2 },
    Unpacker { of: ZSTD_HIGH, threads: 1 },
];

pub(super) fn report(
    page: &mut Page,
    all: &[Found<'_>],
    contest: &Contest,
    origin: &str,
    tools: &Tools,
) {
    let Contest { packers, unpackers, .. } = contest;
    heading(page, contest, origin, tools);
    targets::ask(page, all);
    page.heading("Packing");
    page.add(
        "Seconds on the clock, and how many times as fast as `xz` we are; at the end the \
         geometric means of that. How small the archives are is [another page](size.md).",
    );
    page.plot(&packing_picture(all));
    page.table("packing, seconds", &packing_time(all, packers));
    page.add("CPU seconds, of all threads.");
    let table =
        packing(all, packers, |found, who| found.packed(who).map(|usage| seconds(usage.cost.cpu)));
    page.table("packing, CPU seconds", &table);
    page.add(
        "Most memory, in MB; in brackets, in multiples of the file. That of the rivals is looked \
         at from outside, a thousand times a second, so that of short runs may be too low, or \
         missing.",
    );
    let table = packing(all, packers, |found, who| {
        let memory = memory(found.packed(who)?)?;
        Some(format!("{memory:.1} ({:.1})", memory / megabytes(found.sample.bytes)))
    });
    page.table("packing, memory", &table);
    page.heading("Unpacking");
    page.add(
        "Milliseconds on the clock, the rivals into `/dev/null` and we into memory, and how many \
         times as fast as `xz` we are.",
    );
    page.plot(&unpacking_picture(all, unpackers));
    page.table("unpacking, milliseconds", &unpacking_time(all, unpackers));
    page.add("CPU milliseconds, of all threads.");
    let table = unpacking(all, unpackers, |found, who| {
        found.unpacked(who).map(|usage| format!("{:.1}", usage.cost.cpu * 1e3))
    });
    page.table("unpacking, CPU milliseconds", &table);
    page.add("Most memory, in MB: ours has the whole file in it.");
    let table = unpacking(all, unpackers, |found, who| {
        Some(format!("{:.1}", memory(found.unpacked(who)?)?))
    });
    page.table("unpacking, memory", &table);
    page.heading("The vendor's decoder");
    match &contest.vendor {
        Ok(_) => {
            page.add(format!(
                "The crate `at1` on the archives of {DEFAULT}, beside ours with one thread and \
                 with two: milliseconds from memory to memory, without the start of a process, so \
                 these are not the figures of above. Nothing stands where it was not timed."
            ));
            page.table("vendor", &vendor(all));
        }
        Err(why) => page.add(format!("Missing: {why}.")),
    }
}

fn heading(page: &mut Page, contest: &Contest, origin: &str, tools: &Tools) {
    let [pack, unpack] = contest.rounds;
    page.add(format!(
        "Contenders take turns; a file is packed {pack} times, or until {PACK_SECONDS} seconds \
         have gone into it, and unpacked {unpack} times, and the best counts. Times are those of \
         whole processes, from their start to their end, with reading the file and, when packing, \
         writing the archive.",
    ));
    page.add(format!("{origin} MB are 10^6 bytes."));
    page.add(format!(
        "We pack with {THREADS} threads, and that includes unpacking the archive again to compare \
         it with the file. {} Files below 192 MiB are one block to `xz -9e`, so that more threads \
         would not help it.",
        tools.describe()
    ));
}

fn packing_picture(all: &[Found<'_>]) -> Bars {
    let figure =
        |found: &Found<'_>| SPEED.iter().map(|&(who, rival, _)| speed(found, who, rival)).collect();
    let of_mean = |belongs: Belongs| {
        let mean = |&(who, rival, _): &_| mean(all, belongs, |found| speed(found, who, rival));
        SPEED.iter().map(mean).collect()
    };
    Bars {
        name: "packing",
        title: "Packing: times as fast as xz (the line); more is better".to_owned(),
        series: SPEED.iter().map(|(who, rival, _)| format!("{who} beside {rival}")).collect(),
        groups: groups(all, figure, of_mean),
        mark: Some(1.0),
        is_log: true,
    }
}

fn unpacking_picture(all: &[Found<'_>], unpackers: &[Unpacker]) -> Bars {
    let drawn: Vec<Unpacker> = DRAWN.into_iter().filter(|who| unpackers.contains(who)).collect();
    let figure =
        |found: &Found<'_>| drawn.iter().map(|&who| unpack_speed(found, who)).collect::<Vec<_>>();
    let of_mean = |belongs: Belongs| {
        drawn.iter().map(|&who| mean(all, belongs, |found| unpack_speed(found, who))).collect()
    };
    Bars {
        name: "unpacking",
        title: "Unpacking: times as fast as xz -d (the line); more is better".to_owned(),
        series: drawn.iter().map(Unpacker::to_string).collect(),
        groups: groups(all, figure, of_mean),
        mark: Some(1.0),
        is_log: true,
    }
}

/// The files, and their means.
fn groups(
    all: &[Found<'_>],
    figure: impl Fn(&Found<'_>) -> Vec<Option<f64>>,
    of_mean: impl Fn(Belongs) -> Vec<Option<f64>>,
) -> Vec<(String, Vec<Option<f64>>)> {
    let files = all.iter().map(|found| (found.sample.name.clone(), figure(found)));
    let means = MEANS.into_iter().map(|(which, of)| (format!("mean of {which}"), of_mean(of)));
    files.chain(means).collect()
}

/// A row for each file and a column for each packer.
fn packing(
    all: &[Found<'_>],
    packers: &[Packer],
    figure: impl Fn(&Found<'_>, Packer) -> Option<String>,
) -> Table {
    let mut table = Table::of(head(packers.iter().map(Packer::to_string)));
    for found in all {
        let mut cells = file(found).to_vec();
        cells.extend(packers.iter().map(|&who| cell(figure(found, who))));
        table.row_of(cells);
    }
    table
}

fn packing_time(all: &[Found<'_>], packers: &[Packer]) -> Table {
    let names = packers.iter().map(Packer::to_string);
    let pairs = SPEED.map(|(who, rival, _)| format!("{rival} ÷ {who}"));
    let mut table = Table::of(head(names.chain(pairs)));
    for found in all {
        let mut cells = file(found).to_vec();
        let time = |&who: &Packer| cell(found.packed(who).map(|usage| seconds(usage.cost.wall)));
        cells.extend(packers.iter().map(time));
        cells.extend(SPEED.map(|(who, rival, _)| decimals(speed(found, who, rival), 1)));
        table.row_of(cells);
    }
    for (which, belongs) in MEANS {
        let mut cells = vec![format!("*{which}*")];
        cells.resize(2 + packers.len(), String::new());
        let figure = |(who, rival, _)| mean(all, belongs, |found| speed(found, who, rival));
        cells.extend(SPEED.map(|pair| decimals(figure(pair), 1)));
        table.row_of(cells);
    }
    table
}

/// A row for each file and a column for each unpacker.
fn unpacking(
    all: &[Found<'_>],
    unpackers: &[Unpacker],
    figure: impl Fn(&Found<'_>, Unpacker) -> Option<String>,
) -> Table {
    let mut table = Table::of(head(unpackers.iter().map(Unpacker::to_string)));
    for found in all {
        let mut cells = file(found).to_vec();
        cells.extend(unpackers.iter().map(|&who| cell(figure(found, who))));
        table.row_of(cells);
    }
    table
}

fn unpacking_time(all: &[Found<'_>], unpackers: &[Unpacker]) -> Table {
    let ours: Vec<Unpacker> = unpackers.iter().copied().filter(|who| who.of.is_ours()).collect();
    let names = unpackers.iter().map(Unpacker::to_string);
    let mut table = Table::of(head(names.chain(ours.iter().map(|who| format!("xz ÷ {who}")))));
    for found in all {
        let mut cells = file(found).to_vec();
        let time = |&who: &Unpacker| found.unpacked(who).map(|usage| usage.cost.wall * 1e3);
        cells.extend(unpackers.iter().map(|who| decimals(time(who), 1)));
        cells.extend(ours.iter().map(|&who| decimals(unpack_speed(found, who), 2)));
        table.row_of(cells);
    }
    for (which, belongs) in MEANS {
        let mut cells = vec![format!("*{which}*")];
        cells.resize(2 + unpackers.len(), String::new());
        let means = ours.iter().map(|&who| mean(all, belongs, |found| unpack_speed(found, who)));
        cells.extend(means.map(|mean| decimals(mean, 2)));
        table.row_of(cells);
    }
    table
}

fn vendor(all: &[Found<'_>]) -> Table {
    let names = ["vendor", "ours, 1 thread", "ours, 2 threads"];
    let mut columns = names.map(|name| format!("{name}, ms")).to_vec();
    columns.extend([1, 2].map(|threads| format!("vendor ÷ ours, {threads}")));
    columns.extend(names.map(|name| format!("{name}, CPU ms")));
    columns.extend(names.map(|name| format!("{name}, MiB")));
    let mut table = Table::of(head(columns));
    for found in all {
        let of = |figures: fn(&Decoded) -> [f64; 3], index: usize| {
            decimals(found.decoded.as_ref().map(|decoded| figures(decoded)[index]), 1)
        };
        let mut cells = file(found).to_vec();
        cells.extend([0, 1, 2].map(|index| of(|decoded| decoded.milliseconds, index)));
        cells.extend([1, 2].map(|threads| {
            decimals(found.decoded.as_ref().map(|decoded| decoded.speed(threads)), 2)
        }));
        cells.extend([0, 1, 2].map(|index| of(|decoded| decoded.cpu, index)));
        cells.extend([0, 1, 2].map(|index| of(|decoded| decoded.memory, index)));
        table.row_of(cells);
    }
    table
}

fn head(columns: impl IntoIterator<Item = String>) -> Vec<String> {
    ["File", "MB"].map(str::to_owned).into_iter().chain(columns).collect()
}

fn file(found: &Found<'_>) -> [String; 2] {
    [found.sample.name.clone(), format!("{:.2}", megabytes(found.sample.bytes))]
}

fn seconds(seconds: f64) -> String {
    let digits = if seconds < 1.0 { 3 } else { 2 };
    format!("{seconds:.digits$}")
}

fn decimals(figure: Option<f64>, digits: usize) -> String {
    cell(figure.map(|figure| format!("{figure:.digits$}")))
}

fn cell(figure: Option<impl ToString>) -> String {
    figure.map_or_else(|| "–".to_owned(), |figure| figure.to_string())
}
