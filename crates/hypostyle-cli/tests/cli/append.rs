//! `hyp append`: the archive is either the old or the new one at any moment.

use std::fs;
use std::io::Write;
use std::ops::Range;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::Folder;

const NAMES: &str = "id,city,price\n";

fn rows(ids: Range<u32>) -> String {
    let row = |id: u32| {
        let city = if id.is_multiple_of(3) { "Oslo" } else { "Rome" };
        format!("{id},{city},{}.{:02}\n", id % 50, id * 13 % 100)
    };
    ids.map(row).collect()
}

fn table(ids: Range<u32>) -> String {
    format!("{NAMES}{}", rows(ids))
}

/// A folder with an archive `t.at1` of a hundred rows.
fn folder(flags: &str) -> Folder {
    let folder = Folder::new().with("t.csv", table(0..100));
    folder.hyp(&format!("pack t.csv -q -1 --query {flags} -o t.at1").replace("  ", " ")).ok();
    folder
}

#[test]
fn files_are_appended_and_queried_with_the_rest() {
    for flags in ["", "--stream --chunk-lines 40"] {
        let folder = folder(flags).with("a.csv", table(100..130)).with("b.csv", rows(130..140));
        let said = folder.hyp("append t.at1 a.csv b.csv -1").ok();
        // The header of a.csv is that of the archive, and is left out.
        let added = rows(100..140).len();
        let size = folder.bytes("t.at1").len();
        let want = format!("t.at1: {added} bytes appended in 2 frames, archive now {size} bytes\n");
        assert_eq!(said, want);
        assert_eq!(folder.hyp("unpack t.at1 -c").ok(), table(0..140));
        folder.hyp("verify t.at1").ok();
        let found = folder.hyp("cat t.at1 --where id>=98").ok();
        assert_eq!(found, table(98..140));
        assert_eq!(folder.hyp("cat t.at1").ok(), table(0..140));
        assert_eq!(folder.hyp("get t.at1 99 100 139").ok(), table(99..101) + &rows(139..140));
        let said = folder.hyp_with("append t.at1 - --rows-per-group 5", rows(140..150).as_bytes());
        assert!(said.ok().contains("appended in 1 frame,"));
        let flags = ["-9 --no-index --threads 1", "-1 --threads 2"];
        for (flags, start) in flags.into_iter().zip([150, 160]) {
            let more = rows(start..start + 10);
            assert_eq!(
                folder.hyp_with(&format!("append -q t.at1 - {flags}"), more.as_bytes()).ok(),
                ""
            );
        }
        let found = folder.hyp("cat t.at1 --where id>=98").ok();
        assert_eq!(found, table(98..170));
        assert_eq!(folder.names(), ["a.csv", "b.csv", "t.at1", "t.csv"]);
    }
}

#[test]
fn objects_are_appended_to_objects() {
    let lines = |ids: Range<u32>| -> String {
        ids.map(|id| format!("{{\"id\":{id},\"on\":{}}}\n", id % 2 == 0)).collect()
    };
    let folder = Folder::new().with("t.jsonl", lines(0..50));
    folder.hyp("pack t.jsonl -q --query -o t.at1").ok();
    folder.hyp_with("append t.at1 - -q", lines(50..60).as_bytes()).ok();
    assert_eq!(folder.hyp("cat t.at1 --where id>=48 --format jsonl").ok(), lines(48..60));
}

#[test]
fn nothing_to_append_changes_nothing() {
    let folder = folder("").with("none", "");
    let old = folder.bytes("t.at1");
    let said = folder.hyp("append t.at1 none - none").ok();
    assert_eq!(said, "t.at1: nothing to append, archive unchanged\n");
    assert_eq!(folder.hyp("append t.at1 none -q").ok(), "");
    assert_eq!(folder.bytes("t.at1"), old);
    // An empty file among others adds nothing either.
    folder.hyp_with("append t.at1 none - none -q", rows(100..101).as_bytes()).ok();
    assert_eq!(folder.hyp("unpack t.at1 -c").ok(), table(0..101));
}

#[test]
fn lines_that_do_not_fit_the_table_are_kept_with_a_warning() {
    let folder = folder("").with("odd", "no\nrow\n").with("row", rows(100..101));
    let ran = folder.hyp("append t.at1 odd row -q");
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert!(ran.err.contains("warning: `t.at1`: 1 of 2 frames"), "{}", ran.err);
    let ran = folder.hyp("append t.at1 odd");
    assert!(ran.err.contains("warning: `t.at1`: 1 frame stored"), "{}", ran.err);
    assert_eq!(
        folder.hyp("unpack t.at1 -c").ok(),
        table(0..100) + "no\nrow\n" + &rows(100..101) + "no\nrow\n"
    );
}

