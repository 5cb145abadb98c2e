//! From strings to a column.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::MAX_TOKEN_SIZE;

use crate::bits::{Packer, check_width};
use crate::error::{Error, ErrorKind, Result, Section};
use crate::lanes::Cut;
use crate::matcher::Matcher;
use crate::parts::{Offsets, Parse, Parts};
use crate::sample::Sample;
use crate::strings::Strings;
use crate::train::{self, Effort, Token};

/// Bytes of strings that are cut in one go.
const BATCH: usize = 1 << 18;

/// How strings are compressed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The width of codes, 9 to 16; `None` chooses it.
    pub bits: Option<u32>,
    /// How strings are cut into tokens.
    pub parse: Parse,
    /// How hard good tokens are searched for.
    pub effort: Effort,
    /// Whether the length of each row is kept.
    pub lengths: bool,
    /// Threads that cut strings and judge tokens. The column is the same with any number.
    pub threads: usize,
    /// Which strings tokens are learned from.
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

/// Compresses strings.
///
/// # Errors
///
/// A width that is not 9 to 16, [`Parse::Unknown`], and a string of 4 GiB or more.
pub fn compress(strings: &(impl Strings + ?Sized), config: &Config) -> Result<Parts<'static>> {
    Dictionary::train(strings, config)?.compress(strings, config)
}

/// Tokens that strings can be written with.
///
/// Several columns, or the chunks of one, may share a dictionary.
#[derive(Clone, Debug)]
pub struct Dictionary {
    bits: u32,
    matcher: Matcher,
}

impl Dictionary {
    /// Learns tokens from strings.
    ///
    /// They are in order of their bytes, all different, and have every single byte
    /// among them.
    ///
    /// # Errors
    ///
    /// A width that is not 9 to 16.
    pub fn train(strings: &(impl Strings + ?Sized), config: &Config) -> Result<Self> {
        if let Some(bits) = config.bits {
            check_width(bits)?;
        }
        let sample = Sample::new(strings, config.effort.sample(config.bits), config.seed);
        let mut tokens = train::dictionary(&sample, config.bits, config.effort, config.threads);
        tokens.sort_unstable_by(|one, other| one.bytes().cmp(other.bytes()));
        // One that found no place while learning may have been learned twice.
        tokens.dedup();
        let matcher = Matcher::new(tokens, 0);
        Ok(Self { bits: train::width(matcher.tokens().len()), matcher })
    }

    /// The tokens, in order.
    pub fn tokens(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.matcher.tokens().iter().map(Token::bytes)
    }

    /// Compresses strings with these tokens.
    ///
    /// # Errors
    ///
    /// As [`compress`].
    pub fn compress(
        &self,
        strings: &(impl Strings + ?Sized),
        config: &Config,
    ) -> Result<Parts<'static>> {
        if config.parse == Parse::Unknown {
            return Err(Error::new(Section::Input, 0, ErrorKind::Order));
        }
        let lengths = (0..strings.len()).map(|row| {
            let len = u32::try_from(strings.get(row).len());
            len.map_err(|_| Error::new(Section::Input, row, ErrorKind::TooLarge))
        });
        let lengths: Vec<u32> = lengths.collect::<Result<_>>()?;
        let mut packer = Packer::new(self.bits);
        let mut counts = Vec::with_capacity(lengths.len());
        self.cut(strings, &batches(&lengths), config, |cut| {
            packer.extend(&cut.codes);
            counts.extend_from_slice(&cut.counts);
        });
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

    /// Cuts all batches; gives their codes in order.
    fn cut(
        &self,
        strings: &(impl Strings + ?Sized),
        batches: &[Range<usize>],
        config: &Config,
        mut each: impl FnMut(&Cut),
    ) {
        let threads = config.threads.clamp(1, batches.len().max(1));
        if threads == 1 {
            let mut cut = Cut::default();
            for rows in batches {
                cut.clear();
                self.cut_rows(strings, rows.clone(), config.parse, &mut cut);
                each(&cut);
            }
            return;
        }
        // A task is a run of batches, so that what each thread gives is put together
        // in order.
        let tasks = batches.len().div_ceil(TASK);
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::with_capacity(tasks));
        let work = || {
            loop {
                let task = next.fetch_add(1, Ordering::Relaxed);
                let Some(batches) = batches.chunks(TASK).nth(task) else { break };
                let mut cut = Cut::default();
                for rows in batches {
                    self.cut_rows(strings, rows.clone(), config.parse, &mut cut);
                }
                if let Ok(mut done) = done.lock() {
                    done.push((task, cut));
                }
            }
        };
        thread::scope(|scope| {
            (1..threads).for_each(|_| {
                scope.spawn(work);
            });
            work();
        });
        let mut done = done.into_inner().unwrap_or_default();
        done.sort_by_key(|&(task, _)| task);
        done.iter().for_each(|(_, cut)| each(cut));
    }

    fn cut_rows(
        &self,
        strings: &(impl Strings + ?Sized),
        rows: Range<usize>,
        parse: Parse,
        cut: &mut Cut,
    ) {
        if parse == Parse::Greedy {
            cut.rows(&self.matcher, strings, rows);
            return;
        }
        let mut room = Vec::new();
        for row in rows {
            let before = cut.codes.len();
            self.matcher.cut_fewest(strings.get(row), &mut cut.codes, &mut room);
            // A row has less than 4 GiB.
            cut.counts.push(u32::try_from(cut.codes.len() - before).unwrap_or(u32::MAX));
        }
    }
}

/// Batches of a task.
const TASK: usize = 16;

/// Rows that are cut in one go.
fn batches(lengths: &[u32]) -> Vec<Range<usize>> {
    let mut batches = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (row, &len) in lengths.iter().enumerate() {
        bytes += len as usize;
        if bytes >= BATCH || row + 1 - start >= BATCH {
            batches.push(start..row + 1);
            (start, bytes) = (row + 1, 0);
        }
    }
    if start < lengths.len() {
        batches.push(start..lengths.len());
    }
    batches
}

/// The sums before each number, and that of all.
fn sums<T, N: Copy + Default>(numbers: impl Iterator<Item = T>, add: impl Fn(N, T) -> N) -> Vec<N> {
    let mut sum = N::default();
    let mut sums = vec![sum];
    sums.extend(numbers.map(|number| {
        sum = add(sum, number);
        sum
    }));
    sums
}

/// The bytes of all rows of a column.
///
/// # Errors
///
/// A malformed column.
pub fn decompress(parts: &Parts<'_>) -> Result<Vec<u8>> {
    crate::Column::new(parts.borrowed())?.decode()
}

/// Decodes all rows of a column into a buffer of exactly their size.
///
/// # Errors
///
/// A malformed column, and a buffer of another size.
pub fn decompress_into(parts: &Parts<'_>, out: &mut [u8]) -> Result<()> {
    crate::Column::new(parts.borrowed())?.decode_into(out)
}
