//! AT-1 archives: packing and unpacking, compared with rivals.

use std::fs;
use std::path::Path;

use crate::Result;
use crate::corpus::CorpusFile;
use crate::measure::Usage;
use crate::packers::{
    self, BROTLI, DEFAULT, GZIP, LONG, Packer, QUICK, Tools, Unpacker, XZ, XZ_BEST, ZSTD, ZSTD_HIGH,
};
use crate::page::ReportPage;
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

/// Slow packers, which a quick run omits.
const SLOW: [Packer; 2] = [BROTLI, LONG];

/// The number of rounds of packing a file, unless they take more than so many seconds.
const PACK_ROUNDS: usize = 5;
const PACK_SECONDS: f64 = 5.0;
/// The number of rounds of unpacking a file.
const UNPACK_ROUNDS: usize = 5;

/// The usage of every competitor on one file.
#[derive(Debug)]
struct ArchiveTimes<'a> {
    sample: &'a CorpusFile,
    packed: Vec<(Packer, Usage)>,
    unpacked: Vec<(Unpacker, Usage)>,
    /// The vendor's decoder and ours, from memory to memory.
    decoded: Option<Decoded>,
}

impl ArchiveTimes<'_> {
    fn packed(&self, by: Packer) -> Option<Usage> {
        self.packed.iter().find(|(packer, _)| *packer == by).map(|(_, usage)| *usage)
    }

    fn unpacked(&self, by: Unpacker) -> Option<Usage> {
        self.unpacked.iter().find(|(unpacker, _)| *unpacker == by).map(|(_, usage)| *usage)
    }
}

/// The competitors of a run.
#[derive(Debug)]
struct Competitors {
    packers: Vec<Packer>,
    unpackers: Vec<Unpacker>,
    vendor: Result<Vendor>,
    rounds: [usize; 2],
}

pub(crate) fn run(setup: &Setup, page: &mut ReportPage) -> Result<()> {
    let folder = setup.folder("archives")?;
    let corpus = setup.corpus()?;
    let tools = Tools::detect();
    let takes_part = |who: Packer| tools.have(who) && !(setup.quick && SLOW.contains(&who));
    let competitors = Competitors {
        packers: PACKERS.into_iter().filter(|&who| takes_part(who)).collect(),
        unpackers: UNPACKERS.into_iter().filter(|who| takes_part(who.of)).collect(),
        vendor: if setup.quick {
            Err("a quick run does not build it".into())
        } else {
            Vendor::build()
        },
        rounds: [PACK_ROUNDS, UNPACK_ROUNDS].map(|full| setup.rounds(full)),
    };
    let mut all = Vec::new();
    for sample in &corpus.samples {
        eprintln!("{}: {} bytes", sample.name, sample.bytes);
        all.push(competitors.measure(sample, &folder)?);
    }
    page.data("files", &corpus.table());
    tables::report(page, &all, &competitors, corpus.origin, &tools);
    Ok(())
}

impl Competitors {
    fn measure<'a>(&self, sample: &'a CorpusFile, folder: &Path) -> Result<ArchiveTimes<'a>> {
        let archive = |by: Packer| folder.join(format!("{by}"));
        let [pack_rounds, unpack_rounds] = self.rounds;
        let packed = packers::alternate(&self.packers, pack_rounds, PACK_SECONDS, |who| {
            who.pack(&sample.path, &archive(who))
        })?;
        let unpacked = packers::alternate(&self.unpackers, unpack_rounds, f64::INFINITY, |who| {
            who.unpack(&archive(who.of))
        })?;
        let decoded = match &self.vendor {
            Ok(vendor) => vendor.decode(&archive(DEFAULT), &sample.name),
            Err(_) => None,
        };
        for &who in &self.packers {
            fs::remove_file(archive(who))?;
        }
        Ok(ArchiveTimes { sample, packed, unpacked, decoded })
    }
}
