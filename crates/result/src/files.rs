//! Files of a result: reads them, and writes them atomically.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "files of a result, and files of output by their names: in the folder of a result, which this process made or whose lock it holds; existing names are replaced, and links not followed; callers who name other files are in this table"
    )
)]

use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Error, system};

/// Locks the result at `path` against other writers while the returned file is open.
pub(crate) fn lock(path: &Path) -> Result<File, Error> {
    match system::lock(path).map_err(Error::io("open", path))? {
        Ok(folder) => Ok(folder),
        Err(TryLockError::WouldBlock) => Err(Error::Busy(path.into())),
        Err(TryLockError::Error(error)) => Err(Error::io("lock", path)(error)),
    }
}

/// Calls `write` to create a temporary file, and renames it when complete. The file therefore
/// appears atomically.
pub(crate) fn write_named(
    path: &Path,
    write: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<(), Error> {
    let unfinished = path.with_extension("unfinished");
    let removed = match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    removed.map_err(Error::io("remove", &unfinished))?;
    write_and_name(path, &unfinished, write)
}

/// Writes a file under the name `unfinished`, and then renames it to `path`.
fn write_and_name(
    path: &Path,
    unfinished: &Path,
    write: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<(), Error> {
    let written = write(unfinished).and_then(|()| {
        fs::rename(unfinished, path).map_err(Error::io("name", path))?;
        path.parent().map_or(Ok(()), sync_folder)
    });
    if written.is_err() {
        // Ignore a failed removal: the first error explains more.
        let _ = fs::remove_file(unfinished);
    }
    written
}

/// Writes a file atomically: it has either its old or its new content. Replaces a link instead of
/// following it, because its target may belong to another user.
///
/// # Errors
/// The file cannot be written.
pub fn write_text(path: &Path, text: &str) -> Result<(), Error> {
    write_named(path, |unfinished| write_new(unfinished, path, text))
}

/// Writes a file atomically like [`write_text`], in a folder of the user, and leaves all other
/// files of the folder alone.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write_text_beside_others(path: &Path, text: &str) -> Result<(), Error> {
    let unfinished = path.with_extension(format!("{}.unfinished", std::process::id()));
    if unfinished.symlink_metadata().is_ok() {
        return Err(Error::io("write", &unfinished)(io::ErrorKind::AlreadyExists.into()));
    }
    write_and_name(path, &unfinished, |unfinished| write_new(unfinished, path, text))
}

/// Writes the new file `unfinished`, which is to become `path`.
fn write_new(unfinished: &Path, path: &Path, text: &str) -> Result<(), Error> {
    let mut file = File::create_new(unfinished).map_err(Error::io("write", path))?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.map_err(Error::io("write", path))
}

/// Makes the names of files in `folder` durable.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), Error> {
    let folder = if folder == Path::new("") { Path::new(".") } else { folder };
    system::sync(folder).map_err(Error::io("write", folder))
}

/// Refuses a file whose format version is later than the latest known one.
pub(crate) fn check_version(path: &Path, known: u32) -> Result<(), Error> {
    #[derive(serde::Deserialize)]
    struct Version {
        schema_version: u32,
    }
    let Version { schema_version: found } = read_json(path)?;
    match found > known {
        true => Err(Error::Version { path: path.into(), found, known }),
        false => Ok(()),
    }
}

pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let text = fs::read(path).map_err(Error::io("read", path))?;
    serde_json::from_slice(&text).map_err(|source| Error::Json { path: path.into(), source })
}

/// Writes `value` as JSON atomically.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    write_whole(path, |file| Ok(serde_json::to_writer_pretty(file, value)?))
}

/// Writes a text file atomically. Replaces links instead of following them, because their targets
/// do not belong to this result.
pub(crate) fn write_whole(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), Error> {
    let unfinished = path.with_extension("json.unfinished");
    let write = || -> io::Result<()> {
        match fs::remove_file(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = BufWriter::new(File::create_new(&unfinished)?);
        content(&mut file)?;
        file.write_all(b"\n")?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(&unfinished, path)
    };
    write().map_err(|error| {
        // Ignore a failed removal: the first error explains more.
        let _ = fs::remove_file(&unfinished);
        Error::io("write", path)(error)
    })?;
    path.parent().map_or(Ok(()), sync_folder)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::write_output;

    // Files and links are replaced atomically, links are not followed, pipes are written to, and a
    // failed write loses nothing.
    #[test]
    fn texts_are_whole() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let of = |name: &str| fs::read_to_string(at(name)).unwrap();
        write_output(&at("a.txt"), "one").unwrap();
        for link in ["link.txt", "other.unfinished"] {
            symlink("a.txt", at(link)).unwrap();
        }
        write_text(&at("link.txt"), "two").unwrap();
        write_text(&at("other.txt"), "three").unwrap();
        assert_eq!([of("a.txt"), of("link.txt"), of("other.txt")], ["one", "two", "three"]);
        symlink("/dev/null", at("null")).unwrap();
        write_output(&at("null"), "nothing").unwrap();
        assert!(at("null").is_symlink());
        assert!(matches!(write_output(place.path(), "nothing"), Err(Error::NoFile(_))));
        fs::create_dir(at("a.unfinished")).unwrap();
        assert!(write_text(&at("a.txt"), "four").is_err());
        assert_eq!(of("a.txt"), "one");
    }
}
