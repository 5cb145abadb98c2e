//! The tables and targets of the page.

use super::candidates::{CandidateResult, StringEncoding};
use super::{ColumnResult, TAKEN_ROWS, ratio};
use crate::measure::Cost;
use crate::page::ReportPage;
use crate::plot::Bars;
use crate::table::{ReportTable, Target, mean};

pub(super) fn sizes(all: &[ColumnResult], page: &mut ReportPage) {
    page.heading("Size");
    page.add(
        "Compression ratio, including the dictionary and the number of codes per row; code widths \
         are in parentheses. Our size is that in a file: a front-coded dictionary and \
         Huffman-coded row lengths. The crate does not define a file format: its dictionary counts \
         as tokens and 32-bit offsets, and each row length takes as many bits as the longest \
         needs. *Fixed-width rows* is our ratio with row lengths counted the same way.",
    );
    let mut table = ReportTable::new([
        "column",
        "rows",
        "default",
        "fewest codes",
        "thorough",
        "crate, best",
        "crate, 12",
        "fsst-rs",
        "default / crate, best",
        "fixed-width rows / crate, best",
    ]);
    for it in all {
        let cell = |(size, bits): (usize, u32)| format!("{:.3} ({bits})", ratio(it.bytes, size));
        table.row([
            it.name.to_owned(),
            it.rows.to_string(),
            cell(it.ours),
            cell(it.fewest),
            cell(it.thorough),
            cell(it.best),
            format!("{:.3}", ratio(it.bytes, it.twelve)),
            format!("{:.3}", ratio(it.bytes, it.fsst)),
            format!("{:.3}", ratio(it.best.0, it.ours.0)),
            format!("{:.3}", ratio(it.best.0, it.fixed_width_rows)),
        ]);
    }
    page.table("size", &table);
}

pub(super) fn speeds(all: &[ColumnResult], page: &mut ReportPage) {
    page.heading("Speed");
    page.add(
        "MB of strings per CPU second. `speedup` is over the crate: for compressing at our width, \
         then at its default of 12 bits. We decode packed codes, the crate decodes 16-bit codes.",
    );
    let mut table = ReportTable::new([
        "column",
        "compress",
        "speedup",
        "speedup, 12",
        "two threads",
        "quick, 12",
        "decode 12",
        "speedup",
        "decode 16",
        "speedup",
        "random row",
        "speedup",
    ]);
    for it in all {
        let speed = |cost: Cost| format!("{:.0}", it.bytes as f64 / 1e6 / cost.cpu);
        let times = |[ours, other]: [Cost; 2]| format!("{:.2}", other.over(ours).cpu);
        let [ours, _] = it.compress;
        table.row([
            it.name.to_owned(),
            speed(ours),
            times(it.compress),
            times([ours, it.default]),
            format!("{:.2}", ours.wall / it.threads),
            speed(it.quick),
            speed(it.decode[0][0]),
            times(it.decode[0]),
            speed(it.decode[1][0]),
            times(it.decode[1]),
            format!("{:.0} ns", it.take[0].cpu * 1e9 / TAKEN_ROWS as f64),
            times(it.take),
        ]);
    }
    page.table("speed", &table);
}

pub(super) fn searches(all: &[ColumnResult], page: &mut ReportPage) {
    page.heading("Search");
    page.add("CPU milliseconds for all rows. `equals` is compared with comparing the strings themselves.");
    let mut table = ReportTable::new([
        "column",
        "rows found",
        "contains",
        "speedup over crate",
        "equals",
        "speedup over strings",
    ]);
    for it in all {
        let ms = |cost: Cost| format!("{:.1}", cost.cpu * 1e3);
        let times = |[ours, other]: [Cost; 2]| format!("{:.2}", other.over(ours).cpu);
        table.row([
            it.name.to_owned(),
            it.found.to_string(),
            ms(it.contains[0]),
            times(it.contains),
            ms(it.equals[0]),
            times(it.equals),
        ]);
    }
    page.table("search", &table);
}

