//! Runs other programs in the workspace.

use std::env;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the folder of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// Returns the folder that cargo builds in.
pub(crate) fn target_folder() -> PathBuf {
    let named = env::var_os("CARGO_TARGET_DIR").filter(|path| !path.is_empty());
    root().join(named.unwrap_or_else(|| "target".into()))
}

/// Prints a cargo command and runs it in the workspace. Returns whether it succeeded.
pub(crate) fn cargo(words: &[&str], variables: &[(&str, &str)]) -> bool {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    match run("cargo", &cargo, words, variables) {
        Ok(succeeded) => succeeded,
        Err(err) => {
            let _ = writeln!(io::stderr(), "cannot run cargo: {err}");
            false
        }
    }
}

/// Prints a command, in which the program is called `name`, and runs it in the workspace.
/// Returns whether it succeeded.
pub(crate) fn run<S: AsRef<OsStr>>(
    name: &str,
    program: impl AsRef<OsStr>,
    words: &[S],
    variables: &[(&str, &str)],
) -> io::Result<bool> {
    let line: Vec<_> = words.iter().map(|word| word.as_ref().to_string_lossy()).collect();
    let _ = writeln!(io::stderr(), "\n$ {name} {}", line.join(" "));
    let mut command = Command::new(program);
    let status = command.args(words).envs(variables.iter().copied()).current_dir(root()).status();
    Ok(status?.success())
}
