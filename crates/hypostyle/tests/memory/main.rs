//! Hostile files cost little memory and little time, and never panic.
//!
//! Every file here is small and makes false claims. Each is detected, opened and read in all
//! ways with a counting allocator, and must stay below the same two bounds. This file has the
//! column files, [`onpair`] the files of strings, [`at1`] the archives, [`text`]
//! texts, which are also long; [`scans`] has large tables instead.

#![expect(clippy::unwrap_used, reason = "helpers of tests, outside `#[test]`")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hypostyle::formats::{self, Format};
use hypostyle::{Limits, RangeCache, ReadOptions, Table, TextPolicy};
use hypostyle_core::compress::zlib;
use hypostyle_testkit::build::{self, Block, BuiltFile, clmn, colf, colm};
use hypostyle_testkit::laws;

mod at1;
mod onpair;
mod scans;
mod text;

const MOST_BYTES: usize = 64 << 20;
const MOST_TIME: Duration = Duration::from_secs(30);

/// The system allocator, with a count of the allocated bytes.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn took(bytes: usize) {
    let now = NOW.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(now, Ordering::Relaxed);
}

fn gave(bytes: usize) {
    NOW.fetch_sub(bytes, Ordering::Relaxed);
}

#[expect(unsafe_code, reason = "a global allocator is unsafe by nature")]
// SAFETY: every method passes its arguments to the system allocator unchanged and returns its
// result; the counters touch no other memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`, which is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the caller keeps the contract of `alloc_zeroed`, which is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        gave(layout.size());
        // SAFETY: the caller keeps the contract of `dealloc`, which is passed on.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // Old and new allocation coexist while the bytes move.
        took(new_size);
        gave(layout.size());
        // SAFETY: the caller keeps the contract of `realloc`, which is passed on.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Serializes the tests, so that each counts its own allocations only.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a function, and returns its peak memory and its time.
fn cost(work: impl FnOnce()) -> (usize, Duration) {
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let start = Instant::now();
    work();
    (PEAK.load(Ordering::Relaxed) - before, start.elapsed())
}

/// The expected result of reading a hostile file.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// An error from opening or reading.
    Refused,
    /// Values.
    Read,
}

struct Case {
    name: &'static str,
    format: &'static str,
    file: Bytes,
    end: End,
    limits: Limits,
}

fn case(name: &'static str, format: &'static str, end: End, made: BuiltFile) -> Case {
    Case { name, format, file: made.bytes.into(), end, limits: Limits::default() }
}

fn refused(name: &'static str, format: &'static str, made: BuiltFile) -> Case {
    case(name, format, End::Refused, made)
}

fn read(name: &'static str, format: &'static str, made: BuiltFile) -> Case {
    case(name, format, End::Read, made)
}

