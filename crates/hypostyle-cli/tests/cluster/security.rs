//! Servers listen on this machine only, and executors use what they may.

use std::fs;

use crate::processes::{Cluster, Folder};

#[test]
fn executors_stay_below_their_prefixes() {
    let folder = Folder::new();
    for name in ["open", "closed"] {
        fs::create_dir(folder.path(name)).unwrap();
        fs::write(folder.path(&format!("{name}/a.csv")), "a\n1\n2\n").unwrap();
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.path("closed/a.csv"), folder.path("open/link.csv")).unwrap();
    let allowed = folder.path("open");
    let cluster = Cluster::start(&folder, 1, &[allowed.to_str().unwrap()]);
    assert_eq!(cluster.ok("select sum(a) as s from 'open/a.csv'"), "s\n3\n");
    let refused = |sql: &str| {
        let ran = cluster.sql(sql, &[]);
        assert_ne!(ran.code, Some(0), "{sql}: {}", ran.out);
        assert!(ran.err.contains("--allow"), "{sql}: {}", ran.err);
    };
    refused("select sum(a) from 'closed/a.csv'");
    #[cfg(unix)]
    refused("select sum(a) from 'open/link.csv'");
    refused("copy (select a from 'open/a.csv') to 'closed/out/' stored as colf");
    assert_eq!(fs::read_dir(folder.path("closed")).unwrap().count(), 1);
    // One file is written by the client, which may.
    cluster.ok("copy (select a from 'open/a.csv') to 'closed/out.csv.at1'");
    assert_eq!(folder.ok(&["sql", "select sum(a) as s from 'closed/out.csv.at1'"]), "s\n3\n");
}

#[test]
fn listening_beyond_this_machine_must_be_allowed() {
    let folder = Folder::new();
    for server in [&["scheduler"][..], &["executor", "--allow", "."]] {
        let words = [&["cluster"], server, &["--listen", "0.0.0.0"]].concat();
        let err = folder.fails(&words);
        assert!(err.contains("--trust-network"), "{err}");
    }
    let err = folder.fails(&["cluster", "executor"]);
    assert!(err.contains("--allow"), "{err}");
    let err = folder.fails(&["cluster", "executor", "--allow", "/no/such/folder"]);
    assert!(err.contains("/no/such/folder"), "{err}");
}
