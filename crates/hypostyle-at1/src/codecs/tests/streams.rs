use super::*;

/// A log with one stream `verbatim`, which has this backend and payload.
fn log(backend: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut file = archive(Codec::Log, &[("meta", b"\x01\x00"), ("flags", b"\x00")]);
    file[5] = 3;
    file.extend(lp(b"verbatim"));
    file.extend_from_slice(backend);
    file.extend(lp(payload));
    file
}

fn read(file: Vec<u8>) -> Result<(String, Vec<(&'static str, u64)>)> {
    let archive = open(file, &ReadOptions::default())?;
    let mut out = Vec::new();
    archive.unpack(&mut out)?;
    let met = archive.deviations().into_iter().map(|it| (it.code, it.offset)).collect();
    Ok((String::from_utf8(out).unwrap(), met))
}

/// The content `abc` in a frame of zstd.
const ZSTD: &[u8] = &[0x28, 0xB5, 0x2F, 0xFD, 0x20, 3, 0x19, 0, 0, b'a', b'b', b'c'];

/// The xz stream of an empty text.
const XZ: &[u8] = b"\xFD7zXZ\0\0\x04\xE6\xD6\xB4\x46\0\0\0\0\x1C\xDF\x44\x21\x1F\xB6\xF3\x7D\x01\
    \0\0\0\0\x04YZ";

#[test]
fn bytes_after_compressed_ones_are_recorded() {
    for (backend, payload, text) in [(1, ZSTD, "abc"), (0, XZ, "")] {
        let good = read(log(&[backend], payload)).unwrap();
        assert_eq!(good, (text.to_owned(), vec![]));
        let file = log(&[backend], &[payload, b"tail"].concat());
        let at = file.len() as u64 - 4;
        assert_eq!(read(file).unwrap(), (text.to_owned(), vec![("A7", at)]));
    }
}

#[test]
fn a_byte_that_is_no_backend_and_no_length_is_called_no_backend() {
    for byte in [0x03, 0x1F, 0x20, 0x7F, 0x80, 0xFF] {
        let err = read(log(&[byte], b"abc")).unwrap_err();
        assert!(err.to_string().contains(&format!("backend: {byte} is not")), "{err}");
    }
    let legacy = read(log(&[], XZ)).unwrap();
    assert_eq!(legacy.1[0].0, "A1");
}

#[test]
fn streams_that_lines_are_not_made_of_are_not_expanded() {
    let mut file = archive(
        Codec::QJson,
        &[("meta", b"\x01\x00\x00\x01\x00\x00"), ("row_modes", b"\0"), ("verbatim", b"x")],
    );
    file[5] = 6;
    file.extend(lp(b"template"));
    file.extend([2, 2, 1, 0]);
    for name in ["paths", "bloom"] {
        file.extend(lp(name.as_bytes()));
        file.extend([1, 4]);
        file.extend(b"\0\0\0\0");
    }
    assert_eq!(read(file).unwrap().0, "x");
}
