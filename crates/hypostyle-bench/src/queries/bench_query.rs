//! The queries, in forms for ours and for the rivals.

use std::fs::File;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::DataType;
use hypostyle::cast::cast;
use hypostyle::predicate::Predicate;
use hypostyle::{ByteSource, FileSource, OpenOptions, ReadOptions, Scan, ScanStats, Table};
use serde_json::{Value, json};

use crate::Result;

/// A table and its queries.
#[derive(Debug)]
pub(super) struct QueriedTable {
    pub(super) name: String,
    pub(super) csv: PathBuf,
    pub(super) archive: PathBuf,
    pub(super) queries: &'static TableQueries,
}

/// The queries of a table.
#[derive(Debug)]
pub(super) struct TableQueries {
    pub(super) published: [PublishedQuery; 4],
    /// An unsorted column of numbers, for predicates of a given selectivity.
    selectivity_column: &'static str,
    /// A predicate that all rows match.
    all: Term,
    /// The projection of both.
    projection: &'static [&'static str],
    /// The column to sum, and its index.
    pub(super) summed: (&'static str, usize),
    /// The number of the row to look up.
    pub(super) row: u64,
    /// Whether the targets apply to this table.
    pub(super) has_targets: bool,
}

/// A query that published figures are about, and the same for awk.
#[derive(Debug)]
pub(super) struct PublishedQuery {
    pub(super) name: &'static str,
    terms: &'static [Term],
    columns: &'static [&'static str],
    pub(super) awk: &'static str,
}

/// A comparison: column, operator and literal.
type Term = (&'static str, &'static str, Operand);

#[derive(Clone, Copy, Debug)]
enum Operand {
    Number(i64),
    Text(&'static str),
}

use Operand::{Number, Text};

pub(super) const FLIGHTS: TableQueries = TableQueries {
    published: [
        PublishedQuery {
            name: "one day",
            terms: &[("month", "=", Number(7)), ("day", "=", Number(4))],
            columns: &["carrier", "dep_delay"],
            awk: "$2 == 7 && $3 == 4 {print $10, $6}",
        },
        PublishedQuery {
            name: "1 % of the rows",
            terms: &[("dep_delay", ">", Number(190))],
            columns: &["carrier", "dep_delay"],
            awk: "$6 + 0 > 190 {print $10, $6}",
        },
        PublishedQuery {
            name: "one text",
            terms: &[("tailnum", "=", Text("N14228"))],
            columns: &["flight", "dest"],
            awk: "$12 == \"N14228\" {print $11, $14}",
        },
        PublishedQuery {
            name: "no match",
            terms: &[("distance", ">", Number(5000))],
            columns: &["carrier"],
            awk: "$16 + 0 > 5000 {print $10}",
        },
    ],
    selectivity_column: "dep_delay",
    all: ("distance", ">", Number(0)),
    projection: &["carrier", "dep_delay"],
    summed: ("dep_delay", 5),
    row: 200_000,
    has_targets: true,
};

/// Similar queries of a generated table.
pub(super) const GENERATED: TableQueries = TableQueries {
    published: [
        PublishedQuery {
            name: "one day",
            terms: &[("id_0", ">", Number(4000)), ("id_0", "<", Number(4100))],
            columns: &["city_1", "quantity_3"],
            awk: "$1 > 4000 && $1 < 4100 {print $2, $4}",
        },
        PublishedQuery {
            name: "1 % of the rows",
            terms: &[("quantity_3", ">", Number(88_000))],
            columns: &["city_1", "quantity_3"],
            awk: "$4 > 88000 {print $2, $4}",
        },
        PublishedQuery {
            name: "one text",
            terms: &[("person_4", "=", Text("Grace Hopper"))],
            columns: &["city_1", "rate_8"],
            awk: "$5 == \"Grace Hopper\" {print $2, $9}",
        },
        PublishedQuery {
            name: "no match",
            terms: &[("account_6", ">", Number(5_000_000))],
            columns: &["city_1"],
            awk: "$7 > 5000000 {print $2}",
        },
    ],
    selectivity_column: "quantity_3",
    all: ("id_0", ">", Number(0)),
    projection: &["city_1", "quantity_3"],
    summed: ("quantity_3", 3),
    row: 2345,
    has_targets: false,
};

/// The selectivities of the predicates, in per cent of the rows.
const SELECTIVITIES: [f64; 5] = [0.01, 0.1, 1.0, 10.0, 50.0];

/// A query and its projection; `None` is all columns.
#[derive(Debug)]
pub(super) struct BenchQuery {
    pub(super) name: String,
    rows: RowFilter,
    columns: Option<&'static [&'static str]>,
}

