use std::cell::RefCell;
use std::os::unix::fs::{MetadataExt, symlink};

use tempfile::TempDir;

use super::*;
use crate::inventory;

/// A fake machine with a file on the drive `name` of the subsystem `subsystem`.
struct Machine {
    root: TempDir,
    number: DeviceNumber,
}

impl Machine {
    fn new(name: &str, subsystem: Option<&str>, partition: bool) -> Machine {
        let root = TempDir::new().unwrap();
        fs::write(root.path().join("file"), "").unwrap();
        let number = fs::metadata(root.path().join("file")).unwrap().dev();
        let device = root.path().join("sys/devices/pci0000:00/nvme/nvme0");
        let disk = device.join(name);
        fs::create_dir_all(disk.join("part")).unwrap();
        fs::write(disk.join("dev"), "259:7\n").unwrap();
        fs::write(disk.join("part/partition"), "1\n").unwrap();
        if let Some(subsystem) = subsystem {
            symlink(&device, disk.join("device")).unwrap();
            symlink(format!("/bus/{subsystem}"), device.join("subsystem")).unwrap();
        }
        let numbers = root.path().join("sys/dev/block");
        fs::create_dir_all(&numbers).unwrap();
        let number = DeviceNumber::new(number);
        let holds = if partition { disk.join("part") } else { disk };
        symlink(holds, numbers.join(number.to_string())).unwrap();
        Machine { root, number }
    }

    fn system(&self) -> System {
        System::at(self.root.path())
    }

    fn file(&self) -> PathBuf {
        self.root.path().join("file")
    }
}

/// A fake drive that records the log pages requested.
struct Fake<F> {
    answer: F,
    requests: RefCell<Vec<LogId>>,
}

impl<F: Fn(LogId) -> Result<u8, CommandError>> Controller for &Fake<F> {
    fn namespace(&self) -> io::Result<u32> {
        panic!("the namespace was queried")
    }

    fn send(&self, command: Admin, page: &mut [u8]) -> Result<(), CommandError> {
        let ids = [LogId::Smart, LogId::Extended, LogId::LatencyMonitor];
        let matches = |id: &LogId| command == Admin::GetLogPage { log: *id as u8 };
        let Some(log) = ids.into_iter().find(matches) else { panic!("{command:?} was sent") };
        self.requests.borrow_mut().push(log);
        page.fill((self.answer)(log)?);
        Ok(())
    }
}

/// Reads the health of the drive that holds the machine's file, and returns it with the pages
/// requested.
fn read(
    answer: impl Fn(LogId) -> Result<u8, CommandError>,
) -> (Result<LogPages, HealthError>, Vec<LogId>) {
    let machine = Machine::new("nvme0n1", Some("nvme"), true);
    let fake = Fake { answer, requests: RefCell::default() };
    let open = |drive: &Drive| {
        assert_eq!(drive.path, "/dev/nvme0n1");
        assert_eq!(drive.node, machine.root.path().join("dev/nvme0n1"));
        assert_eq!(drive.number, DeviceNumber { major: 259, minor: 7 });
        Ok(&fake)
    };
    let pages = query(&machine.system(), &machine.file(), open, both);
    (pages, fake.requests.into_inner())
}

// The file lies on a partition of the drive.
#[test]
fn both_pages_of_the_drive_that_holds_a_file_are_read() {
    let (pages, requests) = read(|log| Ok(log as u8));
    let expected =
        LogPages { smart: [0x02; 512], extended: Some([0xC0; 512]), lacks_extended: false };
    assert_eq!(pages.unwrap(), expected);
    assert_eq!(requests, [LogId::Smart, LogId::Extended]);
}

// Without the SMART page, the error states the drive and the status.
#[test]
fn only_the_smart_page_is_mandatory() {
    let has_only = |has: LogId| {
        move |log: LogId| if log == has { Ok(1) } else { Err(CommandError::Status(0x109)) }
    };
    let (pages, _) = read(has_only(LogId::Smart));
    let lacks = LogPages { smart: [1; 512], extended: None, lacks_extended: true };
    assert_eq!(pages.unwrap(), lacks);
    let (pages, requests) = read(has_only(LogId::Extended));
    let error = pages.unwrap_err();
    assert!(matches!(error, HealthError::Refused { status: 0x109, .. }), "{error:?}");
    let text = "`/dev/nvme0n1` does not report its health: it returned the NVMe status 0x109";
    assert_eq!(error.to_string(), text);
    assert_eq!(requests, [LogId::Smart]);
}

// A temporary failure, such as a timeout or an aborted command, does not show that the drive lacks
// the page.
#[test]
fn only_a_statement_of_the_drive_denies_the_extended_page() {
    let lacks = |error: fn() -> CommandError| {
        let (pages, _) = read(|log| if log == LogId::Smart { Ok(1) } else { Err(error()) });
        let pages = pages.unwrap();
        assert_eq!(pages.extended, None);
        pages.lacks_extended
    };
    assert!(lacks(|| CommandError::Status(0x109)) && lacks(|| CommandError::Status(0x002)));
    assert!(!lacks(|| CommandError::Status(0x007)));
    assert!(!lacks(|| CommandError::System(io::Error::from_raw_os_error(libc::EINTR))));
}

