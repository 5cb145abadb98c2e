//! Buckets of a real S3-compatible server, which `cargo xtask test --all` installs.
//!
//! The variable `HYPOSTYLE_S3_SERVER` has the path of the program `s3s-fs`.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::recipe_pages::{recipes, search_path};
use crate::{Folder, Ran, flights};

/// A server with a bucket `logs`, and a proxy before it that counts requests.
struct S3 {
    folder: Folder,
    server: Child,
    requests: Arc<AtomicUsize>,
    bytes: Arc<AtomicUsize>,
}

impl S3 {
    fn start() -> Self {
        let program = std::env::var("HYPOSTYLE_S3_SERVER").unwrap();
        let folder = Folder::new();
        fs::create_dir_all(folder.path("buckets/logs")).unwrap();
        let port =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let mut command = folder.command(&program);
        command.args(["--host", "127.0.0.1", "--port", &port.to_string()]);
        command.args(["--access-key", "someone", "--secret-key", "something", "buckets"]);
        let server = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let started = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(started.elapsed() < Duration::from_secs(30), "the server does not start");
            thread::sleep(Duration::from_millis(20));
        }
        let (requests, bytes) = (Arc::default(), Arc::default());
        let proxy = proxy(address, &requests, &bytes);
        let folder = folder
            .variable("AWS_ENDPOINT_URL", format!("http://{proxy}"))
            .variable("AWS_ACCESS_KEY_ID", "someone")
            .variable("AWS_SECRET_ACCESS_KEY", "something");
        Self { folder, server, requests, bytes }
    }

    /// Returns the requests and the bytes of responses since the last call.
    fn take_counts(&self) -> (usize, usize) {
        (self.requests.swap(0, Ordering::SeqCst), self.bytes.swap(0, Ordering::SeqCst))
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Forwards connections to a server, and counts requests and bytes of responses.
fn proxy(server: SocketAddr, requests: &Arc<AtomicUsize>, bytes: &Arc<AtomicUsize>) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let (requests, bytes) = (requests.clone(), bytes.clone());
    thread::spawn(move || {
        for client in listener.incoming() {
            let (client, server) = (client.unwrap(), TcpStream::connect(server).unwrap());
            let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            let (requests, bytes) = (requests.clone(), bytes.clone());
            let count = move |sent: &[u8]| {
                // A request without a body comes in one piece.
                let is_start = [&b"GET "[..], b"HEAD ", b"PUT ", b"POST "]
                    .iter()
                    .any(|method| sent.starts_with(method));
                requests.fetch_add(usize::from(is_start), Ordering::SeqCst);
            };
            thread::spawn(move || forward(from, to, count));
            let count = move |sent: &[u8]| {
                bytes.fetch_add(sent.len(), Ordering::SeqCst);
            };
            thread::spawn(move || forward(server, client, count));
        }
    });
    address
}

fn forward(mut from: TcpStream, mut to: TcpStream, count: impl Fn(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let len = from.read(&mut buffer)?;
        if len == 0 {
            return to.shutdown(std::net::Shutdown::Write);
        }
        count(&buffer[..len]);
        to.write_all(&buffer[..len])?;
    }
}

