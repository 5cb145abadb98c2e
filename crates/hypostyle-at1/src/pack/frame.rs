//! One part of an archive: which form it gets.

use std::sync::mpsc::{self, Sender};

use crate::codec::Codec;
use crate::pack::context::EncodeContext;
use crate::pack::groups::qcolumnar;
use crate::pack::groups::qcolumnar::Cut;
use crate::pack::groups::qjson;
use crate::pack::lines::text_start;
use crate::pack::options::{Choice, Layout, PackOptions};
use crate::pack::search::SearchParams;
use crate::pack::select::raw;
use crate::pack::select::raw::{Rival, Size};
use crate::pack::select::report::{Outcome, Trial};
use crate::pack::select::{self, Encoder, Structured};
use crate::pack::stream_set::{Body, Stream, put_set};
use hypostyle_core::compress::zstd;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::options::resolve_threads;
use hypostyle_core::parallel;

/// Bytes of text that are looked at as one: offsets in them have 32 bits.
const LARGEST: usize = u32::MAX as usize - 1;

/// The one part of an archive, or one of many.
#[derive(Debug)]
pub(super) enum EncodedFrame {
    Structured(Codec, Vec<Stream>),
    Raw(Body),
}

/// What the frames of a queryable archive have in common.
#[derive(Clone, Debug)]
pub(super) enum FrameModel {
    Table(Cut),
    /// JSON Lines, for this codec if that is settled, and whether it was asked for.
    Json(Option<Codec>, bool),
}

impl FrameModel {
    /// The model that suits a text; `None` if it has neither fields nor objects, or is
    /// not to be queried.
    pub(super) fn find(text: &[u8], choice: Choice) -> Result<Option<Self>> {
        if !choice.is_queryable() || text.len() > LARGEST {
            return Ok(None);
        }
        match choice {
            Choice::Only(Codec::QJson) => Ok(Some(Self::Json(Some(Codec::QJson), true))),
            Choice::Only(Codec::QJson2) => Ok(Some(Self::Json(Some(Codec::QJson2), true))),
            Choice::Query if text_start(text).is_none() => Ok(None),
            Choice::Query if qjson::suits(text) => Ok(Some(Self::Json(None, false))),
            _ => Ok(qcolumnar::find(text)?.map(Self::Table)),
        }
    }

    /// The form of a text by this model, and the model for the text after it;
    /// `None` if no line of it fits.
    pub(super) fn part(
        &self,
        text: &[u8],
        options: &PackOptions,
    ) -> Result<Option<(EncodedFrame, Self)>> {
        let search = &SearchParams::new(options);
        if text.len() > LARGEST {
            return Ok(None);
        }
        Ok(match self {
            Self::Table(cut) => {
                qcolumnar::streams(text, cut, search, options)?.map(|(streams, width)| {
                    // Names are above the first rows only.
                    let cut = Cut { width: Some(width), header: false, ..cut.clone() };
                    (EncodedFrame::Structured(Codec::QColumnar, streams), Self::Table(cut))
                })
            }
            Self::Json(codec, asked) => {
                let made = qjson::streams(text, *codec, *asked, search, options)?;
                made.map(|(streams, codec)| {
                    (EncodedFrame::Structured(codec, streams), Self::Json(Some(codec), *asked))
                })
            }
        })
    }
}

impl EncodedFrame {
    /// The structured form of some content if it has one and it is smaller, else the
    /// raw one; and what was tried.
    /// Only the encoders of one codec are tried `within` it.
    pub(super) fn new(
        original: &[u8],
        within: Option<Codec>,
        options: &PackOptions,
    ) -> Result<(Self, Vec<Trial>)> {
        let search = &SearchParams::new(options);
        // What a quick compressor makes of it tells what is worth trying.
        let quick = zstd::compress(original, 1)?.len();
        let asked = matches!(options.codec, Choice::Only(_));
        let too_large = original.len() > LARGEST;
        // What looks like noise has no lines, but numbers may still be in it.
        let noise = !asked && raw::is_noise(original, quick);
        let mut trials = Vec::new();
        let mut chosen: Vec<&Encoder> = Vec::new();
        for encoder in
            select::ALL.iter().filter(|encoder| !(too_large || noise && encoder.by_lines))
        {
            match options.codec {
                Choice::Only(codec) if codec != encoder.codec => {}
                Choice::Only(_) => chosen.push(encoder),
                _ if within.is_some_and(|codec| codec != encoder.codec) => {}
                _ if (encoder.suits)(original) => chosen.push(encoder),
                _ => trials.push(encoder.trial(Outcome::Unlike)),
            }
        }
        let (tell, news) = mpsc::channel();
        // Given away with its end of the channel: RAW waits until nobody can speak any more.
        let structured = move || {
            let tell = tell;
            Self::structured(original, &chosen, search, options, &tell)
        };
        let rival = Rival::new(news);
        let raw = move || raw::body(original, quick, &rival, search);
        let (structured, raw) = match asked {
            // What was asked for wins, whatever its size.
            true => match structured()? {
                (Some((codec, streams)), tried) => {
                    return Ok((Self::Structured(codec, streams), tried));
                }
                none => (Ok(none), raw()),
            },
            false => parallel::both(resolve_threads(options.threads), structured, raw),
        };
        let (structured, tried) = structured?;
        trials.extend(tried);
        let (part, outcome) = match (structured, raw?) {
            (_, Some(body)) => {
                let outcome = Outcome::Made(body.bytes.len() as u64);
                (Self::Raw(body), outcome)
            }
            (Some((codec, streams)), None) => (Self::Structured(codec, streams), Outcome::GivenUp),
            (None, None) => return Err(Error::invalid_argument("nothing came of packing")),
        };
        trials.push(Trial { codec: Codec::Raw, form: "", outcome });
        Ok((part, trials))
    }

    /// The best structured form. Tells its size.
    fn structured(
        original: &[u8],
        encoders: &[&Encoder],
        search: &SearchParams,
        options: &PackOptions,
        tell: &Sender<Size>,
    ) -> Result<(Option<Structured>, Vec<Trial>)> {
        let usual = PackOptions::DEFAULT_LEVEL;
        let other = (options.level > usual).then(|| options.clone().with_level(usual));
        let other = other.map(|options| SearchParams::new(&options));
        // Nobody may listen any more.
        let guess = |size| tell.send(Size::Guessed(size)).unwrap_or_default();
        let threads = resolve_threads(options.threads);
        // Who asks for more than usual gets what is sure.
        let rough = (options.level <= usual && !search.is_quick()).then(|| search.rough());
        let job = EncodeContext {
            search,
            rough: rough.as_ref(),
            other: other.as_ref(),
            threads,
            guess: &guess,
        };
        let (best, trials) = select::best(original, encoders, &job)?;
        if let Some((_, streams)) = &best {
            let mut set = Vec::new();
            put_set(streams, options.layout, &mut set);
            tell.send(Size::Known(set.len())).unwrap_or_default();
        }
        Ok((best, trials))
    }

    pub(super) fn put(&self, layout: Layout, out: &mut Vec<u8>) {
        match self {
            Self::Structured(_, streams) => put_set(streams, layout, out),
            Self::Raw(body) => body.put(layout, out),
        }
    }

    pub(super) fn codec(&self) -> Codec {
        match self {
            Self::Structured(codec, _) => *codec,
            Self::Raw(_) => Codec::Raw,
        }
    }
}