// The error comes from the opening or from the command.
#[test]
fn permission_errors_name_the_remedy() {
    let denied = || io::Error::from_raw_os_error(libc::EACCES);
    let (pages, _) = read(|_| Err(CommandError::System(denied())));
    let sending = pages.unwrap_err().to_string();
    let machine = Machine::new("nvme0n1", Some("nvme"), false);
    let open = |_: &Drive| Err::<File, _>(denied());
    let opening =
        query(&machine.system(), &machine.file(), open, |drive| page(&drive, LogId::Smart));
    for text in [sending, opening.unwrap_err().to_string()] {
        assert!(text.starts_with("cannot read the health of `/dev/nvme0n1`: "), "{text}");
        assert!(text.ends_with(" (this requires root)"), "{text}");
    }
}

// The file lies on another kind of drive, or on none.
#[test]
fn other_drives_are_not_queried() {
    let open = |drive: &Drive| -> io::Result<File> { panic!("{drive:?} was opened") };
    let reason = |system: &System, file: &Path| {
        query(system, file, open, |drive| page(&drive, LogId::Smart)).unwrap_err()
    };
    for (name, subsystem) in [("vda", Some("virtio")), ("sda", Some("scsi")), ("loop3", None)] {
        let machine = Machine::new(name, subsystem, false);
        let error = reason(&machine.system(), &machine.file());
        assert!(matches!(&error, HealthError::NotNvme(drive) if *drive == format!("/dev/{name}")));
    }
    let machine = Machine::new("nvme0n1", Some("nvme"), false);
    let missing = reason(&machine.system(), &machine.root.path().join("no such file"));
    assert!(matches!(missing, HealthError::Gone { .. }), "{missing:?}");
    assert!(missing.to_string().contains("no such file` is gone: "), "{missing}");
    let number = machine.root.path().join(format!("sys/dev/block/{}", machine.number));
    fs::remove_file(number).unwrap();
    let in_memory = reason(&machine.system(), &machine.file());
    assert!(matches!(in_memory, HealthError::NoDrive(_)), "{in_memory:?}");
}

// Other drives are not listed.
#[test]
fn nvme_drives_are_listed_once_for_each_serial_number() {
    let machine = Machine::new("nvme0n1", Some("nvme"), false);
    let device = machine.root.path().join("sys/devices/pci0000:00/nvme/nvme0");
    fs::write(device.join("model"), "Test Model\n").unwrap();
    fs::write(device.join("serial"), "S1\n").unwrap();
    let list = machine.root.path().join("sys/block");
    fs::create_dir_all(&list).unwrap();
    let numbers = machine.root.path().join("sys/dev/block");
    for (name, number, subsystem) in
        [("nvme0n1", "259:7", "nvme"), ("nvme0n2", "259:8", "nvme"), ("sda", "8:0", "scsi")]
    {
        let disk = if name == "sda" {
            machine.root.path().join("sys/devices/sda")
        } else {
            device.join(name)
        };
        fs::create_dir_all(&disk).unwrap();
        fs::write(disk.join("dev"), number).unwrap();
        let _ = symlink(if subsystem == "nvme" { &device } else { &list }, disk.join("device"));
        symlink(&disk, list.join(name)).unwrap();
        let _ = symlink(&disk, numbers.join(number));
    }
    let expected = NvmeDrive {
        path: "/dev/nvme0n1".into(),
        model: Some("Test Model".into()),
        serial: Some("S1".into()),
    };
    let of_file = drive(&machine.system(), &machine.file()).unwrap();
    assert_eq!(of_file, expected);
    assert_eq!(drives(&machine.system()).unwrap(), [expected]);
}

#[test]
fn the_latency_monitor_is_page_c3h() {
    let machine = Machine::new("nvme0n1", Some("nvme"), false);
    let fake = Fake { answer: |log| Ok(log as u8), requests: RefCell::default() };
    let open = |_: &Drive| Ok(&fake);
    let read = |drive: &&Fake<_>| page(drive, LogId::LatencyMonitor);
    assert_eq!(query(&machine.system(), &machine.file(), open, read).unwrap(), [0xC3; 512]);
}

#[test]
fn a_node_of_another_device_is_not_queried() {
    let machine = Machine::new("nvme0n1", Some("nvme"), false);
    fs::create_dir(machine.root.path().join("dev")).unwrap();
    fs::write(machine.root.path().join("dev/nvme0n1"), [0; 4096]).unwrap();
    for error in [
        log_pages(&machine.system(), &machine.file()).unwrap_err(),
        read_smart_log(&machine.system(), &machine.file()).unwrap_err(),
    ] {
        assert!(error.to_string().ends_with("leads to another device"), "{error}");
    }
}

// Drives that are not NVMe, such as loop devices, do not cause an error of the system.
#[test]
fn other_drives_of_this_machine_are_recognized() {
    let system = System::default();
    let Ok(inventory) = inventory::devices(&system, |_| None::<()>) else {
        println!("skipped: this machine shows no block devices");
        return;
    };
    for device in inventory.devices.iter().filter(|device| device.bus != Bus::Nvme) {
        match read_smart_log(&system, Path::new(&device.path)) {
            Err(HealthError::NotNvme(_) | HealthError::NoDrive(_)) => {}
            answer => panic!("{}: {answer:?}", device.path),
        }
    }
}
