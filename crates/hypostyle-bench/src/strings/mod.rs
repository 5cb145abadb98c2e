//! OnPair columns: size, speed, random rows and search, compared with the crates `onpair` and
//! `fsst-rs`.

use std::hint::black_box;
use std::mem::MaybeUninit;

use hypostyle_onpair::{
    Column, Config, Effort, Joined, Offsets, Parse, Parts, Pattern, compress, unpack,
};
use hypostyle_testkit::rng::Rng;
use onpair::Dictionary as _;

use crate::Result;
use crate::measure::{Cost, in_turn, once};
use crate::page::ReportPage;
use crate::setup::Setup;

mod candidates;
mod columns;
mod tables;

pub(crate) use columns::agents;

use columns::StringColumn;

/// The number of rounds of each measurement.
const ROUNDS: usize = 5;

/// The number of random rows in one call.
const TAKEN_ROWS: usize = 500_000;

/// The column size and the number of columns of a quick run.
const QUICK_BYTES: usize = 1 << 20;
const QUICK_COLUMNS: usize = 3;

/// Runs the bench.
pub(crate) fn run(setup: &Setup, page: &mut ReportPage) -> Result<()> {
    let max_bytes = if setup.quick { QUICK_BYTES } else { columns::COLUMN_BYTES };
    let mut columns = columns::all(setup.corpus()?, max_bytes)?;
    if setup.quick {
        columns.truncate(QUICK_COLUMNS);
    }
    page.add(
        "`hypostyle-onpair` compared with the crates `onpair` 0.3.0 and `fsst-rs` 0.7. Unless noted, \
         figures are CPU seconds on one thread, the best of five rounds in which the competitors \
         alternate.",
    );
    page.data("files", &columns::table(&columns));
    let mut all = Vec::new();
    for strings in &columns {
        eprintln!("{}", strings.name);
        all.push(measure(strings)?);
    }
    tables::sizes(&all, page);
    tables::speeds(&all, page);
    tables::searches(&all, page);
    tables::targets(&all, page);
    let mut others = Vec::new();
    for strings in &columns {
        eprintln!("{}, other encodings", strings.name);
        others.push((strings.name, candidates::measure(strings, setup.rounds(ROUNDS))?));
    }
    tables::candidates(&others, page);
    Ok(())
}

/// The measurements of a column.
struct ColumnResult {
    name: &'static str,
    rows: usize,
    bytes: usize,
    /// Size in bytes and code width of ours: default, fewest codes, thorough.
    ours: (usize, u32),
    /// Our size with row lengths counted as for the crate.
    fixed_width_rows: usize,
    fewest: (usize, u32),
    thorough: (usize, u32),
    /// The size of the crate at its best width, and at 12 bits.
    best: (usize, u32),
    twelve: usize,
    fsst: usize,
    /// The cost of compressing: ours, the crate at our width and at its default, ours on two
    /// threads.
    compress: [Cost; 2],
    default: Cost,
    threads: f64,
    quick: Cost,
    /// The cost of decoding, ours and the crate's, at 12 and at 16 bits.
    decode: [[Cost; 2]; 2],
    take: [Cost; 2],
    contains: [Cost; 2],
    found: usize,
    equals: [Cost; 2],
}

fn config(bits: Option<u32>) -> Config {
    let mut config = Config::default();
    config.bits = bits;
    config
}

fn rival(strings: &StringColumn, bits: u32) -> Result<onpair::Column<u32>> {
    let bits = u8::try_from(bits).ok().and_then(|bits| onpair::MaxDictBits::new(bits).ok());
    let config = onpair::Config {
        max_dict_bits: bits.ok_or("the width is out of range")?,
        ..onpair::Config::default()
    };
    Ok(onpair::compress(&strings.bytes, &strings.offsets, config).map_err(|err| err.to_string())?)
}

fn measure(strings: &StringColumn) -> Result<ColumnResult> {
    let joined = Joined::new(&strings.bytes, &strings.offsets)?;
    let make = |config: &Config| compress(&joined, config);
    let parts = make(&config(None))?;
    let ours = (size(&parts, strings), parts.bits);
    let mut other = config(None);
    other.parse = Parse::Fewest;
    let fewest = make(&other)?;
    other.effort = Effort::Thorough;
    let thorough = make(&other)?;

    let mut best: Option<(usize, u32)> = None;
    let mut twelve = 0;
    for bits in 9..=16 {
        let size = rival_size(&rival(strings, bits)?, strings);
        if bits == 12 {
            twelve = size;
        }
        best = Some(best.map_or((size, bits), |best| best.min((size, bits))));
    }
    let compress = in_turn(3, || make(&config(None)), || rival(strings, parts.bits));
    let default = in_turn(3, || (), || rival(strings, 12))[1];
    let mut quick = config(Some(12));
    quick.effort = Effort::Quick;
    let quick = in_turn(3, || make(&quick), || ())[0];
    let mut two = config(None);
    two.threads = 2;
    let threads = (0..3).map(|_| once(|| make(&two)).0.wall).fold(f64::INFINITY, f64::min);

    let decode = [decode(strings, 12)?, decode(strings, 16)?];
    let rival = rival(strings, parts.bits)?;
    let column = Column::new(parts.borrowed())?;
    check_compatibility(strings)?;
    let take = take(&column, &rival, strings);
    let (contains, found) = contains(&column, &rival, strings)?;
    Ok(ColumnResult {
        name: strings.name,
        rows: strings.len(),
        bytes: strings.bytes.len(),
        ours,
        fixed_width_rows: size_with_fixed_width_rows(&parts, strings),
        fewest: (size(&fewest, strings), fewest.bits),
        thorough: (size(&thorough, strings), thorough.bits),
        best: best.ok_or("no width was measured")?,
        twelve,
        fsst: fsst(strings),
        compress,
        default,
        threads,
        quick,
        decode,
        take,
        contains,
        found,
        equals: equals(&column, strings)?,
    })
}

