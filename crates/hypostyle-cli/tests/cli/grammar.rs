//! One grammar for all commands on tables: inputs, columns and rows, output.

use std::io::Write;

use crate::Folder;

fn compressed() -> Folder {
    let text = "x,y\n2,a\n1,b\n";
    let mut gzip = vec![0; 100];
    let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::fastest());
    let bytes = compressor.gzip_compress(text.as_bytes(), &mut gzip).unwrap();
    gzip.truncate(bytes);
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
    xz.write_all(text.as_bytes()).unwrap();
    Folder::new()
        .with("a.csv", text)
        .with("a.csv.gz", gzip)
        .with("a.csv.xz", xz.finish().unwrap())
        .with("a.csv.zst", zstd::encode_all(text.as_bytes(), 1).unwrap())
}

#[test]
fn compressed_files_are_read_as_what_is_inside() {
    let folder = compressed();
    for name in ["a.csv.gz", "a.csv.xz", "a.csv.zst"] {
        assert_eq!(folder.hyp(&format!("cat {name}")).ok(), "x,y\n2,a\n1,b\n", "{name}");
        assert!(folder.hyp(&format!("schema {name}")).ok().contains("int32"), "{name}");
        assert!(folder.hyp(&format!("verify {name}")).ok().contains("ok: CSV, 2 rows"), "{name}");
        assert_eq!(folder.hyp_with("count -", &folder.bytes(name)).ok(), "2\n", "{name}");
        let cut = folder.bytes(name);
        let folder = Folder::new().with(name, &cut[..cut.len() - 6]);
        folder.hyp(&format!("cat {name}")).fails(4, &[name, "cannot decompress"]);
    }
    folder.hyp("cat a.csv.gz --max-output 5").fails(4, &["limit of 5 bytes"]);
    // An archive holds the file as it is.
    folder.hyp("pack a.csv.gz -q").ok();
    folder.hyp("unpack a.csv.gz.at1 -q -o b.gz").ok();
    assert_eq!(folder.bytes("b.gz"), folder.bytes("a.csv.gz"));
}

#[test]
fn several_files_are_one_table() {
    let folder = compressed().with("b.csv", "x,y\n30,c\n").with("c.csv", "y,x\nd,0.5\n");
    folder.hyp("convert b.csv b.colf -q").ok();
    let all = "x,y,filename\n2,a,a.csv.gz\n1,b,a.csv.gz\n30,c,b.colf\n";
    assert_eq!(folder.hyp("cat a.csv.gz b.colf --filename").ok(), all);
    assert_eq!(folder.hyp("cat b.csv c.csv").ok(), "x,y\n30.0,c\n0.5,d\n");
    assert_eq!(folder.hyp("cat a.csv b.csv --rows -2.. --columns y").ok(), "y\nb\nc\n");
    assert_eq!(folder.hyp("cat a.csv b.csv --rows 1..-1").ok(), "x,y\n1,b\n");
    assert_eq!(folder.hyp("head a.csv b.csv -n 1").ok(), "x,y\n2,a\n");
    assert_eq!(folder.hyp("tail a.csv b.csv -n 2").ok(), "x,y\n1,b\n30,c\n");
    let found = folder.hyp_words(&["tail", "a.csv", "b.csv", "-n", "1", "--where", "x < 9"]);
    assert_eq!(found.ok(), "x,y\n1,b\n");
    let found = folder.hyp_words(&["count", "a.csv", "b.csv", "c.csv", "--where", "x > 1"]);
    assert_eq!(found.ok(), "2\n");
    assert_eq!(folder.hyp("count [ab].csv").ok(), "3\n");
    let said = folder.hyp("schema a.csv b.csv --json").ok();
    assert!(said.contains("\"rows\": 3"), "{said}");
    folder.hyp("convert a.csv b.csv all.parquet --filename -q").ok();
    let want = "x,y,filename\n2,a,a.csv\n1,b,a.csv\n30,c,b.csv\n";
    assert_eq!(folder.hyp("cat all.parquet").ok(), want);
    folder.hyp("cat *.nothing").fails(2, &["no file matches"]);
}

