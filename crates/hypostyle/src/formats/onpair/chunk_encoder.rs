//! Encodes column chunks: strings to bytes, in the smallest of the candidate encodings (§6).

use arrow_buffer::NullBuffer;
use hashbrown::HashMap;
use hypostyle_onpair::{Config, Dictionary, Effort, Offsets, Parts};

use super::bounds::ChunkBounds;
use super::column_chunk::{Coding, ColumnChunk};
use super::{dictionary, ints};
use hypostyle_core::error::{Error, Refusal, Result};
use hypostyle_core::wire::bitmap;

/// Below this size of text, a dictionary takes more bytes than it saves.
const MIN_DICTIONARY_TEXT_BYTES: usize = 1 << 10;
/// The size of the sample on which an earlier dictionary is tried.
const SAMPLE_BYTES: usize = 256 << 10;

/// Encodes the chunks of one column, in order.
pub(super) struct ChunkEncoder {
    /// How to train dictionaries; `None` to store values plain.
    config: Option<Config>,
    /// The latest dictionary of the column.
    latest: Option<StoredDictionary>,
    /// The number of the next chunk.
    chunk: usize,
}

/// A dictionary that a chunk stores and later chunks may use.
struct StoredDictionary {
    chunk: usize,
    dictionary: Dictionary,
    /// Its length in the file.
    stored_len: usize,
    /// Bytes of the text that it was trained on, and of the codes of that text.
    text_len: usize,
    codes_len: usize,
}

/// The sections of a chunk's values in one candidate encoding.
struct Candidate {
    coding: Option<Coding>,
    dictionary: Vec<u8>,
    values: Vec<u8>,
    counts: Vec<u8>,
    /// The dictionary that this candidate stores.
    trained: Option<StoredDictionary>,
}

impl Candidate {
    /// Returns the length of the sections that candidates differ in.
    fn len(&self) -> usize {
        self.dictionary.len() + self.values.len() + self.counts.len()
    }
}

impl ChunkEncoder {
    /// Creates the encoder for a level of 0 to 12 and a number of threads.
    pub(super) fn new(level: u8, threads: usize) -> Self {
        let effort = match level {
            0 => None,
            1..=3 => Some(Effort::Quick),
            4..=8 => Some(Effort::Usual),
            _ => Some(Effort::Thorough),
        };
        let config = effort.map(|effort| {
            let mut config = Config::default();
            (config.effort, config.threads) = (effort, threads);
            config
        });
        Self { config, latest: None, chunk: 0 }
    }

    /// Encodes the next chunk, and appends its sections to `out`.
    pub(super) fn encode(
        &mut self,
        rows: &[Option<&[u8]>],
        out: &mut Vec<u8>,
    ) -> Result<ColumnChunk> {
        let too_large =
            || Error::refused(Refusal::TooLarge, "the chunk is too large", "split the table");
        let number = |count: usize| u32::try_from(count).map_err(|_| too_large());
        let values: Vec<&[u8]> = rows.iter().copied().flatten().collect();
        let text_len: usize = values.iter().map(|value| value.len()).sum();
        let (candidate, distinct, indexes) = self.smallest(&values, text_len)?;

        let nulls = rows.len() - values.len();
        let mut null_bits = Vec::new();
        if nulls > 0 && nulls < rows.len() {
            let validity: NullBuffer = rows.iter().map(Option::is_some).collect();
            bitmap::put_null_bits([(rows.len(), Some(&validity))].into_iter(), &mut null_bits);
        }
        let mut chunk = ColumnChunk {
            coding: candidate.coding,
            rows: number(rows.len())?,
            nulls: number(nulls)?,
            values: number(distinct.unwrap_or(values.len()))?,
            indexed: distinct.is_some(),
            text_len: number(text_len)?,
            bounds: ChunkBounds::of(values.iter().copied()),
            sections: Default::default(),
            offset: 0,
            entry_offset: 0,
        };
        let Candidate { dictionary, values, counts, trained, .. } = candidate;
        chunk.append_sections([&dictionary, &values, &counts, &[], &indexes, &null_bits], out)?;
        if trained.is_some() {
            self.latest = trained;
        }
        self.chunk += 1;
        Ok(chunk)
    }

    /// Returns the smallest candidate; with indexes, also the number of distinct values and
    /// the stored indexes.
    fn smallest(
        &self,
        values: &[&[u8]],
        text_len: usize,
    ) -> Result<(Candidate, Option<usize>, Vec<u8>)> {
        let Some((distinct, indexes)) = distinct(values) else {
            return Ok((self.candidate(values, text_len)?, None, Vec::new()));
        };
        let distinct_len = distinct.iter().map(|value| value.len()).sum();
        let indexes = ints::pack(&indexes);
        let indexed = self.candidate(&distinct, distinct_len)?;
        let indexed_len = indexed.len() + indexes.len();
        // A string that is not empty takes at least one code of 9 bits, so this is a lower bound
        // for the encoding without indexes, which then need not be tried.
        let not_empty = values.iter().filter(|value| !value.is_empty()).count();
        if indexed_len <= not_empty.min(text_len) {
            return Ok((indexed, Some(distinct.len()), indexes));
        }
        let direct = self.candidate(values, text_len)?;
        if indexed_len < direct.len() {
            Ok((indexed, Some(distinct.len()), indexes))
        } else {
            Ok((direct, None, Vec::new()))
        }
    }

