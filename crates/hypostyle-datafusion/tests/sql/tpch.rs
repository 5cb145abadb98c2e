//! The queries of TPC-H give the same rows over every format as over Parquet.

use std::fs::File;
use std::path::Path;

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::prelude::SessionContext;
use hypostyle_testkit::tpch;

use crate::database::rows_of;
use crate::session::{run, session};

const SCALE: f64 = 0.01;

/// The formats, each with its extension.
const FORMATS: [(&str, &str); 7] = [
    ("COLM", "colm"),
    ("COLF", "colf"),
    ("CLMN", "clmn"),
    ("AT1", "csv.at1"),
    ("ONPAIR", "onpair"),
    ("JSONL", "jsonl"),
    ("CSV", "csv"),
];

#[tokio::test]
async fn queries_of_tpch_give_the_rows_of_parquet() {
    let folder = tempfile::tempdir().unwrap();
    let parquet = session();
    for table in &tpch::TABLES {
        let (name, csv) = (table.name, folder.path().join(format!("{}.csv", table.name)));
        table.write_csv(SCALE, File::create(&csv).unwrap()).unwrap();
        let path = folder.path().join(format!("{name}.parquet"));
        let from = session();
        create(&from, name, "CSV", &csv).await;
        copy(&from, name, "PARQUET", &path).await;
        create(&parquet, name, "PARQUET", &path).await;
    }
    let queries = tpch::queries();
    let mut expected = Vec::new();
    for query in &queries {
        let rows: Vec<_> = run(&parquet, query.sql).await.iter().flat_map(rows_of).collect();
        assert!(!rows.is_empty(), "Q{} finds nothing to compare", query.number);
        expected.push(rows);
    }
    for (format, extension) in FORMATS {
        let ctx = session();
        for table in &tpch::TABLES {
            let path = folder.path().join(format!("{}.{extension}", table.name));
            if !path.exists() {
                copy(&parquet, table.name, format, &path).await;
            }
            let file = format!("{}_file", table.name);
            create(&ctx, &file, format, &path).await;
            let types = parquet.table(table.name).await.unwrap();
            cast(&ctx, &file, table.name, types.schema().as_arrow()).await;
        }
        for (query, expected) in queries.iter().zip(&expected) {
            let rows: Vec<_> = run(&ctx, query.sql).await.iter().flat_map(rows_of).collect();
            assert_eq!(&rows, expected, "Q{} over {format}", query.number);
        }
    }
}

async fn create(ctx: &SessionContext, table: &str, format: &str, path: &Path) {
    let path = path.display();
    run(ctx, &format!("CREATE EXTERNAL TABLE {table} STORED AS {format} LOCATION '{path}'")).await;
}

async fn copy(ctx: &SessionContext, table: &str, format: &str, path: &Path) {
    run(ctx, &format!("COPY {table} TO '{}' STORED AS {format}", path.display())).await;
}

/// Makes a view of a file with types that its format may not have, such as dates.
async fn cast(ctx: &SessionContext, file: &str, view: &str, types: &Schema) {
    let stored = ctx.table(file).await.unwrap();
    let mut columns = Vec::new();
    for field in stored.schema().fields() {
        let (name, of) = (field.name(), field.data_type());
        let wanted = types.field_with_name(name).unwrap().data_type();
        let is_text = |of: &DataType| match of {
            DataType::Dictionary(_, values) => values.is_string(),
            of => of.is_string(),
        };
        columns.push(match of == wanted || (is_text(of) && is_text(wanted)) {
            true => name.clone(),
            false => format!("arrow_cast({name}, '{wanted}') AS {name}"),
        });
    }
    let columns = columns.join(", ");
    run(ctx, &format!("CREATE VIEW {view} AS SELECT {columns} FROM {file}")).await;
}
