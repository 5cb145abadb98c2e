//! Rivals that are Python wheels, installed in an environment of their own.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;

/// A wheel, its module, and the name of the rival.
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

/// Packages that are published as source only, so pip has to build them.
const SOURCE_ONLY: [&str; 1] = ["datacortex"];

/// A Python interpreter and the wheels that it has.
#[derive(Debug)]
pub(crate) struct Python {
    program: PathBuf,
    installed: Vec<&'static Wheel>,
    /// The missing wheels, with the reason.
    missing: Vec<(&'static Wheel, String)>,
}

impl Python {
    /// Opens the environment next to cargo's build output. If `install` is set, creates it and
    /// installs the wheels that can be installed.
    pub(crate) fn prepare(install: bool) -> Self {
        let folder = beside_program("bench-python");
        let program = folder.join("bin").join("python");
        if install && !program.exists() {
            eprintln!("creating a Python environment for the rivals in {}", folder.display());
            let created = run(Command::new("python3").args(["-m", "venv"]).arg(&folder));
            if let Err(why) = created {
                eprintln!("{why}");
            }
        }
        let (mut installed, mut missing) = (Vec::new(), Vec::new());
        for wheel in &WHEELS {
            match wheel.ensure(&program, install) {
                Ok(()) => installed.push(wheel),
                Err(why) => missing.push((wheel, why.to_string())),
            }
        }
        Self { program, installed, missing }
    }

    /// Returns a command that runs a script, if all of these modules are installed.
    pub(crate) fn script(&self, modules: &[&str], script: &str) -> Option<Command> {
        let is_installed =
            |module: &&str| self.installed.iter().any(|wheel| wheel.module == *module);
        if !modules.iter().all(is_installed) {
            return None;
        }
        let mut command = Command::new(&self.program);
        command.args(["-c", script]);
        Some(command)
    }

    /// Describes the installed and the missing rivals among these modules.
    pub(crate) fn describe(&self, modules: &[&str]) -> String {
        let named = |wheel: &&Wheel| modules.contains(&wheel.module);
        let installed = self.installed.iter().copied().filter(named);
        let installed: Vec<String> =
            installed.map(|it| format!("{} ({} {})", it.rival, it.package, it.version)).collect();
        let missing = self.missing.iter().filter(|(wheel, _)| named(wheel));
        let missing: Vec<String> =
            missing.map(|(wheel, why)| format!("{} ({why})", wheel.rival)).collect();
        let mut text = String::new();
        if !installed.is_empty() {
            text = format!("Rivals from Python wheels: {}.", installed.join(", "));
        }
        if !missing.is_empty() {
            let between = if text.is_empty() { "" } else { " " };
            text = format!("{text}{between}Missing: {}.", missing.join(", "));
        }
        text
    }
}

impl Wheel {
    /// Checks that the wheel is installed in this version; installs it if `install` is set.
    fn ensure(&self, python: &Path, install: bool) -> Result<()> {
        let Self { package, version, module, .. } = self;
        if !python.exists() {
            return Err("there is no Python environment yet".into());
        }
        let script = format!(
            "import importlib.metadata as meta, {module}\n\
             assert meta.version('{package}') == '{version}'"
        );
        let check = || run(Command::new(python).args(["-c", &script]));
        if check().is_ok() {
            return Ok(());
        }
        if !install {
            return Err("not installed".into());
        }
        eprintln!("installing {package} {version}");
        let requirement = format!("{package}=={version}");
        let form =
            if SOURCE_ONLY.contains(package) { "--prefer-binary" } else { "--only-binary=:all:" };
        let mut pip = Command::new(python);
        run(pip.args(["-m", "pip", "install", "--quiet", form, &requirement]))?;
        check()
    }
}

/// Returns a path next to the folder of this program.
pub(crate) fn beside_program(name: &str) -> PathBuf {
    let program = env::current_exe().unwrap_or_default();
    let target = program.ancestors().nth(2).unwrap_or(Path::new("target"));
    target.join(name)
}

/// Runs a command to its end. On failure, the error is the last line of its standard error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|err| format!("{program}: {err}"))?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let last = stderr.lines().rev().find(|line| !line.trim().is_empty());
    Err(last.map_or_else(|| format!("{program}: {}", output.status), str::to_owned).into())
}
