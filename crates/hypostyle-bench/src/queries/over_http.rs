//! Queries over HTTP, from a server on this machine that delays every response.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
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
         the best of {rounds} rounds. Ours makes one request for each read of its byte source, at \
         most {MAX_REQUESTS} concurrently, and one for the size. pyarrow reads Parquet through \
         fsspec and aiohttp without a cache.",
        DELAY.as_millis()
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

/// A file on a web server; each read is a range request.
#[derive(Debug)]
struct HttpSource {
    address: SocketAddr,
    path: String,
    size: u64,
    /// Idle connections.
    idle: Mutex<Vec<BufReader<TcpStream>>>,
}

impl HttpSource {
    fn open(address: SocketAddr, path: String) -> io::Result<Self> {
        let mut source = Self { address, path, size: 0, idle: Mutex::default() };
        source.size = source.request("HEAD", "", |len, _| Ok(len))?;
        Ok(source)
    }

    /// Sends a request, and calls `take` with the content length and the stream of the body.
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

/// Reads the headers of a successful response. Returns the content length.
fn content_length(stream: &mut BufReader<TcpStream>) -> io::Result<u64> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    if !line.starts_with("HTTP/1.1 20") {
        return Err(io::Error::other(format!("the server returned `{}`", line.trim())));
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
        MAX_REQUESTS
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        let Some(last) = (len as u64).checked_sub(1) else { return Ok(Bytes::new()) };
        let range = format!("Range: bytes={offset}-{}\r\n", offset.saturating_add(last));
        self.request("GET", &range, |content_length, stream| {
            if content_length != len as u64 {
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
    fn ranges_use_one_connection() {
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
