//! Tables of damaged, compressed and vanishing files, and writing that fails.

use std::fs::{self, File};
use std::io::Write;
use std::sync::Arc;

use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::Int64Type;
use datafusion::execution::memory_pool::{FairSpillPool, MemoryPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::StreamExt;
use hypostyle::FileKind;

use crate::counting::CountingStore;
use crate::pushdown::big_table;
use crate::session::{error, run, session, table};

async fn count(ctx: &SessionContext, from: &str) -> i64 {
    let found = run(ctx, &format!("SELECT count(*) FROM {from}")).await;
    found[0].column(0).as_primitive::<Int64Type>().value(0)
}

/// Writes two files of a kind, the second of which has a damaged block.
async fn with_damage(ctx: &SessionContext, store: &CountingStore, extension: &str) {
    for part in 1..=2 {
        let sql = format!(
            "COPY (SELECT 'row ' || value AS a, 'text ' || (value * 7919 % 10007) AS b \
             FROM generate_series(1, 20000)) TO 'count://files/d/p{part}.{extension}'"
        );
        run(ctx, &sql).await;
    }
    let name = format!("d/p2.{extension}");
    let mut content = store.content(&name).await;
    let middle = content.len() / 2;
    content[middle..middle + 64].fill(0x5a);
    store.add(&name, content).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_file_names_itself() {
    for format in ["COLM", "COLF", "CLMN", "ONPAIR", "AT1"] {
        let ctx = session();
        let store = CountingStore::register(&ctx);
        let extension = if format == "AT1" { "csv.at1" } else { &format.to_lowercase() };
        with_damage(&ctx, &store, extension).await;
        let create =
            format!("CREATE EXTERNAL TABLE t STORED AS {format} LOCATION 'count://files/d/'");
        let found = match ctx.sql(&create).await {
            Ok(_) => error(&ctx, "SELECT max(a), max(b) FROM t WHERE a <> b").await,
            Err(err) => err.to_string(),
        };
        assert!(found.contains(&format!("`d/p2.{extension}`")), "{format}: {found}");
        assert!(!found.contains("p1"), "{format}: {found}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damaged_row_groups_are_left_out_on_request() {
    let ctx = session();
    let store = CountingStore::register(&ctx);
    big_table(&ctx, &store, ("AT1", "csv.at1")).await;
    let mut content = store.content("t.csv.at1").await;
    let middle = content.len() * 4 / 5;
    content[middle..middle + 100].fill(0x5a);
    store.add("t.csv.at1", content).await;
    let found = error(&ctx, "SELECT max(id + 1), max(hash) FROM t").await;
    assert!(found.contains("`t.csv.at1`"), "{found}");
    run(&ctx, "DROP TABLE t").await;
    run(
        &ctx,
        "CREATE EXTERNAL TABLE t STORED AS AT1 LOCATION 'count://files/t.csv.at1' \
         OPTIONS (skip_damaged true)",
    )
    .await;
    let plan = table(&ctx, "EXPLAIN ANALYZE SELECT max(id + 1), max(hash) FROM t").await;
    assert!(!plan.contains("rows_damaged=0,"), "{plan}");
    let left = count(&ctx, "(SELECT * FROM t WHERE hash <> '' AND id >= 0)").await;
    assert!((50_000..100_000).contains(&left), "{left}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_vanishes_or_shrinks_is_an_error() {
    let ctx = session();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.colf");
    run(&ctx, &format!("COPY (SELECT 'a' AS a) TO '{}'", path.display())).await;
    run(&ctx, &format!("CREATE EXTERNAL TABLE t STORED AS COLF LOCATION '{}'", path.display()))
        .await;
    assert_eq!(count(&ctx, "t").await, 1);
    fs::write(&path, b"COLF").unwrap();
    let found = error(&ctx, "SELECT * FROM t").await;
    assert!(found.contains("t.colf`"), "{found}");
    fs::remove_file(&path).unwrap();
    // The engine lists files anew, and finds none.
    assert_eq!(run(&ctx, "SELECT * FROM t").await.len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compressed_text_is_the_same_table() {
    let ctx = session();
    let folder = tempfile::tempdir().unwrap();
    let text = (0..5000).fold("id,name\n".to_owned(), |text, id| text + &format!("{id},n{id}\n"));
    let mut gzip = flate2::write::GzEncoder::new(
        File::create(folder.path().join("t.csv.gz")).unwrap(),
        flate2::Compression::fast(),
    );
    gzip.write_all(text.as_bytes()).unwrap();
    gzip.finish().unwrap();
    let zstd = zstd::encode_all(text.as_bytes(), 1).unwrap();
    fs::write(folder.path().join("t.csv.zst"), zstd).unwrap();
    for name in ["t.csv.gz", "t.csv.zst"] {
        let path = folder.path().join(name);
        run(&ctx, &format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{}'", path.display()))
            .await;
        let found = table(&ctx, "SELECT count(*), sum(id), max(name) FROM t WHERE id >= 10").await;
        assert!(found.contains("| 4990     | 12497455  | n999"), "{name}: {found}");
        run(&ctx, "DROP TABLE t").await;
    }
    fs::write(folder.path().join("bad.csv.gz"), b"not gzip").unwrap();
    let path = folder.path().join("bad.csv.gz");
    let create = format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{}'", path.display());
    let found = error(&ctx, &create).await;
    assert!(found.contains("bad.csv.gz`"), "{found}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_that_fails_leaves_no_file() {
    for kind in FileKind::all().filter(|kind| kind.format().is_some()) {
        let ctx = session();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("t.{}", kind.extensions()[0]));
        // The last row cannot be cast, long after the first were written.
        let sql = format!(
            "COPY (SELECT 'k' || value AS k, \
                   CAST(CASE WHEN value = 99999 THEN 'x' ELSE '1' END AS INT) AS n \
             FROM generate_series(1, 99999)) TO '{}'",
            path.display()
        );
        let found = error(&ctx, &sql).await;
        assert!(found.contains("Cannot cast string 'x'"), "{kind}: {found}");
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert!(left.is_empty(), "{kind}: {left:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nested_columns_are_archived_as_json() {
    let ctx = session();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display();
    run(
        &ctx,
        &format!(
            "COPY (SELECT value AS id, make_array(value, value + 1) AS list, \
                   named_struct('a', value * 2, 'b', 'x' || value) AS pair \
             FROM generate_series(1, 1000)) TO '{path}/t.at1'"
        ),
    )
    .await;
    run(&ctx, &format!("CREATE EXTERNAL TABLE t STORED AS AT1 LOCATION '{path}/t.at1'")).await;
    let found =
        table(&ctx, "SELECT list[2] AS l, pair['a'] AS a FROM t WHERE pair['b'] = 'x7'").await;
    assert!(found.contains("| 8 | 14 |"), "{found}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_that_occur_twice_are_told_apart() {
    let ctx = session();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    fs::write(&path, "a,a,b\n1,2,3\n4,5,6\n").unwrap();
    run(&ctx, &format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{}'", path.display()))
        .await;
    let found = table(&ctx, "SELECT a, a_2, b FROM t WHERE a_2 = 5 AND a = 4").await;
    assert!(found.contains("| 4 | 5   | 6 |"), "{found}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_may_spell_values_in_their_own_ways() {
    let ctx = session();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display();
    let tables = [
        (
            "csv",
            [
                "id,price,at,ok,n\n1,1.50,2024-01-04T12:00:00,TRUE,NA\n2,-2.25,2024-01-05T00:00:00,FALSE,7\n",
                "id,price,at,ok,n\n3,1.125,2024-01-04 12:00:00.250,true,-\n4,10.000,2024-01-04 23:00:00.000,false,8\n",
                "id,price,at,ok,n\n5,7,2024-01-06,True,9\n",
            ],
        ),
        (
            "jsonl",
            [
                "{\"id\":1,\"price\":1.50,\"at\":\"2024-01-04T12:00:00\",\"ok\":true}\n\
             {\"id\":2,\"price\":-2.25,\"at\":\"2024-01-05T00:00:00\",\"ok\":false,\"n\":7}\n",
                "{\"id\":3,\"price\":1.125,\"at\":\"2024-01-04 12:00:00.250\",\"ok\":true}\n\
             {\"id\":4,\"price\":10.000,\"at\":\"2024-01-04 23:00:00.000\",\"ok\":false,\"n\":8}\n",
                "{\"id\":5,\"price\":7,\"at\":\"2024-01-06\",\"ok\":true,\"n\":9}\n",
            ],
        ),
    ];
    for (extension, texts) in tables {
        for (number, text) in texts.iter().enumerate() {
            fs::write(folder.path().join(format!("{number}.{extension}")), text).unwrap();
        }
        let create = format!("STORED AS {extension} LOCATION '{path}/*.{extension}'");
        run(&ctx, &format!("CREATE EXTERNAL TABLE {extension} {create}")).await;
        let found = table(
            &ctx,
            &format!(
                "SELECT sum(price) AS price, max(at) AS at, sum(n) AS n, count(*) AS rows, \
                 arrow_typeof(max(price)) AS of FROM {extension} \
                 WHERE at >= '2024-01-04T12:00:00.1' AND ok IN (true, false)"
            ),
        )
        .await;
        assert!(found.contains("| 15.875 | 2024-01-06T00:00:00 | 24 | 4    |"), "{found}");
        // Numbers of JSON are floats.
        let of = if extension == "csv" { "Decimal128(" } else { "Float64" };
        assert!(found.contains(of), "{found}");
    }
    // Nested values, and keys that only some files have.
    let [one, two] = [
        "{\"user\":{\"id\":1,\"seen\":\"2024-01-04T12:00:00\"},\"tags\":[\"a\"]}\n",
        "{\"user\":{\"seen\":\"2024-01-04 12:00\",\"name\":\"Ada\"},\"tags\":[]}\n",
    ];
    fs::write(folder.path().join("u1.ndjson"), one).unwrap();
    fs::write(folder.path().join("u2.ndjson"), two).unwrap();
    run(&ctx, &format!("CREATE EXTERNAL TABLE users STORED AS JSONL LOCATION '{path}/u*.ndjson'"))
        .await;
    let found = table(
        &ctx,
        "SELECT \"user\"['id'] AS id, \"user\"['name'] AS name, \"user\"['seen'] AS seen \
         FROM users ORDER BY id",
    )
    .await;
    assert!(found.contains("| 1  |      | 2024-01-04T12:00:00 |"), "{found}");
    assert!(found.contains("|    | Ada  | 2024-01-04T12:00:00 |"), "{found}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_may_have_any_extension_of_a_format() {
    let ctx = session();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display();
    run(&ctx, &format!("COPY (SELECT 1 AS a) TO '{path}/x.colfile' STORED AS COLM")).await;
    run(&ctx, &format!("COPY (SELECT 2 AS b) TO '{path}/x.csv'")).await;
    let create =
        |name: &str| format!("CREATE EXTERNAL TABLE {name} STORED AS COLM LOCATION '{path}/'");
    run(&ctx, &create("one")).await;
    assert_eq!(count(&ctx, "one").await, 1);
    // New files have the extension that the table reads.
    run(&ctx, "INSERT INTO one SELECT 2").await;
    assert_eq!(count(&ctx, "one").await, 2);
    run(&ctx, &format!("COPY (SELECT 3 AS a) TO '{path}/y.colm'")).await;
    run(&ctx, &create("both")).await;
    assert_eq!((count(&ctx, "one").await, count(&ctx, "both").await), (2, 3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scans_reserve_memory_of_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.colf");
    let copy = "COPY (SELECT value AS id, 'row number ' || value AS name \
                FROM generate_series(1, 300000)) TO";
    run(&session(), &format!("{copy} '{}'", path.display())).await;
    let limited = |bytes: usize| {
        let pool: Arc<dyn MemoryPool> = Arc::new(FairSpillPool::new(bytes));
        let runtime = RuntimeEnvBuilder::new().with_memory_pool(pool.clone()).build().unwrap();
        let config = SessionConfig::new().with_target_partitions(2);
        let ctx = SessionContext::new_with_config_rt(config, Arc::new(runtime));
        hypostyle_datafusion::register(&ctx).unwrap();
        (ctx, pool)
    };
    let create = format!("CREATE EXTERNAL TABLE t STORED AS COLF LOCATION '{}'", path.display());
    let (ctx, pool) = limited(32 << 20);
    run(&ctx, &create).await;
    let mut rows = ctx.sql("SELECT name FROM t").await.unwrap().execute_stream().await.unwrap();
    rows.next().await.unwrap().unwrap();
    let reserved = pool.reserved();
    assert!((256 << 10..=4 << 20).contains(&reserved), "{reserved}");
    drop(rows);
    // Work that the scan gave to another thread ends by itself.
    for _ in 0..1000 {
        if pool.reserved() == 0 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(pool.reserved(), 0);
    // What is sorted goes to temporary files.
    let sorted = "SELECT max(n) FROM (SELECT row_number() OVER (ORDER BY name DESC) AS n FROM t)";
    assert!(table(&ctx, sorted).await.contains("300000"));
    let (ctx, _) = limited(200 << 10);
    run(&ctx, &create).await;
    let found = error(&ctx, "SELECT name FROM t").await;
    assert!(found.contains("t.colf`") && found.contains("HypostyleScan"), "{found}");
}
