//! A file without its final name: one without any name where the system has such files, and else
//! one with a temporary name.

use std::fs::{self, File, Permissions};
use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

/// The end of temporary names.
const SUFFIX: &str = ".partial";

/// Characters of the final name in a temporary one; names have at most 255 bytes.
const MAX_NAME_CHARS: usize = 50;

/// A file that is written beside its path. Nobody but its owner may read it.
#[derive(Debug)]
pub(super) enum Unfinished {
    /// A file without a name, of which nothing is left whenever the process ends.
    #[cfg(target_os = "linux")]
    Nameless(File),
    /// A file that is deleted when it is dropped, but not if the process is killed. It is locked
    /// while somebody writes it.
    Named(NamedTempFile),
}

impl Unfinished {
    /// Creates a file in a folder, for the file `name` there.
    pub(super) fn create(folder: &Path, name: &str) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(file) = nameless::create(folder)? {
            return Ok(Self::Nameless(file));
        }
        let prefix = prefix(name);
        remove_abandoned(folder, &prefix);
        let temp = named(folder, &prefix)?;
        // A file system without locks has no way to tell which files are abandoned.
        let _ = temp.as_file().try_lock();
        Ok(Self::Named(temp))
    }

    pub(super) fn file(&self) -> &File {
        match self {
            #[cfg(target_os = "linux")]
            Self::Nameless(file) => file,
            Self::Named(temp) => temp.as_file(),
        }
    }

    /// Gives the file its name.
    pub(super) fn rename(self, folder: &Path, path: &Path, replace: bool) -> io::Result<()> {
        let temp = match self {
            #[cfg(target_os = "linux")]
            Self::Nameless(file) if !replace => return nameless::link(&file, path),
            #[cfg(target_os = "linux")]
            Self::Nameless(file) => return nameless::replace(&file, folder, path),
            Self::Named(temp) => temp,
        };
        let named = if replace { temp.persist(path) } else { temp.persist_noclobber(path) };
        named.map(drop).map_err(|err| err.error)
    }
}

/// Returns the start of the temporary names of a file.
fn prefix(name: &str) -> String {
    format!(".{}.", name.chars().take(MAX_NAME_CHARS).collect::<String>())
}

/// Creates a file with a temporary name that only its owner may read.
fn named(folder: &Path, prefix: &str) -> io::Result<NamedTempFile> {
    // The permissions of the crate for temporary files are the same: read and write, for the
    // owner alone.
    tempfile::Builder::new().prefix(prefix).suffix(SUFFIX).tempfile_in(folder)
}

/// Deletes temporary files of this name that a killed process left.
fn remove_abandoned(folder: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_ours = name.strip_prefix(prefix).is_some_and(|rest| rest.ends_with(SUFFIX));
        if !is_ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        // Somebody who still writes the file holds its lock.
        if File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Returns the permissions of a new file, as the umask leaves them.
pub(super) fn default_permissions(folder: &Path) -> io::Result<Permissions> {
    #[cfg(target_os = "linux")]
    if let Some(umask) = nameless::umask() {
        use std::os::unix::fs::PermissionsExt;
        return Ok(Permissions::from_mode(0o666 & !umask));
    }
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(Permissions::from_mode(0o666));
    }
    // An empty file that is deleted at once.
    Ok(builder.tempfile_in(folder)?.as_file().metadata()?.permissions())
}

#[cfg(target_os = "linux")]
mod nameless {
    use std::fs::{self, File};
    use std::io;
    use std::os::fd::AsRawFd;
    use std::path::Path;

    use rustix::fs::{AtFlags, CWD, Mode, OFlags};
    use rustix::io::Errno;

    use super::{MAX_NAME_CHARS, SUFFIX};

    /// Attempts to replace a file that other writers replace, too.
    const MAX_ATTEMPTS: usize = 100;

    /// Creates a file without a name; `None` if the file system has no such files, or if it could
    /// not get a name later.
    pub(super) fn create(folder: &Path) -> io::Result<Option<File>> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match rustix::fs::openat(CWD, folder, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => {
                let file = File::from(file);
                Ok(place(&file).try_exists().unwrap_or(false).then_some(file))
            }
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => Ok(None),
            Err(err) => Err(err.into()),
        }
    }

    /// Gives a file the name of another one, which it replaces.
    ///
    /// A link does not replace a file, so the file first gets a name that is then changed. That
    /// name is always the same, so that a file that a kill leaves there goes with the next one.
    pub(super) fn replace(file: &File, folder: &Path, path: &Path) -> io::Result<()> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let start: String = name.chars().take(MAX_NAME_CHARS).collect();
        let temp = folder.join(format!(".{start}{SUFFIX}"));
        let _ = fs::remove_file(&temp);
        match link(file, path) {
            Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {}
            linked => return linked,
        }
        for _ in 0..MAX_ATTEMPTS {
            match link(file, &temp) {
                Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {
                    let _ = fs::remove_file(&temp);
                    continue;
                }
                linked => linked?,
            }
            match fs::rename(&temp, path) {
                // Another writer of the path has removed the name.
                Err(err) if err.kind() == io::ErrorKind::NotFound => {}
                Err(err) => {
                    let _ = fs::remove_file(&temp);
                    return Err(err);
                }
                Ok(()) => return Ok(()),
            }
        }
        Err(io::Error::other("other writers replace the file all the time"))
    }

    /// Gives a file a name that does not exist yet.
    pub(super) fn link(file: &File, path: &Path) -> io::Result<()> {
        Ok(rustix::fs::linkat(CWD, place(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }

    /// Returns the umask of the process; asking the system for it would change it.
    pub(super) fn umask() -> Option<u32> {
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let umask = status.lines().find_map(|line| line.strip_prefix("Umask:"))?;
        u32::from_str_radix(umask.trim(), 8).ok()
    }

    fn place(file: &File) -> std::path::PathBuf {
        format!("/proc/self/fd/{}", file.as_raw_fd()).into()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn files_that_nobody_writes_any_more_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (mine, other) = (prefix("a.at1"), prefix("b.at1"));
        let alive = named(folder.path(), &mine).unwrap();
        alive.as_file().try_lock().unwrap();
        let left = named(folder.path(), &mine).unwrap().into_temp_path().keep().unwrap();
        let of_other = named(folder.path(), &other).unwrap();
        fs::write(folder.path().join(".a.at1.notes"), "mine").unwrap();
        remove_abandoned(folder.path(), &mine);
        assert!(!left.exists() && alive.path().exists() && of_other.path().exists());
        assert!(folder.path().join(".a.at1.notes").exists());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_a_kill_left_goes_with_the_next_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "old").unwrap();
        fs::write(folder.path().join(".a.partial"), "left").unwrap();
        let Unfinished::Nameless(mut file) = Unfinished::create(folder.path(), "a").unwrap() else {
            return;
        };
        file.write_all(b"new").unwrap();
        Unfinished::Nameless(file).rename(folder.path(), &path, true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    #[cfg(unix)]
    fn only_the_owner_can_read_a_file_before_it_has_its_name() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let unfinished = Unfinished::create(folder.path(), "a").unwrap();
        let named = Unfinished::Named(named(folder.path(), ".a.").unwrap());
        for file in [unfinished, named] {
            assert_eq!(file.file().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
