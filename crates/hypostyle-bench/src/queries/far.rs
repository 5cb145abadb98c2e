//! Questions over HTTP, to a server on this machine whose every answer is late.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hypostyle::ByteSource;

use super::question::{Asked, Question, ask};
use super::server::{RangeServer, Served};
use super::wheels;
use super::{Contender, OURS, chart, grid, timed};
use crate::Result;
use crate::page::Page;
use crate::setup::Setup;

/// How late answers are: about as much as those of an object store are.
const DELAY: Duration = Duration::from_millis(20);
const ROUNDS: usize = 3;
/// Requests that we have under way at most.
const AT_ONCE: usize = 16;

/// Asks ours and the rivals the same over HTTP.
pub(super) fn run(
    asked: &Asked,
    questions: &[Question],
    rows: &[u64],
    setup: &Setup,
    page: &mut Page,
) -> Result<()> {
    let folder = asked.archive.parent().unwrap_or(Path::new("."));
    let server = RangeServer::start(folder, DELAY)?;
    let rounds = setup.rounds(ROUNDS);
    let file = asked.archive.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (mut seconds, mut served) = (Vec::new(), Vec::new());
    for (index, question) in questions.iter().enumerate() {
        let (query, mut turn) = (question.query()?, 0);
        let (best, answer) = timed(rounds, || {
            let path = format!("ours-{index}-{turn}/{file}");
            turn += 1;
            ask(Arc::new(HttpSource::open(server.address(), path)?), &query, None)
        })?;
        if Some(&answer.stats.rows) != rows.get(index) {
            return Err(format!("{}: other rows over HTTP", question.name).into());
        }
        seconds.push(Some(best));
        served.push(server.served(&format!("ours-{index}-0")));
    }
    let mut contenders = vec![(Contender { name: OURS.to_owned(), figures: seconds }, served)];
    let url = format!("http://{}", server.address());
    let mut missing = String::new();
    for rival in &wheels::ALL {
        eprintln!("{} over HTTP", rival.name);
        match rival.ask(asked, questions, rows, Some(&url), setup, rounds)? {
            Ok(told) => {
                let figures = told.answers.iter().map(|(seconds, _)| Some(*seconds)).collect();
                let label = |index| server.served(&format!("{}-{index}-0", rival.key));
                let served = (0..questions.len()).map(label).collect();
                contenders.push((Contender { name: rival.name.to_owned(), figures }, served));
            }
            // Writing to a string cannot fail.
            Err(why) => drop(write!(missing, "\n- {}: {why}", rival.name)),
        }
    }
    tell(questions, &contenders, &missing, rounds, page);
    Ok(())
}

fn tell(
    questions: &[Question],
    contenders: &[(Contender, Vec<Served>)],
    missing: &str,
    rounds: usize,
    page: &mut Page,
) {
    page.heading("Over HTTP");
    page.add(format!(
        "A server on this machine gives ranges of the files, every answer {} ms late and with no \
         limit on how fast bytes come. Requests and bytes of bodies are as it counts them; seconds \
         are the best of {rounds}. Ours reads by a source of bytes that makes one request of each \
         read, at most {AT_ONCE} at a time, and one at the beginning for the size. Parquet is read \
         through fsspec and aiohttp without a cache.",
        DELAY.as_millis()
    ));
    if !missing.is_empty() {
        page.add(format!("Missing over HTTP:\n{missing}"));
    }
    let counted = |name: &str, of: fn(&Served) -> u64, page: &mut Page| {
        #[expect(clippy::cast_precision_loss, reason = "files are far below 2^53 bytes")]
        let figure = |served: &Served| Some(of(served) as f64);
        let contender = |(contender, served): &(Contender, Vec<Served>)| Contender {
            name: contender.name.clone(),
            figures: served.iter().map(figure).collect(),
        };
        let counts: Vec<Contender> = contenders.iter().map(contender).collect();
        page.add(format!("{}:", name[..1].to_uppercase() + &name[1..]));
        page.table(&format!("far {name}"), &grid(questions, &counts, 0));
    };
    let seconds: Vec<Contender> = contenders.iter().map(|(it, _)| it.clone()).collect();
    page.add("Seconds:");
    page.table("far seconds", &grid(questions, &seconds, 4));
    counted("requests", |served| served.requests, page);
    counted("bytes", |served| served.bytes, page);
    let title = format!("Milliseconds over HTTP with {} ms of delay", DELAY.as_millis());
    page.plot(&chart("far", title, questions, &seconds));
}

/// A file on a web server, which is asked for a range by each read.
#[derive(Debug)]
struct HttpSource {
    address: SocketAddr,
    path: String,
    size: u64,
    /// Connections that nobody is waiting on.
    idle: Mutex<Vec<BufReader<TcpStream>>>,
}

impl HttpSource {
    fn open(address: SocketAddr, path: String) -> io::Result<Self> {
        let mut source = Self { address, path, size: 0, idle: Mutex::default() };
        source.size = source.request("HEAD", "", |len, _| Ok(len))?;
        Ok(source)
    }

    /// Makes a request, and hands the length of the answer and what follows to `take`.
    fn request<T>(
        &self,
        method: &str,
        range: &str,
        take: impl FnOnce(u64, &mut BufReader<TcpStream>) -> io::Result<T>,
    ) -> io::Result<T> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut stream = match idle {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(self.address)?;
                stream.set_nodelay(true)?;
                BufReader::new(stream)
            }
        };
        let Self { address, path, .. } = self;
        let request = format!("{method} /{path} HTTP/1.1\r\nHost: {address}\r\n{range}\r\n");
        stream.get_mut().write_all(request.as_bytes())?;
        let len = content_length(&mut stream)?;
        let taken = take(len, &mut stream)?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(stream);
        Ok(taken)
    }
}

/// Reads the head of an answer that is not a failure.
fn content_length(stream: &mut BufReader<TcpStream>) -> io::Result<u64> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    if !line.starts_with("HTTP/1.1 20") {
        return Err(io::Error::other(format!("the server says {}", line.trim())));
    }
    let mut len = None;
    loop {
        line.clear();
        stream.read_line(&mut line)?;
        match line.trim().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                len = value.trim().parse().ok();
            }
            Some(_) => {}
            None => return len.ok_or_else(|| io::ErrorKind::InvalidData.into()),
        }
    }
}

impl ByteSource for HttpSource {
    fn size(&self) -> u64 {
        self.size
    }

    fn concurrent_reads(&self) -> usize {
        AT_ONCE
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        let Some(last) = (len as u64).checked_sub(1) else { return Ok(Bytes::new()) };
        let range = format!("Range: bytes={offset}-{}\r\n", offset.saturating_add(last));
        self.request("GET", &range, |told, stream| {
            if told != len as u64 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let mut bytes = vec![0; len];
            stream.read_exact(&mut bytes)?;
            Ok(bytes.into())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn ranges_come_over_one_connection() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "0123456789").unwrap();
        let server = RangeServer::start(folder.path(), Duration::ZERO).unwrap();
        let source = HttpSource::open(server.address(), "me/file".to_owned()).unwrap();
        assert_eq!(source.size(), 10);
        assert_eq!(source.read(2, 3).unwrap(), "234");
        assert_eq!(source.read(9, 1).unwrap(), "9");
        assert_eq!(source.idle.lock().unwrap().len(), 1);
        assert_eq!(server.served("me"), Served { requests: 3, bytes: 4 });
        assert!(HttpSource::open(server.address(), "me/other".to_owned()).is_err());
    }
}
