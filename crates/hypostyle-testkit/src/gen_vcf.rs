//! Generates variant calls (VCF) the way the usual tools write them, for any number of samples.
//!
//! Genotypes come from a coalescent tree of haplotypes. A variant is a mutation on one of its
//! branches, so most variants are rare, and variants of one branch have the same carriers.
//! Recombination moves a branch from time to time, so distant variants are less correlated.

#![expect(clippy::indexing_slicing, reason = "indices are in range by construction")]

use std::fmt::Write;

use crate::rng::{Rng, truncate};

/// The fields that each sample has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// Phased genotypes only, as in reference panels: `0|1`.
    Phased,
    /// Genotypes of a joint call: `GT:AD:DP:GQ:PL`, with `PGT` and `PID` at phased sites.
    Clinical,
    /// Phased genotypes with dosage and probabilities: `GT:DS:GP`.
    Imputed,
}

/// Generates a VCF file with so many sites and samples.
pub fn vcf(calls: Calls, sites: usize, samples: usize, seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut text = header(calls, samples, &mut rng);
    let mut tree = Tree::new(samples * 2, &mut rng);
    let depths: Vec<f64> = (0..samples).map(|_| 30.0 + 6.0 * rng.normal()).collect();
    let mut position = 16_050_075_u64;
    let mut newest = 587_697_622_u64;
    for _ in 0..sites {
        position +=
            u64::from(truncate(rng.exponential(if calls == Calls::Phased { 34.0 } else { 250.0 })))
                + 1;
        newest += u64::from(truncate(rng.exponential(40.0)));
        let events = rng.poisson(0.8);
        (0..events).for_each(|_| tree.recombine(&mut rng));
        let site = Site::new(position, newest, tree.mutation(&mut rng), calls, &mut rng);
        match calls {
            Calls::Phased => site.phased(&mut text, &mut rng),
            Calls::Clinical => site.clinical(&depths, &mut text, &mut rng),
            Calls::Imputed => site.imputed(&mut text, &mut rng),
        }
        text.push('\n');
    }
    text.into_bytes()
}

/// Lengths of chromosomes, in millions of bases.
const CHROMOSOME_LENGTHS: [u64; 24] = [
    249, 243, 198, 191, 180, 171, 159, 146, 141, 135, 135, 133, 115, 107, 102, 90, 81, 78, 59, 63,
    48, 51, 155, 59,
];

