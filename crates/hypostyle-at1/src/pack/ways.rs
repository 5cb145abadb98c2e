//! The ways to give content structure, and which of them is best for some content.
//!
//! Each way first looks whether content is what it is made for, which is quick. Those
//! that remain are tried on a sample, roughly unless a high level was asked for; the best
//! ones are made in full. The smallest wins, and RAW is always among them: a wrong guess
//! may cost some of what could be gained over it, and never more.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::container::{Stream, size};
use super::effort::Search;
use super::explain::{Outcome, Trial};
use super::{calls, columnar, dicom, embed, json, jsondoc, log, osm, records, ssh, vcf};
use crate::codecs::Codec;
use hypostyle_core::error::Result;
use hypostyle_core::parallel;

/// Makes streams of content; `None` if it does not fit at all.
type Encoder = fn(&[u8], &Job<'_>) -> Result<Option<Vec<Stream>>>;

/// One way to give content structure.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) codec: Codec,
    /// The form, if the codec has several for different content.
    form: &'static str,
    /// Whether content looks like what the way is made for.
    pub(super) suits: fn(&[u8]) -> bool,
    pub(super) streams: Encoder,
    /// Whether some lines of the content tell what all of it will take.
    pub(super) by_lines: bool,
}

impl Way {
    const fn by_lines(
        codec: Codec,
        form: &'static str,
        suits: fn(&[u8]) -> bool,
        streams: Encoder,
    ) -> Self {
        Self { codec, form, suits, streams, by_lines: true }
    }

    const fn whole(
        codec: Codec,
        form: &'static str,
        suits: fn(&[u8]) -> bool,
        streams: Encoder,
    ) -> Self {
        Self { codec, form, suits, streams, by_lines: false }
    }

    pub(super) fn trial(&self, outcome: Outcome) -> Trial {
        Trial { codec: self.codec, form: self.form, outcome }
    }
}

/// Every way but RAW and those for queries. Of two that take the same the first wins.
pub(super) const ALL: &[Way] = &[
    Way::by_lines(Codec::Columnar, "", |_| true, columnar::streams),
    Way::by_lines(Codec::Log, "", log::suits, log::streams),
    Way::by_lines(Codec::Ssh, "", ssh::suits, ssh::streams),
    Way::by_lines(Codec::JsonDoc, "records", log::suits, records::streams),
    Way::whole(Codec::Dicom, "", dicom::suits, dicom::streams),
    Way::whole(Codec::Embed, "", embed::suits, embed::streams),
    Way::by_lines(Codec::Json, "", json::suits, json::streams),
    Way::whole(Codec::JsonDoc, "document", jsondoc::suits, jsondoc::streams),
    Way::by_lines(Codec::Vcf, "", vcf::suits, vcf::streams),
    // A sample of lines has too few sites to tell.
    Way::whole(Codec::Columnar, "calls", vcf::suits, calls::streams),
    Way::by_lines(Codec::Osm, "", osm::suits, osm::streams),
];

/// What a way works with.
pub(super) struct Job<'a> {
    /// How hard to search.
    pub(super) search: &'a Search,
    /// A search that tells roughly what a way takes; if there is none, those of little
    /// content are all made.
    pub(super) rough: Option<&'a Search>,
    /// Another search: one that looks farther may end up in a worse place.
    pub(super) other: Option<&'a Search>,
    pub(super) threads: usize,
    /// Hears what the streams will take, roughly, before they are made.
    pub(super) guess: &'a dyn Fn(usize),
}

/// Bytes that ways are judged by; shorter content is not sampled.
const SAMPLE: usize = 1 << 20;

/// Less content is made in every way at once.
const LITTLE: usize = 32 << 10;

/// Runs of whole lines that a sample has.
const RUNS: usize = 4;

/// How much larger than the best a sample may be for its way to be made in full.
const CLOSE: f64 = 1.04;

/// The same for samples that were made roughly: of nine logs, each in three ways or four,
/// these took 1.11 to 1.25 times what they take in the end.
const CLOSE_ROUGHLY: f64 = 1.1;

/// Ways that are made in full, at most.
const FINALS: usize = 2;

/// Streams, and the codec that they are for.
pub(super) type Structured = (Codec, Vec<Stream>);

/// The smallest streams of content that these ways make, and what was tried.
///
/// With more than one way there is a contest on a sample before.
pub(super) fn best(
    content: &[u8],
    ways: &[&Way],
    job: &Job<'_>,
) -> Result<(Option<Structured>, Vec<Trial>)> {
    let worth = if job.rough.is_some() { LITTLE } else { SAMPLE };
    let mut contest = match ways.len() > 1 && content.len() > worth {
        true => Contest::sampled(content, ways, job)?,
        false => Contest::new(ways),
    };
    let mut best: Option<Structured> = None;
    while let Some(way) = contest.next(best.is_some()) {
        // One that is yet to come may be smaller than any guess before it.
        let least = best.as_ref().map_or(usize::MAX, |(_, streams)| size(streams));
        let last = contest.finals.is_empty();
        let guess = |size: usize| {
            if last {
                (job.guess)(size.min(least))
            }
        };
        let made = (way.streams)(content, &Job { guess: &guess, ..*job })?;
        let outcome = match &made {
            None => Outcome::Unfit,
            Some(streams) => Outcome::Made(size(streams) as u64),
        };
        contest.trials.push(way.trial(outcome));
        if let Some(streams) = made
            && best.as_ref().is_none_or(|(_, least)| size(&streams) < size(least))
        {
            best = Some((way.codec, streams));
        }
    }
    let lost = contest.others.into_iter().map(|(way, outcome)| way.trial(outcome));
    contest.trials.extend(lost);
    Ok((best, contest.trials))
}

