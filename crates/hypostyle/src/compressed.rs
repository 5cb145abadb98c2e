//! Files that are compressed as a whole: `.gz`, `.zst`, `.xz` and `.bz2`.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

/// Bytes that are read from a compressed file at once.
const READ_BYTES: usize = 256 << 10;

/// How a file is compressed as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// gzip, in one or several members.
    Gzip,
    /// zstd, in one or several frames.
    Zstd,
    /// xz, in one or several streams.
    Xz,
    /// bzip2, in one or several streams.
    Bzip2,
}

impl Compression {
    /// Finds the compression by the name of a file, and the name without its extension.
    ///
    /// ```
    /// use hypostyle::Compression;
    ///
    /// assert_eq!(Compression::of_name("a.csv.GZ"), Some((Compression::Gzip, "a.csv")));
    /// assert_eq!(Compression::of_name("a.csv"), None);
    /// ```
    pub fn of_name(name: &str) -> Option<(Self, &str)> {
        let (rest, extension) = name.rsplit_once('.')?;
        let compression = match extension.to_ascii_lowercase().as_str() {
            "gz" => Self::Gzip,
            "zst" | "zstd" => Self::Zstd,
            "xz" => Self::Xz,
            "bz2" => Self::Bzip2,
            _ => return None,
        };
        Some((compression, rest))
    }

    /// Finds the compression by the first bytes of a file.
    pub fn of_content(head: &[u8]) -> Option<Self> {
        match head {
            [0x1F, 0x8B, 8, ..] => Some(Self::Gzip),
            [0x28, 0xB5, 0x2F, 0xFD, ..] => Some(Self::Zstd),
            [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..]
            | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, ..] => {
                Some(Self::Bzip2)
            }
            _ => None,
        }
    }

    /// Returns the name of the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
            Self::Bzip2 => "bzip2",
        }
    }

    /// Returns a reader of the content of a compressed input.
    ///
    /// # Errors
    ///
    /// Fails if the decoder cannot start.
    pub fn reader<'r>(self, input: impl Read + Send + 'r) -> io::Result<Box<dyn Read + Send + 'r>> {
        let input = BufReader::with_capacity(READ_BYTES, input);
        Ok(match self {
            Self::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(input)),
            Self::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(input)?),
            Self::Xz => Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(input)),
            Self::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(input)),
        })
    }

    /// Decompresses to a temporary file, of at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// Fails if the input is damaged or decompresses to more, and if the file cannot be written.
    pub fn to_file(self, input: impl Read + Send, limit: u64) -> io::Result<File> {
        let mut file = tempfile::tempfile()?;
        let content = self.reader(input)?;
        let mut out = BufWriter::with_capacity(1 << 20, &file);
        let copied = io::copy(&mut content.take(limit.saturating_add(1)), &mut out)?;
        if copied > limit {
            let why = format!("decompresses to more than the limit of {limit} bytes");
            return Err(io::Error::other(why));
        }
        out.flush()?;
        drop(out);
        file.rewind()?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the same text as compressed by each program, in two parts.
    fn samples() -> Vec<(Compression, Vec<u8>)> {
        let (one, two) = (&b"hello "[..], &b"world"[..]);
        let twice = |of: &dyn Fn(&[u8]) -> Vec<u8>| [of(one), of(two)].concat();
        let gzip = |text: &[u8]| {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            out.write_all(text).unwrap();
            out.finish().unwrap()
        };
        let xz = |text: &[u8]| {
            let mut out = liblzma::write::XzEncoder::new(Vec::new(), 1);
            out.write_all(text).unwrap();
            out.finish().unwrap()
        };
        let bzip2 = |text: &[u8]| {
            let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            out.write_all(text).unwrap();
            out.finish().unwrap()
        };
        vec![
            (Compression::Gzip, twice(&gzip)),
            (Compression::Zstd, twice(&|text| zstd::encode_all(text, 1).unwrap())),
            (Compression::Xz, twice(&xz)),
            (Compression::Bzip2, twice(&bzip2)),
        ]
    }

    #[test]
    fn content_is_found_and_decompressed_within_its_limit() {
        for (compression, file) in samples() {
            assert_eq!(Compression::of_content(&file), Some(compression));
            let mut content = String::new();
            let mut whole = compression.to_file(&file[..], 11).unwrap();
            whole.read_to_string(&mut content).unwrap();
            assert_eq!(content, "hello world");
            let err = compression.to_file(&file[..], 10).unwrap_err().to_string();
            assert!(err.contains("limit of 10 bytes"), "{err}");
            let cut = file.get(..file.len() - 3).unwrap();
            compression.to_file(cut, 100).unwrap_err();
        }
        assert_eq!(Compression::of_content(b"a,b\n"), None);
    }
}
