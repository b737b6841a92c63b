use std::os::unix::fs::{MetadataExt, symlink};

use super::*;

/// Creates a fake machine whose file `file` lies on an NVMe drive with the serial number `serial`.
fn machine(serial: &str) -> tempfile::TempDir {
    let root = tempfile::TempDir::new().unwrap();
    let device = root.path().join("sys/devices/pci0000:00/nvme/nvme0");
    let disk = device.join("nvme0n1");
    let numbers = root.path().join("sys/dev/block");
    fs::create_dir_all(&disk).unwrap();
    fs::create_dir_all(&numbers).unwrap();
    for (file, text) in [("nvme0n1/dev", "259:7"), ("serial", serial), ("model", "Test")] {
        fs::write(device.join(file), text).unwrap();
    }
    symlink(&device, disk.join("device")).unwrap();
    symlink("/bus/nvme", device.join("subsystem")).unwrap();
    fs::write(root.path().join("file"), "").unwrap();
    let number = fs::metadata(root.path().join("file")).unwrap().dev();
    let number = format!("{}:{}", major(number), minor(number));
    for number in [&number[..], "259:7"] {
        symlink(&disk, numbers.join(number)).unwrap();
    }
    root
}

/// Returns the major number of a device number of Linux.
fn major(number: u64) -> u64 {
    number >> 8 & 0xFFF | number >> 32 & !0xFFF
}

/// Returns the minor number of a device number of Linux.
fn minor(number: u64) -> u64 {
    number & 0xFF | number >> 12 & !0xFF
}

#[test]
fn another_drive_at_the_same_path_has_its_own_name_and_pages() {
    let root = machine("S2");
    let system = System::at(root.path());
    let path = root.path().join("file");
    let mut source = NvmeSource::new(NvmeDrive {
        path: path.clone(),
        model: Some("Old".into()),
        serial: Some("S1".into()),
    });
    source.extended = PageState::Absent;
    let SourceReading { drive, health, .. } = source.read(&system);
    assert_eq!((drive.id(), drive.model.as_deref()), ("S2", Some("Test")));
    assert_eq!(drive.name, path.display().to_string());
    assert_eq!(source.extended, PageState::Unknown);
    assert!(health.is_err(), "the machine has no node");
    source.extended = PageState::Absent;
    source.read(&system);
    assert_eq!(source.extended, PageState::Absent, "the same drive keeps its state");
    fs::remove_file(&path).unwrap();
    let gone = source.read(&system);
    assert_eq!(gone.drive.id(), "S2");
    assert!(gone.health.unwrap_err().to_string().contains("is gone: "));
}

#[test]
fn a_page_that_was_read_once_is_asked_for_again_after_a_failure() {
    let mut page = PageState::default();
    page.note(false, false);
    assert_eq!(page, PageState::Unknown, "a timeout says nothing");
    page.note(true, false);
    page.note(false, false);
    page.note(false, true);
    assert_eq!(page, PageState::Present);
    let mut none = PageState::default();
    none.note(false, true);
    assert_eq!(none, PageState::Absent);
}
