//! What holds for every format: laws, sweeps, and what is read and refused.

#![expect(clippy::unwrap_used, reason = "helpers of tests, outside `#[test]`")]

mod laws;
mod sweeps;
