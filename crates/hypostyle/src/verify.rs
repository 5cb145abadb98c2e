//! Decodes a file completely, to find what is wrong with it.

#[cfg(feature = "at1")]
use std::io;
use std::sync::Arc;

use crate::file_kind::FileKind;
#[cfg(feature = "at1")]
use crate::formats::at1::{Archive, Codec};
use crate::open::{OpenOptions, detect_format, open_source};
use hypostyle_core::deviation::Deviation;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::reader::Reader;
use hypostyle_core::scan::Table;
use hypostyle_core::source::ByteSource;

/// What [`verify`] found.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Verification {
    /// The format, if it is known.
    pub format: Option<FormatId>,
    /// Rows of a table; 0 for an archive.
    pub rows: u64,
    /// Columns of a table; 0 for an archive.
    pub columns: usize,
    /// Bytes that an archive unpacks to.
    pub bytes: Option<u64>,
    /// Whether an archive has a hash; if it does and there is no error, the hash agrees.
    pub is_hashed: bool,
    /// Departures from the specification that are harmless.
    pub deviations: Vec<Deviation>,
    /// What is wrong.
    pub errors: Vec<VerifyError>,
}

/// Something that is wrong with a file.
#[derive(Debug)]
#[non_exhaustive]
pub enum VerifyError {
    /// The file, a column or a block cannot be decoded, or contradicts what is stated about it.
    Failed(Error),
    /// A row group cannot be decoded.
    RowGroup(String),
}

impl std::fmt::Display for VerifyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Failed(err) => err.fmt(f),
            Self::RowGroup(why) => why.fmt(f),
        }
    }
}

impl Verification {
    /// Returns whether nothing is wrong.
    pub fn is_fine(&self) -> bool {
        self.errors.is_empty()
    }

    fn fail(&mut self, error: Error) {
        self.errors.push(VerifyError::Failed(error));
    }
}

/// Decodes everything in a file, and returns what is wrong with it.
///
/// Calls `progress` with the number of steps that are done and of all steps. Deviations are
/// collected whether or not the options are strict.
///
/// # Errors
///
/// Fails only if the bytes cannot be read; all that is wrong with them is in the result.
pub fn verify(
    source: Arc<dyn ByteSource>,
    options: &OpenOptions,
    mut progress: impl FnMut(u64, u64),
) -> Result<Verification> {
    let mut found = Verification::default();
    match check(source, options, &mut progress, &mut found) {
        Err(err) if matches!(err.kind(), ErrorKind::Io(_)) => return Err(err),
        Err(err) => found.fail(err),
        Ok(()) => {}
    }
    Ok(found)
}

fn check(
    source: Arc<dyn ByteSource>,
    options: &OpenOptions,
    progress: &mut dyn FnMut(u64, u64),
    found: &mut Verification,
) -> Result<()> {
    let format = match options.format {
        Some(format) => format,
        None => detect_format(source.as_ref(), options.name.as_deref())?,
    };
    found.format = Some(format);
    let kind = FileKind::of(format)?;
    // Collect all deviations instead of stopping at the first one.
    let read = options.read.clone().with_strict(false);
    #[cfg(feature = "at1")]
    if format == FormatId::At1 {
        let archive = Archive::open(source, &read)?;
        return unpack(&archive, found);
    }
    match kind.format() {
        Some(format) => {
            let reader = format.open(source, &read.with_thorough(true))?;
            decode(&reader, progress, found);
            Ok(())
        }
        None => {
            let options = options.clone().with_read(read).with_format(format);
            scan(&open_source(source, &options)?, kind, progress, found)
        }
    }
}

/// Decodes all rows through a scan: those of text at once, since a row is parsed as a whole,
/// and each column of other files separately, as [`decode`] does.
fn scan(
    table: &Table,
    kind: FileKind,
    progress: &mut dyn FnMut(u64, u64),
    found: &mut Verification,
) -> Result<()> {
    // The types of a text follow from all of it, so this finds malformed rows.
    found.rows = table.num_rows()?;
    found.columns = table.schema()?.fields().len();
    let all: Vec<usize> = (0..found.columns).collect();
    let scanned: Vec<&[usize]> = if kind.is_text() { vec![&all] } else { all.chunks(1).collect() };
    let reader = table.reader()?;
    let steps = scanned.len() as u64;
    for (done, columns) in (1..).zip(scanned) {
        let scan = table.scan().columns(columns.iter().copied());
        let mut batches = scan.skip_damaged(true).batches()?;
        while batches.next_batch()?.is_some() {}
        for damage in batches.stats().damaged {
            let (rows, error) = (&damage.rows, &damage.error);
            let mut why = format!("{error} (rows {} to {}", rows.start + 1, rows.end);
            if let Some(first) = reader.ranges(damage.group, columns).first() {
                why += &format!(", stored from byte {} on", first.start);
            }
            found.errors.push(VerifyError::RowGroup(why + ")"));
        }
        progress(done, steps);
    }
    found.deviations = reader.deviations();
    Ok(())
}

/// Decodes each column separately, so that an error in one does not hide errors in others.
fn decode(reader: &Arc<dyn Reader>, progress: &mut dyn FnMut(u64, u64), found: &mut Verification) {
    found.rows = reader.rows();
    found.columns = reader.schema().fields().len();
    let groups = reader.row_groups();
    let steps = (groups as u64).saturating_mul(found.columns as u64);
    let mut done = 0;
    for group in 0..groups {
        for column in 0..found.columns {
            if let Err(err) = reader.read(group, &[column]) {
                found.fail(err);
            }
            done += 1;
            progress(done, steps);
        }
    }
    found.deviations = reader.deviations();
}

/// Unpacks an archive and discards the content, to decode and hash everything.
#[cfg(feature = "at1")]
fn unpack(archive: &Archive, found: &mut Verification) -> Result<()> {
    let done = if archive.codec() == Codec::Bundle {
        unpack_bundle(archive, found)
    } else {
        archive.unpack(&mut io::sink()).map(|unpacked| {
            found.bytes = Some(unpacked.bytes);
            found.is_hashed = unpacked.hash_agreed;
        })
    };
    found.deviations.extend(archive.deviations());
    // Check each block, to list every damaged one, and every index that would mislead queries.
    let mut blocks = archive.check_groups().unwrap_or_default();
    if done.is_ok() {
        // Check what the archive states about its table, which readers rely on.
        blocks.extend(archive.check_table()?);
        #[cfg(not(target_family = "wasm"))]
        blocks.extend(archive.check_filters().err());
    }
    if blocks.is_empty() {
        return done;
    }
    blocks.into_iter().for_each(|err| found.fail(err));
    Ok(())
}

#[cfg(feature = "at1")]
fn unpack_bundle(archive: &Archive, found: &mut Verification) -> Result<()> {
    found.is_hashed = true;
    for entry in archive.bundle()? {
        let unpacked = entry.archive.unpack(&mut io::sink());
        found.deviations.extend(entry.archive.deviations());
        let unpacked = unpacked?;
        found.bytes = Some(found.bytes.unwrap_or(0).saturating_add(unpacked.bytes));
        found.is_hashed &= unpacked.hash_agreed;
        #[cfg(not(target_family = "wasm"))]
        entry.archive.check_filters()?;
    }
    Ok(())
}
