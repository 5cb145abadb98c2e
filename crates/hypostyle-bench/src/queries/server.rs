//! Files over HTTP, each answer late, as from a store that is far away.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Connections at a time; one more is closed at once.
const CONNECTIONS: usize = 64;
/// Bytes of a request.
const REQUEST: u64 = 16 << 10;
/// How long a connection waits before it looks whether the server is to stop.
const LOOK: Duration = Duration::from_millis(100);

/// A server of the files of a folder, on this machine only, until it is dropped.
///
/// The first part of a path names who asks: `/NAME/file` is `file`, counted for `NAME`. So
/// one server tells many askers apart, and nothing that a client remembers of one path
/// helps it with the next.
#[derive(Debug)]
pub(super) struct RangeServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

/// What was given to one asker.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Served {
    pub(super) requests: u64,
    /// Bytes of bodies.
    pub(super) bytes: u64,
}

#[derive(Debug)]
struct Shared {
    folder: PathBuf,
    /// How late each answer is.
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
        let here = Arc::clone(&shared);
        let acceptor = thread::spawn(move || here.accept(&listener));
        Ok(Self { address, shared, acceptor: Some(acceptor) })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// What was given to an asker so far.
    pub(super) fn served(&self, name: &str) -> Served {
        let served = self.shared.served.lock().unwrap_or_else(PoisonError::into_inner);
        served.get(name).copied().unwrap_or_default()
    }
}

impl Drop for RangeServer {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        // It waits for a connection, so it gets one.
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
                if self.connections.fetch_add(1, Ordering::Relaxed) < CONNECTIONS {
                    scope.spawn(|| {
                        // A client that goes away is no matter.
                        let _ = self.serve(stream);
                        self.connections.fetch_sub(1, Ordering::Relaxed);
                    });
                } else {
                    self.connections.fetch_sub(1, Ordering::Relaxed);
                }
            }
        });
    }

    /// Answers one request after another.
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(LOOK))?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut out = stream;
        loop {
            // Nothing of a request has been read here, so that a look in between loses nothing.
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
            self.answer(&request, &mut out)?;
            if request.is_last {
                return Ok(());
            }
        }
    }

    fn answer(&self, request: &Request, out: &mut TcpStream) -> io::Result<()> {
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

/// What is understood of a request.
#[derive(Debug)]
struct Request {
    method: String,
    /// Without the first slash.
    path: String,
    range: Option<Range>,
    /// Whether the client wants the connection closed.
    is_last: bool,
}

/// The bytes that are wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Range {
    From(u64, Option<u64>),
    /// The last bytes, so many.
    Last(u64),
}

impl Request {
    fn read(reader: &mut BufReader<TcpStream>) -> io::Result<Self> {
        let mut lines = reader.take(REQUEST);
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
                "range" => range = Range::parse(value.trim()),
                "connection" => is_last = value.trim().eq_ignore_ascii_case("close"),
                _ => {}
            }
        }
    }
}

impl Range {
    /// `None` of what is not a single range, as if it had not been said.
    fn parse(text: &str) -> Option<Self> {
        let (start, end) = text.strip_prefix("bytes=")?.split_once('-')?;
        match (start, end) {
            ("", last) => Some(Self::Last(last.parse().ok()?)),
            (start, "") => Some(Self::From(start.parse().ok()?, None)),
            (start, end) => Some(Self::From(start.parse().ok()?, Some(end.parse().ok()?))),
        }
    }

    /// Where it begins and ends in a file; `None` if nothing of it is there.
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
        let within = |text| Range::parse(text).unwrap().within(10);
        assert_eq!(within("bytes=2-4"), Some((2, 5)));
        assert_eq!(within("bytes=8-"), Some((8, 10)));
        assert_eq!(within("bytes=8-99"), Some((8, 10)));
        assert_eq!(within("bytes=-3"), Some((7, 10)));
        assert_eq!(within("bytes=10-"), None);
        assert_eq!(Range::parse("bytes=0-1,4-5"), None);
    }

    #[test]
    fn a_folder_is_served_and_nothing_beside_it() {
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
