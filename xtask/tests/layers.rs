//! The modules of every crate form a graph without cycles, and those of the core form layers.
//!
//! The test reads `use` lines and every other path that starts with `crate`, `super` or `self`, test
//! code excepted. Files and folders of one directory are siblings. A path from one into another is
//! an edge between them, also if it goes through a name that their parent re-exports. A parent
//! may use its children, and a child what its parent defines.

#![expect(clippy::expect_used, reason = "a file that is not Rust cannot be judged")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Item, UseTree};

/// The modules of `hypostyle-core` from the bottom up: each may use its own layer and those before.
const CORE_LAYERS: &[&[&str]] = &[
    &["format_id", "deviation", "limits", "error", "deviations", "options"],
    &["parallel", "buffer_pool", "wire", "source", "sink", "compress"],
    &["number", "temporal", "spelling", "types"],
    &["column_source", "cast", "coerce", "projection", "row_selection", "spill"],
    &["predicate"],
    &["reader"],
    &["text"],
    &["line_search"],
    &["format", "scan"],
];

/// The crates from the bottom up: each may depend on those before it.
const CRATES: &[&str] = &[
    "hypostyle-onpair",
    "hypostyle-core",
    "hypostyle-at1",
    "hypostyle",
    "hypostyle-view",
    "hypostyle-wasm",
    "hypostyle-datafusion",
    "hypostyle-remote",
    "hypostyle-ballista",
    "hypostyle-cli",
    "hypostyle-testkit",
    "hypostyle-bench",
];

/// A path from the root of a crate, such as `["pack", "tables", "plan"]`.
type ModulePath = Vec<String>;

/// Edges between siblings, each with the places that make it.
type Edges = BTreeMap<(String, String), BTreeSet<String>>;

#[test]
fn modules_form_no_cycles() {
    let mut cycles = Vec::new();
    for name in CRATES {
        let modules = Modules::read(&crates().join(name).join("src"));
        for (parent, edges) in modules.edges() {
            for cycle in components(&edges) {
                let mut message = format!("{name}: in `{}`:", display(&parent));
                for ((from, to), places) in &edges {
                    if cycle.contains(from) && cycle.contains(to) {
                        let place = places.iter().next().map_or("", String::as_str);
                        message += &format!("\n    {from} -> {to}  ({place})");
                    }
                }
                cycles.push(message);
            }
        }
    }
    assert!(cycles.is_empty(), "modules use each other in circles:\n{}", cycles.join("\n"));
}

#[test]
fn the_core_is_layered() {
    let modules = Modules::read(&crates().join("hypostyle-core/src"));
    let layer = |module: &str| {
        let found = CORE_LAYERS.iter().position(|layer| layer.contains(&module));
        found.unwrap_or_else(|| panic!("module `{module}` has no layer in CORE_LAYERS"))
    };
    for module in modules.files.keys().filter(|path| path.len() == 1) {
        layer(&module[0]);
    }
    for ((from, to), places) in modules.edges().remove(&ModulePath::new()).unwrap_or_default() {
        assert!(layer(&to) <= layer(&from), "{from} is below {to}, and uses it: {places:?}");
    }
}

#[test]
fn crates_depend_downwards() {
    for (place, name) in CRATES.iter().enumerate() {
        let manifest = fs::read_to_string(crates().join(name).join("Cargo.toml"));
        let manifest = manifest.expect("a manifest");
        // Tests may use the kit that stands on the crate.
        let dependencies = manifest.split("[dev-dependencies]").next().unwrap_or_default();
        for above in CRATES.iter().skip(place + 1) {
            let uses = |line: &str| {
                line.split(['.', ' ', '=']).next().is_some_and(|dependency| dependency == *above)
            };
            assert!(
                !dependencies.lines().any(uses),
                "{name} depends on {above}, which is above it"
            );
        }
    }
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates")
}

fn display(path: &[String]) -> String {
    if path.is_empty() { "the crate".to_owned() } else { path.join("::") }
}

/// The modules of a crate: what each one says, and which names it imports from where.
struct Modules {
    files: BTreeMap<ModulePath, Module>,
}

#[derive(Default)]
struct Module {
    /// Paths as they are written, from `crate`, `super`, `self` or a child on.
    paths: BTreeSet<Vec<String>>,
    /// Names that this module imports or re-exports, and their paths.
    imports: BTreeMap<String, Vec<String>>,
}

impl Modules {
    fn read(source: &Path) -> Self {
        let mut modules = Self { files: BTreeMap::new() };
        modules.read_folder(source, &[]);
        modules
    }

    fn read_folder(&mut self, folder: &Path, path: &[String]) {
        let entries = fs::read_dir(folder).expect("a folder of sources");
        for entry in entries.map(|entry| entry.expect("an entry").path()) {
            let stem = entry.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if stem == "tests" || stem == "bin" {
                continue;
            }
            let own = || path.iter().cloned().chain([stem.clone()]).collect::<ModulePath>();
            if entry.is_dir() {
                self.read_folder(&entry, &own());
            } else if entry.extension().is_some_and(|extension| extension == "rs") {
                let root = matches!(stem.as_str(), "mod" | "lib" | "main");
                let module = if root { path.to_vec() } else { own() };
                let text = fs::read_to_string(&entry).expect("a source file");
                let file = syn::parse_file(&text).expect("Rust");
                self.read_items(&file.items, module);
            }
        }
    }

