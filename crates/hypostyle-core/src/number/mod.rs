//! Numbers as text: one way to print them, two ways to read them.
//!
//! `print` writes a number in its one printed form. `exact` accepts a cell only if
//! printing the value gives the same bytes, so that a typed column can be written back
//! unchanged; `digits` is its fast path. `liberal` accepts any text that people would
//! call a number. [`decimal`] compares numbers exactly, for predicates.

pub mod decimal;
mod digits;
mod exact;
mod liberal;
mod print;
#[cfg(test)]
mod tests;

#[cfg(feature = "csv")]
pub(crate) use exact::{Fraction, exact_int_in_word, fraction};
pub use exact::{exact_decimal, exact_float, exact_int};
pub use liberal::{Liberal, liberal};
pub use print::{INFINITY, NAN, NEG_INFINITY, put_float, put_float32, put_int};
