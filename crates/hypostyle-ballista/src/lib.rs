//! Files of Hypostyle in clusters of [Apache DataFusion Ballista](ballista_core).
//!
//! A [`Scheduler`] and [`Executor`]s are Ballista's own, with what they need for our files: a codec
//! for scans and sinks ([`PhysicalCodec`]), and for executors the object stores
//! that they may use ([`AllowedStores`]). No scheduling is done here.
//!
//! [`Cluster::enable`] makes a session run its queries on a cluster. The session plans them, so it
//! lists files, reads their metadata, leaves out what filters exclude, and gives every task row
//! groups of its own. The plan is then submitted as a physical one. The session writes
//! `COPY … TO` a folder as one file per partition.
//!
//! [`Cluster::pack`] packs texts into archives on a cluster, and [`ClusterFrames`] the frames of a
//! large one.
//!
//! Servers listen without encryption and without authentication; `docs/cluster.md` says how to
//! protect them.

mod allowed_stores;
mod cluster;
mod cluster_exec;
mod executor;
mod explain;
mod guarded_store;
mod job;
mod messages;
mod pack_exec;
mod pack_job;
mod part_sink;
mod physical_codec;
mod planner;
mod row_groups;
mod scheduler;
mod task_engine;
mod tls;
mod traffic;

pub use allowed_stores::{AllowedPrefix, AllowedStores};
pub use cluster::Cluster;
pub use executor::Executor;
pub use pack_job::{ClusterFrames, PackedText, PackedTexts, Text};
pub use physical_codec::PhysicalCodec;
pub use scheduler::Scheduler;
pub use tls::Tls;
pub use traffic::Traffic;
