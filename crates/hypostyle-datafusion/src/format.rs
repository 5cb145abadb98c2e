//! A kind of file as a format of the engine.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::Session;
use datafusion::common::{GetExt, Result, Statistics, not_impl_err};
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::{FileFormat, FileFormatFactory};
use datafusion::datasource::physical_plan::{
    FileScanConfig, FileScanConfigBuilder, FileSinkConfig, FileSource,
};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::execution::memory_pool::MemoryLimit;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::physical_expr::LexRequirement;
use datafusion::physical_plan::ExecutionPlan;
use futures::{StreamExt, TryStreamExt};
use hypostyle::{FileKind, FormatId};
use object_store::{ObjectMeta, ObjectStore};

use crate::open_file::OpenFile;
use crate::options::{self, TableOptions};
use crate::sink::HypostyleSink;
use crate::source::HypostyleSource;
use crate::{schema, statistics};

/// The most memory of the scan of a partition: the default of the library.
const SCAN_MEMORY: u64 = 256 << 20;

/// All partitions of a scan have one part in so many of the memory of the engine, which needs it
/// for more than scans.
const ENGINE_MEMORY_SHARES: usize = 8;

/// The memory of the scan of a column file, if that of the engine has no limit. Partitions share
/// columns that fit in half of it; otherwise each one decompresses them for itself.
const COLUMN_FILE_MEMORY: u64 = 1 << 30;

/// A kind of file as a format of the engine: for listing tables, `CREATE EXTERNAL TABLE` and
/// `COPY … TO`.
#[derive(Clone, Debug)]
pub struct HypostyleFormat {
    kind: FileKind,
    options: Arc<TableOptions>,
    /// The extension of new files, if not the first one of the kind.
    extension: Option<&'static str>,
}

impl HypostyleFormat {
    /// Returns the format of a kind of files, with options.
    pub fn new(kind: FileKind, options: TableOptions) -> Self {
        Self { kind, options: Arc::new(options), extension: None }
    }

    /// Returns the kind of files.
    pub fn kind(&self) -> FileKind {
        self.kind
    }

    async fn open(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        object: &ObjectMeta,
    ) -> Result<Arc<OpenFile>> {
        let cache = state.runtime_env().cache_manager.get_file_metadata_cache();
        OpenFile::open_cached(store, object, self.kind, &self.options, Some(&cache)).await
    }
}

#[async_trait]
impl FileFormat for HypostyleFormat {
    /// Returns the extension of new files. That of an archive tells the text in it.
    fn get_ext(&self) -> String {
        let first = self.kind.extensions().first().copied();
        let extension = self.extension.or(first).unwrap_or(self.kind.name());
        if self.kind.id() != FormatId::At1 {
            return extension.to_owned();
        }
        let text = self.options.archived_text.unwrap_or(FormatId::Csv);
        format!("{text}.{extension}")
    }

    fn get_ext_with_compression(&self, compression: &FileCompressionType) -> Result<String> {
        if compression.is_compressed() {
            return not_impl_err!("{} files compress themselves", self.kind.name());
        }
        Ok(self.get_ext())
    }

    fn compression_type(&self) -> Option<FileCompressionType> {
        None
    }

    async fn infer_schema(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        objects: &[ObjectMeta],
    ) -> Result<SchemaRef> {
        let concurrency = state.config_options().execution.meta_fetch_concurrency.get();
        // A scan of text uses all threads by itself.
        let concurrency = if self.kind.is_text() { 1 } else { concurrency };
        let mut objects: Vec<&ObjectMeta> = objects.iter().collect();
        objects.sort_by(|one, other| one.location.cmp(&other.location));
        let files: Vec<Arc<OpenFile>> = futures::stream::iter(objects)
            .map(|object| self.open(state, store, object))
            .boxed() // the compiler does not see that the futures are `Send` otherwise
            .buffered(concurrency)
            .try_collect()
            .await?;
        schema::of_open_files(&files)
    }

    async fn infer_stats(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        table_schema: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<Statistics> {
        let file = self.open(state, store, object).await?;
        Ok(statistics::of_file(&file, &table_schema))
    }

    async fn create_physical_plan(
        &self,
        state: &dyn Session,
        config: FileScanConfig,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let runtime = state.runtime_env();
        let memory = match runtime.memory_pool.memory_limit() {
            MemoryLimit::Finite(limit) => {
                let partitions = state.config_options().execution.target_partitions;
                let shares = partitions.saturating_mul(ENGINE_MEMORY_SHARES).max(1);
                Some(SCAN_MEMORY.min((limit / shares) as u64))
            }
            _ => self.kind.is_column_file().then_some(COLUMN_FILE_MEMORY),
        };
        let source = config.file_source().downcast_ref::<HypostyleSource>().cloned();
        let config = match source {
            Some(source) => {
                let cache = runtime.cache_manager.get_file_metadata_cache();
                let source = source
                    .with_metadata_cache(cache)
                    .with_memory(memory)
                    .with_memory_pool(runtime.memory_pool.clone());
                FileScanConfigBuilder::from(config).with_source(Arc::new(source)).build()
            }
            None => config,
        };
        Ok(DataSourceExec::from_data_source(config))
    }

    async fn create_writer_physical_plan(
        &self,
        input: Arc<dyn ExecutionPlan>,
        _: &dyn Session,
        config: FileSinkConfig,
        order: Option<LexRequirement>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if config.insert_op != InsertOp::Append {
            return not_impl_err!("only new files can be written: neither OVERWRITE nor REPLACE");
        }
        let sink = HypostyleSink::new(self.kind, self.options.clone(), config);
        Ok(Arc::new(DataSinkExec::new(input, Arc::new(sink), order)))
    }

    fn file_source(&self, table_schema: TableSchema) -> Arc<dyn FileSource> {
        Arc::new(HypostyleSource::new(self.kind, self.options.clone(), table_schema))
    }
}

/// Makes formats of one kind of files, from the options of a statement.
#[derive(Clone)]
pub struct HypostyleFormatFactory {
    kind: FileKind,
    name: String,
}

impl HypostyleFormatFactory {
    /// Returns the factory of a kind of files, under a name or an extension.
    pub fn new(kind: FileKind, name: &str) -> Self {
        Self { kind, name: name.to_owned() }
    }

    fn format(&self, options: TableOptions) -> HypostyleFormat {
        let mut extensions = self.kind.extensions().iter().copied();
        let extension = extensions.find(|extension| *extension == self.name);
        HypostyleFormat { extension, ..HypostyleFormat::new(self.kind, options) }
    }
}

impl FileFormatFactory for HypostyleFormatFactory {
    fn create(
        &self,
        _: &dyn Session,
        settings: &HashMap<String, String>,
    ) -> Result<Arc<dyn FileFormat>> {
        let options = TableOptions::try_new(settings)?;
        options::check(self.kind, &options)?;
        Ok(Arc::new(self.format(options)))
    }

    fn default(&self) -> Arc<dyn FileFormat> {
        Arc::new(self.format(TableOptions::default()))
    }
}

impl GetExt for HypostyleFormatFactory {
    fn get_ext(&self) -> String {
        self.name.clone()
    }
}

impl fmt::Debug for HypostyleFormatFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())
    }
}
