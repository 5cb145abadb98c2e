//! Compression of strings to a column, and decompression in one call.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::bits::{Packer, check_width};
use crate::column::{Column, DecodedRows};
use crate::error::{Error, ErrorKind, Result, Section};
use crate::matcher::Matcher;
use crate::parts::{Offsets, Parse, Parts};
use crate::sample::Sample;
use crate::strings::Strings;
use crate::token::{self, Token};
use crate::tokenize::TokenizedBatch;
use crate::train::{self, Effort};
use crate::{MAX_TOKEN_SIZE, threads};

/// Minimum size of a batch in bytes, unless it has as many strings.
const BATCH_BYTES: usize = 1 << 18;

/// Options of compression.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The width of codes, 9 to 16; `None` chooses the width with the smallest estimated size.
    pub bits: Option<u32>,
    /// How strings are split into tokens.
    pub parse: Parse,
    /// How much time training spends on the dictionary.
    pub effort: Effort,
    /// Whether to store the length of each row.
    pub lengths: bool,
    /// Number of threads. The column does not depend on it.
    pub threads: usize,
    /// Seed of the choice of strings that the dictionary is learned from.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            bits: None,
            parse: Parse::Greedy,
            effort: Effort::Usual,
            lengths: false,
            threads: 1,
            seed: 42,
        }
    }
}

/// Compresses strings with a dictionary that is learned from them.
///
/// # Errors
///
/// Fails if `config` has a width that is not 9 to 16 or [`Parse::Unknown`], if a string has
/// 4 GiB or more, and if a string changes its length meanwhile.
pub fn compress(strings: &(impl Strings + ?Sized), config: &Config) -> Result<Parts<'static>> {
    config.check_bits()?;
    config.check_parse()?;
    let lengths = string_lengths(strings)?;
    let total_bytes = lengths.iter().map(|&len| u64::from(len)).sum();
    let dictionary = Dictionary::train_on(strings, lengths.len(), total_bytes, config);
    dictionary.compress_rows(strings, lengths, config)
}

impl Config {
    fn check_bits(&self) -> Result<()> {
        self.bits.map_or(Ok(()), check_width)
    }

    fn check_parse(&self) -> Result<()> {
        if self.parse == Parse::Unknown {
            return Err(Error::new(Section::Input, 0, ErrorKind::Order));
        }
        Ok(())
    }
}

/// Returns the length of each string; fails at a string of 4 GiB or more.
fn string_lengths(strings: &(impl Strings + ?Sized)) -> Result<Vec<u32>> {
    let lengths = (0..strings.len()).map(|row| {
        let len = u32::try_from(strings.get(row).len());
        len.map_err(|_| Error::new(Section::Input, row, ErrorKind::TooLarge))
    });
    lengths.collect()
}

/// A dictionary of tokens to compress strings with.
///
/// Several columns, or the chunks of one column, may share a dictionary.
#[derive(Clone, Debug)]
pub struct Dictionary {
    bits: u32,
    matcher: Matcher,
}

impl Dictionary {
    /// Learns a dictionary from strings.
    ///
    /// Its tokens are distinct, in ascending order of their bytes, and include every single
    /// byte.
    ///
    /// # Errors
    ///
    /// Fails if `config` has a width that is not 9 to 16.
    pub fn train(strings: &(impl Strings + ?Sized), config: &Config) -> Result<Self> {
        config.check_bits()?;
        let rows = strings.len();
        let total_bytes = (0..rows).map(|row| strings.get(row).len() as u64).sum();
        Ok(Self::train_on(strings, rows, total_bytes, config))
    }

    fn train_on(
        strings: &(impl Strings + ?Sized),
        rows: usize,
        total_bytes: u64,
        config: &Config,
    ) -> Self {
        let sample_bytes = config.effort.sample_bytes(config.bits);
        let sample = Sample::new(strings, rows, total_bytes, sample_bytes, config.seed);
        let mut tokens = train::dictionary(&sample, config.bits, config.effort, config.threads);
        tokens.sort_unstable_by(|one, other| one.bytes().cmp(other.bytes()));
        // Training may learn a token twice if it found no bucket the first time.
        tokens.dedup();
        let matcher = Matcher::new(tokens, 0);
        Self { bits: token::width(matcher.tokens().len()), matcher }
    }

