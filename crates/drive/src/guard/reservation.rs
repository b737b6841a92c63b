//! Reservations of drives that several hosts can access: SCSI persistent reservations and NVMe
//! reservations.
//!
//! A host that reserves a drive, or registers a key for it, intends to use it, and other hosts
//! cannot detect that use. A reservation or key of this host counts too, because a cluster manager
//! on this host may use the drive.
//!
//! Names and offsets follow SCSI Primary Commands 4 (6.15) and the NVM Express Base Specification
//! (Reservation Report).

mod scsi;

use std::fs::File;
use std::io;
use std::path::Path;

use super::{Identity, Refusal, System};
use crate::nvme::{self, Admin, CommandError, Controller, Structure};
use crate::topology::{Bus, bus_of};
use scsi::{Answer, ServiceAction};

/// The number of bytes to read of a report, of which only the header is interpreted.
const REPORT_LEN: usize = 4096;

/// The offset of Optional NVM Command Support in Identify Controller, and its bit for reservations.
const OPTIONAL_COMMANDS: usize = 520;
const RESERVATIONS: u8 = 1 << 5;

/// The status Host Identifier Inconsistent Format: the drive uses host identifiers of another
/// length (64 or 128 bits) than the request.
const OTHER_IDENTIFIERS: u32 = 0x018;

/// The status Reservation Conflict.
const CONFLICT: u32 = 0x083;

/// A report with invalid content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the drive's report of reservations is invalid")]
pub struct MalformedReport;

/// The state of a reserved drive, as in "is ...", or `None` for a drive without reservations.
type ReservationState = Option<String>;

/// Interprets the responses to READ KEYS and READ RESERVATION. Returns the state, as in "is ...",
/// or `None` for a drive without reservations.
///
/// # Errors
/// [`MalformedReport`] if either response is too short for its header, or states an invalid length.
pub fn scsi(keys: &[u8], reservation: &[u8]) -> Result<Option<String>, MalformedReport> {
    let number = |report: &[u8]| {
        let field = report.get(4..8).ok_or(MalformedReport)?;
        Ok(u32::from_be_bytes(field.try_into().expect("four")))
    };
    let (keys, reserved) = (number(keys)?, number(reservation)?);
    if !keys.is_multiple_of(8) || !matches!(reserved, 0 | 16) {
        return Err(MalformedReport);
    }
    Ok(match (reserved, keys / 8) {
        (16, _) => Some("reserved by a SCSI persistent reservation".into()),
        (_, 0) => None,
        (_, 1) => Some("registered for SCSI persistent reservations (one key)".into()),
        (_, keys) => Some(format!("registered for SCSI persistent reservations ({keys} keys)")),
    })
}

/// Interprets the response to Reservation Report, in either of its formats, which have the same
/// header. Returns the state, as in "is ...", or `None` for a drive without reservations.
///
/// # Errors
/// [`MalformedReport`] if the response is too short for its header, or states an unknown type.
pub fn nvme(report: &[u8]) -> Result<Option<String>, MalformedReport> {
    let [kind, low, high] =
        report.get(4..7).ok_or(MalformedReport)?.try_into().expect("three bytes");
    if report.len() < 24 {
        return Err(MalformedReport);
    }
    match (kind, u16::from_le_bytes([low, high])) {
        (0, 0) => Ok(None),
        (0, 1) => Ok(Some("registered for NVMe reservations (one controller)".into())),
        (0, many) => Ok(Some(format!("registered for NVMe reservations ({many} controllers)"))),
        (1..=6, _) => Ok(Some("reserved by an NVMe reservation".into())),
        _ => Err(MalformedReport),
    }
}

