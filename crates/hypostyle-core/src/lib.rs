//! What the formats of Hypostyle share.
//!
//! Depend on the crate `hypostyle` instead: it re-exports what is meant for
//! users. This crate is its lower half, and the lower half of `hypostyle-at1`.
//! It opens no files, starts no runtime and knows no query engine.
//!
//! The modules form layers, and a test (`cargo xtask layers`) fails if one uses
//! a module above it:
//!
//! | Layer | Modules |
//! |---|---|
//! | errors and limits | [`format_id`], [`deviation`], [`error`], [`deviations`], [`limits`], [`options`] |
//! | bytes | [`parallel`], [`buffer_pool`], [`wire`], [`source`], [`sink`], [`compress`] |
//! | numbers and types | [`number`], [`types`] |
//! | casts and tables | [`table`], [`cast`], [`coerce`], [`projection`], [`row_selection`], [`spill`] |
//! | text and predicates | [`text`], [`predicate`] |
//! | formats | [`mod@format`] |

pub mod buffer_pool;
pub mod cast;
pub mod coerce;
pub mod compress;
pub mod deviation;
pub mod deviations;
pub mod error;
pub mod format;
pub mod format_id;
pub mod limits;
pub mod number;
pub mod options;
pub mod parallel;
pub mod predicate;
pub mod projection;
pub mod row_selection;
pub mod sink;
pub mod source;
pub mod spill;
pub mod table;
pub mod text;
pub mod types;
pub mod wire;
