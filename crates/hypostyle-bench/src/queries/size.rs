//! The size of queryable archives, compared with xz and Parquet.

use std::fs;
use std::path::{Path, PathBuf};

use hypostyle::formats::at1::{self, Choice, PackOptions};

use crate::Result;
use crate::corpus::CorpusFile;
use crate::page::ReportPage;
use crate::setup::Setup;
use crate::table::{ReportTable, Target, mean};

/// Returns the path of the archive of a file.
pub(super) fn packed(sample: &CorpusFile, folder: &Path) -> PathBuf {
    folder.join(format!("{}.at1", sample.name))
}

/// Packs every file and compares the size with xz and Parquet.
pub(super) fn sizes(
    samples: &[&CorpusFile],
    setup: &Setup,
    folder: &Path,
    page: &mut ReportPage,
) -> Result<()> {
    let head =
        ["File", "Codec", "Bytes", "Queryable", "xz -9e", "Share", "Parquet, zstd 19", "Share"];
    let mut table = ReportTable::new(head);
    let (mut shares, mut worst): (Vec<f64>, f64) = (Vec::new(), 0.0);
    for sample in samples {
        eprintln!("{}: {} bytes", sample.name, sample.bytes);
        let text = fs::read(&sample.path)?;
        let options = PackOptions::default().with_codec(Choice::Query);
        let (archive, done) = at1::pack(&text, &options)?;
        fs::write(packed(sample, folder), &archive)?;
        let xz = if setup.quick { None } else { Some(at1::xz_size(&text)?) };
        let parquet = sample.is_table().then(|| parquet_size(sample, setup, folder)).flatten();
        let share = |rival: Option<u64>| rival.map(|rival| done.stored as f64 / rival as f64);
        shares.extend(share(xz));
        worst = worst.max(share(parquet).unwrap_or_default());
        let shown = |size: Option<u64>| size.map_or("missing".to_owned(), |size| size.to_string());
        let ratio =
            |share: Option<f64>| share.map_or("–".to_owned(), |share| format!("{share:.3}"));
        table.row([
            sample.name.clone(),
            done.codec.name().to_owned(),
            sample.bytes.to_string(),
            done.stored.to_string(),
            shown(xz),
            ratio(share(xz)),
            shown(parquet),
            ratio(share(parquet)),
        ]);
    }
    page.heading("Size");
    page.table("size", &table);
    page.target("share of xz -9e, geometric mean", mean(shares), Target::AtMost(0.97));
    let worst = Some(worst).filter(|worst| *worst > 0.0);
    page.target("share of Parquet, worst table", worst, Target::AtMost(1.0));
    Ok(())
}

/// Returns the size of a table in Parquet with zstd 19; `None` without pyarrow.
fn parquet_size(sample: &CorpusFile, setup: &Setup, folder: &Path) -> Option<u64> {
    const SCRIPT: &str = "
import sys
import pyarrow.csv as csv, pyarrow.parquet as parquet
parse = csv.ParseOptions(delimiter='\\t' if sys.argv[1].endswith('tsv') else ',')
table = csv.read_csv(sys.argv[1], parse_options=parse)
parquet.write_table(table, sys.argv[2], compression='zstd', compression_level=19)
";
    let target = folder.join("rival.parquet");
    let mut python = setup.python().script(&["pyarrow"], SCRIPT)?;
    let ran = python.arg(&sample.path).arg(&target).output().ok()?;
    ran.status.success().then(|| fs::metadata(&target).ok().map(|meta| meta.len())).flatten()
}