/// Checks that no host has reserved an open device or registered for it. The check also passes if
/// the query is impossible: a drive or an adapter may not support the command, and the kernel
/// passes the command on for root only.
pub(crate) fn check(system: &System, path: &Path, probe: &File) -> Result<(), Refusal> {
    let unknown = |source| Refusal::Unknown { path: path.into(), source };
    let Identity::Block(number) = Identity::of(probe).map_err(unknown)? else { return Ok(()) };
    let bus = system.whole_disk(number).map(|disk| bus_of(&disk));
    let shown = path.display();
    let (state, shown_by) = match bus {
        // USB and ATA drives have no reservations, and some USB drives hang on unknown commands.
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

fn of_scsi(drive: &File) -> io::Result<ReservationState> {
    let mut reports = [[0; REPORT_LEN]; 2];
    for (action, report) in
        [ServiceAction::ReadKeys, ServiceAction::ReadReservation].into_iter().zip(&mut reports)
    {
        match scsi::persistent_reserve_in(drive, action, report) {
            Answer::Data => {}
            Answer::Conflict => return Ok(Some("reserved for another SCSI initiator".into())),
            Answer::None => return Ok(None),
        }
    }
    scsi(&reports[0], &reports[1]).map_err(io::Error::other)
}

fn of_nvme<C: Controller + Reports>(drive: &C) -> io::Result<ReservationState> {
    let mut identity = [0; nvme::IDENTIFY_LEN];
    let identified = drive.send(Admin::Identify(Structure::Controller), &mut identity);
    if identified.is_err() || identity[OPTIONAL_COMMANDS] & RESERVATIONS == 0 {
        return Ok(None);
    }
    let mut report = [0; REPORT_LEN];
    let mut answer = drive.report(true, &mut report);
    if matches!(answer, Err(CommandError::Status(OTHER_IDENTIFIERS))) {
        answer = drive.report(false, &mut report);
    }
    match answer {
        Ok(()) => nvme(&report).map_err(io::Error::other),
        Err(CommandError::Status(CONFLICT)) => Ok(Some("reserved for another NVMe host".into())),
        Err(_) => Ok(None),
    }
}

/// A source of Reservation Reports: an open NVMe drive, or a fake in tests.
trait Reports {
    /// Requests a report, with 128-bit host identifiers if `extended`.
    fn report(&self, extended: bool, answer: &mut [u8]) -> Result<(), CommandError>;
}

impl Reports for &File {
    fn report(&self, extended: bool, answer: &mut [u8]) -> Result<(), CommandError> {
        nvme::reservation_report(self, extended, answer)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use proptest::prelude::*;

    use super::*;

    /// Builds a SCSI report with the given additional length.
    fn scsi_report(additional: u32) -> Vec<u8> {
        [&7u32.to_be_bytes()[..], &additional.to_be_bytes(), &[0xab; 32]].concat()
    }

    #[test]
    fn scsi_reports_are_interpreted() {
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
            assert_eq!(state(keys, reservation), Err(MalformedReport), "{keys} {reservation}");
        }
        for len in 0..8 {
            assert_eq!(scsi(&scsi_report(0)[..len], &scsi_report(0)), Err(MalformedReport));
            assert_eq!(scsi(&scsi_report(0), &scsi_report(0)[..len]), Err(MalformedReport));
        }
    }

    /// Builds an NVMe report with a type of reservation and a number of registered controllers.
    fn nvme_report(kind: u8, controllers: u16) -> Vec<u8> {
        let mut report = vec![0; 64];
        report[0..4].copy_from_slice(&9u32.to_le_bytes());
        report[4] = kind;
        report[5..7].copy_from_slice(&controllers.to_le_bytes());
        report
    }

    #[test]
    fn nvme_reports_are_interpreted() {
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
            assert_eq!(nvme(&nvme_report(kind, 0)), Err(MalformedReport), "{kind}");
        }
        for len in 0..24 {
            assert_eq!(nvme(&nvme_report(1, 1)[..len]), Err(MalformedReport), "{len}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_reports_do_not_panic(one in prop::collection::vec(any::<u8>(), 0..100), other in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = (scsi(&one, &other), nvme(&one));
        }
    }

    /// A fake NVMe drive, with or without support for reservations. Each report returns the next
    /// answer: a type of reservation, or an error status.
    struct Drive {
        supports: bool,
        answers: RefCell<Vec<Result<u8, u32>>>,
        requests: RefCell<Vec<bool>>,
    }

    impl Drive {
        fn new(supports: bool, answers: &[Result<u8, u32>]) -> Drive {
            Drive {
                supports,
                answers: RefCell::new(answers.to_vec()),
                requests: RefCell::default(),
            }
        }
    }

    impl Controller for Drive {
        fn namespace(&self) -> io::Result<u32> {
            Ok(1)
        }

        fn send(&self, command: Admin, answer: &mut [u8]) -> Result<(), CommandError> {
            assert_eq!(command, Admin::Identify(Structure::Controller));
            answer[OPTIONAL_COMMANDS] = if self.supports { 0xff } else { !RESERVATIONS };
            Ok(())
        }
    }

    impl Reports for Drive {
        fn report(&self, extended: bool, answer: &mut [u8]) -> Result<(), CommandError> {
            self.requests.borrow_mut().push(extended);
            match self.answers.borrow_mut().remove(0) {
                Ok(kind) => {
                    answer[4] = kind;
                    Ok(())
                }
                Err(status) => Err(CommandError::Status(status)),
            }
        }
    }

    // A report is requested only from a drive with support, and requested again with 64-bit host
    // identifiers if the drive rejects longer ones. A conflict counts as a reservation.
    #[test]
    fn nvme_reservations_are_detected() {
        type Case<'a> = (bool, &'a [Result<u8, u32>], &'a [bool], bool);
        let cases: [Case; 6] = [
            (false, &[], &[], false),
            (true, &[Ok(0)], &[true], false),
            (true, &[Ok(2)], &[true], true),
            (true, &[Err(OTHER_IDENTIFIERS), Ok(1)], &[true, false], true),
            (true, &[Err(CONFLICT)], &[true], true),
            (true, &[Err(0x001)], &[true], false),
        ];
        for (supports, answers, requests, is_reserved) in cases {
            let drive = Drive::new(supports, answers);
            assert_eq!(of_nvme(&drive).unwrap().is_some(), is_reserved, "{answers:?}");
            assert_eq!(*drive.requests.borrow(), requests, "{answers:?}");
        }
        assert!(of_nvme(&Drive::new(true, &[Ok(9)])).is_err());
    }

    // Most drives do not support reservations.
    #[test]
    fn a_drive_without_support_counts_as_free() {
        let null = &File::open("/dev/null").unwrap();
        assert_eq!(of_scsi(null).unwrap(), None);
        assert_eq!(of_nvme(&null).unwrap(), None);
    }
}
