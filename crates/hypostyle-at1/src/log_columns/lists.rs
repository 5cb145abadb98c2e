//! The elements of the lists that lines follow.

#![deny(clippy::arithmetic_side_effects)]

use std::ops::Range;

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
pub(crate) enum ListCursor {
    /// The list, where its next element starts, and the element.
    Elements { list: Bytes, next: Option<usize>, element: Range<usize> },
    /// The list, where its next number starts, and the number as text.
    Numbers { list: Bytes, next: usize, element: Vec<u8> },
}

impl ListCursor {
    /// Returns a cursor before the first element.
    pub(crate) fn new(list: &ListContent) -> Self {
        match list {
            ListContent::Elements(bytes) => Self::Elements {
                next: bytes.is_some().then_some(0),
                list: bytes.clone().unwrap_or_default(),
                element: 0..0,
            },
            ListContent::Numbers(bytes) => {
                Self::Numbers { list: bytes.clone(), next: 0, element: Vec::new() }
            }
        }
    }

    /// Moves to the next element.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<()> {
        match self {
            Self::Elements { list, next, element } => {
                let Some(start) = *next else {
                    return Err(Error::malformed("element", "is missing: the list has ended"));
                };
                let rest = list.get(start..).unwrap_or_default();
                let end = memchr(b'\n', rest).map(|len| start.saturating_add(len));
                *element = start..end.unwrap_or(list.len());
                *next = end.map(|end| end.saturating_add(1));
            }
            Self::Numbers { list, next, element } => {
                let rest = list.get(*next..).unwrap_or_default();
                let mut number = StreamCursor::new("pids", rest);
                *element = number.uv("process")?.to_string().into_bytes();
                *next = list.len().saturating_sub(number.left());
            }
        }
        Ok(())
    }

    /// Returns the element that the cursor is at.
    pub(crate) fn element(&self) -> &[u8] {
        match self {
            Self::Elements { list, element, .. } => list.get(element.clone()).unwrap_or_default(),
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

/// Returns a cursor before the first element of each list that was read.
pub(super) fn cursors(lists: &Lists) -> Vec<Option<ListCursor>> {
    lists.iter().map(|list| list.as_ref().map(ListCursor::new)).collect()
}
