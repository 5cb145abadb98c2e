//! A file of which a caller supplies the bytes, and the jobs on it.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use hypostyle::{ByteSource, Error, RangeCache, Result};
use serde_json::{Value, json};

use crate::file::OpenFile;
use crate::job::{BoxedJob, Progress, or_missing};
use crate::requests;
use crate::search;

/// What a read costs besides its bytes: less than the default for remote files, because a page
/// shows its first rows with two or three reads, and people may pay for bytes.
const READ_COST: u64 = 128 << 10;

/// A file whose bytes come from the caller.
pub struct Session {
    name: String,
    source: Arc<RangeCache>,
    file: Option<Arc<OpenFile>>,
    jobs: BTreeMap<u32, Work>,
    next_id: u32,
}

struct Work {
    request: Value,
    job: Option<BoxedJob>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Session {
    /// Returns a session on a file of this name and size.
    pub fn new(name: &str, size: u64) -> Self {
        let source = Arc::new(RangeCache::of_size(size).with_read_cost(READ_COST));
        Self { name: name.to_owned(), source, file: None, jobs: BTreeMap::new(), next_id: 0 }
    }

    /// Adds bytes of the file.
    pub fn supply(&self, range: Range<u64>, bytes: Bytes) {
        self.source.supply([(range, bytes)]);
    }

    /// Starts a job and returns its number; the crate documentation lists the requests, which are
    /// JSON. A request that is not valid fails at its first step.
    pub fn start(&mut self, request: &str) -> u32 {
        let id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1);
        let request = serde_json::from_str(request).unwrap_or_default();
        self.jobs.insert(id, Work { request, job: None });
        id
    }

    /// Goes on with a job. Returns JSON: `{"missing": [[start, end], …]}`, `{"part": …}`,
    /// `{"done": …}` or `{"error": {"message": …, "place": [start, length]}}`.
    pub fn step(&mut self, id: u32) -> String {
        let Some(mut work) = self.jobs.remove(&id) else {
            return json!({ "error": { "message": "there is no such job" } }).to_string();
        };
        let answer = match self.advance(&mut work) {
            Ok(Progress::Missing(ranges)) => {
                let ranges: Vec<[u64; 2]> = ranges.iter().map(|it| [it.start, it.end]).collect();
                json!({ "missing": ranges })
            }
            Ok(Progress::Part(part)) => json!({ "part": part }),
            Ok(Progress::Done(done)) => json!({ "done": done }),
            Err(err) => {
                let text = work.request.get("predicate").and_then(Value::as_str);
                let place = text.and_then(|text| search::place(text, &err));
                json!({ "error": { "message": err.to_string(), "place": place } })
            }
        };
        self.jobs.insert(id, work);
        answer.to_string()
    }

    fn advance(&mut self, work: &mut Work) -> Result<Progress> {
        let made = match work.job.take() {
            Some(job) => Ok(job),
            None => self.file().and_then(|file| requests::job(&file, &work.request)),
        };
        match made {
            Ok(job) => work.job.insert(job).step(),
            Err(err) => or_missing(Err(err)),
        }
    }

    fn file(&mut self) -> Result<Arc<OpenFile>, Error> {
        if let Some(file) = &self.file {
            return Ok(file.clone());
        }
        let file = Arc::new(OpenFile::open(&self.source, &self.name)?);
        Ok(self.file.insert(file).clone())
    }

    /// Takes the bytes that a job has written since the last call.
    pub fn take_bytes(&mut self, id: u32) -> Vec<u8> {
        let job = self.jobs.get_mut(&id).and_then(|work| work.job.as_mut());
        job.map(|job| job.take_bytes()).unwrap_or_default()
    }

    /// Forgets a job.
    pub fn end(&mut self, id: u32) {
        self.jobs.remove(&id);
    }
}

/// Requests about files that can be read at once.
impl Session {
    /// Runs a request on a file that is opened for it. Returns the answers of its steps, missing
    /// ranges left out, and the bytes that the job has written.
    pub fn run(name: &str, file: &dyn ByteSource, request: &str) -> (Vec<String>, Vec<u8>) {
        Self::new(name, file.size()).run_on(file, request)
    }

    /// Runs a request as [`Session::run`] does, and supplies what is missing from `file`.
    pub fn run_on(&mut self, file: &dyn ByteSource, request: &str) -> (Vec<String>, Vec<u8>) {
        let id = self.start(request);
        let (mut answers, mut written) = (Vec::new(), Vec::new());
        loop {
            let answer = self.step(id);
            let parsed: Value = serde_json::from_str(&answer).unwrap_or_default();
            written.append(&mut self.take_bytes(id));
            let goes_on = match parsed.get("missing").and_then(Value::as_array) {
                Some(ranges) => match self.supply_from(file, ranges) {
                    Ok(()) => continue,
                    Err(err) => {
                        answers
                            .push(json!({ "error": { "message": err.to_string() } }).to_string());
                        false
                    }
                },
                None => {
                    answers.push(answer);
                    parsed.get("part").is_some()
                }
            };
            if !goes_on {
                self.end(id);
                return (answers, written);
            }
        }
    }

    fn supply_from(&self, file: &dyn ByteSource, ranges: &[Value]) -> std::io::Result<()> {
        for range in ranges {
            let end = |at| range.get(at).and_then(Value::as_u64).unwrap_or(0);
            let (start, end) = (end(0), end(1));
            let len = usize::try_from(end.saturating_sub(start));
            let len = len.map_err(|_| std::io::ErrorKind::OutOfMemory)?;
            self.supply(start..end, file.read(start, len)?);
        }
        Ok(())
    }
}
