//! What an encoder is given besides the content.

use crate::pack::search::SearchParams;

/// What a way works with.
pub(super) struct EncodeContext<'a> {
    /// How hard to search.
    pub(super) search: &'a SearchParams,
    /// A search that tells roughly what a way takes; if there is none, those of little
    /// content are all made.
    pub(super) rough: Option<&'a SearchParams>,
    /// Another search: one that looks farther may end up in a worse place.
    pub(super) other: Option<&'a SearchParams>,
    pub(super) threads: usize,
    /// Hears what the streams will take, roughly, before they are made.
    pub(super) guess: &'a dyn Fn(usize),
}
