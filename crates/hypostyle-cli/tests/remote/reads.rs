//! Files on an HTTP server, and what is read of them.

use std::sync::OnceLock;

use crate::server::{Manners, Server, bytes_of};
use crate::{Folder, flights};

/// A folder with an archive of flights, and a server that has it.
pub(crate) fn archive() -> (Folder, Server, usize) {
    static CONTENT: OnceLock<Vec<u8>> = OnceLock::new();
    let content = CONTENT.get_or_init(|| {
        let folder = Folder::new().with("flights.csv", flights(100, 4000));
        folder.ok(&["pack", "-q", "-1", "flights.csv", "--rows-per-group", "4000"]);
        folder.bytes("flights.csv.at1")
    });
    let folder = Folder::new().with("flights.csv.at1", content);
    let server = Server::start().with("/data/flights.csv.at1", content.clone());
    (folder, server, content.len())
}

#[test]
fn one_day_of_an_archive_takes_few_requests_and_bytes() {
    let (folder, server, size) = archive();
    assert!(size > 2 << 20, "the archive has {size} bytes");
    let url = server.url("/data/flights.csv.at1");
    let query = ["--where", "day = 42", "--columns", "flight,delay"];
    let local = folder.ok(&[&["cat", "flights.csv.at1"], &query[..]].concat());
    let remote = folder.ok(&[&["cat", &url], &query[..]].concat());
    assert_eq!(local, remote);
    assert_eq!(remote.lines().count(), 4001);
    let requests = server.take_requests();
    assert!(requests.len() <= 4, "{requests:#?}");
    let bytes = bytes_of(&requests);
    assert!(bytes * 4 < size, "{bytes} of {size} bytes");
    // All of them are ranges, and after the first ones all are of the same version.
    assert!(requests.iter().all(|request| request.method == "GET" && request.range.is_some()));
    let later = requests.iter().skip(2);
    assert!(later.clone().all(|it| it.if_match.as_deref() == Some("\"one\"")), "{requests:#?}");
}

#[test]
fn rows_by_number_and_layouts_take_few_requests() {
    let (folder, server, size) = archive();
    let url = server.url("/data/flights.csv.at1");
    let local = folder.ok(&["get", "flights.csv.at1", "300000", "3"]);
    assert_eq!(folder.ok(&["get", &url, "300000", "3"]), local);
    let requests = server.take_requests();
    assert!(requests.len() <= 5, "{requests:#?}");
    let bytes = bytes_of(&requests);
    assert!(bytes * 2 < size, "{bytes} of {size} bytes: {requests:#?}");
    let local = folder.ok(&["inspect", "flights.csv.at1"]);
    assert_eq!(folder.ok(&["inspect", &url]), local);
    let requests = server.take_requests();
    assert!(requests.len() <= 6, "{requests:#?}");
    let bytes = bytes_of(&requests);
    assert!(bytes * 4 < size, "{bytes} of {size} bytes: {requests:#?}");
    // Everything is read, once.
    assert_eq!(folder.ok(&["verify", &url]).lines().count(), 1);
    let bytes = bytes_of(&server.take_requests());
    assert!(bytes <= size + (384 << 10), "{bytes} of {size} bytes");
    assert_eq!(folder.ok(&["schema", &url]), folder.ok(&["schema", "flights.csv.at1"]));
    let head = folder.ok(&["head", &url, "-n", "2"]);
    assert_eq!(head, folder.ok(&["head", "flights.csv.at1", "-n", "2"]));
}

#[test]
fn every_kind_of_file_is_read_from_a_url() {
    let folder = Folder::new().with("t.csv", flights(20, 500));
    let server = Server::start();
    let expected = folder.ok(&["cat", "t.csv"]);
    for name in ["t.csv", "t.jsonl", "t.colf", "t.colm", "t.clmn", "t.parquet", "t.arrow"] {
        if name != "t.csv" {
            folder.ok(&["convert", "-q", "t.csv", name]);
        }
        let path = format!("/{name}");
        server.put(&path, folder.bytes(name), Some("\"x\""));
        let printed = folder.ok(&["cat", &server.url(&path)]);
        assert_eq!(printed, expected, "{name}");
        folder.ok(&["convert", "-qf", &server.url(&path), "back.csv"]);
        assert_eq!(
            String::from_utf8(folder.bytes("back.csv")).unwrap(),
            flights(20, 500),
            "{name}"
        );
        folder.ok(&["verify", &server.url(&path)]);
    }
}

