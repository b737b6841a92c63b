//! Finds the folder in which processes with attached drives register.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Returns the folder for files that live as long as their process: in the user's session if there is one, else
/// `/run/flashscope` for root and a temporary folder for others.
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