fn header(calls: Calls, samples: usize, rng: &mut Rng) -> String {
    let mut text = String::from(
        "##fileformat=VCFv4.2\n##FILTER=<ID=PASS,Description=\"All filters passed\">\n",
    );
    for (at, length) in CHROMOSOME_LENGTHS.iter().enumerate() {
        let length = length * 1_000_000 + rng.next_u64() % 1_000_000;
        let name =
            ["X", "Y"].get(at.wrapping_sub(22)).map_or((at + 1).to_string(), ToString::to_string);
        let _ = writeln!(text, "##contig=<ID={name},assembly=b37,length={length}>");
    }
    for at in 0..60 {
        let length = 4000 + rng.below(500_000);
        let _ = writeln!(text, "##contig=<ID=GL000{}.1,assembly=b37,length={length}>", 191 + at);
    }
    const FIELDS: [(&str, &str, &str, &str); 22] = [
        (
            "INFO",
            "AC",
            "A,Type=Integer",
            "Allele count in genotypes, for each ALT allele, in the same order as listed",
        ),
        (
            "INFO",
            "AF",
            "A,Type=Float",
            "Allele Frequency, for each ALT allele, in the same order as listed",
        ),
        ("INFO", "AN", "1,Type=Integer", "Total number of alleles in called genotypes"),
        ("INFO", "NS", "1,Type=Integer", "Number of samples with data"),
        (
            "INFO",
            "DP",
            "1,Type=Integer",
            "Approximate read depth; some reads may have been filtered",
        ),
        (
            "INFO",
            "BaseQRankSum",
            "1,Type=Float",
            "Z-score from Wilcoxon rank sum test of Alt Vs. Ref base qualities",
        ),
        (
            "INFO",
            "ExcessHet",
            "1,Type=Float",
            "Phred-scaled p-value for exact test of excess heterozygosity",
        ),
        (
            "INFO",
            "FS",
            "1,Type=Float",
            "Phred-scaled p-value using Fisher's exact test to detect strand bias",
        ),
        (
            "INFO",
            "InbreedingCoeff",
            "1,Type=Float",
            "Inbreeding coefficient as estimated from the genotype likelihoods",
        ),
        (
            "INFO",
            "MLEAC",
            "A,Type=Integer",
            "Maximum likelihood expectation (MLE) for the allele counts",
        ),
        (
            "INFO",
            "MLEAF",
            "A,Type=Float",
            "Maximum likelihood expectation (MLE) for the allele frequency",
        ),
        ("INFO", "MQ", "1,Type=Float", "RMS Mapping Quality"),
        (
            "INFO",
            "MQRankSum",
            "1,Type=Float",
            "Z-score From Wilcoxon rank sum test of Alt vs. Ref read mapping qualities",
        ),
        ("INFO", "QD", "1,Type=Float", "Variant Confidence/Quality by Depth"),
        (
            "INFO",
            "ReadPosRankSum",
            "1,Type=Float",
            "Z-score from Wilcoxon rank sum test of Alt vs. Ref read position bias",
        ),
        (
            "INFO",
            "SOR",
            "1,Type=Float",
            "Symmetric Odds Ratio of 2x2 contingency table to detect strand bias",
        ),
        ("INFO", "VT", ".,Type=String", "indicates what type of variant the line represents"),
        ("FORMAT", "GT", "1,Type=String", "Genotype"),
        (
            "FORMAT",
            "AD",
            "R,Type=Integer",
            "Allelic depths for the ref and alt alleles in the order listed",
        ),
        (
            "FORMAT",
            "DP",
            "1,Type=Integer",
            "Approximate read depth (reads with MQ=255 or with bad mates are filtered)",
        ),
        ("FORMAT", "GQ", "1,Type=Integer", "Genotype Quality"),
        (
            "FORMAT",
            "PL",
            "G,Type=Integer",
            "Normalized, Phred-scaled likelihoods for genotypes as defined in the VCF specification",
        ),
    ];
    for (kind, id, number, about) in FIELDS {
        let _ = writeln!(text, "##{kind}=<ID={id},Number={number},Description=\"{about}\">");
    }
    text += "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT";
    let mut number = 96;
    for _ in 0..samples {
        number += 1 + rng.log_uniform(30);
        let _ = match calls {
            Calls::Phased => write!(text, "\tHG{number:05}"),
            _ => write!(text, "\tS{:04}-{}", number, rng.below(3) + 1),
        };
    }
    text + "\n"
}

/// The ancestry of haplotypes at one position of the genome.
#[derive(Debug)]
struct Tree {
    /// Haplotypes, ordered so that every branch is a contiguous range.
    leaves: Vec<usize>,
    /// The age of the common ancestor of each leaf and its predecessor; lower is older.
    ranks: Vec<u64>,
}

impl Tree {
    fn new(haplotypes: usize, rng: &mut Rng) -> Self {
        // Samples of one population are neighbours.
        let mut leaves: Vec<(f64, usize)> = (0..haplotypes)
            .map(|leaf| (leaf as f64 + rng.normal() * haplotypes as f64 / 12.0, leaf))
            .collect();
        leaves.sort_by(|one, other| one.0.total_cmp(&other.0));
        let ranks = (0..haplotypes).map(|_| rng.next_u64()).collect();
        Self { leaves: leaves.into_iter().map(|(_, leaf)| leaf).collect(), ranks }
    }

    /// Picks a branch and returns the range of its leaves.
    fn branch(&self, rng: &mut Rng) -> std::ops::Range<usize> {
        let leaves = self.leaves.len();
        // Old branches are few and long; most are young because populations have grown.
        let level = if rng.chance(0.45) {
            leaves as f64
        } else {
            2.0 * (leaves as f64 / 2.0).powf(rng.fraction())
        };
        let share = level / leaves as f64;
        let oldest = if share >= 1.0 {
            u64::MAX
        } else {
            u64::from(truncate(share * f64::from(u32::MAX))) << 32
        };
        let cut = |at: &usize| self.ranks.get(*at).is_none_or(|&rank| rank <= oldest);
        loop {
            let at = rng.below(leaves);
            let start = (0..=at).rev().find(|at| *at == 0 || cut(at)).unwrap_or(0);
            let end = (at + 1..leaves).find(cut).unwrap_or(leaves);
            // A uniform leaf favours long branches; rejection makes branches equally likely.
            if rng.chance(1.0 / ((end - start) as f64 * share).max(1.0)) {
                return start..end;
            }
        }
    }

