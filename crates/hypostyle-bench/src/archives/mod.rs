//! AT-1 archives: their size, and packing and unpacking them, beside xz.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use hypostyle::ReadOptions;
use hypostyle::formats::at1::{self, Archive, Choice, Codec, PackOptions};

use crate::Result;
use crate::bench::Setup;
use crate::corpus::Sample;
use crate::measure::Usage;
use crate::page::Page;

mod contest;
mod tables;

pub(crate) use contest::{PackArgs, Packer, UnpackArgs, Unpacker, pack, tell, unpack, xz_version};

/// The quick level, the one unless the caller chooses, and the long one.
const QUICK: Packer = Packer::Level(1);
const DEFAULT: Packer = Packer::Level(PackOptions::DEFAULT_LEVEL);
const LONG: Packer = Packer::Level(PackOptions::MAX_LEVEL);

/// The rivals: as it comes, and at its best.
const XZ: Packer = Packer::Xz("-6");
const XZ_BEST: Packer = Packer::Xz("-9e");

const PACKERS: [Packer; 5] = [XZ, XZ_BEST, QUICK, DEFAULT, LONG];
const UNPACKERS: [Unpacker; 5] = [
    Unpacker { of: XZ_BEST, threads: 1 },
    Unpacker { of: QUICK, threads: 1 },
    Unpacker { of: QUICK, threads: 2 },
    Unpacker { of: DEFAULT, threads: 1 },
    Unpacker { of: DEFAULT, threads: 2 },
];

/// Codecs that are looked at one by one.
const CODECS: [Codec; 6] =
    [Codec::Columnar, Codec::Json, Codec::JsonDoc, Codec::Log, Codec::Ssh, Codec::Raw];

/// How often a file is packed, unless that takes so many seconds.
const PACK_ROUNDS: usize = 5;
const PACK_SECONDS: f64 = 5.0;
/// How often a file is unpacked.
const UNPACK_ROUNDS: usize = 5;

/// What was found about a file.
#[derive(Debug)]
struct Found<'a> {
    sample: &'a Sample,
    /// The codec of the archive at the default level.
    codec: &'static str,
    /// What single codecs make of it, unless it is a table.
    by_codec: Vec<(Codec, u64)>,
    packed: Vec<(Packer, Usage)>,
    /// Bytes of what was packed.
    sizes: Vec<(Packer, u64)>,
    unpacked: Vec<(Unpacker, Usage)>,
}

impl Found<'_> {
    fn packed(&self, by: Packer) -> Option<Usage> {
        self.packed.iter().find(|(packer, _)| *packer == by).map(|(_, usage)| *usage)
    }

    fn size(&self, by: Packer) -> Option<u64> {
        self.sizes.iter().find(|(packer, _)| *packer == by).map(|(_, bytes)| *bytes)
    }

    fn unpacked(&self, by: Unpacker) -> Option<Usage> {
        self.unpacked.iter().find(|(unpacker, _)| *unpacker == by).map(|(_, usage)| *usage)
    }
}

pub(crate) fn run(setup: &Setup, page: &mut Page) -> Result<()> {
    let folder = setup.folder("archives")?;
    let corpus = setup.corpus()?;
    let xz = contest::xz_version();
    let takes_part = |packer: Packer| match packer {
        Packer::Xz(_) => xz.is_some(),
        Packer::Level(_) => !setup.quick || packer != LONG,
    };
    let packers: Vec<Packer> = PACKERS.into_iter().filter(|&who| takes_part(who)).collect();
    let unpackers: Vec<Unpacker> = UNPACKERS.into_iter().filter(|who| takes_part(who.of)).collect();
    let mut all = Vec::new();
    for sample in &corpus.samples {
        eprintln!("{}: {} bytes", sample.name, sample.bytes);
        all.push(measure(sample, &packers, &unpackers, &folder)?);
    }
    page.data("files", &corpus.table());
    tables::report(page, &all, &packers, &unpackers, corpus.origin, xz.as_deref());
    Ok(())
}

fn measure<'a>(
    sample: &'a Sample,
    packers: &[Packer],
    unpackers: &[Unpacker],
    folder: &Path,
) -> Result<Found<'a>> {
    let archive = |by: Packer| folder.join(format!("{by}"));
    let from = &sample.path;
    let packed = contest::in_turns(packers, PACK_ROUNDS, PACK_SECONDS, |who: Packer| {
        who.pack(from, &archive(who))
    })?;
    let sizes: Result<Vec<_>> =
        packers.iter().map(|&who| Ok((who, fs::metadata(archive(who))?.len()))).collect();
    let unpacked = contest::in_turns(unpackers, UNPACK_ROUNDS, f64::INFINITY, |who: Unpacker| {
        who.unpack(&archive(who.of))
    })?;
    let opened = Bytes::from(fs::read(archive(DEFAULT))?);
    let codec = Archive::open(Arc::new(opened), &ReadOptions::default())?.codec().name();
    let by_codec = if sample.is_table() { Vec::new() } else { by_codec(&fs::read(from)?)? };
    Ok(Found { sample, codec, by_codec, packed, sizes: sizes?, unpacked })
}

/// What single codecs make of a file, where it is what they are for.
fn by_codec(original: &[u8]) -> Result<Vec<(Codec, u64)>> {
    let mut sizes = Vec::new();
    for codec in CODECS {
        let options = PackOptions::default().with_codec(Choice::Only(codec));
        let (_, packed) = at1::pack(original, &options)?;
        if packed.codec == codec {
            sizes.push((codec, packed.stored));
        }
    }
    Ok(sizes)
}
