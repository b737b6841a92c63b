//! The SCSI command PERSISTENT RESERVE IN.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "SCSI commands: queries of reservations only, from a closed list"
    )
)]
#![allow(
    unsafe_code,
    reason = "a SCSI command by ioctl, with buffers that the kernel reads and writes"
)]

use std::ffi::{c_int, c_uint, c_ushort, c_void};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr;

/// `SG_IO` of `scsi/sg.h`.
const SG_IO: libc::Ioctl = 0x2285;

/// `SG_DXFER_FROM_DEV` of `scsi/sg.h`.
const FROM_DEVICE: c_int = -3;

/// The timeout of the command, which a drive answers from memory.
const TIMEOUT_MS: c_uint = 10_000;

/// The maximum number of attempts. A drive first reports pending unit attentions instead of
/// executing a command.
const MAX_TRIES: u32 = 6;

/// `sg_io_hdr` of `scsi/sg.h`.
#[repr(C)]
struct Header {
    interface: c_int,
    direction: c_int,
    command_len: u8,
    max_sense: u8,
    pieces: c_ushort,
    data_len: c_uint,
    data: *mut c_void,
    command: *mut u8,
    sense: *mut u8,
    timeout_ms: c_uint,
    flags: c_uint,
    pack_id: c_int,
    user: *mut c_void,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_len: u8,
    host_status: c_ushort,
    driver_status: c_ushort,
    residue: c_int,
    duration_ms: c_uint,
    info: c_uint,
}

/// A query of PERSISTENT RESERVE IN. No query changes the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServiceAction {
    /// Returns the registered keys.
    ReadKeys = 0x00,
    /// Returns the reservation.
    ReadReservation = 0x01,
}

/// The outcome of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// The drive returned data.
    Data,
    /// Another initiator has reserved the drive.
    Conflict,
    /// No information: the drive does not support the command, did not receive it, or did not
    /// execute it in any attempt.
    None,
}

/// The outcome of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Ended(Answer),
    Again,
}

/// Sends the query and fills `data` with the response.
pub(super) fn persistent_reserve_in(
    drive: &File,
    action: ServiceAction,
    data: &mut [u8],
) -> Answer {
    for _ in 0..MAX_TRIES {
        match send(drive, action, data) {
            Outcome::Ended(answer) => return answer,
            Outcome::Again => {}
        }
    }
    Answer::None
}

/// Builds the command from its operation code, the service action and the length of the response.
fn command(action: ServiceAction, data_len: u16) -> [u8; 10] {
    let [high, low] = data_len.to_be_bytes();
    [0x5e, action as u8, 0, 0, 0, 0, 0, high, low, 0]
}

fn send(drive: &File, action: ServiceAction, data: &mut [u8]) -> Outcome {
    let data_len = u16::try_from(data.len()).expect("a page of memory");
    let mut command = command(action, data_len);
    let mut sense = [0u8; 64];
    let mut header = Header {
        interface: c_int::from(b'S'),
        direction: FROM_DEVICE,
        command_len: 10,
        max_sense: 64,
        pieces: 0,
        data_len: data_len.into(),
        data: data.as_mut_ptr().cast(),
        command: command.as_mut_ptr(),
        sense: sense.as_mut_ptr(),
        timeout_ms: TIMEOUT_MS,
        flags: 0,
        pack_id: 0,
        user: ptr::null_mut(),
        status: 0,
        masked_status: 0,
        message_status: 0,
        sense_len: 0,
        host_status: 0,
        driver_status: 0,
        residue: 0,
        duration_ms: 0,
        info: 0,
    };
    // SAFETY: the ioctl takes this struct. Its addresses refer to live memory of the stated
    // lengths. The kernel reads the command and writes to the other buffers.
    let sent = unsafe { libc::ioctl(drive.as_raw_fd(), SG_IO, &raw mut header) };
    if sent < 0 || header.host_status != 0 {
        return Outcome::Ended(Answer::None);
    }
    outcome(header.status, &sense[..usize::from(header.sense_len).min(sense.len())])
}

/// Interprets a status and its sense data.
fn outcome(status: u8, sense: &[u8]) -> Outcome {
    const GOOD: u8 = 0x00;
    const CHECK_CONDITION: u8 = 0x02;
    const BUSY: u8 = 0x08;
    const RESERVATION_CONFLICT: u8 = 0x18;
    const UNIT_ATTENTION: u8 = 0x6;
    const ABORTED_COMMAND: u8 = 0xb;
    let at = |place: usize| sense.get(place).map(|byte| byte & 0xf);
    // The offset of the sense key differs between fixed and descriptor format.
    let key = || match sense.first().map(|byte| byte & 0x7f) {
        Some(0x70 | 0x71) => at(2),
        Some(0x72 | 0x73) => at(1),
        _ => None,
    };
    match status {
        GOOD => Outcome::Ended(Answer::Data),
        RESERVATION_CONFLICT => Outcome::Ended(Answer::Conflict),
        BUSY => Outcome::Again,
        CHECK_CONDITION if matches!(key(), Some(UNIT_ATTENTION | ABORTED_COMMAND)) => {
            Outcome::Again
        }
        _ => Outcome::Ended(Answer::None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_have_the_standard_layout() {
        if cfg!(target_pointer_width = "64") {
            assert_eq!(size_of::<Header>(), 88);
        }
        assert_eq!(command(ServiceAction::ReadKeys, 0x1000), [0x5e, 0, 0, 0, 0, 0, 0, 0x10, 0, 0]);
        assert_eq!(
            command(ServiceAction::ReadReservation, 0x1000),
            [0x5e, 1, 0, 0, 0, 0, 0, 0x10, 0, 0]
        );
    }

    // Sense data has two formats, or is missing.
    #[test]
    fn outcomes_are_interpreted() {
        let (unsupported, attention) = ([0x70, 0, 5, 0], [0x70, 0, 6, 0]);
        assert_eq!(outcome(0x00, &[]), Outcome::Ended(Answer::Data));
        assert_eq!(outcome(0x18, &[]), Outcome::Ended(Answer::Conflict));
        assert_eq!(outcome(0x08, &[]), Outcome::Again);
        assert_eq!(outcome(0x02, &unsupported), Outcome::Ended(Answer::None));
        assert_eq!(outcome(0x02, &attention), Outcome::Again);
        assert_eq!(outcome(0x02, &[0x72, 6]), Outcome::Again);
        assert_eq!(outcome(0x02, &[0x72, 0xb, 6]), Outcome::Again);
        assert_eq!(outcome(0x02, &[0x72, 5]), Outcome::Ended(Answer::None));
        for sense in [&[][..], &[0x70], &[0x72], &[0xff, 6, 6]] {
            assert_eq!(outcome(0x02, sense), Outcome::Ended(Answer::None), "{sense:?}");
        }
    }
}
