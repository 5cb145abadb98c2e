//! Reads the data elements of a DICOM file up to its pixels.
//!
//! Lengths in the file are not trusted: each is followed only within the bytes that are
//! present, and each step moves forward, so that any bytes are read in one pass.

/// The magic, and the bytes of the preamble before it, which may be anything.
const MAGIC: &[u8] = b"DICM";
const PREAMBLE_BYTES: usize = 128;

/// The length of values that end with a delimiter.
const UNDEFINED: u32 = u32::MAX;

/// Sequences within sequences, at most.
const MAX_DEPTH: usize = 16;

/// Transfer syntaxes with uncompressed little-endian pixels.
const IMPLICIT_VR: &[u8] = b"1.2.840.10008.1.2";
const EXPLICIT_VR: &[u8] = b"1.2.840.10008.1.2.1";

type Tag = (u16, u16);

const TRANSFER_SYNTAX: Tag = (0x0002, 0x0010);
const SAMPLES_PER_PIXEL: Tag = (0x0028, 0x0002);
const PLANAR_CONFIGURATION: Tag = (0x0028, 0x0006);
const NUMBER_OF_FRAMES: Tag = (0x0028, 0x0008);
const ROWS: Tag = (0x0028, 0x0010);
const COLUMNS: Tag = (0x0028, 0x0011);
const BITS_ALLOCATED: Tag = (0x0028, 0x0100);
const PIXEL_DATA: Tag = (0x7FE0, 0x0010);
const ITEM: Tag = (0xFFFE, 0xE000);
const ITEM_DELIMITATION: Tag = (0xFFFE, 0xE00D);
const SEQUENCE_DELIMITATION: Tag = (0xFFFE, 0xE0DD);

/// The dimensions of an image and the place of its pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DicomImage {
    /// Where the pixels start, and their length as the file states it.
    pub(super) start: usize,
    pub(super) len: usize,
    /// Rows of all frames.
    pub(super) rows: usize,
    pub(super) frames: usize,
    pub(super) columns: usize,
    /// Samples of a pixel that are stored next to each other.
    pub(super) samples: usize,
    /// Bits of a sample: 8 or 16.
    pub(super) bits: usize,
}

/// Finds the image in a file; returns `None` if there is none with uncompressed pixels.
pub(super) fn find_image(bytes: &[u8]) -> Option<DicomImage> {
    let rest = bytes.get(PREAMBLE_BYTES..)?.strip_prefix(MAGIC)?;
    let mut reader = ElementReader { rest, is_explicit: true };
    let mut syntax = None;
    let mut image =
        DicomImage { start: 0, len: 0, rows: 0, frames: 1, columns: 0, samples: 1, bits: 0 };
    let mut planar = 0;
    loop {
        // The first group is explicit, and says which syntax the others have.
        let is_first_group = reader.rest.starts_with(&TRANSFER_SYNTAX.0.to_le_bytes());
        reader.is_explicit = if is_first_group { true } else { syntax? };
        let element = reader.element()?;
        if element.tag == PIXEL_DATA {
            let ElementLength::Bytes(len) = element.len else { return None };
            (image.start, image.len) = (bytes.len() - reader.rest.len(), len);
            break;
        }
        let value = reader.value(&element)?;
        match element.tag {
            TRANSFER_SYNTAX => syntax = Some(is_explicit(value)?),
            SAMPLES_PER_PIXEL => image.samples = number(value)?,
            PLANAR_CONFIGURATION => planar = number(value)?,
            NUMBER_OF_FRAMES => image.frames = decimal(value)?,
            ROWS => image.rows = number(value)?,
            COLUMNS => image.columns = number(value)?,
            BITS_ALLOCATED => image.bits = number(value)?,
            _ => {}
        }
    }
    image.rows = image.rows.checked_mul(image.frames)?;
    if planar == 1 {
        // Each colour plane is an image of its own.
        image.rows = image.rows.checked_mul(image.samples)?;
        image.samples = 1;
    }
    let is_empty = image.rows.min(image.columns).min(image.samples).min(image.frames) == 0;
    (!is_empty && matches!(image.bits, 8 | 16)).then_some(image)
}

