//! The command `hyp`.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command `hyp` with these arguments, and returns its exit code.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| hypostyle_cli::run(args))
}
