//! What was found, as tables, and what was asked for.

use super::contest::{Packer, THREADS, Unpacker};
use super::{
    CODECS, DEFAULT, Found, LONG, PACK_ROUNDS, PACK_SECONDS, QUICK, UNPACK_ROUNDS, XZ, XZ_BEST,
};
use crate::page::Page;
use crate::table::{self, Table, Target, megabytes};

/// Most bytes at the default level, as a share of what `xz -9e` makes.
const SHARES: [(&str, f64); 6] = [
    ("diamonds", 0.68),
    ("lahman_Batting", 0.74),
    ("nyc_flights", 0.82),
    ("ensembl_genes", 0.85),
    ("airports", 0.84),
    ("ieee_oui", 0.97),
];
/// The same, as the geometric mean of these tables.
const MEAN_SHARE: f64 = 0.81;
/// The same for what is no table, and as the geometric mean of samples of logs.
const OTHER_SHARES: [(&str, f64); 3] =
    [("kafka_server", 0.82), ("flights200k", 0.62), ("zeek_combined", 0.92)];
const LOG_SHARE: f64 = 0.92;
const LOGS: &str = "_2k";
/// Most bytes above `xz -9e`, whatever the file.
const ABOVE: f64 = 64.0;
/// How many times as fast as `xz -9e` at the default level, and as `xz -6` at level 1.
const SPEED: [(Packer, Packer, f64); 2] = [(DEFAULT, XZ_BEST, 3.0), (QUICK, XZ, 10.0)];
/// Most memory while packing, in multiples of the file.
const MEMORY: f64 = 12.0;

/// Which files a mean is of.
const MEANS: [(&str, Belongs); 2] =
    [("tables", |found| found.sample.is_table()), ("all", |_| true)];

