use super::*;

/// An image of 2 rows, 3 columns and 1 sample.
fn image(transform: u8, bits: u8, pix: &[u8]) -> Result<Vec<u8>> {
    let meta = [1, transform, 0, 2, 3, 1, bits, 1, b'.'];
    let set: &StreamList<'_> = &[("meta", &meta), ("pre", b"<"), ("pix", pix), ("suf", b">")];
    unpack(Codec::Dicom, set)
}

/// Unpacks the same image, and removes the text around the pixels.
fn pixels(transform: u8, bits: u8, pix: &[u8]) -> Vec<u8> {
    let all = image(transform, bits, pix).unwrap();
    all.strip_prefix(b"<").and_then(|rest| rest.strip_suffix(b".>")).unwrap().to_vec()
}

#[test]
fn a_raw_image_is_itself() {
    assert_eq!(text(Codec::Dicom, &[("meta", b"\x00"), ("raw", b"DICM"), ("pix", b"no")]), "DICM");
    assert_eq!(text(Codec::Dicom, &[("meta", b"\x00")]), "");
}

#[test]
fn pixels_without_a_transform_may_have_any_length() {
    assert_eq!(image(0, 16, b"abc").unwrap(), b"<abc.>");
    assert_eq!(image(0, 8, b"").unwrap(), b"<.>");
}

#[test]
fn differences_across_start_anew_in_each_row() {
    assert_eq!(pixels(1, 8, &[1, 2, 255, 10, 250, 1]), [1, 3, 2, 10, 4, 5]);
    assert_eq!(
        pixels(1, 16, &[0xFF, 0, 1, 0, 0, 0xFF, 5, 0, 0xFF, 0xFF, 1, 1]),
        [0xFF, 0, 0, 1, 0, 0, 5, 0, 4, 0, 5, 1],
    );
}

#[test]
fn differences_down_go_over_the_whole_image() {
    assert_eq!(pixels(2, 8, &[1, 2, 3, 1, 255, 0]), [1, 2, 3, 2, 1, 3]);
    assert_eq!(
        pixels(2, 16, &[0xFF, 0, 1, 0, 0, 0xFF, 1, 0, 0xFF, 0xFF, 1, 1]),
        [0xFF, 0, 1, 0, 0, 0xFF, 0, 1, 0, 0, 1, 0],
    );
}

#[test]
fn planes_are_high_bytes_and_then_low_ones() {
    assert_eq!(pixels(3, 16, b"ABCDEFabcdef"), b"aAbBcCdDeEfF");
    let err = image(3, 8, b"ABCDEF").unwrap_err();
    assert_eq!((err.stream(), err.offset()), (Some("meta"), Some(1)), "{err}");
}

#[test]
fn any_depth_but_eight_bits_takes_two_bytes() {
    assert_eq!(pixels(1, 12, &[1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0]).len(), 12);
    assert!(image(1, 12, &[0; 6]).is_err());
    assert!(image(1, 0, &[0; 12]).is_ok());
}

#[test]
fn large_images_are_worked_on_in_pieces() {
    let (rows, columns) = (3_usize, 100_000_usize);
    for bits in [8_u8, 16] {
        let width = usize::from(bits / 8);
        let meta = [b"\x01\x01\x00\x03".to_vec(), uv(100_000), vec![1, bits, 0]].concat();
        let down = [b"\x01\x02\x00\x03".to_vec(), uv(100_000), vec![1, bits, 0]].concat();
        let mut pix = vec![0; rows * columns * width];
        pix.iter_mut().step_by(width).for_each(|byte| *byte = 1);
        let across = unpack(Codec::Dicom, &[("meta", &meta), ("pix", &pix)]).unwrap();
        let down = unpack(Codec::Dicom, &[("meta", &down), ("pix", &pix)]).unwrap();
        let value = |image: &[u8], row: usize, column: usize| {
            let cell = &image[(row * columns + column) * width..][..width];
            cell.iter().rev().fold(0_usize, |value, byte| value << 8 | usize::from(*byte))
        };
        for row in 0..rows {
            for column in [0, 1, 32_767, 32_768, 65_535, 65_536, 99_999] {
                assert_eq!(value(&across, row, column), (column + 1) % (1 << bits));
                assert_eq!(value(&down, row, column), row + 1);
            }
        }
    }
}

#[test]
fn the_pixels_must_be_as_many_as_the_image_has() {
    for transform in 1..=3 {
        for pix in [&[0; 11][..], &[0; 13], &[0; 6], &[]] {
            let err = image(transform, 16, pix).unwrap_err();
            assert_eq!((err.stream(), err.offset()), (Some("pix"), Some(0)), "{err}");
        }
    }
}

#[test]
fn sizes_that_overflow_are_refused() {
    let huge = uv(1 << 33);
    for transform in 1..=3 {
        // 2^33 * 2^33 must not wrap to a small number.
        let meta = [&[1, transform, 0], &huge[..], &huge, &uv(1), &[16, 0]].concat();
        refused(Codec::Dicom, &[("meta", &meta), ("pix", b"")], "pix", 0);
        let meta = [&[1, transform, 0, 0], &huge[..], &huge, &[16, 0]].concat();
        // Zero rows, but the width of a row exceeds 64 bits.
        refused(Codec::Dicom, &[("meta", &meta), ("pix", b"")], "pix", 0);
        let meta = [&[1, transform, 0, 0], &huge[..], &[1, 16, 0]].concat();
        assert_eq!(text(Codec::Dicom, &[("meta", &meta), ("pix", b"")]), "", "no rows, no pixels");
        let meta = [1, transform, 0, 5, 0, 7, 16, 0];
        assert_eq!(text(Codec::Dicom, &[("meta", &meta), ("suf", b"end")]), "end");
    }
}

#[test]
fn what_is_unknown_is_refused() {
    refused(Codec::Dicom, &[], "meta", 0);
    refused(Codec::Dicom, &[("meta", b"\x02")], "meta", 0);
    refused(Codec::Dicom, &[("meta", b"\x01\x04\x00\x01\x01\x01\x08\x00")], "meta", 1);
    refused(Codec::Dicom, &[("meta", b"\x01\x00\x00\x01\x01\x01\x08\x05")], "meta", 8);
    let set: &StreamList<'_> = &[("meta", b"\x01\x00\x01\x01\x01\x01\x08\x00")];
    let err = unpack(Codec::Dicom, set).unwrap_err();
    assert!(matches!(err.kind(), ErrorKind::Unsupported(_)), "{err}");
}

#[test]
fn damage_is_an_error_at_worst() {
    for transform in 0..4 {
        let meta = [1, transform, 0, 2, 3, 1, 16, 1, b'.'];
        let set: &StreamList<'_> =
            &[("meta", &meta), ("pre", b"<"), ("pix", b"ABCDEFabcdef"), ("suf", b">")];
        survives_cuts(Codec::Dicom, set);
        survives_changes(Codec::Dicom, set);
    }
}
