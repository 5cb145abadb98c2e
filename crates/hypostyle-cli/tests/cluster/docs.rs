//! The examples of `docs/cluster.md` are valid.

use std::fs;

use yaml_rust2::{Yaml, YamlLoader};

use crate::processes::Folder;

/// Returns the blocks of a language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let start = format!("```{language}\n");
    page.split(&start).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// Adds the commands of all containers in a document.
fn commands(node: &Yaml, found: &mut Vec<Vec<String>>) {
    let texts = |node: &Yaml| -> Vec<String> {
        let items = node.as_vec().map(Vec::as_slice).unwrap_or_default();
        items.iter().filter_map(Yaml::as_str).map(str::to_owned).collect()
    };
    match node {
        Yaml::Hash(map) => {
            for (key, value) in map {
                match key.as_str() {
                    Some("command" | "args") if value.is_array() => found.push(texts(value)),
                    _ => commands(value, found),
                }
            }
        }
        Yaml::Array(items) => items.iter().for_each(|item| commands(item, found)),
        _ => {}
    }
}

#[test]
fn the_examples_of_the_page_can_be_parsed() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cluster.md");
    let page = fs::read_to_string(page).unwrap();
    let examples = blocks(&page, "yaml");
    assert_eq!(examples.len(), 2, "a compose file and one for Kubernetes");
    let folder = Folder::new();
    for example in examples {
        let mut found = Vec::new();
        for document in YamlLoader::load_from_str(&example).unwrap() {
            commands(&document, &mut found);
        }
        let of_hyp = found.iter().filter(|words| words.iter().any(|word| word == "cluster"));
        let of_hyp: Vec<_> = of_hyp.collect();
        assert!(of_hyp.len() >= 2, "a scheduler and an executor: {found:?}");
        for words in of_hyp {
            // Words that hyp does not know are errors before the help is printed.
            let words = words.iter().map(String::as_str).filter(|word| *word != "hyp");
            folder.ok(&words.chain(["--help"]).collect::<Vec<_>>());
        }
    }
}
