//! JSON Lines and JSON documents: codecs json and jsondoc (§7.2, §7.4).
//!
//! `parse` turns lines into a tape of tokens by `paths`, `mine` and `rules` derive strings from
//! earlier ones, `lines` writes the streams of codec json, `jsondoc` those of a document, and
//! `token_columns` encodes the values of each path.

pub(super) mod jsondoc;
pub(super) mod lines;
mod mine;
mod parse;
mod paths;
mod rules;
mod token_columns;
