//! The queries of TPC-H over column files, archives and Parquet.

use hypostyle_testkit::tpch;

use super::contender::{self, Contender, Engine, plain};
use super::files::{Kind, TableFiles};
use super::{AT1, COLF, PARQUET, ROUNDS, chart, report_times};
use crate::Result;
use crate::page::ReportPage;
use crate::setup::Setup;
use crate::table::ReportTable;

const SCALE: f64 = 0.2;
const QUICK_SCALE: f64 = 0.01;

pub(super) fn run(setup: &Setup, threads: usize, page: &mut ReportPage) -> Result<()> {
    let scale = if setup.quick { QUICK_SCALE } else { SCALE };
    let folder = match setup.quick {
        true => setup.folder("tpch")?,
        false => setup.kept_folder("tpch")?,
    };
    let mut tables = Vec::new();
    for table in &tpch::TABLES {
        tables.push(TableFiles::make(&folder, table.name, None, |out| {
            Ok(table.write_csv(scale, out)?)
        })?);
    }
    page.heading("TPC-H");
    page.add(format!(
        "The crate `tpchgen` generates the tables at scale {scale} as CSV, from which `hyp pack` and \
         `hyp convert` make the files. COLF stores decimals and dates as text; views cast them. All \
         return the same rows for each of the 22 queries."
    ));
    let mut sizes = ReportTable::new(["Table", AT1, COLF, "CSV", PARQUET]);
    for table in &tables {
        let mut cells = vec![table.name.clone()];
        for kind in [Kind::At1, Kind::Colf, Kind::Csv, Kind::Parquet] {
            cells.push(std::fs::metadata(table.path(kind))?.len().to_string());
        }
        sizes.row_of(cells);
    }
    page.add("Bytes:");
    page.table("TPC-H sizes", &sizes);
    let all: Vec<&TableFiles> = tables.iter().collect();
    let mut contenders = Vec::new();
    for (name, kind) in [(AT1, Kind::At1), (COLF, Kind::Colf), (PARQUET, Kind::Parquet)] {
        eprintln!("registering {name}");
        let engine = Engine::open(&all, kind, threads)?;
        if kind == Kind::Colf {
            for table in &tables {
                engine.cast_to(&table.name, &plain(table.schema()?.as_ref()))?;
            }
        }
        contenders.push(Contender::new(name, engine));
    }
    let queries = tpch::queries();
    let names: Vec<String> = queries.iter().map(|query| format!("Q{}", query.number)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let statements = names.iter().copied().zip(queries.iter().map(|query| query.sql));
    let measured = contender::compare(&mut contenders, statements, setup.rounds(ROUNDS))?;
    report_times("TPC-H", &names, &measured, page);
    page.plot(&chart("tpch", "Milliseconds for a query of TPC-H", &names, &measured));
    Ok(())
}