    fn read_items(&mut self, items: &[Item], path: ModulePath) {
        let mut module = Module::default();
        for item in items.iter().filter(|item| !is_test(attributes(item))) {
            match item {
                Item::Use(item) => {
                    let mut found = Vec::new();
                    flatten(&item.tree, &[], &mut found);
                    for (name, path) in found {
                        module.paths.insert(path.clone());
                        module.imports.insert(name, path);
                    }
                }
                Item::Mod(item) => {
                    if let Some((_, items)) = &item.content {
                        let name = item.ident.to_string();
                        self.read_items(items, path.iter().cloned().chain([name]).collect());
                    }
                }
                item => scan(item.to_token_stream(), &mut module.paths),
            }
        }
        self.files.entry(path).or_default().extend(module);
    }

    /// The edges between siblings, by their parent.
    fn edges(&self) -> BTreeMap<ModulePath, Edges> {
        let mut edges: BTreeMap<ModulePath, Edges> = BTreeMap::new();
        for (from, module) in &self.files {
            for written in &module.paths {
                let Some(to) = self.resolve(from, written, 0) else { continue };
                let shared = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
                if let (Some(one), Some(other)) = (from.get(shared), to.get(shared)) {
                    let place = format!("{} uses {}", display(from), written.join("::"));
                    let edge = (one.clone(), other.clone());
                    let parent = from.iter().take(shared).cloned().collect();
                    edges.entry(parent).or_default().entry(edge).or_default().insert(place);
                }
            }
        }
        edges
    }

    /// The module that a path leads to, through names that modules on the way re-export.
    fn resolve(&self, from: &[String], written: &[String], depth: usize) -> Option<ModulePath> {
        let mut words = written.iter().peekable();
        let mut at = from.to_vec();
        match words.peek()?.as_str() {
            "crate" => {
                words.next();
                at.clear();
            }
            "self" => {
                words.next();
            }
            "super" => {
                while words.next_if(|word| *word == "super").is_some() {
                    at.pop()?;
                }
            }
            first => {
                at.push(first.to_owned());
                if !self.files.contains_key(&at) {
                    return None; // another crate
                }
                words.next();
            }
        }
        while let Some(word) = words.next() {
            at.push(word.clone());
            if self.files.contains_key(&at) {
                continue;
            }
            at.pop();
            let import = self.files.get(&at).and_then(|module| module.imports.get(word));
            if let Some(import) = import.filter(|_| depth < 8 && at != from) {
                let whole: Vec<String> = import.iter().cloned().chain(words.cloned()).collect();
                return self.resolve(&at, &whole, depth + 1).or(Some(at));
            }
            break;
        }
        Some(at)
    }
}

impl Module {
    fn extend(&mut self, other: Self) {
        self.paths.extend(other.paths);
        self.imports.extend(other.imports);
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.meta.to_token_stream().to_string().contains("test")
    })
}

/// Lists what a `use` imports: each name, and its path.
fn flatten(tree: &UseTree, before: &[String], found: &mut Vec<(String, Vec<String>)>) {
    let with = |name: String| before.iter().cloned().chain([name]).collect::<Vec<_>>();
    match tree {
        UseTree::Path(path) => flatten(&path.tree, &with(path.ident.to_string()), found),
        UseTree::Name(name) if name.ident == "self" => {
            found.push((before.last().cloned().unwrap_or_default(), before.to_vec()));
        }
        UseTree::Name(name) => found.push((name.ident.to_string(), with(name.ident.to_string()))),
        UseTree::Rename(name) => {
            found.push((name.rename.to_string(), with(name.ident.to_string())))
        }
        UseTree::Glob(_) => found.push(("*".to_owned(), before.to_vec())),
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| flatten(tree, before, found));
        }
    }
}

/// Collects paths that start with `crate`, `super` or `self`, in macro calls too.
fn scan(tokens: TokenStream, paths: &mut BTreeSet<Vec<String>>) {
    let mut path: Vec<String> = Vec::new();
    let mut colons = 0;
    let mut end = |path: &mut Vec<String>| {
        if path.len() > 1 {
            paths.insert(std::mem::take(path));
        }
        path.clear();
    };
    let mut groups = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
            TokenTree::Ident(ident) => {
                let word = ident.to_string();
                let starts = matches!(word.as_str(), "crate" | "super" | "self");
                if !path.is_empty() && colons == 2 {
                    path.push(word);
                } else {
                    end(&mut path);
                    if starts {
                        path.push(word);
                    }
                }
                colons = 0;
            }
            other => {
                end(&mut path);
                colons = 0;
                if let TokenTree::Group(group) = other {
                    groups.push(group.stream());
                }
            }
        }
    }
    end(&mut path);
    groups.into_iter().for_each(|group| scan(group, paths));
}

/// The sets of more than one node that reach each other.
fn components(edges: &Edges) -> Vec<BTreeSet<String>> {
    let nodes: BTreeSet<&String> = edges.keys().flat_map(|(from, to)| [from, to]).collect();
    let reach = |start: &String| {
        let mut seen = BTreeSet::new();
        let mut open = vec![start];
        while let Some(node) = open.pop() {
            for (_, to) in edges.keys().filter(|(from, _)| from == node) {
                if seen.insert(to) {
                    open.push(to);
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        nodes.iter().map(|&node| (node, reach(node))).collect();
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for (&node, ahead) in reached.iter().filter(|(node, ahead)| ahead.contains(*node)) {
        if found.iter().any(|component| component.contains(node)) {
            continue;
        }
        let back = |other: &&&String| reached.get(**other).is_some_and(|set| set.contains(node));
        found.push(ahead.iter().filter(back).map(|&other| other.clone()).collect());
    }
    found
}
