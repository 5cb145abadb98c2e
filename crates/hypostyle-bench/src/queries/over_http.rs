//! Queries over HTTP, from a server on this machine that delays every response.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use hypostyle::ByteSource;

use super::bench_query::{BenchQuery, QueriedTable, run_query};
use super::engines;
use super::server::{RangeServer, Served};
use super::{OURS, QueryTimes, chart, grid, timed};
use crate::Result;
use crate::page::ReportPage;
use crate::setup::Setup;
use crate::table::Target;

/// The delay of every response, about that of an object store.
const DELAY: Duration = Duration::from_millis(20);
const ROUNDS: usize = 3;
/// The bytes at either end of a file that are requested when it is opened: archives keep their
/// metadata there.
const END_BYTES: u64 = 64 << 10;
/// The rival of the targets.
const PARQUET: &str = "Parquet, pyarrow";
/// The maximum number of our concurrent requests.
const MAX_REQUESTS: usize = 16;

/// Runs the queries on ours and on the rivals over HTTP.
pub(super) fn run(
    table: &QueriedTable,
    queries: &[BenchQuery],
    rows: &[u64],
    setup: &Setup,
    page: &mut ReportPage,
) -> Result<()> {
    let folder = table.archive.parent().unwrap_or(Path::new("."));
    let server = RangeServer::start(folder, DELAY)?;
    let rounds = setup.rounds(ROUNDS);
    let file = table.archive.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (mut seconds, mut served) = (Vec::new(), Vec::new());
    for (index, bench_query) in queries.iter().enumerate() {
        let (query, mut round) = (bench_query.query()?, 0);
        let (best, answer) = timed(rounds, || {
            let path = format!("ours-{index}-{round}/{file}");
            round += 1;
            let source = Arc::new(HttpSource::open(server.address(), path)?);
            run_query(source, &table.name, &query, None)
        })?;
        if Some(&answer.stats.rows_returned) != rows.get(index) {
            return Err(format!("{}: another row count over HTTP", bench_query.name).into());
        }
        seconds.push(Some(best));
        served.push(server.served(&format!("ours-{index}-0")));
    }
    let mut times = vec![(QueryTimes { name: OURS.to_owned(), figures: seconds }, served)];
    let url = format!("http://{}", server.address());
    let mut missing = String::new();
    for rival in &engines::ALL {
        eprintln!("{} over HTTP", rival.name);
        match rival.run(table, queries, rows, Some(&url), setup, rounds)? {
            Ok(results) => {
                let figures = results.answers.iter().map(|(seconds, _)| Some(*seconds)).collect();
                let label = |index| server.served(&format!("{}-{index}-0", rival.key));
                let served = (0..queries.len()).map(label).collect();
                times.push((QueryTimes { name: rival.name.to_owned(), figures }, served));
            }
            // Writing to a string cannot fail.
            Err(why) => drop(write!(missing, "\n- {}: {why}", rival.name)),
        }
    }
    report(queries, &times, &missing, rounds, page);
    if table.queries.has_targets {
        compare_with_parquet(&times, page);
    }
    Ok(())
}

/// Compares the requests and the time of ours with those of Parquet.
fn compare_with_parquet(times: &[(QueryTimes, Vec<Served>)], page: &mut ReportPage) {
    let (Some(ours), Some(parquet)) = (times.first(), times.iter().find(|it| it.0.name == PARQUET))
    else {
        return;
    };
    #[expect(clippy::cast_precision_loss, reason = "requests are few")]
    let more = |(ours, theirs): (&Served, &Served)| ours.requests as f64 - theirs.requests as f64;
    let requests = ours.1.iter().zip(&parquet.1).map(more).reduce(f64::max);
    let target = Target::AtMost(2.0);
    page.target("HTTP requests more than Parquet by pyarrow, worst query", requests, target);
    let ratio = |(ours, theirs): (&Option<f64>, &Option<f64>)| Some((*ours)? / (*theirs)?);
    let seconds = ours.0.figures.iter().zip(&parquet.0.figures).filter_map(ratio);
    let (seconds, target) = (seconds.reduce(f64::max), Target::AtMost(1.2));
    page.target("HTTP seconds / Parquet by pyarrow, worst query", seconds, target);
}

fn report(
    queries: &[BenchQuery],
    times: &[(QueryTimes, Vec<Served>)],
    missing: &str,
    rounds: usize,
    page: &mut ReportPage,
) {
    page.heading("Over HTTP");
    page.add(format!(
        "A server on this machine serves ranges of the files. It delays every response by {} ms and \
         does not limit the bandwidth. It counts the requests and the bytes of bodies; seconds are \
         the best of {rounds} rounds. Ours requests the first and the last {} KiB, which also \
         say the size, and makes one request for each further read of its byte source, at most \
         {MAX_REQUESTS} concurrently. pyarrow reads Parquet through \
         fsspec and aiohttp without a cache.",
        DELAY.as_millis(),
        END_BYTES >> 10
    ));
    if !missing.is_empty() {
        page.add(format!("Not available over HTTP:\n{missing}"));
    }
    let counted = |name: &str, of: fn(&Served) -> u64, page: &mut ReportPage| {
        #[expect(clippy::cast_precision_loss, reason = "files are far below 2^53 bytes")]
        let figure = |served: &Served| Some(of(served) as f64);
        let engine = |(engine, served): &(QueryTimes, Vec<Served>)| QueryTimes {
            name: engine.name.clone(),
            figures: served.iter().map(figure).collect(),
        };
        let counts: Vec<QueryTimes> = times.iter().map(engine).collect();
        page.add(format!("{}:", name[..1].to_uppercase() + &name[1..]));
        page.table(&format!("HTTP {name}"), &grid(queries, &counts, 0));
    };
    let seconds: Vec<QueryTimes> = times.iter().map(|(it, _)| it.clone()).collect();
    page.add("Seconds:");
    page.table("HTTP seconds", &grid(queries, &seconds, 4));
    counted("requests", |served| served.requests, page);
    counted("bytes", |served| served.bytes, page);
    let title = format!("Milliseconds over HTTP with a delay of {} ms", DELAY.as_millis());
    page.plot(&chart("http", title, queries, &seconds));
}

