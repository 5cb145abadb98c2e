//! The elements of the lists that lines follow.

#![deny(clippy::arithmetic_side_effects)]

use bytes::Bytes;
use memchr::memchr;

use crate::streams::StreamCursor;
use hypostyle_core::error::{Error, Result};

/// The content of a list.
#[derive(Clone, Debug)]
pub(crate) enum ListContent {
    /// Elements between newlines; `None` for no elements.
    Elements(Option<Bytes>),
    /// Numbers that are printed in decimal.
    Numbers(Bytes),
}

/// The lists of some lines; a list that is not needed is `None`.
pub(crate) type Lists = Vec<Option<ListContent>>;

impl ListContent {
    /// Returns the first element.
    pub(crate) fn first(&self) -> Result<Vec<u8>> {
        let mut cursor = ListCursor::new(self);
        cursor.advance()?;
        Ok(cursor.element().to_vec())
    }
}

/// A place in a list.
#[derive(Clone, Debug)]
pub(crate) enum ListCursor<'a> {
    Elements { rest: Option<&'a [u8]>, element: &'a [u8] },
    Numbers { rest: StreamCursor<'a>, element: Vec<u8> },
}

impl<'a> ListCursor<'a> {
    /// Returns a cursor before the first element.
    pub(crate) fn new(list: &'a ListContent) -> Self {
        match list {
            ListContent::Elements(bytes) => Self::Elements { rest: bytes.as_deref(), element: &[] },
            ListContent::Numbers(bytes) => {
                Self::Numbers { rest: StreamCursor::new("pids", bytes), element: Vec::new() }
            }
        }
    }

    /// Moves to the next element.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<()> {
        match self {
            Self::Elements { rest, element } => {
                let Some(list) = *rest else {
                    return Err(Error::malformed("element", "is missing: the list has ended"));
                };
                let end = memchr(b'\n', list);
                *element = list.get(..end.unwrap_or(list.len())).unwrap_or_default();
                *rest = end.and_then(|end| list.get(end.saturating_add(1)..));
            }
            Self::Numbers { rest, element } => {
                *element = rest.uv("process")?.to_string().into_bytes();
            }
        }
        Ok(())
    }

    /// Returns the element that the cursor is at.
    pub(crate) fn element(&self) -> &[u8] {
        match self {
            Self::Elements { element, .. } => element,
            Self::Numbers { element, .. } => element,
        }
    }

    /// Returns a piece of the element; one that is missing is empty (§7.2).
    pub(crate) fn piece(&self, piece: Option<usize>) -> &[u8] {
        match piece {
            None => self.element(),
            Some(nth) => self.element().split(|&byte| byte == 0).nth(nth).unwrap_or_default(),
        }
    }
}