type Belongs = fn(&Found<'_>) -> bool;

pub(super) fn report(
    page: &mut Page,
    all: &[Found<'_>],
    packers: &[Packer],
    unpackers: &[Unpacker],
    origin: &str,
    xz: Option<&str>,
) {
    heading(page, origin, xz);
    targets(page, all);
    page.heading("Size");
    page.add("Bytes, and their share of what `xz -9e` makes; at the end the geometric means.");
    page.table("size", &sizes(all, packers));
    page.add(
        "What is no table, by codec: the share of `xz -9e` at the default level. Nothing stands \
         where the content is not what a codec is for.",
    );
    page.table("codecs", &codecs(all));
    page.heading("Packing");
    page.add(
        "Seconds on the clock, and how many times as fast as `xz` we are; at the end the \
         geometric means of that.",
    );
    page.table("packing, seconds", &packing_time(all, packers));
    page.add("CPU seconds, of all threads.");
    let table =
        packing(all, packers, |found, who| found.packed(who).map(|usage| seconds(usage.cost.cpu)));
    page.table("packing, CPU seconds", &table);
    page.add("Most memory, in MB; in brackets, in multiples of the file.");
    let table = packing(all, packers, |found, who| {
        let memory = found.packed(who)?.memory;
        Some(format!("{memory:.1} ({:.1})", memory / megabytes(found.sample.bytes)))
    });
    page.table("packing, memory", &table);
    page.heading("Unpacking");
    page.add(
        "Milliseconds on the clock, `xz` into `/dev/null` and we into memory, and how many times \
         as fast as `xz` we are.",
    );
    page.table("unpacking, milliseconds", &unpacking_time(all, unpackers));
    page.add("Most memory, in MB: ours has the whole file in it.");
    let table = unpacking(all, unpackers, |found, who| {
        found.unpacked(who).map(|usage| format!("{:.1}", usage.memory))
    });
    page.table("unpacking, memory", &table);
}

fn heading(page: &mut Page, origin: &str, xz: Option<&str>) {
    page.add(format!(
        "Contenders take turns; a file is packed {PACK_ROUNDS} times, or until {PACK_SECONDS} \
         seconds have gone into it, and unpacked {UNPACK_ROUNDS} times, and the best counts. \
         Times are those of whole processes, from their start to their end, with reading the \
         file and, when packing, writing the archive.",
    ));
    page.add(format!("{origin} MB are 10^6 bytes."));
    let rival = match xz {
        Some(version) => format!(
            "{version}, on one thread: files below 192 MiB are one block to `xz -9e`, so that more \
             threads would not help it"
        ),
        None => "missing: there is no `xz` on the path, so nothing is compared".to_owned(),
    };
    page.add(format!(
        "We pack with {THREADS} threads, and that includes unpacking the archive again to compare \
         it with the file. The rival is {rival}."
    ));
}

fn targets(page: &mut Page, all: &[Found<'_>]) {
    let mut row = |what: String, of: String, figure: Option<f64>, target: Target| {
        page.target(format!("{what}: {of}"), figure, target);
    };
    let share_of = |found: &Found<'_>| share(found, DEFAULT, XZ_BEST);
    for (stem, most) in SHARES.into_iter().chain(OTHER_SHARES) {
        let figure = all.iter().find(|found| found.sample.stem() == stem).and_then(share_of);
        row(
            format!("{DEFAULT}, share of {XZ_BEST}"),
            stem.to_owned(),
            figure,
            Target::AtMost(most),
        );
    }
    let is_asked = |found: &Found<'_>| SHARES.iter().any(|(stem, _)| *stem == found.sample.stem());
    if all.iter().filter(|found| is_asked(found)).count() == SHARES.len() {
        let figure = mean(all, is_asked, share_of);
        let of = "these tables, geometric mean".to_owned();
        row(format!("{DEFAULT}, share of {XZ_BEST}"), of, figure, Target::AtMost(MEAN_SHARE));
    }
    let is_log = |found: &Found<'_>| found.sample.stem().ends_with(LOGS);
    let of = "the samples of logs, geometric mean".to_owned();
    let figure = mean(all, is_log, share_of);
    row(format!("{DEFAULT}, share of {XZ_BEST}"), of, figure, Target::AtMost(LOG_SHARE));
    for who in [DEFAULT, LONG] {
        let above = |found: &Found<'_>| Some(difference(found.size(who)?, found.size(XZ_BEST)?));
        if let Some((of, figure)) = most(all, above) {
            let what = format!("{who}, bytes above {XZ_BEST}");
            row(what, format!("{of}, the worst"), Some(figure), Target::AtMost(ABOVE));
        }
    }
    let mut each = |what: &str, target: Target, figure: &dyn Fn(&Found<'_>) -> Option<f64>| {
        for (which, belongs) in MEANS {
            let of = format!("{which}, geometric mean");
            row(what.to_owned(), of, mean(all, belongs, figure), target);
        }
        let worst = match target {
            Target::AtLeast(_) => most(all, |found| Some(-figure(found)?)),
            _ => most(all, figure),
        };
        if let Some((of, figure)) = worst {
            row(what.to_owned(), format!("{of}, the worst"), Some(figure.abs()), target);
        }
    };
    for (who, rival, least) in SPEED {
        let what = format!("{who}, times as fast as {rival}");
        each(&what, Target::AtLeast(least), &|found| speed(found, who, rival));
    }
    let what = format!("{QUICK}, share of {XZ}");
    each(&what, Target::AtMost(1.0), &|found| share(found, QUICK, XZ));
    for threads in [1, 2] {
        let who = Unpacker { of: DEFAULT, threads };
        let what = format!("Unpacking {who}, times as fast as xz -d");
        each(&what, Target::AtLeast(1.0), &|found| unpack_speed(found, who));
    }
    for who in [QUICK, DEFAULT, LONG] {
        let figure =
            |found: &Found<'_>| Some(found.packed(who)?.memory / megabytes(found.sample.bytes));
        for (which, belongs) in MEANS {
            let some = all.iter().filter(|found| belongs(found));
            if let Some((of, figure)) = most(some, figure) {
                let what = format!("{who}, memory in multiples of the file");
                let of = format!("{of}, the worst of {which}");
                row(what, of, Some(figure), Target::AtMost(MEMORY));
            }
        }
    }
}

fn sizes(all: &[Found<'_>], packers: &[Packer]) -> Table {
    let shares: Vec<Packer> = packers.iter().copied().filter(|&who| who != XZ_BEST).collect();
    let mut head = vec!["File".to_owned(), "Codec".to_owned(), "Bytes".to_owned()];
    head.extend(packers.iter().map(Packer::to_string));
    head.extend(shares.iter().map(|who| format!("{who}, share")));
    let mut table = Table::of(head);
    for found in all {
        let mut cells =
            vec![found.sample.name.clone(), found.codec.to_owned(), found.sample.bytes.to_string()];
        cells.extend(packers.iter().map(|&who| cell(found.size(who))));
        cells.extend(shares.iter().map(|&who| decimals(share(found, who, XZ_BEST), 3)));
        table.row_of(cells);
    }
    for (which, belongs) in MEANS {
        let mut cells = vec![format!("*{which}*")];
        cells.resize(3 + packers.len(), String::new());
        let means =
            shares.iter().map(|&who| mean(all, belongs, |found| share(found, who, XZ_BEST)));
        cells.extend(means.map(|mean| decimals(mean, 3)));
        table.row_of(cells);
    }
    table
}

/// A row for each file and a column for each packer.
fn packing(
    all: &[Found<'_>],
    packers: &[Packer],
    figure: impl Fn(&Found<'_>, Packer) -> Option<String>,
) -> Table {
    let mut head = vec!["File".to_owned(), "MB".to_owned()];
    head.extend(packers.iter().map(Packer::to_string));
    let mut table = Table::of(head);
    for found in all {
        let mut cells = file(found).to_vec();
        cells.extend(packers.iter().map(|&who| cell(figure(found, who))));
        table.row_of(cells);
    }
    table
}

fn packing_time(all: &[Found<'_>], packers: &[Packer]) -> Table {
    let mut head = vec!["File".to_owned(), "MB".to_owned()];
    head.extend(packers.iter().map(Packer::to_string));
    head.extend(SPEED.map(|(who, rival, _)| format!("{rival} ÷ {who}")));
    let mut table = Table::of(head);
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
    let mut head = vec!["File".to_owned(), "MB".to_owned()];
    head.extend(unpackers.iter().map(Unpacker::to_string));
    let mut table = Table::of(head);
    for found in all {
        let mut cells = file(found).to_vec();
        cells.extend(unpackers.iter().map(|&who| cell(figure(found, who))));
        table.row_of(cells);
    }
    table
}

fn unpacking_time(all: &[Found<'_>], unpackers: &[Unpacker]) -> Table {
    let ours: Vec<Unpacker> =
        unpackers.iter().copied().filter(|who| matches!(who.of, Packer::Level(_))).collect();
    let mut head = vec!["File".to_owned(), "MB".to_owned()];
    head.extend(unpackers.iter().map(Unpacker::to_string));
    head.extend(ours.iter().map(|who| format!("xz ÷ {who}")));
    let mut table = Table::of(head);
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

/// What the codecs make of files that are no tables.
fn codecs(all: &[Found<'_>]) -> Table {
    let mut head = vec!["File".to_owned(), "Chosen".to_owned()];
    head.extend(CODECS.iter().map(|codec| codec.name().to_owned()));
    let mut table = Table::of(head);
    for found in all.iter().filter(|found| !found.by_codec.is_empty()) {
        let mut cells = vec![found.sample.name.clone(), found.codec.to_owned()];
        for codec in CODECS {
            let size = found.by_codec.iter().find(|(of, _)| *of == codec).map(|&(_, size)| size);
            let rival = found.size(XZ_BEST);
            let share = size.zip(rival).map(|(size, rival)| megabytes(size) / megabytes(rival));
            cells.push(decimals(share, 3));
        }
        table.row_of(cells);
    }
    table
}

/// Bytes, as a share of what another makes.
fn share(found: &Found<'_>, who: Packer, rival: Packer) -> Option<f64> {
    Some(megabytes(found.size(who)?) / megabytes(found.size(rival)?))
}

/// Bytes above those of another; below zero if there are fewer.
fn difference(ours: u64, theirs: u64) -> f64 {
    ((megabytes(ours) - megabytes(theirs)) * 1e6).round()
}

/// How many times as fast as another.
fn speed(found: &Found<'_>, who: Packer, rival: Packer) -> Option<f64> {
    Some(found.packed(rival)?.cost.wall / found.packed(who)?.cost.wall)
}

fn unpack_speed(found: &Found<'_>, who: Unpacker) -> Option<f64> {
    let rival = Unpacker { of: XZ_BEST, threads: 1 };
    Some(found.unpacked(rival)?.cost.wall / found.unpacked(who)?.cost.wall)
}

/// The geometric mean of a figure of some files.
fn mean(
    all: &[Found<'_>],
    belongs: impl Fn(&Found<'_>) -> bool,
    figure: impl Fn(&Found<'_>) -> Option<f64>,
) -> Option<f64> {
    table::mean(all.iter().filter(|found| belongs(found)).filter_map(figure))
}

/// The largest figure, and the file that has it.
fn most<'a>(
    all: impl IntoIterator<Item = &'a Found<'a>>,
    figure: impl Fn(&Found<'_>) -> Option<f64>,
) -> Option<(&'a str, f64)> {
    let figures = all.into_iter().filter_map(|found| Some((found.sample.stem(), figure(found)?)));
    figures.max_by(|(_, a), (_, b)| a.total_cmp(b))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_told_apart_to_the_last() {
        assert_eq!([difference(31_053_851, 31_053_850), difference(3, 7)], [1.0, -4.0]);
    }
}
