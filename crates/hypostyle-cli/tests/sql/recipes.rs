//! Runs the recipes of `docs/sql.md`.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Folder;

/// Every block of the page that starts with ```` ```console ```` is run line by line: a line after
/// `$ ` is a command, and the lines below are what it prints.
#[test]
fn the_recipes_print_what_the_page_says() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sql.md");
    let page = fs::read_to_string(page).unwrap();
    let folder = Folder::new();
    let hyp = Path::new(env!("CARGO_BIN_EXE_hyp")).parent().unwrap();
    let path = format!("{}:{}", hyp.display(), std::env::var("PATH").unwrap());
    let mut commands = 0;
    for block in page.split("```console\n").skip(1) {
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
            let ran = folder.run(Command::new("sh").arg("-c").arg(&command).env("PATH", &path));
            assert_eq!(ran.out + &ran.err, expected, "{command}");
            commands += 1;
        }
    }
    assert!(commands >= 12, "{commands} commands");
}
