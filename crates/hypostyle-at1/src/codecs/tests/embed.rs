use super::*;

const BASE: &StreamList<'_> = &[("meta", b"\x02\x03HDR\x03"), ("data", b"abcABC")];

#[test]
fn bytes_of_elements_are_interleaved() {
    assert_eq!(text(Codec::Embed, BASE), "HDRaAbBcC");
    assert_eq!(text(Codec::Embed, &[("meta", b"\x01\x00\x03"), ("data", b"abc")]), "abc");
    assert_eq!(text(Codec::Embed, &[("meta", b"\x03\x00\x01"), ("data", b"abc")]), "abc");
}

#[test]
fn an_array_may_be_empty() {
    assert_eq!(text(Codec::Embed, &[("meta", b"\x04\x01H\x00")]), "H");
    assert_eq!(text(Codec::Embed, &[("meta", b"\x20\x00\x00")]), "");
}

#[test]
fn every_width_and_many_elements_come_back() {
    for width in 1..=32_usize {
        for count in [1_usize, 4095, 4096, 4097, 9000] {
            let original: Vec<u8> = (0..=250).cycle().take(width * count).collect();
            let planes: Vec<u8> = (0..width)
                .flat_map(|byte| original.iter().skip(byte).step_by(width).copied())
                .collect();
            let meta = [uv(width as u128), vec![0], uv(count as u128)].concat();
            let set: &StreamList<'_> = &[("meta", &meta), ("data", &planes)];
            assert!(unpack(Codec::Embed, set).unwrap() == original, "{width} x {count}");
        }
    }
}

#[test]
fn the_width_is_one_to_thirty_two() {
    refused(Codec::Embed, &[("meta", b"\x00\x00\x00")], "meta", 0);
    refused(Codec::Embed, &[("meta", b"\x21\x00\x00")], "meta", 0);
    let wide = [uv(u128::from(u64::MAX)), vec![0, 0]].concat();
    refused(Codec::Embed, &[("meta", &wide)], "meta", 0);
}

#[test]
fn the_data_has_exactly_the_bytes_of_the_elements() {
    refused(Codec::Embed, &with(BASE, &[("data", b"abcAB")]), "meta", 5);
    refused(Codec::Embed, &with(BASE, &[("data", b"abcABCD")]), "meta", 5);
    refused(Codec::Embed, &without(BASE, "data"), "meta", 5);
    // 16 * 2^60 is 0 modulo 2^64.
    let meta = [uv(16), vec![0], uv(1 << 60)].concat();
    refused(Codec::Embed, &[("meta", &meta)], "meta", 2);
}

#[test]
fn the_header_must_be_there() {
    refused(Codec::Embed, &[], "meta", 0);
    refused(Codec::Embed, &[("meta", b"\x02\x7FHDR")], "meta", 2);
    refused(Codec::Embed, &[("meta", b"\x02\x00")], "meta", 2);
}

#[test]
fn damage_is_an_error_at_worst() {
    survives_cuts(Codec::Embed, BASE);
    survives_changes(Codec::Embed, BASE);
}
