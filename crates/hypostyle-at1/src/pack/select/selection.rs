//! Finds the encoder that makes some content smallest.

use std::collections::VecDeque;

use crate::codec::Codec;
use crate::codecs::columnar::group_directory::GROUPS;
use crate::pack::context::EncodeContext;
use crate::pack::row_syntax::{RowSyntax, Service, compared_size};
use crate::pack::sample::{ENCODER_SAMPLE_BYTES, encoder_sample};
use crate::pack::select::encoders::Encoder;
use crate::pack::select::report::{Outcome, Trial};
use crate::pack::stream_set::{Stream, size};
use hypostyle_core::error::Result;
use hypostyle_core::parallel;

/// With rough estimates, shorter content is encoded in full by every encoder.
const MIN_ROUGHLY_SAMPLED_BYTES: usize = 32 << 10;

/// Maximum ratio of the size of a sample to the smallest one for its encoder to encode the
/// content in full.
const MAX_SAMPLE_RATIO: f64 = 1.04;

/// The same for rough samples. For nine logs, each with three or four encoders, a rough
/// sample took 1.11 to 1.25 times the final size.
const MAX_ROUGH_SAMPLE_RATIO: f64 = 1.1;

/// Maximum number of sampled encoders that encode the content in full.
const MAX_FULL_ENCODERS: usize = 2;

/// Maximum bytes of a text for which row groups are worth nothing: its archive must be so much
/// smaller than RAW that the stream of its table finds room.
const MAX_TINY_BYTES: usize = 64 << 10;

/// The structured form of some content.
#[derive(Debug)]
pub(in crate::pack) struct Structured {
    pub(in crate::pack) codec: Codec,
    pub(in crate::pack) streams: Vec<Stream>,
    pub(in crate::pack) service: Service,
}

impl Structured {
    fn compared_size(&self) -> usize {
        compared_size(size(&self.streams), self.service)
    }
}

/// Returns the smallest form that these encoders make of some content, and a report of
/// what was tried.
///
/// A form that serves the table counts as smaller than it is. Several encoders are compared
/// on a sample first, unless the content is short.
pub(in crate::pack) fn best(
    content: &[u8],
    encoders: &[&Encoder],
    context: &EncodeContext<'_>,
) -> Result<(Option<Structured>, Vec<Trial>)> {
    let max_unsampled = if context.rough_search.is_some() {
        MIN_ROUGHLY_SAMPLED_BYTES
    } else {
        ENCODER_SAMPLE_BYTES
    };
    let mut selection = if encoders.len() > 1 && content.len() > max_unsampled {
        Selection::sampled(content, encoders, context)?
    } else {
        Selection::all(encoders)
    };
    let mut best: Option<Structured> = None;
    while let Some(encoder) = selection.next(best.is_some()) {
        let smallest = best.as_ref().map_or(usize::MAX, Structured::compared_size);
        let service = encoder.service(context.table);
        // Only the estimate of the last encoder is final: a later encoder may still make
        // smaller streams than any estimate before it.
        let is_last = selection.chosen.is_empty();
        let report_estimate = |estimate: usize| {
            if is_last {
                (context.report_estimate)(compared_size(estimate, service).min(smallest));
            }
        };
        let context = EncodeContext { report_estimate: &report_estimate, ..*context };
        let streams = (encoder.encode)(content, &context)?;
        let outcome = match &streams {
            None => Outcome::Unfit,
            Some(streams) => Outcome::Made(size(streams) as u64),
        };
        selection.trials.push(encoder.trial(outcome));
        if let Some(streams) = streams {
            // Estimates are those of columns without row groups.
            let has_row_groups = content.len() > MAX_TINY_BYTES
                && encoder.codec == Codec::Columnar
                && streams.iter().any(|stream| stream.name == GROUPS);
            // Row groups of other fields than cells say where the values of objects are.
            let has_values = context.table == Some(RowSyntax::Objects);
            let service = match service {
                Service::Columns if has_row_groups => Service::RowGroups,
                Service::Text if has_row_groups && has_values => Service::RowGroups,
                service => service,
            };
            let form = Structured { codec: encoder.codec, streams, service };
            if form.compared_size() < smallest {
                best = Some(form);
            }
        }
    }
    let rejected = selection.rejected.into_iter();
    selection.trials.extend(rejected.map(|(encoder, outcome)| encoder.trial(outcome)));
    Ok((best, selection.trials))
}

/// The encoders that encode the content in full, in order.
struct Selection<'w> {
    chosen: VecDeque<&'w Encoder>,
    /// Encoders with larger samples. They encode the content if none of the chosen fits.
    rejected: VecDeque<(&'w Encoder, Outcome)>,
    trials: Vec<Trial>,
}

impl<'w> Selection<'w> {
    /// Chooses all encoders.
    fn all(encoders: &[&'w Encoder]) -> Self {
        let chosen = encoders.iter().copied().collect();
        Self { chosen, rejected: VecDeque::new(), trials: Vec::new() }
    }

    /// Chooses the encoders with the smallest samples.
    fn sampled(
        content: &[u8],
        encoders: &[&'w Encoder],
        context: &EncodeContext<'_>,
    ) -> Result<Self> {
        let sample = encoder_sample(content);
        let mut selection = Self::all(&[]);
        // Content that suits an encoder of whole files is rarely anything else.
        let (by_lines, whole): (Vec<&Encoder>, Vec<&Encoder>) =
            encoders.iter().copied().partition(|encoder| encoder.by_lines);
        selection.chosen.extend(whole);
        let (rough_search, table) = (context.rough_search, context.table);
        let search = rough_search.unwrap_or(context.search);
        let mut sampled: Vec<(usize, &Encoder)> = Vec::new();
        parallel::for_each(
            &by_lines,
            context.threads,
            |encoder| {
                let context = EncodeContext {
                    search,
                    rough_search,
                    second_search: None,
                    table,
                    grouping: None,
                    must_serve: false,
                    lines: None,
                    threads: 1,
                    report_estimate: &|_| {},
                };
                Ok((encoder.encode)(&sample, &context)?.map(|streams| size(&streams)))
            },
            |encoder, size| {
                match size {
                    Some(size) => sampled.push((size, *encoder)),
                    None => selection.trials.push(encoder.trial(Outcome::Unfit)),
                }
                Ok(())
            },
        )?;
        let compared =
            |&(size, encoder): &(usize, &Encoder)| compared_size(size, encoder.service(table));
        sampled.sort_by_key(compared);
        let smallest = sampled.first().map_or(0, compared);
        let max_ratio =
            if rough_search.is_some() { MAX_ROUGH_SAMPLE_RATIO } else { MAX_SAMPLE_RATIO };
        for (place, (size, encoder)) in sampled.into_iter().enumerate() {
            let is_near = compared(&(size, encoder)) as f64 <= smallest as f64 * max_ratio;
            if place < MAX_FULL_ENCODERS && is_near {
                selection.chosen.push_back(encoder);
            } else {
                let (bytes, stored) = (sample.len() as u64, size as u64);
                selection.rejected.push_back((encoder, Outcome::Sampled { bytes, stored }));
            }
        }
        Ok(selection)
    }

    /// Returns the next encoder to encode the content in full; `fits` says whether any
    /// encoder before it made streams.
    fn next(&mut self, fits: bool) -> Option<&'w Encoder> {
        match self.chosen.pop_front() {
            None if !fits => self.rejected.pop_front().map(|(encoder, _)| encoder),
            chosen => chosen,
        }
    }
}
