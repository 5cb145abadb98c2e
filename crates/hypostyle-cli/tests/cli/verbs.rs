//! `hyp stats`, `sample`, `sort` and `diff`.

use crate::Folder;

/// A table in every kind of file that has types.
fn table() -> Folder {
    let rows: String = (0..500)
        .map(|i| {
            let delay = if i % 50 == 7 { "NA".to_owned() } else { (i * 37 % 100).to_string() };
            let carrier = match i % 4 {
                0 | 2 => "UA",
                1 => "AA",
                _ => "DL",
            };
            format!("{i},{delay},{carrier}\n")
        })
        .collect();
    let folder = Folder::new().with("t.csv", format!("id,delay,carrier\n{rows}"));
    folder.hyp("pack t.csv -q").ok();
    for to in ["t.colf", "t.parquet", "t.arrow", "t.jsonl"] {
        folder.hyp(&format!("convert t.csv {to} -q")).ok();
    }
    folder
}

#[test]
fn stats_describe_each_column() {
    let folder = table();
    let head =
        "column,type,count,nulls,distinct,min,max,mean,distribution,top,sd,q1,median,q3,longest";
    for file in ["t.csv", "t.csv.at1", "t.parquet", "t.arrow", "t.jsonl"] {
        let said = folder.hyp(&format!("stats {file}")).ok();
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines[0], head, "{file}");
        assert!(lines[1].starts_with("id,int32,500,0,500,0,499,249.5,"), "{file}: {said}");
        assert!(lines[1].ends_with(",124.75,249.5,374.25,"), "{file}: {said}");
        assert!(lines[2].starts_with("delay,int32,490,10,"), "{file}: {said}");
        let carriers = "carrier,text,500,0,3,AA,UA,,,\"UA (250), AA (125), DL (125)\"";
        assert!(lines[3].starts_with(carriers), "{file}: {said}");
    }
    let json = folder.hyp("stats t.colf --columns carrier --json --top 1").ok();
    assert!(json.contains("\"top\":\"UA (250)\""), "{json}");
    let some = folder.hyp_words(&["stats", "t.csv", "--where", "id < 10", "--columns", "id"]).ok();
    assert!(some.lines().nth(1).unwrap().starts_with("id,int32,10,0,10,0,9,4.5,"), "{some}");
}

#[test]
fn a_sample_has_rows_of_the_table_in_order() {
    let folder = table();
    let want = folder.hyp("sample t.csv -n 20 --seed 3").ok();
    let all = folder.read("t.csv");
    let lines: Vec<&str> = all.lines().collect();
    let places: Vec<usize> =
        want.lines().map(|line| lines.iter().position(|it| *it == line).unwrap()).collect();
    assert_eq!(places.len(), 21);
    assert!(places.is_sorted_by(|a, b| a < b));
    for file in ["t.csv.at1", "t.colf", "t.parquet", "t.arrow"] {
        assert_eq!(folder.hyp(&format!("sample {file} -n 20 --seed 3")).ok(), want, "{file}");
    }
    assert_ne!(folder.hyp("sample t.csv -n 20 --seed 4").ok(), want);
    let some = folder.hyp_words(&["sample", "t.csv", "-n", "5", "--where", "carrier = 'AA'"]).ok();
    assert_eq!(some.lines().filter(|line| line.ends_with(",AA")).count(), 5, "{some}");
    let part = folder.hyp("sample t.csv -n 100 --rows -3..").ok();
    assert_eq!(part.lines().skip(1).collect::<Vec<_>>(), &lines[498..]);
}

#[test]
fn rows_are_sorted_in_memory_and_beyond_it() {
    let folder = table();
    let want = folder.hyp("sort t.csv --by carrier,delay:desc -n 3").ok();
    let rows: Vec<Vec<&str>> = want.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert!(rows.iter().all(|row| row[2] == "AA" && row[1] == "97"), "{want}");
    for file in ["t.csv.at1", "t.parquet", "t.arrow", "t.jsonl"] {
        let found = folder.hyp(&format!("sort {file} --by carrier,delay:desc -n 3")).ok();
        assert_eq!(found, want, "{file}");
    }
    let whole = folder.hyp("sort t.csv --by delay").ok();
    assert_eq!(folder.hyp("sort t.csv --by delay --memory 1").ok(), whole);
    // Nulls are last, and equal rows keep their order.
    assert!(whole.lines().last().unwrap().starts_with("457,NA,"), "{whole}");
    let back = folder.hyp("sort t.csv --by id --reverse --columns carrier -n 1").ok();
    assert_eq!(back, "carrier\nDL\n");
}

#[test]
fn tables_are_compared_by_schema_and_cells() {
    let folder = table();
    for file in ["t.csv.at1", "t.colf", "t.parquet", "t.jsonl"] {
        let ran = folder.hyp(&format!("diff t.csv {file} --columns id,carrier"));
        assert_eq!(ran.ok(), "the tables are equal: 500 rows\n", "{file}");
    }
    let changed = folder.read("t.csv").replace("\n8,", "\n8000,").replace("\n499,63,DL\n", "\n");
    let folder = folder.with("b.csv", changed);
    let ran = folder.hyp("diff t.csv b.csv").fails(1, &[]);
    for part in [
        "500 rows in t.csv, 499 rows in b.csv",
        "1 cell in 1 row differs",
        "8 │ id     │ 8     │ 8000",
    ] {
        assert!(ran.out.contains(part), "{}", ran.out);
    }
    let json = folder.hyp("diff t.csv b.csv --json").fails(1, &[]).out;
    assert!(json.contains("\"different_cells\": 1") && json.contains("\"row\": 8"), "{json}");
    assert_eq!(folder.hyp("diff t.csv b.csv -q").fails(1, &[]).out, "");
    let folder = folder.with("c.csv", "id,name\n1,a\n");
    let ran = folder.hyp("diff t.csv c.csv").fails(1, &[]);
    for part in ["only in t.csv: column `delay`", "only in c.csv: column `name`"] {
        assert!(ran.out.contains(part), "{}", ran.out);
    }
}
