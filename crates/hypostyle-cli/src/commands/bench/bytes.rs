//! Contenders that give back every byte.

use std::io::{self, Read};
use std::sync::Arc;

use bytes::Bytes;
use hypostyle::compress::xz::encode::compress_preset;
use hypostyle::formats::at1::{self, Archive, Choice, PackOptions};
use libdeflater::{CompressionLvl, Compressor, Decompressor};
use liblzma::bufread::XzDecoder;

use super::Subject;
use super::measure::{Halt, Outcome, Round, timed};
use crate::failure::{CHECK, Failure, Result};

/// Makes an AT-1 archive and unpacks it.
pub(super) fn at1(subject: &Subject<'_>, level: u8, choice: Choice) -> Outcome {
    let options = PackOptions::default()
        .with_level(level)
        .with_threads(subject.read.threads)
        .with_codec(choice);
    let (made, make) = timed(|| Ok(at1::pack(&subject.content, &options)?))?;
    let (archive, packed) = made;
    let codec = packed.codec;
    match choice {
        Choice::Query if !codec.has_groups() => {
            return Err(Halt::left_out("it has neither rows of fields nor objects"));
        }
        Choice::Only(asked) if asked != codec => {
            return Err(Halt::left_out("the content is not what it is for"));
        }
        _ => {}
    }
    let size = archive.len() as u64;
    let options = subject.read.options();
    let (back, took) = timed(|| {
        let mut back = Vec::with_capacity(subject.content.len());
        Archive::open(Arc::new(Bytes::from(archive)), &options)?.unpack(&mut back)?;
        Ok(back)
    })?;
    compare(&back, &subject.content)?;
    Ok(Round { size, codec: Some(codec), make, back: took })
}

/// What makes `xz -9e` of `xz -9`.
pub(super) const EXTREME: u32 = 1 << 31;

/// A compressor that knows nothing of tables.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rival {
    /// The preset of liblzma, with [`EXTREME`] or without.
    Xz(u32),
    Zstd(i32),
    Gzip(i32),
}

impl Rival {
    /// Compresses the file and expands it again.
    pub(super) fn round(self, subject: &Subject<'_>) -> Outcome {
        let original = &subject.content;
        let (small, make) = timed(|| self.shrink(original))?;
        let (back, took) = timed(|| self.expand(&small, original.len()))?;
        compare(&back, &subject.content)?;
        Ok(Round { size: small.len() as u64, codec: None, make, back: took })
    }

    fn shrink(self, original: &[u8]) -> Result<Vec<u8>> {
        match self {
            // The encoder of the crate `liblzma` takes up to three times as long.
            Self::Xz(preset) => Ok(compress_preset(original, preset)?),
            Self::Zstd(level) => {
                let mut compressor = zstd::bulk::Compressor::new(level)?;
                // As `zstd` does for a file.
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

    fn expand(self, small: &[u8], size: usize) -> Result<Vec<u8>> {
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

/// Fails unless the file has come back.
fn compare(back: &[u8], original: &[u8]) -> Result<()> {
    if back == original {
        return Ok(());
    }
    let same = back.iter().zip(original).take_while(|(ours, theirs)| ours == theirs);
    let why = format!("what comes back differs from the file at byte {}", same.count());
    Err(Failure::new(CHECK, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rivals_restore_what_they_shrink() {
        let text = b"one,two\n".repeat(100);
        for rival in [Rival::Xz(6), Rival::Xz(9 | EXTREME), Rival::Zstd(19), Rival::Gzip(9)] {
            let small = rival.shrink(&text).unwrap();
            assert!(small.len() < 120, "{rival:?}");
            assert_eq!(rival.expand(&small, text.len()).unwrap(), text, "{rival:?}");
        }
        assert!(Rival::Gzip(99).shrink(&text).is_err());
    }

    #[test]
    fn what_differs_is_an_error() {
        compare(b"abc", b"abc").unwrap();
        for (back, place) in [("abd", 2), ("ab", 2), ("abcd", 3), ("", 0)] {
            let failure = compare(back.as_bytes(), b"abc").unwrap_err();
            assert_eq!(failure.code(), CHECK);
            assert!(failure.message().ends_with(&format!("byte {place}")), "{failure:?}");
        }
    }
}