impl Case {
    fn with(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Detects, opens and reads the file, all columns at once and one by one.
    fn run(&self, format: &dyn Format, text: TextPolicy) -> End {
        let options = ReadOptions::default().with_limits(self.limits.clone()).with_text(text);
        let source = Arc::new(self.file.clone());
        let _ = formats::detect(source.as_ref());
        let Ok(reader) = format.open(source, &options) else { return End::Refused };
        let whole = laws::read_everything(&reader).is_ok();
        for column in 0..reader.schema().fields().len().min(50) {
            let _ = reader.read(0, &[column]);
        }
        let table = Table::new(reader.clone(), Arc::new(RangeCache::of_size(0)));
        let scan = table.scan().batch_size(100_000).memory_limit(1 << 20).batches();
        let _ = scan.map(|mut scan| while let Ok(Some(_)) = scan.next_batch() {});
        let _ = (reader.deviations(), reader.sections());
        if whole { End::Read } else { End::Refused }
    }
}

#[test]
fn a_hostile_file_costs_little() {
    let _alone = alone();
    let mut dear = Vec::new();
    let cases = [colm_cases(), colf_cases(), clmn_cases(), onpair::cases()];
    for case in cases.into_iter().flatten() {
        let format = formats::by_name(case.format).unwrap();
        for text in [TextPolicy::Strict, TextPolicy::Lossy, TextPolicy::Java] {
            let mut end = End::Refused;
            let (bytes, time) = cost(|| end = case.run(format, text));
            if text == TextPolicy::Strict {
                assert_eq!(end, case.end, "{} {}", case.format, case.name);
            }
            if bytes > MOST_BYTES || time > MOST_TIME {
                let of = case.file.len();
                dear.push(format!(
                    "{} {} ({text:?}): {of} bytes of file cost {bytes} bytes and {time:?}",
                    case.format, case.name
                ));
            }
        }
    }
    assert!(dear.is_empty(), "{}", dear.join("\n"));
}

fn zeros(len: usize) -> Block {
    Block::of(&vec![0; len])
}

fn colm_cases() -> Vec<Case> {
    use colm::{Column, File};
    let int = || Column::int32("id", &[1, 2, 3]);
    let with = |block: Block, code| Column { name: b"x".to_vec(), code, block };
    let one = |rows, column| File::new(rows, vec![column]).build();
    let claim = |raw| Block { raw, ..int().block };
    let many = |count: usize, name: &[u8]| {
        let mut columns = vec![int()];
        let shared = Column { name: name.to_vec(), code: 1, block: Block::shared(0, 12) };
        columns.resize(count, shared);
        File::new(3, columns).build()
    };
    let bomb = zeros(16 << 20);
    let sharing = || {
        let mut columns = vec![with(zeros(4 << 20), 1)];
        columns.resize(100, with(Block::shared(0, 4 << 20), 1));
        File::new(1 << 20, columns).build()
    };
    let bad_texts = |count: usize| colm::strings(&vec![b"\xFF"; count]);
    let long_name =
        Column { name: vec![b'n'; 60_000], code: 3, block: Block::of(&bad_texts(3_000)) };
    vec![
        refused("2^32 - 1 columns in a tiny file", "colm", {
            File { column_count: Some(u32::MAX), ..File::new(3, vec![int()]) }.build()
        }),
        refused("2^32 - 1 columns in a megabyte", "colm", {
            let tail = vec![0; 1 << 20];
            File { column_count: Some(u32::MAX), tail, ..File::new(3, vec![int()]) }.build()
        }),
        refused("as many columns as zeros allow", "colm", {
            let (columns, tail) = (Some(36_000), vec![0; 36_000 * 29]);
            File { column_count: columns, tail, table_at: Some(63), ..File::new(3, vec![int()]) }
                .build()
        }),
        refused("a name of 2^32 - 1 bytes", "colm", one(3, int()).patched(32, &[0xFF; 4])),
        read("a name of a megabyte", "colm", {
            let name = vec![b'n'; 1 << 20];
            one(3, Column { name, ..int() })
        }),
        refused("a block at the end of all offsets", "colm", {
            let block = Block { offset: Some(u64::MAX), ..int().block };
            one(3, with(block, 1))
        }),
        refused("a block that wraps around", "colm", {
            let block = Block { offset: Some(u64::MAX - 3), size: Some(8), ..int().block };
            one(3, with(block, 1))
        }),
        refused("a block of all bytes there could be", "colm", {
            one(3, with(Block { size: Some(u64::MAX), ..int().block }, 1))
        }),
        refused("a table past the end", "colm", {
            File { table_at: Some(u64::MAX - 1), ..File::new(3, vec![int()]) }.build()
        }),
        refused("2^60 bytes from 17", "colm", one(3, with(claim(1 << 60), 1))),
        refused("all bytes from 17", "colm", one(3, with(claim(u64::MAX), 3))),
        refused("as much as deflate could make", "colm", one(3, with(claim(17 * 1032), 1))),
        refused("one byte too much", "colm", one(3, with(claim(13), 1))),
        refused("one byte too little", "colm", one(3, with(claim(11), 1))),
        refused("all rows in a tiny block", "colm", one(u32::MAX, int())),
        refused("all rows of text in a tiny block", "colm", one(u32::MAX, with(claim(12), 3))),
        refused("all rows and no block", "colm", one(u32::MAX, with(Block::absent(), 3))),
        read("a bomb that keeps its word", "colm", one(4 << 20, with(bomb.clone(), 1))),
        refused("a bomb over the limit", "colm", one(4 << 20, with(bomb.clone(), 1)))
            .with(Limits::default().with_block_bytes(1 << 20)),
        refused("a bomb that says it is small", "colm", {
            one(3, with(Block { raw: 12, ..bomb.clone() }, 1))
        }),
        read("two million empty strings", "colm", one(2 << 20, with(zeros(8 << 20), 3))),
        refused("one block for a hundred columns", "colm", sharing())
            .with(Limits::default().with_read_bytes(16 << 20)),
        refused("a string of 2^32 - 1 bytes", "colm", {
            one(1, with(Block::of(b"\xFF\xFF\xFF\xFFabc"), 3))
        }),
        refused("a character in two rows", "colm", {
            one(2, with(Block::of(&colm::strings(&[b"\xC3", b"\xA9"])), 3))
        }),
        refused("a stream with a dictionary", "colm", {
            let stream = build::zlib_with_dictionary(&[0; 12]);
            one(3, with(Block::stored(&stream, 12), 1))
        }),
        read("thirty thousand columns without a name", "colm", many(30_000, b"")),
        read("thirty thousand columns of one name", "colm", many(30_000, b"a")),
        refused("bad text in many rows of a long name", "colm", one(3_000, long_name)),
        refused("bad text in very many rows", "colm", {
            one(200_000, with(Block::of(&bad_texts(200_000)), 3))
        }),
    ]
}

fn colf_cases() -> Vec<Case> {
    use colf::{Column, File};
    let int = || Column::int32("id", &[1, 2, 3]);
    let one = |rows, column| File::new(rows, vec![column]).build();
    let with = |kind, block| Column { kind, block, ..int() };
    let schema = |text: String| File { schema: Some(text.into()), ..File::new(3, vec![int()]) };
    let hidden = |value: String| {
        schema(format!(
            r#"{{"x":{value},"num_rows":3,"columns":[{{"name":"id","type":"int32"}}]}}"#
        ))
        .build()
    };
    let columns_are =
        |value: &str| schema(format!(r#"{{"num_rows":3,"columns":{value}}}"#)).build();
    let nothing = |columns: usize, rows: u64| {
        let column =
            |index: usize| Column { name: format!("{index}"), ..with("int32", Block::absent()) };
        File::new(rows, (0..columns).map(column).collect()).build()
    };
    let texts = |starts: &[u32], bytes: &[u8]| {
        one(starts.len() as u64, Column::utf8_parts("s", None, starts, bytes))
    };
    vec![
        refused("a schema of 2^32 - 1 bytes", "colf", {
            File { schema_len: Some(u32::MAX), ..File::new(3, vec![int()]) }.build()
        }),
        refused("2^64 - 1 rows", "colf", one(u64::MAX, int())),
        refused("2^60 rows and no block", "colf", nothing(1, 1 << 60)),
        refused("2^60 rows and no block, text", "colf", {
            one(1 << 60, with("utf8", Block::absent()))
        }),
        read("no block and 2^60 bytes of it", "colf", {
            one(1_000, with("int32", Block { raw: 1 << 60, ..Block::absent() }))
        }),
        // Each of these columns alone is within the bound that the size of the file sets.
        refused("many columns without a block", "colf", nothing(100, 1_500_000)),
        refused("all rows in a bitmap", "colf", {
            one(u64::MAX, Column::int32_nulls("n", &[0xFF], &[1, 2, 3]))
        }),
        refused("schema nested 100,000 deep", "colf", {
            schema(format!("{}{}", "[".repeat(100_000), "]".repeat(100_000))).build()
        }),
        refused("columns nested 100,000 deep", "colf", {
            columns_are(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)))
        }),
        refused("objects nested 100,000 deep", "colf", {
            columns_are(&format!("[{}1{}]", r#"{"a":"#.repeat(100_000), "}".repeat(100_000)))
        }),
        read("a megabyte of numbers that nobody asked for", "colf", {
            hidden(format!("[{}0]", "0,".repeat(500_000)))
        }),
        read("a megabyte of objects that nobody asked for", "colf", {
            hidden(format!("[{}0]", "{},".repeat(300_000)))
        }),
        read("a megabyte of keys that nobody asked for", "colf", {
            let keys: Vec<String> = (0..100_000).map(|key| format!("\"{key:x}\":0")).collect();
            hidden(format!("{{{}}}", keys.join(",")))
        }),
        refused("a megabyte of columns that are none", "colf", {
            columns_are(&format!("[{}0]", "0,".repeat(500_000)))
        }),
        refused("a megabyte of columns and one entry", "colf", {
            let column = r#"{"name":"","type":"utf8"},"#;
            columns_are(&format!("[{}0]", column.repeat(40_000)))
        }),
        refused("a row count of a megabyte", "colf", {
            schema(format!(r#"{{"num_rows":{},"columns":[]}}"#, "9".repeat(1 << 20))).build()
        }),
        refused("a text of a megabyte that does not end", "colf", {
            schema(format!(r#"{{"num_rows":"{}"#, "a".repeat(1 << 20))).build()
        }),
        read("thirty thousand columns of one name", "colf", {
            let mut columns = vec![int()];
            columns.resize(30_000, Column { block: Block::shared(0, 14), ..int() });
            File::new(3, columns).build()
        }),
        refused("offsets that fall", "colf", texts(&[2, 1], b"abc")),
        refused("offsets past the end", "colf", texts(&[0, u32::MAX], b"abc")),
        refused("a character in two rows", "colf", texts(&[0, 1], "é".as_bytes())),
        refused("offsets that are missing", "colf", {
            one(1_000_000, Column::utf8_parts("s", None, &[0, 1], b"ab"))
        }),
        refused("a block of one byte", "colf", one(3, with("int32", Block::of(&[1])))),
        read("two million empty strings", "colf", {
            let payload = colf::payload(3, None, &vec![0; 8 << 20]);
            one(2 << 20, with("utf8", Block::of(&payload)))
        }),
        read("four million nulls", "colf", {
            let payload = colf::payload(1, Some(&vec![0xFF; 1 << 19]), &vec![0; 16 << 20]);
            one(4 << 20, Column { flag: 1, ..with("int32", Block::of(&payload)) })
        }),
    ]
}

fn clmn_cases() -> Vec<Case> {
    use clmn::{Column, File};
    let int = || Column::int32("id", &[1, 2, 3]);
    let with = |block: Block, code| Column { name: b"x".to_vec(), code, block };
    let one = |rows, column| File::new(rows, vec![column]).build();
    let stated = |raw| with(Block { raw, ..int().block }, 0);
    let small = zlib::compress(&[0; 12], 6).unwrap();
    vec![
        refused("2^32 - 1 columns in a tiny file", "clmn", {
            File { column_count: Some(u32::MAX), ..File::new(3, vec![int()]) }.build()
        }),
        refused("2^32 - 1 columns in a megabyte", "clmn", {
            let tail = vec![0; 1 << 20];
            File { column_count: Some(u32::MAX), tail, ..File::new(3, vec![int()]) }.build()
        }),
        refused("a name that is not there", "clmn", one(3, int()).patched(18, &[0xFF; 2])),
        refused("2^63 rows", "clmn", one(1 << 63, int())),
        refused("2^63 - 1 rows", "clmn", one((1 << 63) - 1, int())),
        refused("2^63 - 1 rows of text", "clmn", {
            one((1 << 63) - 1, with(Block::stored(&small, 12), 3))
        }),
        refused("2^61 rows of 8 bytes", "clmn", one(1 << 61, with(Block::stored(&small, 12), 1))),
        refused("2^63 - 1 rows and no block", "clmn", one((1 << 63) - 1, with(Block::absent(), 1))),
        refused("4 GiB from 17 bytes", "clmn", one(3, stated(u64::from(u32::MAX)))),
        refused("as much as deflate could make", "clmn", one(3, stated(17_000))),
        refused("a block at the end of all offsets", "clmn", {
            let block = Block { offset: Some(u64::MAX), ..int().block };
            one(3, with(block, 0))
        }),
        read("two million empty strings", "clmn", one(2 << 20, with(zeros(4 << 20), 3))),
        refused("a string past the end", "clmn", one(1, with(Block::of(&[0xFF; 5]), 3))),
        refused("a character in two rows", "clmn", {
            one(2, with(Block::of(&clmn::strings(&[b"\xC3", b"\xA9"])), 3))
        }),
        refused("bad text in very many rows", "clmn", {
            one(200_000, with(Block::of(&clmn::strings(&vec![b"\xFF"; 200_000])), 3))
        }),
        read("twenty thousand blocks in the wrong order", "clmn", {
            let name = |index: usize| format!("{index}").into_bytes();
            let column = |index| Column { name: name(index), code: 0, ..int() };
            let columns: Vec<_> = (0..20_000).map(column).collect();
            File { order: (0..20_000).rev().collect(), ..File::new(3, columns) }.build()
        }),
        refused("one block for a hundred columns", "clmn", {
            let mut columns = vec![with(zeros(4 << 20), 0)];
            columns.resize(100, with(Block::shared(0, 4 << 20), 0));
            File::new(1 << 20, columns).build()
        })
        .with(Limits::default().with_read_bytes(16 << 20)),
    ]
}
