//! Archives: valid ones of every codec with a few changes, and any text packed.
//!
//! A change is made to the content of a stream, behind its compression and with true checksums, so
//! that a fuzzer gets to the decoders instead of failing at the first CRC-32.

#![expect(clippy::indexing_slicing, reason = "indices are in range by construction")]

use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use hypostyle::formats::at1::{self, Archive, Choice, Codec, PackOptions};
use hypostyle::text::TextOptions;
use hypostyle::{RangeCache, ReadOptions, Table};
use hypostyle_core::wire::Crc32;

use super::table_scans::scan_in_all_ways;
use super::{Seed, change_bytes};
use crate::build::at1::{File, Stream, uv};
use crate::gen_osm::{Attributes, osm};
use crate::gen_vcf::{Calls, vcf};
use crate::laws::{small_limits, unpack};
use crate::text_tables::an_archive_is_the_table_of_its_text;

/// The stream with the checksums of the frame, which ends with two of them and one of its own.
const TABLE: &str = "hyp.table";

/// The codecs, and the streams that the second checksum of a frame covers (§11.2).
const BULK: [(Codec, &[&str]); 8] = [
    (
        Codec::Ssh,
        &[
            "flags",
            "months",
            "days",
            "times",
            "hosts",
            "pids",
            "template_ids",
            "vars",
            "rawmsgs",
            "verbatim",
        ],
    ),
    (Codec::Json, &["flags", "verbatim", "values", "tape"]),
    (Codec::Log, &["flags", "tids", "vars", "verbatim"]),
    (Codec::Columnar, &["values"]),
    (Codec::JsonDoc, &["skeleton", "colids", "values"]),
    (Codec::QColumnar, &["blocks"]),
    (Codec::QJson, &["blocks"]),
    (Codec::QJson2, &["blocks"]),
];

/// A valid archive: its codec, and the names and contents of its streams.
struct Base {
    codec: Codec,
    name: &'static str,
    streams: Vec<(String, Vec<u8>)>,
    hash: [u8; 32],
}

impl Base {
    fn pack(name: &'static str, text: &[u8], options: &PackOptions) -> Option<Self> {
        let options = options.clone().with_name(Some(name));
        let (archive, _) = at1::pack(text, &options).ok()?;
        let opened = Archive::open(Arc::new(Bytes::from(archive.clone())), &ReadOptions::default());
        let opened = opened.unwrap();
        let (codec, hash) = (opened.codec(), opened.hash()?);
        (codec != Codec::Raw).then(|| Self { codec, name, streams: streams_of(&archive), hash })
    }

    /// Writes the archive with these streams, uncompressed, and true checksums.
    fn build(&self, streams: &[(String, Vec<u8>)], with_hash: bool) -> Vec<u8> {
        let mut stored: Vec<Stream> =
            streams.iter().map(|(name, content)| Stream::new(name, content)).collect();
        let sums = self.checksums(&stored);
        for stream in stored.iter_mut().filter(|stream| stream.name == TABLE) {
            let body = stream.payload.len().saturating_sub(12);
            stream.payload.truncate(body);
            stream.payload.extend_from_slice(&sums[0].to_le_bytes());
            stream.payload.extend_from_slice(&sums[1].to_le_bytes());
            let whole = crc32(&stream.payload);
            stream.payload.extend_from_slice(&whole.to_le_bytes());
        }
        let hash = with_hash.then_some(self.hash);
        File { hash, ..File::whole(self.codec.id(), &stored) }.build()
    }

