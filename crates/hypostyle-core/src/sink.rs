//! Destinations of written bytes.

use std::io::{self, Seek, SeekFrom, Write};

/// A destination for a file whose header is filled in last.
///
/// Column files store sizes before the blocks that they describe. A writer reserves
/// space for the header, writes the blocks as they are encoded, then patches the header.
pub trait Sink: Write + Send {
    /// Overwrites bytes that were already written, `at` bytes from where this sink
    /// started.
    fn patch(&mut self, at: u64, bytes: &[u8]) -> io::Result<()>;
}

impl Sink for Vec<u8> {
    fn patch(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let target = usize::try_from(at)
            .ok()
            .and_then(|start| self.get_mut(start..))
            .and_then(|tail| tail.get_mut(..bytes.len()))
            .ok_or_else(|| io::Error::other("patch outside the written bytes"))?;
        target.copy_from_slice(bytes);
        Ok(())
    }
}

/// A [`Sink`] over anything that can seek, such as a file or a cursor.
#[derive(Debug)]
pub struct SeekSink<W> {
    inner: W,
    start: u64,
}

impl<W: Write + Seek> SeekSink<W> {
    /// Wraps `inner`; offset 0 of the sink is its current position.
    pub fn try_new(mut inner: W) -> io::Result<Self> {
        let start = inner.stream_position()?;
        Ok(Self { inner, start })
    }

    /// Returns the wrapped writer.
    pub fn into_inner(self) -> W {
        self.inner
    }
}

impl<W: Write + Seek> Write for SeekSink<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.inner.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<W: Write + Seek + Send> Sink for SeekSink<W> {
    fn patch(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let end = self.inner.stream_position()?;
        let at = self.start.checked_add(at).ok_or_else(|| io::Error::other("patch overflows"))?;
        self.inner.seek(SeekFrom::Start(at))?;
        self.inner.write_all(bytes)?;
        self.inner.seek(SeekFrom::Start(end))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_changes_only_what_it_covers() {
        let mut vec: Vec<u8> = Vec::new();
        let mut seek = SeekSink::try_new(io::Cursor::new(Vec::new())).unwrap();
        for sink in [&mut vec as &mut dyn Sink, &mut seek] {
            sink.write_all(b"....abc").unwrap();
            sink.patch(1, b"12").unwrap();
            sink.write_all(b"d").unwrap();
        }
        assert_eq!(vec, b".12.abcd");
        assert_eq!(seek.into_inner().into_inner(), vec);
        assert!(vec.patch(7, b"12").is_err());
    }
}
