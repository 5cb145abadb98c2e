//! Executors that are lost.

use std::thread;
use std::time::{Duration, Instant};

use crate::processes::{Cluster, Folder};
use crate::tables::{self, with_files};

#[test]
fn a_query_survives_an_executor_or_says_why_not() {
    let folder = Folder::new();
    tables::tpch(&folder);
    let allowed = folder.path("");
    let mut cluster = Cluster::start(&folder, 2, &[allowed.to_str().unwrap()]);
    let slow = with_files(
        "set datafusion.optimizer.repartition_file_min_size = 1; \
         select count(*) from lineitem a join lineitem b on a.l_suppkey = b.l_suppkey \
         where a.l_comment < b.l_comment and a.l_linenumber = 1",
        "",
        &["lineitem"],
    );
    let expected = folder.ok(&["sql", &slow]);
    let address = cluster.address.clone();
    let ran = thread::scope(|scope| {
        let query =
            scope.spawn(|| folder.hyp(&["sql", "--cluster", &address, &slow, "--partitions", "8"]));
        let started = Instant::now();
        while !cluster.executors[0].journal().contains("Execute task") {
            assert!(started.elapsed() < Duration::from_secs(120), "no task was started");
            thread::sleep(Duration::from_millis(5));
        }
        cluster.executors[0].kill();
        query.join().unwrap()
    });
    match ran.code {
        Some(0) => assert_eq!(ran.out, expected),
        code => {
            assert_eq!(code, Some(4), "{ran:?}");
            assert!(ran.err.contains("error: "), "{ran:?}");
        }
    }
    eprintln!("after an executor was killed: {ran:?}");
    assert_eq!(cluster.ok(&slow), expected);
}

#[test]
fn a_cluster_that_is_not_there_is_an_error() {
    let folder = Folder::new();
    std::fs::write(folder.path("a.csv"), "a\n1\n").unwrap();
    let err = folder.fails(&["sql", "--cluster", "df://127.0.0.1:1", "select * from 'a.csv'"]);
    assert!(err.contains("no scheduler at df://127.0.0.1:1"), "{err}");
    let err = folder.fails(&["sql", "--cluster", "127.0.0.1:1", "select 1"]);
    assert!(err.contains("df://host:50050"), "{err}");
}