#[test]
#[ignore = "needs an S3 server: `cargo xtask test --all` installs one"]
fn files_are_written_read_and_queried() {
    let s3 = S3::start();
    let folder = &s3.folder;
    // Written by convert, a large one in parts, and by COPY.
    fs::write(folder.path("t.csv"), flights(200, 2000)).unwrap();
    folder.ok(&["convert", "-q", "t.csv", "s3://logs/text/t.csv"]);
    assert!(s3.take_counts().0 >= 5, "an upload in parts");
    assert_eq!(folder.bytes("buckets/logs/text/t.csv"), flights(200, 2000).into_bytes());
    let copy = |days: &str, name: &str| {
        format!("copy (select * from 't.csv' where day {days}) to 's3://logs/flights/{name}'")
    };
    folder.ok(&["sql", &copy("<= 100", "a.csv.at1")]);
    folder.ok(&["sql", &copy("> 100", "b.csv.at1")]);
    folder.ok(&["convert", "-q", "s3://logs/flights/b.csv.at1", "s3://logs/column/b.colf"]);
    // A file is not overwritten unless the user says so.
    let err = folder.fails(&["convert", "-q", "t.csv", "s3://logs/column/b.colf"]);
    assert!(err.contains("already exists; -f overwrites it"), "{err}");
    let err = folder.fails(&["sql", "select 1 as a", "-o", "s3://logs/column/b.colf"]);
    assert!(err.contains("already exists; --force overwrites it"), "{err}");
    folder.ok(&["sql", "select 1 as a", "-o", "s3://logs/column/one.colf"]);
    // Read by all commands.
    let query = |name: &str| {
        format!(
            "select carrier, count(*) as n, avg(delay) as d from '{name}' where day = 142 \
                 group by 1 order by 1"
        )
    };
    let expected = folder.ok(&["sql", &query("t.csv")]);
    s3.take_counts();
    for name in [
        "s3://logs/flights/*.at1",
        "s3://logs/flights/",
        "s3://logs/text/t.csv",
        "s3://logs/flights/?.csv.at1",
        "s3://logs/column/b.colf",
    ] {
        assert_eq!(folder.ok(&["sql", &query(name)]), expected, "{name}");
        let (requests, bytes) = s3.take_counts();
        if name.ends_with("*.at1") {
            // One list, and both ends and some columns of two files.
            assert!(requests <= 8, "{requests} requests");
            let size = folder.bytes("buckets/logs/flights/a.csv.at1").len() * 2;
            assert!(bytes * 2 < size, "{bytes} of {size} bytes");
        }
    }
    let local = folder.path("buckets/logs/flights/b.csv.at1").display().to_string();
    for words in [&["cat", "--where", "day = 150 and delay > 160"][..], &["inspect"], &["schema"]] {
        let with = |name: &str| folder.ok(&[&words[..1], &[name], &words[1..]].concat());
        assert_eq!(with("s3://logs/flights/b.csv.at1"), with(&local), "{words:?}");
    }
    let remote = folder.ok(&["get", "s3://logs/flights/b.csv.at1", "100000", "7"]);
    assert_eq!(remote, folder.ok(&["get", &local, "100000", "7"]));
}

#[test]
#[ignore = "needs an S3 server: `cargo xtask test --all` installs one"]
fn errors_say_what_is_wrong() {
    let s3 = S3::start();
    let folder = &s3.folder;
    fs::write(folder.path("t.csv"), "x\n1\n").unwrap();
    for (words, expected) in [
        (["cat", "s3://logs/none.csv"], "no such file"),
        (["cat", "s3://nothing/none.csv"], "no such file"),
        (["sql", "select * from 's3://logs/none.csv'"], "no such file"),
        (["sql", "select * from 's3://logs/none/*.csv'"], "has no files"),
        (["cat", "s3://logs/a?.csv"], "write %3F"),
    ] {
        let err = folder.fails(&words);
        assert!(err.contains(expected), "{words:?}: {err}");
    }
    // A query that fails leaves no file.
    let err = folder.fails(&["sql", "copy (select x / 0 as y from 't.csv') to 's3://logs/y.colf'"]);
    assert!(!err.is_empty() && !folder.path("buckets/logs/y.colf").exists(), "{err}");
    let wrong = folder
        .command(env!("CARGO_BIN_EXE_hyp"))
        .env("AWS_SECRET_ACCESS_KEY", "wrong")
        .args(["cat", "s3://logs/t.csv"])
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(err.contains("denies access") && !err.contains("wrong"), "{err}");
}

#[test]
#[ignore = "needs an S3 server: `cargo xtask test --all` installs one"]
fn the_recipes_print_what_the_page_says() {
    let s3 = S3::start();
    let all = recipes("sql.md", "console s3");
    assert!(all.len() >= 3, "{} commands", all.len());
    for recipe in all {
        let mut shell = s3.folder.command("sh");
        let ran = Ran::of(shell.arg("-c").arg(&recipe.command).env("PATH", search_path()));
        assert_eq!(ran.out + &ran.err, recipe.expected, "{}", recipe.command);
    }
}
