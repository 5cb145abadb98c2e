//! Checks the packages that the workspace depends on: where they come from, under which licence,
//! and that those which share types with us exist once (docs/decisions/0014-dependencies.md).

use std::collections::BTreeMap;
use std::env;
use std::io::{self, Write};
use std::process::Command;

use serde_json::Value;

use crate::process::root;

/// Licences under which a dependency may be. None asks more of a user than to keep its notice.
const LICENCES: [&str; 11] = [
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Zlib",
    "bzip2-1.0.6",
];

/// The only registry.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Packages that no build may contain: TLS is that of `rustls`, and has no C library of the system.
const BANNED: [&str; 3] = ["native-tls", "openssl", "openssl-sys"];

/// Packages whose types are in our API, or that start threads: two versions would be a bug.
const ONCE: [&str; 16] = [
    "arrow-array",
    "arrow-buffer",
    "arrow-cast",
    "arrow-data",
    "arrow-ipc",
    "arrow-schema",
    "arrow-select",
    "bytes",
    "datafusion",
    "http",
    "liblzma-sys",
    "libz-sys",
    "object_store",
    "parquet",
    "tokio",
    "zstd-sys",
];

/// Checks all packages of `Cargo.lock`, and prints what is wrong. Returns whether nothing is.
pub(crate) fn check() -> bool {
    let found = metadata().map_or_else(|why| vec![why], |metadata| problems(&metadata));
    for problem in &found {
        let _ = writeln!(io::stderr(), "dependencies: {problem}");
    }
    found.is_empty()
}

fn metadata() -> Result<Value, String> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let words = ["metadata", "--format-version", "1", "--all-features", "--locked"];
    let _ = writeln!(io::stderr(), "\n$ cargo {}", words.join(" "));
    let output = Command::new(cargo).args(words).current_dir(root()).output();
    let output = output.map_err(|err| format!("cannot run cargo: {err}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|err| format!("cargo metadata: {err}"))
}

fn problems(metadata: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let packages = metadata.get("packages").and_then(Value::as_array).map(Vec::as_slice);
    let packages = packages.unwrap_or_default();
    if packages.is_empty() {
        problems.push("cargo metadata lists no packages".to_owned());
    }
    for package in packages {
        let text = |field: &str| package.get(field).and_then(Value::as_str).unwrap_or_default();
        let (name, version) = (text("name"), text("version"));
        let place = format!("{name} {version}");
        // Packages of the workspace have no source.
        let is_ours = package.get("source").is_none_or(Value::is_null);
        if !is_ours && text("source") != REGISTRY {
            problems.push(format!("{place} comes from {}", text("source")));
        }
        if !is_allowed(text("license")) {
            problems.push(format!("{place} has the licence `{}`", text("license")));
        }
        if BANNED.contains(&name) {
            problems.push(format!("{place} is banned"));
        }
        versions.entry(name).or_default().push(version);
    }
    for name in ONCE {
        if let Some(versions) = versions.get(name).filter(|versions| versions.len() > 1) {
            problems.push(format!("{name} has several versions: {}", versions.join(", ")));
        }
    }
    problems
}

/// Returns whether a licence expression can be met with the allowed licences.
fn is_allowed(expression: &str) -> bool {
    // Old packages separate choices with a slash.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    any_of(&mut rest) && rest.is_empty()
}

/// Parses choices, `OR`.
fn any_of(rest: &mut &[&str]) -> bool {
    let mut is_met = all_of(rest);
    while let Some((&"OR", after)) = rest.split_first() {
        *rest = after;
        is_met |= all_of(rest);
    }
    is_met
}

/// Parses what must be met together, `AND`.
fn all_of(rest: &mut &[&str]) -> bool {
    let mut is_met = one(rest);
    while let Some((&"AND", after)) = rest.split_first() {
        *rest = after;
        is_met &= one(rest);
    }
    is_met
}

/// Parses an expression in parentheses, or a licence with its exception.
fn one(rest: &mut &[&str]) -> bool {
    let Some((&first, after)) = rest.split_first() else { return false };
    *rest = after;
    if first == "(" {
        let is_met = any_of(rest);
        let Some((&")", after)) = rest.split_first() else { return false };
        *rest = after;
        return is_met;
    }
    let mut licence = first.to_owned();
    if let Some((&"WITH", after)) = rest.split_first()
        && let Some((exception, after)) = after.split_first()
    {
        licence = format!("{first} WITH {exception}");
        *rest = after;
    }
    LICENCES.contains(&licence.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licences_are_met_by_one_choice_and_by_all_parts() {
        for expression in [
            "MIT",
            "MIT/Apache-2.0",
            "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
            "MIT OR GPL-3.0-only",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Unlicense OR MIT",
        ] {
            assert!(is_allowed(expression), "{expression}");
        }
        for expression in [
            "",
            "GPL-3.0-only",
            "MIT AND GPL-3.0-only",
            "(MIT OR Apache-2.0) AND GPL-2.0-only",
            "(MIT",
            "MIT)",
            "Apache-2.0 WITH other-exception",
        ] {
            assert!(!is_allowed(expression), "{expression}");
        }
    }

    #[test]
    fn packages_from_elsewhere_banned_ones_and_second_versions_are_found() {
        let package = |name: &str, version: &str, source: Option<&str>, license: &str| serde_json::json!({"name": name, "version": version, "source": source, "license": license});
        let metadata = serde_json::json!({"packages": [
            package("hypostyle", "1.0.0", None, "MIT"),
            package("bytes", "1.0.0", Some(REGISTRY), "MIT"),
            package("bytes", "2.0.0", Some(REGISTRY), "MIT"),
            package("a", "1.0.0", Some("git+https://example.com/a"), "MIT"),
            package("b", "1.0.0", Some(REGISTRY), "GPL-3.0-only"),
            package("openssl", "1.0.0", Some(REGISTRY), "MIT"),
        ]});
        assert_eq!(
            problems(&metadata),
            [
                "a 1.0.0 comes from git+https://example.com/a",
                "b 1.0.0 has the licence `GPL-3.0-only`",
                "openssl 1.0.0 is banned",
                "bytes has several versions: 1.0.0, 2.0.0",
            ]
        );
        assert_eq!(problems(&serde_json::json!({})), ["cargo metadata lists no packages"]);
    }
}
