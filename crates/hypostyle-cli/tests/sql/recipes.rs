//! Runs the recipes of `docs/sql.md`.

use crate::Folder;
use crate::ran::Ran;
use crate::recipe_pages::{recipes, search_path};

#[test]
fn the_recipes_print_what_the_page_says() {
    let folder = Folder::new();
    let all = recipes("sql.md", "console");
    assert!(all.len() >= 12, "{} commands", all.len());
    for recipe in all {
        let mut shell = folder.command("sh");
        let ran = Ran::of(shell.arg("-c").arg(&recipe.command).env("PATH", search_path()));
        assert_eq!(ran.out + &ran.err, recipe.expected, "{}", recipe.command);
    }
}
