//! Finds the folder for the status sockets of this user's processes.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Returns the folder for files that exist as long as their process. It is in `$XDG_RUNTIME_DIR` if
/// that is set. If
/// not, it is `/run/flashscope` for root, and a temporary folder for other users.
pub(crate) fn folder() -> PathBuf {
    #[allow(clippy::disallowed_methods, reason = "the command line reads the environment")]
    let session = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty());
    let user = fs::metadata("/proc/self").map_or(0, |process| process.uid());
    match session {
        Some(session) => PathBuf::from(session).join("flashscope"),
        None if user == 0 => "/run/flashscope".into(),
        None => std::env::temp_dir().join(format!("flashscope-{user}")),
    }
}
