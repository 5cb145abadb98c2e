//! Arrays of numbers and images: the codecs embed and dicom, also on other content.

#![expect(clippy::cast_possible_truncation, reason = "numbers are made to fit")]

use hypostyle::formats::at1::{self, Codec, Layout, PackOptions, Packed};
use proptest::prelude::*;

use crate::archives::{self, only};

/// Checks that content round-trips as a whole archive and in frames.
#[track_caller]
fn comes_back(original: &[u8], options: &PackOptions) -> Packed {
    archives::comes_back(original, options, archives::lines(original) / 2 + 1).1
}

/// Returns independent random numbers from 0 to 1.
fn dice() -> impl FnMut() -> f64 {
    let mut state = 1_u64;
    move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(state >> 32).unwrap()) / f64::from(u32::MAX)
    }
}

/// Returns a NumPy file of these elements.
fn npy(kind: &str, elements: Vec<u8>) -> Vec<u8> {
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': (9,), }}");
    header += &" ".repeat((118 - header.len() % 64) % 64);
    let len = u16::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\x00", &len[..], header.as_bytes(), &elements].concat()
}

/// Returns arrays, each with the maximum ratio of its archive to `xz -9e`.
fn arrays() -> Vec<(&'static str, f64, Vec<u8>)> {
    let mut dice = dice();
    let floats: Vec<u8> = (0..6000).flat_map(|_| (dice() as f32 - 0.5).to_le_bytes()).collect();
    let mut level = 20.0;
    let walk = (0..3000).flat_map(|_| {
        level += dice() - 0.5;
        f64::to_le_bytes(level)
    });
    let walk: Vec<u8> = walk.collect();
    let mut time = 1_700_000_000_000_i64;
    let times = (0..3000).flat_map(|_| {
        time += 1000 + i64::from(dice() > 0.5) * 37;
        time.to_le_bytes()
    });
    let times: Vec<u8> = times.collect();
    let sound = (0..12_000).flat_map(|at| {
        let sound = (f64::from(at) / 37.0).sin() * 9000.0 + dice() * 60.0;
        (sound as i16).to_le_bytes()
    });
    let sound = sound.collect::<Vec<u8>>();
    let records = (0..2000_u32).flat_map(|at| {
        let mut record = at.to_le_bytes().to_vec();
        record.extend_from_slice(&(100.0 + dice()).to_le_bytes());
        record.push(u8::from(dice() > 0.8));
        record
    });
    let records: Vec<u8> = records.collect();
    vec![
        ("floats", 0.95, npy("<f4", floats.clone())),
        ("floats behind odd bytes", 0.95, [b"odd".to_vec(), floats].concat()),
        ("a walk", 0.95, walk),
        ("times", 0.80, times),
        ("sound", 0.88, [vec![0; 44], sound].concat()),
        ("records of 13 bytes", 0.85, records),
    ]
}

#[test]
fn arrays_are_packed_by_planes() {
    for (name, share, original) in arrays() {
        let (_, packed) = at1::pack(&original, &PackOptions::default()).unwrap();
        assert_eq!(packed.codec, Codec::Embed, "{name}: {:?}", packed.trials);
        let rival = at1::xz_size(&original).unwrap();
        let limit = rival as f64 * share;
        assert!((packed.stored as f64) < limit, "{name}: {} of {rival}", packed.stored);
    }
}

#[test]
fn what_is_no_array_is_not_taken_for_one() {
    let mut dice = dice();
    let noise: Vec<u8> = (0..40_000).map(|_| (dice() * 255.0) as u8).collect();
    let words = ["one", "two", "three", "Größe", "\u{4F60}\u{597D}"];
    let text: String = (0..6000).map(|_| words[(dice() * 4.9) as usize].to_owned() + " ").collect();
    for original in [noise, text.into_bytes(), Vec::new()] {
        let (_, packed) = at1::pack(&original, &PackOptions::default()).unwrap();
        assert_ne!(packed.codec, Codec::Embed);
    }
}

/// The description of a DICOM image.
struct Image {
    rows: u16,
    columns: u16,
    samples: u16,
    bits: u16,
    frames: u16,
    explicit: bool,
}

