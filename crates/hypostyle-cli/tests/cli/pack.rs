//! `hyp pack`: archives that restore their input.

use std::fmt::Write;

use crate::Folder;

/// A table with two correlated columns and a numeric one.
fn table(rows: usize) -> String {
    let mut text = String::from("id,city,land,price\n");
    for row in 0..rows {
        let (city, land) = match row * row % 7 {
            0 | 1 => ("Oslo", "NO"),
            2 => ("Nice", "FR"),
            _ => ("Rome", "IT"),
        };
        let _ = writeln!(text, "{row},{city},{land},{}.{:02}", row * 7 % 100, row * 13 % 100);
    }
    text
}

#[test]
fn a_file_is_packed_beside_itself_and_restored() {
    let folder = Folder::new().with("t.csv", table(2000));
    let said = folder.hyp("pack t.csv").ok();
    assert!(said.starts_with("t.csv.at1: ") && said.contains("columnar"), "{said}");
    assert_eq!(folder.names(), ["t.csv", "t.csv.at1"]);
    assert_eq!(folder.hyp("unpack t.csv.at1 -c").ok(), table(2000));
    folder.hyp("verify t.csv.at1").ok();
    folder.hyp("pack t.csv").fails(2, &["t.csv.at1", "-f"]);
    assert_eq!(folder.hyp("pack t.csv -f -q").ok(), "");
    let said = folder.hyp("pack t.csv -f --compare").ok();
    assert!(said.contains("xz -9e takes"), "{said}");
}

#[test]
fn all_levels_frames_and_dialects_restore_the_file() {
    let folder = Folder::new().with("t.csv", table(500));
    for flags in [
        "-1",
        "-3",
        "-9",
        "--stream",
        "--stream --chunk-lines 99",
        "--dialect published",
        "--codec raw",
        "--codec columnar",
        "--stream --dialect published -1",
        "--threads 1",
    ] {
        folder.hyp(&format!("pack t.csv -q -f {flags} -o t.at1")).ok();
        assert_eq!(folder.hyp("unpack t.at1 -c").ok(), table(500), "{flags}");
    }
    let said = folder.hyp("pack t.csv -f --stream --chunk-lines 100 -o t.at1").ok();
    assert!(said.contains("6 frames"), "{said}");
    folder.hyp("pack t.csv -1 -9").fails(2, &["-1", "-9"]);
    folder.hyp("pack t.csv --chunk-lines 0").fails(2, &["chunk-lines"]);
}

#[test]
fn several_files_go_to_a_folder_and_streams_to_streams() {
    let folder = Folder::new().with("a.csv", table(50)).with("b.bin", b"\x00\xff");
    folder.hyp("pack a.csv b.bin -q -o out").ok();
    folder.hyp("unpack out/a.csv.at1 out/b.bin.at1 -q -o back").ok();
    assert_eq!(folder.read("back/a.csv"), table(50));
    assert_eq!(folder.bytes("back/b.bin"), b"\x00\xff");
    folder.hyp("pack a.csv b.bin -c").fails(2, &["one file"]);
    folder.hyp("pack -").fails(2, &["no name"]);
    folder.hyp("pack missing.csv").fails(3, &["missing.csv"]);
    folder.hyp_with("pack - -q -o in.at1", table(80).as_bytes()).ok();
    assert_eq!(folder.hyp("unpack in.at1 -c").ok(), table(80));
}

#[test]
fn columns_are_read_without_the_others() {
    let folder = Folder::new().with("t.csv", table(3000));
    folder.hyp("pack t.csv -q").ok();
    for columns in ["land", "price,id", "city,land", "id,city,land,price", "#2", "land,#1"] {
        let [packed, plain] = ["t.csv.at1", "t.csv"]
            .map(|file| folder.hyp(&format!("cat {file} --columns {columns}")).ok());
        assert_eq!(packed, plain, "{columns}");
    }
    folder.hyp("cat t.csv.at1 --columns nothing").fails(2, &["nothing"]);
    let shown = folder.hyp("inspect t.csv.at1").ok();
    assert!(shown.contains("city, land"), "{shown}");
}
