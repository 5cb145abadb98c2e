//! What was found, as tables and as a picture.

use super::figures::{above, mean, most, share};
use super::keepers::Keeper;
use super::targets::ABOVE;
use super::{CODECS, Found};
use crate::packers::{BROTLI, DEFAULT, LONG, Packer, QUICK, XZ_BEST, ZSTD_LONG};
use crate::page::Page;
use crate::plot::Bars;
use crate::rivals::Python;
use crate::table::{Table, megabytes};

/// Which files a mean is of.
const MEANS: [(&str, Belongs); 3] = [
    ("tables", |found| found.sample.is_table()),
    ("others", |found| !found.sample.is_table()),
    ("all", |_| true),
];

type Belongs = fn(&Found<'_>) -> bool;

/// Who is in the picture: the best of the rivals, and all of ours.
const DRAWN: [Packer; 6] = [ZSTD_LONG, BROTLI, QUICK, DEFAULT, LONG, Packer::Queryable];
/// Files below this many bytes are in the picture as means only.
const DRAWN_BYTES: u64 = 1_000_000;

pub(super) fn report(page: &mut Page, all: &[Found<'_>], packers: &[Packer], python: &Python) {
    page.add(
        "All of these give back the very bytes of the file; where that is not so, it is said. \
         Our packers see to it themselves: each archive is unpacked and compared before it \
         counts; the commands are taken at their word. `Queryable` is what `hyp pack --query` makes at the default level: parts of it \
         can be read alone.",
    );
    page.plot(&picture(all, packers));
    page.heading("Bytes");
    page.add(format!(
        "`Above` is how many bytes {DEFAULT} takes more than `{XZ_BEST}`; fewer, below zero. At \
         most {ABOVE} are allowed, whatever the file."
    ));
    page.table("bytes", &bytes(all, packers));
    page.heading("Shares");
    page.add(format!(
        "The same as shares of what `{XZ_BEST}` makes; at the end the geometric means, and the \
         worst of all files. Those of `Queryable` are of tables and JSON Lines alone, since nothing \
         else can be queried."
    ));
    page.table("shares", &shares(all, packers));
    page.heading("Not exact");
    page.add(
        "These keep the content of a file. Parquet has the values of a table, typed, and not \
         the text that they came from, so it is no exact rival. The others are for JSON Lines: \
         whether the very bytes came back was tried, and is told. datacortex is at its default, as \
         its slower modes take many minutes for a file; clp-s does without the order of lines \
         that it can record. In brackets, the share of \
         what `xz -9e` makes.",
    );
    page.add(python.describe(&Keeper::ALL.map(Keeper::module)));
    page.table("not exact", &kept(all));
    page.heading("Single codecs");
    page.add(format!(
        "What is no table, by codec: the share of `{XZ_BEST}` at the default level. Nothing \
         stands where the content is not what a codec is for."
    ));
    page.table("codecs", &codecs(all));
}

fn picture(all: &[Found<'_>], packers: &[Packer]) -> Bars {
    let drawn: Vec<Packer> = DRAWN.into_iter().filter(|who| packers.contains(who)).collect();
    let large = all.iter().filter(|found| found.sample.bytes >= DRAWN_BYTES);
    let files = large.map(|found| {
        let bars = drawn.iter().map(|&who| share(found, who, XZ_BEST)).collect();
        (found.sample.name.clone(), bars)
    });
    let means = MEANS.into_iter().map(|(which, belongs)| {
        let bars = drawn.iter().map(|&who| mean_share(all, belongs, who)).collect();
        (format!("mean of {which}"), bars)
    });
    Bars {
        name: "",
        title: format!("Bytes, as a share of what {XZ_BEST} makes (the line); less is better"),
        series: drawn.iter().map(Packer::to_string).collect(),
        groups: files.chain(means).collect(),
        mark: Some(1.0),
        is_log: false,
    }
}

fn bytes(all: &[Found<'_>], packers: &[Packer]) -> Table {
    let mut head = ["File", "Codec", "Bytes"].map(str::to_owned).to_vec();
    head.extend(packers.iter().map(Packer::to_string));
    head.push("Above".to_owned());
    let mut table = Table::of(head);
    for found in all {
        let sample = found.sample;
        let mut cells = vec![sample.name.clone(), found.codec.to_owned(), sample.bytes.to_string()];
        cells.extend(packers.iter().map(|&who| cell(found.size(who))));
        cells.push(cell(above(found, DEFAULT)));
        table.row_of(cells);
    }
    table
}

fn shares(all: &[Found<'_>], packers: &[Packer]) -> Table {
    let packers: Vec<Packer> = packers.iter().copied().filter(|&who| who != XZ_BEST).collect();
    let mut head = vec!["File".to_owned()];
    head.extend(packers.iter().map(Packer::to_string));
    let mut table = Table::of(head);
    let mut row = |name: String, figure: &dyn Fn(Packer) -> Option<f64>| {
        let mut cells = vec![name];
        cells.extend(packers.iter().map(|&who| decimals(figure(who))));
        table.row_of(cells);
    };
    for found in all {
        row(found.sample.name.clone(), &|who| share(found, who, XZ_BEST));
    }
    for (which, belongs) in MEANS {
        row(format!("*{which}*"), &|who| mean_share(all, belongs, who));
    }
    row("*the worst*".to_owned(), &|who| Some(most(all, |found| share(found, who, XZ_BEST))?.1));
    table
}

/// What keeps the content only, beside ours.
fn kept(all: &[Found<'_>]) -> Table {
    let mut head = vec!["File".to_owned()];
    head.extend([DEFAULT, Packer::Queryable].map(|who| who.to_string()));
    for keeper in Keeper::ALL {
        head.extend([keeper.to_string(), "Bytes come back".to_owned()]);
    }
    let mut table = Table::of(head);
    for found in all.iter().filter(|found| found.sample.is_table() || found.sample.is_json_lines())
    {
        let with_share = |bytes: u64| match found.size(XZ_BEST) {
            Some(best) => format!("{bytes} ({:.3})", megabytes(bytes) / megabytes(best)),
            None => bytes.to_string(),
        };
        let mut cells = vec![found.sample.name.clone()];
        let ours = [DEFAULT, Packer::Queryable].map(|who| cell(found.size(who).map(with_share)));
        cells.extend(ours);
        for keeper in Keeper::ALL {
            let kept = found.kept(keeper);
            cells.push(cell(kept.map(|kept| with_share(kept.bytes))));
            cells.push(cell(kept.map(|kept| match kept.is_exact {
                Some(true) => "yes",
                Some(false) => "NO",
                None => "no, values",
            })));
        }
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
            cells.push(decimals(share));
        }
        table.row_of(cells);
    }
    table
}

fn mean_share(all: &[Found<'_>], belongs: Belongs, who: Packer) -> Option<f64> {
    mean(all, belongs, |found| share(found, who, XZ_BEST))
}

fn decimals(figure: Option<f64>) -> String {
    cell(figure.map(|figure| format!("{figure:.3}")))
}

fn cell(figure: Option<impl ToString>) -> String {
    figure.map_or_else(|| "–".to_owned(), |figure| figure.to_string())
}
