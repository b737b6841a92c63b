use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;
use crate::guard::DeviceNumber;

/// A controller with one namespace, number 1, that can all that is asked of it; of which a test changes
/// what it is about.
struct Fake {
    controller: Vec<(usize, u8)>,
    active: Vec<u32>,
    allocated: Vec<u32>,
    namespace: Cell<Namespace>,
    /// What a format turns the namespace into.
    formatted: Namespace,
    /// Sanitize Progress and Sanitize Status, one after the other; the last stays.
    sanitize: RefCell<VecDeque<(u16, u16)>>,
    /// Which command is refused, and with what status.
    refuses: Option<(Which, u32)>,
    sent: RefCell<Vec<Admin>>,
}

type Which = fn(&Admin) -> bool;

const AS_IT_WAS: Namespace =
    Namespace { number: 1, layout: Layout { flbas: 0x13, dps: 0x09 }, blocks: 0x1_0000_0800 };

impl Fake {
    fn new() -> Fake {
        Fake {
            // OACS: Format NVM and namespace management; SANICAP: all three.
            controller: vec![(256, 0b0000_1010), (328, 0b111)],
            active: vec![1],
            allocated: vec![1],
            namespace: Cell::new(AS_IT_WAS),
            formatted: AS_IT_WAS,
            sanitize: RefCell::new([(0xFFFF, 0), (0, 2), (0x8000, 2), (0xFFFF, 0x101)].into()),
            refuses: None,
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

    /// The commands that were sent which change something.
    fn changes(&self) -> Vec<Admin> {
        let reads = |command: &Admin| {
            use Admin::{GetLogPage, Identify, IdentifyNamespace};
            matches!(command, GetLogPage { .. } | Identify(_) | IdentifyNamespace { .. })
        };
        self.sent.borrow().iter().filter(|command| !reads(command)).copied().collect()
    }

    /// Why it is not to be erased; nothing but what reads was sent to find that out.
    #[track_caller]
    fn refusal(&self, erasure: Erasure) -> String {
        let refusal = plan(&self, erasure).unwrap_err().to_string();
        assert_eq!(self.changes(), []);
        refusal
    }

    fn erase(
        &self,
        erasure: Erasure,
        tell: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, EraseError> {
        let plan = plan(&self, erasure).unwrap();
        let subject = Subject { path: "/dev/nvme7n1".into(), erasure, writable: true };
        Eraser { drive: self, plan, subject, poll_interval: Duration::ZERO }.erase(tell)
    }
}

impl Controller for &Fake {
    fn namespace(&self) -> io::Result<u32> {
        Ok(self.namespace.get().number)
    }

    fn send(&self, command: Admin, answer: &mut [u8]) -> Result<(), Failed> {
        self.sent.borrow_mut().push(command);
        if let Some((refused, status)) = self.refuses
            && refused(&command)
        {
            return Err(Failed::Status(status));
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

fn go_on(_done: u64, _of: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

// Is a drive formatted by one command that keeps number, format, metadata and protection, without
// asking for a list of namespaces where it formats one alone?
#[test]
fn formats_as_it_was() {
    let mut fake = Fake::new();
    fake.allocated = vec![1, 2];
    assert_eq!(fake.erase(Erasure::Format, &mut go_on).unwrap(), ControlFlow::Continue(()));
    let format = Admin::Format { namespace: 1, layout: Layout { flbas: 0x13, dps: 0x09 } };
    assert_eq!(fake.changes(), [format]);
}

// Is a drive that comes out of a format with another format, protection or size an error?
#[test]
fn a_format_that_changes_something() {
    let flbas = Namespace { layout: Layout { flbas: 0x00, dps: 0x09 }, ..AS_IT_WAS };
    let dps = Namespace { layout: Layout { flbas: 0x13, dps: 0x00 }, ..AS_IT_WAS };
    let blocks = Namespace { blocks: 0x800, ..AS_IT_WAS };
    for formatted in [flbas, dps, blocks] {
        let mut fake = Fake::new();
        fake.formatted = formatted;
        let error = fake.erase(Erasure::Format, &mut go_on).unwrap_err().to_string();
        assert!(error.contains("came out with another format or size"), "{error}");
    }
}

// Is a sanitize started once, asked about until it is done, and its progress told?
#[test]
fn sanitizes_and_tells() {
    for done in [0x101, 0x104] {
        let fake = Fake::new();
        fake.sanitize.borrow_mut().back_mut().unwrap().1 = done;
        let mut told = vec![];
        let mut tell = |done, of| {
            told.push((done, of));
            ControlFlow::Continue(())
        };
        let outcome = fake.erase(Erasure::Sanitize, &mut tell).unwrap();
        assert_eq!(outcome, ControlFlow::Continue(()));
        assert_eq!(told, [(0, 0x1_0000), (0x8000, 0x1_0000)]);
        assert_eq!(fake.changes(), [Admin::SanitizeBlockErase]);
    }
}

// Is a sanitize that is broken off left alone, with nothing sent to the drive any more?
#[test]
fn a_sanitize_that_is_left() {
    let fake = Fake::new();
    let outcome = fake.erase(Erasure::Sanitize, &mut |_, _| ControlFlow::Break(()));
    assert_eq!(outcome.unwrap(), ControlFlow::Break(()));
    let sent = fake.sent.borrow();
    let after = sent.iter().skip_while(|command| **command != Admin::SanitizeBlockErase);
    let status = Admin::GetLogPage { log: 0x81 };
    assert!(after.eq(&[Admin::SanitizeBlockErase, status]), "{sent:?}");
}

// Is a sanitize that fails, or that was never begun, an error?
#[test]
fn a_sanitize_that_fails() {
    for (status, says) in [(3, "the sanitize failed"), (0, "status of the drive is 0")] {
        let fake = Fake::new();
        *fake.sanitize.borrow_mut() = [(0xFFFF, 1), (0xFFFF, status)].into();
        let error = fake.erase(Erasure::Sanitize, &mut go_on).unwrap_err().to_string();
        assert!(error.starts_with("cannot sanitize `/dev/nvme7n1`: "), "{error}");
        assert!(error.contains(says), "{error}");
    }
}

// Is a drive that lacks the command told so, and whether it could be sanitized in another way?
#[test]
fn drives_without_the_command() {
    let says = Fake::with(256, 0b1111_1101).refusal(Erasure::Format);
    assert_eq!(says, "the drive has no Format NVM command: choose another --state");
    let ways = [
        (0b000, ""),
        (0b001, " by block erase, only by new keys"),
        (0b100, " by block erase, only by overwriting"),
        (0b101, " by block erase, only by new keys or overwriting"),
    ];
    for (able, but_for) in ways {
        let says = Fake::with(328, able).refusal(Erasure::Sanitize);
        let expected = format!("the drive cannot sanitize itself{but_for}: choose another --state");
        assert_eq!(says, expected);
    }
    assert!(plan(&&Fake::with(256, 0), Erasure::Sanitize).is_ok());
    assert!(plan(&&Fake::with(328, 0), Erasure::Format).is_ok());
}

// Is a drive that would erase other namespaces too refused: by a format where the drive says that
// formats (bit 0) or erases (bit 1) are of all, by a sanitize always; and one that is alone not?
#[test]
fn other_namespaces() {
    for attributes in [0b001, 0b010, 0b011] {
        let mut fake = Fake::with(524, attributes);
        assert!(matches!(plan(&&fake, Erasure::Format), Ok(Plan::Format(_))), "{attributes}");
        fake.allocated = vec![1, 2];
        let says = fake.refusal(Erasure::Format);
        assert!(says.contains("and there is another one: choose"), "{says}");
    }
    // That it can erase keys is no such attribute.
    let mut fake = Fake::with(524, 0b100);
    fake.allocated = vec![1, 2, 9];
    assert!(matches!(plan(&&fake, Erasure::Format), Ok(Plan::Format(_))));
    let says = fake.refusal(Erasure::Sanitize);
    assert!(says.contains("and there are 2 others: choose"), "{says}");
}

// Do namespaces count that are not attached to this controller, and where the drive cannot tell of
// them, is one with several controllers refused?
#[test]
fn namespaces_out_of_sight() {
    let mut fake = Fake::new();
    (fake.active, fake.allocated) = (vec![1], vec![1, 7]);
    assert!(fake.refusal(Erasure::Sanitize).contains("there is another one"));
    // Without namespace management (bit 3 of OACS) those that are active are all.
    let mut fake = Fake::with(256, 0b0010);
    (fake.active, fake.allocated) = (vec![1], vec![1, 7]);
    assert_eq!(plan(&&fake, Erasure::Sanitize).unwrap(), Plan::Sanitize);
    fake.active = vec![1, 2];
    assert!(fake.refusal(Erasure::Sanitize).contains("there is another one"));
    // Unless there are other controllers (bit 1 of CMIC).
    fake.active = vec![1];
    fake.controller.push((76, 0b10));
    assert!(fake.refusal(Erasure::Sanitize).contains("hang on its other controllers"));
}

// Is a drive that sanitizes itself already refused?
#[test]
fn a_sanitize_under_way() {
    let fake = Fake::new();
    *fake.sanitize.borrow_mut() = [(0x100, 2)].into();
    assert!(fake.refusal(Erasure::Sanitize).starts_with("a sanitize is under way already"));
}

// Is whatever the drive refuses told with what it was asked and its answer, before and after?
#[test]
fn statuses_are_told() {
    let cases: [(Which, _, _); 5] = [
        (|it| matches!(it, Admin::Identify(Structure::Controller)), Erasure::Format, "say what it"),
        (|it| matches!(it, Admin::IdentifyNamespace { .. }), Erasure::Format, "say what it is"),
        (
            |it| matches!(it, Admin::Identify(Structure::AllocatedNamespaces)),
            Erasure::Sanitize,
            "say what it is",
        ),
        (
            |it| matches!(it, Admin::GetLogPage { .. }),
            Erasure::Sanitize,
            "say how far its sanitize is",
        ),
        (|it| matches!(it, Admin::Format { .. }), Erasure::Format, "format itself"),
    ];
    for (refused, erasure, action) in cases {
        let mut fake = Fake::new();
        fake.refuses = Some((refused, 0x10A));
        let subject = Subject { path: "/dev/nvme7n1".into(), erasure, writable: true };
        let says = match plan(&&fake, erasure) {
            Ok(_) => fake.erase(erasure, &mut go_on).unwrap_err(),
            Err(obstacle) => subject.not_erased(&obstacle),
        };
        let says = says.to_string();
        assert!(says.contains(&format!("the drive refused to {action}")), "{says}");
        assert!(says.ends_with("the NVMe status 0x10a"), "{says}");
    }
}

// Is a drive that is open for reading alone never sent what erases it?
#[test]
fn reading_alone_erases_nothing() {
    for erasure in [Erasure::Format, Erasure::Sanitize] {
        let fake = Fake::new();
        let plan = plan(&&fake, erasure).unwrap();
        let subject = Subject { path: "/dev/nvme7n1".into(), erasure, writable: false };
        let mut eraser = Eraser { drive: &fake, plan, subject, poll_interval: Duration::ZERO };
        let error = eraser.erase(&mut go_on).unwrap_err().to_string();
        assert!(error.ends_with("it is open for reading alone"), "{error}");
        assert_eq!(fake.changes(), []);
    }
}

// Is a whole NVMe drive told from its partitions, other drives and files?
#[test]
fn whole_nvme_drives_alone() {
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
