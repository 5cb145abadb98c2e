//! Inputs of compression.

use crate::error::{Error, ErrorKind, Result, Section};

/// A sequence of byte strings of less than 4 GiB each.
///
/// Implementations should return the same answers each time. Compression copies a string
/// before it relies on its length, so an implementation that does not is safe, and gets an
/// error if a length changes.
pub trait Strings: Sync {
    /// Returns the number of strings.
    fn len(&self) -> usize;

    /// Returns the string at `index`, which is below [`Strings::len`].
    fn get(&self, index: usize) -> &[u8];

    /// Returns whether there are no strings.
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

/// An integer type of offsets: `u32`, `u64`, `i32` or `i64`.
pub trait Offset: Copy + Sync + sealed::Sealed {
    #[doc(hidden)]
    fn to_usize(self) -> Option<usize>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! offset {
    ($($type:ty),*) => {$(
        impl sealed::Sealed for $type {}
        impl Offset for $type {
            #[inline]
            fn to_usize(self) -> Option<usize> {
                usize::try_from(self).ok()
            }
        }
    )*};
}
offset!(u32, u64, i32, i64);

/// Concatenated strings with offsets, as in an Arrow string array.
///
/// The first offset need not be 0.
#[derive(Clone, Copy, Debug)]
pub struct Joined<'a, O> {
    bytes: &'a [u8],
    offsets: &'a [O],
}

impl<'a, O: Offset> Joined<'a, O> {
    /// Creates the strings that start and end at these offsets.
    ///
    /// # Errors
    ///
    /// Fails if an offset is negative, less than the one before, or beyond the bytes.
    pub fn new(bytes: &'a [u8], offsets: &'a [O]) -> Result<Self> {
        let mut last = 0;
        for (at, offset) in offsets.iter().enumerate() {
            match offset.to_usize() {
                Some(offset) if offset >= last && offset <= bytes.len() => last = offset,
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
        let offset = |at: usize| self.offsets.get(at).and_then(|offset| offset.to_usize());
        match (offset(index), offset(index + 1)) {
            (Some(start), Some(end)) => self.bytes.get(start..end).unwrap_or_default(),
            _ => &[],
        }
    }
}
