//! The object stores that an executor may use.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::{DataFusionError, Result, plan_datafusion_err};
use datafusion::execution::object_store::ObjectStoreRegistry;
use hypostyle_remote::{Settings, Stores, without_secrets};
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use url::{Position, Url};

use crate::guarded_store::{Folders, GuardedStore};
use crate::traffic::Traffic;

/// A folder of this machine or of a store, below which an executor may read and write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowedPrefix {
    /// A folder of this machine, with all links resolved.
    Local(PathBuf),
    /// A store, and a folder in it; an empty one is the whole store.
    Remote(String, Path),
}

impl FromStr for AllowedPrefix {
    type Err = String;

    /// Parses a path of a folder that exists, or a URL such as `s3://bucket/folder`.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((scheme, _)) = text.split_once("://")
            && scheme != "file"
        {
            let url = Url::parse(text).map_err(|err| err.to_string())?;
            if !url.has_host() || url.query().is_some() || url.fragment().is_some() {
                return Err("not the URL of a bucket or folder".to_owned());
            }
            let folder = Path::from_url_path(url.path()).map_err(|err| err.to_string())?;
            return Ok(Self::Remote(url[..Position::BeforePath].to_owned(), folder));
        }
        let path = text.strip_prefix("file://").unwrap_or(text);
        let path = std::fs::canonicalize(path).map_err(|err| format!("`{path}`: {err}"))?;
        Ok(Self::Local(path))
    }
}

impl fmt::Display for AllowedPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(path) => path.display().fmt(f),
            Self::Remote(origin, folder) => write!(f, "{origin}/{folder}"),
        }
    }
}

/// The object stores that an executor may use: what is below the prefixes that it was started with.
///
/// Links are followed before a path is compared. Tasks list, copy and delete nothing.
#[derive(Debug)]
pub struct AllowedStores {
    allowed: Vec<AllowedPrefix>,
    remote: Stores,
    traffic: Arc<Traffic>,
    guarded: Mutex<HashMap<String, Arc<dyn ObjectStore>>>,
}

impl AllowedStores {
    /// Returns the stores for what is below some prefixes.
    pub fn new(allowed: Vec<AllowedPrefix>, settings: Settings, traffic: Arc<Traffic>) -> Self {
        Self { allowed, remote: Stores::new(settings), traffic, guarded: Mutex::default() }
    }

    fn open(&self, url: &Url) -> Result<GuardedStore> {
        let origin = &url[..Position::BeforePath];
        let (inner, folders): (Arc<dyn ObjectStore>, Folders) = if url.scheme() == "file" {
            let folders = self.allowed.iter().filter_map(|prefix| match prefix {
                AllowedPrefix::Local(path) => Some(path.clone()),
                AllowedPrefix::Remote(..) => None,
            });
            (Arc::new(LocalFileSystem::new()), Folders::Local(folders.collect()))
        } else {
            let folders = self.allowed.iter().filter_map(|prefix| match prefix {
                AllowedPrefix::Remote(of, folder) if of == origin => Some(folder.clone()),
                _ => None,
            });
            let folders: Vec<Path> = folders.collect();
            if folders.is_empty() {
                return Err(plan_datafusion_err!(
                    "`{}`: not below a prefix that --allow names",
                    without_secrets(url.as_str()).trim_end_matches('/')
                ));
            }
            let store = self.remote.store(url).map_err(|err: io::Error| {
                let url = without_secrets(url.as_str());
                plan_datafusion_err!("`{}`: {err}", url.trim_end_matches('/'))
            })?;
            (store, Folders::Remote(folders))
        };
        Ok(GuardedStore::new(inner, folders, self.traffic.clone()))
    }
}

impl ObjectStoreRegistry for AllowedStores {
    /// Registers nothing.
    fn register_store(&self, _: &Url, _: Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        None
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>, DataFusionError> {
        let mut guarded = self.guarded.lock().unwrap_or_else(PoisonError::into_inner);
        let key = &url[..Position::BeforePath];
        if let Some(store) = guarded.get(key) {
            return Ok(store.clone());
        }
        let store: Arc<dyn ObjectStore> = Arc::new(self.open(url)?);
        guarded.insert(key.to_owned(), store.clone());
        Ok(store)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_folders_and_buckets() {
        let remote = |origin: &str, folder: &str| {
            Ok(AllowedPrefix::Remote(origin.to_owned(), folder.into()))
        };
        assert_eq!("s3://bucket".parse(), remote("s3://bucket", ""));
        assert_eq!("s3://bucket/a/b/".parse(), remote("s3://bucket", "a/b"));
        assert_eq!("https://host:1/a".parse(), remote("https://host:1", "a"));
        assert!("/no/such/folder".parse::<AllowedPrefix>().is_err());
        assert!("s3:///a".parse::<AllowedPrefix>().is_err());
        assert!("https://host/a?x=1".parse::<AllowedPrefix>().is_err());
        assert!(
            matches!("/".parse(), Ok(AllowedPrefix::Local(path)) if path == PathBuf::from("/"))
        );
    }

    #[test]
    fn other_stores_are_refused() {
        let allowed = vec!["http://host/data".parse().unwrap()];
        let stores = AllowedStores::new(allowed, Settings::default(), Arc::default());
        assert!(stores.get_store(&"http://host/".parse().unwrap()).is_ok());
        let err = stores.get_store(&"http://other/".parse().unwrap()).unwrap_err();
        assert!(err.to_string().contains("--allow"), "{err}");
    }
}
