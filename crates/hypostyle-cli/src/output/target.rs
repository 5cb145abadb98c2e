//! Output files that get their name once they are complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hypostyle::{NewFile, SeekSink, Sink};

use super::{Out, copy_of};
use crate::failure::{Failure, InFile, Result};
use crate::path_arg::{is_dash, is_url, no_urls, output_name};
#[cfg(feature = "remote")]
use crate::{args::ServerArgs, remote::RemoteOutput};

/// The destination of an output.
///
/// A regular file is written under a temporary name in the same folder and renamed when
/// complete, so a failure or a kill leaves an existing file untouched. A file on a server appears
/// when all of it is uploaded. Standard output and devices receive the bytes once all of them are
/// written.
#[derive(Debug)]
pub(crate) struct Target {
    name: String,
    place: Place,
    attributes: Attributes,
}

/// Metadata that an output file gets before it is renamed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Attributes {
    /// Permission bits, on systems that have them.
    pub(crate) mode: Option<u32>,
    /// Permission bits of a file that replaces no other one.
    pub(crate) mode_of_new: Option<u32>,
    /// Time of the last modification.
    pub(crate) modified: Option<SystemTime>,
}

impl Attributes {
    /// Returns the attributes of an output of an input with this metadata: nobody who cannot read
    /// the input can read the output, and it is no program.
    pub(crate) fn of_input(input: Option<&fs::Metadata>) -> Self {
        #[cfg(unix)]
        let mode_of_new = input.map(|input| {
            use std::os::unix::fs::PermissionsExt;
            input.permissions().mode() & 0o666
        });
        #[cfg(not(unix))]
        let mode_of_new = input.and(None);
        Self { mode_of_new, ..Self::default() }
    }

    /// Returns the attributes of an output with the content of the input, packed or unpacked: it
    /// also has the time of the input, as with xz.
    pub(crate) fn of_content(input: Option<&fs::Metadata>) -> Self {
        let modified = input.and_then(|input| input.modified().ok());
        Self { modified, ..Self::of_input(input) }
    }

    fn set_time(self, file: &File) {
        if let Some(time) = self.modified {
            // Not every file system can store every time; the content matters more.
            let _ = file.set_modified(time);
        }
    }
}

/// Returns the time so many seconds after the Unix epoch, if the system can express it.
pub(crate) fn unix_time(seconds: i64) -> Option<SystemTime> {
    let distance = Duration::from_secs(seconds.unsigned_abs());
    match seconds < 0 {
        true => UNIX_EPOCH.checked_sub(distance),
        false => UNIX_EPOCH.checked_add(distance),
    }
}

#[derive(Debug)]
enum Place {
    Beside(NewFile),
    Device {
        temp: File,
        path: PathBuf,
    },
    #[cfg(feature = "remote")]
    Remote {
        temp: File,
        to: RemoteOutput,
    },
    Stdout,
}

impl Target {
    /// Prepares to write to `path`, or to standard output for `-`.
    ///
    /// # Errors
    ///
    /// Fails if the file exists and `force` is false, if the path is a folder, or if `binary`
    /// output would go to a terminal.
    pub(crate) fn create(path: &Path, binary: bool, force: bool, out: &dyn Out) -> Result<Self> {
        let name = output_name(path);
        let place = Self::place(path, binary, force, out).map_err(|err| err.in_file(&name))?;
        Ok(Self { name, place, attributes: Attributes::default() })
    }

    /// Prepares to write to a URL.
    ///
    /// # Errors
    ///
    /// Fails if the file exists and `force` is false, or if the store refuses.
    #[cfg(feature = "remote")]
    pub(crate) fn at_url(url: &Path, force: bool, servers: ServerArgs) -> Result<Self> {
        let name = output_name(url);
        let to = RemoteOutput::create(url, force, servers);
        let to = to.map_err(|err| uncompleted(err).in_file(&name))?;
        let place = Place::Remote { temp: tempfile::tempfile()?, to };
        Ok(Self { name, place, attributes: Attributes::default() })
    }

    /// Sets the metadata of the file; devices and servers ignore it.
    pub(crate) fn with_attributes(mut self, attributes: Attributes) -> Self {
        self.attributes = attributes;
        self
    }

