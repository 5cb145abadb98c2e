//! JSON as text: where its tokens are, without building values.
//!
//! `tokens` finds the end of a string, a number or a word, and `walk` follows the brackets and
//! reports keys and values to a visitor. `template` and `members` are two visitors: one cuts a
//! line into its template and its values (§6.2), the other names every value of a line. The
//! encoder of codec json brings a visitor of its own; jsondoc, which must accept any bytes,
//! uses the tokens only.

mod members;
mod template;
mod tokens;
mod walk;

pub(crate) use members::{JsonMembers, paths};
pub(crate) use template::TemplateScan;
pub(crate) use tokens::{scalar_len, string_len, word_len};
pub(crate) use walk::{JsonVisitor, walk_compact, walk_object};
