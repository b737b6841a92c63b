//! The kernel's files for an open NVMe namespace.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "/dev/ngXnY: only the character device of the namespace that the guard opened, compared by device number"
    )
)]

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::guard::{DeviceNumber, Identity, System, parse_number};
use crate::hardware::text;
use crate::topology::{Bus, bus_of, path_of};

/// The reason why an open file is not a whole namespace.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotWhole {
    #[error("it is a file, not an NVMe drive")]
    File,
    #[error("it is not an NVMe drive")]
    NotNvme,
    #[error("it is a partition of the NVMe drive `{0}`: name that drive")]
    Partition(String),
    #[error("cannot find it in sysfs: {0}")]
    System(io::Error),
}

/// Returns the sysfs directory of the namespace that an open block device exposes.
pub(crate) fn directory(system: &System, identity: Identity) -> Result<PathBuf, NotWhole> {
    let Identity::Block(number) = identity else { return Err(NotWhole::File) };
    let disk = system.whole_disk(number).ok_or(NotWhole::NotNvme)?;
    if bus_of(&disk) != Bus::Nvme {
        return Err(NotWhole::NotNvme);
    }
    let itself = system.directory(number).map_err(NotWhole::System)?;
    if itself == disk { Ok(disk) } else { Err(NotWhole::Partition(path_of(&disk))) }
}

/// Returns the block device of a character device: `/dev/nvme0n1` for `/dev/ng0n1`. Both names
/// contain the same two numbers.
pub(crate) fn block_device(path: &str) -> Option<PathBuf> {
    let (controller, namespace) = path.strip_prefix("/dev/ng")?.split_once('n')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    let named = is_number(controller) && is_number(namespace);
    named.then(|| format!("/dev/nvme{controller}n{namespace}").into())
}

/// Opens the character device of the namespace with the sysfs directory `disk`. The sysfs directory
/// of the character device lies next to `disk` (Linux 5.13).
pub(crate) fn open_character_device(
    system: &System,
    disk: &Path,
    writes: bool,
) -> io::Result<File> {
    let block = path_of(disk);
    let name = block.replace("/dev/nvme", "ng");
    let number = text(&disk.with_file_name(&name).join("dev"));
    let number = number.and_then(|number| parse_number(&number)).ok_or_else(|| {
        let why = format!(
            "the kernel has no character device for `{block}`: Linux 6.1 or later is required"
        );
        io::Error::new(io::ErrorKind::Unsupported, why)
    })?;
    let node = system.path(&format!("dev/{name}"));
    let explain = |error: io::Error| {
        io::Error::new(error.kind(), format!("cannot open `/dev/{name}`: {error}"))
    };
    let file = fs::OpenOptions::new().read(true).write(writes).open(node).map_err(explain)?;
    let metadata = file.metadata()?;
    if !metadata.file_type().is_char_device() || DeviceNumber::new(metadata.rdev()) != number {
        return Err(io::Error::other(format!("`/dev/{name}` leads to another device")));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn character_devices_map_to_block_devices() {
        assert_eq!(block_device("/dev/ng0n1"), Some("/dev/nvme0n1".into()));
        assert_eq!(block_device("/dev/ng12n345"), Some("/dev/nvme12n345".into()));
        for other in ["/dev/ng0", "/dev/ngn1", "/dev/ng0n", "/dev/ng0n1p1", "/dev/nvme0n1", "ng0n1"]
        {
            assert_eq!(block_device(other), None, "{other}");
        }
    }

    #[test]
    fn the_number_of_the_character_device_is_checked() {
        let root = tempfile::tempdir().unwrap();
        let disk = root.path().join("sys/devices/nvme0/nvme0n1");
        let beside = root.path().join("sys/devices/nvme0/ng0n1");
        let open = || open_character_device(&System::at(root.path()), &disk, false);
        let message = || open().unwrap_err().to_string();
        assert!(message().contains("no character device for `/dev/nvme0n1`"), "{}", message());
        fs::create_dir_all(&beside).unwrap();
        fs::write(beside.join("dev"), "1:3\n").unwrap();
        assert!(message().contains("cannot open `/dev/ng0n1`"), "{}", message());
        fs::create_dir_all(root.path().join("dev")).unwrap();
        let node = root.path().join("dev/ng0n1");
        symlink("/dev/zero", &node).unwrap();
        assert!(message().contains("`/dev/ng0n1` leads to another device"), "{}", message());
        fs::remove_file(&node).unwrap();
        // /dev/null has this number on every Linux machine.
        symlink("/dev/null", &node).unwrap();
        assert!(open().is_ok());
    }
}
