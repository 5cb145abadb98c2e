//! Rivals that come as wheels, in a Python environment of their own.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;

/// A wheel, the module that it brings, and who the rival is.
#[derive(Debug)]
struct Wheel {
    package: &'static str,
    version: &'static str,
    module: &'static str,
    rival: &'static str,
}

const WHEELS: [Wheel; 8] = [
    Wheel { package: "pyarrow", version: "26.0.1", module: "pyarrow", rival: "Parquet by pyarrow" },
    Wheel { package: "duckdb", version: "2.0.0", module: "duckdb", rival: "DuckDB" },
    Wheel { package: "vortex-data", version: "0.90.0", module: "vortex", rival: "Vortex" },
    Wheel { package: "pylance", version: "14.0.2", module: "lance", rival: "Lance" },
    Wheel { package: "fsspec", version: "2026.9.0", module: "fsspec", rival: "fsspec" },
    Wheel { package: "aiohttp", version: "3.14.5", module: "aiohttp", rival: "aiohttp" },
    Wheel { package: "datacortex", version: "0.6.0", module: "datacortex", rival: "datacortex" },
    Wheel {
        package: "yscope-clp-core",
        version: "0.12.1b0",
        module: "yscope_clp_core",
        rival: "clp-s",
    },
];

/// What is published as source only, so that pip has to build it.
const BUILT: [&str; 1] = ["datacortex"];

/// A Python, and which of the wheels it has.
#[derive(Debug)]
pub(crate) struct Python {
    program: PathBuf,
    has: Vec<&'static Wheel>,
    /// The wheels that it does not have, and why.
    missing: Vec<(&'static Wheel, String)>,
}

impl Python {
    /// The environment beside what cargo builds; made, and filled as far as that goes, if that
    /// is wanted.
    pub(crate) fn prepare(install: bool) -> Self {
        let folder = environment();
        let program = folder.join("bin").join("python");
        if install && !program.exists() {
            eprintln!("making a Python environment for the rivals in {}", folder.display());
            let made = run(Command::new("python3").args(["-m", "venv"]).arg(&folder));
            if let Err(why) = made {
                eprintln!("{why}");
            }
        }
        let (mut has, mut missing) = (Vec::new(), Vec::new());
        for wheel in &WHEELS {
            match wheel.ready(&program, install) {
                Ok(()) => has.push(wheel),
                Err(why) => missing.push((wheel, why.to_string())),
            }
        }
        Self { program, has, missing }
    }

    /// A command that runs a script, if all of these modules are there.
    pub(crate) fn script(&self, modules: &[&str], script: &str) -> Option<Command> {
        let is_there = |module: &&str| self.has.iter().any(|wheel| wheel.module == *module);
        if !modules.iter().all(is_there) {
            return None;
        }
        let mut command = Command::new(&self.program);
        command.args(["-c", script]);
        Some(command)
    }

    /// A sentence about the rivals that are there and those that are not, of these modules.
    pub(crate) fn describe(&self, modules: &[&str]) -> String {
        let named = |wheel: &&Wheel| modules.contains(&wheel.module);
        let there = self.has.iter().copied().filter(named);
        let there: Vec<String> =
            there.map(|it| format!("{} ({} {})", it.rival, it.package, it.version)).collect();
        let missing = self.missing.iter().filter(|(wheel, _)| named(wheel));
        let missing: Vec<String> =
            missing.map(|(wheel, why)| format!("{} ({why})", wheel.rival)).collect();
        let mut text = String::new();
        if !there.is_empty() {
            text = format!("Rivals from wheels: {}.", there.join(", "));
        }
        if !missing.is_empty() {
            let between = if text.is_empty() { "" } else { " " };
            text = format!("{text}{between}Missing: {}.", missing.join(", "));
        }
        text
    }
}

impl Wheel {
    /// Sees that it is there in this version; installs it if that is wanted.
    fn ready(&self, python: &Path, install: bool) -> Result<()> {
        let Self { package, version, module, .. } = self;
        if !python.exists() {
            return Err("no Python environment has been made yet".into());
        }
        let script = format!(
            "import importlib.metadata as meta, {module}\n\
             assert meta.version('{package}') == '{version}'"
        );
        let has = || run(Command::new(python).args(["-c", &script]));
        if has().is_ok() {
            return Ok(());
        }
        if !install {
            return Err("not installed".into());
        }
        eprintln!("installing {package} {version}");
        let wanted = format!("{package}=={version}");
        let form = if BUILT.contains(package) { "--prefer-binary" } else { "--only-binary=:all:" };
        let mut pip = Command::new(python);
        run(pip.args(["-m", "pip", "install", "--quiet", form, &wanted]))?;
        has()
    }
}

/// Where the environment is: beside the folder that this program was built into.
fn environment() -> PathBuf {
    let program = env::current_exe().unwrap_or_default();
    let target = program.ancestors().nth(2).unwrap_or(Path::new("target"));
    target.join("bench-python")
}

/// Runs a command to its end; if it fails, the last line that it has written tells why.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|err| format!("{program}: {err}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    Err(last.map_or_else(|| format!("{program}: {}", output.status), str::to_owned).into())
}
