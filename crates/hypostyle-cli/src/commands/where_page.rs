//! `hyp help where`: the language of predicates on one page.

use super::Status;
use crate::failure::Result;
use crate::output::Out;

/// Arguments of the page: none.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {}

const PAGE: &str = "\
Predicates: which rows --where selects

  hyp cat flights.csv.at1 --where \"month = 7 and (dep_delay > 120 or carrier in ('UA', 'AA'))\"

Tests
  price = 5               also == <> != < <= > >=
  price between 1 and 5   the same as price >= 1 and price <= 5
  city in ('Oslo', 'Rome')
  name like 'A%_'         % is any run of characters, _ is one character
  name ilike 'a%'         the same, with letters in either case
  path like '5!%' escape '!'
  line regexp 'a+'        texts of which a part matches; also line ~ 'a+'
  line ~* 'error'         the same, with letters in either case; !~ negates
  regexp_full_match(line, '[a-z]+')
  note is null            also is not null, is true, is false
  a is distinct from b    null differs from every value, and not from null
  is_open                 a boolean is true, or a number is not zero

Combine tests with and, or, not and parentheses. not may also precede between, in, like, ilike and regexp.

Values
  user_id, \"first name\"   columns; names are case-sensitive, and unusual ones take double quotes
  request.headers[0].name nested members; elements of lists count from 0
  5, -1.5e3, 'text', true literals; in a text, '' is a quote
  date '2024-01-04'       also time, timestamp and timestamptz
  a + b, a - b, a * b     also a / b (a float), a // b, a % b and -a
  a::bigint               also cast(a as bigint) and try_cast(a as date)
  lower(a), upper(a), trim(a), length(a)
  starts_with(a, 'x'), ends_with(a, 'x'), contains(a, 'x')
  abs(a), isnan(a), isinf(a), coalesce(a, b)

Meaning
  A predicate means what it means in DuckDB. Null is unknown: neither x = 5 nor not x = 5 matches it.
  An empty text is not null. Numbers compare exactly, however large. A text literal beside a date or a
  number is read as one: day >= '2024-01-04'. A number beside a column of text sees the cells that are
  numbers; for other cells, such as NA, the test is unknown.

Reading less
  In archives, Parquet and other files with statistics, hyp skips the row groups that cannot match, and
  reads only the columns that the predicate and --columns name. --stats prints how much was read.

In a shell, put the predicate in double quotes and texts in single quotes.
";

/// Prints the page.
pub(crate) fn run(_: &Args, out: &mut dyn Out) -> Result<Status> {
    out.write_all(PAGE.as_bytes())?;
    Ok(Status::Fine)
}

#[cfg(test)]
mod tests {
    use hypostyle::predicate::Predicate;

    use super::*;

    /// The lines of a section of the page, up to the explanation.
    fn examples(section: &str) -> Vec<&'static str> {
        let lines = PAGE.lines().skip_while(|line| *line != section).skip(1);
        let lines = lines.take_while(|line| line.starts_with("  "));
        lines.map(|line| line.trim().split("   ").next().unwrap_or_default()).collect()
    }

    #[test]
    fn what_the_page_shows_can_be_typed() {
        let tests = examples("Tests");
        assert_eq!(tests.len(), 12);
        for test in tests {
            Predicate::parse(test).unwrap_or_else(|err| panic!("{test}: {err}"));
        }
        let values = [
            "\"first name\"",
            "request.headers[0].name",
            "-1.5e3",
            "date '2024-01-04'",
            "a // b",
            "a::bigint",
            "try_cast(a as date)",
            "trim(a)",
            "coalesce(a, b)",
        ];
        for value in values {
            assert!(PAGE.contains(value), "{value}");
            let test = format!("{value} is null");
            Predicate::parse(&test).unwrap_or_else(|err| panic!("{test}: {err}"));
        }
    }
}
