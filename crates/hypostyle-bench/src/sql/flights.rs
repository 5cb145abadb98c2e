//! The tables of flights and airports.

use std::fs;
use std::io::Write;

use hypostyle_testkit::rng::Rng;

use super::files::TableFiles;
use crate::Result;
use crate::setup::Setup;

/// How often each day is repeated.
const COPIES: usize = 10;

/// Flights that may change places with each other. Copies in the same order would compress to
/// almost nothing.
const WINDOW: usize = 64;

const ORIGIN: &str = "The table is `nyc_flights.csv` ten times: each day of the original is repeated \
    ten times before the next day follows, so year, month and day are in the order of the original. \
    In each copy, every 64 successive flights are in another random order, because exact copies would \
    compress to almost nothing. `hyp pack` and `hyp convert` make the files with their defaults, and \
    COLF from Parquet. Parquet has zstd at its default level, and row groups of a million rows. The join is with \
    `airports.csv`.";

const GENERATED: &str = "The flights are generated, to check that everything runs.";

/// Makes the tables of flights and airports, and says where they come from.
pub(super) fn tables(setup: &Setup) -> Result<(TableFiles, TableFiles, &'static str)> {
    let corpus = setup.corpus()?;
    let found = (corpus.named("nyc_flights.csv"), corpus.named("airports.csv"));
    if let (false, (Some(flights), Some(airports))) = (setup.quick, found) {
        let folder = setup.kept_folder("sql")?;
        let flights = TableFiles::make(&folder, "flights", Some("NA"), |out| {
            repeat_days(&fs::read_to_string(&flights.path)?, out)
        })?;
        let airports = TableFiles::make(&folder, "airports", None, |out| {
            Ok(out.write_all(&fs::read(&airports.path)?)?)
        })?;
        return Ok((flights, airports, ORIGIN));
    }
    let folder = setup.folder("sql")?;
    let flights = TableFiles::make(&folder, "flights", Some("NA"), |out| generate(out))?;
    let airports = TableFiles::make(&folder, "airports", None, |out| {
        writeln!(out, "iata,name")?;
        for name in DESTINATIONS {
            writeln!(out, "{name},{name} Airport")?;
        }
        Ok(())
    })?;
    Ok((flights, airports, GENERATED))
}

/// Repeats each day, with its flights in slightly different orders.
fn repeat_days(original: &str, out: &mut dyn Write) -> Result<()> {
    let (header, rows) = original.split_once('\n').ok_or("the flights have no header")?;
    writeln!(out, "{header}")?;
    let rows: Vec<&str> = rows.lines().collect();
    let day = |row: &&str| row.splitn(4, ',').take(3).map(str::to_owned).collect::<Vec<_>>();
    let mut rng = Rng::new(13);
    for rows in rows.chunk_by(|one, two| day(one) == day(two)) {
        for _ in 0..COPIES {
            for window in rows.chunks(WINDOW) {
                let mut window = window.to_vec();
                for last in (1..window.len()).rev() {
                    window.swap(last, rng.below(last + 1));
                }
                for row in window {
                    writeln!(out, "{row}")?;
                }
            }
        }
    }
    Ok(())
}

const DESTINATIONS: [&str; 4] = ["BOS", "IAH", "MIA", "ORD"];

/// Generates some flights.
fn generate(out: &mut dyn Write) -> Result<()> {
    writeln!(
        out,
        "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,\
         carrier,flight,tailnum,origin,dest,air_time,distance,hour,minute,time_hour"
    )?;
    let mut rng = Rng::new(13);
    let mut longest = 0;
    for (month, day) in (1..=12).flat_map(|month| (1..=28).map(move |day| (month, day))) {
        for hour in 5..23 {
            let minute = rng.below(60);
            let scheduled = hour * 100 + minute;
            // The longest delays must not tie.
            longest += usize::from(rng.chance(0.02));
            let delay = if rng.chance(0.02) { 400 + longest } else { rng.below(200) };
            let (left, arrived, late) = match rng.chance(0.01) {
                true => ["NA"; 3].map(str::to_owned).into(),
                false => [scheduled, scheduled + 200, delay].map(|it| it.to_string()).into(),
            };
            let carrier = rng.choose(&["AA", "UA", "US"]);
            let (flight, tail) = (1400 + rng.below(40), 14_200 + rng.below(60));
            let (origin, dest) = (rng.choose(&["EWR", "JFK"]), rng.choose(&DESTINATIONS));
            writeln!(
                out,
                "2013,{month},{day},{left},{scheduled},{late},{arrived},{},{late},{carrier},\
                 {flight},N{tail},{origin},{dest},{},{},{hour},{minute},\
                 2013-{month:02}-{day:02}T{hour:02}:00:00Z",
                scheduled + 190,
                60 + rng.below(200),
                200 + rng.below(2000),
            )?;
        }
    }
    Ok(())
}