impl Image {
    fn element(&self, group: u16, number: u16, kind: &[u8; 2], value: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&group.to_le_bytes());
        out.extend_from_slice(&number.to_le_bytes());
        let len = u32::try_from(value.len()).unwrap();
        match (self.explicit || group == 2, kind) {
            (false, _) => out.extend_from_slice(&len.to_le_bytes()),
            (true, b"OW") => {
                out.extend_from_slice(b"OW\0\0");
                out.extend_from_slice(&len.to_le_bytes());
            }
            (true, _) => {
                out.extend_from_slice(kind);
                out.extend_from_slice(&u16::try_from(len).unwrap().to_le_bytes());
            }
        }
        out.extend_from_slice(value);
    }

    /// Returns the file, with smooth pixels and some noise.
    fn file(&self) -> Vec<u8> {
        let mut out = vec![0; 128];
        out.extend_from_slice(b"DICM");
        let syntax: &[u8] =
            if self.explicit { b"1.2.840.10008.1.2.1\0" } else { b"1.2.840.10008.1.2\0" };
        self.element(2, 0x10, b"UI", syntax, &mut out);
        self.element(0x10, 0x10, b"PN", b"Doe^Jane", &mut out);
        for (number, value) in [
            (0x02, self.samples),
            (0x06, 0),
            (0x10, self.rows),
            (0x11, self.columns),
            (0x100, self.bits),
        ] {
            self.element(0x28, number, b"US", &value.to_le_bytes(), &mut out);
        }
        self.element(0x28, 0x08, b"IS", format!("{:2}", self.frames).as_bytes(), &mut out);
        let mut dice = dice();
        let mut pixels = Vec::new();
        for frame in 0..self.frames {
            for row in 0..self.rows {
                for column in 0..self.columns {
                    let (x, y) = (f64::from(column + frame) / 40.0, f64::from(row) / 30.0);
                    let smooth = 0.5 + 0.3 * x.sin() * y.cos() + 0.01 * dice();
                    for sample in 0..self.samples {
                        let value = smooth + f64::from(sample) * 0.02;
                        match self.bits {
                            8 => pixels.push((value * 200.0) as u8),
                            _ => pixels.extend_from_slice(&((value * 4000.0) as u16).to_le_bytes()),
                        }
                    }
                }
            }
        }
        pixels.resize(pixels.len().next_multiple_of(2), 0);
        self.element(0x7FE0, 0x10, b"OW", &pixels, &mut out);
        self.element(0xFFFC, 0xFFFC, b"LO", b"after", &mut out);
        out
    }
}

/// Returns images, each with the maximum ratio of its archive to `xz -9e`.
fn images() -> Vec<(f64, Image)> {
    let ct = Image { rows: 100, columns: 110, samples: 1, bits: 16, frames: 1, explicit: true };
    vec![
        (0.82, Image { explicit: false, ..ct }),
        (0.82, Image { frames: 3, rows: 40, ..ct }),
        (0.82, ct),
        (0.85, Image { rows: 101, columns: 121, samples: 3, bits: 8, frames: 1, explicit: true }),
        (0.85, Image { rows: 51, columns: 201, samples: 1, bits: 8, frames: 1, explicit: false }),
    ]
}

#[test]
fn images_are_packed_by_their_pixels() {
    for (share, image) in images() {
        let original = image.file();
        let (_, packed) = at1::pack(&original, &PackOptions::default()).unwrap();
        assert_eq!(packed.codec, Codec::Dicom, "{:?}", packed.trials);
        let rival = at1::xz_size(&original).unwrap();
        assert!((packed.stored as f64) < rival as f64 * share, "{} of {rival}", packed.stored);
    }
}

#[test]
fn levels_and_layouts_all_come_back() {
    let small = Image { rows: 30, columns: 33, samples: 1, bits: 16, frames: 2, explicit: true };
    let walk: Vec<u8> = (0..1000_u32).flat_map(|at| (at * 7 + at % 5).to_le_bytes()).collect();
    for (codec, original) in [(Codec::Dicom, small.file()), (Codec::Embed, walk)] {
        for level in [1, 3, 6, 8, 9] {
            assert_eq!(comes_back(&original, &only(codec).with_level(level)).codec, codec);
        }
        comes_back(&original, &only(codec).with_layout(Layout::Published));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_bytes_are_an_array(
        start in prop::collection::vec(any::<u8>(), 0..40),
        element in prop::collection::vec(any::<u8>(), 1..40),
        count in 0_usize..200,
        level in prop::sample::select(vec![1_u8, 6]),
    ) {
        let mut original = start;
        for at in 0..count {
            original.extend_from_slice(&element);
            if let Some(last) = original.last_mut() {
                *last = last.wrapping_add(u8::try_from(at).unwrap());
            }
        }
        prop_assert_eq!(comes_back(&original, &only(Codec::Embed).with_level(level)).codec, Codec::Embed);
    }

    #[test]
    fn files_with_any_damage_are_images_or_bytes(
        which in 0_usize..2,
        damage in prop::collection::vec((132_usize..400, any::<u8>()), 0..4),
        cut in 0_usize..600,
        header in any::<bool>(),
    ) {
        let image = Image { rows: 9, columns: 7, samples: 1, bits: 8, frames: 2, explicit: which == 0 };
        let mut original = image.file();
        for (at, byte) in damage {
            if let Some(place) = original.get_mut(at) {
                *place = byte;
            }
        }
        original.truncate(original.len().saturating_sub(cut / 2 * usize::from(cut % 2 == 0)));
        if !header {
            original.drain(..original.len().min(cut % 140));
        }
        prop_assert_eq!(comes_back(&original, &only(Codec::Dicom).with_level(2)).codec, Codec::Dicom);
    }
}

#[test]
fn headers_of_numpy_files_that_lie_are_data() {
    for header in
        [&b"\x93NUMPY\x01\x00\xFF\xFF{"[..], b"\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF{", b"\x93NUMPY"]
    {
        let original = [header, &[1, 2, 3, 4].repeat(100)].concat();
        assert_eq!(comes_back(&original, &only(Codec::Embed)).codec, Codec::Embed);
    }
}
