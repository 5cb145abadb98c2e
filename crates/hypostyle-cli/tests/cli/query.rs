//! `hyp cat --where` and `hyp get`, on archives and other files.

use std::fmt::Write;

use crate::Folder;

/// Returns a table with one column, the last, that takes most of an archive.
fn table(rows: usize) -> String {
    let mut text = String::from("day,user,delay,note,noise\n");
    let mut noise = 1_u64;
    for row in 0..rows {
        noise =
            noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let delay = if row % 11 == 0 { "NA".to_owned() } else { (row * 37 % 400).to_string() };
        let (day, user, note) = (row / 50, row / 3, row % 5);
        let _ = writeln!(text, "{day},user{user:04},{delay},\"n, {note}\",{noise:016x}");
    }
    text
}

fn objects(rows: usize) -> String {
    let object = |row: usize| match row % 4 {
        0 => format!("{{\"event\": \"start\", \"at\": {row}}}\n"),
        _ => format!(
            "{{\"req\":{{\"path\":\"/p/{}\",\"ms\":{}}},\"at\":{row}}}\n",
            row % 9,
            row * 7 % 100
        ),
    };
    (0..rows).map(object).collect()
}

#[test]
fn every_form_of_a_table_gives_the_same_answer() {
    let folder = Folder::new().with("t.csv", table(2000));
    folder.hyp("pack t.csv -q --codec qcolumnar --rows-per-group 100 -o q.at1").ok();
    folder.hyp("pack t.csv -q --query --rows-per-group 100 -o g.at1").ok();
    folder.hyp("pack t.csv -q -o c.at1").ok();
    folder.hyp("pack t.csv -q --query --stream --chunk-lines 300 -o s.at1").ok();
    folder.hyp("convert t.csv t.colf").ok();
    folder.hyp("convert t.csv t.parquet").ok();
    for test in [
        "day = 7 and delay > 120",
        "user = 'user0300'",
        "not (day > 2) and note like '%3'",
        "day in (1, 39) and delay between 100 and 200",
        "user = 'nobody'",
    ] {
        let ask = |file: &str| {
            let words = ["cat", file, "--columns", "user,delay,note", "--where", test];
            folder.hyp_words(&words).ok()
        };
        let want = ask("t.csv");
        for file in ["q.at1", "g.at1", "c.at1", "s.at1", "t.colf", "t.parquet"] {
            assert_eq!(ask(file), want, "{file}: {test}");
        }
    }
    // `NA` is null beside numbers, and printed as it was. A column file holds the text.
    let ask = |file: &str, test: &str| folder.hyp_words(&["cat", file, "--where", test]).ok();
    let want = ask("t.colf", "delay = 'NA'");
    assert_eq!(want.lines().filter(|line| line.contains(",NA,")).count(), 182);
    for file in ["t.csv", "q.at1", "g.at1", "c.at1", "s.at1", "t.parquet"] {
        assert_eq!(ask(file, "delay is null"), want, "{file}");
    }
    let found = folder
        .hyp_words(&["cat", "q.at1", "--where", "day = 7 and delay > 390", "--format", "csv"])
        .ok();
    assert!(found.starts_with("day,user,delay,note,noise\n7,"), "{found}");
    let said =
        folder.hyp_words(&["cat", "q.at1", "--where", "day = 7", "--columns", "user", "--stats"]);
    assert!(said.err.contains("of 20 row groups read"), "{}", said.err);
    folder.hyp_words(&["cat", "q.at1", "--where", "dya = 7"]).fails(2, &["`dya`", "`day`"]);
    folder.hyp_words(&["cat", "t.csv", "--where", "day ="]).fails(2, &["character 6"]);
}

