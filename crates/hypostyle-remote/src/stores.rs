//! Finds the store and the location of a URL.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use object_store::path::Path;
use url::{Position, Url};

use crate::environment::{ServerKind, store_of};
use crate::problem::io_error;
use crate::remote_store::RemoteStore;
use crate::settings::Settings;

/// The stores that URLs are in, each made once.
///
/// Credentials and endpoints come from the variables `AWS_*`, `GOOGLE_*` and `AZURE_*`.
#[derive(Debug, Default)]
pub struct Stores {
    settings: Settings,
    by_origin: Mutex<HashMap<String, Arc<RemoteStore>>>,
}

impl Stores {
    /// Returns stores that are made with these settings.
    pub fn new(settings: Settings) -> Self {
        Self { settings, by_origin: Mutex::default() }
    }

    /// Returns the store of a URL, of which the path does not matter.
    ///
    /// # Errors
    ///
    /// Fails if the scheme is not known, or if the environment lacks what the store needs.
    pub fn store(&self, url: &Url) -> io::Result<Arc<RemoteStore>> {
        let kind = ServerKind::of(url).filter(|_| url.has_host()).ok_or_else(|| {
            let why = "not a URL of http://, https://, s3://, gs:// or az://";
            io::Error::new(io::ErrorKind::InvalidInput, why)
        })?;
        let key = &url[..Position::BeforePath];
        let mut stores = self.by_origin.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = stores.get(key) {
            return Ok(store.clone());
        }
        let made = store_of(kind, url, &self.settings).map_err(io_error)?;
        let store = Arc::new(RemoteStore::new(kind, made, self.settings.retries));
        stores.insert(key.to_owned(), store.clone());
        Ok(store)
    }

    /// Returns the store of a URL and the location of the file in it.
    ///
    /// # Errors
    ///
    /// As [`Stores::store`], and if the URL names no file.
    pub fn locate(&self, url: &str) -> io::Result<(Arc<RemoteStore>, Path)> {
        let invalid = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, why);
        let url = Url::parse(url).map_err(|err| invalid(&err.to_string()))?;
        let store = self.store(&url)?;
        let location = Path::from_url_path(url.path()).map_err(|err| invalid(&err.to_string()))?;
        if location.as_ref().is_empty() || url.path().ends_with('/') {
            return Err(invalid("names no file"));
        }
        store.note_url(&location, &url).map_err(invalid)?;
        Ok((store, location))
    }

    /// Forgets what files were found, so that later reads see what has changed.
    pub fn forget(&self) {
        let stores = self.by_origin.lock().unwrap_or_else(PoisonError::into_inner);
        stores.values().for_each(|store| store.forget());
    }
}

/// Returns a URL as messages print it: without a password, and without the query, which may be a
/// signature.
pub fn without_secrets(url: &str) -> String {
    let Ok(mut parsed) = Url::parse(url) else { return url.to_owned() };
    if ServerKind::of(&parsed) != Some(ServerKind::Http) {
        return url.to_owned();
    }
    parsed.set_query(None);
    parsed.set_fragment(None);
    // OK because a URL of HTTP has a host.
    let _ = (parsed.set_username(""), parsed.set_password(None));
    parsed.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_no_secrets() {
        let shown = without_secrets("https://me:secret@host/a%20b.csv?X-Amz-Signature=abc#d");
        assert_eq!(shown, "https://host/a%20b.csv");
        assert_eq!(without_secrets("s3://bucket/a?.csv"), "s3://bucket/a?.csv");
    }

    #[test]
    fn a_path_has_one_url() {
        let stores = Stores::default();
        assert!(stores.locate("http://h/a.csv?v=1").is_ok());
        assert!(stores.locate("http://h/a.csv?v=1").is_ok());
        assert!(stores.locate("http://h/a.csv?v=2").is_err());
        assert!(stores.locate("http://h/a.csv").is_err());
        stores.forget();
        assert!(stores.locate("http://h/a.csv?v=2").is_ok());
        assert!(stores.locate("http://h/folder/").is_err());
        assert!(stores.locate("s3://bucket/a.csv?v=2").is_err());
        assert!(stores.locate("ftp://h/a.csv").is_err());
    }
}
