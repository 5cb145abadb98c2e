//! The encoders to give content structure, and which of them is best for some content.
//!
//! Each way first looks whether content is what it is made for, which is quick. Those
//! that remain are tried on a sample, roughly unless a high level was asked for; the best
//! ones are made in full. The smallest wins, and RAW is always among them: a wrong guess
//! may cost some of what could be gained over it, and never more.

pub(in crate::pack) mod raw;
pub(in crate::pack) mod report;

use std::collections::VecDeque;

use crate::codec::Codec;
use crate::pack::context::EncodeContext;
use crate::pack::json::jsondoc;
use crate::pack::json::lines as json;
use crate::pack::logs::log;
use crate::pack::logs::log_records as records;
use crate::pack::logs::ssh;
use crate::pack::sample::{SAMPLE, sample};
use crate::pack::science::dicom;
use crate::pack::science::embed;
use crate::pack::science::osm;
use crate::pack::science::vcf;
use crate::pack::science::vcf_columnar as calls;
use crate::pack::select::report::{Outcome, Trial};
use crate::pack::stream_set::{Stream, size};
use crate::pack::tables::columnar;
use hypostyle_core::error::Result;
use hypostyle_core::parallel;

/// Makes streams of content; `None` if it does not fit at all.
type EncodeFn = fn(&[u8], &EncodeContext<'_>) -> Result<Option<Vec<Stream>>>;

/// One way to give content structure.
#[derive(Debug)]
pub(in crate::pack) struct Encoder {
    pub(in crate::pack) codec: Codec,
    /// The form, if the codec has several for different content.
    form: &'static str,
    /// Whether content looks like what the way is made for.
    pub(in crate::pack) suits: fn(&[u8]) -> bool,
    pub(in crate::pack) streams: EncodeFn,
    /// Whether some lines of the content tell what all of it will take.
    pub(in crate::pack) by_lines: bool,
}

impl Encoder {
    const fn by_lines(
        codec: Codec,
        form: &'static str,
        suits: fn(&[u8]) -> bool,
        streams: EncodeFn,
    ) -> Self {
        Self { codec, form, suits, streams, by_lines: true }
    }

    const fn whole(
        codec: Codec,
        form: &'static str,
        suits: fn(&[u8]) -> bool,
        streams: EncodeFn,
    ) -> Self {
        Self { codec, form, suits, streams, by_lines: false }
    }

    pub(in crate::pack) fn trial(&self, outcome: Outcome) -> Trial {
        Trial { codec: self.codec, form: self.form, outcome }
    }
}

/// Every way but RAW and those for queries. Of two that take the same the first wins.
pub(in crate::pack) const ALL: &[Encoder] = &[
    Encoder::by_lines(Codec::Columnar, "", |_| true, columnar::streams),
    Encoder::by_lines(Codec::Log, "", log::suits, log::streams),
    Encoder::by_lines(Codec::Ssh, "", ssh::suits, ssh::streams),
    Encoder::by_lines(Codec::JsonDoc, "records", log::suits, records::streams),
    Encoder::whole(Codec::Dicom, "", dicom::suits, dicom::streams),
    Encoder::whole(Codec::Embed, "", embed::suits, embed::streams),
    Encoder::by_lines(Codec::Json, "", json::suits, json::streams),
    Encoder::whole(Codec::JsonDoc, "document", jsondoc::suits, jsondoc::streams),
    Encoder::by_lines(Codec::Vcf, "", vcf::suits, vcf::streams),
    // A sample of lines has too few sites to tell.
    Encoder::whole(Codec::Columnar, "calls", vcf::suits, calls::streams),
    Encoder::by_lines(Codec::Osm, "", osm::suits, osm::streams),
];

/// Less content is made in every way at once.
const LITTLE: usize = 32 << 10;

/// How much larger than the best a sample may be for its way to be made in full.
const CLOSE: f64 = 1.04;

/// The same for samples that were made roughly: of nine logs, each in three encoders or four,
/// these took 1.11 to 1.25 times what they take in the end.
const CLOSE_ROUGHLY: f64 = 1.1;

/// Ways that are made in full, at most.
const FINALS: usize = 2;

/// Streams, and the codec that they are for.
pub(in crate::pack) type Structured = (Codec, Vec<Stream>);

/// The smallest streams of content that these encoders make, and what was tried.
///
/// With more than one way there is a selection on a sample before.
pub(in crate::pack) fn best(
    content: &[u8],
    encoders: &[&Encoder],
    job: &EncodeContext<'_>,
) -> Result<(Option<Structured>, Vec<Trial>)> {
    let worth = if job.rough.is_some() { LITTLE } else { SAMPLE };
    let mut selection = match encoders.len() > 1 && content.len() > worth {
        true => Selection::sampled(content, encoders, job)?,
        false => Selection::new(encoders),
    };
    let mut best: Option<Structured> = None;
    while let Some(encoder) = selection.next(best.is_some()) {
        // One that is yet to come may be smaller than any guess before it.
        let least = best.as_ref().map_or(usize::MAX, |(_, streams)| size(streams));
        let last = selection.finals.is_empty();
        let guess = |size: usize| {
            if last {
                (job.guess)(size.min(least))
            }
        };
        let made = (encoder.streams)(content, &EncodeContext { guess: &guess, ..*job })?;
        let outcome = match &made {
            None => Outcome::Unfit,
            Some(streams) => Outcome::Made(size(streams) as u64),
        };
        selection.trials.push(encoder.trial(outcome));
        if let Some(streams) = made
            && best.as_ref().is_none_or(|(_, least)| size(&streams) < size(least))
        {
            best = Some((encoder.codec, streams));
        }
    }
    let lost = selection.others.into_iter().map(|(encoder, outcome)| encoder.trial(outcome));
    selection.trials.extend(lost);
    Ok((best, selection.trials))
}

/// Ways in the order in which they are made in full.
struct Selection<'w> {
    /// Those that are made in any case.
    finals: VecDeque<&'w Encoder>,
    /// Those that are made if none of these fits, and what came of their samples.
    others: VecDeque<(&'w Encoder, Outcome)>,
    trials: Vec<Trial>,
}

impl<'w> Selection<'w> {
    /// All encoders are made.
    fn new(encoders: &[&'w Encoder]) -> Self {
        let finals = encoders.iter().copied().collect();
        Self { finals, others: VecDeque::new(), trials: Vec::new() }
    }

    /// The encoders whose samples are smallest are made.
    fn sampled(content: &[u8], encoders: &[&'w Encoder], job: &EncodeContext<'_>) -> Result<Self> {
        let sample = sample(content);
        let mut selection = Self::new(&[]);
        let mut judged: Vec<(usize, &Encoder)> = Vec::new();
        // It is rare that content of a kind that is not in lines is of any other kind.
        selection.finals.extend(encoders.iter().filter(|encoder| !encoder.by_lines));
        let encoders: Vec<&Encoder> =
            encoders.iter().copied().filter(|encoder| encoder.by_lines).collect();
        let (search, rough, threads) = (job.rough.unwrap_or(job.search), job.rough, job.threads);
        let work = |at: usize| {
            let Some(encoder) = encoders.get(at) else { return Ok(None) };
            let quiet = EncodeContext { search, rough, other: None, threads: 1, guess: &|_| {} };
            Ok((encoder.streams)(&sample, &quiet)?.map(|streams| size(&streams)))
        };
        parallel::in_order(encoders.len(), threads, work, |at, size| {
            match (encoders.get(at), size) {
                (Some(encoder), Some(size)) => judged.push((size, encoder)),
                (Some(encoder), None) => selection.trials.push(encoder.trial(Outcome::Unfit)),
                (None, _) => {}
            }
            Ok(())
        })?;
        judged.sort_by_key(|&(size, _)| size);
        let least = judged.first().map_or(0, |&(size, _)| size);
        let close = if job.rough.is_some() { CLOSE_ROUGHLY } else { CLOSE };
        for (place, (size, encoder)) in judged.into_iter().enumerate() {
            if place < FINALS && size as f64 <= least as f64 * close {
                selection.finals.push_back(encoder);
            } else {
                let (bytes, stored) = (sample.len() as u64, size as u64);
                selection.others.push_back((encoder, Outcome::Sampled { bytes, stored }));
            }
        }
        Ok(selection)
    }

    /// The next way to be made; `fits` says whether one did.
    fn next(&mut self, fits: bool) -> Option<&'w Encoder> {
        match self.finals.pop_front() {
            None if !fits => self.others.pop_front().map(|(encoder, _)| encoder),
            way => way,
        }
    }
}
