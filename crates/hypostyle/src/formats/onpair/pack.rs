//! A column in a chunk: strings to bytes, in the smallest of the forms that there are (§6).

use arrow_buffer::NullBuffer;
use hashbrown::HashMap;
use hypostyle_onpair::{Config, Dictionary, Effort, Offsets, Parts};

use super::part::{Packed, Part, Zone};
use super::{dictionary, ints};
use hypostyle_core::error::{Error, Refusal, Result};
use hypostyle_core::wire::bitmap;

/// Below this many bytes, a dictionary costs more than it gives.
const WORTH_A_DICTIONARY: usize = 1 << 10;
/// Bytes that an earlier dictionary is tried on.
const SAMPLE: usize = 256 << 10;

/// Makes the parts of a column, chunk by chunk.
pub(super) struct Packer {
    config: Option<Config>,
    earlier: Option<Earlier>,
    chunk: usize,
}

/// The dictionary of an earlier chunk.
struct Earlier {
    chunk: usize,
    dictionary: Dictionary,
    /// Bytes that it takes in the file.
    stored: usize,
    /// What it made of the strings that it was learned from: bytes of text and of codes.
    text: usize,
    codes: usize,
}

/// Sections of values in one of the forms.
struct Form {
    packed: Option<Packed>,
    dictionary: Vec<u8>,
    values: Vec<u8>,
    counts: Vec<u8>,
    /// The dictionary that is now there for others.
    learned: Option<Earlier>,
}

impl Form {
    fn len(&self) -> usize {
        self.dictionary.len() + self.values.len() + self.counts.len()
    }
}

impl Packer {
    /// For a level of 0 to 12, and so many threads.
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
        Self { config, earlier: None, chunk: 0 }
    }

    /// The part of the next chunk, whose sections are appended to `out`.
    pub(super) fn pack(&mut self, cells: &[Option<&[u8]>], out: &mut Vec<u8>) -> Result<Part> {
        let too_large =
            || Error::refused(Refusal::TooLarge, "the chunk is too large", "split the table");
        let number = |count: usize| u32::try_from(count).map_err(|_| too_large());
        let present: Vec<&[u8]> = cells.iter().copied().flatten().collect();
        let text: usize = present.iter().map(|value| value.len()).sum();
        let (form, distinct, indexes) = self.smallest(&present, text)?;

        let (rows, nulls) = (cells.len(), cells.len() - present.len());
        let mut bits = Vec::new();
        if nulls > 0 && nulls < rows {
            let present: NullBuffer = cells.iter().map(Option::is_some).collect();
            bitmap::put_null_bits([(rows, Some(&present))].into_iter(), &mut bits);
        }
        let mut part = Part {
            packed: form.packed,
            rows: number(rows)?,
            nulls: number(nulls)?,
            values: number(distinct.unwrap_or(present.len()))?,
            indexed: distinct.is_some(),
            text: number(text)?,
            zone: Zone::of(present.iter().copied()),
            sections: Default::default(),
            offset: 0,
            entry: 0,
        };
        let sections = [&form.dictionary[..], &form.values, &form.counts, &[], &indexes, &bits];
        part.place_sections(sections, out)?;
        if form.learned.is_some() {
            self.earlier = form.learned;
        }
        self.chunk += 1;
        Ok(part)
    }

    /// The smallest form, how many distinct values it has if it has no others, and indexes.
    fn smallest(&self, present: &[&[u8]], text: usize) -> Result<(Form, Option<usize>, Vec<u8>)> {
        let Some((distinct, indexes)) = distinct(present) else {
            return Ok((self.form(present, text)?, None, Vec::new()));
        };
        let less = distinct.iter().map(|value| value.len()).sum();
        let indexes = ints::packed(&indexes);
        let indexed = self.form(&distinct, less)?;
        // Every string that is not empty has a code of 9 bits at least.
        let filled = present.iter().filter(|value| !value.is_empty()).count();
        let all = indexed.len() + indexes.len();
        if all <= filled.min(text) {
            return Ok((indexed, Some(distinct.len()), indexes));
        }
        let direct = self.form(present, text)?;
        match all < direct.len() {
            true => Ok((indexed, Some(distinct.len()), indexes)),
            false => Ok((direct, None, Vec::new())),
        }
    }

    /// Values as they are, or packed if that is smaller.
    fn form(&self, values: &[&[u8]], text: usize) -> Result<Form> {
        let lengths: Vec<u32> = values
            .iter()
            .map(|value| u32::try_from(value.len()))
            .collect::<Result<_, _>>()
            .map_err(|_| {
                Error::refused(Refusal::TextTooLong, "a text is over 4 GiB", "shorten the text")
            })?;
        let counts = ints::packed(&lengths);
        if let Some(config) = self.config.as_ref().filter(|_| text >= WORTH_A_DICTIONARY) {
            let form = self.packed(values, text, config).map_err(failed)?;
            if form.len() < text + counts.len() {
                return Ok(form);
            }
        }
        let values = values.concat();
        Ok(Form { packed: None, dictionary: Vec::new(), values, counts, learned: None })
    }

    fn packed(
        &self,
        values: &[&[u8]],
        text: usize,
        config: &Config,
    ) -> hypostyle_onpair::Result<Form> {
        if let Some(earlier) = &self.earlier
            && earlier.serves(values, text, config)?
        {
            let parts = earlier.dictionary.compress(values, config)?;
            return Ok(form(parts, Vec::new(), earlier.chunk, None));
        }
        let dictionary = Dictionary::train(values, config)?;
        let stored = dictionary::store(dictionary.tokens().collect::<Vec<_>>().into_iter());
        let parts = dictionary.compress(values, config)?;
        let learned = Earlier {
            chunk: self.chunk,
            dictionary,
            stored: stored.len(),
            text,
            codes: parts.codes.len(),
        };
        Ok(form(parts, stored, self.chunk, Some(learned)))
    }
}