    /// Returns for each haplotype whether it carries a new mutation.
    fn mutation(&self, rng: &mut Rng) -> Vec<bool> {
        let mut carriers = vec![false; self.leaves.len()];
        let branch = self.branch(rng);
        for &leaf in self.leaves.get(branch).unwrap_or_default() {
            carriers[leaf] = true;
        }
        carriers
    }

    /// Moves a branch to another place in the tree.
    fn recombine(&mut self, rng: &mut Rng) {
        let branch = self.branch(rng);
        if branch.len() == self.leaves.len() {
            return;
        }
        let near = self.leaves[branch.start];
        let leaves: Vec<usize> = self.leaves.drain(branch.clone()).collect();
        let ranks: Vec<u64> = self.ranks.drain(branch).collect();
        let kin = self.leaves.len() / 20 + 1;
        // Prefer a place in the same population.
        let to = (0..50)
            .map(|_| rng.below(self.leaves.len()))
            .find(|&at| self.leaves[at].abs_diff(near) < kin)
            .unwrap_or_else(|| rng.below(self.leaves.len()));
        self.leaves.splice(to..to, leaves);
        self.ranks.splice(to..to, ranks);
    }
}

#[derive(Debug)]
struct Site {
    position: u64,
    id: String,
    from: String,
    to: Vec<String>,
    carriers: Vec<bool>,
}

impl Site {
    fn new(position: u64, newest: u64, carriers: Vec<bool>, calls: Calls, rng: &mut Rng) -> Self {
        const BASES: [&str; 4] = ["A", "C", "G", "T"];
        let from = rng.below(4);
        // Transitions are twice as common as both transversions together.
        let to = if rng.chance(0.67) { from ^ 2 } else { from ^ (1 + 2 * rng.below(2)) };
        let mut from = BASES[from].to_owned();
        let mut to = vec![BASES[to].to_owned()];
        if rng.chance(0.08) {
            let more: String = (0..=rng.log_uniform(12)).map(|_| *rng.choose(&BASES)).collect();
            if rng.chance(0.6) {
                (from, to) = (format!("{from}{more}"), vec![from]);
            } else {
                to = vec![format!("{from}{more}")];
            }
        } else if rng.chance(0.02) && calls != Calls::Imputed {
            to.push(
                BASES[(BASES.iter().position(|base| *base == to[0]).unwrap_or(0) + 1) % 4]
                    .to_owned(),
            );
            to.dedup();
        }
        let id = match rng.below(20) {
            0..2 => ".".to_owned(),
            2..12 => format!("rs{newest}"),
            _ => format!("rs{}", 1_000_000 + rng.below(200_000_000)),
        };
        Self { position, id, from, to, carriers }
    }

    fn columns(&self, quality: &str, filter: &str, text: &mut String) {
        let Self { position, id, from, to, .. } = self;
        let to = to.join(",");
        let _ = write!(text, "22\t{position}\t{id}\t{from}\t{to}\t{quality}\t{filter}\t");
    }

