//! Bundles: `hyp pack` of a folder, and the restored folder.

use std::fs;
use std::time::{Duration, UNIX_EPOCH};

use crate::Folder;

/// A folder `in` with files of several kinds.
fn filled() -> Folder {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("in/deep/er")).unwrap();
    let table: String = (0..900).map(|row| format!("{row},{},x\n", row * 7)).collect();
    folder
        .with("in/t.csv", table)
        .with("in/nothing", "")
        .with("in/deep/er/ä b.bin", [0, 255, 10, 13])
        .with("in/deep/note.txt", "one\ntwo")
}

const NAMES: [&str; 4] = ["deep/er/ä b.bin", "deep/note.txt", "nothing", "t.csv"];

#[track_caller]
fn same(folder: &Folder, one: &str, other: &str) {
    for name in NAMES {
        let [one, other] = [one, other].map(|root| folder.bytes(&format!("{root}/{name}")));
        assert!(one == other, "{name}");
    }
}

#[test]
fn a_folder_is_packed_beside_itself_and_restored() {
    let folder = filled();
    let said = folder.hyp("pack in").ok();
    assert!(said.starts_with("in.at1: 4 files, ") && said.contains(" %, bundle\n"), "{said}");
    assert_eq!(folder.names(), ["in", "in.at1"]);
    let shown = folder.hyp("inspect in.at1").ok();
    for part in ["codec bundle", "manifest", "e3", "t.csv", "ä b.bin", "columnar"] {
        assert!(shown.contains(part), "no {part} in {shown}");
    }
    let json = folder.hyp("inspect in.at1 --json").ok();
    assert!(json.contains("\"name\": \"deep/note.txt\""), "{json}");
    assert!(folder.hyp("verify in.at1").ok().contains("the hash agrees"));
    folder.hyp("unpack in.at1 -q -o out").ok();
    same(&folder, "in", "out");
    folder.hyp("pack in").fails(2, &["in.at1", "-f"]);
    folder.hyp("pack in/ -f -q").ok();
    folder.hyp("unpack in.at1 -q").fails(2, &["exists"]);
}

#[test]
fn flags_work_on_every_file_of_a_folder() {
    let folder = filled();
    for flags in ["-1", "--stream --chunk-lines 100", "--query", "--codec raw", "--threads 1"] {
        folder.hyp(&format!("pack in -q -f {flags} -o x.at1")).ok();
        folder.hyp("unpack x.at1 -q -f -o out").ok();
        same(&folder, "in", "out");
    }
    assert!(folder.hyp("pack in -f --query -o x.at1").ok().contains("1 of them can be queried"));
    assert!(folder.hyp("pack in -f --compare -o x.at1").ok().contains("xz -9e of each takes"));
    folder.hyp("pack in -f --dialect published -o x.at1").fails(1, &["no bundles"]);
    folder.hyp("pack in in/t.csv -q -o several").ok();
    assert!(folder.path("several/in.at1").exists() && folder.path("several/t.csv.at1").exists());
    let raw = folder.hyp("pack in -q -c").raw;
    folder.with("piped.at1", raw).hyp("verify piped.at1").ok();
}

#[test]
fn a_bundle_in_its_own_folder_does_not_contain_itself() {
    let folder = Folder::new().with("a", "one").with("b", "two");
    folder.hyp("pack .").fails(2, &["no name"]);
    for _ in 0..2 {
        let said = folder.hyp("pack . -f -o all.at1").ok();
        assert!(said.contains("2 files"), "{said}");
    }
    folder.hyp("unpack all.at1 -q -o out").ok();
    assert_eq!((folder.read("out/a"), folder.read("out/b")), ("one".into(), "two".into()));
}

#[test]
fn folders_that_cannot_be_a_bundle_are_refused_before_anything_is_written() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("many")).unwrap();
    folder.hyp("pack many").fails(1, &["many", "at least one file"]);
    for number in 0..256 {
        fs::write(folder.path(&format!("many/{number}")), "").unwrap();
    }
    folder.hyp("pack many").fails(1, &["256", "at most 255 files", "tar"]);
    fs::remove_file(folder.path("many/255")).unwrap();
    folder.hyp("pack many -q -1").ok();
    assert!(folder.hyp("verify many.at1").ok().contains("ok"));
    fs::remove_file(folder.path("many.at1")).unwrap();
    if cfg!(unix) {
        let folder = Folder::new();
        fs::create_dir(folder.path("odd")).unwrap();
        let folder = folder.with("odd/a:b", "");
        folder.hyp("pack odd").fails(1, &["a:b", "colon", "rename"]);
        assert_eq!(folder.names(), ["odd"]);
    }
}

