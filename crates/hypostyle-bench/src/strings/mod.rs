//! OnPair columns: size, speed, random rows and search, beside the crates `onpair` and
//! `fsst-rs`.

use std::hint::black_box;
use std::mem::MaybeUninit;

use hypostyle_onpair::{
    Column, Config, Effort, Joined, Offsets, Parse, Parts, Pattern, compress, unpack,
};
use hypostyle_testkit::dice::Dice;
use onpair::Dictionary as _;

use crate::Result;
use crate::bench::Setup;
use crate::measure::{Cost, in_turn, once};
use crate::page::Page;
use crate::table::{Table, Target, mean};

mod columns;

pub(crate) use columns::agents;

use columns::Strings;

/// How often each is timed.
const ROUNDS: usize = 5;

/// Rows that are asked for in one go.
const TAKEN: usize = 500_000;

/// Measures.
pub(crate) fn run(setup: &Setup, page: &mut Page) -> Result<()> {
    let most = if setup.quick { 2 << 20 } else { columns::SIZE };
    let columns = columns::all(setup.corpus()?, most)?;
    page.add(
        "Ours is `hypostyle-onpair`, beside the crates `onpair` 0.3.0 and `fsst-rs` 0.7. One \
         thread unless said; CPU seconds, best of five, the contenders in turn.",
    );
    let mut all = Vec::new();
    for strings in &columns {
        eprintln!("{}", strings.name);
        all.push(measure(strings)?);
    }
    sizes(&all, page);
    speeds(&all, page);
    searches(&all, page);
    targets(&all, page);
    Ok(())
}

