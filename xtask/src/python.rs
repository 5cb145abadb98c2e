//! Runs Python programs in virtual environments under the target folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process::{run, target_folder};

/// A virtual environment of Python with some packages.
pub(crate) struct Environment {
    python: PathBuf,
}

impl Environment {
    /// Makes an environment, or takes the one of this name that was made before, and installs
    /// packages into it.
    ///
    /// # Errors
    ///
    /// Fails with what must be installed if the Python of the machine cannot do this.
    pub(crate) fn with_packages(name: &str, packages: &[&str]) -> Result<Self, String> {
        let folder = target_folder().join("xtask").join(name);
        let python = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
        let environment = Self { python: folder.join(python) };
        if !environment.has_pip() {
            make(&folder)?;
        }
        let words = [&["-m", "pip", "install", "--quiet"], packages].concat();
        match run("python", &environment.python, &words, &[]) {
            Ok(true) => Ok(environment),
            Ok(false) => Err(format!("pip cannot install {}", packages.join(" and "))),
            Err(err) => Err(format!("cannot run the Python of {}: {err}", folder.display())),
        }
    }

    /// Returns whether the environment is complete; one that was interrupted is not.
    fn has_pip(&self) -> bool {
        let mut command = Command::new(&self.python);
        let command = command.args(["-m", "pip", "--version"]);
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }

    /// Runs a Python file of the workspace.
    pub(crate) fn run(&self, file: &str) -> Result<(), String> {
        self.run_words(&[file], &[])
    }

    /// Runs Python with these arguments and environment variables.
    pub(crate) fn run_words(&self, words: &[&str], env: &[(&str, &str)]) -> Result<(), String> {
        let shown = words.join(" ");
        match run("python", &self.python, words, env) {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!("`python {shown}` failed")),
            Err(err) => Err(format!("cannot run `python {shown}`: {err}")),
        }
    }
}

/// Makes a virtual environment in a folder, which is replaced.
fn make(folder: &Path) -> Result<(), String> {
    let _ = fs::remove_dir_all(folder);
    let words = [Path::new("-m").as_os_str(), "venv".as_ref(), folder.as_os_str()];
    match run("python3", "python3", &words, &[]) {
        Ok(true) => Ok(()),
        Ok(false) => {
            let _ = fs::remove_dir_all(folder);
            Err("python3 cannot make a virtual environment: install `python3-venv` (on Debian and \
                 Ubuntu, `apt install python3-venv`)"
                .to_owned())
        }
        Err(err) if err.kind() == io::ErrorKind::NotFound => {
            Err("there is no python3: install `python3` and `python3-venv` (on Debian and Ubuntu, \
             `apt install python3 python3-venv`)"
                .to_owned())
        }
        Err(err) => Err(format!("cannot run python3: {err}")),
    }
}
