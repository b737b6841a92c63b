use std::io;
use std::path::{Path, PathBuf};

/// Why a drive could not be traced.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// There is no such device.
    #[error("there is no device `{}`: `lsblk` lists those there are", .0.display())]
    NoDevice(PathBuf),
    /// It is something else.
    #[error(
        "`{}` is no block device: the kernel traces drives, such as /dev/nvme0n1, and what a file \
         is asked for on the drive below it",
        .0.display()
    )]
    NotADevice(PathBuf),
    /// The kernel cannot trace block devices.
    #[error(
        "this kernel does not trace block devices (there is no `{}`): it needs one with \
         CONFIG_BLK_DEV_IO_TRACE, as those of most distributions are",
        .0.display()
    )]
    NoTracer(PathBuf),
    /// The file system by which the kernel is told what to trace is not there.
    #[error(
        "there is no tracefs at `{}`: mount it by `mount -t tracefs nodev {}`",
        .0.display(),
        .0.display()
    )]
    NoTracefs(PathBuf),
    /// It is there, but not for this user.
    #[error("cannot {action} `{}`: {source}; {hint}", path.display())]
    NotPermitted {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
        /// What to do.
        hint: &'static str,
    },
    /// Somebody else traces something.
    #[error(
        "the kernel's tracer is in use: {found}; it is one for the whole system, so wait for the \
         end of that. If nobody uses it any more: {free}"
    )]
    InUse {
        /// By what that is seen.
        found: String,
        /// How to free it.
        free: String,
    },
    /// The operating system refused.
    #[error("cannot {action} `{}`: {source}", path.display())]
    System {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Its answer.
        source: io::Error,
    },
}

impl RecordError {
    /// For `map_err`: `action` on `path` failed.
    pub(super) fn system(
        action: &'static str,
        path: &Path,
    ) -> impl FnOnce(io::Error) -> RecordError {
        let path = path.to_path_buf();
        move |source| match source.kind() {
            io::ErrorKind::PermissionDenied => {
                let hint = permission_hint();
                RecordError::NotPermitted { action, path, source, hint }
            }
            io::ErrorKind::ResourceBusy => {
                let who =
                    format!("`fuser -v {}` tells who it is", path.with_file_name("*").display());
                RecordError::in_use(
                    format!("the kernel answers that `{}` is busy", path.display()),
                    who,
                )
            }
            _ => RecordError::System { action, path, source },
        }
    }

    /// The tracer is in use by what `found` says.
    pub(super) fn in_use(found: impl Into<String>, free: impl Into<String>) -> RecordError {
        RecordError::InUse { found: found.into(), free: free.into() }
    }
}

fn permission_hint() -> &'static str {
    if rustix::process::geteuid().is_root() {
        "the kernel does not let this system administrator trace: it is locked down (see \
         /sys/kernel/security/lockdown), or this is a container"
    } else {
        "tracing needs a system administrator: run it by sudo"
    }
}
