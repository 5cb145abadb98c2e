//! COLM, COLF and CLMN: reading against inflating, converting against the references.

use std::fs::{self, File};
use std::path::PathBuf;

use hypostyle::WriteOptions;
use hypostyle::formats::{self, Format, FormatId};

use crate::Result;
use crate::convert;
use crate::data::{self, TableShape};
use crate::measure;
use crate::measure::Usage;
use crate::page::ReportPage;
use crate::plot::Bars;
use crate::python::{self, Yardsticks};
use crate::read::ColumnFile;
use crate::setup::Setup;
use crate::table::{ReportTable, Target, megabytes};

const ROWS: u64 = 1_000_000;
const QUICK_ROWS: u64 = 50_000;

/// The target of full reads, as a multiple of inflating only.
const MAX_FULL_READ: f64 = 1.25;
/// The target of reading two columns of fifty, as a multiple of inflating those two.
const MAX_TWO_COLUMNS: f64 = 1.5;
/// The two columns: an integer and a text, from the middle.
const TWO: [usize; 2] = [24, 25];
/// The target of conversions by level, as a multiple of the reference's speed.
const MIN_SPEEDUPS: [(u8, f64); 2] = [(WriteOptions::DEFAULT_LEVEL, 6.0), (1, 15.0)];
/// The target of peak memory in a conversion, in MB.
const MAX_MEMORY: f64 = 600.0;

/// A generated table.
struct TestTable {
    name: &'static str,
    columns: usize,
    /// CPU seconds that the references take to convert it to COLM, COLF, CLMN.
    reference: [f64; 3],
    /// The number of rounds of a conversion.
    rounds: usize,
}

const TEST_TABLES: [TestTable; 2] = [
    TestTable { name: "p10", columns: 10, reference: [12.6, 18.0, 11.6], rounds: 7 },
    TestTable { name: "p50", columns: 50, reference: [63.1, 98.8, 45.5], rounds: 3 },
];

impl TestTable {
    fn reference(&self, format: FormatId) -> f64 {
        let [colm, colf, clmn] = self.reference;
        match format {
            FormatId::Colf => colf,
            FormatId::Clmn => clmn,
            _ => colm,
        }
    }
}

/// Returns the formats that support numbers.
fn column_formats() -> impl Iterator<Item = &'static dyn Format> {
    formats::tables().filter(|format| format.capabilities().numbers)
}

/// The state of a run.
struct ColumnFileBench<'a> {
    setup: &'a Setup,
    folder: PathBuf,
    rows: u64,
    page: &'a mut ReportPage,
}

pub(crate) fn run(setup: &Setup, page: &mut ReportPage) -> Result<()> {
    let rows = if setup.quick { QUICK_ROWS } else { ROWS };
    let mut run = ColumnFileBench { setup, folder: setup.folder("columnfiles")?, rows, page };
    run.heading();
    for sample in &TEST_TABLES {
        let mut csv = File::create(run.csv(sample))?;
        data::write_csv(TableShape { rows, columns: sample.columns }, &mut csv)?;
    }
    let conversions = run.conversions()?;
    run.converting(&conversions)?;
    run.reading()
}

/// The cost of a conversion, and the size of the file that it wrote.
struct Converted<'a> {
    sample: &'a TestTable,
    format: FormatId,
    level: u8,
    best: Usage,
    bytes: u64,
}