    fn place(path: &Path, binary: bool, force: bool, out: &dyn Out) -> Result<Place> {
        if is_dash(path) {
            if binary && out.terminal_width().is_some() {
                let why =
                    "refusing to write binary output to a terminal: redirect it, or name a file";
                return Err(Failure::usage(why));
            }
            return Ok(Place::Stdout);
        }
        if is_url(path) {
            return Err(no_urls());
        }
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => return Err(Failure::usage("is a directory")),
            Ok(meta) if !meta.is_file() => {
                return Ok(Place::Device { temp: tempfile::tempfile()?, path: path.to_owned() });
            }
            _ => {}
        }
        let new = NewFile::create(path, force).map_err(|err| match err.kind() {
            io::ErrorKind::AlreadyExists => uncompleted(err),
            _ => {
                let folder = path.parent().unwrap_or(Path::new(""));
                let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
                Failure::io(format!("cannot write in `{}`", folder.display()), &err)
            }
        })?;
        Ok(Place::Beside(new))
    }

    /// Lets `write` fill the file, then renames it.
    pub(crate) fn fill(
        self,
        out: &mut dyn Out,
        write: impl FnOnce(&mut dyn Sink) -> Result<()>,
    ) -> Result<()> {
        let Self { name, place, attributes } = self;
        let file = match &place {
            Place::Beside(new) => new.file().try_clone(),
            Place::Device { temp, .. } => temp.try_clone(),
            #[cfg(feature = "remote")]
            Place::Remote { temp, .. } => temp.try_clone(),
            // Bytes may be patched later, so they are copied once all are written.
            Place::Stdout => tempfile::tempfile(),
        };
        let mut sink = SeekSink::try_new(BufWriter::with_capacity(256 << 10, file.in_file(&name)?))
            .in_file(&name)?;
        let mut watched = WatchedSink { sink: &mut sink, failed: None };
        let written = write(&mut watched).and_then(|()| Ok(watched.flush()?));
        if let Some(failed) = watched.failed {
            return Err(Failure::of_output(&name, &failed));
        }
        written?;
        let mut file =
            sink.into_inner().into_inner().map_err(|err| err.into_error()).in_file(&name)?;
        if let Place::Stdout = place {
            file.seek(SeekFrom::Start(0)).in_file(&name)?;
            io::copy(&mut file, out).in_file(&name)?;
            return out.flush().in_file(&name);
        }
        drop(file);
        place.complete(attributes).map_err(|failure| failure.in_file(&name))
    }

    /// Lets `write` fill the file sequentially.
    ///
    /// Standard output receives the bytes as they are written.
    pub(crate) fn stream(
        self,
        out: &mut dyn Out,
        write: impl FnOnce(&mut dyn Write) -> Result<()>,
    ) -> Result<()> {
        if let Place::Stdout = self.place {
            write(out)?;
            return out.flush().in_file(&self.name);
        }
        self.fill(out, |sink| write(sink))
    }
}

/// A sink that keeps the error of a failed write: its caller may take it for one of the input.
struct WatchedSink<'s> {
    sink: &'s mut dyn Sink,
    failed: Option<io::Error>,
}

impl WatchedSink<'_> {
    fn watched<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(err) = &result
            && err.kind() != io::ErrorKind::Interrupted
        {
            self.failed.get_or_insert(copy_of(err));
        }
        result
    }
}

impl Write for WatchedSink<'_> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let written = self.sink.write(buf);
        self.watched(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.sink.flush();
        self.watched(flushed)
    }
}

impl Sink for WatchedSink<'_> {
    fn patch(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let patched = self.sink.patch(at, bytes);
        self.watched(patched)
    }
}

impl Place {
    fn complete(self, attributes: Attributes) -> Result<()> {
        match self {
            Self::Beside(new) => {
                attributes.set_time(new.file());
                let of_new = attributes.mode_of_new.filter(|_| !new.is_replacement());
                let new = match attributes.mode.or(of_new) {
                    Some(mode) => new.with_mode(mode),
                    None => new,
                };
                new.complete().map_err(uncompleted)
            }
            #[cfg(feature = "remote")]
            Self::Remote { temp, to } => to.complete(temp).map_err(uncompleted),
            Self::Device { mut temp, path } => {
                temp.seek(SeekFrom::Start(0))?;
                io::copy(&mut temp, &mut OpenOptions::new().write(true).open(path)?)?;
                Ok(())
            }
            Self::Stdout => Ok(()),
        }
    }
}

/// Returns the failure of a file that does not get its name.
fn uncompleted(err: io::Error) -> Failure {
    match err.kind() {
        io::ErrorKind::AlreadyExists => Failure::usage("already exists; -f overwrites it"),
        _ => err.into(),
    }
}
