//! `COPY … TO` on a cluster.

use std::fs;

use crate::processes::{Cluster, Folder};
use crate::tables;

const SMALL_FILES: &str = "set datafusion.optimizer.repartition_file_min_size = 1; ";

#[test]
fn every_partition_becomes_a_file() {
    let folder = Folder::new();
    tables::flights(&folder);
    let allowed = folder.path("");
    let cluster = Cluster::start(&folder, 2, &[allowed.to_str().unwrap()]);
    for (format, options) in [("at1", ""), ("colf", " options (level 1)")] {
        let counted = cluster.ok(&format!(
            "{SMALL_FILES}copy (select * from 'flights.csv.at1' where month > 6) to 'out-{format}/' \
             stored as {format}{options}"
        ));
        assert_eq!(counted, "");
        let files = fs::read_dir(folder.path(&format!("out-{format}"))).unwrap().count();
        assert!(files > 1, "{files} files of {format}");
        let sql = format!("select count(*), sum(distance), min(tailnum) from 'out-{format}/'");
        let expected =
            "select count(*), sum(distance), min(tailnum) from 'flights.csv.at1' where month > 6";
        assert_eq!(folder.ok(&["sql", &sql]), folder.ok(&["sql", expected]));
        cluster.compare(&sql);
    }
    // A name with an extension is one file, which the client writes.
    cluster.ok(
        "copy (select * from 'flights.csv.at1' order by distance, flight, time_hour) to 'one.colf'",
    );
    assert_eq!(folder.ok(&["sql", "select count(*) as n from 'one.colf'"]), "n\n6048\n");
}

#[test]
fn a_query_that_fails_leaves_no_files() {
    let folder = Folder::new();
    tables::flights(&folder);
    let allowed = folder.path("");
    let cluster = Cluster::start(&folder, 2, &[allowed.to_str().unwrap()]);
    // The last rows cannot be cast.
    let sql = format!(
        "{SMALL_FILES}copy (select case when month = 12 and day = 28 then tailnum else '1' end::int as n \
         from 'flights.csv.at1') to 'broken/' stored as colf"
    );
    let ran = cluster.sql(&sql, &["--partitions", "8"]);
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("N14"), "{ran:?}");
    let left = fs::read_dir(folder.path("broken")).map_or(0, Iterator::count);
    assert_eq!(left, 0);
}
