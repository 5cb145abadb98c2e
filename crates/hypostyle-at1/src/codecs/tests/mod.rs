//! Decodes archives that are built by hand, stream by stream.

use std::sync::Arc;

use bytes::Bytes;

use crate::{Archive, Codec};
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::limits::Limits;
use hypostyle_core::options::ReadOptions;

mod bundle;
mod columnar;
mod dicom;
mod embed;
mod groups;
mod json;
mod jsondoc;
mod log;
mod osm;
mod ssh;
mod streams;
mod vcf;

#[test]
fn the_two_tables_of_codecs_agree_on_row_groups() {
    for codec in Codec::ALL {
        assert_eq!(super::entry(codec).groups.is_some(), codec.has_groups(), "{codec}");
    }
}

/// The names and contents of the streams of an archive that a test builds.
type StreamList<'a> = [(&'a str, &'a [u8])];

/// Builds a whole-file archive without a trailer, with stored streams.
fn archive(codec: Codec, streams: &StreamList<'_>) -> Vec<u8> {
    let mut file = vec![b'A', b'T', b'1', 2, codec.id()];
    file.extend(uv(streams.len() as u128));
    for (name, bytes) in streams {
        file.extend(lp(name.as_bytes()));
        file.push(2);
        file.extend(lp(bytes));
    }
    file
}

/// Returns the same streams, with some replaced or added.
fn with<'a>(base: &StreamList<'a>, changes: &StreamList<'a>) -> Vec<(&'a str, &'a [u8])> {
    let changed = |name: &str| changes.iter().any(|(other, _)| *other == name);
    let kept = base.iter().filter(|(name, _)| !changed(name));
    kept.chain(changes).copied().collect()
}

/// Returns the same streams, without one.
fn without<'a>(base: &StreamList<'a>, name: &str) -> Vec<(&'a str, &'a [u8])> {
    base.iter().filter(|(other, _)| *other != name).copied().collect()
}

fn open(file: Vec<u8>, options: &ReadOptions) -> Result<Archive> {
    Archive::open(Arc::new(Bytes::from(file)), options)
}

fn unpack_with(codec: Codec, streams: &StreamList<'_>, options: &ReadOptions) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let unpacked = open(archive(codec, streams), options)?.unpack(&mut out)?;
    assert_eq!(unpacked.bytes, out.len() as u64);
    Ok(out)
}

fn unpack(codec: Codec, streams: &StreamList<'_>) -> Result<Vec<u8>> {
    unpack_with(codec, streams, &ReadOptions::default())
}

/// Unpacks an archive to text.
#[track_caller]
fn text(codec: Codec, streams: &StreamList<'_>) -> String {
    match unpack(codec, streams) {
        Ok(bytes) => String::from_utf8(bytes).unwrap(),
        Err(err) => panic!("{err}"),
    }
}

/// Asserts that unpacking fails in this stream at this byte; returns the message.
#[track_caller]
fn refused(codec: Codec, streams: &StreamList<'_>, stream: &str, offset: u64) -> String {
    let err = unpack(codec, streams).expect_err("was accepted");
    assert_eq!((err.stream(), err.offset()), (Some(stream), Some(offset)), "{err}");
    err.to_string()
}

/// Asserts that unpacking stops at a limit of `max_bytes` bytes.
#[track_caller]
fn limited(codec: Codec, streams: &StreamList<'_>, max_bytes: u64) {
    let limits = Limits::default().with_output_bytes(max_bytes);
    let err = unpack_with(codec, streams, &ReadOptions::default().with_limits(limits))
        .expect_err("was accepted");
    assert!(
        matches!(err.kind(), ErrorKind::LimitExceeded { limit, .. } if *limit == max_bytes),
        "{err}"
    );
}

/// Asserts that these deviations are reported, and that strict reading refuses them.
#[track_caller]
fn deviates(codec: Codec, streams: &StreamList<'_>, codes: &[&str]) {
    let archive = open(archive(codec, streams), &ReadOptions::default()).unwrap();
    archive.unpack(&mut Vec::new()).unwrap();
    let met: Vec<&str> = archive.deviations().iter().map(|deviation| deviation.code).collect();
    assert_eq!(met, codes);
    let strict = unpack_with(codec, streams, &ReadOptions::default().with_strict(true));
    let is_strict = |err: &Error| matches!(err.kind(), ErrorKind::Strict(_));
    assert_eq!(strict.as_ref().err().is_some_and(is_strict), !codes.is_empty());
}

/// Unpacks with every prefix of every stream and without every stream; must not panic.
fn survives_cuts(codec: Codec, streams: &StreamList<'_>) {
    for (name, bytes) in streams {
        let _ = unpack(codec, &without(streams, name));
        for cut in 0..bytes.len() {
            let _ = unpack(codec, &with(streams, &[(name, &bytes[..cut])]));
        }
    }
}

/// Unpacks with every byte of every stream changed; must not panic.
fn survives_changes(codec: Codec, streams: &StreamList<'_>) {
    // The limit is low, so that large counts fail early.
    let limits = Limits::default().with_output_bytes(1 << 16);
    let options = ReadOptions::default().with_limits(limits);
    for (name, bytes) in streams {
        for at in 0..bytes.len() {
            for value in [0x00, 0x01, 0x02, 0x03, 0x0A, 0x7F, 0x80, 0xFF, bytes[at] ^ 0x40] {
                let mut changed = bytes.to_vec();
                changed[at] = value;
                let _ = unpack_with(codec, &with(streams, &[(name, &changed)]), &options);
            }
        }
    }
}

/// Encodes an unsigned number, seven bits a byte.
fn uv(mut value: u128) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let low = (value & 0x7F) as u8;
        value >>= 7;
        if value == 0 {
            out.push(low);
            return out;
        }
        out.push(low | 0x80);
    }
}

/// Encodes a signed number in zigzag form.
fn sv(value: i128) -> Vec<u8> {
    uv(((value << 1) ^ (value >> 127)).cast_unsigned())
}

/// Encodes the differences between numbers, starting from 0.
fn deltas(values: &[i128]) -> Vec<u8> {
    let before = std::iter::once(&0).chain(values);
    values.iter().zip(before).flat_map(|(value, before)| sv(value - before)).collect()
}

/// Encodes a length and the bytes.
fn lp(bytes: &[u8]) -> Vec<u8> {
    let mut out = uv(bytes.len() as u128);
    out.extend_from_slice(bytes);
    out
}
