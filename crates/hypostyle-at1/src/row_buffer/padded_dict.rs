//! A dictionary whose entries are padded for fast copies.

/// The bytes of an entry that are copied at once.
pub(super) const PAD_BYTES: usize = 16;

/// Byte strings by index, each padded to a multiple of [`PAD_BYTES`] bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct PaddedDict {
    pub(super) pieces: Vec<[u8; PAD_BYTES]>,
    /// The first piece of each entry, and its length in bytes.
    places: Vec<(usize, usize)>,
}

/// An entry of a [`PaddedDict`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DictEntry<'a> {
    pub(super) pieces: &'a [[u8; PAD_BYTES]],
    pub(super) len: usize,
}

impl PaddedDict {
    /// Appends an entry.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.places.push((self.pieces.len(), bytes.len()));
        for part in bytes.chunks(PAD_BYTES) {
            let mut piece = [0; PAD_BYTES];
            if let Some(place) = piece.get_mut(..part.len()) {
                place.copy_from_slice(part);
            }
            self.pieces.push(piece);
        }
    }

    /// Appends the last entry again, without a copy.
    pub(crate) fn push_again(&mut self) {
        if let Some(&place) = self.places.last() {
            self.places.push(place);
        }
    }

    /// The number of entries.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// The bytes of memory that the entries take.
    pub(crate) fn memory(&self) -> usize {
        size_of_val(&self.pieces[..]) + size_of_val(&self.places[..])
    }

    /// Returns an entry by its index.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<DictEntry<'_>> {
        let &(start, len) = self.places.get(index)?;
        let pieces = self.pieces.get(start..)?.get(..len.div_ceil(PAD_BYTES))?;
        Some(DictEntry { pieces, len })
    }
}

impl<'a> FromIterator<&'a [u8]> for PaddedDict {
    fn from_iter<T: IntoIterator<Item = &'a [u8]>>(iter: T) -> Self {
        let mut dict = Self::default();
        iter.into_iter().for_each(|bytes| dict.push(bytes));
        dict
    }
}

impl<'a> DictEntry<'a> {
    /// Returns the bytes.
    pub(crate) fn bytes(self) -> &'a [u8] {
        self.pieces.as_flattened().get(..self.len).unwrap_or_default()
    }
}
