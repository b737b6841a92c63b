//! Reservations of drives that several hosts reach: SCSI persistent reservations, and those of NVMe.
//!
//! A host that reserves a drive, or registers a key for it, means to use it, and others see nothing of that use. Any
//! reservation or key counts, this host's too: a cluster manager here means to use it as well.
//!
//! Names and offsets are those of SCSI Primary Commands 4 (6.15) and of the NVM Express Base Specification (Reservation Report).

mod scsi;

use std::fs::File;
use std::io;
use std::path::Path;

use super::{Identity, Refusal, System};
use crate::inventory::{Bus, bus_of};
use crate::nvme::{self, Admin, Controller, Failed, Structure};
use scsi::{Answer, ServiceAction};

/// Bytes that are read of a report: its header and a hundred entries say enough.
const REPORT_LEN: usize = 4096;

/// Where Identify Controller has the Optional NVM Command Support, and its bit of reservations.
const OPTIONAL_COMMANDS: usize = 520;
const RESERVATIONS: u8 = 1 << 5;

/// The status Host Identifier Inconsistent Format: the drive has identifiers of the other length.
const OTHER_IDENTIFIERS: u32 = 0x018;

/// The status Reservation Conflict.
const CONFLICT: u32 = 0x083;

/// A report that does not say what one must.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("its report of reservations makes no sense")]
pub struct Malformed;

/// Whether a drive is reserved: how, as in "is ...", or nothing.
type Reserved = Option<String>;

/// What READ KEYS and READ RESERVATION answered.
///
/// # Errors
/// [`Malformed`] where either is too short for its header, or states a length that none has.
pub fn scsi(keys: &[u8], reservation: &[u8]) -> Result<Option<String>, Malformed> {
    let number = |report: &[u8]| {
        let field = report.get(4..8).ok_or(Malformed)?;
        Ok(u32::from_be_bytes(field.try_into().expect("four")))
    };
    let (keys, reserved) = (number(keys)?, number(reservation)?);
    if !keys.is_multiple_of(8) || !matches!(reserved, 0 | 16) {
        return Err(Malformed);
    }
    Ok(match (reserved, keys / 8) {
        (16, _) => Some("reserved by a SCSI persistent reservation".into()),
        (_, 0) => None,
        (_, 1) => Some("registered for SCSI persistent reservations (one key)".into()),
        (_, keys) => Some(format!("registered for SCSI persistent reservations ({keys} keys)")),
    })
}

/// What Reservation Report answered, in either of its formats: their headers are the same.
///
/// # Errors
/// [`Malformed`] where it is too short for its header, or states a type that there is none of.
pub fn nvme(report: &[u8]) -> Result<Option<String>, Malformed> {
    let [kind, low, high] = report.get(4..7).ok_or(Malformed)?.try_into().expect("three bytes");
    if report.len() < 24 {
        return Err(Malformed);
    }
    match (kind, u16::from_le_bytes([low, high])) {
        (0, 0) => Ok(None),
        (0, 1) => Ok(Some("registered for NVMe reservations (one controller)".into())),
        (0, many) => Ok(Some(format!("registered for NVMe reservations ({many} controllers)"))),
        (1..=6, _) => Ok(Some("reserved by an NVMe reservation".into())),
        _ => Err(Malformed),
    }
}

/// Whether no host has reserved the device that `probe` is open on, or registered for it, as far as it can be asked: a
/// drive or an adapter may not know the command, and the kernel hands it over for root alone.
pub(crate) fn check(system: &System, path: &Path, probe: &File) -> Result<(), Refusal> {
    let unknown = |source| Refusal::Unknown { path: path.into(), source };
    let Identity::Block(number) = Identity::of(probe).map_err(unknown)? else { return Ok(()) };
    let bus = system.whole_disk(number).map(|disk| bus_of(&disk));
    let shown = path.display();
    let (state, shown_by) = match bus {
        // Drives of USB and ATA have no reservations, and some of USB hang where they are asked what they do not know.
        Some(Bus::Scsi | Bus::DeviceMapper) => {
            (of_scsi(probe), format!("sg_persist --in --read-full-status {shown}"))
        }
        Some(Bus::Nvme) => (of_nvme(&probe), format!("nvme resv-report {shown}")),
        _ => return Ok(()),
    };
    match state.map_err(unknown)? {
        Some(state) => Err(Refusal::Reserved { path: path.into(), state, shown_by }),
        None => Ok(()),
    }
}

