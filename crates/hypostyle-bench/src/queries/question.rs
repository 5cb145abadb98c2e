//! What is asked, in words that we and the rivals understand.

use std::fs::File;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::DataType;
use hypostyle::cast::cast;
use hypostyle::formats::Capabilities;
use hypostyle::formats::at1::{Answer, Archive, Query, TableOptions};
use hypostyle::predicate::Predicate;
use hypostyle::spill::SpillBuffer;
use hypostyle::text::ImportOptions;
use hypostyle::{ByteSource, FileSource, ReadOptions, Table as _};
use serde_json::{Value, json};

use crate::Result;

/// A table that is asked, and what is worth asking of it.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) name: String,
    pub(super) csv: PathBuf,
    pub(super) archive: PathBuf,
    pub(super) facts: &'static PruningStatistics,
}

/// What is known of a table's columns.
#[derive(Debug)]
pub(super) struct PruningStatistics {
    pub(super) kept: [Kept; 4],
    /// A column of numbers in no order, for tests that some share of the rows passes.
    swept: &'static str,
    /// A test that all rows pass.
    all: Term,
    /// What is shown of the rows of both.
    shown: &'static [&'static str],
    /// A column that is summed, and its place.
    pub(super) summed: (&'static str, usize),
    /// A row that is looked up by its number.
    pub(super) row: u64,
    /// Whether targets are about this table.
    pub(super) has_targets: bool,
}

/// A question that figures have been published about, and the same for awk.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) name: &'static str,
    terms: &'static [Term],
    columns: &'static [&'static str],
    pub(super) awk: &'static str,
}

/// A column, how it is compared, and with what.
type Term = (&'static str, &'static str, Operand);

#[derive(Clone, Copy, Debug)]
enum Operand {
    Number(i64),
    Text(&'static str),
}

use Operand::{Number, Text};

pub(super) const FLIGHTS: PruningStatistics = PruningStatistics {
    kept: [
        Kept {
            name: "one day",
            terms: &[("month", "=", Number(7)), ("day", "=", Number(4))],
            columns: &["carrier", "dep_delay"],
            awk: "$2 == 7 && $3 == 4 {print $10, $6}",
        },
        Kept {
            name: "1 % of the rows",
            terms: &[("dep_delay", ">", Number(190))],
            columns: &["carrier", "dep_delay"],
            awk: "$6 + 0 > 190 {print $10, $6}",
        },
        Kept {
            name: "a text",
            terms: &[("tailnum", "=", Text("N14228"))],
            columns: &["flight", "dest"],
            awk: "$12 == \"N14228\" {print $11, $14}",
        },
        Kept {
            name: "no row",
            terms: &[("distance", ">", Number(5000))],
            columns: &["carrier"],
            awk: "$16 + 0 > 5000 {print $10}",
        },
    ],
    swept: "dep_delay",
    all: ("distance", ">", Number(0)),
    shown: &["carrier", "dep_delay"],
    summed: ("dep_delay", 5),
    row: 200_000,
    has_targets: true,
};

/// Much the same of a table that is made.
pub(super) const MADE: PruningStatistics = PruningStatistics {
    kept: [
        Kept {
            name: "one day",
            terms: &[("id_0", ">", Number(4000)), ("id_0", "<", Number(4100))],
            columns: &["city_1", "quantity_3"],
            awk: "$1 > 4000 && $1 < 4100 {print $2, $4}",
        },
        Kept {
            name: "1 % of the rows",
            terms: &[("quantity_3", ">", Number(88_000))],
            columns: &["city_1", "quantity_3"],
            awk: "$4 > 88000 {print $2, $4}",
        },
        Kept {
            name: "a text",
            terms: &[("person_4", "=", Text("Grace Hopper"))],
            columns: &["city_1", "rate_8"],
            awk: "$5 == \"Grace Hopper\" {print $2, $9}",
        },
        Kept {
            name: "no row",
            terms: &[("account_6", ">", Number(5_000_000))],
            columns: &["city_1"],
            awk: "$7 > 5000000 {print $2}",
        },
    ],
    swept: "quantity_3",
    all: ("id_0", ">", Number(0)),
    shown: &["city_1", "quantity_3"],
    summed: ("quantity_3", 3),
    row: 2345,
    has_targets: false,
};

/// Shares of the rows that pass a test, in percent.
const SHARES: [f64; 5] = [0.01, 0.1, 1.0, 10.0, 50.0];

/// A question, and its columns; `None` for all.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) name: String,
    wanted: Wanted,
    columns: Option<&'static [&'static str]>,
}

#[derive(Debug)]
enum Wanted {
    /// Rows that pass all of these.
    Passing(Vec<Term>),
    /// The row of a number, counted from 0.
    Row(u64),
}

impl Kept {
    pub(super) fn question(&self) -> Question {
        Question {
            name: self.name.to_owned(),
            wanted: Wanted::Passing(self.terms.to_vec()),
            columns: Some(self.columns),
        }
    }
}

