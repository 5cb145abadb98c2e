//! Files as tables by their names: `SELECT * FROM 'flights.csv.at1'`.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::DataType;
use datafusion::catalog::{DynamicFileCatalog, TableProvider, UrlTableFactory};
use datafusion::common::{DataFusionError, Result, plan_err};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::execution::SessionState;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use hypostyle::{Compression, FileKind, FormatId};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore};
use tokio::sync::OnceCell;

use crate::engine_format::EngineFormat;
use crate::file_error::FileError;
use crate::format::HypostyleFormat;
use crate::open_file::blocking;
use crate::options::TableOptions;
use crate::store_source::StoreSource;
use crate::table_url;

/// Makes files, folders and globs tables of a session, by their names in quotes.
///
/// The kind of a file is found by its extension, or by its content if it has none that is known.
/// All files of a folder or glob must be of one kind; those of no known kind are left out.
///
/// ```
/// # use datafusion::prelude::SessionContext;
/// # use hypostyle_datafusion::FileTables;
/// # #[tokio::main] async fn main() -> datafusion::error::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().display();
/// let ctx = FileTables::default().enable(SessionContext::new())?;
/// ctx.sql(&format!("COPY (SELECT 1 AS id) TO '{path}/t.colf'")).await?.collect().await?;
/// let found = ctx.sql(&format!("SELECT id FROM '{path}/*.colf'")).await?.collect().await?;
/// assert_eq!(found[0].num_rows(), 1);
/// # Ok(()) }
/// ```
#[derive(Clone, Default)]
pub struct FileTables {
    options: TableOptions,
    kind: Option<FileKind>,
    on_damage: Option<Arc<OnDamage>>,
    on_url: Option<Arc<OnUrl>>,
}

/// Is told about each file that is left out, and why.
type OnDamage = dyn Fn(&str) + Send + Sync;

/// Is told about each URL that names a table.
type OnUrl = dyn Fn(&str) -> Result<()> + Send + Sync;

impl FileTables {
    /// Sets how files are read.
    #[must_use]
    pub fn with_options(mut self, options: TableOptions) -> Self {
        self.options = options;
        self
    }

    /// Takes all files for this kind, whatever their names.
    #[must_use]
    pub fn with_kind(mut self, kind: Option<FileKind>) -> Self {
        self.kind = kind;
        self
    }

    /// Leaves out files that cannot be opened, and calls `report` with the reason.
    #[must_use]
    pub fn skip_damaged(mut self, report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.on_damage = Some(Arc::new(report));
        self
    }

    /// Calls `prepare` with each URL that names a table, before its store is asked for; an error
    /// fails the query.
    ///
    /// Of the URL of a file on an HTTP server, a store only gets the path. `prepare` gets the query
    /// too, which may be a signature.
    #[must_use]
    pub fn on_url(mut self, prepare: impl Fn(&str) -> Result<()> + Send + Sync + 'static) -> Self {
        self.on_url = Some(Arc::new(prepare));
        self
    }

    /// Returns the session with files as tables, and with all kinds of files registered.
    ///
    /// A statement can then read and write every file that the process can.
    ///
    /// # Errors
    ///
    /// Fails if a format cannot be registered.
    pub fn enable(self, ctx: SessionContext) -> Result<SessionContext> {
        let catalogs = ctx.state_ref().read().catalog_list().clone();
        let factory = Arc::new(FileTableFactory { tables: self, session: OnceCell::new() });
        let catalogs = Arc::new(DynamicFileCatalog::new(catalogs, factory.clone()));
        let id = ctx.session_id();
        let builder = ctx.into_state_builder().with_session_id(id).with_catalog_list(catalogs);
        let ctx: SessionContext = builder.build().into();
        // Parquet is the engine's own.
        let ours = FileKind::all().filter(|kind| kind.id() != FormatId::Parquet);
        crate::register_kinds(&ctx, ours)?;
        let state = ctx.state_weak_ref();
        let get: Arc<GetState> = Arc::new(move || {
            let state = state.upgrade()?;
            let state = state.read().clone();
            Some(state)
        });
        // OK because the cell is new.
        let _ = factory.session.set(get);
        Ok(ctx)
    }
}

impl fmt::Debug for FileTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileTables").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// Returns the state of the session that a factory belongs to.
type GetState = dyn Fn() -> Option<SessionState> + Send + Sync;

struct FileTableFactory {
    tables: FileTables,
    session: OnceCell<Arc<GetState>>,
}

impl fmt::Debug for FileTableFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tables.fmt(f)
    }
}

#[async_trait]
impl UrlTableFactory for FileTableFactory {
    async fn try_new(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let state = self.session.get().and_then(|state| state());
        let (Some(state), true) = (state, looks_like_file(name)) else { return Ok(None) };
        if let (Some(prepare), true) = (&self.tables.on_url, table_url::is_url(name)) {
            prepare(name)?;
        }
        let named = NamedFiles::list(&state, name).await?;
        Ok(Some(self.tables.table(&state, named).await?))
    }
}

