//! An HTTP server for files that delays every response, like a remote object store.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The maximum number of connections; the server closes further ones.
const MAX_CONNECTIONS: usize = 64;
/// The maximum size of the headers of a request.
const MAX_REQUEST_BYTES: u64 = 16 << 10;
/// The interval at which a connection checks whether the server is stopping.
const STOP_POLL: Duration = Duration::from_millis(100);

/// A server for the files of a folder, on the loopback interface, until it is dropped.
///
/// The first component of a path names the client: `/NAME/file` is `file`, counted for `NAME`. So
/// one server counts for many clients, and a cached path does not help a client with the next one.
#[derive(Debug)]
pub(super) struct RangeServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

/// The responses to one client.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Served {
    pub(super) requests: u64,
    /// The bytes of all bodies.
    pub(super) bytes: u64,
}

#[derive(Debug)]
struct Shared {
    folder: PathBuf,
    /// The delay of each response.
    delay: Duration,
    stop: AtomicBool,
    connections: AtomicUsize,
    served: Mutex<HashMap<String, Served>>,
}

impl RangeServer {
    pub(super) fn start(folder: &Path, delay: Duration) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            folder: folder.to_owned(),
            delay,
            stop: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
            served: Mutex::default(),
        });
        let for_acceptor = Arc::clone(&shared);
        let acceptor = thread::spawn(move || for_acceptor.accept(&listener));
        Ok(Self { address, shared, acceptor: Some(acceptor) })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the counts of a client so far.
    pub(super) fn served(&self, name: &str) -> Served {
        let served = self.shared.served.lock().unwrap_or_else(PoisonError::into_inner);
        served.get(name).copied().unwrap_or_default()
    }
}

impl Drop for RangeServer {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        // The acceptor blocks until a connection arrives.
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

impl Shared {
    fn accept(&self, listener: &TcpListener) {
        thread::scope(|scope| {
            for stream in listener.incoming() {
                if self.stop.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                if self.connections.fetch_add(1, Ordering::Relaxed) < MAX_CONNECTIONS {
                    scope.spawn(|| {
                        // Ignore clients that disconnect.
                        let _ = self.serve(stream);
                        self.connections.fetch_sub(1, Ordering::Relaxed);
                    });
                } else {
                    self.connections.fetch_sub(1, Ordering::Relaxed);
                }
            }
        });
    }

    /// Serves the requests of a connection.
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(STOP_POLL))?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut out = stream;
        loop {
            // No part of a request has been consumed here, so a timeout loses nothing.
            match reader.fill_buf() {
                Ok([]) => return Ok(()),
                Ok(_) => {}
                Err(err) if matches!(err.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if self.stop.load(Ordering::Relaxed) {
                        return Ok(());
                    }
                    continue;
                }
                Err(err) => return Err(err),
            }
            let request = Request::read(&mut reader)?;
            thread::sleep(self.delay);
            self.respond(&request, &mut out)?;
            if request.is_last {
                return Ok(());
            }
        }
    }

    fn respond(&self, request: &Request, out: &mut TcpStream) -> io::Result<()> {
        let (name, path) = request.path.split_once('/').unwrap_or((&request.path, ""));
        let is_get = request.method == "GET";
        let is_plain = path.split('/').all(|part| !part.is_empty() && part != "..");
        let file = File::open(self.folder.join(path)).ok().filter(|_| is_plain);
        let size = file.as_ref().and_then(|file| file.metadata().ok());
        let size = size.filter(|meta| meta.is_file()).map(|meta| meta.len());
        let (status, extra, start, len) = match (size, request.range) {
            _ if !is_get && request.method != "HEAD" => ("405 Method Not Allowed", None, 0, 0),
            (None, _) => ("404 Not Found", None, 0, 0),
            (Some(size), None) => ("200 OK", None, 0, size),
            (Some(size), Some(range)) => match range.within(size) {
                Some((start, end)) => {
                    let place = format!("bytes {start}-{}/{size}", end - 1);
                    ("206 Partial Content", Some(place), start, end - start)
                }
                None => ("416 Range Not Satisfiable", Some(format!("bytes */{size}")), 0, 0),
            },
        };
        let body = if is_get { len } else { 0 };
        {
            let mut served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
            let served = served.entry(name.to_owned()).or_default();
            served.requests += 1;
            served.bytes += body;
        }
        let mut head =
            format!("HTTP/1.1 {status}\r\nAccept-Ranges: bytes\r\nContent-Length: {len}\r\n");
        if let Some(place) = extra {
            head += &format!("Content-Range: {place}\r\n");
        }
        head += "Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nETag: \"1\"\r\n\r\n";
        out.write_all(head.as_bytes())?;
        if let Some(mut file) = file.filter(|_| body > 0) {
            file.seek(SeekFrom::Start(start))?;
            io::copy(&mut file.take(body), out)?;
        }
        Ok(())
    }
}

