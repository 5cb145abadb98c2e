//! AT-1 archives: packing and unpacking them, beside the rivals.

use std::fs;
use std::path::Path;

use crate::Result;
use crate::corpus::Sample;
use crate::measure::Usage;
use crate::packers::{
    self, BROTLI, DEFAULT, GZIP, LONG, Packer, QUICK, Tools, Unpacker, XZ, XZ_BEST, ZSTD, ZSTD_HIGH,
};
use crate::page::Page;
use crate::setup::Setup;

mod figures;
mod tables;
mod targets;
mod vendor;

use vendor::{Decoded, Vendor};

const PACKERS: [Packer; 9] = [XZ, XZ_BEST, ZSTD, ZSTD_HIGH, BROTLI, GZIP, QUICK, DEFAULT, LONG];
const UNPACKERS: [Unpacker; 9] = [
    Unpacker { of: XZ_BEST, threads: 1 },
    Unpacker { of: ZSTD, threads: 1 },
    Unpacker { of: ZSTD_HIGH, threads: 1 },
    Unpacker { of: BROTLI, threads: 1 },
    Unpacker { of: GZIP, threads: 1 },
    Unpacker { of: QUICK, threads: 1 },
    Unpacker { of: QUICK, threads: 2 },
    Unpacker { of: DEFAULT, threads: 1 },
    Unpacker { of: DEFAULT, threads: 2 },
];

/// What takes long, and a quick run does without.
const SLOW: [Packer; 2] = [BROTLI, LONG];

/// How often a file is packed, unless that takes so many seconds.
const PACK_ROUNDS: usize = 5;
const PACK_SECONDS: f64 = 5.0;
/// How often a file is unpacked.
const UNPACK_ROUNDS: usize = 5;

/// What was found about a file.
#[derive(Debug)]
struct Found<'a> {
    sample: &'a Sample,
    packed: Vec<(Packer, Usage)>,
    unpacked: Vec<(Unpacker, Usage)>,
    /// The vendor's decoder beside ours, from memory to memory.
    decoded: Option<Decoded>,
}

impl Found<'_> {
    fn packed(&self, by: Packer) -> Option<Usage> {
        self.packed.iter().find(|(packer, _)| *packer == by).map(|(_, usage)| *usage)
    }

    fn unpacked(&self, by: Unpacker) -> Option<Usage> {
        self.unpacked.iter().find(|(unpacker, _)| *unpacker == by).map(|(_, usage)| *usage)
    }
}

/// Who takes part.
#[derive(Debug)]
struct Contest {
    packers: Vec<Packer>,
    unpackers: Vec<Unpacker>,
    vendor: Result<Vendor>,
    rounds: [usize; 2],
}

pub(crate) fn run(setup: &Setup, page: &mut Page) -> Result<()> {
    let folder = setup.folder("archives")?;
    let corpus = setup.corpus()?;
    let tools = Tools::look();
    let takes_part = |who: Packer| tools.have(who) && !(setup.quick && SLOW.contains(&who));
    let contest = Contest {
        packers: PACKERS.into_iter().filter(|&who| takes_part(who)).collect(),
        unpackers: UNPACKERS.into_iter().filter(|who| takes_part(who.of)).collect(),
        vendor: if setup.quick {
            Err("a quick run does not build it".into())
        } else {
            Vendor::build()
        },
        rounds: [PACK_ROUNDS, UNPACK_ROUNDS].map(|usual| setup.rounds(usual)),
    };
    let mut all = Vec::new();
    for sample in &corpus.samples {
        eprintln!("{}: {} bytes", sample.name, sample.bytes);
        all.push(contest.measure(sample, &folder)?);
    }
    page.data("files", &corpus.table());
    tables::report(page, &all, &contest, corpus.origin, &tools);
    Ok(())
}

impl Contest {
    fn measure<'a>(&self, sample: &'a Sample, folder: &Path) -> Result<Found<'a>> {
        let archive = |by: Packer| folder.join(format!("{by}"));
        let [pack_rounds, unpack_rounds] = self.rounds;
        let packed = packers::in_turns(&self.packers, pack_rounds, PACK_SECONDS, |who| {
            who.pack(&sample.path, &archive(who))
        })?;
        let unpacked = packers::in_turns(&self.unpackers, unpack_rounds, f64::INFINITY, |who| {
            who.unpack(&archive(who.of))
        })?;
        let decoded = match &self.vendor {
            Ok(vendor) => vendor.decode(&archive(DEFAULT), &sample.name),
            Err(_) => None,
        };
        for &who in &self.packers {
            fs::remove_file(archive(who))?;
        }
        Ok(Found { sample, packed, unpacked, decoded })
    }
}