/// Returns the size of a column in an `.onpair` file: packed codes, a front-coded dictionary, and
/// the encoded number of codes per row.
fn size(parts: &Parts<'_>, strings: &StringColumn) -> usize {
    let counts: Vec<u32> = counts(parts).filter_map(|count| count.try_into().ok()).collect();
    let coded = hypostyle_onpair::pack_counts(&counts).len();
    let plain = rows_size(self::counts(parts), strings.len());
    let rows = if coded == 0 { plain } else { plain.min(coded) };
    size_without_rows(parts) + rows
}

/// Returns the size with a fixed width for the number of codes per row, as for the rivals.
fn size_with_fixed_width_rows(parts: &Parts<'_>, strings: &StringColumn) -> usize {
    size_without_rows(parts) + rows_size(counts(parts), strings.len())
}

/// Returns the number of codes of each row.
fn counts(parts: &Parts<'_>) -> impl Iterator<Item = usize> {
    let offset = |row: usize| parts.row_offsets.get(row).unwrap_or(0);
    (0..parts.row_count()).map(move |row| offset(row + 1) - offset(row))
}

fn size_without_rows(parts: &Parts<'_>) -> usize {
    let mut last: &[u8] = &[];
    let mut dictionary = 0;
    for token in (0..parts.token_count()).map(|index| parts.token(index)) {
        let shared = last.iter().zip(token).take_while(|(a, b)| a == b).count();
        dictionary += 1 + token.len() - shared;
        last = token;
    }
    codes_size(parts.code_count, parts.bits) + dictionary
}

/// Returns the size of a column of the crate, whose dictionary is tokens and offsets.
fn rival_size(column: &onpair::Column<u32>, strings: &StringColumn) -> usize {
    let view = column.view();
    let tokens = column.dict.num_tokens();
    let bits = tokens.next_power_of_two().trailing_zeros();
    let counts = || (0..strings.len()).map(|row| view.row_codes(row).len());
    let dictionary = column.dict.bytes().len() + 4 * (tokens + 1);
    codes_size(counts().sum(), bits) + dictionary + rows_size(counts(), strings.len())
}

fn codes_size(codes: usize, bits: u32) -> usize {
    (codes * bits as usize).div_ceil(8)
}

fn rows_size(counts: impl Iterator<Item = usize>, rows: usize) -> usize {
    let bits = usize::BITS - counts.max().unwrap_or(0).leading_zeros();
    (rows * bits as usize).div_ceil(8)
}

fn fsst(strings: &StringColumn) -> usize {
    let rows = strings.rows();
    let compressor = fsst::Compressor::train(&rows);
    let compressed = compressor.compress_bulk(&rows);
    let lens = || compressed.iter().map(Vec::len);
    lens().sum::<usize>() + 9 * compressor.symbol_table().len() + rows_size(lens(), rows.len())
}

/// Times decoding a whole column: ours from packed codes, the crate's from 16-bit codes.
fn decode(strings: &StringColumn, bits: u32) -> Result<[Cost; 2]> {
    let joined = Joined::new(&strings.bytes, &strings.offsets)?;
    let column = Column::new(compress(&joined, &config(Some(bits)))?)?;
    let rival = rival(strings, bits)?;
    let wide = rival.dict.to_wide();
    let mut out = vec![0; strings.bytes.len()];
    let mut other = uninit_buffer(strings.bytes.len());
    let costs = in_turn(
        ROUNDS,
        || column.decode_into(&mut out),
        || onpair::try_decode_into(&rival.codes, wide.as_view(), &mut other).is_ok(),
    );
    if out != strings.bytes {
        return Err("the decoded strings differ from the original".into());
    }
    Ok(costs)
}

fn uninit_buffer(bytes: usize) -> Vec<MaybeUninit<u8>> {
    vec![MaybeUninit::new(0); bytes + onpair::DECODE_PADDING]
}

