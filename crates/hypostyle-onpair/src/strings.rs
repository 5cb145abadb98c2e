//! Where strings come from.

use crate::error::{Error, ErrorKind, Result, Section};

/// Strings that can be compressed, of less than 4 GiB each.
pub trait Strings: Sync {
    /// How many there are.
    fn len(&self) -> usize;

    /// A string. It is only asked for indexes below [`Strings::len`], and gives the same
    /// bytes each time.
    fn get(&self, index: usize) -> &[u8];

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: AsRef<[u8]> + Sync> Strings for [T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    #[inline]
    fn get(&self, index: usize) -> &[u8] {
        <[T]>::get(self, index).map(AsRef::as_ref).unwrap_or_default()
    }
}

impl<T: AsRef<[u8]> + Sync> Strings for Vec<T> {
    fn len(&self) -> usize {
        self.as_slice().len()
    }

    #[inline]
    fn get(&self, index: usize) -> &[u8] {
        Strings::get(self.as_slice(), index)
    }
}

/// An offset into bytes, of any of the types that are in use.
pub trait Offset: Copy + Sync + sealed::Sealed {
    #[doc(hidden)]
    fn place(self) -> Option<usize>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! offset {
    ($($type:ty),*) => {$(
        impl sealed::Sealed for $type {}
        impl Offset for $type {
            #[inline]
            fn place(self) -> Option<usize> {
                usize::try_from(self).ok()
            }
        }
    )*};
}
offset!(u32, u64, i32, i64);

/// Strings one behind the other, with offsets as Arrow has them.
///
/// The first offset need not be 0.
#[derive(Clone, Copy, Debug)]
pub struct Joined<'a, O> {
    bytes: &'a [u8],
    offsets: &'a [O],
}

impl<'a, O: Offset> Joined<'a, O> {
    /// Strings with these offsets.
    ///
    /// # Errors
    ///
    /// Offsets that decrease, that are negative, or that are beyond the bytes.
    pub fn new(bytes: &'a [u8], offsets: &'a [O]) -> Result<Self> {
        let mut last = 0;
        for (at, offset) in offsets.iter().enumerate() {
            match offset.place() {
                Some(place) if place >= last && place <= bytes.len() => last = place,
                _ => return Err(Error::new(Section::Input, at, ErrorKind::Order)),
            }
        }
        Ok(Self { bytes, offsets })
    }
}

impl<O: Offset> Strings for Joined<'_, O> {
    fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    #[inline]
    fn get(&self, index: usize) -> &[u8] {
        let place = |at: usize| self.offsets.get(at).and_then(|offset| offset.place());
        match (place(index), place(index + 1)) {
            (Some(start), Some(end)) => self.bytes.get(start..end).unwrap_or_default(),
            _ => &[],
        }
    }
}