/// What was measured of a column.
struct Measured {
    name: &'static str,
    rows: usize,
    bytes: usize,
    /// Bytes, and the width: ours as it comes, with the fewest codes, with more effort.
    ours: (usize, u32),
    fewest: (usize, u32),
    thorough: (usize, u32),
    /// The crate's at its best width, and at 12 bits.
    best: (usize, u32),
    twelve: usize,
    fsst: usize,
    /// Seconds to compress: ours, the crate at our width and at its default, on two threads.
    compress: [Cost; 2],
    default: Cost,
    threads: f64,
    quick: Cost,
    /// Seconds to decode, ours and the crate's, at 12 and at 16 bits.
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

fn rival(strings: &Strings, bits: u32) -> Result<onpair::Column<u32>> {
    let bits = u8::try_from(bits).ok().and_then(|bits| onpair::MaxDictBits::new(bits).ok());
    let config =
        onpair::Config { max_dict_bits: bits.ok_or("a width")?, ..onpair::Config::default() };
    Ok(onpair::compress(&strings.bytes, &strings.offsets, config).map_err(|err| err.to_string())?)
}

fn measure(strings: &Strings) -> Result<Measured> {
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
    agree(strings)?;
    let take = take(&column, &rival, strings);
    let (contains, found) = contains(&column, &rival, strings)?;
    Ok(Measured {
        name: strings.name,
        rows: strings.len(),
        bytes: strings.bytes.len(),
        ours,
        fewest: (size(&fewest, strings), fewest.bits),
        thorough: (size(&thorough, strings), thorough.bits),
        best: best.ok_or("no width")?,
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

/// Bytes of a column as it is stored: packed codes, a front-coded dictionary, and how many
/// codes each row has, in as many bits as the longest needs.
fn size(parts: &Parts<'_>, strings: &Strings) -> usize {
    let mut last: &[u8] = &[];
    let mut dictionary = 0;
    for token in (0..parts.token_count()).map(|index| parts.token(index)) {
        let shared = last.iter().zip(token).take_while(|(a, b)| a == b).count();
        dictionary += 1 + token.len() - shared;
        last = token;
    }
    let offset = |row: usize| parts.row_offsets.get(row).unwrap_or(0);
    let counts = (0..strings.len()).map(|row| offset(row + 1) - offset(row));
    codes_size(parts.code_count, parts.bits) + dictionary + rows_size(counts, strings.len())
}

/// The same for the crate, whose dictionary is tokens and offsets.
fn rival_size(column: &onpair::Column<u32>, strings: &Strings) -> usize {
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

fn fsst(strings: &Strings) -> usize {
    let rows = strings.rows();
    let compressor = fsst::Compressor::train(&rows);
    let compressed = compressor.compress_bulk(&rows);
    let lens = || compressed.iter().map(Vec::len);
    lens().sum::<usize>() + 9 * compressor.symbol_table().len() + rows_size(lens(), rows.len())
}

/// Decodes all: ours from packed codes, the crate's from codes of 16 bits.
fn decode(strings: &Strings, bits: u32) -> Result<[Cost; 2]> {
    let joined = Joined::new(&strings.bytes, &strings.offsets)?;
    let column = Column::new(compress(&joined, &config(Some(bits)))?)?;
    let rival = rival(strings, bits)?;
    let wide = rival.dict.to_wide();
    let mut out = vec![0; strings.bytes.len()];
    let mut other = room(strings.bytes.len());
    let costs = in_turn(
        ROUNDS,
        || column.decode_into(&mut out),
        || onpair::try_decode_into(&rival.codes, wide.as_view(), &mut other).is_ok(),
    );
    if out != strings.bytes {
        return Err("what was decoded is not what was compressed".into());
    }
    Ok(costs)
}

fn room(bytes: usize) -> Vec<MaybeUninit<u8>> {
    vec![MaybeUninit::new(0); bytes + onpair::DECODE_PADDING]
}

/// The crate reads what we write, and we read what it writes.
fn agree(strings: &Strings) -> Result<()> {
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
        let mut out = room(strings.bytes.len());
        let view = onpair::CompactDictionaryView::from(&dictionary);
        let len = onpair::try_decode_into(&codes, view, &mut out).map_err(|err| err.to_string())?;
        if len != strings.bytes.len() {
            return Err(format!("{}: the crate reads ours otherwise", strings.name).into());
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
            return Err(format!("{}: we read the crate's otherwise", strings.name).into());
        }
    }
    Ok(())
}

/// Rows in random order, into one buffer.
fn take(column: &Column<'_>, rival: &onpair::Column<u32>, strings: &Strings) -> [Cost; 2] {
    let mut dice = Dice::new(7);
    let rows: Vec<usize> = (0..TAKEN).map(|_| dice.below(strings.len())).collect();
    let bytes = rows.iter().map(|&row| strings.get(row).len()).sum();
    let (mut out, mut ends) = (Vec::with_capacity(bytes + 1024), Vec::with_capacity(TAKEN));
    let mut other = room(bytes);
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
    strings: &Strings,
) -> Result<([Cost; 2], usize)> {
    let needle = strings.needle.as_bytes();
    let found = column.find(&Pattern::Contains(needle));
    if found != rival.view().rows_containing(needle) {
        return Err(format!("{}: rows with {} differ", strings.name, strings.needle).into());
    }
    let ours = || column.find(&Pattern::Contains(needle));
    Ok((in_turn(ROUNDS, ours, || rival.view().rows_containing(needle)), found.len()))
}

/// Rows that equal one from the middle: on codes, and by comparing strings.
fn equals(column: &Column<'_>, strings: &Strings) -> Result<[Cost; 2]> {
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

fn sizes(all: &[Measured], page: &mut Page) {
    page.heading("Size");
    page.add(
        "Times smaller than the strings, with the dictionary and how many codes each row has. \
         Widths in brackets. The crate's dictionary is counted as tokens and offsets of 32 bits, \
         ours front-coded; rows are counted alike. FSST has one byte where rows end too.",
    );
    let mut table = Table::new([
        "column",
        "rows",
        "default",
        "fewest codes",
        "thorough",
        "crate, best",
        "crate, 12",
        "fsst-rs",
        "default over crate's best",
    ]);
    for it in all {
        let cell = |(size, bits): (usize, u32)| format!("{:.3} ({bits})", ratio(it.bytes, size));
        table.row([
            it.name.to_owned(),
            it.rows.to_string(),
            cell(it.ours),
            cell(it.fewest),
            cell(it.thorough),
            cell(it.best),
            format!("{:.3}", ratio(it.bytes, it.twelve)),
            format!("{:.3}", ratio(it.bytes, it.fsst)),
            format!("{:.3}", ratio(it.best.0, it.ours.0)),
        ]);
    }
    page.table("size", &table);
}

fn speeds(all: &[Measured], page: &mut Page) {
    page.heading("Speed");
    page.add(
        "MB of strings in a second. Times are those of the crate: at our width for compressing, at \
         its default of 12 bits behind it; decoding is from packed codes here, from codes of 16 \
         bits there.",
    );
    let mut table = Table::new([
        "column",
        "compress",
        "times",
        "times, 12",
        "two threads",
        "quick, 12",
        "decode 12",
        "times",
        "decode 16",
        "times",
        "random row",
        "times",
    ]);
    for it in all {
        let speed = |cost: Cost| format!("{:.0}", it.bytes as f64 / 1e6 / cost.cpu);
        let times = |[ours, other]: [Cost; 2]| format!("{:.2}", other.over(ours).cpu);
        let [ours, _] = it.compress;
        table.row([
            it.name.to_owned(),
            speed(ours),
            times(it.compress),
            times([ours, it.default]),
            format!("{:.2}", ours.wall / it.threads),
            speed(it.quick),
            speed(it.decode[0][0]),
            times(it.decode[0]),
            speed(it.decode[1][0]),
            times(it.decode[1]),
            format!("{:.0} ns", it.take[0].cpu * 1e9 / TAKEN as f64),
            times(it.take),
        ]);
    }
    page.table("speed", &table);
}

fn searches(all: &[Measured], page: &mut Page) {
    page.heading("Search");
    page.add("Milliseconds for all rows. Equality is beside comparing the strings themselves.");
    let mut table = Table::new([
        "column",
        "rows found",
        "contains",
        "times the crate",
        "equals",
        "times strings",
    ]);
    for it in all {
        let ms = |cost: Cost| format!("{:.1}", cost.cpu * 1e3);
        let times = |[ours, other]: [Cost; 2]| format!("{:.2}", other.over(ours).cpu);
        table.row([
            it.name.to_owned(),
            it.found.to_string(),
            ms(it.contains[0]),
            times(it.contains),
            ms(it.equals[0]),
            times(it.equals),
        ]);
    }
    page.table("search", &table);
}

fn targets(all: &[Measured], page: &mut Page) {
    let mut line = |what: &str, figure: f64, target| page.target(what, Some(figure), target);
    let mean = |figure: &dyn Fn(&Measured) -> f64| mean(all.iter().map(figure)).unwrap_or(0.0);
    let least = |figure: &dyn Fn(&Measured) -> f64| all.iter().map(figure).fold(f64::MAX, f64::min);
    let most = |figure: &dyn Fn(&Measured) -> f64| all.iter().map(figure).fold(0.0, f64::max);
    let times = |[ours, other]: [Cost; 2]| other.over(ours).cpu;
    let size = |it: &Measured| ratio(it.best.0, it.ours.0);
    line("ratio over the crate's best, least", least(&size), Target::AtLeast(1.0));
    line("ratio over the crate's best, geometric mean", mean(&size), Target::AtLeast(1.04));
    let thorough = |it: &Measured| ratio(it.best.0, it.thorough.0);
    line("the same, thorough and fewest codes", mean(&thorough), Target::None);
    line("the same, least", least(&thorough), Target::None);
    let fsst = |it: &Measured| {
        if it.name == "uuids" { f64::MAX } else { ratio(it.fsst, it.ours.0) }
    };
    line("ratio over fsst-rs but for uuids, least", least(&fsst), Target::AtLeast(1.0));
    let decode = |at: usize| move |it: &Measured| times(it.decode[at]);
    line("decode at 12 bits, geometric mean", mean(&decode(0)), Target::AtLeast(1.0));
    line("decode at 12 bits, least", least(&decode(0)), Target::None);
    line("decode at 16 bits, geometric mean", mean(&decode(1)), Target::AtLeast(1.1));
    line("decode at 16 bits, least", least(&decode(1)), Target::None);
    let take = |it: &Measured| times(it.take);
    line("random rows, geometric mean", mean(&take), Target::AtLeast(3.0));
    let nanoseconds = |it: &Measured| it.take[0].cpu * 1e9 / TAKEN as f64;
    line("random rows, most nanoseconds", most(&nanoseconds), Target::AtMost(70.0));
    line(
        "compress, at the same width, geometric mean",
        mean(&|it| times(it.compress)),
        Target::AtLeast(1.0),
    );
    line(
        "compress, two threads over one, geometric mean",
        mean(&|it| it.compress[0].wall / it.threads),
        Target::None,
    );
    line(
        "compress on two threads over the crate on one, geometric mean",
        mean(&|it| it.compress[1].wall / it.threads),
        Target::AtLeast(1.8),
    );
    line("contains, geometric mean", mean(&|it| times(it.contains)), Target::AtLeast(2.0));
    line("equals over strings, geometric mean", mean(&|it| times(it.equals)), Target::AtLeast(1.0));
}
