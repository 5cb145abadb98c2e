//! Registers formats in a session.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory};
use datafusion::common::Result;
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::datasource::provider::DefaultTableFactory;
use datafusion::logical_expr::CreateExternalTable;
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use hypostyle::{FileKind, formats};
use object_store::ObjectMeta;

use crate::format::HypostyleFormatFactory;

/// Adds the formats of [`hypostyle::formats::ALL`] to a session.
///
/// # Errors
///
/// Fails if the session cannot register a format.
pub fn register(ctx: &SessionContext) -> Result<()> {
    register_kinds(ctx, FileKind::all().filter(|kind| kind.format().is_some()))
}

/// Adds kinds of files to a session, each under its name and its extensions.
///
/// A format of the session with such a name, such as the engine's own CSV, is replaced.
///
/// # Errors
///
/// As [`register`].
pub fn register_kinds(
    ctx: &SessionContext,
    kinds: impl IntoIterator<Item = FileKind>,
) -> Result<()> {
    let state = ctx.state_ref();
    let mut state = state.write();
    for kind in kinds {
        let extensions = kind.extensions().iter().copied();
        for name in std::iter::once(kind.name()).chain(extensions) {
            let factory = Arc::new(HypostyleFormatFactory::new(kind, name));
            state.register_file_format(factory, true)?;
            let tables = state.table_factories_mut();
            tables.insert(name.to_uppercase(), Arc::new(TableFactory::new(kind)));
        }
    }
    Ok(())
}

/// Makes tables of one kind of files for `CREATE EXTERNAL TABLE`.
#[derive(Debug)]
struct TableFactory {
    kind: FileKind,
    engine: DefaultTableFactory,
}

impl TableFactory {
    fn new(kind: FileKind) -> Self {
        Self { kind, engine: DefaultTableFactory::new() }
    }

    /// Returns the statement with the extensions that files of a local folder have: the engine
    /// takes only those with the word after `STORED AS` for an extension.
    async fn with_extensions(
        &self,
        state: &dyn Session,
        statement: &CreateExternalTable,
    ) -> Result<CreateExternalTable> {
        let mut statement = statement.clone();
        let [location] = statement.locations.as_slice() else { return Ok(statement) };
        let url = ListingTableUrl::parse(location)?;
        let is_folder = url.is_folder() && url.get_glob().is_none();
        if !is_folder || !statement.schema.fields().is_empty() {
            return Ok(statement);
        }
        let store = state.runtime_env().object_store(&url)?;
        let files = url.list_all_files(state, store.as_ref(), "").await?;
        let files: Vec<ObjectMeta> = files.try_collect().await?;
        let is_used = |extension: &&str| {
            files.iter().any(|file| file.location.extension() == Some(*extension))
        };
        let used: Vec<&str> = self.kind.extensions().iter().copied().filter(is_used).collect();
        match used.as_slice() {
            [] => {}
            [only] => statement.file_type = only.to_uppercase(),
            several => {
                let folder = location.trim_end_matches('/');
                let globs = several.iter().map(|extension| format!("{folder}/*.{extension}"));
                statement.locations = globs.collect();
            }
        }
        Ok(statement)
    }
}

#[async_trait]
impl TableProviderFactory for TableFactory {
    async fn create(
        &self,
        state: &dyn Session,
        statement: &CreateExternalTable,
    ) -> Result<Arc<dyn TableProvider>> {
        let statement = self.with_extensions(state, statement).await?;
        self.engine.create(state, &statement).await
    }
}

const _: () = assert!(!formats::ALL.is_empty(), "the library has formats");
