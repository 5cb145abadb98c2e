//! The queries of the flights.

/// A query.
#[derive(Debug)]
pub(super) struct BenchQuery {
    pub(super) name: &'static str,
    pub(super) sql: &'static str,
    pub(super) pruning: Pruning,
    /// Whether it reads all rows of some columns and does little else.
    pub(super) is_column_scan: bool,
}

/// What lets an engine skip rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pruning {
    /// Statistics of row groups exclude most rows.
    RowGroups,
    /// All rows must be seen.
    None,
}

const fn pruned(name: &'static str, sql: &'static str) -> BenchQuery {
    BenchQuery { name, sql, pruning: Pruning::RowGroups, is_column_scan: false }
}

const fn scan(name: &'static str, sql: &'static str) -> BenchQuery {
    BenchQuery { name, sql, pruning: Pruning::None, is_column_scan: true }
}

const fn other(name: &'static str, sql: &'static str) -> BenchQuery {
    BenchQuery { name, sql, pruning: Pruning::None, is_column_scan: false }
}

/// The rows are sorted by month and day, though the months are in the order of their names.
///
/// `NA` is a text in the column `tailnum` to us, and null to DuckDB.
pub(super) const FLIGHTS: [BenchQuery; 11] = [
    pruned(
        "point",
        "select carrier, flight, tailnum, dep_time, arr_time, origin, dest, air_time from flights
         where month = 7 and day = 4 and carrier = 'US' and flight = 1431",
    ),
    pruned(
        "range, 0.1 %",
        "select count(*), sum(dep_delay), max(arr_delay), min(tailnum) from flights
         where month = 7 and day = 4 and hour between 6 and 12",
    ),
    pruned(
        "range, 1 %",
        "select count(*), sum(dep_delay), max(arr_delay), min(tailnum) from flights
         where month = 3 and day between 5 and 8",
    ),
    pruned(
        "range, 10 %",
        "select count(*), sum(dep_delay), max(arr_delay), min(tailnum) from flights
         where month = 7 or (month = 8 and day <= 4)",
    ),
    scan(
        "group by",
        "select carrier, count(*), sum(dep_delay), avg(arr_delay) from flights group by carrier",
    ),
    other(
        "top-k",
        "select month, day, carrier, flight, dep_delay from flights
         order by dep_delay desc nulls last limit 25",
    ),
    other(
        "join",
        "select a.name, count(*), avg(f.arr_delay) from flights f join airports a on f.dest = a.iata
         group by a.name",
    ),
    scan("count distinct", "select count(distinct tailnum) from flights where tailnum <> 'NA'"),
    other(
        "text equality",
        "select count(*), sum(distance) from flights where tailnum = 'N14228'",
    ),
    other(
        "text prefix",
        "select count(*), sum(distance) from flights where tailnum like 'N14%'",
    ),
    scan(
        "full scan",
        "select sum(year), sum(month), sum(day), sum(dep_time), sum(sched_dep_time), sum(dep_delay),
         sum(arr_time), sum(sched_arr_time), sum(arr_delay), max(carrier), sum(flight), min(tailnum),
         max(origin), max(dest), sum(air_time), sum(distance), sum(hour), sum(minute), max(time_hour)
         from flights",
    ),
];