    /// Returns the tokens in ascending order.
    pub fn tokens(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.matcher.tokens().iter().map(Token::bytes)
    }

    /// Compresses strings with this dictionary.
    ///
    /// # Errors
    ///
    /// Fails if `config` has [`Parse::Unknown`], if a string has 4 GiB or more, and if a
    /// string changes its length meanwhile.
    pub fn compress(
        &self,
        strings: &(impl Strings + ?Sized),
        config: &Config,
    ) -> Result<Parts<'static>> {
        config.check_parse()?;
        self.compress_rows(strings, string_lengths(strings)?, config)
    }

    /// Compresses the strings, which have these lengths.
    fn compress_rows(
        &self,
        strings: &(impl Strings + ?Sized),
        lengths: Vec<u32>,
        config: &Config,
    ) -> Result<Parts<'static>> {
        let mut packer = Packer::new(self.bits);
        let mut counts = Vec::with_capacity(lengths.len());
        let append = |batch_codes: &[u16], batch_counts: &[u32]| {
            packer.extend(batch_codes);
            counts.extend_from_slice(batch_counts);
        };
        let rows = Rows { matcher: &self.matcher, parse: config.parse, strings, lengths: &lengths };
        rows.tokenize(config.threads, append)?;
        let (codes, code_count) = packer.finish();
        let row_offsets = match u32::try_from(code_count) {
            Ok(_) => Offsets::Narrow(sums(counts.into_iter(), |sum, count| sum + count).into()),
            Err(_) => {
                Offsets::Wide(sums(counts.into_iter(), |sum, count| sum + u64::from(count)).into())
            }
        };
        let mut dict_bytes: Vec<u8> = self.tokens().flatten().copied().collect();
        let lens = self.matcher.tokens().iter().map(Token::len);
        let last = lens.clone().next_back().unwrap_or(0);
        let dict_offsets = sums(lens, |sum: u32, len| sum + u32::from(len));
        dict_bytes.resize(dict_bytes.len() + MAX_TOKEN_SIZE - usize::from(last), 0);
        Ok(Parts {
            bits: self.bits,
            dict_offsets: dict_offsets.into(),
            dict_bytes: dict_bytes.into(),
            codes: codes.into(),
            code_count,
            row_offsets,
            row_lengths: config.lengths.then_some(Cow::Owned(lengths)),
            parse: config.parse,
        })
    }
}

/// Strings to tokenize, and how.
struct Rows<'a, S: ?Sized> {
    matcher: &'a Matcher,
    parse: Parse,
    strings: &'a S,
    /// The length that each string had when compression started.
    lengths: &'a [u32],
}

/// The codes of a run of batches that one thread tokenized.
struct TokenizedTask {
    number: usize,
    codes: Vec<u16>,
    /// The number of codes of each row.
    counts: Vec<u32>,
}

/// Number of batches per task.
const BATCHES_PER_TASK: usize = 16;

