//! Encrypted connections to servers behind a proxy.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use ballista_core::extension::{BallistaConfigGrpcEndpoint, EndpointOverrideFn};
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

/// How connections to schedulers and executors are encrypted.
///
/// Ballista's servers speak plain HTTP/2, so this is for a proxy in front of them.
#[derive(Clone, Default)]
pub struct Tls {
    /// The certificate that has signed those of servers, as PEM.
    pub authority: Vec<u8>,
    /// Our own certificate and its key, as PEM, for servers that ask for one.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
    /// The name that the certificates of servers have, in place of the host.
    pub domain: Option<String>,
}

impl fmt::Debug for Tls {
    /// Leaves out the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("domain", &self.domain).finish_non_exhaustive()
    }
}

impl Tls {
    /// Returns what encrypts the connections of Ballista.
    pub(crate) fn endpoint_override(&self) -> EndpointOverrideFn {
        let mut config =
            ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&self.authority));
        if let Some((certificate, key)) = &self.identity {
            config = config.identity(Identity::from_pem(certificate, key));
        }
        if let Some(domain) = &self.domain {
            config = config.domain_name(domain);
        }
        Arc::new(move |endpoint| encrypted(&endpoint, config.clone()))
    }

    pub(crate) fn endpoint_config(&self) -> Arc<BallistaConfigGrpcEndpoint> {
        Arc::new(BallistaConfigGrpcEndpoint::new(self.endpoint_override()))
    }
}

/// Returns an endpoint with the same host and port. Ballista makes those of schedulers for
/// `http://`, which would stay unencrypted.
fn encrypted(
    endpoint: &Endpoint,
    config: ClientTlsConfig,
) -> Result<Endpoint, Box<dyn Error + Send + Sync>> {
    let authority = endpoint.uri().authority().ok_or("an address has no host")?;
    Ok(Endpoint::from_shared(format!("https://{authority}"))?.tls_config(config)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_become_encrypted() {
        let endpoint = Endpoint::from_static("http://host:50050");
        let encrypted = encrypted(&endpoint, ClientTlsConfig::new()).unwrap();
        assert_eq!(encrypted.uri().to_string(), "https://host:50050/");
    }
}
