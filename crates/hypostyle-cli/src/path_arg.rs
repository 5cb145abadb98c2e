//! Paths on the command line: `-` means standard input or standard output, and some are URLs.

use std::path::Path;

use crate::failure::Failure;

/// The schemes of URLs that a build with the feature `remote` reads.
const SCHEMES: [&str; 10] =
    ["http", "https", "s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "adl"];

/// Returns whether a path is a URL.
pub(crate) fn is_url(path: &Path) -> bool {
    is_url_text(&path.to_string_lossy())
}

/// Returns whether a name of a file is a URL.
pub(crate) fn is_url_text(name: &str) -> bool {
    let scheme = name.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    scheme.is_some_and(|scheme| SCHEMES.contains(&scheme.as_str()))
}

/// Says how to get a build that reads URLs.
#[cfg(not(feature = "remote"))]
pub(crate) fn no_urls() -> Failure {
    let features = if cfg!(feature = "sql") { "sql,remote" } else { "remote" };
    Failure::usage(format!(
        "this build of hyp reads no URLs; get one that does: cargo install hypostyle-cli \
         --features {features}"
    ))
}

/// Says that a command takes no URL.
#[cfg(feature = "remote")]
pub(crate) fn no_urls() -> Failure {
    Failure::usage(
        "this command takes no URLs: sql, cat, get, head, schema, inspect, verify and convert do",
    )
}

/// Returns whether a path is `-`.
pub(crate) fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Returns the name of an input, as messages print it.
pub(crate) fn input_name(path: &Path) -> String {
    if is_dash(path) { "standard input".to_owned() } else { file_name(path) }
}

/// Returns the name of an output, as messages print it.
pub(crate) fn output_name(path: &Path) -> String {
    if is_dash(path) { "standard output".to_owned() } else { file_name(path) }
}

/// Returns a path as messages print it; a URL without its secrets.
fn file_name(path: &Path) -> String {
    #[cfg(feature = "remote")]
    if is_url(path) {
        return hypostyle_remote::without_secrets(&path.to_string_lossy());
    }
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_told_from_paths() {
        for url in ["http://h/a", "HTTPS://h/a", "s3://b/a", "gs://b/a", "az://c/a", "abfss://c/a"]
        {
            assert!(is_url_text(url), "{url}");
        }
        for path in ["a.csv", "/a/b", "c:\\a", "ftp://h/a", "file:///a", "://", "a://b"] {
            assert!(!is_url_text(path), "{path}");
        }
    }
}
