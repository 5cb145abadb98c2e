//! The data elements of a DICOM file, as far as it takes to find the pixels.
//!
//! Lengths are claims: each is followed only within the bytes that are there, and each
//! step goes forward, so that any bytes are walked through in one pass.

/// What stands before the first element: 128 bytes of anything, and this.
const MAGIC: &[u8] = b"DICM";
const PREAMBLE: usize = 128;

/// The length of what ends with a mark of its own.
const UNDEFINED: u32 = u32::MAX;

/// Sequences in sequences, at most.
const DEEPEST: usize = 16;

/// Transfer syntaxes in which pixels lie as they are, lowest byte first.
const IMPLICIT: &[u8] = b"1.2.840.10008.1.2";
const EXPLICIT: &[u8] = b"1.2.840.10008.1.2.1";

type Tag = (u16, u16);

const SYNTAX: Tag = (0x0002, 0x0010);
const SAMPLES: Tag = (0x0028, 0x0002);
const PLANAR: Tag = (0x0028, 0x0006);
const FRAMES: Tag = (0x0028, 0x0008);
const ROWS: Tag = (0x0028, 0x0010);
const COLUMNS: Tag = (0x0028, 0x0011);
const BITS: Tag = (0x0028, 0x0100);
const PIXELS: Tag = (0x7FE0, 0x0010);
const ITEM: Tag = (0xFFFE, 0xE000);
const ITEM_END: Tag = (0xFFFE, 0xE00D);
const SEQUENCE_END: Tag = (0xFFFE, 0xE0DD);

/// An image, and where its pixels are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pack) struct Image {
    /// Where the pixels start, and how many bytes they have as the file says.
    pub(in crate::pack) start: usize,
    pub(in crate::pack) len: usize,
    /// Rows of all frames.
    pub(in crate::pack) rows: usize,
    pub(in crate::pack) frames: usize,
    pub(in crate::pack) columns: usize,
    /// Samples of a pixel that lie together.
    pub(in crate::pack) samples: usize,
    /// Bits of a sample: 8 or 16.
    pub(in crate::pack) bits: usize,
}

/// Whether a file says that it is DICOM.
pub(in crate::pack) fn has_magic(bytes: &[u8]) -> bool {
    bytes.get(PREAMBLE..).is_some_and(|rest| rest.starts_with(MAGIC))
}

/// The image in a file; `None` if there is none whose pixels lie there as they are.
pub(in crate::pack) fn find(bytes: &[u8]) -> Option<Image> {
    if !has_magic(bytes) {
        return None;
    }
    let mut walk = Walk { rest: bytes.get(PREAMBLE + MAGIC.len()..)?, explicit: true };
    let mut syntax = None;
    let mut image = Image { start: 0, len: 0, rows: 0, frames: 1, columns: 0, samples: 1, bits: 0 };
    let mut planar = 0;
    loop {
        // The first group tells how the others are written, and is explicit itself.
        let is_first = walk.rest.starts_with(&SYNTAX.0.to_le_bytes());
        walk.explicit = if is_first { true } else { syntax? };
        let element = walk.element()?;
        if element.tag == PIXELS {
            let Length::Bytes(len) = element.len else { return None };
            (image.start, image.len) = (bytes.len() - walk.rest.len(), len);
            break;
        }
        let value = walk.value(&element)?;
        match element.tag {
            SYNTAX => syntax = Some(is_explicit(value)?),
            SAMPLES => image.samples = number(value)?,
            PLANAR => planar = number(value)?,
            FRAMES => image.frames = digits(value)?,
            ROWS => image.rows = number(value)?,
            COLUMNS => image.columns = number(value)?,
            BITS => image.bits = number(value)?,
            _ => {}
        }
    }
    image.rows = image.rows.checked_mul(image.frames)?;
    if planar == 1 {
        // Samples of a kind lie together, so that each kind is an image of its own.
        image.rows = image.rows.checked_mul(image.samples)?;
        image.samples = 1;
    }
    let sized = image.rows.min(image.columns).min(image.samples).min(image.frames) > 0;
    (sized && matches!(image.bits, 8 | 16)).then_some(image)
}

/// Whether elements name their types; `None` if pixels do not lie as they are.
fn is_explicit(syntax: &[u8]) -> Option<bool> {
    match syntax.trim_ascii_end().strip_suffix(b"\0").unwrap_or(syntax) {
        IMPLICIT => Some(false),
        EXPLICIT => Some(true),
        _ => None,
    }
}

fn number(value: &[u8]) -> Option<usize> {
    Some(u16::from_le_bytes(value.try_into().ok()?).into())
}

/// A number written in digits.
fn digits(value: &[u8]) -> Option<usize> {
    std::str::from_utf8(value).ok()?.trim_matches(['\0', ' ']).parse().ok()
}

/// The head of an element.
#[derive(Clone, Copy, Debug)]
struct Element {
    tag: Tag,
    len: Length,
    /// Whether what is inside names its types.
    explicit: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Bytes(usize),
    /// Up to a mark.
    Undefined,
}

/// Elements, one after the other.
#[derive(Clone, Copy, Debug)]
struct Walk<'a> {
    rest: &'a [u8],
    /// Whether elements name their types.
    explicit: bool,
}