impl Earlier {
    /// Whether it does for these values about what one of their own would do: on a sample, no
    /// worse than on its own by more than a dictionary takes.
    fn serves(
        &self,
        values: &[&[u8]],
        text: usize,
        config: &Config,
    ) -> hypostyle_onpair::Result<bool> {
        let step = text.div_ceil(SAMPLE).max(1);
        let sample: Vec<&[u8]> = values.iter().copied().step_by(step).collect();
        let sampled: usize = sample.iter().map(|value| value.len()).sum();
        let codes = self.dictionary.compress(&sample, config)?.codes.len();
        // Bytes of codes for the whole chunk, by either measure.
        let scaled = |codes: usize, of: usize| codes as u128 * text as u128 / of.max(1) as u128;
        let own = scaled(self.codes, self.text) + self.stored as u128;
        Ok(scaled(codes, sampled) <= own + own / 64)
    }
}

fn form(
    parts: Parts<'static>,
    dictionary: Vec<u8>,
    owner: usize,
    learned: Option<Earlier>,
) -> Form {
    let counts: Vec<u32> = match &parts.row_offsets {
        Offsets::Narrow(offsets) => offsets.windows(2).map(step).collect(),
        // More codes than a chunk may have: they are refused when they are counted.
        Offsets::Wide(_) => Vec::new(),
    };
    let packed = Packed {
        bits: parts.bits,
        parse: parts.parse,
        dictionary: owner,
        codes: u32::try_from(parts.code_count).unwrap_or(u32::MAX),
    };
    Form {
        packed: Some(packed),
        dictionary,
        values: parts.codes.into_owned(),
        counts: ints::packed(&counts),
        learned,
    }
}

fn step(pair: &[u32]) -> u32 {
    match pair {
        [start, end] => end.saturating_sub(*start),
        _ => 0,
    }
}

fn failed(err: hypostyle_onpair::Error) -> Error {
    Error::invalid_argument(err.to_string())
}

/// The distinct values in order, and which of them each is; `None` if they are too many.
fn distinct<'a>(values: &[&'a [u8]]) -> Option<(Vec<&'a [u8]>, Vec<u32>)> {
    let most = values.len() / 2;
    if most == 0 {
        return None;
    }
    let mut numbers: HashMap<&[u8], u32> = HashMap::new();
    let mut indexes = Vec::with_capacity(values.len());
    for &value in values {
        let next = u32::try_from(numbers.len()).ok()?;
        let number = *numbers.entry(value).or_insert(next);
        if number as usize >= most {
            return None;
        }
        indexes.push(number);
    }
    let mut sorted: Vec<(&'a [u8], u32)> = numbers.into_iter().collect();
    sorted.sort_unstable();
    let mut place = vec![0; sorted.len()];
    for (to, (_, from)) in (0..).zip(&sorted) {
        *place.get_mut(*from as usize)? = to;
    }
    for index in &mut indexes {
        *index = *place.get(*index as usize)?;
    }
    Some((sorted.into_iter().map(|(value, _)| value).collect(), indexes))
}
