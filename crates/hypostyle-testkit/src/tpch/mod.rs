//! TPC-H: its tables as CSV, and its queries.

use std::io::{self, BufWriter, Write};

use tpchgen::csv::{
    CustomerCsv, LineItemCsv, NationCsv, OrderCsv, PartCsv, PartSuppCsv, RegionCsv, SupplierCsv,
};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};

/// A table of TPC-H.
#[derive(Clone, Copy, Debug)]
pub struct TpchTable {
    /// The name that the queries use.
    pub name: &'static str,
    write: fn(f64, &mut dyn Write) -> io::Result<()>,
}

impl TpchTable {
    /// Writes the rows at a scale as CSV with a header.
    ///
    /// # Errors
    ///
    /// `out` fails.
    pub fn write_csv(&self, scale: f64, out: impl Write) -> io::Result<()> {
        let mut out = BufWriter::new(out);
        (self.write)(scale, &mut out)?;
        out.flush()
    }
}

/// Writes the rows of a generator.
macro_rules! csv_of {
    ($generator:ident, $csv:ident) => {
        |scale, out| {
            writeln!(out, "{}", $csv::header())?;
            let rows = $generator::new(scale, 1, 1);
            rows.iter().try_for_each(|row| writeln!(out, "{}", $csv::new(row)))
        }
    };
}

/// All tables.
pub const TABLES: [TpchTable; 8] = [
    TpchTable { name: "region", write: csv_of!(RegionGenerator, RegionCsv) },
    TpchTable { name: "nation", write: csv_of!(NationGenerator, NationCsv) },
    TpchTable { name: "supplier", write: csv_of!(SupplierGenerator, SupplierCsv) },
    TpchTable { name: "customer", write: csv_of!(CustomerGenerator, CustomerCsv) },
    TpchTable { name: "part", write: csv_of!(PartGenerator, PartCsv) },
    TpchTable { name: "partsupp", write: csv_of!(PartSuppGenerator, PartSuppCsv) },
    TpchTable { name: "orders", write: csv_of!(OrderGenerator, OrderCsv) },
    TpchTable { name: "lineitem", write: csv_of!(LineItemGenerator, LineItemCsv) },
];

/// A query of TPC-H.
#[derive(Clone, Copy, Debug)]
pub struct TpchQuery {
    /// Its number, from 1 to 22.
    pub number: usize,
    /// The statement, without a semicolon.
    pub sql: &'static str,
}

/// Returns all queries, in order.
pub fn queries() -> Vec<TpchQuery> {
    let sections = include_str!("queries.sql").split("\n-- Q").skip(1);
    let query = |section: &'static str| {
        let (title, sql) = section.split_once('\n')?;
        let (number, _) = title.split_once(':')?;
        Some(TpchQuery { number: number.parse().ok()?, sql: sql.trim().strip_suffix(';')? })
    };
    sections.filter_map(query).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_is_found() {
        let found: Vec<usize> = queries().iter().map(|query| query.number).collect();
        assert_eq!(found, (1..=22).collect::<Vec<_>>());
        assert!(queries().iter().all(|query| !query.sql.contains(';')));
    }
}
