//! COLM, COLF and CLMN: reading beside inflating, converting beside the references.

use std::fs::{self, File};
use std::path::PathBuf;

use hypostyle::WriteOptions;
use hypostyle::formats::{self, Format, FormatId};

use crate::Result;
use crate::convert;
use crate::data::{self, Shape};
use crate::measure;
use crate::measure::Usage;
use crate::page::Page;
use crate::plot::Bars;
use crate::python::{self, Yardsticks};
use crate::read::Subject;
use crate::setup::Setup;
use crate::table::{Table, Target, megabytes};

const ROWS: u64 = 1_000_000;
const QUICK_ROWS: u64 = 50_000;

/// Full reads, in multiples of inflating alone.
const FULL_READ: f64 = 1.25;
/// Two columns of fifty, in multiples of inflating those two.
const TWO_COLUMNS: f64 = 1.5;
/// The two: an integer and a text, from the middle.
const TWO: [usize; 2] = [24, 25];
/// How many times as fast as the reference, at a level.
const CONVERT: [(u8, f64); 2] = [(WriteOptions::DEFAULT_LEVEL, 6.0), (1, 15.0)];
/// The most memory of a conversion, in MB.
const MEMORY: f64 = 600.0;

/// A table that is measured.
struct Sample {
    name: &'static str,
    columns: usize,
    /// CPU seconds in which the references convert it: COLM, COLF, CLMN.
    reference: [f64; 3],
    /// How often a conversion is repeated.
    rounds: usize,
}

const SAMPLES: [Sample; 2] = [
    Sample { name: "p10", columns: 10, reference: [12.6, 18.0, 11.6], rounds: 7 },
    Sample { name: "p50", columns: 50, reference: [63.1, 98.8, 45.5], rounds: 3 },
];

impl Sample {
    fn reference(&self, format: FormatId) -> f64 {
        let [colm, colf, clmn] = self.reference;
        match format {
            FormatId::Colf => colf,
            FormatId::Clmn => clmn,
            _ => colm,
        }
    }
}

/// The formats that hold tables of numbers.
fn column_formats() -> impl Iterator<Item = &'static dyn Format> {
    formats::tables().filter(|format| format.capabilities().numbers)
}

/// A run: where its files are, and what it has found.
struct Run<'a> {
    setup: &'a Setup,
    folder: PathBuf,
    rows: u64,
    page: &'a mut Page,
}

pub(crate) fn run(setup: &Setup, page: &mut Page) -> Result<()> {
    let rows = if setup.quick { QUICK_ROWS } else { ROWS };
    let mut run = Run { setup, folder: setup.folder("columnfiles")?, rows, page };
    run.heading();
    for sample in &SAMPLES {
        let mut csv = File::create(run.csv(sample))?;
        data::write_csv(Shape { rows, columns: sample.columns }, &mut csv)?;
    }
    let conversions = run.conversions()?;
    run.converting(&conversions)?;
    run.reading()
}

/// A conversion that was measured, and the size of the file that it made.
struct Converted<'a> {
    sample: &'a Sample,
    format: FormatId,
    level: u8,
    best: Usage,
    bytes: u64,
}

