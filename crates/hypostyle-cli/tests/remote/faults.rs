//! Servers that fail, lie and stall.

use std::time::{Duration, Instant};

use crate::reads::archive;
use crate::server::{Fault, Manners, Server};
use crate::{Folder, flights};

/// Reads some rows; with servers that do not wait, so that tests end soon.
const QUERY: [&str; 4] = ["--where", "day = 42", "--columns", "delay"];

#[test]
fn requests_are_repeated_after_failures() {
    let (folder, server, _) = archive();
    let url = server.url("/data/flights.csv.at1");
    let words = [&["cat", &url, "--timeout", "400ms"], &QUERY[..]].concat();
    let expected = folder.ok(&words);
    let wait = Duration::from_secs(2);
    for tag in [Some("\"one\""), None] {
        server.put("/data/flights.csv.at1", folder.bytes("flights.csv.at1"), tag);
        for faults in [
            vec![Fault::Status(500), Fault::Status(503)],
            vec![Fault::Status(429); 3],
            vec![Fault::Reset, Fault::Reset],
            vec![Fault::HalfBody; 3],
            vec![Fault::HalfChunks; 2],
            vec![Fault::Stall(wait)],
            vec![Fault::StallBody(wait)],
            vec![Fault::Status(502), Fault::HalfBody, Fault::Reset, Fault::StallBody(wait)],
        ] {
            server.take_requests();
            server.fail(faults.iter().copied());
            assert_eq!(folder.ok(&words), expected, "{faults:?} {tag:?}");
            assert!(server.take_requests().len() > faults.len(), "{faults:?}");
        }
    }
}

#[test]
fn a_server_that_stays_silent_is_given_up() {
    let (folder, server, _) = archive();
    let url = server.url("/data/flights.csv.at1");
    server.fail(vec![Fault::Stall(Duration::from_secs(20)); 100]);
    let started = Instant::now();
    let err = folder.fails(&["cat", &url, "--timeout", "200ms", "--retries", "2"]);
    assert!(err.contains("the server sent nothing for 0.2 s"), "{err}");
    assert!(started.elapsed() < Duration::from_secs(15));
}

#[test]
fn a_server_that_keeps_failing_is_given_up() {
    let (folder, server, _) = archive();
    let url = server.url("/data/flights.csv.at1");
    server.fail(vec![Fault::Status(500); 100]);
    let ran = folder.hyp(&["cat", &url, "--retries", "1"]);
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("the server failed (500"), "{}", ran.err);
    assert_eq!(server.take_requests().len(), 4);
    // No server is there.
    let err = folder.fails(&["cat", "http://127.0.0.1:9/a.csv", "--retries", "1"]);
    assert!(err.contains("cannot connect to the server"), "{err}");
}

#[test]
fn other_statuses_are_not_repeated() {
    let (folder, server, _) = archive();
    let url = server.url("/data/flights.csv.at1");
    for (status, expected) in [(403, "denies access (403"), (401, "wants credentials (401")] {
        server.take_requests();
        server.fail([Fault::Status(status), Fault::Status(status)]);
        let err = folder.fails(&["cat", &url]);
        assert!(err.contains(expected), "{err}");
        assert_eq!(server.take_requests().len(), 2);
    }
}

#[test]
fn wrong_bytes_are_errors() {
    let (folder, server, _) = archive();
    let url = server.url("/data/flights.csv.at1");
    let words = [&["cat", &url, "--retries", "2"], &QUERY[..]].concat();
    for (manners, expected) in [
        (Manners { no_ranges: true, ..Manners::default() }, "does not support range requests"),
        (Manners { hides_size: true, ..Manners::default() }, "does not state the size"),
        (Manners { shifts: true, ..Manners::default() }, "sent the range"),
    ] {
        server.set(manners);
        let err = folder.fails(&words);
        assert!(err.contains(expected), "{err}");
    }
    // Bodies that stay short.
    server.set(Manners::default());
    server.fail(vec![Fault::HalfChunks; 100]);
    let err = folder.fails(&words);
    assert!(err.contains("bytes less than announced"), "{err}");
}

#[test]
fn a_file_that_changes_meanwhile_is_an_error() {
    let (folder, server, _) = archive();
    let path = "/data/flights.csv.at1";
    let url = server.url(path);
    let words = [&["cat", &url], &QUERY[..]].concat();
    let (old, mut new) = (folder.bytes("flights.csv.at1"), folder.bytes("flights.csv.at1"));
    let middle = new.len() / 2;
    new[middle] ^= 1;
    for ignores_conditions in [false, true] {
        server.set(Manners { ignores_conditions, ..Manners::default() });
        server.put(path, old.clone(), Some("\"one\""));
        server.replace_after(2, path, &new, "\"two\"");
        let err = folder.fails(&words);
        assert!(err.contains("the file changed while it was read"), "{err}");
    }
    // The size shows it where no tag does.
    server.put(path, old.clone(), None);
    new.push(0);
    server.replace_after(2, path, &new, "\"two\"");
    let err = folder.fails(&words);
    assert!(err.contains("the file changed while it was read"), "{err}");
}

#[test]
fn requests_run_at_the_same_time() {
    let text = flights(300, 2000);
    let folder = Folder::new();
    let server = Server::start().with("/big.csv", text);
    server.set(Manners { delay: Duration::from_millis(300), ..Manners::default() });
    folder.ok(&["convert", "-q", &server.url("/big.csv"), "copy.csv"]);
    assert!(server.take_requests().len() >= 4);
    assert!((2..=4).contains(&server.most_in_flight()), "{}", server.most_in_flight());
}