#[derive(Debug)]
enum RowFilter {
    /// Rows that match all of these comparisons.
    Matching(Vec<Term>),
    /// The row with this number, counted from 0.
    Row(u64),
}

impl PublishedQuery {
    pub(super) fn bench_query(&self) -> BenchQuery {
        BenchQuery {
            name: self.name.to_owned(),
            rows: RowFilter::Matching(self.terms.to_vec()),
            columns: Some(self.columns),
        }
    }
}

impl BenchQuery {
    /// A lookup of a row by its number, with all columns.
    pub(super) fn row(number: u64) -> Self {
        Self { name: "row lookup".to_owned(), rows: RowFilter::Row(number), columns: None }
    }

    /// Returns the predicate in our syntax, which is also SQL.
    pub(super) fn predicate(&self) -> Option<String> {
        let RowFilter::Matching(terms) = &self.rows else { return None };
        let term = |(column, is, operand): &Term| match operand {
            Number(number) => format!("{column} {is} {number}"),
            Text(text) => format!("{column} {is} '{text}'"),
        };
        Some(terms.iter().map(term).collect::<Vec<_>>().join(" and "))
    }

    pub(super) fn query(&self) -> Result<Query> {
        let filter = self.predicate().map(|predicate| Predicate::parse(&predicate)).transpose()?;
        let row = match self.rows {
            RowFilter::Row(number) => Some(number),
            RowFilter::Matching(_) => None,
        };
        Ok(Query { columns: self.columns.map(<[_]>::to_vec), filter, row })
    }

    /// Returns the query as JSON, for the rivals.
    pub(super) fn to_json(&self) -> Value {
        let term = |(column, is, operand): &Term| match operand {
            Number(number) => json!([column, is, number]),
            Text(text) => json!([column, is, text]),
        };
        let (terms, row) = match &self.rows {
            RowFilter::Matching(terms) => (terms.iter().map(term).collect(), None),
            RowFilter::Row(row) => (Vec::new(), Some(row)),
        };
        json!({"predicate": self.predicate(), "terms": terms, "row": row, "columns": self.columns})
    }
}

impl QueriedTable {
    /// Returns the queries for all engines: by selectivity, then the others.
    pub(super) fn queries(&self) -> Result<Vec<BenchQuery>> {
        let query = Query::column(self.queries.selectivity_column);
        let answer = run_query(self.source()?, &self.name, &query, None)?;
        let mut values = numbers(&answer)?;
        values.sort_unstable_by(|one, other| other.cmp(one));
        let rows = answer.stats.rows_returned;
        let mut queries: Vec<BenchQuery> = Vec::new();
        let mut add = |share: f64, term| {
            queries.push(BenchQuery {
                name: format!("{share} % of the rows"),
                rows: RowFilter::Matching(vec![term]),
                columns: Some(self.queries.projection),
            });
        };
        for share in SELECTIVITIES {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a fraction of the rows"
            )]
            let at = (rows as f64 * share / 100.0) as usize;
            let threshold = values.get(at).ok_or("the column has too few numbers")?;
            add(share, (self.queries.selectivity_column, ">", Number(*threshold)));
        }
        add(100.0, self.queries.all);
        // The list above has the query for 1 % of the rows.
        let published =
            self.queries.published.iter().filter(|query| !query.name.starts_with("1 %"));
        queries.extend(published.map(PublishedQuery::bench_query));
        queries.push(BenchQuery::row(self.queries.row));
        Ok(queries)
    }

    pub(super) fn source(&self) -> Result<Arc<dyn ByteSource>> {
        file(&self.archive)
    }
}

