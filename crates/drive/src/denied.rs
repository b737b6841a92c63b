//! Advice for a user who lacks the permission to open a drive.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::process::geteuid;

/// The file that lists names and numbers of groups.
const GROUPS: &str = "/etc/group";

/// Returns advice on how to get permission for `path`, as a suffix `: ADVICE` for an error message.
/// Empty if `source` is not a permission error.
pub(crate) fn advice(path: &Path, source: &io::Error) -> String {
    let hint = match source.raw_os_error() {
        Some(libc::EPERM) => "this container or sandbox does not allow opening it".into(),
        Some(libc::EACCES) => for_user(path),
        _ => return String::new(),
    };
    format!(": {hint}")
}

/// Returns advice for `EACCES` on `path`.
fn for_user(path: &Path) -> String {
    if geteuid().is_root() {
        return "this container or sandbox does not allow even root to open it".into();
    }
    let Ok(metadata) = fs::metadata(path) else {
        return "you may not enter a folder on its path".into();
    };
    if !metadata.file_type().is_block_device() {
        return format!("it belongs to the user with ID {}", metadata.uid());
    }
    let groups = fs::read_to_string(GROUPS).unwrap_or_default();
    let group = group_name(&groups, metadata.gid())
        .filter(|name| *name != "root" && metadata.mode() & 0o60 == 0o60);
    let node = path.canonicalize().unwrap_or_else(|_| path.into());
    let name = node.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let rule = format!(
        "a udev rule gives you access to this drive alone: KERNEL==\"{name}\", OWNER=\"{}\"",
        geteuid().as_raw()
    );
    match group {
        Some(group) => format!(
            "run flashscope with `sudo`, or join the group `{group}`, which may open it, with \
                 `sudo usermod --append --groups {group} \"$USER\"` and log in again; {rule} (docs/drives.md)"
        ),
        None => format!("run flashscope with `sudo`; {rule} (docs/drives.md)"),
    }
}

/// Returns the name of the group with an ID, from the text of `/etc/group`.
fn group_name(groups: &str, number: u32) -> Option<&str> {
    groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(number)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_found_by_its_number() {
        let groups = "root:x:0:\ndisk:x:6:anna,bob\n\nbroken\nusers:x:100:\n";
        assert_eq!(group_name(groups, 6), Some("disk"));
        assert_eq!(group_name(groups, 1), None);
    }

    #[test]
    fn only_permission_errors_get_advice() {
        let of = |number| advice(Path::new("/dev/null"), &io::Error::from_raw_os_error(number));
        assert_eq!(of(libc::ENOENT), "");
        assert!(of(libc::EPERM).contains("container"));
        assert!(!of(libc::EACCES).is_empty());
    }
}