#[test]
fn a_text_is_read_once() {
    let text = flights(200, 2000);
    let size = text.len();
    assert!(size > 8 << 20);
    let folder = Folder::new();
    let server = Server::start().with("/big.csv", text.clone());
    folder.ok(&["convert", "-q", &server.url("/big.csv"), "copy.csv"]);
    assert_eq!(folder.bytes("copy.csv"), text.as_bytes());
    let requests = server.take_requests();
    let bytes = bytes_of(&requests);
    assert!(bytes <= size + (128 << 10), "{bytes} of {size}");
    assert!(requests.len() <= 6, "{requests:#?}");
}

#[test]
fn small_and_empty_files_are_read() {
    let folder = Folder::new();
    let server = Server::start().with("/a.csv", "x\n1\n").with("/empty.csv", "");
    assert_eq!(folder.ok(&["cat", &server.url("/a.csv")]), "x\n1\n");
    let text = folder.hyp(&["cat", &server.url("/empty.csv")]);
    let local = folder.with("empty.csv", "").hyp(&["cat", "empty.csv"]);
    assert_eq!((text.code, text.out), (local.code, local.out));
}

#[test]
fn servers_without_suffix_ranges_tags_or_lengths_will_do() {
    let (folder, server, _) = archive();
    let url = server.url("/data/flights.csv.at1");
    let words = ["cat", &url, "--where", "day = 99", "--columns", "delay"];
    let expected = folder.ok(&words);
    server.set(Manners { no_suffixes: true, ..Manners::default() });
    assert_eq!(folder.ok(&words), expected);
    server.set(Manners { chunks: true, ..Manners::default() });
    assert_eq!(folder.ok(&words), expected);
    server.set(Manners::default());
    server.put("/data/flights.csv.at1", folder.bytes("flights.csv.at1"), None);
    assert_eq!(folder.ok(&words), expected);
    server.set(Manners { hides_time: true, ..Manners::default() });
    assert_eq!(folder.ok(&words), expected);
    server.put("/data/flights.csv.at1", folder.bytes("flights.csv.at1"), Some("W/\"weak\""));
    assert_eq!(folder.ok(&words), expected);
}

#[test]
fn a_url_keeps_its_query_and_its_escapes() {
    let folder = Folder::new();
    let server = Server::start().with("/a%20b%25/t%23.csv", "x\n7\n");
    let url = server.url("/a%20b%25/t%23.csv?X-Signature=abc%2F&n=1");
    assert_eq!(folder.ok(&["cat", &url]), "x\n7\n");
    let requests = server.take_requests();
    assert!(requests.iter().all(|it| it.target == "/a%20b%25/t%23.csv?X-Signature=abc%2F&n=1"));
}

#[test]
fn redirects_are_followed() {
    let (folder, server, _) = archive();
    let words = ["--where", "day = 7", "--columns", "delay"];
    let expected = folder.ok(&[&["cat", "flights.csv.at1"], &words[..]].concat());
    server.redirect("/old/flights.csv.at1", server.url("/data/flights.csv.at1"));
    let url = server.url("/old/flights.csv.at1");
    assert_eq!(folder.ok(&[&["cat", &url], &words[..]].concat()), expected);
    let requests = server.take_requests();
    let sent = requests.iter().filter(|request| request.bytes > 0);
    assert!(sent.clone().count() > 0 && sent.clone().all(|request| request.range.is_some()));
}

#[test]
fn credentials_are_sent_and_not_printed() {
    let folder = Folder::new();
    let server = Server::start().with("/t.csv", "x\n7\n");
    let url = format!("http://me:secret@{}/t.csv?key=hidden", server.address());
    assert_eq!(folder.ok(&["cat", &url]), "x\n7\n");
    let requests = server.take_requests();
    assert!(requests.iter().all(|it| it.authorization.as_deref() == Some("Basic bWU6c2VjcmV0")));
    let url = format!("http://me:secret@{}/none.csv?key=hidden", server.address());
    let err = folder.fails(&["cat", &url]);
    let shown = format!("`http://{}/none.csv`: no such file", server.address());
    assert!(err.contains(&shown), "{err}");
    assert!(!err.contains("secret") && !err.contains("hidden"), "{err}");
}

#[test]
fn other_commands_and_http_outputs_say_what_they_cannot() {
    let folder = Folder::new().with("t.csv", "x\n7\n");
    let server = Server::start().with("/t.csv", "x\n7\n");
    let err = folder.fails(&["pack", &server.url("/t.csv")]);
    assert!(err.contains("this command takes no URLs"), "{err}");
    let err = folder.fails(&["convert", "t.csv", &server.url("/new.colf")]);
    assert!(err.contains("hyp does not write to HTTP servers"), "{err}");
}