impl<S: Strings + ?Sized> Rows<'_, S> {
    /// Tokenizes all rows, and calls `append` with codes and numbers of codes in order.
    fn tokenize(&self, threads: usize, mut append: impl FnMut(&[u16], &[u32])) -> Result<()> {
        let batches = batches(self.lengths);
        let threads = threads.clamp(1, batches.len().max(1));
        if threads == 1 {
            let mut batch = TokenizedBatch::default();
            for rows in batches {
                batch.clear();
                self.tokenize_rows(rows, &mut batch)?;
                append(&batch.codes, &batch.counts);
            }
            return Ok(());
        }
        let tasks: Vec<&[Range<usize>]> = batches.chunks(BATCHES_PER_TASK).collect();
        let next = AtomicUsize::new(0);
        let work = || -> Result<Vec<TokenizedTask>> {
            let mut batch = TokenizedBatch::default();
            let mut done = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(task) = tasks.get(number) else { return Ok(done) };
                for rows in *task {
                    self.tokenize_rows(rows.clone(), &mut batch)?;
                }
                let (codes, counts) = batch.take();
                done.push(TokenizedTask { number, codes, counts });
            }
        };
        let mut done = thread::scope(|scope| -> Result<Vec<_>> {
            let workers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mut done = work()?;
            for worker in workers {
                done.extend(threads::join(worker)?);
            }
            Ok(done)
        })?;
        done.sort_unstable_by_key(|task| task.number);
        done.iter().for_each(|task| append(&task.codes, &task.counts));
        Ok(())
    }

    /// Appends the codes of some rows to a batch.
    ///
    /// Fails at a string that no longer has its length.
    fn tokenize_rows(&self, rows: Range<usize>, batch: &mut TokenizedBatch) -> Result<()> {
        let lengths = self.lengths.get(rows.clone()).unwrap_or_default();
        let total_bytes = lengths.iter().map(|&len| len as usize).sum();
        let mut changed = None;
        let strings = rows.zip(lengths).map_while(|(row, &len)| {
            let string = self.strings.get(row);
            if string.len() == len as usize {
                return Some(string);
            }
            changed = Some(row);
            None
        });
        if self.parse == Parse::Greedy {
            batch.append(self.matcher, strings, total_bytes);
        } else {
            batch.append_fewest(self.matcher, strings);
        }
        match changed {
            Some(row) => Err(Error::new(Section::Input, row, ErrorKind::Length)),
            None => Ok(()),
        }
    }
}

/// Splits rows of these lengths into batches that are tokenized together.
fn batches(lengths: &[u32]) -> Vec<Range<usize>> {
    let mut batches = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (row, &len) in lengths.iter().enumerate() {
        bytes += len as usize;
        if bytes >= BATCH_BYTES || row + 1 - start >= BATCH_BYTES {
            batches.push(start..row + 1);
            (start, bytes) = (row + 1, 0);
        }
    }
    if start < lengths.len() {
        batches.push(start..lengths.len());
    }
    batches
}

/// Returns the sum of the numbers before each number, and the sum of all.
fn sums<T, N: Copy + Default>(numbers: impl Iterator<Item = T>, add: impl Fn(N, T) -> N) -> Vec<N> {
    let mut sum = N::default();
    let mut sums = vec![sum];
    sums.extend(numbers.map(|number| {
        sum = add(sum, number);
        sum
    }));
    sums
}

/// Returns the concatenated bytes of all rows.
///
/// # Errors
///
/// Fails if the column is malformed.
pub fn decompress(parts: &Parts<'_>) -> Result<Vec<u8>> {
    Column::new(parts.borrowed())?.decode()
}

/// Decodes all rows into a buffer of exactly their size.
///
/// # Errors
///
/// Fails if the column is malformed or the buffer has another size.
pub fn decompress_into(parts: &Parts<'_>, out: &mut [u8]) -> Result<()> {
    Column::new(parts.borrowed())?.decode_into(out)
}

/// Returns the bytes of all rows and where each row ends.
///
/// ```
/// use hypostyle_onpair::{Config, compress, decompress_rows};
///
/// let parts = compress(&["ab", "", "cde"][..], &Config::default())?;
/// let rows = decompress_rows(&parts)?;
/// assert_eq!((&rows.offsets[..], &rows.bytes[..]), (&[0, 2, 2, 5][..], &b"abcde"[..]));
/// assert_eq!(rows.get(2), Some(&b"cde"[..]));
/// # Ok::<(), hypostyle_onpair::Error>(())
/// ```
///
/// # Errors
///
/// Fails if the column is malformed or a row does not have its stored length.
pub fn decompress_rows(parts: &Parts<'_>) -> Result<DecodedRows> {
    Column::new(parts.borrowed())?.decode_rows()
}