#[test]
fn objects_are_queried_by_path() {
    let folder = Folder::new().with("t.jsonl", objects(2000));
    let said = folder.hyp("pack t.jsonl --query -o t.at1").ok();
    assert!(said.contains("qjson2"), "{said}");
    assert_eq!(folder.hyp("unpack t.at1 -c").ok(), objects(2000));
    let ask = |words: &[&str]| folder.hyp_words(&[&["cat", "t.at1"], words].concat()).ok();
    let found = ask(&["--where", "req.path = '/p/3' and req.ms < 5", "--columns", "at,req.ms"]);
    assert!(found.starts_with("at,req.ms\n") && found.lines().count() > 3, "{found}");
    let words = ["--where", "event = 'start' and at < 9", "--format", "jsonl"];
    let found = ask(&words);
    assert_eq!(found.lines().next(), Some(r#"{"event":"start","at":0,"req":null}"#));
    assert_eq!(found.lines().count(), 3);
    // The archive is the same table as the file.
    assert_eq!(folder.hyp_words(&[&["cat", "t.jsonl"], &words[..]].concat()).ok(), found);
    assert_eq!(
        folder.hyp("cat t.at1 --format jsonl").ok(),
        folder.hyp("cat t.jsonl --format jsonl").ok()
    );
    assert_eq!(ask(&["--where", "req.ms = 1000", "--columns", "at,req.ms"]), "at,req.ms\n");
}

#[test]
fn rows_are_printed_by_number_in_the_given_order() {
    let folder = Folder::new().with("t.csv", table(500));
    folder.hyp("pack t.csv -q --query --rows-per-group 50 -o t.at1").ok();
    folder.hyp("convert t.csv t.colf").ok();
    let lines: Vec<String> = table(500).lines().map(str::to_owned).collect();
    for file in ["t.at1", "t.csv", "t.colf"] {
        let said = folder.hyp(&format!("get {file} 499 0 7 0")).ok();
        let want: Vec<&str> = [0, 500, 1, 8, 1].iter().map(|&line| lines[line].as_str()).collect();
        assert_eq!(said.lines().collect::<Vec<_>>(), want, "{file}");
        folder.hyp(&format!("get {file} 500")).fails(2, &["row 500"]);
    }
}

#[test]
fn columns_rows_predicates_and_limits_combine() {
    let folder = Folder::new().with("t.csv", table(500));
    folder.hyp("pack t.csv -q -o t.at1").ok();
    for to in ["t.colf", "t.parquet", "t.arrow", "t.jsonl"] {
        folder.hyp(&format!("convert t.csv {to} -q")).ok();
    }
    for file in ["t.csv", "t.at1", "t.colf", "t.parquet", "t.arrow", "t.jsonl"] {
        let words = ["cat", file, "--where", "day = 3", "--rows", "160..", "--limit", "2"];
        let found = folder.hyp_words(&[&words[..], &["--columns", "user,day"]].concat()).ok();
        assert_eq!(found, "user,day\nuser0053,3\nuser0053,3\n", "{file}");
    }
}

#[test]
fn damage_is_named_and_the_rest_is_saved() {
    // Row groups of columnar have a multiple of 8 rows.
    damage_loses_one_row_group("--query", 304);
}

#[test]
fn damage_of_the_vendors_form_is_named_and_the_rest_is_saved() {
    damage_loses_one_row_group("--codec qcolumnar", 300);
}

fn damage_loses_one_row_group(form: &str, group: usize) {
    let folder = Folder::new().with("t.csv", table(3000));
    folder.hyp(&format!("pack t.csv -q {form} --rows-per-group 300 -o t.at1")).ok();
    folder.hyp("verify t.at1").ok();
    let mut bytes = folder.bytes("t.at1");
    let at = bytes.len() * 2 / 3;
    bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 0x20);
    let folder = folder.with("bad.at1", bytes);
    let said = folder.hyp("verify bad.at1").fails(4, &[]).out;
    assert!(said.contains("column 5") && said.contains("group "), "{said}");
    folder.hyp("unpack bad.at1").fails(4, &["bad.at1"]);
    let said = folder.hyp("unpack bad.at1 --salvage -o saved.csv").fails(4, &[]).err;
    let lost = format!("{group} lines are left out");
    assert!(said.contains(&lost) && said.contains("group "), "{said}");
    let saved = folder.read("saved.csv");
    assert_eq!(saved.lines().count(), 3001 - group);
    let known = table(3000);
    assert!(saved.lines().all(|line| known.contains(line)));
    folder.hyp("cat bad.at1 --skip-damaged").fails(4, &[&format!("{group} rows are left out")]);
    // Columns that are not damaged are read in all rows.
    let whole = folder.hyp("cat bad.at1 --columns day,user,delay,note --skip-damaged").ok();
    assert_eq!(whole.lines().count(), 3001);
}
