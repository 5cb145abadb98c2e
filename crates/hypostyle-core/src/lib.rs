//! The foundation of Hypostyle: what its formats share.
//!
//! This crate is an implementation detail of `hypostyle` and `hypostyle-at1`. Its API
//! may change in any release. Depend on the crate `hypostyle` instead, which re-exports
//! everything that is meant for users.
//!
//! The crate opens no files, starts no runtime and does not depend on a query engine.
//! Its modules form layers, and a test (`cargo xtask layers`) fails if a module uses one
//! of a layer above:
//!
//! | Layer | Modules |
//! |---|---|
//! | errors and limits | [`format_id`], [`deviation`], [`error`], [`deviations`], [`limits`], [`options`] |
//! | bytes | [`parallel`], [`buffer_pool`], [`wire`], [`source`], [`sink`], [`compress`] |
//! | values and types | [`number`], [`temporal`], [`spelling`], [`types`] |
//! | casts and tables | [`mod@concat`], [`projection`], [`column_source`], [`cast`], [`coerce`], [`row_selection`], [`spill`] |
//! | predicates | [`predicate`] |
//! | readers | [`reader`] |
//! | text | [`text`] |
//! | search in lines | `line_search` |
//! | formats and scans | [`mod@format`], [`scan`] |

#[doc(hidden)]
pub mod buffer_pool;
pub mod cast;
pub mod coerce;
pub mod column_source;
#[doc(hidden)]
pub mod compress;
#[doc(hidden)]
pub mod concat;
pub mod deviation;
pub mod deviations;
pub mod error;
pub mod format;
pub mod format_id;
pub mod limits;
#[cfg(not(target_family = "wasm"))]
pub mod line_search;
pub mod number;
pub mod options;
#[doc(hidden)]
pub mod parallel;
pub mod predicate;
pub mod projection;
pub mod reader;
pub mod row_selection;
pub mod scan;
pub mod sink;
pub mod source;
pub mod spelling;
pub mod spill;
pub mod temporal;
pub mod text;
pub mod types;
#[doc(hidden)]
pub mod wire;
