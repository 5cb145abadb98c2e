//! Packs a file as an AT-1 archive, and unpacks it again: `pack_and_unpack flights.csv`.

use std::env;
use std::error::Error;
use std::sync::Arc;

use bytes::Bytes;
use hypostyle::ReadOptions;
use hypostyle::formats::at1::{Archive, PackOptions, pack};

fn main() -> Result<(), Box<dyn Error>> {
    let original = std::fs::read(env::args().nth(1).ok_or("FILE")?)?;
    let (packed, _) = pack(&original, &PackOptions::default())?;
    let archive = Archive::open(Arc::new(Bytes::from(packed)), &ReadOptions::default())?;
    let mut restored = Vec::new();
    archive.unpack(&mut restored)?;
    if restored == original { Ok(()) } else { Err("the archive is damaged".into()) }
}
