//! What a scan reads and skips, and what the plan says about it.

use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::Int64Type;
use datafusion::prelude::{SessionConfig, SessionContext};
use hypostyle_datafusion::FileTables;

use crate::counting::CountingStore;
use crate::session::{run, session, session_with, table};

/// The formats that store tables of numbers and text.
const FORMATS: [(&str, &str); 5] = [
    ("COLM", "colm"),
    ("COLF", "colf"),
    ("CLMN", "clmn"),
    ("AT1", "csv.at1"),
    ("ONPAIR", "onpair"),
];

/// Writes a table with columns of different sizes, and returns the size of its file.
pub(crate) async fn big_table(
    ctx: &SessionContext,
    store: &CountingStore,
    format: (&str, &str),
) -> u64 {
    let (name, extension) = format;
    let options = if name == "AT1" { "OPTIONS (rows_per_group 2000)" } else { "" };
    let copy = format!(
        "COPY (SELECT value::int AS id, (value / 1000)::int AS part, \
               (value * 7919 % 1000003)::varchar || '-' || (value * 104729 % 999983) AS hash, \
               'note ' || (value % 10) AS note \
         FROM generate_series(0, 99999) ORDER BY value) \
         TO 'count://files/t.{extension}' {options}"
    );
    run(ctx, &copy).await;
    let create = format!(
        "CREATE EXTERNAL TABLE t STORED AS {name} LOCATION 'count://files/t.{extension}' \
         OPTIONS (read_cost 1024)"
    );
    run(ctx, &create).await;
    let size = store.content(&format!("t.{extension}")).await.len() as u64;
    store.take();
    size
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_projection_reads_only_its_columns() {
    for format in FORMATS {
        let ctx = session();
        let store = CountingStore::register(&ctx);
        let size = big_table(&ctx, &store, format).await;
        let (all, _) = {
            run(&ctx, "SELECT * FROM t").await;
            store.take()
        };
        // Partitions of an archive read its dictionaries, each on its own.
        assert!(all <= size + size / 10, "{format:?}: all columns read {all} of {size} bytes");
        run(&ctx, "SELECT note FROM t").await;
        let (note, _) = store.take();
        run(&ctx, "SELECT hash FROM t").await;
        let (hash, _) = store.take();
        assert!(note * 3 < hash, "{format:?}: {note} and {hash} of {size} bytes");
        assert!(note + hash <= size, "{format:?}: {note} and {hash} of {size} bytes");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_come_from_metadata() {
    for format in FORMATS {
        let ctx = session();
        let store = CountingStore::register(&ctx);
        big_table(&ctx, &store, format).await;
        let found = run(&ctx, "SELECT count(*) FROM t").await;
        assert_eq!(found[0].column(0).as_primitive::<Int64Type>().value(0), 100_000);
        assert_eq!(store.take(), (0, 0), "{format:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn minima_and_maxima_come_from_exact_statistics() {
    let ctx = session();
    let store = CountingStore::register(&ctx);
    big_table(&ctx, &store, ("AT1", "csv.at1")).await;
    let found = table(&ctx, "SELECT min(id), max(id), max(part) FROM t").await;
    assert!(found.contains("| 0         | 99999     | 99          |"), "{found}");
    assert_eq!(store.take(), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_predicate_skips_row_groups_before_anything_is_fetched() {
    let format = ("AT1", "csv.at1");
    for where_clause in ["id BETWEEN 50000 AND 50010", "part = 77", "part < 3 AND note > 'note 5'"]
    {
        let ctx = session();
        let store = CountingStore::register(&ctx);
        big_table(&ctx, &store, format).await;
        run(&ctx, "SELECT id, part, hash FROM t").await;
        let (all, _) = store.take();
        let rows = run(&ctx, &format!("SELECT id, part, hash FROM t WHERE {where_clause}")).await;
        let (some, _) = store.take();
        assert!(rows.iter().map(|batch| batch.num_rows()).sum::<usize>() > 0, "{where_clause}");
        assert!(some * 3 < all, "{format:?} {where_clause}: {some} of {all} bytes");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_fetched_twice_by_partitions() {
    for format in FORMATS {
        let ctx = session_with(SessionConfig::new().with_target_partitions(8));
        let store = CountingStore::register(&ctx);
        run(&ctx, "SET datafusion.optimizer.repartition_file_min_size = 100").await;
        let size = big_table(&ctx, &store, format).await;
        let plan = table(&ctx, "EXPLAIN SELECT hash, count(*) FROM t GROUP BY hash").await;
        assert!(plan.contains("8 groups") || plan.contains("file_groups={8"), "{plan}");
        run(&ctx, "SELECT hash, count(*) FROM t GROUP BY hash").await;
        let (read, _) = store.take();
        assert!(read <= size, "{format:?}: {read} of {size} bytes");
        run(&ctx, "SELECT id, note FROM t WHERE hash = '7919-104729'").await;
        let (read, _) = store.take();
        assert!(read <= size + size / 10, "{format:?}: {read} of {size} bytes");
        let found = run(&ctx, "SELECT count(DISTINCT id) FROM t").await;
        assert_eq!(found[0].column(0).as_primitive::<Int64Type>().value(0), 100_000);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_stops_early() {
    let ctx = session_with(SessionConfig::new().with_target_partitions(1));
    let store = CountingStore::register(&ctx);
    let size = big_table(&ctx, &store, ("AT1", "csv.at1")).await;
    run(&ctx, "SELECT * FROM t LIMIT 5").await;
    let (read, _) = store.take();
    assert!(read * 4 < size, "{read} of {size} bytes");
    let plan = table(&ctx, "EXPLAIN SELECT * FROM t WHERE id > 10 LIMIT 5").await;
    assert!(plan.contains("limit=5") && plan.contains("predicate=id@0 > 10"), "{plan}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exact_filters_leave_the_plan_and_others_stay() {
    let ctx = session();
    let store = CountingStore::register(&ctx);
    big_table(&ctx, &store, ("AT1", "csv.at1")).await;
    for (filter, is_exact) in [
        ("id = 5", true),
        ("id > 5 AND note LIKE 'note 1%'", true),
        ("NOT (id IN (1, 2) OR note IS NULL)", true),
        ("id BETWEEN 4 AND 9 OR part <> 3", true),
        ("note ILIKE 'NOTE 1%'", true),
        ("note ILIKE '%S 1' OR note LIKE '\\_%'", false),
        ("id + 1 > 5 AND 10 - id <> 3", true),
        ("id - 1 = 5 OR id + part < 3", false),
        ("id % 7 = 3", false),
        ("id = 5 AND id % 7 = 3", false),
        ("length(note) = 3", false),
    ] {
        let plan = table(&ctx, &format!("EXPLAIN SELECT hash FROM t WHERE {filter}")).await;
        assert_eq!(!plan.contains("FilterExec"), is_exact, "{filter}\n{plan}");
    }
    // The part that can be translated still skips row groups.
    let plan = table(&ctx, "EXPLAIN ANALYZE SELECT hash FROM t WHERE id < 99 AND id % 7 = 3").await;
    let pruned = metric(&plan, "row_groups_pruned");
    assert!(pruned > 0.0, "{plan}");
    assert!(metric(&plan, "bytes_scanned") < metric(&plan, "file_bytes"), "{plan}");
    let plan = table(&ctx, "EXPLAIN ANALYZE SELECT hash FROM t WHERE id - 50 < 99").await;
    assert!(metric(&plan, "row_groups_read") <= 1.0, "{plan}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filters_that_the_query_finds_skip_row_groups() {
    let ctx = session_with(SessionConfig::new().with_target_partitions(1));
    let store = CountingStore::register(&ctx);
    big_table(&ctx, &store, ("AT1", "csv.at1")).await;
    let plan = table(&ctx, "EXPLAIN ANALYZE SELECT id, hash FROM t ORDER BY id LIMIT 3").await;
    assert!(metric(&plan, "row_groups_pruned") > 0.0, "{plan}");
    let join = "SELECT t.hash FROM t JOIN (VALUES (3), (5)) AS v(k) ON t.id = v.k";
    let plan = table(&ctx, &format!("EXPLAIN ANALYZE {join}")).await;
    assert!(metric(&plan, "row_groups_pruned") > 0.0, "{plan}");
    assert_eq!(run(&ctx, join).await.iter().map(|batch| batch.num_rows()).sum::<usize>(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_is_fetched_once_for_all_statements() {
    let ctx = FileTables::default().enable(session()).unwrap();
    let store = CountingStore::register(&ctx);
    let text = (0..20_000).fold("id,name\n".to_owned(), |text, id| text + &format!("{id},n{id}\n"));
    store.add("t.csv", text.clone().into_bytes()).await;
    let sum = "SELECT sum(id) AS s FROM 'count://files/t.csv'";
    assert!(table(&ctx, sum).await.contains("199990000"));
    let (read, _) = store.take();
    assert!((text.len() as u64..text.len() as u64 + (64 << 10)).contains(&read), "{read}");
    assert!(table(&ctx, sum).await.contains("199990000"));
    assert_eq!(store.take(), (0, 0));
}

/// Returns the number of a metric in a plan, such as `bytes_scanned=1.5 K`.
fn metric(plan: &str, name: &str) -> f64 {
    let found = plan.split(&format!("{name}=")).nth(1).unwrap_or_else(|| panic!("{name}: {plan}"));
    let text: String = found.chars().take_while(|c| *c != ',' && *c != ']').collect();
    let (number, unit) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    let scale = match unit {
        "" | "B" => 1.0,
        "K" | "KB" => 1e3,
        "M" | "MB" => 1e6,
        other => panic!("{other}"),
    };
    number.parse::<f64>().unwrap() * scale
}
