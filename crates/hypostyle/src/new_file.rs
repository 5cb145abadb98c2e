//! Files that get their name once they are complete.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A file that is written under a temporary name beside its path, and renamed at the end.
///
/// A failure or a crash leaves an existing file untouched. A file that is dropped before
/// [`NewFile::complete`] is deleted.
#[derive(Debug)]
pub struct NewFile {
    temp: NamedTempFile,
    path: PathBuf,
    replace: bool,
}

impl NewFile {
    /// Creates the temporary file; with `replace`, the path may exist.
    ///
    /// A new file gets the permissions that the umask leaves. A file that is replaced keeps
    /// its own, so its new content is never readable by more people. A link is followed.
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
        let stem = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let prefix = format!(".{}.", stem.chars().take(100).collect::<String>());
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(".partial");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(old.clone().unwrap_or(fs::Permissions::from_mode(0o666)));
        }
        let temp = builder.tempfile_in(&folder)?;
        if let Some(old) = old.filter(|_| cfg!(unix)) {
            temp.as_file().set_permissions(old)?;
        }
        Ok(Self { temp, path, replace })
    }

    /// Returns the temporary file.
    pub fn file(&self) -> &File {
        self.temp.as_file()
    }

    /// Returns the path that the file gets.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file its name.
    ///
    /// # Errors
    ///
    /// Fails if the content cannot be written to the disk, and if the file cannot be renamed.
    pub fn complete(self) -> io::Result<()> {
        // Without this, a crash of the machine could leave the name without the content.
        self.temp.as_file().sync_all()?;
        let named = if self.replace {
            self.temp.persist(&self.path)
        } else {
            self.temp.persist_noclobber(&self.path)
        };
        named.map(drop).map_err(|err| err.error)
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
}
