//! A temporary folder in which `hyp` runs.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// A temporary folder for one test.
pub(crate) struct Folder {
    folder: tempfile::TempDir,
    /// Variables of the environment of commands.
    pub(crate) variables: Vec<(String, String)>,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), variables: Vec::new() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn with(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        fs::write(self.path(name), content).unwrap();
        self
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        let path = self.path(name);
        fs::read(&path).unwrap_or_else(|err| panic!("{}: {err}", path.display()))
    }

    /// Returns a command that runs in the folder.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        // A proxy of the machine does not lead to the loopback interface.
        command.env("NO_PROXY", "*").current_dir(self.folder.path());
        command.envs(self.variables.iter().cloned());
        command
    }
}
