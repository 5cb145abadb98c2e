//! The decoders of WebAssembly beside the native ones: the same content, the same words.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a failed test may panic")]

use hypostyle_core::compress::{pure, xz, zstd};
use hypostyle_core::limits::Limits;
use liblzma::stream::{Action, Check, Filters, LzmaOptions, Stream};

fn sample(len: usize) -> Vec<u8> {
    (0..len).map(|i| u8::try_from(i * i / 7 % 13 + i / 1000 % 50).unwrap()).collect()
}

/// Compresses with a block for every `block` bytes, or with one block for 0.
fn packed(raw: &[u8], block: usize, check: Check, delta: bool) -> Vec<u8> {
    let options = LzmaOptions::new_preset(6).unwrap();
    let mut filters = Filters::new();
    if delta {
        filters.delta_properties(&[2]).unwrap();
    }
    filters.lzma2(&options);
    let mut stream = Stream::new_stream_encoder(&filters, check).unwrap();
    let mut out = Vec::with_capacity(raw.len() * 2 + 8192);
    if block > 0 {
        for chunk in raw.chunks(block) {
            stream.process_vec(chunk, &mut out, Action::FullFlush).unwrap();
        }
    }
    stream.process_vec(if block > 0 { &[] } else { raw }, &mut out, Action::Finish).unwrap();
    out
}

fn native_xz(file: &[u8], limits: &Limits) -> Result<(Vec<u8>, usize), String> {
    xz::decompress(file, limits, 1).map_err(|err| err.to_string())
}

fn pure_xz(file: &[u8], limits: &Limits) -> Result<(Vec<u8>, usize), String> {
    pure::decompress_xz(&[file], u64::MAX, limits, true).map_err(|err| err.to_string())
}

#[test]
fn xz_streams_come_back() {
    let limits = Limits::default();
    for len in [0, 1, 1000, 300_000] {
        for block in [0, 4096, 50_000] {
            for check in [Check::None, Check::Crc32, Check::Crc64, Check::Sha256] {
                for delta in [false, true] {
                    let raw = sample(len);
                    let mut file = packed(&raw, block, check, delta);
                    let stored = file.len();
                    file.extend_from_slice(b"after");
                    let (content, used) = pure_xz(&file, &limits).unwrap();
                    assert!(content == raw && used == stored, "{len} {block}");
                    let (head, tail) = file[..stored].split_at(stored / 2);
                    let parts = pure::decompress_xz(&[head, tail], raw.len() as u64, &limits, true);
                    assert!(parts.unwrap().0 == raw);
                }
            }
        }
    }
}

/// Damage is found by both, in nearly all cases at the same place and with the same words. Two
/// differences are left: inside damaged LZMA data, the two may have decoded a different number of
/// bytes, and where damage makes data run past its end, one may call it cut off.
#[test]
fn damaged_xz_streams_fail_with_the_same_words() {
    let limits = Limits::default();
    let without_count =
        |text: &str| -> String { text.chars().filter(|c| !c.is_ascii_digit()).collect() };
    let (mut cases, mut same, mut alike) = (0, 0, 0);
    for (block, check) in [(0, Check::Crc64), (1000, Check::Crc32), (1000, Check::None)] {
        let file = packed(&sample(3000), block, check, false);
        let mut compare = |bad: &[u8], what: String| {
            let (native, pure) = (native_xz(bad, &limits), pure_xz(bad, &limits));
            cases += 1;
            same += usize::from(native == pure);
            match (&native, &pure) {
                (Err(native), Err(pure)) => {
                    alike += usize::from(without_count(native) == without_count(pure));
                }
                _ => {
                    assert_eq!(native, pure, "{what}");
                    alike += 1;
                }
            }
        };
        for cut in 0..file.len() {
            compare(&file[..cut], format!("cut at {cut}"));
        }
        for at in 0..file.len() {
            for flip in [0x01, 0x10, 0x80, 0xFF] {
                let mut bad = file.clone();
                bad[at] ^= flip;
                compare(&bad, format!("byte {at} of {} with {flip}", file.len()));
            }
        }
    }
    println!("{same} of {cases} messages agree to the digit, {alike} in words");
    assert!(alike * 100 >= cases * 99, "{alike} of {cases} messages agree in words");
    assert!(same * 100 >= cases * 80, "{same} of {cases} messages agree to the digit");
}

#[test]
fn zstd_frames_come_back_and_damage_is_found() {
    let limits = Limits::default();
    let words = |found: Result<(Vec<u8>, usize), hypostyle_core::error::Error>| {
        found.map_err(|err| err.to_string())
    };
    for size in [0, 1, 1000, 70_000, 400_000] {
        for raw in [sample(size), vec![7; size]] {
            for level in [1, 3, 19] {
                let file = zstd::compress(&raw, level).unwrap();
                let pure = words(pure::decompress_zstd(&file, &limits));
                assert!(pure == Ok((raw.clone(), file.len())), "{size} {level}");
            }
            let far = zstd::compress_far(&raw, 19).unwrap();
            assert!(words(pure::decompress_zstd(&far, &limits)) == Ok((raw.clone(), far.len())));
        }
    }
    let file = zstd::compress(&sample(3000), 3).unwrap();
    for cut in 0..file.len() {
        let native = words(zstd::decompress(&file[..cut], &limits));
        assert_eq!(words(pure::decompress_zstd(&file[..cut], &limits)), native, "cut at {cut}");
    }
    let (mut damaged, mut missed) = (0, 0);
    for at in 0..file.len() {
        for flip in [0x01, 0x10, 0x80] {
            let mut bad = file.clone();
            bad[at] ^= flip;
            let native = words(zstd::decompress(&bad, &limits));
            let pure = words(pure::decompress_zstd(&bad, &limits));
            // `ruzstd` does not check that a block is used up to its last bit, so it may miss damage
            // that libzstd finds; it finds none where there is none.
            if native.is_ok() {
                assert_eq!(pure, native, "byte {at} with {flip}");
            }
            (damaged, missed) = (
                damaged + usize::from(native.is_err()),
                missed + usize::from(native.is_err() && pure.is_ok()),
            );
        }
    }
    assert!(missed * 4 < damaged, "{missed} of {damaged} damaged frames are accepted");
}

#[test]
fn limits_come_before_memory() {
    let small = Limits::default().with_block_bytes(70_000);
    let raw = vec![0; 1 << 20];
    let xz = packed(&raw, 0, Check::Crc32, false);
    assert!(pure_xz(&xz, &small).unwrap_err().contains("limit"));
    let frame = zstd::compress(&raw, 3).unwrap();
    assert!(pure::decompress_zstd(&frame, &small).unwrap_err().to_string().contains("limit"));
    // A header that claims 4 GB in front of a few bytes.
    let mut forged = vec![0x28, 0xB5, 0x2F, 0xFD, 0xE0];
    forged.extend_from_slice(&(4_u64 << 30).to_le_bytes());
    forged.extend_from_slice(&[0x01, 0x00, 0x00]);
    assert!(pure::decompress_zstd(&forged, &Limits::default()).is_err());
}