#[test]
fn times_are_restored() {
    let folder = filled();
    let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
    let file = fs::File::options().append(true).open(folder.path("in/t.csv")).unwrap();
    file.set_modified(at(1_000_000_007)).unwrap();
    folder.hyp("pack in -q -1").ok();
    folder.hyp("unpack in.at1 -q -o out").ok();
    let meta = fs::metadata(folder.path("out/t.csv")).unwrap();
    assert_eq!(meta.modified().unwrap(), at(1_000_000_007));
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(folder: &Folder, name: &str) -> u32 {
        fs::metadata(folder.path(name)).unwrap().permissions().mode() & 0o7777
    }

    fn set_mode(folder: &Folder, name: &str, mode: u32) {
        fs::set_permissions(folder.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn permissions_are_restored_except_special_bits() {
        let folder = filled();
        set_mode(&folder, "in/t.csv", 0o6755);
        set_mode(&folder, "in/nothing", 0o400);
        folder.hyp("pack in -q -1").ok();
        folder.hyp("unpack in.at1 -q -o out").ok();
        assert_eq!(mode(&folder, "out/t.csv"), 0o755);
        assert_eq!(mode(&folder, "out/nothing"), 0o400);
        // Overwritten files get them too.
        set_mode(&folder, "out/t.csv", 0o600);
        folder.hyp("unpack in.at1 -q -f -o out").ok();
        assert_eq!(mode(&folder, "out/t.csv"), 0o755);
    }

    #[test]
    fn links_and_empty_folders_are_named_and_left_out() {
        let folder = filled();
        symlink("t.csv", folder.path("in/link")).unwrap();
        fs::create_dir_all(folder.path("in/hollow/inner")).unwrap();
        let ran =
            folder.hyp("pack in -q").fails(1, &["in/link", "symbolic link", "in/hollow/inner"]);
        assert_eq!(ran.out, "");
        folder.hyp("unpack in.at1 -q -o out").ok();
        same(&folder, "in", "out");
        assert!(!folder.path("out/link").exists() && !folder.path("out/hollow").exists());
    }

    #[test]
    fn a_link_is_not_written_through() {
        let folder = filled().with("victim", "mine");
        folder.hyp("pack in -q -1").ok();
        fs::create_dir(folder.path("out")).unwrap();
        symlink("../victim", folder.path("out/nothing")).unwrap();
        folder.hyp("unpack in.at1 -q -f -o out").fails(4, &["out/nothing", "link"]);
        assert_eq!(folder.read("victim"), "mine");
    }
}

#[test]
fn members_are_listed_and_read_by_name() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("in/sub")).unwrap();
    let folder = folder.with("in/sub/a.csv", "x,y\n1,a\n2,b\n").with("in/note.txt", "hello\n");
    folder.hyp("pack in -q").ok();
    let listed = folder.hyp("ls in.at1").ok();
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split(',').next()).collect();
    assert_eq!(names, ["name", "note.txt", "sub/a.csv"], "{listed}");
    assert!(folder.hyp("ls in.at1 --json").ok().contains("\"name\":\"sub/a.csv\""));
    assert_eq!(folder.hyp("cat in.at1/sub/a.csv --columns y").ok(), "y\na\nb\n");
    assert_eq!(folder.hyp("count in.at1/sub/a.csv in.at1/sub/a.csv").ok(), "4\n");
    assert_eq!(folder.hyp("unpack in.at1/note.txt -c").ok(), "hello\n");
    folder.hyp("unpack in.at1/sub/a.csv -q").ok();
    assert_eq!(folder.read("a.csv"), "x,y\n1,a\n2,b\n");
    folder
        .hyp("cat in.at1/sub/b.csv")
        .fails(4, &["no member `sub/b.csv`", "did you mean `sub/a.csv`?"]);
    folder.hyp("pack a.csv -q").ok();
    folder.hyp("cat a.csv.at1/x").fails(4, &["is not a bundle"]);
}

#[test]
fn packed_and_unpacked_files_have_the_time_of_the_input() {
    let folder = Folder::new().with("a.csv", "x\n1\n");
    let then = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    std::fs::File::options()
        .write(true)
        .open(folder.path("a.csv"))
        .unwrap()
        .set_modified(then)
        .unwrap();
    folder.hyp("pack a.csv -q").ok();
    folder.hyp("unpack a.csv.at1 -q -o b.csv").ok();
    let time = |name: &str| std::fs::metadata(folder.path(name)).unwrap().modified().unwrap();
    assert_eq!((time("a.csv.at1"), time("b.csv")), (then, then));
    folder.hyp("convert a.csv c.colf -q").ok();
    assert!(time("c.colf") > then);
}
