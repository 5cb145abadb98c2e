//! The tables and the chart of the page.

use super::figures::{above, largest, mean, share};
use super::python_rivals::PythonRival;
use super::targets::MAX_ABOVE;
use super::{CODECS, FileSizes};
use crate::packers::{BROTLI, DEFAULT, LONG, Packer, QUICK, XZ_BEST, ZSTD_LONG};
use crate::page::ReportPage;
use crate::plot::Bars;
use crate::rivals::Python;
use crate::table::{ReportTable, megabytes};

/// The sets of files that means are taken over.
const FILE_SETS: [(&str, FileFilter); 3] = [
    ("tables", |sizes| sizes.sample.is_table()),
    ("others", |sizes| !sizes.sample.is_table()),
    ("all", |_| true),
];

type FileFilter = fn(&FileSizes<'_>) -> bool;

/// The packers in the chart: the best rivals, and all of ours.
const PLOTTED: [Packer; 6] = [ZSTD_LONG, BROTLI, QUICK, DEFAULT, LONG, Packer::Queryable];
/// Smaller files are in the chart only as part of means.
const MIN_PLOTTED_BYTES: u64 = 1_000_000;

pub(super) fn report(
    page: &mut ReportPage,
    all: &[FileSizes<'_>],
    packers: &[Packer],
    python: &Python,
) {
    page.add(
        "All packers restore the exact bytes of the file, except where the page says otherwise. \
         Ours verify every archive by unpacking and comparing it; the commands are trusted. \
         `Queryable` is `hyp pack --query` at the default level: a reader can read parts of such \
         an archive.",
    );
    page.plot(&chart(all, packers));
    page.heading("Bytes");
    page.add(format!(
        "`Above` is the size of {DEFAULT} minus that of `{XZ_BEST}` in bytes. The target is at most \
         {MAX_ABOVE} for every file."
    ));
    page.table("bytes", &bytes(all, packers));
    page.heading("Shares");
    page.add(format!(
        "The same sizes as shares of `{XZ_BEST}`; the last rows are geometric means and the worst \
         file. The means of `Queryable` cover only tables and JSON Lines, because other files are \
         not queryable."
    ));
    page.table("shares", &shares(all, packers));
    page.heading("Formats that store values");
    page.add(
        "These formats store the values of a file. Parquet stores typed values and not their text, \
         so it cannot restore the exact file. The others are for JSON Lines, and the table shows \
         whether they restored the exact bytes. datacortex runs in its default mode, because its \
         slower modes take many minutes per file; clp-s does not record the order of lines. The \
         share of `xz -9e` is in parentheses.",
    );
    page.add(python.describe(&PythonRival::ALL.map(PythonRival::module)));
    page.table("value formats", &python_rivals(all));
    page.heading("Single codecs");
    page.add(format!(
        "Files other than tables, by codec: the share of `{XZ_BEST}` at the default level. A codec \
         that does not support the content has –."
    ));
    page.table("codecs", &codecs(all));
}

fn chart(all: &[FileSizes<'_>], packers: &[Packer]) -> Bars {
    let plotted: Vec<Packer> = PLOTTED.into_iter().filter(|who| packers.contains(who)).collect();
    let large = all.iter().filter(|sizes| sizes.sample.bytes >= MIN_PLOTTED_BYTES);
    let files = large.map(|sizes| {
        let bars = plotted.iter().map(|&who| share(sizes, who, XZ_BEST)).collect();
        (sizes.sample.name.clone(), bars)
    });
    let means = FILE_SETS.into_iter().map(|(which, belongs)| {
        let bars = plotted.iter().map(|&who| mean_share(all, belongs, who)).collect();
        (format!("mean of {which}"), bars)
    });
    Bars {
        name: "",
        title: format!("Size as a share of {XZ_BEST} (dashed line: 1); less is better"),
        series: plotted.iter().map(Packer::to_string).collect(),
        groups: files.chain(means).collect(),
        mark: Some(1.0),
        is_log: false,
    }
}

fn bytes(all: &[FileSizes<'_>], packers: &[Packer]) -> ReportTable {
    let mut head = ["File", "Codec", "Bytes"].map(str::to_owned).to_vec();
    head.extend(packers.iter().map(Packer::to_string));
    head.push("Above".to_owned());
    let mut table = ReportTable::of(head);
    for sizes in all {
        let sample = sizes.sample;
        let mut cells = vec![sample.name.clone(), sizes.codec.to_owned(), sample.bytes.to_string()];
        cells.extend(packers.iter().map(|&who| cell(sizes.size(who))));
        cells.push(cell(above(sizes, DEFAULT)));
        table.row_of(cells);
    }
    table
}

fn shares(all: &[FileSizes<'_>], packers: &[Packer]) -> ReportTable {
    let packers: Vec<Packer> = packers.iter().copied().filter(|&who| who != XZ_BEST).collect();
    let mut head = vec!["File".to_owned()];
    head.extend(packers.iter().map(Packer::to_string));
    let mut table = ReportTable::of(head);
    let mut row = |name: String, figure: &dyn Fn(Packer) -> Option<f64>| {
        let mut cells = vec![name];
        cells.extend(packers.iter().map(|&who| decimals(figure(who))));
        table.row_of(cells);
    };
    for sizes in all {
        row(sizes.sample.name.clone(), &|who| share(sizes, who, XZ_BEST));
    }
    for (which, belongs) in FILE_SETS {
        row(format!("*{which}*"), &|who| mean_share(all, belongs, who));
    }
    row("*worst*".to_owned(), &|who| Some(largest(all, |sizes| share(sizes, who, XZ_BEST))?.1));
    table
}

/// Returns the sizes of the formats that store values, and ours.
fn python_rivals(all: &[FileSizes<'_>]) -> ReportTable {
    let mut head = vec!["File".to_owned()];
    head.extend([DEFAULT, Packer::Queryable].map(|who| who.to_string()));
    for rival in PythonRival::ALL {
        head.extend([rival.to_string(), "Exact".to_owned()]);
    }
    let mut table = ReportTable::of(head);
    for sizes in all.iter().filter(|sizes| sizes.sample.is_table() || sizes.sample.is_json_lines())
    {
        let with_share = |bytes: u64| match sizes.size(XZ_BEST) {
            Some(best) => format!("{bytes} ({:.3})", megabytes(bytes) / megabytes(best)),
            None => bytes.to_string(),
        };
        let mut cells = vec![sizes.sample.name.clone()];
        let ours = [DEFAULT, Packer::Queryable].map(|who| cell(sizes.size(who).map(with_share)));
        cells.extend(ours);
        for rival in PythonRival::ALL {
            let size = sizes.python_rival(rival);
            cells.push(cell(size.map(|size| with_share(size.bytes))));
            cells.push(cell(size.map(|size| match size.is_exact {
                Some(true) => "yes",
                Some(false) => "NO",
                None => "values only",
            })));
        }
        table.row_of(cells);
    }
    table
}

/// Returns the share of each single codec on files that are not tables.
fn codecs(all: &[FileSizes<'_>]) -> ReportTable {
    let mut head = vec!["File".to_owned(), "Chosen".to_owned()];
    head.extend(CODECS.iter().map(|codec| codec.name().to_owned()));
    let mut table = ReportTable::of(head);
    for sizes in all.iter().filter(|sizes| !sizes.by_codec.is_empty()) {
        let mut cells = vec![sizes.sample.name.clone(), sizes.codec.to_owned()];
        for codec in CODECS {
            let size = sizes.by_codec.iter().find(|(of, _)| *of == codec).map(|&(_, size)| size);
            let rival = sizes.size(XZ_BEST);
            let share = size.zip(rival).map(|(size, rival)| megabytes(size) / megabytes(rival));
            cells.push(decimals(share));
        }
        table.row_of(cells);
    }
    table
}

fn mean_share(all: &[FileSizes<'_>], belongs: FileFilter, who: Packer) -> Option<f64> {
    mean(all, belongs, |sizes| share(sizes, who, XZ_BEST))
}

fn decimals(figure: Option<f64>) -> String {
    cell(figure.map(|figure| format!("{figure:.3}")))
}

fn cell(figure: Option<impl ToString>) -> String {
    figure.map_or_else(|| "–".to_owned(), |figure| figure.to_string())
}
