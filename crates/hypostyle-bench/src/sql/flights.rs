//! The tables of flights and airports.

use std::fs;
use std::io::Write;

use hypostyle_testkit::rng::Rng;

use super::files::TableFiles;
use crate::Result;
use crate::setup::Setup;

/// How often each day is repeated.
const COPIES: usize = 10;

const ORIGIN: &str = "The table is `nyc_flights.csv` ten times: each day of the original is repeated \
    ten times before the next day follows, so year, month and day are in the order of the original. \
    Copies are exact and close together, so all formats that compress with a window see them, and \
    sizes are far below those of ten times as many different flights. `hyp pack` and `hyp convert` \
    make the files with their defaults, and COLF from Parquet. Parquet has zstd at its default level, \
    and row groups of a million rows. The join is with `airports.csv`.";

const GENERATED: &str = "The flights are generated, to check that everything runs.";

/// The tables, and where they come from.
pub(super) struct Tables {
    pub(super) flights: TableFiles,
    pub(super) airports: TableFiles,
    /// The flights without repetitions, whose sizes are more like those of real tables.
    pub(super) original: Option<TableFiles>,
    pub(super) origin: &'static str,
}

/// Makes the tables of flights and airports.
pub(super) fn tables(setup: &Setup) -> Result<Tables> {
    let corpus = setup.corpus()?;
    let found = (corpus.named("nyc_flights.csv"), corpus.named("airports.csv"));
    if let (false, (Some(flights), Some(airports))) = (setup.quick, found) {
        let folder = setup.kept_folder("sql")?;
        let text = fs::read_to_string(&flights.path)?;
        let flights =
            TableFiles::make(&folder, "flights", Some("NA"), |out| repeat_days(&text, out))?;
        let original = TableFiles::make(&folder, "original_flights", Some("NA"), |out| {
            Ok(out.write_all(text.as_bytes())?)
        })?;
        let airports = TableFiles::make(&folder, "airports", None, |out| {
            Ok(out.write_all(&fs::read(&airports.path)?)?)
        })?;
        return Ok(Tables { flights, airports, original: Some(original), origin: ORIGIN });
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
    Ok(Tables { flights, airports, original: None, origin: GENERATED })
}

/// Repeats each day.
fn repeat_days(original: &str, out: &mut dyn Write) -> Result<()> {
    let (header, rows) = original.split_once('\n').ok_or("the flights have no header")?;
    writeln!(out, "{header}")?;
    let rows: Vec<&str> = rows.lines().collect();
    let day = |row: &str| row.split(',').take(3).map(str::to_owned).collect::<Vec<_>>();
    for rows in rows.chunk_by(|one, two| day(one) == day(two)) {
        for _ in 0..COPIES {
            rows.iter().try_for_each(|row| writeln!(out, "{row}"))?;
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
