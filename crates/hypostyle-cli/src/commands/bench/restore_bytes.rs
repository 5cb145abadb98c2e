//! Candidates that restore every byte of the file.

use std::io::{self, Read};
use std::sync::Arc;

use bytes::Bytes;
use hypostyle::formats::at1::{self, Archive, Choice, PackOptions};
use hypostyle_core::compress::xz::encode::compress_preset;
use libdeflater::{CompressionLvl, Compressor, Decompressor};
use liblzma::bufread::XzDecoder;

use super::BenchInput;
use super::round::{Round, RoundError, RoundResult, timed};
use crate::failure::{CHECK, Failure, Result};

/// Packs an AT-1 archive and unpacks it.
pub(super) fn at1(input: &BenchInput<'_>, level: u8, choice: Choice) -> RoundResult {
    let options = PackOptions::default()
        .with_level(level)
        .with_threads(input.read.threads())
        .with_codec(choice);
    let (packed, make) = timed(|| Ok(at1::pack(&input.content, &options)?))?;
    let (archive, packed) = packed;
    let codec = packed.codec;
    match choice {
        Choice::Query if !packed.is_queryable => {
            return Err(RoundError::left_out("the content is neither a table nor JSON objects"));
        }
        Choice::Only(asked) if asked != codec => {
            return Err(RoundError::left_out("the codec does not suit the content"));
        }
        _ => {}
    }
    let size = archive.len() as u64;
    let options = input.read.options();
    let (back, took) = timed(|| {
        let mut back = Vec::with_capacity(input.content.len());
        Archive::open(Arc::new(Bytes::from(archive)), &options)?.unpack(&mut back)?;
        Ok(back)
    })?;
    compare(&back, &input.content)?;
    Ok(Round { size, codec: Some(codec), make, back: took })
}

/// The flag of liblzma that turns `xz -9` into `xz -9e`.
pub(super) const EXTREME: u32 = 1 << 31;

/// A general-purpose compressor.
#[derive(Clone, Copy, Debug)]
pub(super) enum GenericCompressor {
    /// The preset of liblzma, with [`EXTREME`] or without.
    Xz(u32),
    Zstd(i32),
    Gzip(i32),
}

impl GenericCompressor {
    /// Compresses the file and decompresses the result.
    pub(super) fn round(self, input: &BenchInput<'_>) -> RoundResult {
        let original = &input.content;
        let (compressed, make) = timed(|| self.compress(original))?;
        let (back, took) = timed(|| self.decompress(&compressed, original.len()))?;
        compare(&back, &input.content)?;
        Ok(Round { size: compressed.len() as u64, codec: None, make, back: took })
    }

    fn compress(self, original: &[u8]) -> Result<Vec<u8>> {
        match self {
            // The encoder of the crate `liblzma` takes up to three times as long.
            Self::Xz(preset) => Ok(compress_preset(original, preset)?),
            Self::Zstd(level) => {
                let mut compressor = zstd::bulk::Compressor::new(level)?;
                // `zstd` adds a checksum to files by default.
                compressor.include_checksum(true)?;
                Ok(compressor.compress(original)?)
            }
            Self::Gzip(level) => {
                let level = CompressionLvl::new(level)
                    .map_err(|_| Failure::usage(format!("gzip has no level {level}")))?;
                let mut compressor = Compressor::new(level);
                let mut small = vec![0; compressor.gzip_compress_bound(original.len())];
                let size = compressor.gzip_compress(original, &mut small);
                small.truncate(size.map_err(io::Error::other)?);
                Ok(small)
            }
        }
    }

    fn decompress(self, small: &[u8], size: usize) -> Result<Vec<u8>> {
        match self {
            Self::Xz(_) => {
                let mut back = Vec::with_capacity(size);
                XzDecoder::new(small).read_to_end(&mut back)?;
                Ok(back)
            }
            Self::Zstd(_) => Ok(zstd::bulk::decompress(small, size)?),
            Self::Gzip(_) => {
                let mut back = vec![0; size];
                let size = Decompressor::new().gzip_decompress(small, &mut back);
                back.truncate(size.map_err(io::Error::other)?);
                Ok(back)
            }
        }
    }
}

/// Fails unless the restored file equals the original.
fn compare(back: &[u8], original: &[u8]) -> Result<()> {
    if back == original {
        return Ok(());
    }
    let equal = back.iter().zip(original).take_while(|(ours, theirs)| ours == theirs);
    let why = format!("the restored file differs from the original at byte {}", equal.count());
    Err(Failure::new(CHECK, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressors_restore_their_input() {
        let text = b"one,two\n".repeat(100);
        for compressor in [
            GenericCompressor::Xz(6),
            GenericCompressor::Xz(9 | EXTREME),
            GenericCompressor::Zstd(19),
            GenericCompressor::Gzip(9),
        ] {
            let compressed = compressor.compress(&text).unwrap();
            assert!(compressed.len() < 120, "{compressor:?}");
            assert_eq!(
                compressor.decompress(&compressed, text.len()).unwrap(),
                text,
                "{compressor:?}"
            );
        }
        assert!(GenericCompressor::Gzip(99).compress(&text).is_err());
    }

    #[test]
    fn a_difference_is_an_error() {
        compare(b"abc", b"abc").unwrap();
        for (back, place) in [("abd", 2), ("ab", 2), ("abcd", 3), ("", 0)] {
            let failure = compare(back.as_bytes(), b"abc").unwrap_err();
            assert_eq!(failure.code(), CHECK);
            assert!(failure.message().ends_with(&format!("byte {place}")), "{failure:?}");
        }
    }
}
