//! Builds the viewer of `web/` in the target folder, and tests it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::process::{cargo, root, run, target_folder};

/// The tool that makes the bindings of the module; the crate must have the same version.
const BINDGEN: (&str, &str) = ("wasm-bindgen-cli", "0.2.130");

const TARGET: &str = "wasm32-unknown-unknown";

/// Where Debian and other distributions have the browser.
const BROWSERS: [&str; 3] =
    ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/// The viewer, built.
pub(crate) struct Viewer {
    folder: PathBuf,
}

impl Viewer {
    /// Compiles the module, installs the tools of `web/package.json`, checks the types and puts
    /// the page together.
    ///
    /// # Errors
    ///
    /// Fails with what must be installed, or with what went wrong.
    pub(crate) fn build() -> Result<Self, String> {
        let tools = target_folder().join("xtask").join("wasm-bindgen");
        let bindgen = install_bindgen(&tools)?;
        let module = compile()?;
        let folder = target_folder().join("xtask").join("web");
        copy_sources(&folder).map_err(|err| format!("cannot copy web/: {err}"))?;
        let bindings = folder.join("dist").join("wasm");
        let words = [
            "--target",
            "web",
            "--remove-name-section",
            "--remove-producers-section",
            "--out-dir",
            &bindings.display().to_string(),
            &module.display().to_string(),
        ]
        .map(str::to_owned);
        must("wasm-bindgen", &bindgen, &words)?;
        let viewer = Self { folder };
        viewer.npm(&[
            "install",
            "--no-audit",
            "--no-fund",
            "--no-package-lock",
            "--loglevel=error",
        ])?;
        viewer.npm(&["run", "check"])?;
        viewer.npm(&["run", "build"])?;
        Ok(viewer)
    }

    /// Returns the folder with the page.
    pub(crate) fn page(&self) -> PathBuf {
        self.folder.join("dist")
    }

    /// Runs the tests under Node and in the browser.
    pub(crate) fn test(&self) -> Result<(), String> {
        let installed = || BROWSERS.into_iter().find(|path| Path::new(path).is_file());
        let Some(browser) = installed().or_else(|| {
            install_browser();
            installed()
        }) else {
            return Err(
                "there is no chromium: install it (on Debian, `apt install chromium`)".into()
            );
        };
        let examples = target_folder().join("debug").join("examples");
        let files = target_folder().join("xtask").join("viewer-files");
        let program = examples.join(format!("viewer_files{}", std::env::consts::EXE_SUFFIX));
        must("viewer_files", &program, &[files.display().to_string()])?;
        let native = examples.join(format!("native_answers{}", std::env::consts::EXE_SUFFIX));
        let variables = [
            ("HYPOSTYLE_NATIVE", native.display().to_string()),
            ("HYPOSTYLE_CONFORMANCE", root().join("conformance").display().to_string()),
            ("HYPOSTYLE_FILES", files.display().to_string()),
            ("HYPOSTYLE_CHROMIUM", browser.to_owned()),
        ];
        let variables: Vec<(&str, &str)> =
            variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.npm_with(&["test"], &variables)
    }

    fn npm(&self, words: &[&str]) -> Result<(), String> {
        self.npm_with(words, &[])
    }

    fn npm_with(&self, words: &[&str], variables: &[(&str, &str)]) -> Result<(), String> {
        let folder = self.folder.display().to_string();
        let line = [&["--prefix", folder.as_str()], words].concat();
        let program = if cfg!(windows) { "npm.cmd" } else { "npm" };
        match run("npm", program, &line, variables) {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!("`npm {}` failed", words.join(" "))),
            Err(err) if err.kind() == io::ErrorKind::NotFound => {
                Err("there is no npm: install Node.js 20 or later".to_owned())
            }
            Err(err) => Err(format!("cannot run npm: {err}")),
        }
    }
}

/// Installs a browser where the system is Debian and the caller may do so.
fn install_browser() {
    let install = ["install", "--yes", "--no-install-recommends", "chromium"];
    for words in [&["update"][..], &install] {
        // Without `apt-get`, the tests say what is missing.
        let _ = run("apt-get", "apt-get", words, &[]);
    }
}

/// Installs the tool under `folder` unless it is there, and returns its path.
fn install_bindgen(folder: &Path) -> Result<PathBuf, String> {
    let (name, version) = BINDGEN;
    let root = folder.display().to_string();
    // An unoptimized build takes a minute, and is fast enough.
    let line = ["install", name, "--version", version, "--profile", "dev", "--root", &root];
    if !cargo(&line, &[]) {
        return Err(format!("cargo cannot install {name} {version}"));
    }
    Ok(folder.join("bin").join(format!("wasm-bindgen{}", std::env::consts::EXE_SUFFIX)))
}

/// Compiles the module and returns its path.
fn compile() -> Result<PathBuf, String> {
    // Does nothing if the target is installed, or if the toolchain is not rustup's.
    let _ = run("rustup", "rustup", &["target", "add", TARGET], &[]);
    let line = ["build", "--package", "hypostyle-wasm", "--target", TARGET, "--profile", "wasm"];
    if !cargo(&line, &[]) {
        return Err(format!(
            "cargo cannot compile for {TARGET}; `rustup target add {TARGET}` installs it"
        ));
    }
    Ok(target_folder().join(TARGET).join("wasm").join("hypostyle_wasm.wasm"))
}

/// Copies `web/` to a folder, in which npm installs: nothing is installed among the sources.
fn copy_sources(folder: &Path) -> io::Result<()> {
    for part in ["src", "tests"] {
        let _ = fs::remove_dir_all(folder.join(part));
    }
    copy(&root().join("web"), folder)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == "node_modules" || name == "dist" {
            continue;
        }
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to.join(&name))?;
        } else {
            fs::copy(entry.path(), to.join(&name))?;
        }
    }
    Ok(())
}

fn must(name: &str, program: &Path, words: &[String]) -> Result<(), String> {
    match run(name, program, words, &[]) {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("{name} failed")),
        Err(err) => Err(format!("cannot run {name}: {err}")),
    }
}
