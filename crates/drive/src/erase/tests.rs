use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;
use crate::guard::DeviceNumber;

/// A controller with one namespace, number 1, that supports all commands. Tests change single
/// properties.
struct Fake {
    controller: Vec<(usize, u8)>,
    active: Vec<u32>,
    allocated: Vec<u32>,
    namespace: Cell<Namespace>,
    /// The namespace after a format.
    formatted: Namespace,
    /// Successive values of Sanitize Progress and Sanitize Status; the last one stays.
    sanitize: RefCell<VecDeque<(u16, u16)>>,
    /// A command to reject, and the status to return.
    rejects: Option<(CommandFilter, u32)>,
    sent: RefCell<Vec<Admin>>,
}

type CommandFilter = fn(&Admin) -> bool;

const ORIGINAL: Namespace =
    Namespace { number: 1, layout: Layout { flbas: 0x13, dps: 0x09 }, blocks: 0x1_0000_0800 };

impl Fake {
    fn new() -> Fake {
        Fake {
            // OACS: Format NVM and namespace management; SANICAP: all three methods.
            controller: vec![(256, 0b0000_1010), (328, 0b111)],
            active: vec![1],
            allocated: vec![1],
            namespace: Cell::new(ORIGINAL),
            formatted: ORIGINAL,
            sanitize: RefCell::new([(0xFFFF, 0), (0, 2), (0x8000, 2), (0xFFFF, 0x101)].into()),
            rejects: None,
            sent: RefCell::default(),
        }
    }

    fn with(at: usize, byte: u8) -> Fake {
        let mut fake = Fake::new();
        fake.controller.push((at, byte));
        fake
    }

    fn list(page: &mut [u8], ids: &[u32]) {
        for (place, id) in page.chunks_exact_mut(4).zip(ids) {
            place.copy_from_slice(&id.to_le_bytes());
        }
    }

    /// Returns the commands sent so far that change the drive.
    fn changes(&self) -> Vec<Admin> {
        let reads = |command: &Admin| {
            use Admin::{GetLogPage, Identify, IdentifyNamespace};
            matches!(command, GetLogPage { .. } | Identify(_) | IdentifyNamespace { .. })
        };
        self.sent.borrow().iter().filter(|command| !reads(command)).copied().collect()
    }

    /// Returns the reason for a refusal, and asserts that only queries were sent.
    #[track_caller]
    fn refusal(&self, erasure: Erasure) -> String {
        let refusal = plan(&self, erasure).unwrap_err().to_string();
        assert_eq!(self.changes(), []);
        refusal
    }

    fn erase(
        &self,
        erasure: Erasure,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, EraseError> {
        let plan = plan(&self, erasure).unwrap();
        let subject = Subject { path: "/dev/nvme7n1".into(), erasure, writable: true };
        Eraser { drive: self, plan, subject, poll_interval: Duration::ZERO }.erase(progress)
    }
}

impl Controller for &Fake {
    fn namespace(&self) -> io::Result<u32> {
        Ok(self.namespace.get().number)
    }

