//! The shared AT-1 vectors, with the results of the vendor's decoder.
//!
//! They are not part of this repository. The folder is `../shared/vectors` beside it, or
//! `HYPOSTYLE_VECTORS`. Without the folder the test prints a line and passes.

#![expect(clippy::expect_used, reason = "helpers of a test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use hypostyle::formats::at1::{Archive, Codec};
use hypostyle::{Error, ReadOptions};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The content of archives that the vendor's decoder refuses and ours reads.
fn legacy(name: &str) -> Option<Vec<u8>> {
    match name {
        "legacy_packed_nobackend" => Some(b"1,a\n2,b\n".to_vec()),
        "legacy_raw_nobackend" => Some(b"hello, AT-1\n".repeat(50)),
        "legacy_stream_raw_nobackend" => Some(b"5\n6".to_vec()),
        _ => None,
    }
}

/// The content of bundles: names and bytes.
fn bundle(name: &str) -> Option<&'static [(&'static str, &'static [u8])]> {
    match name {
        "bundle_two" => Some(&[("a.txt", b"one\n"), ("d/b.csv", b"1,b\n")]),
        _ => None,
    }
}

/// One entry of the manifest.
struct Vector {
    name: String,
    file: String,
    expected: Option<String>,
    sha256: Option<String>,
    accepted: bool,
}

#[test]
fn every_vector_is_read_as_its_manifest_says() {
    let Some(folder) = folder() else { return };
    let vectors = manifest(&folder);
    let listed: BTreeSet<String> = vectors
        .iter()
        .flat_map(|vector| [Some(vector.file.clone()), vector.expected.clone()])
        .flatten()
        .chain(["manifest.json".to_owned()])
        .collect();
    let present: BTreeSet<String> = fs::read_dir(&folder)
        .expect("the folder can be listed")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(present, listed, "the manifest and the folder differ");

    let (refused, read): (Vec<&Vector>, Vec<&Vector>) =
        vectors.iter().partition(|vector| vector.name.starts_with("bad_"));
    let mut failed = Vec::new();
    let mut reasons = BTreeSet::new();
    for vector in read {
        if let Err(err) = check(&folder, vector) {
            failed.push(format!("{}: {err}", vector.name));
            reasons.insert(err);
        }
    }
    for vector in refused {
        if let Err(err) = check_refused(&folder, vector, &reasons) {
            failed.push(format!("{}: {err}", vector.name));
        }
    }
    let (bad, all) = (failed.len(), vectors.len());
    assert!(failed.is_empty(), "{bad} of {all} vectors failed:\n{}", failed.join("\n"));
}

/// Returns the folder of vectors, if it exists.
fn folder() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/vectors");
    let vectors = std::env::var_os("HYPOSTYLE_VECTORS").unwrap_or_else(|| beside.into());
    let folder = PathBuf::from(vectors).join("at1");
    if folder.join("manifest.json").is_file() {
        return Some(folder);
    }
    eprintln!("skipped: there are no AT-1 vectors in `{}`", folder.display());
    None
}

fn manifest(folder: &Path) -> Vec<Vector> {
    let text = fs::read(folder.join("manifest.json")).expect("the manifest can be read");
    let list: Vec<Value> = serde_json::from_slice(&text).expect("the manifest is an array");
    let vector = |entry: &Value| {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
        Vector {
            name: text("name").expect("a vector has a name"),
            file: text("file").expect("a vector has a file"),
            expected: text("expected"),
            sha256: text("expected_sha256"),
            accepted: entry.get("reference_rc").and_then(Value::as_i64).expect("a code") == 0,
        }
    };
    list.iter().map(vector).collect()
}

/// Reads a valid vector, and compares its content.
fn check(folder: &Path, vector: &Vector) -> Result<(), String> {
    let file = read(folder, &vector.file)?;
    let name = vector.name.as_str();
    if let (true, Some(expected)) = (vector.accepted, &vector.expected) {
        let expected = read(folder, expected)?;
        let hash: String = Sha256::digest(&expected).iter().map(|b| format!("{b:02x}")).collect();
        if vector.sha256.as_ref() != Some(&hash) {
            return Err("the expected bytes have another hash".into());
        }
        same(unpack(file), &expected)
    } else if let Some(expected) = legacy(name) {
        same(unpack(file), &expected)
    } else if let Some(expected) = bundle(name) {
        let entries = open(file).and_then(|archive| archive.bundle());
        let entries = entries.map_err(|err| err.to_string())?;
        let names: Vec<&str> = entries.iter().map(|entry| entry.file.name.as_str()).collect();
        let expected_names: Vec<&str> = expected.iter().map(|(name, _)| *name).collect();
        if names != expected_names {
            return Err(format!("has the entries {names:?}"));
        }
        for (entry, (name, expected)) in entries.iter().zip(expected) {
            let mut out = Vec::new();
            let unpacked = entry.archive.unpack(&mut out).map(|_| out);
            same(unpacked, expected).map_err(|err| format!("{name}: {err}"))?;
        }
        Ok(())
    } else {
        Err("this test does not know what to make of it".into())
    }
}

/// Reads an invalid vector, whose error must not be one of the `reasons` for which valid
/// vectors were refused.
fn check_refused(folder: &Path, vector: &Vector, reasons: &BTreeSet<String>) -> Result<(), String> {
    if vector.accepted || vector.expected.is_some() {
        return Err("is called bad, but the manifest has it read".into());
    }
    match read_fully(read(folder, &vector.file)?) {
        Ok(()) => Err("was accepted".into()),
        Err(err) if reasons.contains(&err.to_string()) => {
            Err(format!("was refused as good ones were: {err}"))
        }
        Err(_) => Ok(()),
    }
}

fn read(folder: &Path, name: &str) -> Result<Vec<u8>, String> {
    fs::read(folder.join(name)).map_err(|err| format!("{name}: {err}"))
}

fn open(file: Vec<u8>) -> Result<Archive, Error> {
    Archive::open(Arc::new(Bytes::from(file)), &ReadOptions::default())
}

fn unpack(file: Vec<u8>) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    let unpacked = open(file)?.unpack(&mut out)?;
    assert_eq!(unpacked.bytes, out.len() as u64);
    Ok(out)
}

/// Reads all content, also of a bundle.
fn read_fully(file: Vec<u8>) -> Result<(), Error> {
    let archive = open(file)?;
    if archive.codec() != Codec::Bundle {
        return archive.unpack(&mut std::io::sink()).map(drop);
    }
    for entry in archive.bundle()? {
        entry.archive.unpack(&mut std::io::sink())?;
    }
    Ok(())
}

fn same(found: Result<Vec<u8>, Error>, expected: &[u8]) -> Result<(), String> {
    match found {
        Ok(found) if found == expected => Ok(()),
        Ok(found) => {
            let at = found.iter().zip(expected).take_while(|(a, b)| a == b).count();
            let (found, expected) = (found.len(), expected.len());
            Err(format!("differs from byte {at} on: {found} bytes, {expected} expected"))
        }
        Err(err) => Err(err.to_string()),
    }
}
