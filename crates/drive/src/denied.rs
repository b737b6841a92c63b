//! A drive that the system does not let this user open, and what the user can do about it.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::process::geteuid;

/// The names and numbers of groups.
const GROUPS: &str = "/etc/group";

/// Advises on how to get permission for `path`, as a suffix `: ADVICE` for an error message. Empty if `source` is not a matter of
/// permission.
pub(crate) fn advice(path: &Path, source: &io::Error) -> String {
    let hint = match source.raw_os_error() {
        Some(libc::EPERM) => "this container or sandbox lets nobody open it".into(),
        Some(libc::EACCES) => to_user(path),
        _ => return String::new(),
    };
    format!(": {hint}")
}

fn to_user(path: &Path) -> String {
    if geteuid().is_root() {
        return "this container or sandbox lets not even root open it".into();
    }
    let Ok(found) = fs::metadata(path) else { return "a folder above it is closed to you".into() };
    if !found.file_type().is_block_device() {
        return format!("it belongs to the user with the number {}", found.uid());
    }
    let groups = fs::read_to_string(GROUPS).unwrap_or_default();
    let group = group_name(&groups, found.gid())
        .filter(|name| *name != "root" && found.mode() & 0o60 == 0o60);
    let node = path.canonicalize().unwrap_or_else(|_| path.into());
    let name = node.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let rule = format!(
        "a udev rule gives you this drive alone: KERNEL==\"{name}\", OWNER=\"{}\"",
        geteuid().as_raw()
    );
    match group {
        Some(group) => format!(
            "run it with `sudo`, or join the group of its drives, `sudo usermod --append --groups {group} \"$USER\"`, and log \
             in again; {rule} (docs/drives.md)"
        ),
        None => format!("run it with `sudo`; {rule} (docs/drives.md)"),
    }
}

/// The name of the group with a number, as `/etc/group` lists them.
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
    fn only_a_matter_of_permission_is_advised_on() {
        let of = |number| advice(Path::new("/dev/null"), &io::Error::from_raw_os_error(number));
        assert_eq!(of(libc::ENOENT), "");
        assert!(of(libc::EPERM).contains("container"));
        assert!(!of(libc::EACCES).is_empty());
    }
}
