//! A cluster that a session runs its queries on.

use std::str::FromStr;
use std::sync::Arc;

use ballista_core::extension::{SessionConfigExt, SessionStateExt};
use datafusion::common::Result;
use datafusion::execution::SessionState;
use datafusion::prelude::SessionContext;

use crate::job::Connection;
use crate::planner::ClusterPlanner;
use crate::tls::Tls;

/// The port of schedulers.
pub(crate) const DEFAULT_PORT: u16 = 50050;

/// The number of partitions of a query, if nobody states one.
const DEFAULT_PARTITIONS: usize = 16;

/// A cluster that a session runs its queries on, by the address of its scheduler.
#[derive(Clone, Debug)]
pub struct Cluster {
    host: String,
    port: u16,
    tls: Option<Tls>,
    partitions: usize,
}

impl FromStr for Cluster {
    type Err = String;

    /// Parses `df://host:port`; without a port, it is 50050.
    fn from_str(text: &str) -> Result<Self, String> {
        let address = text.strip_prefix("df://").ok_or("not an address such as df://host:50050")?;
        let (host, port) = host_and_port(address.trim_end_matches('/'))?;
        Ok(Self { host, port, tls: None, partitions: DEFAULT_PARTITIONS })
    }
}

/// Parses `host:port`; without a port, it is 50050.
pub(crate) fn host_and_port(address: &str) -> Result<(String, u16), String> {
    let has_port = address.rsplit_once(':').filter(|(host, _)| {
        // The colons of an IPv6 address stand between brackets.
        !host.contains(':') || host.ends_with(']')
    });
    let (host, port) = match has_port {
        Some((host, port)) => (host, port.parse().map_err(|_| format!("`{port}` is not a port"))?),
        None => (address, DEFAULT_PORT),
    };
    let is_host = !host.is_empty() && !host.contains(['/', '@', '?', '#', ' ']);
    if is_host { Ok((host.to_owned(), port)) } else { Err(format!("`{host}` is not a host")) }
}

impl Cluster {
    /// Sets how connections are encrypted.
    #[must_use]
    pub fn with_tls(mut self, tls: Option<Tls>) -> Self {
        self.tls = tls;
        self
    }

    /// Sets into how many tasks a stage is divided; 16 by default. A cluster is busy with as many
    /// as its executors have cores, and balanced with two or three times as many.
    #[must_use]
    pub fn with_partitions(mut self, partitions: usize) -> Self {
        self.partitions = partitions.max(1);
        self
    }

    pub(crate) fn connection(&self) -> Connection {
        Connection::new(self.host.clone(), self.port, self.tls.clone())
    }

    pub(crate) fn partitions(&self) -> usize {
        self.partitions
    }

    /// Returns a session that runs the queries that read files on this cluster, and other
    /// statements here. Functions that were registered before are lost.
    ///
    /// Files must have the same paths and URLs here and on the executors.
    ///
    /// # Errors
    ///
    /// Fails if the session cannot be changed.
    pub fn enable(&self, ctx: &SessionContext) -> Result<SessionContext> {
        Ok(self.upgrade(ctx.state())?.into())
    }

    fn upgrade(&self, mut state: SessionState) -> Result<SessionState> {
        let planner = Arc::new(ClusterPlanner { connection: self.connection() });
        let config = state.config().clone().upgrade_for_ballista();
        // Tasks of one partition are spread over executors, and repeated with less work.
        let config = config
            .with_target_partitions(self.partitions)
            .set_u64("ballista.scheduler.max_partitions_per_task", 1)
            .with_ballista_query_planner(planner);
        *state.config_mut() = config;
        state.upgrade_for_ballista(format!("df://{}:{}", self.host, self.port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_host_and_maybe_a_port() {
        let parsed = |text: &str| {
            let cluster: Cluster = text.parse()?;
            Ok::<_, String>((cluster.host, cluster.port))
        };
        assert_eq!(parsed("df://host"), Ok(("host".to_owned(), 50050)));
        assert_eq!(parsed("df://127.0.0.1:7/"), Ok(("127.0.0.1".to_owned(), 7)));
        assert_eq!(parsed("df://[::1]:7"), Ok(("[::1]".to_owned(), 7)));
        assert_eq!(parsed("df://[::1]"), Ok(("[::1]".to_owned(), 50050)));
        for text in ["host:1", "df://", "df://host:x", "df://user@host:1", "df://host:1/path"] {
            assert!(parsed(text).is_err(), "{text}");
        }
    }
}