/// Ways in the order in which they are made in full.
struct Contest<'w> {
    /// Those that are made in any case.
    finals: VecDeque<&'w Way>,
    /// Those that are made if none of these fits, and what came of their samples.
    others: VecDeque<(&'w Way, Outcome)>,
    trials: Vec<Trial>,
}

impl<'w> Contest<'w> {
    /// All ways are made.
    fn new(ways: &[&'w Way]) -> Self {
        let finals = ways.iter().copied().collect();
        Self { finals, others: VecDeque::new(), trials: Vec::new() }
    }

    /// The ways whose samples are smallest are made.
    fn sampled(content: &[u8], ways: &[&'w Way], job: &Job<'_>) -> Result<Self> {
        let sample = sample(content);
        let mut contest = Self::new(&[]);
        let mut judged: Vec<(usize, &Way)> = Vec::new();
        // It is rare that content of a kind that is not in lines is of any other kind.
        contest.finals.extend(ways.iter().filter(|way| !way.by_lines));
        let ways: Vec<&Way> = ways.iter().copied().filter(|way| way.by_lines).collect();
        let (search, rough, threads) = (job.rough.unwrap_or(job.search), job.rough, job.threads);
        let work = |at: usize| {
            let Some(way) = ways.get(at) else { return Ok(None) };
            let quiet = Job { search, rough, other: None, threads: 1, guess: &|_| {} };
            Ok((way.streams)(&sample, &quiet)?.map(|streams| size(&streams)))
        };
        parallel::in_order(ways.len(), threads, work, |at, size| {
            match (ways.get(at), size) {
                (Some(way), Some(size)) => judged.push((size, way)),
                (Some(way), None) => contest.trials.push(way.trial(Outcome::Unfit)),
                (None, _) => {}
            }
            Ok(())
        })?;
        judged.sort_by_key(|&(size, _)| size);
        let least = judged.first().map_or(0, |&(size, _)| size);
        let close = if job.rough.is_some() { CLOSE_ROUGHLY } else { CLOSE };
        for (place, (size, way)) in judged.into_iter().enumerate() {
            if place < FINALS && size as f64 <= least as f64 * close {
                contest.finals.push_back(way);
            } else {
                let (bytes, stored) = (sample.len() as u64, size as u64);
                contest.others.push_back((way, Outcome::Sampled { bytes, stored }));
            }
        }
        Ok(contest)
    }

    /// The next way to be made; `fits` says whether one did.
    fn next(&mut self, fits: bool) -> Option<&'w Way> {
        match self.finals.pop_front() {
            None if !fits => self.others.pop_front().map(|(way, _)| way),
            way => way,
        }
    }
}

/// Some runs of whole lines from all over content, or all of it if it is short.
pub(super) fn sample(content: &[u8]) -> Cow<'_, [u8]> {
    if content.len() <= SAMPLE {
        return content.into();
    }
    let run = SAMPLE / RUNS;
    let step = content.len().saturating_sub(run) / (RUNS - 1);
    let mut out = Vec::with_capacity(SAMPLE);
    let mut end = 0;
    for at in 0..RUNS {
        let start = (at * step).max(end);
        let rest = content.get(start..).unwrap_or_default();
        let skip = match start {
            0 => 0,
            _ => memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1),
        };
        let rest = rest.get(skip..).unwrap_or_default();
        let part = rest.get(..run).unwrap_or(rest);
        let len = memchr::memrchr(b'\n', part).map_or(part.len(), |at| at + 1);
        out.extend_from_slice(part.get(..len).unwrap_or_default());
        end = start + skip + len;
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_whole_lines() {
        let line = |i: usize| format!("{i:07} and some more text\n");
        let text: String = (0..100_000).map(line).collect();
        let sample = String::from_utf8(sample(text.as_bytes()).into_owned()).unwrap();
        assert!(sample.len() > SAMPLE * 9 / 10 && sample.len() <= SAMPLE);
        assert!(sample.lines().all(|line| line.len() == 26));
        assert!(sample.starts_with(&line(0)) && sample.ends_with(&line(99_999)));
        let numbers: Vec<&str> = sample.lines().map(|line| &line[..7]).collect();
        assert!(numbers.is_sorted_by(|one, other| one < other));
    }
}
