//! The tables and charts of the page.

use super::figures::{FILE_SETS, FileFilter, mean, memory, speed, unpack_speed};
use super::targets::{self, SPEED};
use super::vendor::Decoded;
use super::{ArchiveTimes, Competitors, PACK_SECONDS};
use crate::packers::{DEFAULT, Packer, THREADS, Tools, Unpacker, ZSTD_HIGH};
use crate::page::ReportPage;
use crate::plot::Bars;
use crate::table::{ReportTable, megabytes};

/// The unpackers in the chart.
const PLOTTED: [Unpacker; 3] = [
    Unpacker { of: DEFAULT, threads: 1 },
    Unpacker { of: DEFAULT, threads: 2 },
    Unpacker { of: ZSTD_HIGH, threads: 1 },
];

pub(super) fn report(
    page: &mut ReportPage,
    all: &[ArchiveTimes<'_>],
    competitors: &Competitors,
    origin: &str,
    tools: &Tools,
) {
    let Competitors { packers, unpackers, .. } = competitors;
    heading(page, competitors, origin, tools);
    targets::add(page, all);
    page.heading("Packing");
    page.add(
        "Wall-clock seconds, and our speedup over `xz`; the last rows are geometric means. \
         [Another page](size.md) has the sizes.",
    );
    page.plot(&packing_chart(all));
    page.table("packing, seconds", &packing_time(all, packers));
    page.add("CPU seconds of all threads.");
    let table =
        packing(all, packers, |times, who| times.packed(who).map(|usage| seconds(usage.cost.cpu)));
    page.table("packing, CPU seconds", &table);
    page.add(
        "Peak memory in MB, and in parentheses as a multiple of the file size. The memory of the \
         rivals is polled a thousand times a second, so it may be too low or missing for short \
         runs.",
    );
    let table = packing(all, packers, |times, who| {
        let memory = memory(times.packed(who)?)?;
        Some(format!("{memory:.1} ({:.1})", memory / megabytes(times.sample.bytes)))
    });
    page.table("packing, memory", &table);
    page.heading("Unpacking");
    page.add(
        "Wall-clock milliseconds, and our speedup over `xz`. The rivals write to `/dev/null`, we \
         write to memory.",
    );
    page.plot(&unpacking_chart(all, unpackers));
    page.table("unpacking, milliseconds", &unpacking_time(all, unpackers));
    page.add("CPU milliseconds of all threads.");
    let table = unpacking(all, unpackers, |times, who| {
        times.unpacked(who).map(|usage| format!("{:.1}", usage.cost.cpu * 1e3))
    });
    page.table("unpacking, CPU milliseconds", &table);
    page.add("Peak memory in MB. Ours includes the whole original.");
    let table = unpacking(all, unpackers, |times, who| {
        Some(format!("{:.1}", memory(times.unpacked(who)?)?))
    });
    page.table("unpacking, memory", &table);
    page.heading("The vendor's decoder");
    match &competitors.vendor {
        Ok(_) => {
            page.add(format!(
                "The crate `at1` on the archives of {DEFAULT}, compared with ours on one and on two \
                 threads: milliseconds from memory to memory, without process startup, so these \
                 figures differ from those above. Archives that were not timed have –."
            ));
            page.table("vendor", &vendor(all));
        }
        Err(why) => page.add(format!("Missing: {why}.")),
    }
}

fn heading(page: &mut ReportPage, competitors: &Competitors, origin: &str, tools: &Tools) {
    let [pack, unpack] = competitors.rounds;
    page.add(format!(
        "Competitors alternate. Each packs a file {pack} times, or until it has used {PACK_SECONDS} \
         seconds, and unpacks it {unpack} times; the best round counts. Times are those of whole \
         processes, including reading the file and, for packing, writing the archive.",
    ));
    page.add(format!("{origin} MB are 10^6 bytes."));
    page.add(format!(
        "We pack with {THREADS} threads, which includes unpacking the archive to verify it. {} \
         `xz -9e` compresses files below 192 MiB as one block, so more threads would not help it.",
        tools.describe()
    ));
}

fn packing_chart(all: &[ArchiveTimes<'_>]) -> Bars {
    let figure = |times: &ArchiveTimes<'_>| {
        SPEED.iter().map(|&(who, rival, _)| speed(times, who, rival)).collect()
    };
    let of_mean = |belongs: FileFilter| {
        let mean = |&(who, rival, _): &_| mean(all, belongs, |times| speed(times, who, rival));
        SPEED.iter().map(mean).collect()
    };
    Bars {
        name: "packing",
        title: "Packing: speedup over xz (dashed line: 1); more is better".to_owned(),
        series: SPEED.iter().map(|(who, rival, _)| format!("{who} against {rival}")).collect(),
        groups: groups(all, figure, of_mean),
        mark: Some(1.0),
        is_log: true,
    }
}

fn unpacking_chart(all: &[ArchiveTimes<'_>], unpackers: &[Unpacker]) -> Bars {
    let plotted: Vec<Unpacker> =
        PLOTTED.into_iter().filter(|who| unpackers.contains(who)).collect();
    let figure = |times: &ArchiveTimes<'_>| {
        plotted.iter().map(|&who| unpack_speed(times, who)).collect::<Vec<_>>()
    };
    let of_mean = |belongs: FileFilter| {
        plotted.iter().map(|&who| mean(all, belongs, |times| unpack_speed(times, who))).collect()
    };
    Bars {
        name: "unpacking",
        title: "Unpacking: speedup over xz -d (dashed line: 1); more is better".to_owned(),
        series: plotted.iter().map(Unpacker::to_string).collect(),
        groups: groups(all, figure, of_mean),
        mark: Some(1.0),
        is_log: true,
    }
}

/// Returns the bars of each file and of each mean.
fn groups(
    all: &[ArchiveTimes<'_>],
    figure: impl Fn(&ArchiveTimes<'_>) -> Vec<Option<f64>>,
    of_mean: impl Fn(FileFilter) -> Vec<Option<f64>>,
) -> Vec<(String, Vec<Option<f64>>)> {
    let files = all.iter().map(|times| (times.sample.name.clone(), figure(times)));
    let means = FILE_SETS.into_iter().map(|(which, of)| (format!("mean of {which}"), of_mean(of)));
    files.chain(means).collect()
}

/// Returns a table with a row for each file and a column for each packer.
fn packing(
    all: &[ArchiveTimes<'_>],
    packers: &[Packer],
    figure: impl Fn(&ArchiveTimes<'_>, Packer) -> Option<String>,
) -> ReportTable {
    let mut table = ReportTable::of(head(packers.iter().map(Packer::to_string)));
    for times in all {
        let mut cells = file(times).to_vec();
        cells.extend(packers.iter().map(|&who| cell(figure(times, who))));
        table.row_of(cells);
    }
    table
}

fn packing_time(all: &[ArchiveTimes<'_>], packers: &[Packer]) -> ReportTable {
    let names = packers.iter().map(Packer::to_string);
    let pairs = SPEED.map(|(who, rival, _)| format!("{rival} ÷ {who}"));
    let mut table = ReportTable::of(head(names.chain(pairs)));
    for times in all {
        let mut cells = file(times).to_vec();
        let time = |&who: &Packer| cell(times.packed(who).map(|usage| seconds(usage.cost.wall)));
        cells.extend(packers.iter().map(time));
        cells.extend(SPEED.map(|(who, rival, _)| decimals(speed(times, who, rival), 1)));
        table.row_of(cells);
    }
    for (which, belongs) in FILE_SETS {
        let mut cells = vec![format!("*{which}*")];
        cells.resize(2 + packers.len(), String::new());
        let figure = |(who, rival, _)| mean(all, belongs, |times| speed(times, who, rival));
        cells.extend(SPEED.map(|pair| decimals(figure(pair), 1)));
        table.row_of(cells);
    }
    table
}

/// Returns a table with a row for each file and a column for each unpacker.
fn unpacking(
    all: &[ArchiveTimes<'_>],
    unpackers: &[Unpacker],
    figure: impl Fn(&ArchiveTimes<'_>, Unpacker) -> Option<String>,
) -> ReportTable {
    let mut table = ReportTable::of(head(unpackers.iter().map(Unpacker::to_string)));
    for times in all {
        let mut cells = file(times).to_vec();
        cells.extend(unpackers.iter().map(|&who| cell(figure(times, who))));
        table.row_of(cells);
    }
    table
}

fn unpacking_time(all: &[ArchiveTimes<'_>], unpackers: &[Unpacker]) -> ReportTable {
    let ours: Vec<Unpacker> = unpackers.iter().copied().filter(|who| who.of.is_ours()).collect();
    let names = unpackers.iter().map(Unpacker::to_string);
    let mut table =
        ReportTable::of(head(names.chain(ours.iter().map(|who| format!("xz ÷ {who}")))));
    for times in all {
        let mut cells = file(times).to_vec();
        let time = |&who: &Unpacker| times.unpacked(who).map(|usage| usage.cost.wall * 1e3);
        cells.extend(unpackers.iter().map(|who| decimals(time(who), 1)));
        cells.extend(ours.iter().map(|&who| decimals(unpack_speed(times, who), 2)));
        table.row_of(cells);
    }
    for (which, belongs) in FILE_SETS {
        let mut cells = vec![format!("*{which}*")];
        cells.resize(2 + unpackers.len(), String::new());
        let means = ours.iter().map(|&who| mean(all, belongs, |times| unpack_speed(times, who)));
        cells.extend(means.map(|mean| decimals(mean, 2)));
        table.row_of(cells);
    }
    table
}

fn vendor(all: &[ArchiveTimes<'_>]) -> ReportTable {
    let names = ["vendor", "ours, 1 thread", "ours, 2 threads"];
    let mut columns = names.map(|name| format!("{name}, ms")).to_vec();
    columns.extend([1, 2].map(|threads| format!("vendor ÷ ours, {threads}")));
    columns.extend(names.map(|name| format!("{name}, CPU ms")));
    columns.extend(names.map(|name| format!("{name}, MiB")));
    let mut table = ReportTable::of(head(columns));
    for times in all {
        let of = |figures: fn(&Decoded) -> [f64; 3], index: usize| {
            decimals(times.decoded.as_ref().map(|decoded| figures(decoded)[index]), 1)
        };
        let mut cells = file(times).to_vec();
        cells.extend([0, 1, 2].map(|index| of(|decoded| decoded.milliseconds, index)));
        cells.extend([1, 2].map(|threads| {
            decimals(times.decoded.as_ref().map(|decoded| decoded.speed(threads)), 2)
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

fn file(times: &ArchiveTimes<'_>) -> [String; 2] {
    [times.sample.name.clone(), format!("{:.2}", megabytes(times.sample.bytes))]
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
