//! Output files of commands, which may replace a file of the same name.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "output files by name: check_output refuses a file that is in use, locked, a store, or has a signature; any other existing file is replaced, not written"
    )
)]

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::{Identity, Refusal, System, check_unmarked, lock};
use crate::error::OpenError;
use crate::store;

/// Checks that an output file may take the name `path`. An existing regular file must be unused and
/// unlocked. It must not be a store, or have a known signature, such as a disk image has. No
/// confirmation is needed, because the user named the file. A link is replaced, not followed, and
/// its target does not matter.
///
/// # Errors
/// A refusal with the remedy.
pub fn check_output(path: &Path) -> Result<(), OpenError> {
    let look = || OpenError::system("inspect", path);
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
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

/// Creates an output file in place of an existing one, if [`check_output`] agrees. The existing
/// file is not written; it disappears once no process has it open. A link of the system, such as
/// `/dev/stdout`, is not replaced, and the call fails.
///
/// # Errors
/// The errors of [`check_output`], and those of creating the file.
pub fn create_output(path: &Path) -> Result<File, OpenError> {
    check_output(path)?;
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() && is_in_system_folder(path) => {}
        Ok(metadata) if metadata.is_file() || metadata.is_symlink() => {
            fs::remove_file(path).map_err(OpenError::system("replace", path))?;
        }
        _ => {}
    }
    File::create_new(path).map_err(OpenError::system("create", path))
}

/// Returns true for a name in `/dev` (except `/dev/shm`), `/proc` or `/sys`, whose links belong to
/// the system.
fn is_in_system_folder(path: &Path) -> bool {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new(".")).canonicalize().is_ok_and(|folder| {
        let is_device_folder = folder.starts_with("/dev") && !folder.starts_with("/dev/shm");
        is_device_folder || folder.starts_with("/proc") || folder.starts_with("/sys")
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileExt, symlink};

    use super::*;

    #[test]
    fn an_output_file_replaces_no_used_file_image_or_store() {
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
    fn links_and_open_files_are_replaced_not_written() {
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