/// Returns whether a buffer contains these bytes.
#[expect(unsafe_code, reason = "the crate writes its output into uninitialized bytes")]
fn is_same(buffer: &[MaybeUninit<u8>], bytes: &[u8]) -> bool {
    // SAFETY: `uninit_buffer` sets every byte.
    let same = |(one, other): (&MaybeUninit<u8>, &u8)| unsafe { one.assume_init() } == *other;
    buffer.len() == bytes.len() && buffer.iter().zip(bytes).all(same)
}

/// Checks that the crate reads our columns and that we read its columns.
fn check_compatibility(strings: &StringColumn) -> Result<()> {
    let joined = Joined::new(&strings.bytes, &strings.offsets)?;
    for bits in 9..=16 {
        let ours = compress(&joined, &config(Some(bits)))?;
        let storage = onpair::OwnedDictionaryStorage::new(
            ours.dict_bytes.to_vec(),
            ours.dict_offsets.to_vec(),
        );
        let dictionary =
            onpair::CompactDictionary::validate(storage).map_err(|err| err.to_string())?;
        let codes = unpack(&ours.codes, ours.bits, ours.code_count)?;
        let mut out = uninit_buffer(strings.bytes.len());
        let view = onpair::CompactDictionaryView::from(&dictionary);
        let len = onpair::try_decode_into(&codes, view, &mut out).map_err(|err| err.to_string())?;
        if !is_same(&out[..len], &strings.bytes) {
            return Err(
                format!("{}: the crate decodes our column differently", strings.name).into()
            );
        }

        let theirs = rival(strings, bits)?;
        let (dictionary, codes, offsets) = theirs.into_raw();
        let (dict_bytes, dict_offsets) = dictionary.into_raw();
        let width = dict_offsets.len().next_power_of_two().trailing_zeros().clamp(9, 16);
        let parts = Parts {
            bits: width,
            dict_bytes: dict_bytes.into(),
            dict_offsets: dict_offsets.into(),
            codes: hypostyle_onpair::pack(&codes, width)?.into(),
            code_count: codes.len(),
            row_offsets: Offsets::Narrow(offsets.into()),
            row_lengths: None,
            parse: Parse::Greedy,
        };
        let column = Column::new(parts)?;
        if column.decode()? != strings.bytes || column.len() != strings.len() {
            return Err(
                format!("{}: we decode the crate's column differently", strings.name).into()
            );
        }
    }
    Ok(())
}

/// Times decoding random rows into one buffer.
fn take(column: &Column<'_>, rival: &onpair::Column<u32>, strings: &StringColumn) -> [Cost; 2] {
    let mut rng = Rng::new(7);
    let rows: Vec<usize> = (0..TAKEN_ROWS).map(|_| rng.below(strings.len())).collect();
    let bytes = rows.iter().map(|&row| strings.get(row).len()).sum();
    let (mut out, mut ends) = (Vec::with_capacity(bytes + 1024), Vec::with_capacity(TAKEN_ROWS));
    let mut other = uninit_buffer(bytes);
    let view = rival.view();
    in_turn(
        ROUNDS,
        || {
            out.clear();
            ends.clear();
            column.take(&rows, &mut out, &mut ends)
        },
        || {
            let mut at = 0;
            for &row in &rows {
                let dictionary = onpair::CompactDictionaryView::from(&rival.dict);
                let codes = view.row_codes(row);
                at += onpair::try_decode_into(codes, dictionary, &mut other[at..]).unwrap_or(0);
            }
            at
        },
    )
}

fn contains(
    column: &Column<'_>,
    rival: &onpair::Column<u32>,
    strings: &StringColumn,
) -> Result<([Cost; 2], usize)> {
    let needle = strings.needle.as_bytes();
    let found = column.find(&Pattern::Contains(needle));
    if found != rival.view().rows_containing(needle) {
        return Err(format!("{}: rows with {} differ", strings.name, strings.needle).into());
    }
    let ours = || column.find(&Pattern::Contains(needle));
    Ok((in_turn(ROUNDS, ours, || rival.view().rows_containing(needle)), found.len()))
}

/// Times finding rows equal to the middle row: on codes, and by comparing strings.
fn equals(column: &Column<'_>, strings: &StringColumn) -> Result<[Cost; 2]> {
    let needle = strings.get(strings.len() / 2).to_vec();
    let rows = strings.rows();
    let plain = || {
        let same = |(_, row): &(usize, &&[u8])| **row == needle;
        rows.iter().enumerate().filter(same).map(|(index, _)| index).collect::<Vec<usize>>()
    };
    if column.find(&Pattern::Equals(&needle)) != plain() {
        return Err(format!("{}: equal rows differ", strings.name).into());
    }
    let ours = || column.find(&Pattern::Equals(&needle));
    Ok(in_turn(ROUNDS, ours, || black_box(plain())))
}

fn ratio(bytes: usize, size: usize) -> f64 {
    bytes as f64 / size.max(1) as f64
}
