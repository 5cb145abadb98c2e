//! One part of an archive: which form it gets.

use std::sync::mpsc::{self, Sender};

use super::container::{Body, Stream, put_set};
use super::effort::Search;
use super::options::{Choice, Layout, PackOptions};
use super::qcolumnar::Cut;
use super::raw::{Rival, Size};
use super::{columnar, qcolumnar, qjson, raw};
use crate::compress::zstd;
use crate::error::{Error, Result};
use crate::formats::at1::codecs::Codec;
use crate::options::resolve_threads;
use crate::parallel;

/// Bytes of text that are looked at as one: offsets in them have 32 bits.
const LARGEST: usize = u32::MAX as usize - 1;

/// The one part of an archive, or one of many.
pub(super) enum Part {
    Structured(Codec, Vec<Stream>),
    Raw(Body),
}

/// What the frames of a queryable archive have in common.
#[derive(Clone, Debug)]
pub(super) enum Model {
    Table(Cut),
    /// JSON Lines, for this codec if that is settled, and whether it was asked for.
    Json(Option<Codec>, bool),
}

impl Model {
    /// The model that suits a text; `None` if it has neither fields nor objects, or is
    /// not to be queried.
    pub(super) fn find(text: &[u8], choice: Choice) -> Result<Option<Self>> {
        if !choice.is_queryable() || text.len() > LARGEST {
            return Ok(None);
        }
        match choice {
            Choice::QJson => Ok(Some(Self::Json(Some(Codec::QJson), true))),
            Choice::QJson2 => Ok(Some(Self::Json(Some(Codec::QJson2), true))),
            Choice::Query if qjson::suits(text) => Ok(Some(Self::Json(None, false))),
            _ => Ok(qcolumnar::find(text)?.map(Self::Table)),
        }
    }

    /// The form of a text by this model, and the model for the text after it;
    /// `None` if no line of it fits.
    pub(super) fn part(&self, text: &[u8], options: &PackOptions) -> Result<Option<(Part, Self)>> {
        let search = &Search::new(options);
        if text.len() > LARGEST {
            return Ok(None);
        }
        Ok(match self {
            Self::Table(cut) => {
                qcolumnar::streams(text, cut, search, options)?.map(|(streams, width)| {
                    // Names are above the first rows only.
                    let cut = Cut { width: Some(width), header: false, ..cut.clone() };
                    (Part::Structured(Codec::QColumnar, streams), Self::Table(cut))
                })
            }
            Self::Json(codec, asked) => {
                let made = qjson::streams(text, *codec, *asked, search, options)?;
                made.map(|(streams, codec)| {
                    (Part::Structured(codec, streams), Self::Json(Some(codec), *asked))
                })
            }
        })
    }
}

impl Part {
    /// The structured form of a text if it has one and it is smaller, else the raw one.
    pub(super) fn new(original: &[u8], options: &PackOptions) -> Result<Self> {
        let search = &Search::new(options);
        // What a quick compressor makes of it tells what is worth trying.
        let quick = zstd::compress(original, 1)?.len();
        let hopeless = match options.codec {
            Choice::Raw => true,
            Choice::Columnar => original.len() > LARGEST,
            _ => original.len() > LARGEST || raw::is_noise(original, quick),
        };
        let (tell, news) = mpsc::channel();
        let structured = move || match hopeless {
            true => Ok(None),
            false => Self::table(original, search, options, &tell),
        };
        let rival = Rival::new(news);
        let raw = move || raw::body(original, quick, &rival, search);
        let threads = resolve_threads(options.threads);
        let (structured, raw) = parallel::both(threads, structured, raw);
        match (structured?, raw?) {
            (_, Some(body)) => Ok(Self::Raw(body)),
            (Some(streams), None) => Ok(Self::Structured(Codec::Columnar, streams)),
            (None, None) => Err(Error::invalid_argument("nothing came of packing")),
        }
    }

    /// The columns of a text; at high levels the better of two searches, since one
    /// that looks farther may end up in a worse place. Tells its size.
    fn table(
        original: &[u8],
        search: &Search,
        options: &PackOptions,
        tell: &Sender<Size>,
    ) -> Result<Option<Vec<Stream>>> {
        let mut searches = vec![search.clone()];
        if options.level > PackOptions::DEFAULT_LEVEL {
            searches.push(Search::new(&options.clone().with_level(PackOptions::DEFAULT_LEVEL)));
        }
        let threads = resolve_threads(options.threads);
        // What was asked for wins, whatever its size. Nobody may listen any more.
        let told = |size| if options.codec == Choice::Columnar { 0 } else { size };
        let guess = |size| tell.send(Size::Guessed(told(size))).unwrap_or_default();
        let streams = columnar::streams(original, &searches, threads, guess)?;
        if let Some(streams) = &streams {
            let mut set = Vec::new();
            put_set(streams, options.layout, &mut set);
            tell.send(Size::Known(told(set.len()))).unwrap_or_default();
        }
        Ok(streams)
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
