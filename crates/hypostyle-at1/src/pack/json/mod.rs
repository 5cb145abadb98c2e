//! JSON Lines and JSON documents: codecs json and jsondoc (§7.3, §7.4).
//!
//! For codec json, `parse` turns compact lines into a tape and leaves, numbering keys and paths
//! in `paths`; `rule_search` finds `string_rules` on a sample and `derived_strings` applies
//! them; `lines` writes the streams. For jsondoc, `document` reads the values of any text and
//! `jsondoc` cuts them out of its skeleton. Both encode their values with `token_columns`.

mod derived_strings;
mod document;
pub(super) mod jsondoc;
pub(super) mod lines;
mod parse;
mod paths;
mod rule_search;
mod string_rules;
pub(super) mod token_columns;