#[test]
fn archives_that_cannot_be_appended_to_stay_unchanged() {
    let folder = folder("").with("more", rows(100..110)).with("half", rows(100..110).trim_end());
    folder.hyp("pack t.csv -q --codec raw -o plain.at1").ok();
    folder.hyp("pack half -q --codec qcolumnar -o half.at1").ok();
    let old = folder.bytes("t.at1");
    let mut bad = old.clone();
    let at = bad.len() - 20;
    bad[at] ^= 1;
    let folder = folder.with("bad.at1", &bad);
    let names = folder.names();
    folder.hyp("append plain.at1 more").fails(1, &["plain.at1", "codec `raw`", "--query"]);
    folder.hyp("append half.at1 more").fails(1, &["half.at1", "newline"]);
    folder.hyp("append bad.at1 more").fails(4, &["bad.at1", "hash"]);
    folder.hyp("append t.csv more").fails(4, &["t.csv", "magic"]);
    folder.hyp("append missing.at1 more").fails(3, &["`missing.at1`: cannot open"]);
    folder.hyp("append . more").fails(2, &["regular file"]);
    folder.hyp("append - more").fails(2, &["must be a file"]);
    folder.hyp("append t.at1").fails(2, &["FILES"]);
    folder.hyp("append t.at1 missing").fails(3, &["`missing`: cannot open"]);
    folder.hyp("append t.at1 more missing").fails(3, &["`missing`: cannot open"]);
    folder.hyp("append t.at1 half more").fails(1, &["`more`", "newline"]);
    assert_eq!(folder.bytes("t.at1"), old);
    assert_eq!(folder.bytes("bad.at1"), bad);
    assert_eq!(folder.names(), names, "no file is left behind");
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_permissions_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = folder("").with("more", rows(100..110));
    let mode = |mode| fs::set_permissions(folder.path("t.at1"), PermissionsExt::from_mode(mode));
    mode(0o662).unwrap();
    symlink("t.at1", folder.path("link.at1")).unwrap();
    folder.hyp("append link.at1 more -q").ok();
    assert!(fs::symlink_metadata(folder.path("link.at1")).unwrap().is_symlink());
    let now = fs::metadata(folder.path("t.at1")).unwrap().permissions().mode();
    assert_eq!(now & 0o7777, 0o662);
    assert_eq!(folder.hyp("unpack t.at1 -c").ok(), table(0..110));
    mode(0o444).unwrap();
    folder.hyp("append t.at1 more").fails(3, &["read-only"]);
}

fn start(folder: &Folder, file: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_hyp"))
        .args(["append", "t.at1", file, "-q", "-1"])
        .current_dir(folder.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_run_that_is_killed_while_it_reads_leaves_the_old_archive() {
    let folder = folder("--stream --chunk-lines 50");
    let old = folder.bytes("t.at1");
    let mut child = start(&folder, "-");
    let mut pipe = child.stdin.take().unwrap();
    let read = Arc::new(AtomicU32::new(0));
    let counter = read.clone();
    let feeder = thread::spawn(move || {
        let mut id = 100;
        while pipe.write_all(rows(id..id + 1000).as_bytes()).is_ok() {
            id += 1000;
            counter.store(id, Ordering::Relaxed);
        }
    });
    // Wait until many frames are read, and so written without a name.
    let patience = Instant::now() + Duration::from_secs(60);
    while read.load(Ordering::Relaxed) < 20_000 {
        if Instant::now() > patience {
            child.kill().unwrap();
            panic!("nothing is read");
        }
        thread::sleep(Duration::from_millis(5));
    }
    // Meanwhile readers see the old archive, and no other process can append.
    assert_eq!(folder.hyp("unpack t.at1 -c").ok(), table(0..100));
    #[cfg(unix)]
    folder.hyp_with("append t.at1 -", b"1,2,3\n").fails(3, &["another process"]);
    child.kill().unwrap();
    child.wait().unwrap();
    feeder.join().unwrap();
    assert_eq!(folder.bytes("t.at1"), old);
    // Nothing else is left where files can be without a name.
    if cfg!(target_os = "linux") {
        assert_eq!(folder.names(), ["t.at1", "t.csv"]);
    }
    folder.hyp_with("append t.at1 - -q", rows(100..120).as_bytes()).ok();
    assert_eq!(folder.hyp("unpack t.at1 -c").ok(), table(0..120));
}

#[test]
fn a_run_that_is_killed_at_any_moment_leaves_the_old_archive_or_the_new_one() {
    let folder = folder("--stream --chunk-lines 50").with("more.csv", table(100..3000));
    let old = folder.bytes("t.at1");
    let begun = Instant::now();
    assert!(start(&folder, "more.csv").wait().unwrap().success());
    let took = begun.elapsed();
    let new = folder.bytes("t.at1");
    let (mut kept, mut renewed) = (0, 0);
    for run in 0..24_u32 {
        fs::write(folder.path("t.at1"), &old).unwrap();
        let mut child = start(&folder, "more.csv");
        // Kill it from its start to shortly after its end, in uneven steps.
        thread::sleep(took * (run * 7 % 24) / 18);
        let _ = child.kill();
        child.wait().unwrap();
        match folder.bytes("t.at1") {
            now if now == old => kept += 1,
            now if now == new => renewed += 1,
            _ => panic!("a torn archive in run {run}"),
        }
    }
    assert!(kept > 0, "{kept} and {renewed}");
}
