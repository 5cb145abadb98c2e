//! The competitors: sessions of DataFusion over one kind of files, and DuckDB.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use hypostyle::FileKind;
use tokio::runtime::{Builder, Runtime};

use super::duckdb::DuckDb;
use super::files::{Kind, TableFiles};
use super::rows::Rows;
use crate::Result;
use crate::measure::{self, Cost};

/// A competitor.
pub(super) struct Contender {
    name: &'static str,
    runs: Runs,
}

enum Runs {
    Engine(Engine),
    DuckDb(DuckDb),
}

impl From<Engine> for Runs {
    fn from(engine: Engine) -> Self {
        Self::Engine(engine)
    }
}

impl From<DuckDb> for Runs {
    fn from(process: DuckDb) -> Self {
        Self::DuckDb(process)
    }
}

#[expect(private_bounds, reason = "only this module makes a `Runs`")]
impl Contender {
    pub(super) fn new(name: &'static str, runs: impl Into<Runs>) -> Self {
        Self { name, runs: runs.into() }
    }

    fn run(&mut self, sql: &str) -> Result<(Cost, Rows)> {
        match &mut self.runs {
            Runs::DuckDb(process) => process.run(sql),
            Runs::Engine(engine) => {
                let (cost, batches) = measure::once(|| engine.run(sql));
                Ok((cost, Rows::of_batches(&batches?)?))
            }
        }
    }
}

/// The best costs of a competitor, one for each query.
pub(super) struct Times {
    pub(super) name: &'static str,
    pub(super) costs: Vec<Cost>,
}

/// Runs queries on all competitors in turn.
///
/// # Errors
///
/// A query fails, or two competitors return different rows.
pub(super) fn compare<'a>(
    contenders: &mut [Contender],
    queries: impl Iterator<Item = (&'a str, &'a str)>,
    rounds: usize,
) -> Result<Vec<Times>> {
    let new = |contender: &Contender| Times { name: contender.name, costs: Vec::new() };
    let mut all: Vec<Times> = contenders.iter().map(new).collect();
    for (name, sql) in queries {
        eprintln!("{name}");
        let mut expected: Option<(&'static str, Rows)> = None;
        for times in &mut all {
            times.costs.push(Cost::MAX);
        }
        for _ in 0..rounds {
            for (contender, times) in contenders.iter_mut().zip(&mut all) {
                let ran = contender.run(sql);
                let (cost, rows) =
                    ran.map_err(|err| format!("{name}, {}: {err}", contender.name))?;
                if let Some(best) = times.costs.last_mut() {
                    *best = best.min(cost);
                }
                let (first, expected) = expected.get_or_insert((contender.name, rows.clone()));
                if let Some(difference) = expected.difference(&rows) {
                    let other = contender.name;
                    return Err(format!("{name}: {first} and {other} return {difference}").into());
                }
            }
        }
    }
    Ok(all)
}

/// A session of DataFusion.
pub(super) struct Engine {
    ctx: SessionContext,
    runtime: Runtime,
}

impl Engine {
    /// Opens a session with tables of one kind of files.
    pub(super) fn open(tables: &[&TableFiles], kind: Kind, threads: usize) -> Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
        let config = SessionConfig::new().with_target_partitions(threads);
        let ctx = SessionContext::new_with_config(config);
        if kind != Kind::Parquet {
            let ours = FileKind::all().filter(|kind| kind.name() != "parquet");
            hypostyle_datafusion::register_kinds(&ctx, ours)?;
        }
        let engine = Self { ctx, runtime };
        for table in tables {
            engine.runtime.block_on(engine.register(table, kind))?;
        }
        Ok(engine)
    }

    async fn register(&self, table: &TableFiles, kind: Kind) -> Result<()> {
        let (name, path) = (&table.name, table.path(kind));
        let path = path.to_str().ok_or("the path of a table is not text")?;
        match kind {
            Kind::Parquet => {
                self.ctx.register_parquet(name, path, ParquetReadOptions::default()).await?;
            }
            Kind::At1 | Kind::Colf | Kind::Csv => {
                let format = kind.extension().to_ascii_uppercase();
                let sql =
                    format!("CREATE EXTERNAL TABLE {name} STORED AS {format} LOCATION '{path}'");
                self.ctx.sql(&sql).await?;
            }
        }
        Ok(())
    }

    /// Gives columns that a format stores as text the types that a table has elsewhere.
    pub(super) fn cast_to(&self, table: &str, types: &Schema) -> Result<()> {
        self.runtime.block_on(async {
            let file = self.ctx.table_provider(table).await?;
            let mut columns = Vec::new();
            for field in file.schema().fields() {
                let name = field.name();
                let of = types.field_with_name(name)?.data_type();
                columns.push(match field.data_type() == of {
                    true => format!("\"{name}\""),
                    false => format!("arrow_cast(\"{name}\", '{of}') as \"{name}\""),
                });
            }
            self.ctx.deregister_table(table)?;
            let of_file = format!("{table}_file");
            self.ctx.register_table(&of_file, file)?;
            let columns = columns.join(", ");
            self.ctx
                .sql(&format!("CREATE VIEW {table} AS SELECT {columns} FROM {of_file}"))
                .await?;
            Ok(())
        })
    }

    fn run(&self, sql: &str) -> Result<Vec<RecordBatch>> {
        Ok(self.runtime.block_on(async { self.ctx.sql(sql).await?.collect().await })?)
    }
}

/// Returns a schema without dictionaries and metadata.
pub(super) fn plain(schema: &Schema) -> Schema {
    let field = |field: &Arc<Field>| {
        let of = match field.data_type() {
            DataType::Dictionary(_, values) => (**values).clone(),
            other => other.clone(),
        };
        Field::new(field.name(), of, true)
    };
    Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>())
}