impl Run<'_> {
    fn csv(&self, sample: &Sample) -> PathBuf {
        self.folder.join(format!("{}.csv", sample.name))
    }

    /// The file at the default level, which is also the one that is read.
    fn file(&self, sample: &Sample, format: FormatId) -> PathBuf {
        self.folder.join(format!("{}.{format}", sample.name))
    }

    fn heading(&mut self) {
        let rows = self.rows;
        self.page.add(
            "Every figure is the best of several, the contenders having taken turns; ratios are \
             of figures from the same run.",
        );
        self.page.add(format!(
            "The tables have {rows} rows, a third of the columns integers, a third short texts, a \
             third floats: p10 has 10 columns, p50 has 50. They are made by \
             `hypostyle-bench gen`, the same bytes everywhere. MB are 10^6 bytes."
        ));
    }

    fn conversions(&self) -> Result<Vec<Converted<'static>>> {
        let mut all = Vec::new();
        for sample in &SAMPLES {
            for (level, _) in CONVERT {
                for format in column_formats() {
                    all.push(self.convert(sample, format.id(), level)?);
                }
            }
        }
        Ok(all)
    }

    fn convert(
        &self,
        sample: &'static Sample,
        format: FormatId,
        level: u8,
    ) -> Result<Converted<'static>> {
        let to = match level {
            WriteOptions::DEFAULT_LEVEL => self.file(sample, format),
            _ => self.folder.join("other"),
        };
        let mut best: Option<Usage> = None;
        for _ in 0..self.setup.rounds(sample.rounds) {
            let made = convert::in_child(&self.csv(sample), &to, format.name(), level)?;
            best = Some(best.map_or(made, |best| best.or_less(made)));
        }
        let best = best.ok_or("no rounds")?;
        Ok(Converted { sample, format, level, best, bytes: fs::metadata(&to)?.len() })
    }

    fn converting(&mut self, conversions: &[Converted<'_>]) -> Result<()> {
        let (p10, colm) = (&SAMPLES[0], FormatId::Colm);
        let rounds = self.setup.rounds(5);
        let here = match self.rows {
            ROWS => Yardsticks::here(&self.csv(p10), &self.file(p10, colm), rounds)?,
            _ => None, // The references' figures are for tables of one size.
        };
        let slowness = here.map_or(1.0, Yardsticks::slowness);
        self.page.heading("CSV to column file");
        self.yardsticks(here);
        let mut table = Table::new([
            "Table",
            "To",
            "Level",
            "Time, s",
            "CPU, s",
            "CSV MB per CPU s",
            "File, MB",
            "Reference, CPU s",
            "Times as fast, as given",
            "scaled",
        ]);
        for Converted { sample, format, level, best, bytes } in conversions {
            let csv = fs::metadata(self.csv(sample))?.len();
            let reference = sample.reference(*format);
            let factor = reference / best.cost.cpu;
            let asked = CONVERT.iter().find(|(asked, _)| asked == level);
            if let Some((_, least)) = asked.filter(|_| *format == colm && self.rows == ROWS) {
                let what = format!(
                    "{} to {format} at level {level}, times as fast as the reference, scaled",
                    sample.name
                );
                self.page.target(what, Some(factor * slowness), Target::AtLeast(*least));
            }
            table.row([
                sample.name.to_owned(),
                format.to_string(),
                level.to_string(),
                format!("{:.2}", best.cost.wall),
                format!("{:.2}", best.cost.cpu),
                format!("{:.0}", megabytes(csv) / best.cost.cpu),
                format!("{:.1}", megabytes(*bytes)),
                format!("{reference}"),
                format!("{factor:.1}"),
                here.map_or_else(|| "–".to_owned(), |_| format!("{:.1}", factor * slowness)),
            ]);
        }
        self.page.table("converting", &table);
        self.memory(conversions)
    }

    fn yardsticks(&mut self, here: Option<Yardsticks>) {
        self.page.add(
            "The references, of COLM and COLF in Python and of CLMN in Java, were timed on \
             another machine and are given here as they were found. Conversions run in a process \
             of their own, on all cores; CPU seconds are those of all threads, in the program \
             and in the system.",
        );
        let Some(here) = here else {
            return self.page.add("Nothing was timed here that tells the machines apart.");
        };
        let there = python::THERE;
        let mut table = Table::new(["Yardstick, p10, CPU s", "References' machine", "Here"]);
        let mut row = |what: &str, there: f64, here: f64| {
            table.row([what.to_owned(), format!("{there:.2}"), format!("{here:.2}")]);
        };
        row("Python's `csv.reader`, to the end", there.scan, here.scan);
        row("Python's `zlib.decompress`, all blocks", there.inflate, here.inflate);
        self.page.table("yardsticks", &table);
        self.page.add(format!(
            "So this machine takes {:.2} times as long as theirs, by the yardstick that is less \
             kind to us; the factors are shown as given, and scaled by this. The target is for \
             the scaled one.",
            here.slowness()
        ));
    }

    fn memory(&mut self, conversions: &[Converted<'_>]) -> Result<()> {
        self.page.heading("Memory");
        self.page.add(format!(
            "The most that was resident while converting, at the default level; rows beyond {} \
             MB wait in a temporary file.",
            convert::BUDGET_MB
        ));
        let mut table = Table::new(["Table", "CSV, MB", "To", "Resident, MB"]);
        let mut most = 0.0_f64;
        for converted in conversions {
            let Converted { sample, format, level, best, .. } = converted;
            if *level != WriteOptions::DEFAULT_LEVEL {
                continue;
            }
            let csv = fs::metadata(self.csv(sample))?.len();
            most = most.max(best.memory);
            table.row([
                sample.name.to_owned(),
                format!("{:.0}", megabytes(csv)),
                format.to_string(),
                format!("{:.0}", best.memory),
            ]);
        }
        self.page.table("memory", &table);
        let what = "MB resident while converting at the default level, at most";
        self.page.target(what, Some(most), Target::AtMost(MEMORY));
        Ok(())
    }

    fn reading(&mut self) -> Result<()> {
        self.page.heading("Reading");
        self.page.add(
            "From a file in memory: `formats::open` and `read` of the columns into Arrow, beside \
             inflating the same blocks with libdeflate on as many threads, each into memory of \
             its own, and nothing else. The verdict is on the worse of the two ratios.",
        );
        let mut table = Table::new([
            "Table",
            "Columns",
            "Format",
            "Threads",
            "Inflated, MB",
            "Inflate, s",
            "Read, s",
            "Ratio",
            "Ratio of CPU s",
        ]);
        let mut bars = Bars {
            name: "reading",
            title: "Reading into Arrow, in multiples of inflating the same blocks".to_owned(),
            series: vec!["1 thread".to_owned(), "2 threads".to_owned()],
            groups: Vec::new(),
            mark: Some(1.0),
            is_log: false,
        };
        let p50 = &SAMPLES[1];
        let all = SAMPLES.iter().map(|sample| (sample, "all", FULL_READ));
        for (sample, columns, most) in all.chain([(p50, "2 of 50", TWO_COLUMNS)]) {
            for format in column_formats() {
                let subject = Subject::load(&self.file(sample, format.id()))?;
                let subject = match columns {
                    "all" => subject,
                    _ => subject.with_columns(&TWO)?,
                };
                let name = format!("{}, {columns}, {}", sample.name, format.id());
                let ratios = self.read_all(&mut table, sample, format.id(), columns, &subject)?;
                for (threads, ratio) in ratios.iter().enumerate() {
                    let what = format!("{name}: read over inflate, threads: {}", threads + 1);
                    self.page.target(what, Some(*ratio), Target::AtMost(most));
                }
                bars.groups.push((name, ratios.into_iter().map(Some).collect()));
            }
        }
        self.page.table("reading", &table);
        self.page.plot(&bars);
        Ok(())
    }

    /// Adds a row for one thread and one for two; gives the worse ratio of each.
    fn read_all(
        &self,
        table: &mut Table,
        sample: &Sample,
        format: FormatId,
        columns: &str,
        subject: &Subject,
    ) -> Result<Vec<f64>> {
        let (_, raw) = subject.sizes();
        // As many rounds as fit in a few seconds.
        let (once, _) = measure::once(|| subject.compare(1, 1));
        let rounds = (6.0 / once.wall).clamp(7.0, 60.0).floor();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it was just put between 7 and 60"
        )]
        let rounds = self.setup.rounds(rounds as usize);
        let mut worse = Vec::new();
        for threads in [1, 2] {
            let [inflate, read] = subject.compare(threads, rounds)?;
            let ratio = read.over(inflate);
            worse.push(ratio.wall.max(ratio.cpu));
            table.row([
                sample.name.to_owned(),
                columns.to_owned(),
                format.to_string(),
                threads.to_string(),
                format!("{:.1}", megabytes(raw as u64)),
                format!("{:.3}", inflate.wall),
                format!("{:.3}", read.wall),
                format!("{:.2}", ratio.wall),
                format!("{:.2}", ratio.cpu),
            ]);
        }
        Ok(worse)
    }
}