/// Returns whether elements state their types; `None` if pixels are compressed or big-endian.
fn is_explicit(syntax: &[u8]) -> Option<bool> {
    match syntax.trim_ascii_end().strip_suffix(b"\0").unwrap_or(syntax) {
        IMPLICIT_VR => Some(false),
        EXPLICIT_VR => Some(true),
        _ => None,
    }
}

/// Parses a binary number (US).
fn number(value: &[u8]) -> Option<usize> {
    Some(u16::from_le_bytes(value.try_into().ok()?).into())
}

/// Parses a number written in digits (IS).
fn decimal(value: &[u8]) -> Option<usize> {
    std::str::from_utf8(value).ok()?.trim_matches(['\0', ' ']).parse().ok()
}

/// The header of a data element.
#[derive(Clone, Copy, Debug)]
struct DataElement {
    tag: Tag,
    len: ElementLength,
    /// Whether elements inside it state their types.
    is_explicit: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ElementLength {
    Bytes(usize),
    /// The value ends with a delimiter.
    Undefined,
}

/// Reads data elements one after the other.
#[derive(Clone, Copy, Debug)]
struct ElementReader<'a> {
    rest: &'a [u8],
    /// Whether elements state their types.
    is_explicit: bool,
}

impl<'a> ElementReader<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*taken)
    }

    /// Reads the header of an element; its value follows.
    fn element(&mut self) -> Option<DataElement> {
        let group = u16::from_le_bytes(self.take()?);
        let tag = (group, u16::from_le_bytes(self.take()?));
        let mut is_explicit = self.is_explicit;
        // Items and delimiters never state a type.
        let len = if is_explicit && group != ITEM.0 {
            let vr = self.take::<2>()?;
            // A value of unknown type is encoded with implicit types.
            is_explicit = &vr != b"UN";
            match &vr {
                b"OB" | b"OD" | b"OF" | b"OL" | b"OV" | b"OW" | b"SQ" | b"SV" | b"UC" | b"UN"
                | b"UR" | b"UT" | b"UV" => {
                    self.take::<2>()?;
                    u32::from_le_bytes(self.take()?)
                }
                _ => u16::from_le_bytes(self.take()?).into(),
            }
        } else {
            u32::from_le_bytes(self.take()?)
        };
        let len = match len {
            UNDEFINED => ElementLength::Undefined,
            len => ElementLength::Bytes(usize::try_from(len).ok()?),
        };
        Some(DataElement { tag, len, is_explicit })
    }

    /// Reads the value of an element. A sequence of undefined length is skipped, and its value
    /// is empty.
    fn value(&mut self, element: &DataElement) -> Option<&'a [u8]> {
        match element.len {
            ElementLength::Bytes(len) => {
                let (value, rest) = self.rest.split_at_checked(len)?;
                self.rest = rest;
                Some(value)
            }
            ElementLength::Undefined => {
                self.skip_nested(element, 0)?;
                Some(&[])
            }
        }
    }

    /// Skips the sequence of undefined length that is the value of an element.
    fn skip_nested(&mut self, element: &DataElement, depth: usize) -> Option<()> {
        let mut nested = Self { rest: self.rest, is_explicit: element.is_explicit };
        nested.skip_sequence(depth)?;
        self.rest = nested.rest;
        Some(())
    }

    /// Skips items up to the end of their sequence.
    fn skip_sequence(&mut self, depth: usize) -> Option<()> {
        loop {
            let element = self.element()?;
            match (element.tag, element.len) {
                (SEQUENCE_DELIMITATION, _) => return Some(()),
                (ITEM, ElementLength::Undefined) if depth < MAX_DEPTH => {
                    self.skip_item(depth + 1)?;
                }
                (ITEM, ElementLength::Bytes(_)) => drop(self.value(&element)?),
                _ => return None,
            }
        }
    }

    /// Skips elements up to the end of their item.
    fn skip_item(&mut self, depth: usize) -> Option<()> {
        loop {
            let element = self.element()?;
            match element.len {
                _ if element.tag == ITEM_DELIMITATION => return Some(()),
                ElementLength::Bytes(_) => drop(self.value(&element)?),
                ElementLength::Undefined => self.skip_nested(&element, depth)?,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes an element with its type, or without.
    fn element(tag: Tag, vr: Option<&str>, value: &[u8], len: u32) -> Vec<u8> {
        let mut out = [tag.0.to_le_bytes(), tag.1.to_le_bytes()].concat();
        match vr {
            Some(vr @ ("OW" | "OB" | "SQ" | "UN")) => {
                out.extend_from_slice(vr.as_bytes());
                out.extend_from_slice(&[0, 0]);
                out.extend_from_slice(&len.to_le_bytes());
            }
            Some(vr) => {
                out.extend_from_slice(vr.as_bytes());
                out.extend_from_slice(&u16::try_from(len).unwrap().to_le_bytes());
            }
            None => out.extend_from_slice(&len.to_le_bytes()),
        }
        out.extend_from_slice(value);
        out
    }

    fn file(syntax: &[u8], explicit: bool, sequences: &[u8], planar: u16) -> Vec<u8> {
        let mut out = vec![0; 128];
        out.extend_from_slice(b"DICM");
        let mut syntax = syntax.to_vec();
        syntax.resize(syntax.len().next_multiple_of(2), 0);
        let len = u32::try_from(syntax.len()).unwrap();
        out.extend(element(TRANSFER_SYNTAX, Some("UI"), &syntax, len));
        let vr = |vr| explicit.then_some(vr);
        out.extend_from_slice(sequences);
        for (tag, value) in [
            (SAMPLES_PER_PIXEL, 3_u16),
            (PLANAR_CONFIGURATION, planar),
            (ROWS, 4),
            (COLUMNS, 5),
            (BITS_ALLOCATED, 8),
        ] {
            out.extend(element(tag, vr("US"), &value.to_le_bytes(), 2));
        }
        out.extend(element(NUMBER_OF_FRAMES, vr("IS"), b"2 ", 2));
        out.extend(element(PIXEL_DATA, vr("OW"), &[7; 120], 120));
        out
    }

    /// Writes a sequence of undefined length with another one and a second PixelData inside.
    fn sequence(vr: Option<&str>) -> Vec<u8> {
        let inner = vr.filter(|&vr| vr == "SQ");
        let pixels = element(PIXEL_DATA, inner.map(|_| "OW"), &[0; 4], 4);
        let with_length = element(ITEM, None, &pixels, u32::try_from(pixels.len()).unwrap());
        let end = element(SEQUENCE_DELIMITATION, None, &[], 0);
        let within =
            element((0x0008, 0x1111), inner, &[with_length, end.clone()].concat(), UNDEFINED);
        let item = element(ITEM, None, &[pixels, within].concat(), UNDEFINED);
        let item_end = element(ITEM_DELIMITATION, None, &[], 0);
        element((0x0008, 0x1110), vr, &[item, item_end, end].concat(), UNDEFINED)
    }

    const IMAGE: DicomImage =
        DicomImage { start: 0, len: 120, rows: 8, frames: 2, columns: 5, samples: 3, bits: 8 };

    #[test]
    fn pixels_are_found_after_sequences_of_any_type() {
        for (explicit, vr) in [(true, Some("SQ")), (true, Some("UN")), (false, None)] {
            let syntax = if explicit { EXPLICIT_VR } else { IMPLICIT_VR };
            let bytes = file(syntax, explicit, &sequence(vr), 0);
            let image = find_image(&bytes).unwrap();
            assert_eq!(image, DicomImage { start: bytes.len() - 120, ..IMAGE });
            for cut in 0..bytes.len() - 120 {
                assert_eq!(find_image(&bytes[..cut]), None);
            }
        }
    }

    #[test]
    fn colour_planes_are_images_of_their_own() {
        let image = find_image(&file(EXPLICIT_VR, true, &[], 1)).unwrap();
        assert_eq!((image.rows, image.samples), (24, 1));
    }

    #[test]
    fn other_syntaxes_and_other_files_have_no_image() {
        assert_eq!(find_image(&file(b"1.2.840.10008.1.2.2", true, &[], 0)), None);
        assert_eq!(find_image(&file(b"1.2.840.10008.1.2.4.70", true, &[], 0)), None);
        assert_eq!(find_image(&[0; 200]), None);
        assert_eq!(find_image(b""), None);
    }

    #[test]
    fn sequences_beyond_the_depth_limit_are_refused() {
        let open =
            [element((0x0008, 0x1110), None, &[], UNDEFINED), element(ITEM, None, &[], UNDEFINED)];
        let bytes = file(IMPLICIT_VR, false, &open.concat().repeat(100_000), 0);
        assert_eq!(find_image(&bytes), None);
    }
}