impl ColumnFileBench<'_> {
    fn csv(&self, sample: &TestTable) -> PathBuf {
        self.folder.join(format!("{}.csv", sample.name))
    }

    /// Returns the path of the file at the default level, which the read bench uses.
    fn file(&self, sample: &TestTable, format: FormatId) -> PathBuf {
        self.folder.join(format!("{}.{format}", sample.name))
    }

    fn heading(&mut self) {
        let rows = self.rows;
        self.page.add(
            "Every figure is the best of several rounds, in which the competitors alternate. Ratios \
             compare figures of the same run.",
        );
        self.page.add(format!(
            "The tables have {rows} rows, a third of the columns integers, a third short texts, a \
             third floats: p10 has 10 columns, p50 has 50. `hypostyle-bench gen` writes the same \
             bytes on every machine. MB are 10^6 bytes."
        ));
    }

    fn conversions(&self) -> Result<Vec<Converted<'static>>> {
        let mut all = Vec::new();
        for sample in &TEST_TABLES {
            for (level, _) in MIN_SPEEDUPS {
                for format in column_formats() {
                    all.push(self.convert(sample, format.id(), level)?);
                }
            }
        }
        Ok(all)
    }

    fn convert(
        &self,
        sample: &'static TestTable,
        format: FormatId,
        level: u8,
    ) -> Result<Converted<'static>> {
        let to = match level {
            WriteOptions::DEFAULT_LEVEL => self.file(sample, format),
            _ => self.folder.join("other"),
        };
        let mut best: Option<Usage> = None;
        for _ in 0..self.setup.rounds(sample.rounds) {
            let usage = convert::in_child(&self.csv(sample), &to, format.name(), level)?;
            best = Some(best.map_or(usage, |best| best.min(usage)));
        }
        let best = best.ok_or("no rounds")?;
        Ok(Converted { sample, format, level, best, bytes: fs::metadata(&to)?.len() })
    }

    fn converting(&mut self, conversions: &[Converted<'_>]) -> Result<()> {
        let (p10, colm) = (&TEST_TABLES[0], FormatId::Colm);
        let rounds = self.setup.rounds(5);
        let here = match self.rows {
            ROWS => Yardsticks::measure(&self.csv(p10), &self.file(p10, colm), rounds)?,
            _ => None, // The figures of the references are for tables of one size.
        };
        let slowness = here.map_or(1.0, Yardsticks::slowness);
        self.page.heading("CSV to column file");
        self.yardsticks(here);
        let mut table = ReportTable::new([
            "Table",
            "To",
            "Level",
            "Time, s",
            "CPU, s",
            "CSV MB per CPU s",
            "File, MB",
            "Reference, CPU s",
            "Speedup",
            "Speedup, scaled",
        ]);
        for Converted { sample, format, level, best, bytes } in conversions {
            let csv = fs::metadata(self.csv(sample))?.len();
            let reference = sample.reference(*format);
            let factor = reference / best.cost.cpu;
            let target = MIN_SPEEDUPS.iter().find(|(target, _)| target == level);
            if let Some((_, min_speedup)) = target.filter(|_| *format == colm && self.rows == ROWS)
            {
                let what = format!(
                    "{} to {format} at level {level}, scaled speedup over the reference",
                    sample.name
                );
                self.page.target(what, Some(factor * slowness), Target::AtLeast(*min_speedup));
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
            "The reference implementations (Python for COLM and COLF, Java for CLMN) were timed on \
             another machine; the table shows their figures unchanged. Each conversion runs in \
             its own process, on all cores. CPU seconds count all threads, user and system.",
        );
        let Some(here) = here else {
            return self.page.add("No yardstick was timed, so the machines cannot be compared.");
        };
        let there = python::REFERENCE;
        let mut table =
            ReportTable::new(["Yardstick, p10, CPU s", "Reference machine", "This machine"]);
        let mut row = |what: &str, there: f64, here: f64| {
            table.row([what.to_owned(), format!("{there:.2}"), format!("{here:.2}")]);
        };
        row("Python `csv.reader`, whole file", there.scan, here.scan);
        row("Python `zlib.decompress`, all blocks", there.inflate, here.inflate);
        self.page.table("yardsticks", &table);
        self.page.add(format!(
            "This machine takes {:.2} times as long as the reference machine, by the yardstick that \
             is less favourable to us. The table shows each speedup unchanged and scaled by this \
             factor. The target applies to the scaled speedup.",
            here.slowness()
        ));
    }

    fn memory(&mut self, conversions: &[Converted<'_>]) -> Result<()> {
        self.page.heading("Memory");
        self.page.add(format!(
            "Peak resident memory of a conversion at the default level. Rows beyond {} MB spill to \
             a temporary file.",
            convert::BUDGET_MB
        ));
        let mut table = ReportTable::new(["Table", "CSV, MB", "To", "Resident, MB"]);
        let mut peak = 0.0_f64;
        for converted in conversions {
            let Converted { sample, format, level, best, .. } = converted;
            if *level != WriteOptions::DEFAULT_LEVEL {
                continue;
            }
            let csv = fs::metadata(self.csv(sample))?.len();
            peak = peak.max(best.memory);
            table.row([
                sample.name.to_owned(),
                format!("{:.0}", megabytes(csv)),
                format.to_string(),
                format!("{:.0}", best.memory),
            ]);
        }
        self.page.table("memory", &table);
        let what = "peak MB resident in a conversion at the default level";
        self.page.target(what, Some(peak), Target::AtMost(MAX_MEMORY));
        Ok(())
    }

    fn reading(&mut self) -> Result<()> {
        self.page.heading("Reading");
        self.page.add(
            "From a file in memory: `formats::open` and `read` of the columns into Arrow, compared \
             with only inflating the same blocks with libdeflate on as many threads, each block \
             into its own buffer. The verdict applies to the worse of the two ratios.",
        );
        let mut table = ReportTable::new([
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
            title: "Reading into Arrow, as a multiple of inflating the same blocks".to_owned(),
            series: vec!["1 thread".to_owned(), "2 threads".to_owned()],
            groups: Vec::new(),
            mark: Some(1.0),
            is_log: false,
        };
        let p50 = &TEST_TABLES[1];
        let all = TEST_TABLES.iter().map(|sample| (sample, "all", MAX_FULL_READ));
        for (sample, columns, max_ratio) in all.chain([(p50, "2 of 50", MAX_TWO_COLUMNS)]) {
            for format in column_formats() {
                let file = ColumnFile::load(&self.file(sample, format.id()))?;
                let file = match columns {
                    "all" => file,
                    _ => file.with_columns(&TWO)?,
                };
                let name = format!("{}, {columns}, {}", sample.name, format.id());
                let ratios = self.read_all(&mut table, sample, format.id(), columns, &file)?;
                for (threads, ratio) in ratios.iter().enumerate() {
                    let what = format!("{name}: read over inflate, threads: {}", threads + 1);
                    self.page.target(what, Some(*ratio), Target::AtMost(max_ratio));
                }
                bars.groups.push((name, ratios.into_iter().map(Some).collect()));
            }
        }
        self.page.table("reading", &table);
        self.page.plot(&bars);
        Ok(())
    }

    /// Adds a row for one thread and one for two; returns the worse ratio of each.
    fn read_all(
        &self,
        table: &mut ReportTable,
        sample: &TestTable,
        format: FormatId,
        columns: &str,
        file: &ColumnFile,
    ) -> Result<Vec<f64>> {
        let (_, raw) = file.sizes();
        // Use as many rounds as fit into a few seconds.
        let (once, _) = measure::once(|| file.compare(1, 1));
        let rounds = (6.0 / once.wall).clamp(7.0, 60.0).floor();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to 7..=60"
        )]
        let rounds = self.setup.rounds(rounds as usize);
        let mut worse = Vec::new();
        for threads in [1, 2] {
            let [inflate, read] = file.compare(threads, rounds)?;
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