/// The parts of a request that the server uses.
#[derive(Debug)]
struct Request {
    method: String,
    /// The path without its leading slash.
    path: String,
    range: Option<ByteRange>,
    /// Whether the client wants the connection closed.
    is_last: bool,
}

/// A byte range.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ByteRange {
    From(u64, Option<u64>),
    /// The last `n` bytes.
    Last(u64),
}

impl Request {
    fn read(reader: &mut BufReader<TcpStream>) -> io::Result<Self> {
        let mut lines = reader.take(MAX_REQUEST_BYTES);
        let mut line = String::new();
        let mut next = |line: &mut String| {
            line.clear();
            lines.read_line(line)?;
            if line.ends_with('\n') { Ok(()) } else { Err(io::Error::from(ErrorKind::InvalidData)) }
        };
        next(&mut line)?;
        let mut words = line.split_whitespace();
        let mut word = || words.next().unwrap_or_default().to_owned();
        let (method, path) = (word(), word().trim_start_matches('/').to_owned());
        let (mut range, mut is_last) = (None, false);
        loop {
            next(&mut line)?;
            let Some((name, value)) = line.trim().split_once(':') else {
                return Ok(Self { method, path, range, is_last });
            };
            match name.to_ascii_lowercase().as_str() {
                "range" => range = ByteRange::parse(value.trim()),
                "connection" => is_last = value.trim().eq_ignore_ascii_case("close"),
                _ => {}
            }
        }
    }
}

impl ByteRange {
    /// Parses a single range; `None` for anything else, which the server ignores.
    fn parse(text: &str) -> Option<Self> {
        let (start, end) = text.strip_prefix("bytes=")?.split_once('-')?;
        match (start, end) {
            ("", last) => Some(Self::Last(last.parse().ok()?)),
            (start, "") => Some(Self::From(start.parse().ok()?, None)),
            (start, end) => Some(Self::From(start.parse().ok()?, Some(end.parse().ok()?))),
        }
    }

    /// Returns the start and end within a file; `None` if the range is outside it.
    fn within(self, size: u64) -> Option<(u64, u64)> {
        let (start, end) = match self {
            Self::From(start, last) => (start, last.map_or(size, |last| last.saturating_add(1))),
            Self::Last(len) => (size.saturating_sub(len), size),
        };
        let end = end.min(size);
        (start < end).then_some((start, end))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn ranges_end_where_the_file_does() {
        let within = |text| ByteRange::parse(text).unwrap().within(10);
        assert_eq!(within("bytes=2-4"), Some((2, 5)));
        assert_eq!(within("bytes=8-"), Some((8, 10)));
        assert_eq!(within("bytes=8-99"), Some((8, 10)));
        assert_eq!(within("bytes=-3"), Some((7, 10)));
        assert_eq!(within("bytes=10-"), None);
        assert_eq!(ByteRange::parse("bytes=0-1,4-5"), None);
    }

    #[test]
    fn only_the_folder_is_served() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("secret"), "no").unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        fs::write(inner.join("file"), "0123456789").unwrap();
        let server = RangeServer::start(&inner, Duration::ZERO).unwrap();
        let ask = |request: &str| {
            let mut stream = TcpStream::connect(server.address()).unwrap();
            let request = format!("{request} HTTP/1.1\r\nRange: bytes=3-5\r\nConnection: close");
            write!(stream, "{request}\r\n\r\n").unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        };
        let answer = ask("GET /me/file");
        assert!(answer.starts_with("HTTP/1.1 206") && answer.ends_with("\r\n\r\n345"), "{answer}");
        assert!(answer.contains("Content-Range: bytes 3-5/10"), "{answer}");
        let answer = ask("HEAD /me/file");
        assert!(answer.contains("Content-Length: 3") && answer.ends_with("\r\n\r\n"), "{answer}");
        assert!(ask("GET /other/../secret").starts_with("HTTP/1.1 404"));
        assert!(ask("POST /other/file").starts_with("HTTP/1.1 405"));
        assert_eq!(server.served("me"), Served { requests: 2, bytes: 3 });
        assert_eq!(server.served("other"), Served { requests: 2, bytes: 0 });
    }
}
