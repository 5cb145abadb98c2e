//! How clients reach a cluster.

use std::path::PathBuf;

/// The cluster that a command runs on.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterArgs {
    /// Run on a cluster, by the address of its scheduler, such as df://host:50050
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) cluster: Option<String>,

    #[command(flatten)]
    tls: TlsArgs,
}

/// How connections are encrypted, if there is a proxy before the servers.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct TlsArgs {
    /// Encrypt connections, and expect certificates that the one in this PEM file has signed
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,

    /// Our own certificate, for servers that ask for one
    #[arg(long, value_name = "FILE", requires = "tls_key", requires = "tls_ca")]
    tls_cert: Option<PathBuf>,

    /// The key of our certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// The name in the certificates of servers, if it is not that of the host
    #[arg(long, value_name = "NAME", requires = "tls_ca")]
    tls_name: Option<String>,
}

#[cfg(feature = "cluster")]
mod enabled {
    use hypostyle_ballista::{Cluster, Tls};

    use super::{ClusterArgs, TlsArgs};
    use crate::failure::{Failure, InFile, Result};

    impl ClusterArgs {
        /// Returns the cluster, if the user named one.
        pub(crate) fn open(&self) -> Result<Option<Cluster>> {
            let Some(address) = &self.cluster else { return Ok(None) };
            let named = |why| Failure::usage(format!("`{address}`: {why}"));
            let cluster: Cluster = address.parse().map_err(named)?;
            Ok(Some(cluster.with_tls(self.tls.open()?)))
        }
    }

    impl TlsArgs {
        /// Reads the certificates.
        pub(crate) fn open(&self) -> Result<Option<Tls>> {
            let Some(authority) = &self.tls_ca else { return Ok(None) };
            let read = |path: &std::path::PathBuf| std::fs::read(path).in_file(path.display());
            let identity = match (&self.tls_cert, &self.tls_key) {
                (Some(certificate), Some(key)) => Some((read(certificate)?, read(key)?)),
                _ => None,
            };
            let domain = self.tls_name.clone();
            Ok(Some(Tls { authority: read(authority)?, identity, domain }))
        }
    }
}

#[cfg(not(feature = "cluster"))]
impl ClusterArgs {
    /// Fails if the user named a cluster.
    pub(crate) fn open(&self) -> crate::failure::Result<()> {
        match &self.cluster {
            Some(_) => Err(super::no_cluster()),
            None => Ok(()),
        }
    }
}
