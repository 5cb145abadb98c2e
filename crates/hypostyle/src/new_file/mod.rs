//! Files that get their name once they are complete.

mod unfinished;

use std::fs::{self, File, Permissions};
use std::io;
use std::path::{Path, PathBuf};

use unfinished::{Unfinished, default_permissions};

/// A file that is written without its name beside its path, and gets the name at the end.
///
/// A failure or a crash leaves an existing file untouched. A file that is dropped before
/// [`NewFile::complete`] is deleted. On Linux, nothing is left if the process is killed, unless the
/// file system lacks files without names; elsewhere, the next file of the same path deletes what is
/// left.
#[derive(Debug)]
pub struct NewFile {
    file: Unfinished,
    folder: PathBuf,
    path: PathBuf,
    replace: bool,
    /// The permissions that the file gets with its name.
    permissions: Permissions,
    /// Whether the file replaces another one.
    is_replaced: bool,
}

impl NewFile {
    /// Creates the file; with `replace`, the path may exist.
    ///
    /// Until it is complete, only its owner can read it. Then a new file gets the permissions that
    /// the umask leaves, and a file that is replaced keeps its own. A link is followed.
    ///
    /// # Errors
    ///
    /// Fails with [`io::ErrorKind::AlreadyExists`] if the path exists and may not be replaced,
    /// if it is a folder, and if its folder cannot be written.
    pub fn create(path: &Path, replace: bool) -> io::Result<Self> {
        let mut path = path.to_owned();
        let mut old = None;
        match fs::metadata(&path) {
            Ok(meta) if meta.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(_) if !replace => return Err(io::ErrorKind::AlreadyExists.into()),
            Ok(meta) => {
                path = fs::canonicalize(&path)?;
                old = Some(meta.permissions());
            }
            Err(err) if err.kind() == io::ErrorKind::NotFound => {}
            Err(err) => return Err(err),
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = Unfinished::create(&folder, &name)?;
        let is_replaced = old.is_some();
        let permissions = match old {
            Some(old) => old,
            None => default_permissions(&folder)?,
        };
        Ok(Self { file, folder, path, replace, permissions, is_replaced })
    }

    /// Returns whether the file replaces another one, whose permissions it keeps.
    pub fn is_replacement(&self) -> bool {
        self.is_replaced
    }

    /// Sets the permissions of the file: the lowest nine bits, on systems that have them.
    #[must_use]
    pub fn with_mode(mut self, mode: u32) -> Self {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            self.permissions = Permissions::from_mode(mode & 0o777);
        }
        #[cfg(not(unix))]
        let _ = (&mut self, mode);
        self
    }

    /// Returns the file, to write to it.
    pub fn file(&self) -> &File {
        self.file.file()
    }

    /// Returns the path that the file gets.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file its name. Then the content and the name are on the disk.
    ///
    /// # Errors
    ///
    /// Fails if the content cannot be written to the disk, and if the file cannot be renamed.
    pub fn complete(self) -> io::Result<()> {
        let Self { file, folder, path, replace, permissions, .. } = self;
        if cfg!(unix) {
            file.file().set_permissions(permissions)?;
        }
        // Without this, a crash of the machine could leave the name without the content.
        file.file().sync_all()?;
        file.rename(&folder, &path, replace)?;
        sync_folder(&folder)
    }
}

/// Writes the names in a folder to the disk, where the system can do so: a crash of the machine
/// could otherwise take the name of a complete file.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    // A folder that may be written but not read cannot be opened, and some file systems have no
    // such call.
    let Ok(opened) = File::open(folder) else { return Ok(()) };
    match opened.sync_all() {
        Err(err)
            if matches!(err.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
        {
            Ok(())
        }
        synced => synced,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn only_a_complete_file_gets_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.colf");
        let names = || fs::read_dir(folder.path()).unwrap().count();
        let new = NewFile::create(&path, false).unwrap();
        new.file().write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(new);
        assert_eq!(names(), 0);
        let new = NewFile::create(&path, false).unwrap();
        new.file().write_all(b"all").unwrap();
        new.complete().unwrap();
        assert_eq!((fs::read(&path).unwrap(), names()), (b"all".to_vec(), 1));
        let err = NewFile::create(&path, false).unwrap_err();
        assert_eq!(err.kind(), io::ErrorKind::AlreadyExists);
        let new = NewFile::create(&path, true).unwrap();
        new.file().write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"all");
        new.complete().unwrap();
        assert_eq!((fs::read(&path).unwrap(), names()), (b"new".to_vec(), 1));
        assert!(NewFile::create(folder.path(), true).is_err());
    }

    #[test]
    #[cfg(unix)]
    fn a_new_file_gets_its_mode_and_an_old_one_keeps_its_own() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        NewFile::create(&path, false).unwrap().with_mode(0o4640).complete().unwrap();
        assert_eq!(mode(), 0o640);
        let new = NewFile::create(&path, true).unwrap();
        assert!(new.is_replacement());
        new.complete().unwrap();
        assert_eq!(mode(), 0o640);
        fs::remove_file(&path).unwrap();
        fs::write(&path, "").unwrap();
        let usual = mode();
        fs::remove_file(&path).unwrap();
        NewFile::create(&path, true).unwrap().complete().unwrap();
        assert_eq!(mode(), usual);
    }

    /// Two writers of one path: the first one gets it, or the last one.
    #[test]
    fn two_files_of_one_path_do_not_mix() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let (one, other) =
            (NewFile::create(&path, false).unwrap(), NewFile::create(&path, false).unwrap());
        one.file().write_all(b"one").unwrap();
        other.file().write_all(b"other").unwrap();
        one.complete().unwrap();
        assert_eq!(other.complete().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
