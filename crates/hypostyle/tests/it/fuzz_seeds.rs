//! Runs the bodies of the fuzz targets on their seeds, which are committed, and on random inputs.

use std::fs;
use std::path::Path;

use hypostyle_testkit::fuzz::{self, TARGETS};
use hypostyle_testkit::rng::Rng;

/// Returns the seeds of a target, with their names.
fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let mut seeds: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
        })
        .collect();
    seeds.sort();
    seeds
}

/// Runs a target on its seeds, and on seeds with random changes.
fn run(target: &str) {
    let (_, body) = TARGETS.iter().find(|(name, _)| *name == target).unwrap();
    let mut rng = Rng::new(target.len() as u64);
    let all = seeds(target);
    assert!(!all.is_empty(), "{target} has no seeds");
    for (name, seed) in &all {
        // The last name on the screen is that of a seed that panics.
        eprintln!("{target}: {name}");
        body(seed);
        let mut changed = seed.clone();
        for _ in 0..3 {
            let at = rng.below(changed.len() + 1);
            match changed.get_mut(at) {
                Some(byte) => *byte = u8::try_from(rng.below(256)).unwrap(),
                None => changed.extend([0, 1, 0xFF]),
            }
            body(&changed);
        }
    }
}

macro_rules! replay {
    ($($target:ident)*) => {
        $(#[test]
        fn $target() {
            run(stringify!($target));
        })*

        #[test]
        fn every_target_is_replayed_and_has_a_program() {
            let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
            assert_eq!(names, [$(stringify!($target)),*]);
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
            let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
            for name in names {
                assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
                assert!(folder.join(format!("fuzz_targets/{name}.rs")).exists(), "{name}");
            }
        }
    };
}

replay! {
    open_any decode_all scan_any roundtrip_all pack_any bent_archive bent_columns bent_foreign
    any_predicate onpair_parts onpair_file onpair_cpp
}

/// What the targets bend is valid before they bend it.
#[test]
fn archives_that_are_bent_are_valid() {
    fuzz::every_archive_is_valid();
    // Codecs of tables, objects, logs and maps, with groups and without.
    assert!(fuzz::archive_count() > 20, "{} archives", fuzz::archive_count());
}
