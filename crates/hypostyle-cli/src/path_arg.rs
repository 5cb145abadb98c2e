//! Paths on the command line: `-` means standard input or standard output.

use std::path::Path;

/// Returns whether a path is `-`.
pub(crate) fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Returns the name of an input, as messages print it.
pub(crate) fn input_name(path: &Path) -> String {
    if is_dash(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// Returns the name of an output, as messages print it.
pub(crate) fn output_name(path: &Path) -> String {
    if is_dash(path) { "standard output".to_owned() } else { path.display().to_string() }
}
