//! Queries, formats of output, and errors.

use std::fs;

use crate::Folder;

const PEOPLE: &str = "id,Name,born\n1,Ada,1815\n2,Grace,1906\n3,\"a|b\",\n";

#[test]
fn a_file_in_quotes_is_a_table() {
    let folder = Folder::new().with("people.csv", PEOPLE);
    let found = folder.sql("select id, born from 'people.csv' where born > 1900", &[]);
    assert_eq!(found, "id,born\n2,1906\n");
    // Names match in any case, and results are not named after files.
    let found = folder.sql("select max(NAME), count(*) as n from 'people.csv'", &[]);
    assert_eq!(found, "max(Name),n\na|b,3\n");
}

#[test]
fn every_kind_of_file_is_read_and_written() {
    let folder = Folder::new().with("t.csv", "k,v\na,1\nb,2\nc,3\n");
    for name in [
        "t.colm",
        "t.colf",
        "t.clmn",
        "t.csv.at1",
        "t.jsonl.at1",
        "t.onpair",
        "t.tsv",
        "t.jsonl",
        "t.parquet",
        "t.arrow",
        "u.csv",
    ] {
        let words = ["sql", "select * from 't.csv'", "-o", name];
        let ran = folder.hyp(&words);
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{name}: {}", ran.err);
        let query = format!("select k, v from '{name}' where k <> 'a' order by k");
        assert_eq!(folder.sql(&query, &[]), "k,v\nb,2\nc,3\n", "{name}");
        let again = folder.hyp(&words);
        assert_eq!(again.code, 2, "{name}");
        assert!(again.err.contains("already exists; --force overwrites it"), "{}", again.err);
    }
    folder.sql("select 1 as one", &["-o", "t.colf", "--force"]);
    assert_eq!(folder.sql("select * from 't.colf'", &[]), "one\n1\n");
    let ran = folder.hyp(&["sql", "select 1", "-o", "t.docx"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("no format has this extension"), "{}", ran.err);
}

#[test]
fn compressed_files_are_read() {
    let folder = Folder::new().with("t.jsonl", "{\"a\":1}\n{\"a\":2}\n");
    folder.sql("select * from 't.jsonl'", &["-o", "t.parquet"]);
    for name in ["t.jsonl", "t.parquet"] {
        let content = folder.bytes(name);
        let compressed = zstd::encode_all(content.as_slice(), 1).unwrap();
        fs::write(folder.path(&format!("{name}.zst")), compressed).unwrap();
        assert_eq!(folder.sql(&format!("select sum(a) as s from '{name}.zst'"), &[]), "s\n3\n");
    }
}

#[test]
fn results_are_printed_in_every_format() {
    let folder = Folder::new().with("people.csv", PEOPLE);
    let printed =
        |format| folder.sql("select * from 'people.csv' order by id", &["--format", format]);
    assert_eq!(printed("csv"), "id,Name,born\n1,Ada,1815\n2,Grace,1906\n3,a|b,\n");
    assert_eq!(printed("tsv"), "id\tName\tborn\n1\tAda\t1815\n2\tGrace\t1906\n3\ta|b\t\n");
    assert_eq!(
        printed("jsonl"),
        "{\"id\":1,\"Name\":\"Ada\",\"born\":1815}\n{\"id\":2,\"Name\":\"Grace\",\"born\":1906}\n\
         {\"id\":3,\"Name\":\"a|b\",\"born\":null}\n"
    );
    assert_eq!(
        printed("json"),
        "[\n  {\"id\":1,\"Name\":\"Ada\",\"born\":1815},\n  \
         {\"id\":2,\"Name\":\"Grace\",\"born\":1906},\n  \
         {\"id\":3,\"Name\":\"a|b\",\"born\":null}\n]\n"
    );
    assert_eq!(
        printed("markdown"),
        "| id | Name | born |\n| ---: | --- | ---: |\n| 1 | Ada | 1815 |\n| 2 | Grace | 1906 |\n\
         | 3 | a\\|b |  |\n"
    );
    assert!(printed("table").contains(" 1 │ Ada   │ 1815\n"), "{}", printed("table"));
    assert!(printed("parquet").starts_with("PAR1"));
    assert_eq!(folder.sql("select 1 as a where false", &["--format", "json"]), "[]\n");
}

#[test]
fn globs_and_folders_are_tables() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("d/year=2023")).unwrap();
    fs::create_dir_all(folder.path("d/year=2024")).unwrap();
    let folder = folder
        .with("d/year=2023/a.csv", "k,v\na,1\n")
        .with("d/year=2024/b.csv", "k,w\nb,x\n")
        .with("d/_SUCCESS", "");
    let found = folder.sql("select k, v, w, year from 'd' order by k", &[]);
    assert_eq!(found, "k,v,w,year\na,1,,2023\nb,,x,2024\n");
    let found = folder.sql("select count(*) as n from 'd' where year = 2024", &["--stats"]);
    assert_eq!(found, "n\n1\n");
    let found = folder.sql("select k from 'd/year=2023/*.csv'", &[]);
    assert_eq!(found, "k\na\n");
    let folder = folder.with("d/year=2023/c.csv", "k,v\nc,text\n");
    let ran = folder.hyp(&["sql", "select * from 'd/year=2023'"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("a.csv` and") && ran.err.contains("c.csv`"), "{}", ran.err);
    let folder = folder.with("d/year=2023/t.jsonl", "{}\n");
    let ran = folder.hyp(&["sql", "select * from 'd'"]);
    assert!(ran.err.contains("has csv and jsonl files"), "{}", ran.err);
}