pub(super) fn targets(all: &[ColumnResult], page: &mut ReportPage) {
    let mut line = |what: &str, figure: f64, target| page.target(what, Some(figure), target);
    let mean = |figure: &dyn Fn(&ColumnResult) -> f64| mean(all.iter().map(figure)).unwrap_or(0.0);
    let min =
        |figure: &dyn Fn(&ColumnResult) -> f64| all.iter().map(figure).fold(f64::MAX, f64::min);
    let max = |figure: &dyn Fn(&ColumnResult) -> f64| all.iter().map(figure).fold(0.0, f64::max);
    let times = |[ours, other]: [Cost; 2]| other.over(ours).cpu;
    let size = |it: &ColumnResult| ratio(it.best.0, it.ours.0);
    line("ratio / crate's best, minimum", min(&size), Target::AtLeast(1.0));
    line("ratio / crate's best, geometric mean", mean(&size), Target::AtLeast(1.04));
    let fixed_width_rows = |it: &ColumnResult| ratio(it.best.0, it.fixed_width_rows);
    line("the same with fixed-width rows, geometric mean", mean(&fixed_width_rows), Target::None);
    line("the same with fixed-width rows, minimum", min(&fixed_width_rows), Target::None);
    let thorough = |it: &ColumnResult| ratio(it.best.0, it.thorough.0);
    line("the same, thorough and fewest codes, geometric mean", mean(&thorough), Target::None);
    line("the same, thorough and fewest codes, minimum", min(&thorough), Target::None);
    let fsst = |it: &ColumnResult| {
        if it.name == "uuids" { f64::MAX } else { ratio(it.fsst, it.ours.0) }
    };
    line("ratio / fsst-rs except uuids, minimum", min(&fsst), Target::AtLeast(1.0));
    let decode = |at: usize| move |it: &ColumnResult| times(it.decode[at]);
    line("decode at 12 bits, speedup, geometric mean", mean(&decode(0)), Target::AtLeast(1.0));
    line("decode at 12 bits, speedup, minimum", min(&decode(0)), Target::None);
    line("decode at 16 bits, speedup, geometric mean", mean(&decode(1)), Target::AtLeast(1.1));
    line("decode at 16 bits, speedup, minimum", min(&decode(1)), Target::None);
    let take = |it: &ColumnResult| times(it.take);
    line("random rows, speedup, geometric mean", mean(&take), Target::AtLeast(3.0));
    let nanoseconds = |it: &ColumnResult| it.take[0].cpu * 1e9 / TAKEN_ROWS as f64;
    line("random rows, nanoseconds, maximum", max(&nanoseconds), Target::AtMost(70.0));
    line(
        "compress at the same width, speedup, geometric mean",
        mean(&|it| times(it.compress)),
        Target::AtLeast(1.0),
    );
    line(
        "compress, crate at its default of 12 bits, speedup, geometric mean",
        mean(&|it| times([it.compress[0], it.default])),
        Target::AtLeast(1.0),
    );
    line(
        "compress, two threads over one, speedup, geometric mean",
        mean(&|it| it.compress[0].wall / it.threads),
        Target::None,
    );
    line(
        "compress on two threads, crate on one, speedup, geometric mean",
        mean(&|it| it.compress[1].wall / it.threads),
        Target::AtLeast(1.8),
    );
    line("contains, speedup, geometric mean", mean(&|it| times(it.contains)), Target::AtLeast(2.0));
    line(
        "equals, speedup over strings, geometric mean",
        mean(&|it| times(it.equals)),
        Target::AtLeast(1.0),
    );
}

type Figure = fn(&CandidateResult) -> f64;

/// Adds the comparison of OnPair with other encodings.
pub(super) fn candidates(
    all: &[(&str, Vec<(StringEncoding, CandidateResult)>)],
    page: &mut ReportPage,
) {
    page.heading("Other string encodings");
    page.add(
        "Compression ratio, including row offsets; MB of strings per CPU second to compress and to \
         decode the column; nanoseconds per row for 100,000 random rows. *dictionary* stores \
         distinct strings and a bit-packed index per row (decoded from 32-bit indices). *zstd \
         blocks* have 32 KiB at level 3, and reading a row decodes a whole block.",
    );
    let mut head = vec!["column".to_owned()];
    for what in ["ratio", "compress", "decode", "row, ns"] {
        head.extend(StringEncoding::ALL.map(|encoding| format!("{encoding}, {what}")));
    }
    let mut table = ReportTable::of(head);
    let mut bars = Bars {
        name: "",
        title: "Strings: compression ratio".to_owned(),
        series: StringEncoding::ALL.iter().map(StringEncoding::to_string).collect(),
        groups: Vec::new(),
        mark: Some(1.0),
        is_log: false,
    };
    for (name, found) in all {
        let mut cells = vec![(*name).to_owned()];
        let figures: [(Figure, usize); 4] =
            [(|it| it.ratio, 2), (|it| it.compress, 0), (|it| it.decode, 0), (|it| it.row, 0)];
        for (figure, digits) in figures {
            cells.extend(found.iter().map(|(_, it)| format!("{:.digits$}", figure(it))));
        }
        table.row_of(cells);
        bars.groups
            .push(((*name).to_owned(), found.iter().map(|(_, it)| Some(it.ratio)).collect()));
    }
    page.table("encodings", &table);
    page.plot(&bars);
}
