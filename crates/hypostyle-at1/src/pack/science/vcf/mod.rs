//! Encodes variant calls with codec vcf (§7.6).
//!
//! `record` splits lines and finds the layout that most of them share. This module collects
//! the nine columns before the samples in lists. `genotypes` writes the cells of the samples:
//! it names only the samples whose cell differs from the usual one, in one of several forms.

mod genotypes;
pub(in crate::pack) mod record;

use crate::pack::context::EncodeContext;
use crate::pack::lines::split_final_newline;
use crate::pack::newline_list::NewlineList;
use crate::pack::stream_set::{Body, Stream, TUNINGS};
use genotypes::{GenotypeDict, GenotypeForm};
use hypostyle_core::error::Result;
use hypostyle_core::wire::put;
use record::{FIXED_COLUMNS, POS, VcfLayout, VcfRecord};

/// Bytes at the start in which the first line after the header is looked for.
const MAX_HEADER_BYTES: usize = 1 << 20;

/// Returns whether content is a VCF file, or lines from the middle of one.
pub(in crate::pack) fn suits(content: &[u8]) -> bool {
    let start = content.get(..content.len().min(MAX_HEADER_BYTES)).unwrap_or_default();
    let first = start.split(|&byte| byte == b'\n').find(|line| !line.starts_with(b"#"));
    match first.and_then(VcfRecord::parse) {
        Some(record) => record.is_plausible(),
        // The header or the first record is longer than what was read.
        None => start.starts_with(b"##fileformat=VCF") && start.len() == MAX_HEADER_BYTES,
    }
}

/// Encodes variant calls; returns `None` if no line has samples.
pub(in crate::pack) fn streams(
    text: &[u8],
    context: &EncodeContext<'_>,
) -> Result<Option<Vec<Stream>>> {
    let (lines, trailing) = split_final_newline(text);
    let Some(layout) = VcfLayout::find(lines) else { return Ok(None) };
    let mut columns = VcfColumns::new(lines, &layout);
    let dict = GenotypeDict::new(&columns.samples);
    let form = GenotypeForm::smallest(&columns.samples, &dict, context.search)?;
    let gt = dict.encode(&columns.samples, form);

    let mut meta = Vec::new();
    put::uv(&mut meta, columns.flags.len() as u64);
    meta.push(trailing.into());
    put::uv(&mut meta, layout.samples as u64);
    meta.push(layout.has_deltas.into());
    dict.put_vocabulary(form, &mut meta);
    let [chrom, pos, id, reference, alt, qual, filter, info, format] =
        std::mem::take(&mut columns.lists).map(|list| list.bytes);
    let pos = if layout.has_deltas { columns.pos_deltas } else { pos };
    let contents = [
        ("meta", meta, TUNINGS),
        ("flags", columns.flags, TUNINGS),
        ("chrom", chrom, TUNINGS),
        ("pos", pos, TUNINGS),
        ("id", id, TUNINGS),
        ("ref", reference, TUNINGS),
        ("alt", alt, TUNINGS),
        ("qual", qual, TUNINGS),
        ("filter", filter, TUNINGS),
        ("info", info, TUNINGS),
        ("format", format, TUNINGS),
        ("gt", gt, form.tunings()),
        ("verbatim", columns.verbatim.bytes, TUNINGS),
    ];
    Body::tuned(&contents, context).map(Some)
}

/// The columns of a VCF file.
#[derive(Default)]
struct VcfColumns<'a> {
    /// For each line 1 if it is split, 0 if it is verbatim.
    flags: Vec<u8>,
    verbatim: NewlineList,
    lists: [NewlineList; FIXED_COLUMNS],
    /// The positions as differences, if the layout has them.
    pos_deltas: Vec<u8>,
    /// The samples of each split line.
    samples: Vec<&'a [u8]>,
}

impl<'a> VcfColumns<'a> {
    fn new(lines: &'a [u8], layout: &VcfLayout) -> Self {
        let mut columns = Self::default();
        let mut last_pos = 0;
        for line in lines.split(|&byte| byte == b'\n') {
            let record = VcfRecord::parse(line);
            let record = record.filter(|record| record.sample_count() == layout.samples);
            let pos = record.as_ref().and_then(VcfRecord::position);
            let record = record.filter(|_| pos.is_some() || !layout.has_deltas);
            columns.flags.push(record.is_some().into());
            let Some(record) = record else {
                columns.verbatim.push(line);
                continue;
            };
            for (at, (list, cell)) in columns.lists.iter_mut().zip(record.columns).enumerate() {
                match pos.filter(|_| at == POS && layout.has_deltas) {
                    Some(pos) => {
                        put::sv(&mut columns.pos_deltas, pos - last_pos);
                        last_pos = pos;
                    }
                    None => list.push(cell),
                }
            }
            columns.samples.push(record.samples);
        }
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variant_calls_are_distinguished_from_other_tables() {
        let call = "1\t5\t.\tA\tG\t9\tPASS\tDP=1\tGT:DP\t0/0:3";
        assert!(suits(call.as_bytes()));
        assert!(suits(["##fileformat=VCFv4.2\n#CHROM\n", call, "\n"].concat().as_bytes()));
        for other in [
            "",
            "##fileformat=VCFv4.2\n",
            "1\t5\t.\tA\tG\t9\tPASS\tDP=1",
            &call.replace("\t5\t", "\tx\t"),
            &call.replace("\tA\t", "\tBerlin\t"),
            &call.replace('\t', ","),
        ] {
            assert!(!suits(other.as_bytes()), "{other}");
        }
    }
}
