//! Runs the files in `slt`, each for every format that its first line names.
//!
//! `{format}` stands for the name of the format, `{ext}` for its extension, and `{dir}` for an
//! empty folder.

use std::fs;
use std::path::Path;

use hypostyle::FileKind;
use sqllogictest::Runner;

use crate::database::Database;
use crate::session::session;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sql/slt");
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let (mut runs, mut failures) = (0, Vec::new());
    for path in paths {
        let script = fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let first = script.lines().next().unwrap_or_default();
        let formats = first.strip_prefix("# formats:").expect("a first line with formats");
        for format in formats.split_whitespace() {
            runs += 1;
            if let Err(err) = run(&name, &script, format.parse().unwrap()).await {
                failures.push(format!("{name} with {format}: {err}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(runs > 20, "{runs} runs");
}

async fn run(name: &str, script: &str, kind: FileKind) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let script = script
        .replace("{dir}", &folder.path().to_string_lossy())
        .replace("{format}", &kind.name().to_uppercase())
        .replace("{ext}", kind.extensions()[0]);
    let ctx = session();
    let mut runner = Runner::new(|| async { Ok(Database(ctx.clone())) });
    let result = runner.run_script_with_name_async(&script, name).await;
    result.map_err(|err| err.to_string())
}
