//! Files on HTTP servers and in object stores: `https://…`, `s3://…`, `gs://…` and `az://…`.
//!
//! [`Stores`] finds the [`RemoteStore`] of a URL, with credentials from the environment. A
//! [`RemoteFile`] reads from one and is a [`ByteSource`](hypostyle_core::source::ByteSource), for
//! code that blocks; engines use the store itself.
//!
//! All reads are range requests. Requests that fail are repeated, and those that a server lets
//! wait end ([`Settings`]). A file that changes while it is read is an error, and so are bytes
//! that are not those of the range.
//!
//! The crate starts no runtime: its caller has one.

mod connection;
mod ends;
mod environment;
mod problem;
mod remote_file;
mod remote_store;
mod settings;
mod stores;
mod upload;

pub use object_store::path::Path;
pub use remote_file::RemoteFile;
pub use remote_store::RemoteStore;
pub use settings::Settings;
pub use stores::{Stores, without_secrets};
pub use upload::upload;
