//! `hyp sql` over HTTP.

use crate::reads::archive;
use crate::server::{Fault, Manners, Server, bytes_of};
use crate::{Folder, flights};

#[test]
fn a_query_of_one_day_takes_few_requests_and_bytes() {
    let (folder, server, size) = archive();
    let url = server.url("/data/flights.csv.at1");
    let query = |name: &str| {
        format!(
            "select carrier, count(*) as n, avg(delay) as d from '{name}' where day = 42 \
                 group by 1 order by 1"
        )
    };
    let local = folder.ok(&["sql", &query("flights.csv.at1")]);
    assert_eq!(folder.ok(&["sql", &query(&url)]), local);
    let requests = server.take_requests();
    assert!(requests.len() <= 4, "{requests:#?}");
    let bytes = bytes_of(&requests);
    assert!(bytes * 4 < size, "{bytes} of {size} bytes");
    // The number of rows is in the metadata.
    assert_eq!(folder.ok(&["sql", &format!("select count(*) as n from '{url}'")]), "n\n400000\n");
    assert!(server.take_requests().len() <= 2);
}

#[test]
fn every_kind_of_file_is_a_table() {
    let folder = Folder::new().with("t.csv", flights(20, 500));
    let server = Server::start();
    let query =
        |name: &str| format!("select day, sum(delay) as s from '{name}' group by 1 order by 1");
    let expected = folder.ok(&["sql", &query("t.csv")]);
    for name in
        ["t.csv", "t.jsonl", "t.colf", "t.csv.at1", "t.parquet", "t.arrow", "t.csv.gz", "t.csv.zst"]
    {
        match name {
            "t.csv" => {}
            "t.csv.gz" => shell(&folder, "gzip -k t.csv"),
            "t.csv.zst" => {
                let content = zstd::encode_all(&folder.bytes("t.csv")[..], 3).unwrap();
                std::fs::write(folder.path(name), content).unwrap();
            }
            "t.csv.at1" => drop(folder.ok(&["pack", "-q", "t.csv"])),
            _ => drop(folder.ok(&["convert", "-q", "t.csv", name])),
        }
        let path = format!("/{name}");
        server.put(&path, folder.bytes(name), Some("\"x\""));
        assert_eq!(folder.ok(&["sql", &query(&server.url(&path))]), expected, "{name}");
        let requests = server.take_requests();
        assert!(
            requests.iter().all(|it| it.method == "GET" && it.range.is_some()),
            "{requests:#?}"
        );
    }
    // A query of the URL, and a table that has a name.
    let signed = server.url("/t.colf?signature=abc");
    assert_eq!(folder.ok(&["sql", &query(&signed)]), expected);
    assert!(server.take_requests().iter().all(|it| it.target == "/t.colf?signature=abc"));
    let named =
        format!("create external table t stored as colf location '{}'", server.url("/t.colf"));
    assert_eq!(folder.ok(&["sql", &format!("{named}; {}", query("t"))]), expected);
    let err = folder.fails(&["sql", &named.replace(".colf'", ".colf?x=1'")]);
    assert!(err.contains("LOCATION takes no URL with a query"), "{err}");
}

fn shell(folder: &Folder, line: &str) {
    assert!(folder.command("sh").args(["-c", line]).status().unwrap().success());
}

#[test]
fn failures_are_repeated_and_lies_are_errors() {
    let (folder, server, _) = archive();
    let url = server.url("/data/flights.csv.at1");
    let query = format!("select sum(delay) as s from '{url}' where day between 40 and 60");
    let words = ["sql", &query, "--timeout", "500ms", "--retries", "3"];
    let expected = folder.ok(&words);
    server.fail([Fault::Status(500), Fault::HalfBody, Fault::Reset, Fault::HalfChunks]);
    assert_eq!(folder.ok(&words), expected);
    server.set(Manners { no_ranges: true, ..Manners::default() });
    let err = folder.fails(&words);
    assert!(err.contains("does not support range requests"), "{err}");
    server.set(Manners::default());
    let mut new = folder.bytes("flights.csv.at1");
    let middle = new.len() / 2;
    new[middle] ^= 1;
    server.replace_after(2, "/data/flights.csv.at1", &new, "\"two\"");
    let err = folder.fails(&words);
    assert!(err.contains("the file changed while it was read"), "{err}");
    assert!(err.contains("flights.csv.at1"), "{err}");
}

#[test]
fn a_server_has_files_and_no_folders() {
    let folder = Folder::new();
    let server = Server::start().with("/t.csv", "x\n7\n");
    let secret = format!("http://me:secret@{}", server.address());
    for (name, expected) in [
        ("/*.csv", "an HTTP server cannot list files"),
        ("/folder/", "an HTTP server cannot list files"),
        ("/none.csv?key=secret", "none.csv"),
    ] {
        let err = folder.fails(&["sql", &format!("select * from '{secret}{name}'")]);
        assert!(err.contains(expected), "{err}");
        assert!(!err.contains("secret"), "{err}");
    }
    let err = folder.fails(&["sql", "select * from 'ftp://host/a.csv'"]);
    assert!(err.contains("not a URL of http://"), "{err}");
    let copy = format!("copy (select 1 as a) to '{}'", server.url("/new.colf"));
    let err = folder.fails(&["sql", &copy]);
    assert!(err.contains("does not write to HTTP servers"), "{err}");
}

#[test]
fn the_next_statement_sees_a_file_that_has_changed() {
    let folder = Folder::new();
    for tag in [Some("\"one\""), None] {
        let server = Server::start();
        server.set(Manners { hides_time: true, ..Manners::default() });
        server.put("/t.csv", "x\n7\n", tag);
        // The first statement takes two requests. The new file has the size of the old one.
        server.replace_after(2, "/t.csv", b"x\n8\n", "\"two\"");
        let query = format!("select x from '{}'; ", server.url("/t.csv"));
        assert_eq!(folder.ok(&["sql", &query.repeat(2)]), "x\n7\nx\n8\n", "{tag:?}");
    }
}