pub(super) fn file(path: &Path) -> Result<Arc<dyn ByteSource>> {
    Ok(Arc::new(FileSource::try_new(File::open(path)?)?))
}

/// The columns and rows that a query returns; all for `None`.
#[derive(Clone, Debug, Default)]
pub(super) struct Query {
    pub(super) columns: Option<Vec<&'static str>>,
    pub(super) filter: Option<Predicate>,
    pub(super) row: Option<u64>,
}

impl Query {
    /// Returns a query for one column of all rows.
    pub(super) fn column(name: &'static str) -> Self {
        Self { columns: Some(vec![name]), ..Self::default() }
    }

    /// Returns a query for one row.
    pub(super) fn row(number: u64) -> Self {
        Self { row: Some(number), ..Self::default() }
    }

    /// Returns the scan of a table that answers the query.
    pub(super) fn scan(&self, table: &Table) -> Scan {
        let mut scan = table.scan();
        if let Some(columns) = &self.columns {
            scan = scan.columns(columns.iter().copied());
        }
        if let Some(filter) = &self.filter {
            scan = scan.filter(filter.clone());
        }
        if let Some(row) = self.row {
            scan = scan.take(&[row]);
        }
        scan
    }
}

/// The rows that a query returns.
#[derive(Debug)]
pub(super) struct Answer {
    batches: Vec<RecordBatch>,
    pub(super) stats: ScanStats,
}

/// Opens an archive, whose cells `NA` are null.
pub(super) fn open(
    source: Arc<dyn ByteSource>,
    name: &str,
    threads: Option<NonZeroUsize>,
) -> Result<Table> {
    let mut options = OpenOptions::default().with_name(name);
    options.text.null_words = vec!["NA".to_owned()];
    options.read = ReadOptions::default().with_threads(threads);
    Ok(hypostyle::open_source(source, &options)?)
}

/// Opens an archive and runs a query. `None` is the default number of threads.
pub(super) fn run_query(
    source: Arc<dyn ByteSource>,
    name: &str,
    query: &Query,
    threads: Option<NonZeroUsize>,
) -> Result<Answer> {
    let table = open(source, name, threads)?;
    let mut scan = query.scan(&table).threads_or_all(threads).batches()?;
    let mut batches = Vec::new();
    while let Some(batch) = scan.next_batch()? {
        batches.push(batch);
    }
    Ok(Answer { batches, stats: scan.stats() })
}

/// Returns the numbers of the first column.
pub(super) fn numbers(answer: &Answer) -> Result<Vec<i64>> {
    let mut all = Vec::new();
    for batch in &answer.batches {
        let numbers = cast(batch.column(0), &DataType::Int64)?;
        all.extend(numbers.as_primitive::<Int64Type>().iter().flatten());
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_in_all_its_forms() {
        let bench_query = FLIGHTS.published[0].bench_query();
        assert_eq!(bench_query.predicate().unwrap(), "month = 7 and day = 4");
        let json = bench_query.to_json();
        assert_eq!(json["terms"], json!([["month", "=", 7], ["day", "=", 4]]));
        assert_eq!(json["row"], Value::Null);
        let text = FLIGHTS.published[2].bench_query();
        assert_eq!(text.predicate().unwrap(), "tailnum = 'N14228'");
        assert_eq!(text.to_json()["terms"], json!([["tailnum", "=", "N14228"]]));
        let row = BenchQuery::row(7);
        assert_eq!(
            row.to_json(),
            json!({"predicate": null, "terms": [], "row": 7, "columns": null})
        );
        assert_eq!(row.query().unwrap().row, Some(7));
    }
}
