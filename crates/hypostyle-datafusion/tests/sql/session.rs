//! Sessions, and results as text.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use hypostyle::FileKind;

/// Returns a session that knows all kinds of files, and sees files that are written meanwhile.
pub(crate) fn session() -> SessionContext {
    session_with(SessionConfig::new().with_target_partitions(3))
}

pub(crate) fn session_with(config: SessionConfig) -> SessionContext {
    let runtime = RuntimeEnvBuilder::new().with_object_list_cache_limit(0).build().unwrap();
    let ctx = SessionContext::new_with_config_rt(config, Arc::new(runtime));
    hypostyle_datafusion::register(&ctx).unwrap();
    let text = FileKind::all().filter(|kind| kind.is_text());
    hypostyle_datafusion::register_kinds(&ctx, text).unwrap();
    ctx
}

pub(crate) async fn run(ctx: &SessionContext, sql: &str) -> Vec<RecordBatch> {
    let frame = ctx.sql(sql).await.unwrap_or_else(|err| panic!("{sql}: {err}"));
    frame.collect().await.unwrap_or_else(|err| panic!("{sql}: {err}"))
}

/// Returns the error of a statement.
pub(crate) async fn error(ctx: &SessionContext, sql: &str) -> String {
    match ctx.sql(sql).await {
        Err(err) => err.to_string(),
        Ok(frame) => frame.collect().await.expect_err(sql).to_string(),
    }
}

/// Returns the result of a query as a table of text.
pub(crate) async fn table(ctx: &SessionContext, sql: &str) -> String {
    pretty_format_batches(&run(ctx, sql).await).unwrap().to_string()
}
