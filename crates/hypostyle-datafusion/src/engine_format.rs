//! A format of the engine, with the rules of ours: files whose schemas differ are one table, and
//! errors name their file.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::Session;
use datafusion::common::{DataFusionError, Result, Statistics};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::physical_plan::{
    FileScanConfig, FileScanConfigBuilder, FileSinkConfig, FileSource,
};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::physical_expr::{LexOrdering, LexRequirement};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_datasource::file_format::FileMeta;
use futures::{StreamExt, TryStreamExt};
use object_store::{ObjectMeta, ObjectStore};

use crate::engine_source::EngineSource;
use crate::file_error::FileError;
use crate::schema::{self, FileColumns};

/// A format of the engine.
pub(crate) struct EngineFormat(Arc<dyn FileFormat>);

impl EngineFormat {
    pub(crate) fn new(format: Arc<dyn FileFormat>) -> Self {
        Self(format)
    }
}

impl fmt::Debug for EngineFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[async_trait]
impl FileFormat for EngineFormat {
    fn get_ext(&self) -> String {
        self.0.get_ext()
    }

    fn get_ext_with_compression(&self, compression: &FileCompressionType) -> Result<String> {
        self.0.get_ext_with_compression(compression)
    }

    fn compression_type(&self) -> Option<FileCompressionType> {
        self.0.compression_type()
    }

    async fn infer_schema(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        objects: &[ObjectMeta],
    ) -> Result<SchemaRef> {
        let concurrency = state.config_options().execution.meta_fetch_concurrency.get();
        let schemas: Vec<SchemaRef> = futures::stream::iter(objects)
            .map(|object| async move {
                let schema = self.0.infer_schema(state, store, std::slice::from_ref(object)).await;
                schema.map_err(|err| DataFusionError::from(FileError::new(&object.location, err)))
            })
            .boxed() // the compiler does not see that the futures are `Send` otherwise
            .buffered(concurrency)
            .try_collect()
            .await?;
        schema::merged(objects.iter().zip(&schemas).map(|(object, schema)| FileColumns {
            location: &object.location,
            schema,
            is_null: &|_| false,
        }))
    }

    async fn infer_stats(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        table_schema: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<Statistics> {
        self.0.infer_stats(state, store, table_schema, object).await
    }

    async fn infer_ordering(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        table_schema: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<Option<LexOrdering>> {
        self.0.infer_ordering(state, store, table_schema, object).await
    }

    async fn infer_stats_and_ordering(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        table_schema: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<FileMeta> {
        self.0.infer_stats_and_ordering(state, store, table_schema, object).await
    }

    async fn create_physical_plan(
        &self,
        state: &dyn Session,
        config: FileScanConfig,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = self.0.create_physical_plan(state, config).await?;
        let scan = plan.downcast_ref::<DataSourceExec>().map(DataSourceExec::data_source);
        let Some(config) = scan.and_then(|scan| scan.downcast_ref::<FileScanConfig>()) else {
            return Ok(plan);
        };
        let source = Arc::new(EngineSource::new(config.file_source().clone()));
        let config = FileScanConfigBuilder::from(config.clone()).with_source(source).build();
        Ok(DataSourceExec::from_data_source(config))
    }

    async fn create_writer_physical_plan(
        &self,
        input: Arc<dyn ExecutionPlan>,
        state: &dyn Session,
        config: FileSinkConfig,
        order: Option<LexRequirement>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.0.create_writer_physical_plan(input, state, config, order).await
    }

    /// Returns the source of the engine, which its format expects in the configuration of a scan.
    fn file_source(&self, table_schema: TableSchema) -> Arc<dyn FileSource> {
        self.0.file_source(table_schema)
    }
}
