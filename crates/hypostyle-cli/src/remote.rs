//! Files behind URLs.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use hypostyle_remote::{RemoteStore, Stores};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::args::ServerArgs;

pub(crate) use hypostyle_remote::RemoteFile;

/// Threads that requests run on; the rest of the command waits for them.
const THREADS: usize = 2;

/// Returns the runtime of requests, which is started once.
fn runtime() -> io::Result<Handle> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime.handle().clone());
    }
    let started = Builder::new_multi_thread().worker_threads(THREADS).enable_all().build()?;
    Ok(RUNTIME.get_or_init(|| started).handle().clone())
}

/// Opens the file of a URL.
pub(crate) fn open(url: &Path, servers: ServerArgs) -> io::Result<RemoteFile> {
    let (store, location) = Stores::new(servers.settings()).locate(&url.to_string_lossy())?;
    RemoteFile::open(store, location, runtime()?)
}

/// Copies a file to a temporary one.
pub(crate) fn download(remote: &RemoteFile) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    let mut out = BufWriter::new(&mut file);
    remote.copy_to(&mut out)?;
    out.flush()?;
    drop(out);
    file.rewind()?;
    Ok(file)
}

/// A file that is written to a URL.
#[derive(Debug)]
pub(crate) struct RemoteOutput {
    store: Arc<RemoteStore>,
    location: hypostyle_remote::Path,
    overwrite: bool,
}

impl RemoteOutput {
    /// Checks that the file can be written.
    pub(crate) fn create(url: &Path, overwrite: bool, servers: ServerArgs) -> io::Result<Self> {
        let (store, location) = Stores::new(servers.settings()).locate(&url.to_string_lossy())?;
        runtime()?.block_on(store.check_new(&location, overwrite))?;
        Ok(Self { store, location, overwrite })
    }

    /// Uploads the content, after which the file is there.
    pub(crate) fn complete(self, mut content: File) -> io::Result<()> {
        let Self { store, location, overwrite } = self;
        content.rewind()?;
        runtime()?.block_on(async {
            // It may have come into being since then.
            store.check_new(&location, overwrite).await?;
            hypostyle_remote::upload(&store, &location, content).await
        })
    }
}
