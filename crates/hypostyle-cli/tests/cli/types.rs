//! Types of text: `hyp schema`, `hyp cat` and `hyp convert` with booleans, dates, timestamps,
//! decimals and tokens for null.

use crate::Folder;

const TABLE: &str = "\
day,at,ok,price,delay,name
2024-01-04,2024-01-04 12:00:00.500+02:00,TRUE,1.50,3,NA
2024-01-05,2024-01-05 00:00:00.000+02:00,FALSE,-0.25,NA,x
NULL,2024-01-06 23:59:59.999+02:00,TRUE,12.00,-7,y
";

#[test]
fn a_table_has_the_types_that_people_expect_and_prints_as_it_was() {
    let folder = Folder::new().with("t.csv", TABLE);
    folder.hyp("pack t.csv -q").ok();
    folder.hyp("convert t.csv t.parquet -q").ok();
    folder.hyp("convert t.csv.at1 t.arrow -q").ok();
    for file in ["t.csv", "t.csv.at1", "t.parquet", "t.arrow"] {
        let schema = folder.hyp(&format!("schema {file} --json")).ok();
        let types: Vec<&str> = schema
            .lines()
            .filter_map(|line| line.trim().strip_prefix("\"type\": \"")?.split('"').next())
            .collect();
        let at = "Timestamp(µs, \\";
        assert_eq!(types, ["date", at, "boolean", "decimal(18,2)", "int32", "text"], "{file}");
        assert_eq!(folder.hyp(&format!("cat {file} --format csv")).ok(), TABLE, "{file}");
        let test = "day >= '2024-01-05' and ok = false and price < 0 and delay is null";
        let found = folder.hyp_words(&["cat", file, "--where", test, "--format", "jsonl"]).ok();
        let want = "{\"day\":\"2024-01-05\",\"at\":\"2024-01-05 00:00:00.000+02:00\",\"ok\":false,\
                    \"price\":-0.25,\"delay\":null,\"name\":\"x\"}\n";
        assert_eq!(found, want, "{file}");
        let test = "at > timestamptz '2024-01-06 00:00:00Z'";
        let found = folder.hyp_words(&["cat", file, "--where", test, "--columns", "price"]).ok();
        assert_eq!(found, "price\n12.00\n", "{file}");
        let found = folder.hyp_words(&["cat", file, "--columns", "at", "--format", "table"]).ok();
        assert!(found.contains("2024-01-04 12:00:00.500+02:00"), "{found}");
    }
    assert_eq!(folder.hyp("unpack t.csv.at1 -c").ok(), TABLE);
    assert_eq!(folder.hyp("convert t.csv.at1 - --to tsv").ok(), TABLE.replace(',', "\t"));
    // A column file holds the text.
    folder.hyp("convert t.csv.at1 t.colf -q").ok();
    assert_eq!(folder.hyp("cat t.colf").ok(), TABLE);
    assert_eq!(folder.hyp("schema t.colf --json").ok().matches("\"text\"").count(), 6);
}

#[test]
fn flags_decide_about_types_and_nulls() {
    let folder =
        Folder::new().with("t.csv", TABLE).with("d.csv", "d,m\n2024/1/4,7\n2024-01-05,8\n");
    folder.hyp("pack t.csv -q").ok();
    let type_of = |words: &str, name: &str| {
        let schema = folder.hyp(&format!("schema {words}")).ok();
        let line = schema.lines().find(|line| line.contains(&format!("│ {name} ")));
        let cells: Vec<&str> = line.unwrap().split('│').map(str::trim).collect();
        cells[2].to_owned()
    };
    for file in ["t.csv", "t.csv.at1"] {
        assert_eq!(type_of(&format!("{file} --null="), "delay"), "text");
        assert_eq!(type_of(&format!("{file} --null NA"), "delay"), "int32");
        assert_eq!(type_of(&format!("{file} --null NA"), "day"), "text");
        assert_eq!(type_of(&format!("{file} --all-text"), "day"), "text");
        assert_eq!(type_of(&format!("{file} --types day=text,delay=float64"), "day"), "text");
        assert_eq!(
            type_of(&format!("{file} --types price=decimal(10,3)"), "price"),
            "decimal(10,3)"
        );
        let printed = folder.hyp(&format!("cat {file} --types delay=float64 --columns delay")).ok();
        assert_eq!(printed, "delay\n3.0\nNA\n-7.0\n");
        let printed = folder.hyp(&format!("cat {file} --types price=decimal(10,3) -c price")).ok();
        assert_eq!(printed, "price\n1.500\n-0.250\n12.000\n");
        folder
            .hyp(&format!("cat {file} --types name=date"))
            .fails(1, &["`name`", "`NA` is not of the type Date32"]);
    }
    // A requested type reads other spellings.
    assert_eq!(type_of("d.csv", "d"), "text");
    assert_eq!(
        folder.hyp("cat d.csv --types d=date,m=decimal(5,2)").ok(),
        "d,m\n2024-01-04,7.00\n2024-01-05,8.00\n"
    );
}