fn of_scsi(drive: &File) -> io::Result<Reserved> {
    let mut reports = [[0; REPORT_LEN]; 2];
    for (action, report) in
        [ServiceAction::ReadKeys, ServiceAction::ReadReservation].into_iter().zip(&mut reports)
    {
        match scsi::persistent_reserve_in(drive, action, report) {
            Answer::Answered => {}
            Answer::Conflict => return Ok(Some("reserved for another SCSI initiator".into())),
            Answer::None => return Ok(None),
        }
    }
    scsi(&reports[0], &reports[1]).map_err(io::Error::other)
}

fn of_nvme<C: Controller + Reports>(drive: &C) -> io::Result<Reserved> {
    let mut identity = [0; nvme::IDENTIFY_LEN];
    let asked = drive.send(Admin::Identify(Structure::Controller), &mut identity);
    if asked.is_err() || identity[OPTIONAL_COMMANDS] & RESERVATIONS == 0 {
        return Ok(None);
    }
    let mut report = [0; REPORT_LEN];
    let mut answer = drive.report(true, &mut report);
    if matches!(answer, Err(Failed::Status(OTHER_IDENTIFIERS))) {
        answer = drive.report(false, &mut report);
    }
    match answer {
        Ok(()) => nvme(&report).map_err(io::Error::other),
        Err(Failed::Status(CONFLICT)) => Ok(Some("reserved for another NVMe host".into())),
        Err(_) => Ok(None),
    }
}

/// What answers a Reservation Report: an open NVMe drive, or in tests what stands for one.
trait Reports {
    /// Asks for it, with identifiers of hosts of 128 bits where it is `extended`.
    fn report(&self, extended: bool, answer: &mut [u8]) -> Result<(), Failed>;
}