    /// Stores values plain, or as codes if that is smaller.
    fn candidate(&self, values: &[&[u8]], text_len: usize) -> Result<Candidate> {
        let lengths: Vec<u32> = values
            .iter()
            .map(|value| u32::try_from(value.len()))
            .collect::<Result<_, _>>()
            .map_err(|_| {
                Error::refused(Refusal::TextTooLong, "a text is over 4 GiB", "shorten the text")
            })?;
        let counts = ints::pack(&lengths);
        let has_text = text_len >= MIN_DICTIONARY_TEXT_BYTES;
        if let Some(config) = self.config.as_ref().filter(|_| has_text) {
            let coded = self.coded(values, text_len, config).map_err(codec_error)?;
            if coded.len() < text_len + counts.len() {
                return Ok(coded);
            }
        }
        let values = values.concat();
        Ok(Candidate { coding: None, dictionary: Vec::new(), values, counts, trained: None })
    }

    /// Stores values as codes of the latest dictionary, or of a new one.
    fn coded(
        &self,
        values: &[&[u8]],
        text_len: usize,
        config: &Config,
    ) -> hypostyle_onpair::Result<Candidate> {
        if let Some(latest) = &self.latest
            && latest.suits(values, text_len, config)?
        {
            let parts = latest.dictionary.compress(values, config)?;
            return Ok(coded_candidate(parts, Vec::new(), latest.chunk, None));
        }
        let dictionary = Dictionary::train(values, config)?;
        let stored = dictionary::store(dictionary.tokens().collect::<Vec<_>>().into_iter());
        let parts = dictionary.compress(values, config)?;
        let trained = StoredDictionary {
            chunk: self.chunk,
            dictionary,
            stored_len: stored.len(),
            text_len,
            codes_len: parts.codes.len(),
        };
        Ok(coded_candidate(parts, stored, self.chunk, Some(trained)))
    }
}

impl StoredDictionary {
    /// Returns whether this dictionary compresses these values about as well as a new one.
    ///
    /// The estimate for a new one is the ratio that this dictionary reached on its training
    /// text, plus the length of a stored dictionary. This one is tried on a sample, and may be
    /// worse by 1/64.
    fn suits(
        &self,
        values: &[&[u8]],
        text_len: usize,
        config: &Config,
    ) -> hypostyle_onpair::Result<bool> {
        let step = text_len.div_ceil(SAMPLE_BYTES).max(1);
        let sample: Vec<&[u8]> = values.iter().copied().step_by(step).collect();
        let sample_len: usize = sample.iter().map(|value| value.len()).sum();
        let codes_len = self.dictionary.compress(&sample, config)?.codes.len();
        // Scales a number of bytes of codes from the text that they encode to the whole chunk.
        let scaled = |codes: usize, of: usize| codes as u128 * text_len as u128 / of.max(1) as u128;
        let new = scaled(self.codes_len, self.text_len) + self.stored_len as u128;
        Ok(scaled(codes_len, sample_len) <= new + new / 64)
    }
}

fn coded_candidate(
    parts: Parts<'static>,
    dictionary: Vec<u8>,
    dictionary_chunk: usize,
    trained: Option<StoredDictionary>,
) -> Candidate {
    let counts: Vec<u32> = match &parts.row_offsets {
        Offsets::Narrow(offsets) => offsets.windows(2).map(difference).collect(),
        // A chunk with this many codes fails when its sections are counted in 32 bits.
        Offsets::Wide(_) => Vec::new(),
    };
    let coding = Coding {
        bits: parts.bits,
        parse: parts.parse,
        dictionary_chunk,
        code_count: u32::try_from(parts.code_count).unwrap_or(u32::MAX),
    };
    Candidate {
        coding: Some(coding),
        dictionary,
        values: parts.codes.into_owned(),
        counts: ints::pack(&counts),
        trained,
    }
}

fn difference(pair: &[u32]) -> u32 {
    match pair {
        [start, end] => end.saturating_sub(*start),
        _ => 0,
    }
}

fn codec_error(err: hypostyle_onpair::Error) -> Error {
    Error::invalid_argument(err.to_string())
}

/// Returns the distinct values in order, and the index of each value among them.
///
/// Returns `None` if more than half of the values are distinct.
fn distinct<'a>(values: &[&'a [u8]]) -> Option<(Vec<&'a [u8]>, Vec<u32>)> {
    let max_distinct = values.len() / 2;
    if max_distinct == 0 {
        return None;
    }
    let mut numbers: HashMap<&[u8], u32> = HashMap::new();
    let mut indexes = Vec::with_capacity(values.len());
    for &value in values {
        let next = u32::try_from(numbers.len()).ok()?;
        let number = *numbers.entry(value).or_insert(next);
        if number as usize >= max_distinct {
            return None;
        }
        indexes.push(number);
    }
    let mut sorted: Vec<(&'a [u8], u32)> = numbers.into_iter().collect();
    sorted.sort_unstable();
    // Values were numbered by first occurrence; renumber them by order.
    let mut rank = vec![0; sorted.len()];
    for (new, (_, old)) in (0..).zip(&sorted) {
        *rank.get_mut(*old as usize)? = new;
    }
    for index in &mut indexes {
        *index = *rank.get(*index as usize)?;
    }
    Some((sorted.into_iter().map(|(value, _)| value).collect(), indexes))
}
