//! What was found, as tables, and what was asked for.

use super::ways::{Found, Way};
use super::{Measured, TAKEN, ratio};
use crate::measure::Cost;
use crate::page::Page;
use crate::plot::Bars;
use crate::table::{Table, Target, mean};

pub(super) fn sizes(all: &[Measured], page: &mut Page) {
    page.heading("Size");
    page.add(
        "Times smaller than the strings, with the dictionary and how many codes each row has. \
         Widths in brackets. Ours is counted as a file has it: the dictionary front-coded, and \
         how many codes rows have coded by how common that is. The crate leaves storing to others; \
         its dictionary is counted as tokens and offsets of 32 bits, and for rows as many bits as \
         the longest needs. *Rows alike* is ours with rows like that, too.",
    );
    let mut table = Table::new([
        "column",
        "rows",
        "default",
        "fewest codes",
        "thorough",
        "crate, best",
        "crate, 12",
        "fsst-rs",
        "default over crate's best",
        "rows alike",
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
            format!("{:.3}", ratio(it.best.0, it.alike)),
        ]);
    }
    page.table("size", &table);
}

pub(super) fn speeds(all: &[Measured], page: &mut Page) {
    page.heading("Speed");
    page.add(
        "MB of strings in a second. Times are those of the crate: at our width for compressing, at \
         its default of 12 bits behind it; decoding is from packed codes here, from codes of 16 \
         bits there.",
    );
    let mut table = Table::new([
        "column",
        "compress",
        "times",
        "times, 12",
        "two threads",
        "quick, 12",
        "decode 12",
        "times",
        "decode 16",
        "times",
        "random row",
        "times",
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
            format!("{:.0} ns", it.take[0].cpu * 1e9 / TAKEN as f64),
            times(it.take),
        ]);
    }
    page.table("speed", &table);
}

pub(super) fn searches(all: &[Measured], page: &mut Page) {
    page.heading("Search");
    page.add("Milliseconds for all rows. Equality is beside comparing the strings themselves.");
    let mut table = Table::new([
        "column",
        "rows found",
        "contains",
        "times the crate",
        "equals",
        "times strings",
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

pub(super) fn targets(all: &[Measured], page: &mut Page) {
    let mut line = |what: &str, figure: f64, target| page.target(what, Some(figure), target);
    let mean = |figure: &dyn Fn(&Measured) -> f64| mean(all.iter().map(figure)).unwrap_or(0.0);
    let least = |figure: &dyn Fn(&Measured) -> f64| all.iter().map(figure).fold(f64::MAX, f64::min);
    let most = |figure: &dyn Fn(&Measured) -> f64| all.iter().map(figure).fold(0.0, f64::max);
    let times = |[ours, other]: [Cost; 2]| other.over(ours).cpu;
    let size = |it: &Measured| ratio(it.best.0, it.ours.0);
    line("ratio over the crate's best, least", least(&size), Target::AtLeast(1.0));
    line("ratio over the crate's best, geometric mean", mean(&size), Target::AtLeast(1.04));
    let alike = |it: &Measured| ratio(it.best.0, it.alike);
    line("the same, rows alike", mean(&alike), Target::None);
    line("the same, rows alike, least", least(&alike), Target::None);
    let thorough = |it: &Measured| ratio(it.best.0, it.thorough.0);
    line("the same, thorough and fewest codes", mean(&thorough), Target::None);
    line("the same, least", least(&thorough), Target::None);
    let fsst = |it: &Measured| {
        if it.name == "uuids" { f64::MAX } else { ratio(it.fsst, it.ours.0) }
    };
    line("ratio over fsst-rs but for uuids, least", least(&fsst), Target::AtLeast(1.0));
    let decode = |at: usize| move |it: &Measured| times(it.decode[at]);
    line("decode at 12 bits, geometric mean", mean(&decode(0)), Target::AtLeast(1.0));
    line("decode at 12 bits, least", least(&decode(0)), Target::None);
    line("decode at 16 bits, geometric mean", mean(&decode(1)), Target::AtLeast(1.1));
    line("decode at 16 bits, least", least(&decode(1)), Target::None);
    let take = |it: &Measured| times(it.take);
    line("random rows, geometric mean", mean(&take), Target::AtLeast(3.0));
    let nanoseconds = |it: &Measured| it.take[0].cpu * 1e9 / TAKEN as f64;
    line("random rows, most nanoseconds", most(&nanoseconds), Target::AtMost(70.0));
    line(
        "compress, at the same width, geometric mean",
        mean(&|it| times(it.compress)),
        Target::AtLeast(1.0),
    );
    line(
        "compress, the crate at its default of 12 bits, geometric mean",
        mean(&|it| times([it.compress[0], it.default])),
        Target::AtLeast(1.0),
    );
    line(
        "compress, two threads over one, geometric mean",
        mean(&|it| it.compress[0].wall / it.threads),
        Target::None,
    );
    line(
        "compress on two threads over the crate on one, geometric mean",
        mean(&|it| it.compress[1].wall / it.threads),
        Target::AtLeast(1.8),
    );
    line("contains, geometric mean", mean(&|it| times(it.contains)), Target::AtLeast(2.0));
    line("equals over strings, geometric mean", mean(&|it| times(it.equals)), Target::AtLeast(1.0));
}

type Figure = fn(&Found) -> f64;

/// OnPair beside ways that are nothing but well known.
pub(super) fn ways(all: &[(&str, Vec<(Way, Found)>)], page: &mut Page) {
    page.heading("Other ways to keep strings");
    page.add(
        "Times smaller than the strings, with what tells where rows are; MB of strings in a CPU \
         second, to compress and to decode all; nanoseconds for one of 100,000 random rows. \
         *dictionary* keeps distinct strings and the number of one for each row, in as few bits \
         as that needs (decoded from numbers of 32 bits); *zstd blocks* are of 32 KiB at level 3, \
         of which a whole one is decoded for a row.",
    );
    let mut head = vec!["column".to_owned()];
    for what in ["ratio", "compress", "decode", "row, ns"] {
        head.extend(Way::ALL.map(|way| format!("{way}, {what}")));
    }
    let mut table = Table::of(head);
    let mut bars = Bars {
        name: "",
        title: "Strings: times smaller".to_owned(),
        series: Way::ALL.iter().map(Way::to_string).collect(),
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
    page.table("ways", &table);
    page.plot(&bars);
}
