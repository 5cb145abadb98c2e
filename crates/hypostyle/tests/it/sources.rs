//! The contract of `ByteSource` for memory, files and memory maps, and sources that fail.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use bytes::Bytes;
use hypostyle::{ByteSource, ErrorKind, FileSource, ReadOptions, WriteOptions, formats};
use hypostyle_testkit::{batches, laws};

fn map(file: &std::fs::File) -> Bytes {
    #[expect(unsafe_code, reason = "a map is unsafe because others may change the file")]
    // SAFETY: the temporary file has no name, so no other process can write to it while it is
    // mapped, and this test does not.
    let map = unsafe { memmap2::Mmap::map(file) }.unwrap();
    Bytes::from_owner(map)
}

fn temporary(content: &[u8]) -> std::fs::File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(content).unwrap();
    file
}

/// Returns sources of the same bytes: memory, a file, and a memory map.
fn sources(content: &[u8]) -> [Arc<dyn ByteSource>; 3] {
    let file = temporary(content);
    let mapped = map(&file);
    [
        Arc::new(Bytes::copy_from_slice(content)),
        Arc::new(FileSource::try_new(file).unwrap()),
        Arc::new(mapped),
    ]
}

#[test]
fn a_source_gives_exactly_the_range_asked_for() {
    let content: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    for source in sources(&content) {
        assert_eq!(source.size(), 70_000);
        for (offset, len) in [(0, 0), (0, 1), (0, 70_000), (69_999, 1), (70_000, 0), (513, 65_536)]
        {
            let start = usize::try_from(offset).unwrap();
            assert_eq!(source.read(offset, len).unwrap(), content[start..start + len]);
        }
    }
}

#[test]
fn a_source_fails_past_its_end_and_gives_nothing_short() {
    for source in sources(b"0123456789") {
        for (offset, len) in [(0, 11), (10, 1), (5, 6), (u64::from(u32::MAX), 1)] {
            let err = source.read(offset, len).unwrap_err();
            assert_eq!(err.kind(), io::ErrorKind::UnexpectedEof, "{source:?}");
        }
    }
    assert!(Bytes::from_static(b"ab").read(u64::MAX, 1).is_err());
    assert!(Bytes::from_static(b"ab").read(1, usize::MAX).is_err());
}

#[test]
fn threads_may_share_a_source() {
    let content: Vec<u8> = (0..40_000_u32).flat_map(u32::to_le_bytes).collect();
    for source in sources(&content) {
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let (source, content) = (&source, &content);
                scope.spawn(move || {
                    for step in 0..200 {
                        let offset = (thread * 7919 + step * 613) % 150_000;
                        let start = usize::try_from(offset).unwrap();
                        let got = source.read(offset, 1000).unwrap();
                        assert_eq!(got, content[start..start + 1000]);
                    }
                });
            }
        });
    }
}

#[test]
fn every_source_gives_the_same_table() {
    let batch = RecordBatch::try_from_iter([
        ("n", Arc::new(Int32Array::from_iter_values(0..50_000)) as ArrayRef),
        ("s", Arc::new(StringArray::from_iter_values((0..50_000).map(|i| i.to_string())))),
    ])
    .unwrap();
    for format in formats::tables() {
        let batch = batches::coerced(format, &batch);
        let file = laws::encode(format, &batch, &WriteOptions::default());
        for source in sources(&file) {
            let reader = formats::open(source, &ReadOptions::default()).unwrap();
            let back = laws::read_everything(&reader).unwrap();
            assert_eq!(back[0].columns(), batch.columns());
        }
    }
}

/// A source that breaks its contract from some offset on: it fails, or returns too few bytes.
#[derive(Debug)]
struct Broken {
    inner: Bytes,
    from: u64,
    short: bool,
}

impl ByteSource for Broken {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        if offset + len as u64 <= self.from {
            return self.inner.read(offset, len);
        }
        if self.short {
            self.inner.read(offset, len.saturating_sub(1))
        } else {
            Err(io::Error::other("the disk is on fire"))
        }
    }
}

#[test]
fn a_source_that_fails_or_falls_short_is_an_error_with_a_place() {
    let batch =
        RecordBatch::try_from_iter([("n", Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef)])
            .unwrap();
    for format in formats::tables() {
        let batch = batches::coerced(format, &batch);
        let file = Bytes::from(laws::encode(format, &batch, &WriteOptions::default()));
        for from in 0..file.size() {
            for short in [false, true] {
                let source = Arc::new(Broken { inner: file.clone(), from, short });
                let result = format
                    .open(source, &ReadOptions::default())
                    .and_then(|reader| laws::read_everything(&reader));
                let err = result.unwrap_err();
                assert!(err.offset().is_some(), "{err}");
                assert_eq!(matches!(err.kind(), ErrorKind::Io(_)), !short, "{err}");
                if !short {
                    assert!(err.to_string().ends_with("the disk is on fire"), "{err}");
                }
            }
        }
    }
}
