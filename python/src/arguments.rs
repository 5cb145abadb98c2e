//! Arguments that several functions take.

use std::num::NonZeroUsize;

use hypostyle::{FileKind, FormatId, Limits, ReadOptions, RequestedType};
use pyo3::prelude::*;

use crate::errors;

/// The options of all readers.
pub(crate) fn read_options(
    strict: bool,
    threads: Option<usize>,
    memory_limit: Option<u64>,
) -> ReadOptions {
    let mut limits = Limits::default();
    if let Some(bytes) = memory_limit {
        limits.read_bytes = bytes;
    }
    let threads = threads.and_then(NonZeroUsize::new);
    ReadOptions::default().with_strict(strict).with_limits(limits).with_threads(threads)
}

/// Finds a format by its name.
pub(crate) fn format_id(name: &str) -> PyResult<FormatId> {
    let kind = FileKind::all().find(|kind| kind.id().name() == name.to_ascii_lowercase());
    kind.map(FileKind::id).ok_or_else(|| {
        let names = formats().join(", ");
        errors::invalid(format!("there is no format `{name}`; there are {names}"))
    })
}

/// The names of all formats.
#[pyfunction]
pub(crate) fn formats() -> Vec<&'static str> {
    FileKind::all().map(|kind| kind.id().name()).collect()
}

/// Finds a type by its name.
pub(crate) fn requested_type(name: &str) -> PyResult<RequestedType> {
    RequestedType::by_name(name).ok_or_else(|| {
        errors::invalid(format!("`{name}` is not a type: expected {}", RequestedType::NAMES))
    })
}
