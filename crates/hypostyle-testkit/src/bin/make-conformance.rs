//! Regenerates the files under `conformance/`; see its README.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    hypostyle_testkit::conformance::write(&root)
}
