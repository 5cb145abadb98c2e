//! Texts are read in bounded memory, whatever their length.

use std::fmt::Write as _;
use std::io::{self, Read};
use std::sync::Arc;

use hypostyle::Result;
use hypostyle::formats::Reader;
use hypostyle::text::{TextFormat, TextKind, TextOptions, TextSource, TextTable};
use hypostyle_core::reader::RowGroupRequest;

use super::{MOST_BYTES, MOST_TIME, alone, cost};

/// A text that repeats a line after its first one, and takes no memory.
#[derive(Clone, Debug)]
struct Repeated {
    first: &'static [u8],
    line: Arc<[u8]>,
    lines: u64,
}

impl Repeated {
    fn bytes(&self) -> u64 {
        self.first.len() as u64 + self.line.len() as u64 * self.lines
    }
}

impl TextSource for Repeated {
    fn open(&self, offset: u64) -> Result<Box<dyn Read + Send>> {
        Ok(Box::new(RepeatedReader { text: self.clone(), at: offset }))
    }

    fn is_seekable(&self) -> bool {
        true
    }

    fn size(&self) -> Option<u64> {
        Some(self.bytes())
    }
}

struct RepeatedReader {
    text: Repeated,
    at: u64,
}

impl Read for RepeatedReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let Repeated { first, line, .. } = &self.text;
        let mut done = 0;
        while done < buf.len() && self.at < self.text.bytes() {
            let rest = match usize::try_from(self.at).ok().and_then(|at| first.get(at..)) {
                Some(rest) if !rest.is_empty() => rest,
                _ => {
                    let at = (self.at - first.len() as u64) % line.len() as u64;
                    line.get(usize::try_from(at).unwrap()..).unwrap()
                }
            };
            let len = rest.len().min(buf.len() - done);
            buf.get_mut(done..done + len).unwrap().copy_from_slice(rest.get(..len).unwrap());
            done += len;
            self.at += len as u64;
        }
        Ok(done)
    }
}

/// Opens a text and reads all of its columns in windows; returns the number of rows.
fn read(source: impl TextSource + 'static, kind: TextKind) -> Result<u64> {
    let options = TextOptions::default();
    let table = TextTable::open(Arc::new(source), TextFormat::new(kind), &options, None)?;
    let table = Arc::new(table);
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    let mut rows = 0;
    for group in 0..table.row_groups() {
        let mut open = table.clone().open_row_group(group, &RowGroupRequest::new(&columns))?;
        loop {
            let count = open.next_window(8192)?;
            if count == 0 {
                break;
            }
            assert_eq!(open.read(&columns, None)?.len(), columns.len());
            rows += count as u64;
        }
    }
    Ok(rows)
}

#[test]
fn a_long_text_takes_no_more_memory_than_a_short_one() {
    let _alone = alone();
    let delimited = TextKind::Delimited { delimiter: b',' };
    for (kind, first, line) in [
        (delimited, "a,b,c\n", "12345,some text,0.5\n".to_owned()),
        (TextKind::JsonLines, "", "{\"a\":1,\"b\":{\"c\":[1,2]},\"d\":\"text\"}\n".to_owned()),
        (TextKind::Lines, "", "a line of text\n".to_owned()),
        (TextKind::Log, "", "2015-10-18 18:01:47 INFO took 5 ms\n".to_owned()),
    ] {
        let lines = (40 << 20) / line.len() as u64 / if kind == TextKind::Log { 12 } else { 1 };
        let source = Repeated { first: first.as_bytes(), line: line.as_bytes().into(), lines };
        let mut rows = 0;
        let (bytes, _) = cost(|| rows = read(source, kind).unwrap());
        assert_eq!(rows, lines);
        assert!(bytes < MOST_BYTES / 2, "{kind:?}: {bytes} bytes");
    }
}

/// With as many keys as lines, memory and time grow with the text, not with their product.
#[test]
fn a_new_key_on_every_line_is_only_as_large_as_the_text() {
    let _alone = alone();
    let mut text = String::new();
    for row in 0..40_000 {
        writeln!(text, "{{\"k{row}\":{row}}}").unwrap();
    }
    let source = hypostyle::text::SourceText(Arc::new(bytes::Bytes::from(text)));
    let mut rows = 0;
    let (bytes, time) = cost(|| rows = read(source, TextKind::JsonLines).unwrap());
    assert_eq!(rows, 40_000);
    assert!(bytes < MOST_BYTES && time < MOST_TIME, "{bytes} bytes, {time:?}");
}

/// Nested objects with a new key on every line become text.
#[test]
fn a_new_nested_key_on_every_line_is_only_as_large_as_the_text() {
    let _alone = alone();
    let mut text = String::new();
    for row in 0..40_000 {
        writeln!(text, "{{\"a\":{{\"k{row}\":{row}}}}}").unwrap();
    }
    let source = hypostyle::text::SourceText(Arc::new(bytes::Bytes::from(text)));
    let mut rows = 0;
    let (bytes, time) = cost(|| rows = read(source, TextKind::JsonLines).unwrap());
    assert_eq!(rows, 40_000);
    assert!(bytes < MOST_BYTES && time < MOST_TIME, "{bytes} bytes, {time:?}");
}
