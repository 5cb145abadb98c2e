//! The executable of the command `hyp`.

use std::process::ExitCode;

fn main() -> ExitCode {
    hypostyle_cli::run(std::env::args_os()).into()
}