/// Returns whether a name that no table has is that of a file.
fn looks_like_file(name: &str) -> bool {
    name.contains(['.', '/', '*', '?', std::path::MAIN_SEPARATOR])
        || std::path::Path::new(name).exists()
}

/// The files that a name stands for.
struct NamedFiles {
    name: String,
    url: ListingTableUrl,
    store: Arc<dyn ObjectStore>,
    files: Vec<ObjectMeta>,
}

impl NamedFiles {
    async fn list(state: &SessionState, name: &str) -> Result<Self> {
        let url = table_url::parse(name)?;
        let name = &table_url::without_secrets(name);
        let store = state.runtime_env().object_store(&url)?;
        let mut files = match list(state, &url, store.as_ref()).await {
            Ok(files) => files,
            Err(err) if is_not_found(&err) => Vec::new(),
            Err(err) => return Err(err),
        };
        if url.is_collection() {
            files.retain(|file| !is_hidden(&file.location, url.prefix()));
        }
        files.sort_by(|one, other| one.location.cmp(&other.location));
        if files.is_empty() {
            let what = if url.is_collection() { "has no files" } else { "no such file" };
            return plan_err!("`{name}`: {what}");
        }
        Ok(Self { name: name.to_owned(), url, store, files })
    }
}

async fn list(
    state: &SessionState,
    url: &ListingTableUrl,
    store: &dyn ObjectStore,
) -> Result<Vec<ObjectMeta>> {
    url.list_all_files(state, store, "").await?.try_collect().await
}

fn is_not_found(err: &DataFusionError) -> bool {
    match err {
        DataFusionError::ObjectStore(cause) => {
            matches!(**cause, object_store::Error::NotFound { .. })
        }
        _ => false,
    }
}

/// Returns whether a file below a folder is none of the data: `.tmp`, `_SUCCESS`.
fn is_hidden(location: &Path, folder: &Path) -> bool {
    let parts = location.prefix_match(folder);
    parts.is_some_and(|mut parts| {
        parts.any(|part| part.as_ref().starts_with(['.', '_']) && !part.as_ref().contains('='))
    })
}

impl FileTables {
    async fn table(
        &self,
        state: &SessionState,
        named: NamedFiles,
    ) -> Result<Arc<dyn TableProvider>> {
        let NamedFiles { name, url, store, files } = named;
        let total = files.len();
        let (kind, mut files) = self.files_of_one_kind(&name, &store, files).await?;
        let is_compressed =
            files.iter().any(|file| Compression::of_name(file_name(&file.location)).is_some());
        let format: Arc<dyn FileFormat> = match kind.id() {
            FormatId::Parquet if !is_compressed => {
                let found = state.get_file_format_factory("parquet");
                match found {
                    Some(factory) => {
                        Arc::new(EngineFormat::new(factory.create(state, &HashMap::new())?))
                    }
                    None => Arc::new(HypostyleFormat::new(kind, self.options.clone())),
                }
            }
            _ => Arc::new(HypostyleFormat::new(kind, self.options.clone())),
        };
        if self.on_damage.is_some() {
            files = self.without_damage(state, &store, format.as_ref(), files).await?;
            if files.is_empty() {
                return plan_err!("`{name}`: all files are damaged");
            }
        }
        let partitions = partition_columns(&files, url.prefix());
        let mut options = ListingOptions::new(format.clone()).with_file_extension("");
        options = options.with_table_partition_cols(partitions);
        // The files are named one by one if the folder has others too.
        let urls = if files.len() == total {
            vec![url]
        } else {
            let base = url.object_store();
            files.iter().map(|file| url_in(&base, &file.location)).collect::<Result<Vec<_>>>()?
        };
        files.retain(|file| file.size > 0 || kind.is_text());
        let schema = format.infer_schema(state, &store, &files).await?;
        let config = ListingTableConfig::new_with_multi_paths(urls)
            .with_listing_options(options)
            .with_schema(schema);
        let statistics = state.runtime_env().cache_manager.get_file_statistic_cache();
        Ok(Arc::new(ListingTable::try_new(config)?.with_cache(statistics)))
    }

    /// Finds the kind of the files; leaves out those of no known kind, if there are others.
    async fn files_of_one_kind(
        &self,
        name: &str,
        store: &Arc<dyn ObjectStore>,
        files: Vec<ObjectMeta>,
    ) -> Result<(FileKind, Vec<ObjectMeta>)> {
        if let Some(kind) = self.kind {
            return Ok((kind, files));
        }
        let mut kinds: BTreeMap<FileKind, Vec<ObjectMeta>> = BTreeMap::new();
        let mut unknown = Vec::new();
        for file in files {
            match kind_by_name(file_name(&file.location)) {
                Some(kind) => kinds.entry(kind).or_default().push(file),
                None => unknown.push(file),
            }
        }
        if kinds.is_empty() {
            for file in unknown {
                let kind = kind_by_content(store, &file).await?;
                kinds.entry(kind).or_default().push(file);
            }
        }
        let mut found = kinds.into_iter();
        match (found.next(), found.next()) {
            (Some((one, _)), Some((two, _))) => {
                let extension = one.extensions().first().copied().unwrap_or_default();
                plan_err!(
                    "`{name}`: has {} and {} files; choose one kind with a glob that ends in \
                     `*.{extension}`",
                    one.name(),
                    two.name()
                )
            }
            (Some(only), None) => Ok(only),
            _ => plan_err!("`{name}`: has no files"),
        }
    }

