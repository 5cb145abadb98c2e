//! Variant calls and maps: the codecs vcf and osm round-trip, and archives are small.

use hypostyle::formats::at1::{self, Codec, PackOptions, Packed};
use hypostyle_testkit::gen_osm::{Attributes, osm};
use hypostyle_testkit::gen_vcf::{Calls, vcf};
use proptest::prelude::*;

use crate::archives::{self, only};

/// Checks that a text round-trips as a whole archive and in frames of a few lines.
fn packs(original: &[u8], options: &PackOptions) -> Packed {
    archives::comes_back(original, options, 97).1
}

/// Returns the size relative to `xz -9e`.
fn share(original: &[u8], packed: &Packed) -> f64 {
    packed.stored as f64 / at1::xz_size(original).unwrap() as f64
}

#[test]
fn variant_calls_of_all_kinds_come_back() {
    for (calls, samples) in
        [(Calls::Phased, 1), (Calls::Phased, 300), (Calls::Clinical, 12), (Calls::Imputed, 20)]
    {
        let text = vcf(calls, 250, samples, 7);
        for level in [1, 6] {
            for codec in [Codec::Vcf, Codec::Columnar] {
                let packed = packs(&text, &only(codec).with_level(level));
                assert_eq!(packed.codec, codec, "{calls:?}");
            }
        }
    }
}

#[test]
fn genotypes_take_less_than_text() {
    for (samples, max_ratio, max_columnar_ratio) in
        [(12, 0.85, 0.75), (100, 0.89, 0.75), (300, 0.9, 0.82)]
    {
        let text = vcf(Calls::Phased, 300_000 / (samples * 4 + 100), samples, 11);
        for (codec, max_ratio) in [(Codec::Vcf, max_ratio), (Codec::Columnar, max_columnar_ratio)] {
            let (_, packed) = at1::pack(&text, &only(codec)).unwrap();
            let ratio = share(&text, &packed);
            assert!(ratio < max_ratio, "{codec}, {samples} samples: {ratio}");
        }
    }
}

/// The table does not depend on how it is stored.
#[test]
fn calls_are_one_table_in_either_form() {
    for (calls, samples) in [(Calls::Phased, 20), (Calls::Clinical, 3)] {
        let text = vcf(calls, 300, samples, 5);
        let table = |codec| {
            let (archive, packed) = at1::pack(&text, &only(codec)).unwrap();
            assert_eq!(packed.codec, codec);
            archives::objects(None, &archive)
        };
        let one = table(Codec::Vcf);
        assert_eq!(one.len(), 300);
        assert_eq!(one, table(Codec::Columnar));
    }
}

#[test]
fn calls_and_maps_are_known_when_they_are_seen() {
    let pack = |text: &[u8]| at1::pack(text, &PackOptions::default()).unwrap().1.codec;
    assert_eq!(pack(&vcf(Calls::Phased, 100, 100, 2)), Codec::Columnar);
    assert_eq!(pack(&osm(Attributes::Plain, 400, 2)), Codec::Osm);
}

#[test]
fn positions_that_are_no_numbers_are_kept_as_text() {
    let line = |pos: &str| format!("1\t{pos}\t.\tA\tG\t.\t.\tDP=1\tGT\t0/0\t0/1\n");
    let odd = ["007", "+5", "", "x", "-3", "99999999999999999999", "5 "];
    let all: String = odd.iter().map(|pos| line(pos)).collect();
    assert_eq!(packs(all.as_bytes(), &only(Codec::Vcf)).codec, Codec::Vcf);
    let some: String = (0..300).map(|at| line(&(at * 7).to_string())).collect();
    assert_eq!(packs((some + &all).as_bytes(), &only(Codec::Vcf)).codec, Codec::Vcf);
}

#[test]
fn maps_of_all_kinds_come_back() {
    for attributes in [Attributes::Plain, Attributes::Osmium, Attributes::Api, Attributes::None] {
        let text = osm(attributes, 400, 3);
        for level in [1, 6] {
            let packed = packs(&text, &only(Codec::Osm).with_level(level));
            let fits = attributes == Attributes::Plain;
            assert_eq!(packed.codec == Codec::Osm, fits, "{attributes:?}");
        }
    }
}

#[test]
fn maps_take_less_than_text() {
    let text = osm(Attributes::Plain, 3000, 5);
    let (_, packed) = at1::pack(&text, &only(Codec::Osm)).unwrap();
    let share = share(&text, &packed);
    assert!(share < 0.7, "{share}");
}

/// An edit of a text; positions are fractions of its length.
#[derive(Clone, Debug)]
enum Harm {
    Put(u16, Vec<u8>),
    Cut(u16, u8),
    Double(u16, u8),
    CarriageReturns,
}

fn harm() -> impl Strategy<Value = Harm> {
    let pieces: &[&[u8]] = &[
        b"\n",
        b"\r\n",
        b"\t",
        b"\0",
        b"\"",
        b"/>",
        b">",
        b" ",
        b"-",
        b"0",
        b"00",
        b".",
        b"\xFF",
        b"#",
        b"\n\n",
        b"18446744073709551616",
        b"  </node>\n",
        b"  </way>\n",
        b"\t\t\t",
    ];
    let piece = prop::sample::select(pieces).prop_map(<[u8]>::to_vec);
    prop_oneof![
        6 => (any::<u16>(), piece).prop_map(|(at, piece)| Harm::Put(at, piece)),
        4 => (any::<u16>(), 1_u8..60).prop_map(|(at, len)| Harm::Cut(at, len)),
        2 => (any::<u16>(), 1_u8..200).prop_map(|(at, len)| Harm::Double(at, len)),
        1 => Just(Harm::CarriageReturns),
    ]
}

fn harmed(mut text: Vec<u8>, harms: &[Harm]) -> Vec<u8> {
    for harm in harms {
        let place = |at: u16| text.len() * usize::from(at) / (1 << 16);
        match harm {
            Harm::Put(at, piece) => {
                let at = place(*at);
                text.splice(at..at, piece.iter().copied());
            }
            Harm::Cut(at, len) => {
                let at = place(*at);
                text.drain(at..(at + usize::from(*len)).min(text.len()));
            }
            Harm::Double(at, len) => {
                let at = place(*at);
                let part = text[at..(at + usize::from(*len)).min(text.len())].to_vec();
                text.splice(at..at, part);
            }
            Harm::CarriageReturns => {
                text = text.split(|&byte| byte == b'\n').collect::<Vec<_>>().join(&b"\r\n"[..]);
            }
        }
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn harmed_calls_come_back(
        calls in prop::sample::select(&[Calls::Phased, Calls::Clinical, Calls::Imputed][..]),
        seed in 0_u64..4,
        harms in prop::collection::vec(harm(), 0..12),
    ) {
        packs(&harmed(vcf(calls, 12, 3, seed), &harms), &only(Codec::Vcf));
        packs(&harmed(vcf(calls, 12, 17, seed), &harms), &only(Codec::Columnar));
    }

    #[test]
    fn harmed_maps_come_back(seed in 0_u64..4, harms in prop::collection::vec(harm(), 0..12)) {
        packs(&harmed(osm(Attributes::Plain, 30, seed), &harms), &only(Codec::Osm));
    }
}
