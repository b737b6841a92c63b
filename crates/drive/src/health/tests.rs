use std::cell::RefCell;
use std::os::unix::fs::{MetadataExt, symlink};

use tempfile::TempDir;

use super::*;
use crate::inventory;

/// A machine on whose drive `name`, in the subsystem `subsystem`, a file lies.
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

/// A drive that answers as it is told, and keeps what it was asked for.
struct Fake<F> {
    answer: F,
    asked: RefCell<Vec<LogId>>,
}

impl<F: Fn(LogId) -> Result<u8, Failed>> Controller for &Fake<F> {
    fn namespace(&self) -> io::Result<u32> {
        panic!("the health is of the whole drive")
    }

    fn send(&self, command: Admin, page: &mut [u8]) -> Result<(), Failed> {
        let ids = [LogId::Smart, LogId::Extended];
        let asks = |id: &LogId| command == Admin::GetLogPage { log: *id as u8 };
        let Some(log) = ids.into_iter().find(asks) else { panic!("{command:?} was sent") };
        self.asked.borrow_mut().push(log);
        page.fill((self.answer)(log)?);
        Ok(())
    }
}

/// What is read of the drive on which the file of a machine lies, and what it was asked for.
fn read(
    answer: impl Fn(LogId) -> Result<u8, Failed>,
) -> (Result<LogPages, Unreadable>, Vec<LogId>) {
    let machine = Machine::new("nvme0n1", Some("nvme"), true);
    let fake = Fake { answer, asked: RefCell::default() };
    let open = |drive: &Drive| {
        assert_eq!(drive.path, "/dev/nvme0n1");
        assert_eq!(drive.node, machine.root.path().join("dev/nvme0n1"));
        assert_eq!(drive.number, DeviceNumber { major: 259, minor: 7 });
        Ok(&fake)
    };
    let pages = ask(&machine.system(), &machine.file(), open, both);
    (pages, fake.asked.into_inner())
}

// Is the whole drive below the partition that a file lies on opened, and is each page what the drive
// answered to its own identifier?
#[test]
fn both_pages_of_the_drive_below_a_file() {
    let (pages, asked) = read(|log| Ok(log as u8));
    let expected = LogPages { smart: [0x02; 512], extended: Some([0xC0; 512]) };
    assert_eq!(pages.unwrap(), expected);
    assert_eq!(asked, [LogId::Smart, LogId::Extended]);
}

// Is a drive without the extended page still read, and one without the first an error that tells the
// drive and its answer?
#[test]
fn pages_that_a_drive_lacks() {
    let only =
        |has: LogId| move |log: LogId| if log == has { Ok(1) } else { Err(Failed::Status(0x109)) };
    let (pages, _) = read(only(LogId::Smart));
    assert_eq!(pages.unwrap(), LogPages { smart: [1; 512], extended: None });
    let (pages, asked) = read(only(LogId::Extended));
    let error = pages.unwrap_err();
    assert!(matches!(error, Unreadable::Refused { status: 0x109, .. }), "{error:?}");
    let text = "`/dev/nvme0n1` does not tell its health: it answered with the NVMe status 0x109";
    assert_eq!(error.to_string(), text);
    assert_eq!(asked, [LogId::Smart]);
}

// Does missing permission say what to do, whether opening or asking takes it?
#[test]
fn permission_is_told() {
    let denied = || io::Error::from_raw_os_error(libc::EACCES);
    let (pages, _) = read(|_| Err(Failed::System(denied())));
    let asking = pages.unwrap_err().to_string();
    let machine = Machine::new("nvme0n1", Some("nvme"), false);
    let open = |_: &Drive| Err::<File, _>(denied());
    let opening = ask(&machine.system(), &machine.file(), open, |drive| page(&drive, LogId::Smart));
    for text in [asking, opening.unwrap_err().to_string()] {
        assert!(text.starts_with("cannot read the health of `/dev/nvme0n1`: "), "{text}");
        assert!(text.ends_with(" (it takes root)"), "{text}");
    }
}

// Is a file on a drive that is not NVMe, or on none, never opened as one?
#[test]
fn other_drives_are_not_asked() {
    let open = |drive: &Drive| -> io::Result<File> { panic!("{drive:?} was opened") };
    let reason = |system: &System, file: &Path| {
        ask(system, file, open, |drive| page(&drive, LogId::Smart)).unwrap_err()
    };
    for (name, subsystem) in [("vda", Some("virtio")), ("sda", Some("scsi")), ("loop3", None)] {
        let machine = Machine::new(name, subsystem, false);
        let found = reason(&machine.system(), &machine.file());
        assert!(matches!(&found, Unreadable::NotNvme(drive) if *drive == format!("/dev/{name}")));
    }
    let machine = Machine::new("nvme0n1", Some("nvme"), false);
    let missing = reason(&machine.system(), &machine.root.path().join("no such file"));
    assert!(matches!(missing, Unreadable::NoDrive(_)), "{missing:?}");
    let number = machine.root.path().join(format!("sys/dev/block/{}", machine.number));
    fs::remove_file(number).unwrap();
    let in_memory = reason(&machine.system(), &machine.file());
    assert!(matches!(in_memory, Unreadable::NoDrive(_)), "{in_memory:?}");
}

// Is a node that leads to something else than the drive refused before a command is sent?
#[test]
fn a_node_of_something_else_is_not_asked() {
    let machine = Machine::new("nvme0n1", Some("nvme"), false);
    fs::create_dir(machine.root.path().join("dev")).unwrap();
    fs::write(machine.root.path().join("dev/nvme0n1"), [0; 4096]).unwrap();
    for error in [
        log_pages(&machine.system(), &machine.file()).unwrap_err(),
        smart(&machine.system(), &machine.file()).unwrap_err(),
    ] {
        assert!(error.to_string().ends_with("leads to something else"), "{error}");
    }
}

// Are this machine's drives that are not NVMe, loop devices among them, said to be so without an
// error of the system?
#[test]
fn drives_of_this_machine() {
    let system = System::default();
    let Ok(inventory) = inventory::devices(&system, |_| None::<()>) else {
        println!("passed by: this machine shows no block devices");
        return;
    };
    for device in inventory.devices.iter().filter(|device| device.bus != Bus::Nvme) {
        match smart(&system, Path::new(&device.path)) {
            Err(Unreadable::NotNvme(_) | Unreadable::NoDrive(_)) => {}
            answer => panic!("{}: {answer:?}", device.path),
        }
    }
}