    /// Leaves out files that cannot be opened.
    async fn without_damage(
        &self,
        state: &SessionState,
        store: &Arc<dyn ObjectStore>,
        format: &dyn FileFormat,
        files: Vec<ObjectMeta>,
    ) -> Result<Vec<ObjectMeta>> {
        let mut good = Vec::with_capacity(files.len());
        for file in files {
            match format.infer_schema(state, store, std::slice::from_ref(&file)).await {
                Ok(_) => good.push(file),
                Err(err) => {
                    if let Some(report) = &self.on_damage {
                        report(&format!("left out: {}", message(&err, &file.location)));
                    }
                }
            }
        }
        Ok(good)
    }
}

fn message(err: &DataFusionError, location: &Path) -> String {
    match err.find_root() {
        DataFusionError::External(cause) if cause.is::<FileError>() => cause.to_string(),
        other => format!("`{location}`: {other}"),
    }
}

fn file_name(location: &Path) -> &str {
    location.filename().unwrap_or_default()
}

/// Finds the kind of a file by its extension, and that of a compressed one by the extension
/// before.
fn kind_by_name(name: &str) -> Option<FileKind> {
    let name = Compression::of_name(name).map_or(name, |(_, rest)| rest);
    let (_, extension) = name.rsplit_once('.')?;
    FileKind::by_extension(extension)
}

async fn kind_by_content(store: &Arc<dyn ObjectStore>, file: &ObjectMeta) -> Result<FileKind> {
    let source = StoreSource::new(store.clone(), file, true);
    let name = file_name(&file.location).to_owned();
    let kind =
        blocking(move || hypostyle::detect_format(&source, Some(&name)).and_then(FileKind::of))
            .await?;
    Ok(kind.map_err(|err| FileError::new(&file.location, err))?)
}

fn url_in(store: &ObjectStoreUrl, location: &Path) -> Result<ListingTableUrl> {
    // The location is escaped as a path of a URL must be.
    ListingTableUrl::parse(format!("{}{location}", store.as_str()))
}

/// Returns the columns that folders such as `year=2024` add, with their types.
fn partition_columns(files: &[ObjectMeta], prefix: &Path) -> Vec<(String, DataType)> {
    let mut columns: Vec<(String, DataType)> = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let Some(parts) = file.location.prefix_match(prefix) else { return Vec::new() };
        let mut folders: Vec<String> = parts.map(|part| part.as_ref().to_owned()).collect();
        folders.pop();
        let pairs: Option<Vec<(&str, &str)>> =
            folders.iter().map(|folder| folder.split_once('=')).collect();
        let Some(pairs) = pairs else { return Vec::new() };
        if index == 0 {
            columns = pairs.iter().map(|(key, _)| ((*key).to_owned(), DataType::Int64)).collect();
        }
        let keys = columns.iter().map(|(key, _)| key.as_str());
        if !keys.eq(pairs.iter().map(|(key, _)| *key)) {
            return Vec::new();
        }
        for ((_, of), (_, value)) in columns.iter_mut().zip(&pairs) {
            let is_number = value.parse::<i64>().is_ok_and(|number| number.to_string() == *value);
            if !is_number {
                *of = DataType::Utf8;
            }
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(location: &str) -> ObjectMeta {
        let (last_modified, size) = (Default::default(), 1);
        ObjectMeta { location: location.into(), last_modified, size, e_tag: None, version: None }
    }

    #[test]
    fn folders_with_keys_are_columns() {
        let files = ["d/y=2024/m=01/a.csv", "d/y=2023/m=2/b.csv"].map(meta);
        let expected = [("y".to_owned(), DataType::Int64), ("m".to_owned(), DataType::Utf8)];
        assert_eq!(partition_columns(&files, &"d".into()), expected);
        let files = ["d/y=2024/a.csv", "d/b.csv"].map(meta);
        assert_eq!(partition_columns(&files, &"d".into()), []);
        assert!(is_hidden(&"d/_SUCCESS".into(), &"d".into()));
        assert!(!is_hidden(&"_d/a.csv".into(), &"_d".into()));
    }

    #[test]
    fn kinds_are_found_by_names() {
        let kind = |name| kind_by_name(name).map(FileKind::name);
        assert_eq!(kind("a.csv"), Some("csv"));
        assert_eq!(kind("a.csv.gz"), Some("csv"));
        assert_eq!(kind("a.csv.at1"), Some("at1"));
        assert_eq!(kind("a.NDJSON.ZST"), Some("jsonl"));
        assert_eq!(kind("a.parquet"), Some("parquet"));
        assert_eq!(kind("README"), None);
    }
}