impl Question {
    /// A row by its number, with all columns.
    pub(super) fn row(number: u64) -> Self {
        Self { name: "a row by number".to_owned(), wanted: Wanted::Row(number), columns: None }
    }

    /// The test, as we and SQL write it.
    pub(super) fn test(&self) -> Option<String> {
        let Wanted::Passing(terms) = &self.wanted else { return None };
        let term = |(column, is, operand): &Term| match operand {
            Number(number) => format!("{column} {is} {number}"),
            Text(text) => format!("{column} {is} '{text}'"),
        };
        Some(terms.iter().map(term).collect::<Vec<_>>().join(" and "))
    }

    pub(super) fn query(&self) -> Result<Query> {
        let filter = self.test().map(|test| Predicate::parse(&test)).transpose()?;
        let names = |columns: &[&str]| columns.iter().map(|&column| column.to_owned()).collect();
        let rows = match self.wanted {
            Wanted::Row(number) => Some(vec![number]),
            Wanted::Passing(_) => None,
        };
        Ok(Query::default()
            .with_filter(filter)
            .with_columns(self.columns.map(names))
            .with_rows(rows))
    }

    /// For rivals.
    pub(super) fn to_json(&self) -> Value {
        let term = |(column, is, operand): &Term| match operand {
            Number(number) => json!([column, is, number]),
            Text(text) => json!([column, is, text]),
        };
        let (terms, row) = match &self.wanted {
            Wanted::Passing(terms) => (terms.iter().map(term).collect(), None),
            Wanted::Row(row) => (Vec::new(), Some(row)),
        };
        json!({"test": self.test(), "terms": terms, "row": row, "columns": self.columns})
    }
}

impl Asked {
    /// Everything that rivals are asked too: by share of the rows, and then the rest.
    pub(super) fn questions(&self) -> Result<Vec<Question>> {
        let query = Query::default().with_columns(Some(vec![self.facts.swept.to_owned()]));
        let answer = ask(self.source()?, &query, None)?;
        let mut values = numbers(&answer)?;
        values.sort_unstable_by(|one, other| other.cmp(one));
        let rows = answer.stats.rows;
        let mut questions: Vec<Question> = Vec::new();
        let mut add = |share: f64, term| {
            questions.push(Question {
                name: format!("{share} % of the rows"),
                wanted: Wanted::Passing(vec![term]),
                columns: Some(self.facts.shown),
            });
        };
        for share in SHARES {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share of the rows"
            )]
            let at = (rows as f64 * share / 100.0) as usize;
            let least = values.get(at).ok_or("a column has too few numbers")?;
            add(share, (self.facts.swept, ">", Number(*least)));
        }
        add(100.0, self.facts.all);
        // The share that is kept has been swept already.
        let kept = self.facts.kept.iter().filter(|kept| !kept.name.starts_with("1 %"));
        questions.extend(kept.map(Kept::question));
        questions.push(Question::row(self.facts.row));
        Ok(questions)
    }

    pub(super) fn source(&self) -> Result<Arc<dyn ByteSource>> {
        file(&self.archive)
    }
}

pub(super) fn file(path: &Path) -> Result<Arc<dyn ByteSource>> {
    Ok(Arc::new(FileSource::try_new(File::open(path)?)?))
}

/// Opens an archive, and asks it. `None` threads are as many as a user gets who says nothing.
pub(super) fn ask(
    source: Arc<dyn ByteSource>,
    query: &Query,
    threads: Option<NonZeroUsize>,
) -> Result<Answer> {
    let archive = Archive::open(source, &ReadOptions::default().with_threads(threads))?;
    let mut options = ImportOptions::new(Capabilities::EVERYTHING);
    options.null_words = vec!["NA".to_owned()];
    let answer =
        archive.query(query, &TableOptions::default(), &options, SpillBuffer::in_memory())?;
    Ok(answer.ok_or("the archive does not answer")?)
}

/// The numbers of the first column.
pub(super) fn numbers(answer: &Answer) -> Result<Vec<i64>> {
    let mut all = Vec::new();
    for array in answer.table.column(0)? {
        let numbers = cast(&array, &DataType::Int64)?;
        all.extend(numbers.as_primitive::<Int64Type>().iter().flatten());
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_in_all_its_forms() {
        let question = FLIGHTS.kept[0].question();
        assert_eq!(question.test().unwrap(), "month = 7 and day = 4");
        let json = question.to_json();
        assert_eq!(json["terms"], json!([["month", "=", 7], ["day", "=", 4]]));
        assert_eq!(json["row"], Value::Null);
        let text = FLIGHTS.kept[2].question();
        assert_eq!(text.test().unwrap(), "tailnum = 'N14228'");
        assert_eq!(text.to_json()["terms"], json!([["tailnum", "=", "N14228"]]));
        let row = Question::row(7);
        assert_eq!(row.to_json(), json!({"test": null, "terms": [], "row": 7, "columns": null}));
        assert_eq!(row.query().unwrap().rows, Some(vec![7]));
    }
}
