//! Arrow, on our side of the fence.
//!
//! Formats hold few types; Arrow has many. [`cast`] turns one array into the
//! type that a column is to have, and loses nothing in silence; [`Fitted`] decides
//! which type that is for a whole table; [`select()`] finds columns by name;
//! [`strings()`] makes arrays of OnPair columns, views among them.

pub mod cast;
mod fit;
mod select;
mod strings;

pub use fit::{FitOptions, Fitted};
pub use select::{Selector, select};
pub use strings::strings;
