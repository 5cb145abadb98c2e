//! Queries return what they return in one process, and executors share the work.

use std::time::Instant;

use hypostyle_testkit::tpch;

use crate::bench_queries::FLIGHTS;
use crate::processes::{Cluster, Folder};
use crate::tables::{self, with_files};

/// Cuts even small files into several parts.
const SMALL_FILES: &str = "set datafusion.optimizer.repartition_file_min_size = 1; ";

#[test]
fn the_queries_of_the_bench_return_what_they_return_in_one_process() {
    let folder = Folder::new();
    tables::flights(&folder);
    let allowed = folder.path("");
    let cluster = Cluster::start(&folder, 2, &[allowed.to_str().unwrap()]);
    for query in &FLIGHTS {
        cluster.compare(&with_files(
            &format!("{SMALL_FILES}{}", query.sql),
            "",
            &["flights", "airports"],
        ));
    }
    // The prompt of a script, statements without files, and files by their names.
    cluster.compare("select 1 + 1 as two");
    cluster.compare("select count(*), max(day) from 'flights.csv.at1' where month = 7");
    cluster.compare("select * from 'flights.csv.at1' where month = 7 and day = 4");
    cluster.compare("select carrier, flight from 'flights.csv' order by flight, carrier limit 9");
}

#[test]
fn tpch_returns_what_it_returns_in_one_process() {
    let folder = Folder::new();
    tables::tpch(&folder);
    let allowed = folder.path("");
    let cluster = Cluster::start(&folder, 2, &[allowed.to_str().unwrap()]);
    let names = tpch::TABLES.map(|table| table.name);
    for query in tpch::queries() {
        // One per kind of plan: the others take long without optimisation.
        if [1, 3, 4, 6, 11, 13, 15, 16, 18, 21, 22].contains(&query.number) {
            let sql = query.sql;
            cluster.compare(&with_files(&format!("{SMALL_FILES}{sql}"), "", &names));
        }
    }
}

#[test]
fn every_row_group_is_read_by_one_executor() {
    let folder = Folder::new();
    tables::flights(&folder);
    let allowed = folder.path("");
    let cluster = Cluster::start(&folder, 2, &[allowed.to_str().unwrap()]);
    // Without a cost of requests, nothing between two ranges is read with them.
    let table = "create external table f stored as at1 location 'flights.csv.at1' \
                 options (read_cost 0); ";
    let sql = format!("{SMALL_FILES}{table} select sum(distance), min(tailnum) from f");
    cluster.compare(&sql);
    let archive = folder.path("flights.csv.at1");
    let size = std::fs::metadata(&archive).unwrap().len();
    let reads: Vec<_> = cluster.executors.iter().map(|executor| executor.reads(&archive)).collect();
    let bytes = |reads: &[std::ops::Range<u64>]| {
        reads.iter().map(|range| range.end - range.start).sum::<u64>()
    };
    let by_executor: Vec<u64> = reads.iter().map(|reads| bytes(reads)).collect();
    // What both read is the metadata and dictionaries that row groups share.
    let shared: u64 = reads[0]
        .iter()
        .flat_map(|one| reads[1].iter().map(move |other| (one, other)))
        .map(|(one, other)| one.end.min(other.end).saturating_sub(one.start.max(other.start)))
        .sum();
    eprintln!("bytes of {size} read by executors: {by_executor:?}, of which by both: {shared}");
    assert!(by_executor.iter().all(|&bytes| bytes > 0), "{by_executor:?}");
    let analyzed = cluster.ok(&format!(
        "{SMALL_FILES}{table} explain analyze select sum(distance), min(tailnum) from f"
    ));
    assert!(analyzed.contains("row_groups_read=25"), "{analyzed}");
}

#[test]
fn filters_leave_out_row_groups_before_there_are_tasks() {
    let folder = Folder::new();
    tables::flights(&folder);
    let allowed = folder.path("");
    let cluster = Cluster::start(&folder, 1, &[allowed.to_str().unwrap()]);
    let explain = |condition: &str| {
        let sql = format!(
            "{SMALL_FILES}explain select carrier, count(*) from 'flights.csv.at1' {condition} group by 1"
        );
        cluster.ok(&sql)
    };
    let all = explain("");
    assert!(
        all.contains("stage 1, 8 partitions") && all.contains("stage 2, 8 partitions"),
        "{all}"
    );
    let some = explain("where month = 7 and day = 4");
    assert!(some.contains("stage 1, 1 partitions"), "{some}");
    cluster.compare("select count(*), sum(day) from 'flights.csv.at1' where month = 13");
}

#[test]
fn two_executors_are_compared_with_one() {
    let folder = Folder::new();
    tables::tpch(&folder);
    let allowed = folder.path("");
    let allowed = [allowed.to_str().unwrap()];
    let mut cluster = Cluster::start(&folder, 1, &allowed);
    let sql = with_files(
        &format!(
            "{SMALL_FILES}select l_returnflag, sum(l_quantity), count(distinct l_comment) \
                  from lineitem group by 1 order by 1"
        ),
        "",
        &["lineitem"],
    );
    for executors in 1..=2 {
        let started = Instant::now();
        cluster.ok(&sql);
        // Reported, not asserted: other tests run at the same time.
        eprintln!("{executors} executors: {:.2} s", started.elapsed().as_secs_f64());
        if executors == 1 {
            cluster.add_executor(&allowed);
        }
    }
}