    /// Computes the checksums of §11.2: of the directory with the small streams, and of the rest.
    fn checksums(&self, streams: &[Stream]) -> [u32; 2] {
        let bulk = BULK.iter().find(|(codec, _)| *codec == self.codec).map(|(_, names)| *names);
        let is_bulk = |name: &str| {
            let name = name.rsplit_once(':').map_or(name, |(_, name)| name);
            bulk.is_some_and(|names| names.contains(&name))
        };
        let (mut directory, mut rest) = (Crc32::default(), Crc32::default());
        directory.update(&[self.codec.id(), 0]);
        directory.update(&uv(streams.len() as u128));
        for stream in streams {
            let whole = stream.build();
            let (entry, payload) = whole.split_at(whole.len() - stream.payload.len());
            if is_bulk(&stream.name) {
                rest.update(payload);
            }
            if stream.name != TABLE {
                directory.update(entry);
                directory.update(if is_bulk(&stream.name) { &[] } else { payload });
            }
        }
        [directory.finish(), rest.finish()]
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = Crc32::default();
    crc.update(bytes);
    crc.finish()
}

/// Returns the names and the decompressed contents of the streams of a whole archive.
fn streams_of(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut rest = &archive[5..];
    let count = number(&mut rest);
    let stream = |_| {
        let name_len = number(&mut rest);
        let (name, after) = rest.split_at(name_len);
        let (backend, after) = after.split_first().unwrap();
        rest = after;
        let len = number(&mut rest);
        let (payload, after) = rest.split_at(len);
        rest = after;
        let content = match backend {
            0 => {
                let mut content = Vec::new();
                let mut decoder = liblzma::read::XzDecoder::new(payload);
                std::io::Read::read_to_end(&mut decoder, &mut content).unwrap();
                content
            }
            1 => ::zstd::decode_all(payload).unwrap(),
            _ => payload.to_vec(),
        };
        (String::from_utf8(name.to_vec()).unwrap(), content)
    };
    (0..count).map(stream).collect()
}

/// Reads an unsigned LEB128 number.
fn number(rest: &mut &[u8]) -> usize {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (&byte, after) = rest.split_first().unwrap();
        *rest = after;
        value |= usize::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

/// Returns texts of all kinds, with their names.
fn texts() -> Vec<(&'static str, String)> {
    let rows = 0..12_u32;
    let csv = rows.clone().map(|row| {
        let day = row % 28 + 1;
        format!("{row},2024-01-{day:02},c{},{}.{:02},\"q {}\"\n", row % 3, row * 79, row, row % 2)
    });
    let csv = format!(
        "id,day,city,amount,note\n{}12,\"2024-01-05\", c0 ,\"1\",x\n",
        csv.collect::<String>()
    );
    let json = |shapes: u32| {
        let line = move |row: u32| match row % shapes {
            0 => {
                format!("{{\"id\":{row},\"city\":\"c{}\",\"a\":{{\"b\":[{row},null]}}}}\n", row % 3)
            }
            _ => format!("{{\"id\":{row},\"tags\":[\"a\",{}],\"v\":null}}\n", row * 7919 % 1000),
        };
        (0..12).map(line).collect::<String>()
    };
    let log = rows.clone().map(|row| {
        let took = row * 7919 % 1000;
        format!("2024-01-02 03:04:{row:02} INFO worker-{} took {took} ms\n", row % 9)
    });
    let ssh = rows.map(|row| {
        let (pid, host) = (24_200 + row, row % 5);
        format!("Dec 10 06:55:{row:02} LabSZ sshd[{pid}]: Failed password for root from 10.0.0.{host} port {pid} ssh2\n")
    });
    let vcf = String::from_utf8(vcf(Calls::Phased, 6, 2, 7)).unwrap();
    let osm = String::from_utf8(osm(Attributes::Plain, 3, 3)).unwrap();
    vec![
        ("t.csv", csv),
        ("t.jsonl", json(1)),
        ("t.jsonl", json(2)),
        ("t.log", log.collect()),
        ("auth.log", ssh.collect()),
        ("t.vcf", vcf),
        ("t.osm", osm),
    ]
}

/// Returns archives of every codec that fits one of the texts, also with groups.
fn bases() -> &'static [Base] {
    static BASES: OnceLock<Vec<Base>> = OnceLock::new();
    BASES.get_or_init(|| {
        let mut bases: Vec<Base> = Vec::new();
        for (name, text) in &texts() {
            let all = PackOptions::default().with_level(1);
            let grouped = all.clone().with_rows_per_group(NonZeroUsize::new(5));
            let only =
                Codec::ALL.into_iter().map(|codec| all.clone().with_codec(Choice::Only(codec)));
            let query = grouped.clone().with_codec(Choice::Query);
            for options in only.chain([grouped, query]) {
                let Some(base) = Base::pack(name, text.as_bytes(), &options) else { continue };
                if !bases.iter().any(|known| known.streams == base.streams) {
                    bases.push(base);
                }
            }
        }
        bases
    })
}

/// Returns how many valid archives [`bent_archive`] starts from.
pub fn archive_count() -> usize {
    bases().len()
}

/// Reads a valid archive of some codec with a few changes in its streams, in all ways.
pub fn bent_archive(bytes: &[u8]) {
    let mut seed = Seed(bytes);
    let bases = bases();
    let base = &bases[usize::from(seed.byte()) % bases.len()];
    let flags = seed.byte();
    let mut streams = base.streams.clone();
    for _ in 0..1 + flags % 3 {
        let which = usize::from(seed.byte()) % streams.len();
        match seed.byte() {
            0 => drop(streams.remove(which)),
            1 => streams[which].0.push('x'),
            _ => change_bytes(&mut streams[which].1, &mut seed),
        }
        if streams.is_empty() {
            break;
        }
    }
    let archive = base.build(&streams, flags & 0x80 != 0);
    read_archive(base.name, &archive);
}

/// Checks that an archive without changes is read, so that [`bent_archive`] bends valid ones.
pub fn every_archive_is_valid() {
    for base in bases() {
        let archive = base.build(&base.streams, true);
        unpack(&archive, &ReadOptions::default()).unwrap();
        let options = TextOptions::default();
        let table = crate::text_tables::archive_table(Some(base.name), &archive, &options);
        let table =
            table.unwrap_or_else(|err| unreachable!("{:?} {}: {err}", base.codec, base.name));
        crate::scans::collected(table.scan())
            .unwrap_or_else(|err| unreachable!("{:?} {}: {err}", base.codec, base.name));
    }
}

/// Unpacks, describes, scans and salvages bytes as an archive.
pub fn read_archive(name: &str, file: &[u8]) {
    let limits = small_limits().with_output_bytes(1 << 20);
    let options =
        ReadOptions::default().with_limits(limits.clone()).with_threads(NonZeroUsize::new(1));
    let source = Arc::new(RangeCache::over(Arc::new(Bytes::copy_from_slice(file))));
    let Ok(archive) = Archive::open(source.clone(), &options) else { return };
    let unpacked = unpack(file, &options);
    let _ = (archive.frames(), archive.layout(), archive.describe(), archive.templates());
    let salvaged = archive.salvage(&mut std::io::sink());
    if unpacked.is_ok() && archive.codec() != Codec::Bundle {
        assert!(salvaged.is_ok(), "what unpacks can be salvaged: {salvaged:?}");
    }
    let _ = (archive.check_groups(), archive.check_table());
    let mut text = TextOptions::default();
    (text.limits, text.threads) = (limits, NonZeroUsize::new(1));
    let Ok(reader) = archive.table(Some(name), &text) else { return };
    scan_in_all_ways(&Table::new(reader, source));
}

/// Packs any text with any options: it unpacks to itself, and is the table of its text.
pub fn pack_any(bytes: &[u8]) {
    let mut seed = Seed(bytes);
    let (codec, flags) = (usize::from(seed.byte()), seed.byte());
    let choice = match Codec::ALL.get(codec % (Codec::ALL.len() + 2)) {
        Some(&codec) => Choice::Only(codec),
        None if codec % 2 == 0 => Choice::Auto,
        None => Choice::Query,
    };
    let name = ["t.csv", "t.tsv", "t.jsonl", "t.log", "t.txt", "t.json", "t.vcf", "t"];
    let name = name[usize::from(flags & 7)];
    let mut options = PackOptions::default().with_codec(choice).with_name(Some(name));
    options =
        options.with_threads(NonZeroUsize::new(1)).with_level([1, 6][usize::from(flags >> 3 & 1)]);
    if flags & 0x10 != 0 {
        options = options.with_rows_per_group(NonZeroUsize::new(2 + usize::from(flags >> 6)));
    }
    options = options.with_index(flags & 0x20 == 0);
    let text = seed.0;
    let mut archive = Vec::new();
    if flags & 0xC0 == 0xC0 {
        let options = options.with_chunk_lines(3);
        if at1::pack_stream(text, &mut archive, &options, |_, _| {}).is_err() {
            return;
        }
    } else {
        let Ok((packed, _)) = at1::pack(text, &options) else { return };
        archive = packed;
    }
    let read = ReadOptions::default().with_threads(NonZeroUsize::new(1)).with_strict(true);
    let (back, _) = unpack(&archive, &read).unwrap();
    assert!(back == crate::laws::Original::File(text.to_vec()), "unpacking gives another text");
    let mut text_options = TextOptions::default();
    text_options.threads = NonZeroUsize::new(1);
    an_archive_is_the_table_of_its_text(Some(name), text, &archive, &text_options);
}
