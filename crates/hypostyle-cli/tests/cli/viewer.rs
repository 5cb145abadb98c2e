//! `hyp inspect --html` and `hyp serve`.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use crate::Folder;

#[test]
fn a_page_shows_columns_and_needs_no_network() {
    let folder = Folder::new().with("a.csv", "id,<b>name</b>\n1,Ada\n2,\"<script>x</script>\"\n");
    folder.hyp("convert a.csv a.colf").ok();
    folder.hyp("inspect --html a.colf -o page.html").ok();
    let page = folder.read("page.html");
    assert!(page.contains("COLF") && page.contains("2 rows, 2 columns"), "{page}");
    assert!(page.contains("<svg class=map") && page.contains("&lt;b&gt;name&lt;/b&gt;"), "{page}");
    assert!(page.contains("No deviations") && page.contains("default-src 'none'"), "{page}");
    for forbidden in ["<script", "http:", "https:", "src=", "<link", "<b>name"] {
        assert!(!page.contains(forbidden), "the page has {forbidden}");
    }
    folder.hyp("inspect --html a.colf -o page.html").fails(3, &["exists"]);
    folder.hyp("inspect --html a.colf -o page.html --force").ok();
    // Any kind of file has a page; a damaged one says what is wrong.
    assert!(folder.hyp("inspect --html a.csv").ok().contains("2 rows, 2 columns"));
    folder.hyp("pack a.csv").ok();
    assert!(folder.hyp("inspect --html a.csv.at1").ok().contains("AT-1"));
    let mut bytes = folder.bytes("a.colf");
    bytes.truncate(40);
    fs::write(folder.path("cut.colf"), bytes).unwrap();
    folder.hyp("inspect --html cut.colf").fails(4, &["cut.colf"]);
}

/// A server that is ended with the test.
struct Server(Child, String);

impl Server {
    fn start(folder: &Folder, words: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hyp"));
        command.args(["serve", "--no-open", "--viewer"]).arg(folder.path("viewer")).args(words);
        command.current_dir(folder.path("")).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let host = line.trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
        assert!(host.starts_with("127.0.0.1:"), "{line}");
        Self(child, host)
    }

    /// Sends a request to the server and returns the whole response.
    fn ask(&self, request: &str, headers: &str) -> String {
        let mut stream = TcpStream::connect(&self.1).unwrap();
        let host =
            if headers.contains("Host:") { String::new() } else { format!("Host: {}\r\n", self.1) };
        write!(stream, "{request} HTTP/1.1\r\n{host}{headers}Connection: close\r\n\r\n").unwrap();
        let mut response = Vec::new();
        stream.read_to_end(&mut response).unwrap();
        String::from_utf8_lossy(&response).into_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn with_viewer() -> Folder {
    let folder = Folder::new().with("a b.csv", "id\n1\n2\n").with("secret.txt", "secret");
    fs::create_dir_all(folder.path("viewer/wasm")).unwrap();
    for name in ["index.html", "viewer.js", "worker.js", "style.css", "wasm/hypostyle_wasm_bg.wasm"]
    {
        fs::write(folder.path("viewer").join(name), name).unwrap();
    }
    folder
}

#[test]
fn serve_sends_named_files_by_range_and_nothing_else() {
    let folder = with_viewer();
    let server = Server::start(&folder, &["a b.csv"]);
    let start = server.ask("GET /", "");
    assert!(start.contains("302") && start.contains("url=/files/0/a%20b.csv"), "{start}");
    assert!(server.ask("GET /viewer/index.html?url=x", "").ends_with("\r\n\r\nindex.html"));
    assert!(server.ask("GET /files/0/a%20b.csv", "").ends_with("id\n1\n2\n"));
    let part = server.ask("GET /files/0/a%20b.csv", "Range: bytes=3-4\r\n");
    assert!(part.contains("206") && part.contains("bytes 3-4/7") && part.ends_with("\r\n\r\n1\n"));
    assert!(server.ask("HEAD /files/0/a%20b.csv", "").ends_with("\r\n\r\n"));
    assert!(server.ask("GET /files/0/a%20b.csv", "Range: bytes=7-\r\n").contains(" 416 "));
    for path in [
        "/secret.txt",
        "/files/1/secret.txt",
        "/files/0/secret.txt",
        "/viewer/../secret.txt",
        "/viewer/..%2Fsecret.txt",
        "/files/0/../../secret.txt",
        "/viewer/",
        "//secret.txt",
    ] {
        let response = server.ask(&format!("GET {path}"), "");
        assert!(response.contains(" 404 ") && !response.contains("secret\n"), "{path}: {response}");
    }
    // Another site that resolves to this machine gets nothing.
    assert!(server.ask("GET /files/0/a%20b.csv", "Host: evil.example\r\n").contains(" 403 "));
    assert!(server.ask("POST /", "").contains(" 400 "));
    assert!(server.ask("GET /", "Content-Length: 5\r\n").contains(" 400 "));
}

#[test]
fn serve_needs_a_viewer_and_regular_files() {
    let folder = with_viewer();
    folder.hyp("serve --no-open --viewer nowhere").fails(2, &["nowhere", "cargo xtask viewer"]);
    folder.hyp("serve --no-open --viewer viewer missing.csv").fails(3, &["missing.csv"]);
    folder.hyp("serve --no-open --viewer viewer viewer").fails(2, &["regular file"]);
    let two = Server::start(&folder, &["a b.csv", "secret.txt"]);
    let list = two.ask("GET /", "");
    assert!(list.contains("/files/0/a%20b.csv") && list.contains("/files/1/secret.txt"), "{list}");
}