#[test]
fn an_error_points_at_the_word() {
    let folder = Folder::new().with("people.csv", PEOPLE);
    for (query, code, expected) in [
        (
            "select nam from 'people.csv'",
            2,
            "no column named `nam`; did you mean `Name`?\n  select nam from 'people.csv'\n         ^^^\n",
        ),
        (
            "select id\nfrom 'people.csv'\nwhere agee > 3",
            2,
            "\n  3: where agee > 3\n           ^^^^\n",
        ),
        ("select id frm 'people.csv'", 2, "\n  select id frm 'people.csv'\n                ^"),
        (
            "select * from 'peple.csv'",
            2,
            "`peple.csv`: no such file\n  select * from 'peple.csv'\n                 ^^^^^^^^^\n",
        ),
        ("select foo(1)", 2, "\n  select foo(1)\n         ^^^"),
        (
            "select * from people",
            2,
            "table 'people' not found\n  select * from people\n                ^^^^^^\n",
        ),
        ("", 2, "there is no statement\n"),
        ("select cast(\"Name\" as int) from 'people.csv'", 4, "Cannot cast string 'Ada'"),
    ] {
        let ran = folder.hyp(&["sql", query]);
        assert_eq!(ran.code, code, "{query}: {}", ran.err);
        assert!(ran.err.contains(expected), "{query}:\n{}", ran.err);
        assert_eq!(ran.out, "", "{query}");
    }
}

#[test]
fn scripts_have_several_statements() {
    let script = "-- comment\ncreate view v as select id * 2 as d from 'people.csv';\n\
                  select sum(d) as s from v; select count(*) as n from v;";
    let folder = Folder::new().with("people.csv", PEOPLE).with("s.sql", script);
    let ran = folder.hyp(&["sql", "-f", "s.sql"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "s\n12\nn\n3\n"), "{}", ran.err);
    let ran = folder.hyp(&["sql", "-f", "s.sql", "-o", "n.jsonl"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "s\n12\n"), "{}", ran.err);
    assert_eq!(fs::read_to_string(folder.path("n.jsonl")).unwrap(), "{\"n\":3}\n");
    let folder = folder.with("bad.sql", "select 1;\nselect x;");
    let ran = folder.hyp(&["sql", "-f", "bad.sql"]);
    assert!(
        ran.err.starts_with("error: `bad.sql`: ") && ran.err.contains("2: select x;"),
        "{}",
        ran.err
    );
}

#[test]
fn statistics_tell_what_was_read() {
    let row = |id: u64| {
        let (one, two) = (id * 7919 % 1_000_003, id * 104_729 % 999_983);
        format!("{id},{},{one}-{two},note {}\n", id / 1000, id % 10)
    };
    let rows: String = (0..50_000).map(row).collect();
    let folder = Folder::new().with("t.csv", format!("id,part,name,note\n{rows}"));
    assert_eq!(folder.hyp(&["pack", "t.csv", "--rows-per-group", "1000"]).code, 0);
    let ran = folder.hyp(&["sql", "select sum(id) as s from 't.csv.at1' where id < 10", "--stats"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "s\n45\n"), "{}", ran.err);
    assert!(ran.err.contains("1 of 50 row groups read, 49 skipped"), "{}", ran.err);
    let plan = folder.sql("explain analyze select id from 't.csv.at1' where part = 3", &[]);
    assert!(plan.contains("row_groups_pruned=49") && plan.contains("bytes_scanned="), "{plan}");
}

