//! Files that commands write their output to, which may replace what has that name.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "files of output by their names: check_output: no file in use, locked, or with a signature, no store; what had the name is replaced and not written"
    )
)]

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::{Identity, Refusal, System, check_unmarked, lock};
use crate::error::OpenError;
use crate::store;

/// Whether a file of output may take the name `path`: a regular file that has it is not in use, not locked, no store, and
/// no image of a disk that bears data. Its owner named it, and confirms nothing; a link is replaced and not followed, so
/// that what it leads to does not matter.
///
/// # Errors
/// What is in the way, and what to do.
pub fn check_output(path: &Path) -> Result<(), OpenError> {
    let look = || OpenError::system("look at", path);
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(look()(source)),
    }
    let probe = File::open(path).map_err(OpenError::system("open", path))?;
    let identity = Identity::of(&probe).map_err(look())?;
    System::default().check_unused(path, identity)?;
    if lock::is_locked(&probe).map_err(look())? {
        return Err(Refusal::Locked { path: path.into(), process: None }.into());
    }
    store::check_is_none(path, &probe)?;
    Ok(check_unmarked(path, &probe)?)
}

/// Makes a file for output, in place of the one that has the name if [`check_output`] agrees: that one is not written, and
/// goes once nobody has it open.
///
/// # Errors
/// As [`check_output`], and where no file can be made.
pub fn create_output(path: &Path) -> Result<File, OpenError> {
    check_output(path)?;
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() || found.is_symlink() => {
            fs::remove_file(path).map_err(OpenError::system("replace", path))?;
        }
        _ => {}
    }
    File::create_new(path).map_err(OpenError::system("create", path))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileExt, symlink};

    use super::*;

    #[test]
    fn an_output_replaces_neither_what_is_in_use_nor_an_image_nor_a_store() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        check_output(&path).unwrap();
        fs::write(&path, "an earlier page").unwrap();
        check_output(&path).unwrap();
        let holder = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        lock::set(&holder, libc::F_RDLCK).unwrap();
        let locked = check_output(&path).unwrap_err();
        assert!(matches!(locked, OpenError::Refused(Refusal::Locked { .. })), "{locked}");
        lock::set(&holder, libc::F_UNLCK).unwrap();
        holder.set_len(1 << 20).unwrap();
        holder.write_all_at(b"XFSB", 0).unwrap();
        let image = create_output(&path).unwrap_err();
        assert!(matches!(image, OpenError::Refused(Refusal::Signature { .. })), "{image}");
        holder.write_all_at(b"flashscope store 1", 0).unwrap();
        assert!(matches!(check_output(&path), Err(OpenError::Store(_))));
    }

    #[test]
    fn a_link_and_what_another_has_open_are_replaced_and_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["file", "other"].map(|name| folder.path().join(name));
        fs::write(&path, "precious").unwrap();
        let kept = File::open(&path).unwrap();
        drop(create_output(&path).unwrap());
        let mut read = [0; 8];
        kept.read_exact_at(&mut read, 0).unwrap();
        assert_eq!((&read, fs::read(&path).unwrap().len()), (b"precious", 0));
        fs::write(&path, "precious").unwrap();
        symlink(&path, &other).unwrap();
        drop(create_output(&other).unwrap());
        assert!(!other.is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"precious");
        assert!(create_output(folder.path()).is_err());
    }
}
