//! Tests of SQL over files. They are one program, since linking the engine takes long.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod counting;
mod database;
mod pushdown;
mod random;
mod session;
mod sqllogic;
mod tables;
mod tpch;
