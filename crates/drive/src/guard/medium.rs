use std::fs::{self, Metadata};
use std::io;
use std::path::Path;

use super::{DeviceNumber, Identity, System};

/// The medium of a folder, compared with that of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// The folder lies on the drive itself, such as on one of its partitions.
    OnDrive,
    /// The drive is a file, or a loop device over a file. The folder lies on the disk that holds
    /// this file.
    BesideDrive,
    /// The folder lies elsewhere, as far as the system shows: LVM and network storage hide their
    /// media.
    Elsewhere,
}

/// Compares the medium of the folder `folder` with that of the device or file `drive`.
///
/// # Errors
/// The error of the system.
pub fn medium_of(system: &System, drive: &Path, folder: &Path) -> io::Result<Medium> {
    compare(system, &fs::metadata(drive)?, &fs::metadata(folder)?)
}

fn compare(system: &System, drive: &Metadata, folder: &Metadata) -> io::Result<Medium> {
    let place = Identity::from(folder).device();
    let disk = system.whole_disk(place);
    let is_same = |number: DeviceNumber| {
        number == place || disk.is_some() && system.whole_disk(number) == disk
    };
    let kin = system.kin(Identity::from(drive))?;
    let mut nearest = Medium::Elsewhere;
    for relative in kin.into_iter().filter(|relative| is_same(relative.device())) {
        match relative {
            Identity::Block(_) => return Ok(Medium::OnDrive),
            Identity::File { .. } => nearest = Medium::BesideDrive,
        }
    }
    Ok(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_and_a_folder_of_one_file_system_share_their_medium() {
        let folder = tempfile::tempdir().unwrap();
        let drive = folder.path().join("drive");
        fs::write(&drive, "").unwrap();
        let medium = |place: &Path| medium_of(&System::default(), &drive, place).unwrap();
        assert_eq!(medium(folder.path()), Medium::BesideDrive);
        assert_eq!(medium(Path::new("/proc")), Medium::Elsewhere);
    }
}