impl<'a> Walk<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*taken)
    }

    /// Reads the head of an element; what follows is its value.
    fn element(&mut self) -> Option<Element> {
        let group = u16::from_le_bytes(self.take()?);
        let tag = (group, u16::from_le_bytes(self.take()?));
        let mut explicit = self.explicit;
        // Marks of items never name a type.
        let len = if explicit && group != ITEM.0 {
            let kind = self.take::<2>()?;
            // Whose type is not known is written as if no type was.
            explicit = &kind != b"UN";
            match &kind {
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
            UNDEFINED => Length::Undefined,
            len => Length::Bytes(usize::try_from(len).ok()?),
        };
        Some(Element { tag, len, explicit })
    }

    /// Takes the value of an element; that of a sequence without a length is empty.
    fn value(&mut self, element: &Element) -> Option<&'a [u8]> {
        match element.len {
            Length::Bytes(len) => {
                let (value, rest) = self.rest.split_at_checked(len)?;
                self.rest = rest;
                Some(value)
            }
            Length::Undefined => {
                let mut inside = Self { rest: self.rest, explicit: element.explicit };
                inside.skip_sequence(0)?;
                self.rest = inside.rest;
                Some(&[])
            }
        }
    }

    /// Skips items up to the mark at the end of their sequence.
    fn skip_sequence(&mut self, depth: usize) -> Option<()> {
        loop {
            let element = self.element()?;
            match (element.tag, element.len) {
                (SEQUENCE_END, _) => return Some(()),
                (ITEM, Length::Undefined) if depth < DEEPEST => self.skip_item(depth + 1)?,
                (ITEM, Length::Bytes(_)) => drop(self.value(&element)?),
                _ => return None,
            }
        }
    }

    /// Skips elements up to the mark at the end of their item.
    fn skip_item(&mut self, depth: usize) -> Option<()> {
        loop {
            let element = self.element()?;
            match element.len {
                _ if element.tag == ITEM_END => return Some(()),
                Length::Bytes(_) => drop(self.value(&element)?),
                Length::Undefined => {
                    let mut inside = Self { rest: self.rest, explicit: element.explicit };
                    inside.skip_sequence(depth)?;
                    self.rest = inside.rest;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An element with its type, or without.
    fn element(tag: Tag, kind: Option<&str>, value: &[u8], len: u32) -> Vec<u8> {
        let mut out = [tag.0.to_le_bytes(), tag.1.to_le_bytes()].concat();
        match kind {
            Some(kind @ ("OW" | "OB" | "SQ" | "UN")) => {
                out.extend_from_slice(kind.as_bytes());
                out.extend_from_slice(&[0, 0]);
                out.extend_from_slice(&len.to_le_bytes());
            }
            Some(kind) => {
                out.extend_from_slice(kind.as_bytes());
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
        out.extend(element(SYNTAX, Some("UI"), &syntax, len));
        let kind = |kind| explicit.then_some(kind);
        out.extend_from_slice(sequences);
        for (tag, value) in [(SAMPLES, 3_u16), (PLANAR, planar), (ROWS, 4), (COLUMNS, 5), (BITS, 8)]
        {
            out.extend(element(tag, kind("US"), &value.to_le_bytes(), 2));
        }
        out.extend(element(FRAMES, kind("IS"), b"2 ", 2));
        out.extend(element(PIXELS, kind("OW"), &[7; 120], 120));
        out
    }

    /// A sequence without lengths that holds another, and what looks like pixels.
    fn sequence(kind: Option<&str>) -> Vec<u8> {
        let inner = kind.filter(|&kind| kind == "SQ");
        let pixels = element(PIXELS, inner.map(|_| "OW"), &[0; 4], 4);
        let with_length = element(ITEM, None, &pixels, u32::try_from(pixels.len()).unwrap());
        let end = element(SEQUENCE_END, None, &[], 0);
        let within =
            element((0x0008, 0x1111), inner, &[with_length, end.clone()].concat(), UNDEFINED);
        let item = element(ITEM, None, &[pixels, within].concat(), UNDEFINED);
        let item_end = element(ITEM_END, None, &[], 0);
        element((0x0008, 0x1110), kind, &[item, item_end, end].concat(), UNDEFINED)
    }

    const IMAGE: Image =
        Image { start: 0, len: 120, rows: 8, frames: 2, columns: 5, samples: 3, bits: 8 };

    #[test]
    fn pixels_are_found_behind_sequences_of_any_kind() {
        for (explicit, kind) in [(true, Some("SQ")), (true, Some("UN")), (false, None)] {
            let syntax = if explicit { EXPLICIT } else { IMPLICIT };
            let bytes = file(syntax, explicit, &sequence(kind), 0);
            let image = find(&bytes).unwrap();
            assert_eq!(image, Image { start: bytes.len() - 120, ..IMAGE });
            for cut in 0..bytes.len() - 120 {
                assert_eq!(find(&bytes[..cut]), None);
            }
        }
    }

    #[test]
    fn kinds_of_samples_that_lie_apart_are_images_of_their_own() {
        let image = find(&file(EXPLICIT, true, &[], 1)).unwrap();
        assert_eq!((image.rows, image.samples), (24, 1));
    }

    #[test]
    fn other_syntaxes_and_other_files_have_no_image() {
        assert_eq!(find(&file(b"1.2.840.10008.1.2.2", true, &[], 0)), None);
        assert_eq!(find(&file(b"1.2.840.10008.1.2.4.70", true, &[], 0)), None);
        assert_eq!(find(&[0; 200]), None);
        assert_eq!(find(b""), None);
    }

    #[test]
    fn sequences_deeper_than_any_file_has_are_not_followed() {
        let open =
            [element((0x0008, 0x1110), None, &[], UNDEFINED), element(ITEM, None, &[], UNDEFINED)];
        let bytes = file(IMPLICIT, false, &open.concat().repeat(100_000), 0);
        assert_eq!(find(&bytes), None);
    }
}
