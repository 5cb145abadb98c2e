//! Runs a query on a file, as the table `t`: `query flights.csv.at1 "select count(*) from t"`.

use datafusion::error::{DataFusionError, Result};
use datafusion::prelude::SessionContext;

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, query] = arguments.as_slice() else {
        return Err(DataFusionError::Configuration("FILE SQL".to_owned()));
    };
    let format = path.rsplit('.').next().unwrap_or_default();

    let ctx = SessionContext::new();
    hypostyle_datafusion::register(&ctx)?; // the one line that a program adds

    ctx.sql(&format!("CREATE EXTERNAL TABLE t STORED AS {format} LOCATION '{path}'")).await?;
    ctx.sql(query).await?.show().await
}
