use std::io;
use std::path::{Path, PathBuf};

/// The reason why a drive could not be traced.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The device does not exist.
    #[error("device `{}` does not exist: `lsblk` lists the available ones", .0.display())]
    NoDevice(PathBuf),
    /// The path is not a block device.
    #[error(
        "`{}` is not a block device: the kernel traces drives, such as /dev/nvme0n1; to trace a \
         file, name the drive that holds it",
        .0.display()
    )]
    NotADevice(PathBuf),
    /// The kernel cannot trace block devices.
    #[error(
        "this kernel cannot trace block devices (`{}` is missing or does not list `blk`): it needs \
         CONFIG_BLK_DEV_IO_TRACE, which most distributions enable",
        .0.display()
    )]
    NoTracer(PathBuf),
    /// The file system that configures the tracer is not mounted.
    #[error(
        "tracefs is not mounted at `{}`: mount it with `mount -t tracefs nodev {}`",
        .0.display(),
        .0.display()
    )]
    NoTracefs(PathBuf),
    /// The user lacks the permission.
    #[error("cannot {action} `{}`: {source}; {hint}", path.display())]
    NotPermitted {
        /// The action, as in "cannot ...".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the kernel.
        source: io::Error,
        /// The remedy.
        hint: &'static str,
    },
    /// Another user is tracing.
    #[error(
        "the kernel's tracer is in use: {user}; there is one for the whole system, so wait until \
             it is free. If nobody needs it any more, end that use: {free}"
    )]
    InUse {
        /// The evidence of the use.
        user: String,
        /// The command that ends the use, or that shows the process to end.
        free: String,
    },
    /// The operating system returned an error.
    #[error("cannot {action} `{}`: {source}", path.display())]
    System {
        /// The action, as in "cannot ...".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl RecordError {
    /// Returns a function for `map_err` that adds the failed `action` and the `path` to an error.
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
                    format!("`fuser -v {}` shows the process", path.with_file_name("*").display());
                RecordError::in_use(
                    format!("the kernel reports that `{}` is busy", path.display()),
                    who,
                )
            }
            _ => RecordError::System { action, path, source },
        }
    }

    /// Creates the error for a tracer in use. `user` is the evidence, and `free` the command to
    /// free it.
    pub(super) fn in_use(user: impl Into<String>, free: impl Into<String>) -> RecordError {
        RecordError::InUse { user: user.into(), free: free.into() }
    }
}

fn permission_hint() -> &'static str {
    if rustix::process::geteuid().is_root() {
        "the kernel does not allow root to trace: it is locked down (see \
         /sys/kernel/security/lockdown), or this is a container"
    } else {
        "tracing requires root: run it with `sudo`"
    }
}
