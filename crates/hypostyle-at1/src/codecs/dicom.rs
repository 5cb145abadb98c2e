//! dicom: a medical image whose pixels are not compressed (§7.7).
//!
//! | stream | content |
//! |---|---|
//! | `meta` | form u8: 0 raw, or 1 and transform u8, class u8, rows, columns, samples, bits uv, padding lp |
//! | `raw` | the original, if raw |
//! | `pre`, `pix`, `suf` | bytes before the pixels, the pixels, bytes after them |

#![deny(clippy::arithmetic_side_effects)]

use super::context::DecodeContext;
use super::entry::CodecEntry;
use crate::output::Output;
use crate::streams::StreamCursor;
use hypostyle_core::error::{Error, Result};

/// Bytes that are decoded between flushes; even, so that no element is split.
const BATCH_BYTES: usize = 64 << 10;

pub(super) static ENTRY: CodecEntry = CodecEntry::new(decode);

/// Writes the image.
fn decode(context: &DecodeContext<'_>, out: &mut Output<'_>) -> Result<()> {
    let first = context.streams(&["meta"])?;
    let mut meta = first.read("meta");
    match meta.u8("form")? {
        0 => return out.put(context.streams(&["raw"])?.bytes("raw")),
        1 => {}
        other => {
            return Err(meta.malformed_at(0, "form", format!("{other} is neither 0 nor 1")));
        }
    }
    let image = Image::parse(&mut meta)?;
    let padding = meta.lp("padding")?;
    let streams = context.streams(&["pre", "pix", "suf"])?;
    out.put(streams.bytes("pre"))?;
    image.put(&streams.read("pix"), out)?;
    out.put(padding)?;
    out.put(streams.bytes("suf"))
}

/// The transform that made the pixels compress better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transform {
    None,
    /// The difference of each element from the one before it in its row.
    Across,
    /// The difference of each element from the one above it.
    Down,
    /// All high bytes, then all low bytes.
    Planes,
}

impl Transform {
    const ALL: [Self; 4] = [Self::None, Self::Across, Self::Down, Self::Planes];

    /// The byte that names the transform in the file.
    pub(crate) fn id(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Across => 1,
            Self::Down => 2,
            Self::Planes => 3,
        }
    }
}

#[derive(Debug)]
struct Image {
    transform: Transform,
    /// The number of elements in a row; `None` if it exceeds 64 bits.
    row: Option<u64>,
    /// The size of all pixels; `None` if it exceeds 64 bits.
    len: Option<u64>,
    /// Whether elements have two bytes.
    wide: bool,
}

impl Image {
    fn parse(meta: &mut StreamCursor<'_>) -> Result<Self> {
        let at = meta.offset();
        let id = meta.u8("transform")?;
        let Some(transform) = Transform::ALL.into_iter().find(|known| known.id() == id) else {
            return Err(meta.malformed_at(at, "transform", format!("{id} is unknown")));
        };
        let class = meta.u8("decode class")?;
        if class != 0 {
            let what = format!("decode class {class}, pixels that an image codec made,");
            return Err(Error::unsupported(what).at(2).in_stream("meta"));
        }
        let rows = meta.uv("rows")?;
        let columns = meta.uv("columns")?;
        let samples = meta.uv("samples")?;
        let wide = meta.uv("bits")? != 8;
        if transform == Transform::Planes && !wide {
            return Err(meta.malformed_at(at, "transform", "3, but elements have one byte"));
        }
        let row = columns.checked_mul(samples);
        let len = row
            .and_then(|row| row.checked_mul(rows))
            .and_then(|len| len.checked_mul(if wide { 2 } else { 1 }));
        Ok(Self { transform, row, len, wide })
    }

    fn put(&self, stream: &StreamCursor<'_>, out: &mut Output<'_>) -> Result<()> {
        let pixels = stream.clone().rest();
        if self.transform == Transform::None {
            return out.put(pixels);
        }
        if self.len != Some(pixels.len() as u64) {
            let asked = self.len.map_or("more than 2^64 bytes".to_owned(), |len| len.to_string());
            let why = format!("{} bytes, but rows, columns and samples make {asked}", pixels.len());
            return Err(stream.malformed("pixels", why));
        }
        let Some(row) = self.row.filter(|_| !pixels.is_empty()) else {
            return Ok(());
        };
        // The pixels are at least one whole row, so the length of a row fits a `usize`.
        let row = usize::try_from(row).unwrap_or(1).max(1);
        match (self.transform, self.wide) {
            (Transform::Across, true) => across::<2>(pixels, row, out),
            (Transform::Across, false) => across::<1>(pixels, row, out),
            (Transform::Down, true) => down::<2>(pixels, row, out),
            (Transform::Down, false) => down::<1>(pixels, row, out),
            (Transform::None | Transform::Planes, _) => planes(pixels, out),
        }
    }
}

/// Sums the elements of each row; a row has `row` elements of `N` bytes.
fn across<const N: usize>(pixels: &[u8], row: usize, out: &mut Output<'_>) -> Result<()> {
    for row in pixels.chunks_exact(row.saturating_mul(N)) {
        let mut sum = 0;
        for piece in row.chunks(BATCH_BYTES) {
            for element in piece.as_chunks::<N>().0 {
                sum = value(element).wrapping_add(sum);
                push::<N>(sum, out);
            }
            out.flush_if_full()?;
        }
    }
    Ok(())
}

/// Sums the elements of each column.
fn down<const N: usize>(pixels: &[u8], row: usize, out: &mut Output<'_>) -> Result<()> {
    let mut sums = vec![0_u16; row];
    for row in pixels.chunks_exact(row.saturating_mul(N)) {
        let elements = row.as_chunks::<N>().0;
        for (elements, sums) in elements.chunks(BATCH_BYTES).zip(sums.chunks_mut(BATCH_BYTES)) {
            for (element, sum) in elements.iter().zip(sums) {
                *sum = value(element).wrapping_add(*sum);
                push::<N>(*sum, out);
            }
            out.flush_if_full()?;
        }
    }
    Ok(())
}

/// Joins the plane of high bytes and the plane of low bytes.
fn planes(pixels: &[u8], out: &mut Output<'_>) -> Result<()> {
    let (high, low) = pixels.split_at_checked(pixels.len() / 2).unwrap_or_default();
    for (high, low) in high.chunks(BATCH_BYTES).zip(low.chunks(BATCH_BYTES)) {
        for (&high, &low) in high.iter().zip(low) {
            out.buffer().extend_from_slice(&[low, high]);
        }
        out.flush_if_full()?;
    }
    Ok(())
}

/// Returns the value of a little-endian element of one or two bytes.
#[inline]
fn value<const N: usize>(element: &[u8; N]) -> u16 {
    element.iter().rev().fold(0, |value, &byte| value << 8 | u16::from(byte))
}

/// Appends the low bytes of a sum; a sum modulo 2^16 is also right modulo 2^8.
#[inline]
fn push<const N: usize>(sum: u16, out: &mut Output<'_>) {
    out.buffer().extend_from_slice(sum.to_le_bytes().get(..N).unwrap_or_default());
}
