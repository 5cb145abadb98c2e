//! The tables of the tests.

use std::fmt::Write as _;
use std::fs;

use hypostyle_testkit::rng::Rng;
use hypostyle_testkit::tpch;

use crate::processes::Folder;

/// The scale of the tables of TPC-H: 60,000 rows of `lineitem` for 0.01.
const SCALE: f64 = 0.005;

/// Writes the tables `flights` and `airports` as archives of several row groups.
pub(crate) fn flights(folder: &Folder) {
    let mut flights = String::from(
        "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,\
         carrier,flight,tailnum,origin,dest,air_time,distance,hour,minute,time_hour\n",
    );
    let mut rng = Rng::new(13);
    let destinations = ["BOS", "IAH", "MIA", "ORD"];
    let mut longest = 0;
    for (month, day) in (1..=12).flat_map(|month| (1..=28).map(move |day| (month, day))) {
        for hour in 5..23 {
            let (minute, scheduled) = (rng.below(60), hour * 100);
            // The longest delays must not tie.
            longest += 1;
            let delay = if rng.chance(0.02) { 400 + longest } else { rng.below(200) };
            let (flight, tail) = (1400 + rng.below(40), 14_200 + rng.below(60));
            let carrier = rng.choose(&["AA", "UA", "US"]);
            let (origin, dest) = (rng.choose(&["EWR", "JFK"]), rng.choose(&destinations));
            let distance = 200 + rng.below(2000);
            writeln!(
                flights,
                "2013,{month},{day},{scheduled},{scheduled},{delay},{},{},{delay},{carrier},{flight},\
                 N{tail},{origin},{dest},{},{distance},{hour},{minute},\
                 2013-{month:02}-{day:02}T{hour:02}:00:00Z",
                scheduled + 200,
                scheduled + 190,
                60 + rng.below(200),
            )
            .unwrap();
        }
    }
    fs::write(folder.path("flights.csv"), flights).unwrap();
    let airports = destinations.map(|name| format!("{name},{name} Airport\n")).concat();
    fs::write(folder.path("airports.csv"), format!("iata,name\n{airports}")).unwrap();
    let pack = ["pack", "-q", "-1", "flights.csv", "airports.csv", "--rows-per-group", "250"];
    folder.ok(&pack);
}

/// Writes the tables of TPC-H as archives.
pub(crate) fn tpch(folder: &Folder) {
    let mut pack = vec!["pack", "-q", "-1", "--rows-per-group", "2000"];
    let names = tpch::TABLES.map(|table| format!("{}.csv", table.name));
    for (table, name) in tpch::TABLES.iter().zip(&names) {
        table.write_csv(SCALE, fs::File::create(folder.path(name)).unwrap()).unwrap();
        pack.push(name);
    }
    folder.ok(&pack);
}

/// Returns a statement with the names of tables replaced by those of archives.
pub(crate) fn with_files(sql: &str, prefix: &str, tables: &[&str]) -> String {
    let mut all = String::new();
    for table in tables {
        let create = "create external table";
        write!(all, "{create} {table} stored as at1 location '{prefix}{table}.csv.at1'; ").unwrap();
    }
    all + sql
}