    /// Returns the allele of each haplotype.
    fn alleles(&self) -> impl Iterator<Item = usize> + '_ {
        let other = self.to.len() > 1;
        self.carriers.iter().enumerate().map(move |(at, &carried)| {
            if carried && other && at % 3 == 0 { 2 } else { usize::from(carried) }
        })
    }

    fn count(&self) -> usize {
        self.carriers.iter().filter(|&&carried| carried).count()
    }

    fn phased(&self, text: &mut String, rng: &mut Rng) {
        self.columns("100", "PASS", text);
        let (count, total) = (self.count(), self.carriers.len());
        let depth = total as f64 * (3.6 + rng.normal() * 0.5);
        let _ = write!(
            text,
            "AC={count};AF={};AN={total};NS={};DP={}",
            significant(count as f64 / total as f64, 6),
            total / 2,
            truncate(depth.max(0.0)),
        );
        for (at, name) in ["EAS", "AMR", "AFR", "EUR", "SAS"].iter().enumerate() {
            let part = self.carriers.get(total * at / 5..total * (at + 1) / 5).unwrap_or_default();
            let share =
                part.iter().filter(|&&carried| carried).count() as f64 / part.len().max(1) as f64;
            let _ = write!(text, ";{name}_AF={}", significant((share * 1e4).round() / 1e4, 4));
        }
        let kind = if self.from.len() + self.to[0].len() == 2 { "SNP" } else { "INDEL" };
        let old = match rng.below(10) {
            0 => ".".to_owned(),
            1 => self.to[0].clone(),
            2 => self.from.to_lowercase(),
            _ => self.from.clone(),
        };
        let _ = write!(text, ";AA={old}|||;VT={kind}\tGT");
        let alleles: Vec<usize> = self.alleles().collect();
        for pair in alleles.chunks(2) {
            let _ = write!(text, "\t{}|{}", pair[0], pair[1]);
        }
    }

    fn imputed(&self, text: &mut String, rng: &mut Rng) {
        self.columns(".", "PASS", text);
        let share = self.count() as f64 / self.carriers.len() as f64;
        let sure = rng.fraction().powf(0.2);
        let _ = write!(
            text,
            "AF={share:.5};MAF={:.5};R2={sure:.5};IMPUTED\tGT:DS:GP",
            share.min(1.0 - share)
        );
        let alleles: Vec<usize> = self.alleles().collect();
        for pair in alleles.chunks(2) {
            let doubt = |rng: &mut Rng| {
                if rng.chance(sure) {
                    return 0.0;
                }
                (rng.fraction().powi(4) * (1.0 - sure) * 1000.0).round() / 1000.0
            };
            let odds: Vec<f64> =
                pair.iter().map(|&allele| (allele as f64 - doubt(rng)).abs()).collect();
            let (one, two) = (odds[0], odds[1]);
            let probs = [(1.0 - one) * (1.0 - two), one + two - 2.0 * one * two, one * two];
            let _ = write!(text, "\t{}|{}:{}:", pair[0], pair[1], rounded(one + two));
            let _ =
                write!(text, "{},{},{}", rounded(probs[0]), rounded(probs[1]), rounded(probs[2]));
        }
    }

    fn clinical(&self, depths: &[f64], text: &mut String, rng: &mut Rng) {
        let here = (1.0 + 0.3 * rng.normal()).max(0.05);
        let spanned = rng.chance(0.12);
        let alleles: Vec<usize> = self.alleles().collect();
        let mut cells = String::new();
        let (mut deep, mut carried, mut called) = (0, vec![0; self.to.len()], 0);
        let (mut quality, mut support) = (0.0, 0);
        for (pair, mean) in alleles.chunks(2).zip(depths) {
            let depth = if rng.chance(0.01) { 0 } else { rng.poisson(mean * here) };
            deep += depth;
            let call = SampleCall::new(pair, depth, self.to.len() + 1, rng);
            if depth > 0 {
                called += 2;
                pair.iter()
                    .filter(|&&allele| allele > 0)
                    .for_each(|&allele| carried[allele - 1] += 1);
                if pair.iter().any(|&allele| allele > 0) {
                    quality += f64::from(call.likelihoods[0]) * (0.97 + 0.03 * rng.fraction());
                    support += depth;
                }
            }
            cells.push('\t');
            call.write(spanned.then_some((self, pair)), &mut cells);
        }
        let fail = rng.chance(0.06);
        self.columns(
            &format!("{quality:.2}"),
            if fail { "VQSRTrancheSNP99.90to100.00" } else { "PASS" },
            text,
        );
        let each = |text: &mut String, name: &str, of: &dyn Fn(usize) -> String| {
            let list: Vec<String> = carried.iter().map(|&count| of(count)).collect();
            let _ = write!(text, "{name}={};", list.join(","));
        };
        let share = |count: usize| significant(count as f64 / f64::from(called.max(1)), 3);
        each(text, "AC", &|count| count.to_string());
        each(text, "AF", &share);
        let _ = write!(text, "AN={called};");
        let some = support > 0;
        if some {
            let _ = write!(text, "BaseQRankSum={:.3};", rng.normal());
        }
        let _ = write!(text, "DP={deep};");
        let strand = if rng.chance(0.4) { 0.0 } else { rng.exponential(2.0) };
        let excess = if rng.chance(0.5) { 3.0103 } else { rng.exponential(3.0) };
        let _ = write!(
            text,
            "ExcessHet={excess:.4};FS={strand:.3};InbreedingCoeff={:.4};",
            rng.normal() * 0.05
        );
        each(text, "MLEAC", &|count| count.to_string());
        each(text, "MLEAF", &share);
        let mapped = if rng.chance(0.7) { 60.0 } else { 60.0 - rng.exponential(6.0) };
        let _ = write!(text, "MQ={mapped:.2};");
        if some {
            let rank = if rng.chance(0.6) { 0.0 } else { rng.normal() };
            let _ = write!(
                text,
                "MQRankSum={rank:.3};QD={:.2};",
                (quality / f64::from(support)).min(35.0)
            );
            let _ = write!(text, "ReadPosRankSum={:.3};", rng.normal());
        }
        let format = if spanned { "GT:AD:DP:GQ:PGT:PID:PL" } else { "GT:AD:DP:GQ:PL" };
        let _ = write!(
            text,
            "SOR={:.3}\t{format}{cells}",
            0.693 + strand / 4.0 + rng.normal().abs() * 0.2
        );
    }
}