#[test]
fn damage_fails_a_query_or_is_left_out() {
    let folder = Folder::new().with("a.csv", "k\nx\ny\n");
    folder.sql("select * from 'a.csv'", &["-o", "p1.colf"]);
    folder.sql("select * from 'a.csv'", &["-o", "p2.colf"]);
    let content = folder.bytes("p2.colf");
    fs::write(folder.path("p2.colf"), &content[..content.len() / 2]).unwrap();
    let ran = folder.hyp(&["sql", "select count(*) from 'p*.colf'"]);
    assert_eq!(ran.code, 4, "{}", ran.err);
    assert!(ran.err.contains("p2.colf`: colf: "), "{}", ran.err);
    let ran = folder.hyp(&["sql", "select count(*) as n from 'p*.colf'", "--skip-damaged"]);
    assert_eq!((ran.code, ran.out.as_str()), (4, "n\n2\n"), "{}", ran.err);
    assert!(ran.err.contains("warning: left out: ") && ran.err.contains("p2.colf`"), "{}", ran.err);
}

#[test]
fn parquet_files_of_a_glob_follow_the_same_rules() {
    let folder = Folder::new();
    for (name, query) in [
        ("a1", "select 1::int as id, 1.5::decimal(4,2) as price"),
        ("a2", "select 5000000000 as id, 'x' as more"),
        ("b1", "select 1 as id"),
        ("b2", "select 'x' as id"),
    ] {
        folder.sql(query, &["-o", &format!("{name}.parquet")]);
    }
    let found = folder.sql("select * from 'a*.parquet' order by id", &[]);
    assert_eq!(found, "id,price,more\n1,1.50,\n5000000000,,x\n");
    let ran = folder.hyp(&["sql", "select * from 'b*.parquet'"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("b1.parquet` and") && ran.err.contains("b2.parquet`"), "{}", ran.err);
    // Damage behind the metadata.
    let text = "select 'name ' || (value * 7919 % 100003) as s from generate_series(1, 100000)";
    folder.sql(text, &["-o", "c1.parquet"]);
    let mut content = folder.bytes("c1.parquet");
    // The page header comes first: without it, its column cannot be read.
    content[4..64].fill(0xff);
    let folder = folder.with("c2.parquet", &content);
    // The engine knows the maximum of the column itself from the metadata.
    let ran = folder.hyp(&["sql", "select max(s || 'x') from 'c*.parquet'"]);
    assert_eq!(ran.code, 4, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("c2.parquet`: "), "{}", ran.err);
    let folder = folder.with("c2.parquet", &content[..content.len() / 2]);
    let ran = folder.hyp(&["sql", "select max(s) from 'c*.parquet'"]);
    assert!(ran.err.contains("c2.parquet`: "), "{}", ran.err);
    let ran = folder.hyp(&["sql", "select count(*) as n from 'c*.parquet'", "--skip-damaged"]);
    assert_eq!((ran.code, ran.out.as_str()), (4, "n\n100000\n"), "{}", ran.err);
    assert!(ran.err.contains("left out: "), "{}", ran.err);
}

#[test]
fn memory_is_limited() {
    let folder = Folder::new();
    // A sort spills, and a join that does not fit ends with an error that says so.
    let sort = "select max(r) as n from (select row_number() over (order by k, value desc) as r \
                from (select value, value % 1000 as k from generate_series(1, 2000000)))";
    assert_eq!(folder.sql(sort, &["--memory-limit", "24M", "--threads", "1"]), "n\n2000000\n");
    let join = "select count(*) from (select value as a, repeat('x', 50) as t from \
                generate_series(1, 300000)) p join (select value + 5 as a, repeat('y', 50) as u \
                from generate_series(1, 300000)) q on p.a = q.a and p.t < q.u";
    let ran = folder.hyp(&["sql", join, "--memory-limit", "2M"]);
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("hint: --memory-limit allows more memory"), "{}", ran.err);
    // Scans of files have their part of it.
    let rows = "select value as id, 'row ' || value as name from generate_series(1, 200000)";
    folder.sql(rows, &["-o", "t.colf"]);
    let group = "select count(*) as n from (select name, count(*) from 't.colf' group by name)";
    assert_eq!(folder.sql(group, &["--memory-limit", "48M"]), "n\n200000\n");
    let ran = folder.hyp(&["sql", group, "--memory-limit", "100K"]);
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("hint: --memory-limit allows more memory"), "{}", ran.err);
}
