//! Arrow, on our side of the fence.
//!
//! Formats hold few types; Arrow has many. [`cast`] turns one array into the
//! type that a column is to have, and loses nothing in silence; [`Fitted`] decides
//! which type that is for a whole table; [`select()`] finds columns by name.

pub mod cast;
mod fit;
mod select;

pub use fit::{FitOptions, Fitted};
pub use select::{Selector, select};