#[test]
fn columns_of_several_files_are_matched_by_name() {
    let folder = Folder::new()
        .with("a.csv", "id,day\n1,2024-01-02\n")
        .with("b.csv", "id,note\nx7,late\n")
        .with("twice.csv", "id,id\n1,2\n");
    let ran = folder.hyp("cat a.csv b.csv");
    assert_eq!(ran.out, "id,day,note\n1,2024-01-02,\nx7,,late\n");
    for part in ["`id` is text: it is int32 in `a.csv` and text in `b.csv`", "no column `note`"] {
        assert!(ran.err.contains(part), "{}", ran.err);
    }
    folder.hyp("cat a.csv b.csv --columns day").fails(2, &["`b.csv`", "no column named `day`"]);
    folder.hyp("cat a.csv twice.csv").fails(2, &["`twice.csv`", "two columns `id`"]);
    // Files with the same names are matched by position.
    assert_eq!(folder.hyp("cat twice.csv twice.csv").ok(), "id,id\n1,2\n1,2\n");
}

#[test]
fn a_folder_is_the_table_of_its_files() {
    let folder = Folder::new().with("a.csv", "x\n1\n").with("notes.md", "no table");
    std::fs::create_dir(folder.path("sub")).unwrap();
    let folder = folder.with("sub/b.jsonl", "{\"x\":2}\n");
    assert_eq!(folder.hyp("cat .").ok(), "x\n1\n2\n");
    std::fs::create_dir(folder.path("empty")).unwrap();
    folder.hyp("cat empty").fails(2, &["directory without tables"]);
}

#[test]
fn rows_are_printed_in_every_format() {
    let folder = Folder::new().with("a.csv", "n,t\n1,a|b\n,\"c\"\n");
    let shown = |flag: &str| folder.hyp(&format!("cat a.csv {flag}")).ok();
    assert_eq!(shown("--json"), "[\n  {\"n\":1,\"t\":\"a|b\"},\n  {\"n\":null,\"t\":\"c\"}\n]\n");
    assert_eq!(shown("--json --limit 0"), "[]\n");
    assert_eq!(shown("--format markdown"), "| n | t |\n| ---: | --- |\n| 1 | a\\|b |\n|  | c |\n");
    let record = "─[ 1 ]────────\nn │ 1\nt │ a|b\n─[ 2 ]────────\nn │ NULL\nt │ c\n";
    assert_eq!(shown("-x"), record);
    assert_eq!(shown("--format record"), record);
    folder.hyp("cat a.csv -x --json").fails(2, &["cannot be used with"]);
}

#[test]
fn a_json_array_is_a_table_of_its_objects() {
    let text = "[\n  {\"a\": 1, \"b\": [1,\n 2]},\n  {\"a\": 2, \"b\": null}\n]\n";
    let folder = Folder::new().with("a.json", text).with("b.json", "[{\"a\":1}\n");
    let want = "a,b\n1,\"[1,2]\"\n2,\n";
    assert_eq!(folder.hyp("cat a.json").ok(), want);
    assert_eq!(folder.hyp_with("cat -", text.as_bytes()).ok(), want);
    // A packed file is the same table, and the same bytes.
    folder.hyp("pack a.json -q").ok();
    assert_eq!(folder.hyp("cat a.json.at1").ok(), want);
    assert_eq!(folder.hyp("unpack a.json.at1 -c").ok(), text);
    folder.hyp("cat b.json").fails(4, &["b.json", "has no end"]);
}

#[test]
fn a_delimiter_that_is_no_comma_is_said() {
    let folder = Folder::new().with("a.csv", "x;y\n1,5;2\n").with("b.tsv", "x\ty\n1\t2\n");
    let ran = folder.hyp("cat a.csv --columns y");
    assert_eq!(ran.out, "y\n2\n");
    assert!(ran.err.contains("separated by `;`"), "{}", ran.err);
    assert_eq!(folder.hyp("cat a.csv --delimiter ; --columns y").ok(), "y\n2\n");
    assert_eq!(folder.hyp("cat b.tsv --columns y").ok(), "y\n2\n");
}

