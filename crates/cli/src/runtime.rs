//! Where the processes of a user that have drives attached are found.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// The folder for what is there as long as processes run: of the user's session where there is one,
/// else `/run/flashscope` for root, and one among the temporary files for others.
pub fn folder() -> PathBuf {
    #[allow(clippy::disallowed_methods, reason = "the command line reads the environment")]
    let session = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty());
    let user = fs::metadata("/proc/self").map_or(0, |process| process.uid());
    match session {
        Some(session) => PathBuf::from(session).join("flashscope"),
        None if user == 0 => "/run/flashscope".into(),
        None => std::env::temp_dir().join(format!("flashscope-{user}")),
    }
}