impl Reports for &File {
    fn report(&self, extended: bool, answer: &mut [u8]) -> Result<(), Failed> {
        nvme::reservation_report(self, extended, answer)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use proptest::prelude::*;

    use super::*;

    /// A report of SCSI that states this additional length.
    fn scsi_report(additional: u32) -> Vec<u8> {
        [&7u32.to_be_bytes()[..], &additional.to_be_bytes(), &[0xab; 32]].concat()
    }

    // Is each report of SCSI understood: none, keys, a reservation, more keys than there was room for, and nonsense?
    #[test]
    fn scsi_reports() {
        let state = |keys, reservation| scsi(&scsi_report(keys), &scsi_report(reservation));
        let is = |text: &str| Ok(Some(text.to_owned()));
        assert_eq!(state(0, 0), Ok(None));
        assert_eq!(state(8, 0), is("registered for SCSI persistent reservations (one key)"));
        assert_eq!(state(16, 0), is("registered for SCSI persistent reservations (2 keys)"));
        assert_eq!(
            state(80_000, 0),
            is("registered for SCSI persistent reservations (10000 keys)")
        );
        assert_eq!(state(8, 16), is("reserved by a SCSI persistent reservation"));
        assert_eq!(state(0, 16), is("reserved by a SCSI persistent reservation"));
        for (keys, reservation) in [(1, 0), (8, 8), (u32::MAX, 0), (0, u32::MAX)] {
            assert_eq!(state(keys, reservation), Err(Malformed), "{keys} {reservation}");
        }
        for len in 0..8 {
            assert_eq!(scsi(&scsi_report(0)[..len], &scsi_report(0)), Err(Malformed));
            assert_eq!(scsi(&scsi_report(0), &scsi_report(0)[..len]), Err(Malformed));
        }
    }

    /// A report of NVMe with a type of reservation and so many registered controllers.
    fn nvme_report(kind: u8, controllers: u16) -> Vec<u8> {
        let mut report = vec![0; 64];
        report[0..4].copy_from_slice(&9u32.to_le_bytes());
        report[4] = kind;
        report[5..7].copy_from_slice(&controllers.to_le_bytes());
        report
    }

    // Is each report of NVMe understood: none, registered controllers, each type of reservation, and nonsense?
    #[test]
    fn nvme_reports() {
        let is = |text: &str| Ok(Some(text.to_owned()));
        assert_eq!(nvme(&nvme_report(0, 0)), Ok(None));
        assert_eq!(
            nvme(&nvme_report(0, 1)),
            is("registered for NVMe reservations (one controller)")
        );
        assert_eq!(
            nvme(&nvme_report(0, 300)),
            is("registered for NVMe reservations (300 controllers)")
        );
        for kind in 1..=6 {
            assert_eq!(
                nvme(&nvme_report(kind, 1)),
                is("reserved by an NVMe reservation"),
                "{kind}"
            );
        }
        for kind in 7..=255 {
            assert_eq!(nvme(&nvme_report(kind, 0)), Err(Malformed), "{kind}");
        }
        for len in 0..24 {
            assert_eq!(nvme(&nvme_report(1, 1)[..len]), Err(Malformed), "{len}");
        }
    }

    proptest! {
        // Is there an answer to whatever a drive reports?
        #[test]
        fn hostile_reports(one in prop::collection::vec(any::<u8>(), 0..100), other in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = (scsi(&one, &other), nvme(&one));
        }
    }

    /// An NVMe drive that supports reservations or not, and answers to reports in turn: with a status, or a type of
    /// reservation.
    struct Drive {
        supports: bool,
        answers: RefCell<Vec<Result<u8, u32>>>,
        asked: RefCell<Vec<bool>>,
    }

    impl Drive {
        fn new(supports: bool, answers: &[Result<u8, u32>]) -> Drive {
            Drive { supports, answers: RefCell::new(answers.to_vec()), asked: RefCell::default() }
        }
    }

    impl Controller for Drive {
        fn namespace(&self) -> io::Result<u32> {
            Ok(1)
        }

        fn send(&self, command: Admin, answer: &mut [u8]) -> Result<(), Failed> {
            assert_eq!(command, Admin::Identify(Structure::Controller));
            answer[OPTIONAL_COMMANDS] = if self.supports { 0xff } else { !RESERVATIONS };
            Ok(())
        }
    }

    impl Reports for Drive {
        fn report(&self, extended: bool, answer: &mut [u8]) -> Result<(), Failed> {
            self.asked.borrow_mut().push(extended);
            match self.answers.borrow_mut().remove(0) {
                Ok(kind) => {
                    answer[4] = kind;
                    Ok(())
                }
                Err(status) => Err(Failed::Status(status)),
            }
        }
    }

    // Is a drive asked that says that it can be asked, again where its hosts have short identifiers, and no other; and is a
    // conflict a reservation?
    #[test]
    fn nvme_drives_are_asked() {
        type Case<'a> = (bool, &'a [Result<u8, u32>], &'a [bool], bool);
        let cases: [Case; 6] = [
            (false, &[], &[], false),
            (true, &[Ok(0)], &[true], false),
            (true, &[Ok(2)], &[true], true),
            (true, &[Err(OTHER_IDENTIFIERS), Ok(1)], &[true, false], true),
            (true, &[Err(CONFLICT)], &[true], true),
            (true, &[Err(0x001)], &[true], false),
        ];
        for (supports, answers, asked, is_reserved) in cases {
            let drive = Drive::new(supports, answers);
            assert_eq!(of_nvme(&drive).unwrap().is_some(), is_reserved, "{answers:?}");
            assert_eq!(*drive.asked.borrow(), asked, "{answers:?}");
        }
        assert!(of_nvme(&Drive::new(true, &[Ok(9)])).is_err());
    }

    // Is what knows no such command free, as most drives are?
    #[test]
    fn what_knows_no_reservations_is_free() {
        let null = &File::open("/dev/null").unwrap();
        assert_eq!(of_scsi(null).unwrap(), None);
        assert_eq!(of_nvme(&null).unwrap(), None);
    }
}
