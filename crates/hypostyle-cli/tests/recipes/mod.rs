//! The commands that a page of the docs shows, with what they print.

use std::fs;
use std::path::Path;

/// A command, and what it prints.
pub(crate) struct Recipe {
    pub(crate) command: String,
    pub(crate) expected: String,
}

/// Returns the recipes of a page in `docs`, in the blocks that start with ```` ``` ```` and `fence`.
///
/// A line after `$ ` is a command, which goes on after a backslash, and the lines below are what
/// it prints.
pub(crate) fn recipes(page: &str, fence: &str) -> Vec<Recipe> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let page = fs::read_to_string(page).unwrap();
    let mut found = Vec::new();
    for block in page.split(&format!("```{fence}\n")).skip(1) {
        let block = block.split("```").next().unwrap();
        for recipe in format!("\n{block}").split("\n$ ").skip(1) {
            let (mut command, mut expected) = (String::new(), String::new());
            let mut is_command = true;
            for line in recipe.lines() {
                let target = if is_command { &mut command } else { &mut expected };
                target.push_str(line);
                target.push('\n');
                is_command = is_command && line.ends_with('\\');
            }
            found.push(Recipe { command, expected });
        }
    }
    found
}

/// Returns the search path of programs, with `hyp` before all others.
pub(crate) fn search_path() -> String {
    let hyp = Path::new(env!("CARGO_BIN_EXE_hyp")).parent().unwrap();
    format!("{}:{}", hyp.display(), std::env::var("PATH").unwrap())
}
