//! Files behind URLs as tables.

use std::sync::Arc;

use datafusion::common::{DataFusionError, plan_datafusion_err};
use datafusion::execution::object_store::{DefaultObjectStoreRegistry, ObjectStoreRegistry};
use hypostyle_remote::Stores;
use object_store::ObjectStore;
use url::Url;

/// Finds the stores of URLs, and makes those that are not yet there.
#[derive(Debug, Default)]
pub(crate) struct UrlStores {
    local: DefaultObjectStoreRegistry,
    pub(crate) remote: Stores,
}

impl UrlStores {
    pub(crate) fn new(settings: hypostyle_remote::Settings) -> Self {
        Self { local: DefaultObjectStoreRegistry::new(), remote: Stores::new(settings) }
    }

    /// Notes the URL of a table, of which the engine keeps only the path.
    pub(crate) fn prepare(&self, name: &str) -> Result<(), DataFusionError> {
        let is_http = name.get(..4).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http"));
        // Globs are found later, and an HTTP server has none.
        if !is_http || name.contains('*') || name.ends_with('/') {
            return Ok(());
        }
        let named =
            |err| plan_datafusion_err!("`{}`: {err}", hypostyle_remote::without_secrets(name));
        self.remote.locate(name).map(drop).map_err(named)
    }
}

impl ObjectStoreRegistry for UrlStores {
    fn register_store(
        &self,
        url: &Url,
        store: Arc<dyn ObjectStore>,
    ) -> Option<Arc<dyn ObjectStore>> {
        self.local.register_store(url, store)
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>, DataFusionError> {
        if url.scheme() == "file" {
            return self.local.get_store(url);
        }
        let store = self.remote.store(url);
        let store = store.map_err(|err| {
            let url = hypostyle_remote::without_secrets(url.as_str());
            plan_datafusion_err!("`{}`: {err}", url.trim_end_matches('/'))
        })?;
        Ok(store)
    }
}