/// The call for one sample.
#[derive(Debug)]
struct SampleCall {
    genotype: String,
    reads: Vec<u32>,
    quality: Option<u32>,
    likelihoods: Vec<u32>,
}

impl SampleCall {
    fn new(pair: &[usize], depth: u32, alleles: usize, rng: &mut Rng) -> Self {
        let (low, high) = (pair[0].min(pair[1]), pair[0].max(pair[1]));
        let mut reads = vec![0; alleles];
        for _ in 0..depth {
            let wrong = rng.chance(0.002);
            let seen = if wrong { rng.below(alleles) } else { *rng.choose(pair) };
            reads[seen] += 1;
        }
        if depth == 0 {
            let likelihoods = vec![0; alleles * (alleles + 1) / 2];
            return Self { genotype: "./.".to_owned(), reads, quality: None, likelihoods };
        }
        // A read adds to the cost of a genotype: about 30 if its allele is absent from the
        // genotype, about 3 if the genotype is heterozygous for it.
        let each = 28.0 + 4.0 * rng.fraction();
        let mut costs = Vec::new();
        for second in 0..alleles {
            for first in 0..=second {
                let cost: f64 = reads
                    .iter()
                    .enumerate()
                    .map(|(allele, &count)| {
                        let against = match (allele == first, allele == second) {
                            (true, true) => 0.0,
                            (false, false) => each,
                            _ => 3.01,
                        };
                        against * f64::from(count)
                    })
                    .sum();
                costs.push(cost);
            }
        }
        let min_cost = costs.iter().copied().fold(f64::MAX, f64::min);
        let mut likelihoods: Vec<u32> =
            costs.iter().map(|cost| truncate((cost - min_cost).round())).collect();
        // Homozygous references have few distinct qualities, and likelihoods near a multiple.
        if high == 0 && reads.iter().skip(1).all(|&count| count == 0) && alleles == 2 {
            let min_depth = depth.saturating_sub(u32::try_from(rng.log_uniform(7)).unwrap_or(0));
            let sure = (3 * min_depth.max(1)).min(99);
            let more = if rng.chance(0.6) { 15.0 } else { 10.0 + 5.0 * rng.fraction() };
            likelihoods = vec![0, sure, truncate(f64::from(sure) * more)];
        }
        let mut sorted = likelihoods.clone();
        sorted.sort_unstable();
        let quality = Some(sorted.get(1).copied().unwrap_or(0).min(99));
        Self { genotype: format!("{low}/{high}"), reads, quality, likelihoods }
    }

    fn write(&self, spanned: Option<(&Site, &[usize])>, text: &mut String) {
        let list = |numbers: &[u32]| {
            let words: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            words.join(",")
        };
        let depth: u32 = self.reads.iter().sum();
        let quality = self.quality.map_or(".".to_owned(), |quality| quality.to_string());
        let _ = write!(text, "{}:{}:{depth}:{quality}", self.genotype, list(&self.reads));
        if let Some((site, pair)) = spanned {
            let _ = if pair.iter().any(|&allele| allele > 0) && depth > 0 {
                write!(text, ":0|1:{}_{}_{}", site.position, site.from, site.to[0])
            } else {
                write!(text, ":.:.")
            };
        }
        let _ = write!(text, ":{}", list(&self.likelihoods));
    }
}

/// Formats a fraction with so many significant digits, without trailing zeros.
fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let before = truncate((-value.log10()).max(0.0).floor()) as usize;
    trimmed(format!("{value:.*}", before + digits))
}

/// Formats a number with at most three decimals, without trailing zeros.
fn rounded(value: f64) -> String {
    trimmed(format!("{:.3}", value.abs()))
}

fn trimmed(text: String) -> String {
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