    fn send(&self, command: Admin, answer: &mut [u8]) -> Result<(), CommandError> {
        self.sent.borrow_mut().push(command);
        if let Some((rejects, status)) = self.rejects
            && rejects(&command)
        {
            return Err(CommandError::Status(status));
        }
        assert!(answer.iter().all(|byte| *byte == 0));
        match command {
            Admin::GetLogPage { log } => {
                assert_eq!((log, answer.len()), (0x81, 512));
                let mut states = self.sanitize.borrow_mut();
                let (progress, status) = states[0];
                if states.len() > 1 {
                    states.pop_front();
                }
                answer[..2].copy_from_slice(&progress.to_le_bytes());
                answer[2..4].copy_from_slice(&status.to_le_bytes());
            }
            Admin::Identify(Structure::Controller) => {
                self.controller.iter().for_each(|(at, byte)| answer[*at] = *byte);
            }
            Admin::Identify(Structure::ActiveNamespaces) => Fake::list(answer, &self.active),
            Admin::Identify(Structure::AllocatedNamespaces) => Fake::list(answer, &self.allocated),
            Admin::IdentifyNamespace { namespace } => {
                let Namespace { number, layout, blocks } = self.namespace.get();
                assert_eq!(namespace, number);
                answer[..8].copy_from_slice(&blocks.to_le_bytes());
                (answer[26], answer[29]) = (layout.flbas, layout.dps);
            }
            Admin::Format { .. } => self.namespace.set(self.formatted),
            Admin::SanitizeBlockErase => {}
        }
        Ok(())
    }
}

fn proceed(_done: u64, _of: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

// The format keeps number, format, metadata and protection. No list of namespaces is needed,
// because the format affects one namespace.
#[test]
fn a_format_keeps_the_layout() {
    let mut fake = Fake::new();
    fake.allocated = vec![1, 2];
    assert_eq!(fake.erase(Erasure::Format, &mut proceed).unwrap(), ControlFlow::Continue(()));
    let format = Admin::Format { namespace: 1, layout: Layout { flbas: 0x13, dps: 0x09 } };
    assert_eq!(fake.changes(), [format]);
}

// The block format, the protection and the size must not change.
#[test]
fn a_format_that_changes_the_layout_is_an_error() {
    let flbas = Namespace { layout: Layout { flbas: 0x00, dps: 0x09 }, ..ORIGINAL };
    let dps = Namespace { layout: Layout { flbas: 0x13, dps: 0x00 }, ..ORIGINAL };
    let blocks = Namespace { blocks: 0x800, ..ORIGINAL };
    for formatted in [flbas, dps, blocks] {
        let mut fake = Fake::new();
        fake.formatted = formatted;
        let error = fake.erase(Erasure::Format, &mut proceed).unwrap_err().to_string();
        assert!(error.contains("changed the drive's block format or size"), "{error}");
    }
}

// The command is sent once.
#[test]
fn a_sanitize_reports_its_progress() {
    for done in [0x101, 0x104] {
        let fake = Fake::new();
        fake.sanitize.borrow_mut().back_mut().unwrap().1 = done;
        let mut reports = vec![];
        let mut progress = |done, of| {
            reports.push((done, of));
            ControlFlow::Continue(())
        };
        let outcome = fake.erase(Erasure::Sanitize, &mut progress).unwrap();
        assert_eq!(outcome, ControlFlow::Continue(()));
        assert_eq!(reports, [(0, 0x1_0000), (0x8000, 0x1_0000)]);
        assert_eq!(fake.changes(), [Admin::SanitizeBlockErase]);
    }
}

// The sanitize operation continues to run.
#[test]
fn an_interrupted_sanitize_sends_nothing_more() {
    let fake = Fake::new();
    let outcome = fake.erase(Erasure::Sanitize, &mut |_, _| ControlFlow::Break(()));
    assert_eq!(outcome.unwrap(), ControlFlow::Break(()));
    let sent = fake.sent.borrow();
    let after = sent.iter().skip_while(|command| **command != Admin::SanitizeBlockErase);
    let status = Admin::GetLogPage { log: 0x81 };
    assert!(after.eq(&[Admin::SanitizeBlockErase, status]), "{sent:?}");
}

// A sanitize operation that never starts is an error too.
#[test]
fn a_failed_sanitize_is_an_error() {
    for (status, message) in [(3, "sanitize operation failed"), (0, "status of the drive is 0")] {
        let fake = Fake::new();
        *fake.sanitize.borrow_mut() = [(0xFFFF, 1), (0xFFFF, status)].into();
        let error = fake.erase(Erasure::Sanitize, &mut proceed).unwrap_err().to_string();
        assert!(error.starts_with("cannot sanitize `/dev/nvme7n1`: "), "{error}");
        assert!(error.contains(message), "{error}");
    }
}

// The error lists the other sanitize methods of the drive.
#[test]
fn drives_without_the_command_are_rejected() {
    let message = Fake::with(256, 0b1111_1101).refusal(Erasure::Format);
    assert_eq!(message, "the drive has no Format NVM command: choose another --state");
    let ways = [
        (0b000, ""),
        (0b001, " by block erase, only by crypto erase"),
        (0b100, " by block erase, only by overwrite"),
        (0b101, " by block erase, only by crypto erase or overwrite"),
    ];
    for (able, but_for) in ways {
        let message = Fake::with(328, able).refusal(Erasure::Sanitize);
        let expected = format!("the drive cannot sanitize itself{but_for}: choose another --state");
        assert_eq!(message, expected);
    }
    assert!(plan(&&Fake::with(256, 0), Erasure::Sanitize).is_ok());
    assert!(plan(&&Fake::with(328, 0), Erasure::Format).is_ok());
}

// A format erases other namespaces if the drive formats (bit 0) or erases (bit 1) all of them. A
// sanitize operation always does.
#[test]
fn commands_that_erase_other_namespaces_are_rejected() {
    for attributes in [0b001, 0b010, 0b011] {
        let mut fake = Fake::with(524, attributes);
        assert!(matches!(plan(&&fake, Erasure::Format), Ok(Plan::Format(_))), "{attributes}");
        fake.allocated = vec![1, 2];
        let message = fake.refusal(Erasure::Format);
        assert!(message.contains("and there is another one: choose"), "{message}");
    }
    // Crypto erase (bit 2) does not extend the scope.
    let mut fake = Fake::with(524, 0b100);
    fake.allocated = vec![1, 2, 9];
    assert!(matches!(plan(&&fake, Erasure::Format), Ok(Plan::Format(_))));
    let message = fake.refusal(Erasure::Sanitize);
    assert!(message.contains("and there are 2 others: choose"), "{message}");
}

// The namespaces are not attached to this controller. A drive with several controllers that
// cannot list such namespaces is rejected.
#[test]
fn unattached_namespaces_count() {
    let mut fake = Fake::new();
    (fake.active, fake.allocated) = (vec![1], vec![1, 7]);
    assert!(fake.refusal(Erasure::Sanitize).contains("there is another one"));
    // Without namespace management (bit 3 of OACS), all namespaces are active.
    let mut fake = Fake::with(256, 0b0010);
    (fake.active, fake.allocated) = (vec![1], vec![1, 7]);
    assert_eq!(plan(&&fake, Erasure::Sanitize).unwrap(), Plan::Sanitize);
    fake.active = vec![1, 2];
    assert!(fake.refusal(Erasure::Sanitize).contains("there is another one"));
    // Other controllers (bit 1 of CMIC) may have other namespaces.
    fake.active = vec![1];
    fake.controller.push((76, 0b10));
    assert!(fake.refusal(Erasure::Sanitize).contains("attached to its other controllers"));
}

#[test]
fn a_sanitize_in_progress_is_an_obstacle() {
    let fake = Fake::new();
    *fake.sanitize.borrow_mut() = [(0x100, 2)].into();
    assert!(fake.refusal(Erasure::Sanitize).starts_with("a sanitize operation is in progress"));
}

// The drive rejects a query before the erase command, or the erase command itself.
#[test]
fn errors_name_the_action_and_the_status() {
    let cases: [(CommandFilter, _, _); 5] = [
        (|it| matches!(it, Admin::Identify(Structure::Controller)), Erasure::Format, "identify"),
        (|it| matches!(it, Admin::IdentifyNamespace { .. }), Erasure::Format, "identify itself"),
        (
            |it| matches!(it, Admin::Identify(Structure::AllocatedNamespaces)),
            Erasure::Sanitize,
            "identify itself",
        ),
        (
            |it| matches!(it, Admin::GetLogPage { .. }),
            Erasure::Sanitize,
            "report its sanitize progress",
        ),
        (|it| matches!(it, Admin::Format { .. }), Erasure::Format, "format itself"),
    ];
    for (rejects, erasure, action) in cases {
        let mut fake = Fake::new();
        fake.rejects = Some((rejects, 0x10A));
        let subject = Subject { path: "/dev/nvme7n1".into(), erasure, writable: true };
        let message = match plan(&&fake, erasure) {
            Ok(_) => fake.erase(erasure, &mut proceed).unwrap_err(),
            Err(obstacle) => subject.not_erased(&obstacle),
        };
        let message = message.to_string();
        assert!(message.contains(&format!("the drive refused to {action}")), "{message}");
        assert!(message.ends_with("the NVMe status 0x10a"), "{message}");
    }
}

#[test]
fn a_read_only_drive_is_never_erased() {
    for erasure in [Erasure::Format, Erasure::Sanitize] {
        let fake = Fake::new();
        let plan = plan(&&fake, erasure).unwrap();
        let subject = Subject { path: "/dev/nvme7n1".into(), erasure, writable: false };
        let mut eraser = Eraser { drive: &fake, plan, subject, poll_interval: Duration::ZERO };
        let error = eraser.erase(&mut proceed).unwrap_err().to_string();
        assert!(error.ends_with("it is open for reading only"), "{error}");
        assert_eq!(fake.changes(), []);
    }
}

#[test]
fn only_whole_nvme_drives_are_accepted() {
    let root = TempDir::new().unwrap();
    let sys = root.path().join("sys");
    let numbers = sys.join("dev/block");
    fs::create_dir_all(&numbers).unwrap();
    for (name, subsystem, minor) in [("nvme0n1", "nvme", 0), ("sda", "scsi", 16)] {
        let device = sys.join("devices/pci0000:00").join(subsystem);
        let disk = device.join(name);
        fs::create_dir_all(disk.join("part")).unwrap();
        fs::write(disk.join("part/partition"), "1\n").unwrap();
        symlink(&device, disk.join("device")).unwrap();
        symlink(format!("/bus/{subsystem}"), device.join("subsystem")).unwrap();
        symlink(&disk, numbers.join(format!("259:{minor}"))).unwrap();
        symlink(disk.join("part"), numbers.join(format!("259:{}", minor + 1))).unwrap();
    }
    let system = System::at(root.path());
    let number = |minor| DeviceNumber { major: 259, minor };
    let block = |minor| whole_drive(&system, Identity::Block(number(minor)));
    assert!(block(0).is_ok());
    assert!(matches!(block(1), Err(Obstacle::Partition(whole)) if whole == "/dev/nvme0n1"));
    for minor in [16, 17, 99] {
        assert!(matches!(block(minor), Err(Obstacle::NotNvme)), "{minor}");
    }
    let file = Identity::File { device: number(0), inode: 1 };
    assert!(matches!(whole_drive(&system, file), Err(Obstacle::File)));
}
