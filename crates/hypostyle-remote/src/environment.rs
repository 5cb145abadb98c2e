//! Makes the store of a URL, with settings and credentials from the environment.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};
use percent_encoding::percent_decode_str;
use url::{Position, Url};

use crate::connection::{Connector, ExactUrls};
use crate::settings::Settings;

/// The longest time in which a connection is made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The time after which a request is not repeated again.
pub(crate) const RETRY_TIME: Duration = Duration::from_secs(180);

/// What kind of server a store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerKind {
    Http,
    S3,
    Google,
    Azure,
}

impl ServerKind {
    pub(crate) fn of(url: &Url) -> Option<Self> {
        match url.scheme() {
            "http" | "https" => Some(Self::Http),
            "s3" | "s3a" => Some(Self::S3),
            "gs" => Some(Self::Google),
            "az" | "azure" | "abfs" | "abfss" | "adl" => Some(Self::Azure),
            _ => None,
        }
    }

    /// Returns whether the server can send the last bytes of a file of unknown size.
    pub(crate) fn has_suffix_ranges(self) -> bool {
        self != Self::Azure
    }
}

/// A store that is not yet wrapped.
pub(crate) struct NewStore {
    pub(crate) store: Box<dyn ObjectStore>,
    pub(crate) exact_urls: Arc<ExactUrls>,
}

/// Makes the store that a URL is in.
pub(crate) fn store_of(
    kind: ServerKind,
    url: &Url,
    settings: &Settings,
) -> object_store::Result<NewStore> {
    let exact_urls = Arc::new(ExactUrls::default());
    let connector = Connector {
        patience: settings.timeout,
        exact_urls: exact_urls.clone(),
        authorization: if kind == ServerKind::Http { authorization(url) } else { None },
    };
    let retry = RetryConfig {
        backoff: BackoffConfig::default(),
        max_retries: settings.retries,
        retry_timeout: RETRY_TIME,
    };
    // The connector limits the time without a byte, not that of a whole response: a range may be
    // large, and the connection slow.
    let client = ClientOptions::new()
        .with_timeout_disabled()
        .with_connect_timeout(CONNECT_TIMEOUT.min(settings.timeout))
        .with_user_agent(HeaderValue::from_static(concat!(
            "hypostyle/",
            env!("CARGO_PKG_VERSION")
        )));
    let origin = &url[..Position::BeforePath];
    let store: Box<dyn ObjectStore> = match kind {
        ServerKind::Http => {
            let mut base = url.clone();
            // OK because a URL of HTTP has a host.
            let _ = (base.set_username(""), base.set_password(None));
            let builder = HttpBuilder::new()
                .with_url(&base[..Position::BeforePath])
                .with_client_options(client.with_allow_http(url.scheme() == "http"))
                .with_retry(retry)
                .with_http_connector(connector);
            Box::new(builder.build()?)
        }
        ServerKind::S3 => {
            let mut builder = AmazonS3Builder::new().with_client_options(client);
            for (key, value) in variables("AWS_") {
                let is_endpoint = key == "aws_endpoint_url" || key == "aws_endpoint";
                if is_endpoint && value.starts_with("http://") {
                    builder = builder.with_allow_http(true);
                }
                if let Ok(key) = key.parse() {
                    builder = builder.with_config(key, value);
                }
            }
            let builder = builder.with_url(origin).with_retry(retry);
            Box::new(builder.with_http_connector(connector).build()?)
        }
        ServerKind::Google => {
            let mut builder = GoogleCloudStorageBuilder::new().with_client_options(client);
            for (key, value) in variables("GOOGLE_") {
                if let Ok(key) = key.parse() {
                    builder = builder.with_config(key, value);
                }
            }
            let builder = builder.with_url(origin).with_retry(retry);
            Box::new(builder.with_http_connector(connector).build()?)
        }
        ServerKind::Azure => {
            let mut builder = MicrosoftAzureBuilder::new().with_client_options(client);
            for (key, value) in variables("AZURE_") {
                if key.ends_with("endpoint") && value.starts_with("http://") {
                    builder = builder.with_allow_http(true);
                }
                if let Ok(key) = key.parse() {
                    builder = builder.with_config(key, value);
                }
            }
            let builder = builder.with_url(origin).with_retry(retry);
            Box::new(builder.with_http_connector(connector).build()?)
        }
    };
    Ok(NewStore { store, exact_urls })
}

/// Returns the variables of the environment with a prefix, their names in lower case and sorted,
/// so that `AWS_ALLOW_HTTP` comes before `AWS_ENDPOINT_URL`.
fn variables(prefix: &str) -> Vec<(String, String)> {
    let all = std::env::vars_os().filter_map(|(key, value)| {
        let key = key.to_str()?;
        let value = value.to_str().filter(|value| !value.is_empty())?;
        key.starts_with(prefix).then(|| (key.to_ascii_lowercase(), value.to_owned()))
    });
    let mut all: Vec<(String, String)> = all.collect();
    all.sort();
    all
}

/// Returns the header for the credentials that a URL has.
fn authorization(url: &Url) -> Option<HeaderValue> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let mut pair: Vec<u8> = percent_decode_str(url.username()).collect();
    pair.push(b':');
    pair.extend(percent_decode_str(url.password().unwrap_or_default()));
    let mut value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(pair))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_of_a_url_become_a_header() {
        let header = |url: &str| authorization(&url.parse().unwrap());
        assert_eq!(header("http://host/a"), None);
        let value = header("http://us%20er:pa%3Ass@host/a").unwrap();
        assert_eq!(value.to_str().unwrap(), format!("Basic {}", STANDARD.encode("us er:pa:ss")));
        assert!(value.is_sensitive());
    }
}