#[test]
fn habits_of_other_tools_work_or_are_answered() {
    let folder = Folder::new().with("a.csv", "x\n1\n").with("b.csv", "x\n2\n");
    folder.hyp("pack -k -T2 -v a.csv").ok();
    assert!(folder.hyp("-t a.csv.at1").ok().contains("ok"));
    assert!(folder.hyp("-l a.csv.at1").ok().contains("AT-1"));
    folder.hyp("-d a.csv.at1").fails(2, &["hyp unpack"]);
    folder.hyp("decompress a.csv.at1").fails(2, &["hyp unpack", "hyp help unpack"]);
    folder.hyp("slice a.csv").fails(2, &["--rows"]);
    folder.hyp("pack a.csv b.csv -q -o out/").ok();
    folder.hyp("unpack out/a.csv.at1 -q -o back/").ok();
    assert_eq!(folder.read("back/a.csv"), "x\n1\n");
    folder.hyp("pack --rm -q b.csv").ok();
    folder.hyp("cat b.csv").fails(3, &["cannot open", "did you mean `"]);
    folder.hyp("unpack --rm -q b.csv.at1").ok();
    assert_eq!(folder.read("b.csv"), "x\n2\n");
    assert!(!folder.path("b.csv.at1").exists());
    folder.hyp("pack --rm -q out").fails(2, &["--rm removes no folders"]);
}

#[test]
fn convert_to_an_archive_packs() {
    let folder = Folder::new().with("a.csv", "x,y\n1,\"a\"\n2,b\n");
    folder.hyp("convert a.csv a.at1 -q").ok();
    assert_eq!(folder.hyp("unpack a.at1 -c").ok(), folder.read("a.csv"));
    folder.hyp("convert a.csv a.parquet -q").ok();
    folder.hyp("convert a.parquet b.csv.at1 -q").ok();
    assert_eq!(folder.hyp("unpack b.csv.at1 -c").ok(), "x,y\n1,a\n2,b\n");
    folder.hyp_words(&["convert", "a.csv", "c.at1", "-q", "--where", "x > 1"]).ok();
    assert_eq!(folder.hyp("cat c.at1").ok(), "x,y\n2,b\n");
}

#[test]
fn parquet_gets_numbers_and_says_so() {
    let folder = Folder::new().with("a.csv", "carat,zip\n1,00501\n0.23,10001\n");
    let ran = folder.hyp("convert a.csv a.parquet -q");
    assert!(ran.err.contains("`carat`") && ran.err.contains("floats"), "{}", ran.err);
    let schema = folder.hyp("schema a.parquet").ok();
    assert!(schema.contains("carat │ float64") && schema.contains("zip   │ text"), "{schema}");
    folder.hyp("convert a.csv a.parquet -f -q --infer exact").ok();
    assert_eq!(folder.hyp("cat a.parquet").ok(), folder.read("a.csv"));
    // A packed file has the same types.
    folder.hyp("pack a.csv -q").ok();
    assert_eq!(folder.hyp("convert a.csv.at1 b.parquet -q").code, 0);
    assert_eq!(folder.hyp("schema b.parquet").ok(), schema);
    folder.hyp("convert a.csv a.colf -q").ok();
    assert_eq!(folder.hyp("cat a.colf").ok(), folder.read("a.csv"));
}

#[test]
fn unknown_names_are_answered_with_near_ones() {
    let folder = Folder::new().with("flights.csv", "carrier,dep_delay\nUA,1\n");
    folder.hyp("cat flight.csv").fails(3, &["did you mean `flights.csv`?"]);
    folder.hyp("cat flights.csv --columns carier").fails(2, &["did you mean `carrier`?"]);
    let ran = folder.hyp_words(&[
        "cat",
        "flights.csv",
        "--columns",
        "carrier",
        "--where",
        "dep_dealy > 1",
    ]);
    ran.fails(2, &["did you mean `dep_delay`?"]);
    folder.hyp("sort flights.csv --by carier").fails(2, &["did you mean `carrier`?"]);
    folder
        .hyp("convert flights.csv a.colf --types carier=text")
        .fails(2, &["did you mean `carrier`?"]);
    folder.hyp("hed flights.csv").fails(2, &["head"]);
    folder.hyp("head flights.csv --colums x").fails(2, &["--columns"]);
}

#[test]
fn the_page_on_predicates_is_help() {
    let folder = Folder::new();
    let page = folder.hyp("help where").ok();
    for part in ["like", "regexp", "is null", "cast", "Null"] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(folder.hyp("where").ok(), page);
}