/// A file on a web server; each read is a range request, except of the first and the last bytes,
/// which are requested together when the source is opened.
#[derive(Debug)]
struct HttpSource {
    server: HttpClient,
    size: u64,
    /// The first and the last bytes, with their offsets.
    ends: [(u64, Bytes); 2],
}

/// Sends range requests for one path.
#[derive(Debug)]
struct HttpClient {
    address: SocketAddr,
    path: String,
    /// Idle connections.
    idle: Mutex<Vec<BufReader<TcpStream>>>,
}

/// What the headers of a response say.
#[derive(Debug, Default)]
struct ResponseHeaders {
    content_length: Option<u64>,
    /// The size of the whole file.
    size: Option<u64>,
}

impl HttpSource {
    fn open(address: SocketAddr, path: String) -> io::Result<Self> {
        let server = HttpClient { address, path, idle: Mutex::default() };
        let (head, tail) = thread::scope(|scope| {
            let tail = scope.spawn(|| server.get(&format!("-{END_BYTES}")));
            let head = server.get(&format!("0-{}", END_BYTES - 1));
            let panicked = || Err(io::Error::other("a request panicked"));
            (head, tail.join().unwrap_or_else(|_| panicked()))
        });
        let ((size, head), (_, tail)) = (head?, tail?);
        let ends = [(0, head), (size.saturating_sub(tail.len() as u64), tail)];
        Ok(Self { server, size, ends })
    }
}

impl HttpClient {
    /// Requests a range. Returns the size of the file and the bytes.
    fn get(&self, range: &str) -> io::Result<(u64, Bytes)> {
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
        let request =
            format!("GET /{path} HTTP/1.1\r\nHost: {address}\r\nRange: bytes={range}\r\n\r\n");
        stream.get_mut().write_all(request.as_bytes())?;
        let headers = ResponseHeaders::read(&mut stream)?;
        let (Some(len), Some(size)) = (headers.content_length, headers.size) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let mut bytes = vec![0; usize::try_from(len).map_err(io::Error::other)?];
        stream.read_exact(&mut bytes)?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(stream);
        Ok((size, bytes.into()))
    }
}

impl ResponseHeaders {
    /// Reads the headers of a successful response.
    fn read(stream: &mut BufReader<TcpStream>) -> io::Result<Self> {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        if !line.starts_with("HTTP/1.1 206") {
            return Err(io::Error::other(format!("the server returned `{}`", line.trim())));
        }
        let mut headers = Self::default();
        loop {
            line.clear();
            stream.read_line(&mut line)?;
            let Some((name, value)) = line.trim().split_once(':') else { return Ok(headers) };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => headers.content_length = value.trim().parse().ok(),
                "content-range" => {
                    let size = value.rsplit('/').next();
                    headers.size = size.and_then(|size| size.trim().parse().ok());
                }
                _ => {}
            }
        }
    }
}

impl ByteSource for HttpSource {
    fn size(&self) -> u64 {
        self.size
    }

    fn concurrent_reads(&self) -> usize {
        MAX_REQUESTS
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        let Some(last) = (len as u64).checked_sub(1) else { return Ok(Bytes::new()) };
        for (start, bytes) in &self.ends {
            let from = offset.checked_sub(*start).and_then(|from| usize::try_from(from).ok());
            if let Some(from) = from
                && from.checked_add(len).is_some_and(|to| to <= bytes.len())
            {
                return Ok(bytes.slice(from..from + len));
            }
        }
        let (_, bytes) = self.server.get(&format!("{offset}-{}", offset.saturating_add(last)))?;
        match bytes.len() == len {
            true => Ok(bytes),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn ranges_use_one_connection() {
        let folder = tempfile::tempdir().unwrap();
        let content: Vec<u8> = (0..=u8::MAX).cycle().take(200_000).collect();
        fs::write(folder.path().join("file"), &content).unwrap();
        let server = RangeServer::start(folder.path(), Duration::ZERO).unwrap();
        let source = HttpSource::open(server.address(), "me/file".to_owned()).unwrap();
        assert_eq!(source.size(), 200_000);
        assert_eq!(source.read(2, 3).unwrap(), content[2..5]);
        assert_eq!(source.read(199_999, 1).unwrap(), content[199_999..]);
        assert_eq!(server.served("me"), Served { requests: 2, bytes: 2 * END_BYTES });
        assert_eq!(source.read(90_000, 7).unwrap(), content[90_000..90_007]);
        assert_eq!(source.read(1, 70_000).unwrap(), content[1..70_001]);
        assert_eq!(source.server.idle.lock().unwrap().len(), 2);
        assert_eq!(server.served("me").requests, 4);
        assert!(HttpSource::open(server.address(), "me/other".to_owned()).is_err());
    }
}
