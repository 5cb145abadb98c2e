//! What viewers show of a file: its layout, columns, rows and more, as JSON.
//!
//! The page in the browser, `hyp inspect --html` and `hyp serve` have the same answers from here.
//!
//! ```text
//! Session ── start(request) ──► a job ── step(id) ──► Step: missing ranges, a part, the result
//!     └── supply(offset, bytes) ◄── the caller fetches what is missing
//! ```
//!
//! A [`Session`] is a file of which only the size is known at first. It does no I/O: a step of a
//! job returns the byte ranges that it misses, and the caller supplies them, from a file or by
//! HTTP requests, and steps again. `requests` lists what can be asked for. `file` opens the file,
//! `layout` makes its byte map, `columns` and `profile` describe its columns, and `rows`, `search`,
//! `export` and `templates` run scans.

mod cells;
mod columns;
mod export;
mod file;
mod job;
mod layout;
mod profile;
mod requests;
mod rows;
mod search;
mod session;
mod templates;

pub use cells::cut;
pub use columns::type_name;
pub use profile::Profile;
pub use search::place;
pub use session::Session;
