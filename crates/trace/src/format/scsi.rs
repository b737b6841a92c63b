//! SCSI commands, for the formats that record them.

use flashscope_block::{Bytes, Op};

use super::super::Request;
use super::super::error::Reason;
use super::super::text::checked;

/// The effect of a SCSI operation code.
enum Command {
    Request(Op),
    /// A command that neither reads nor writes the medium.
    Other,
}

/// Returns the operation of a code; `None` if it neither reads nor writes the medium, such as
/// INQUIRY.
#[inline]
pub(super) fn operation(code: u64) -> Result<Option<Op>, Reason> {
    match command(code) {
        Some(Command::Request(op)) => Ok(Some(op)),
        Some(Command::Other) => Ok(None),
        None => Err(Reason::new(format!("{code:#04x} is not a known SCSI operation code"))),
    }
}

/// Returns true if the code is known.
pub(super) fn is_known(code: u64) -> bool {
    command(code).is_some()
}

/// Returns the request of a command with this address and length.
///
/// The formats record nothing else of a command. A WRITE SAME therefore counts as a write of the
/// data sent. The ranges of an UNMAP are in its data; it counts as a trim only if the trace gives a
/// length in whole blocks.
#[inline]
pub(super) fn request(noted: Request, block: u64) -> Result<Request, Reason> {
    if noted.op == Op::Trim && (noted.len.0 == 0 || !noted.len.0.is_multiple_of(block)) {
        return Err(Reason::new("it is an UNMAP whose ranges were not recorded"));
    }
    // A flush covers the whole drive, whatever its address.
    let (offset, len) = match noted.op {
        Op::Flush => (Bytes(0), Bytes(0)),
        _ => (noted.offset, noted.len),
    };
    checked(Request { offset, len, ..noted })
}

/// The operation codes of SPC-4 and SBC-3 for disks.
fn command(code: u64) -> Option<Command> {
    Some(match code {
        // READ(6), (10), (12) and (16).
        0x08 | 0x28 | 0xa8 | 0x88 => Command::Request(Op::Read),
        // WRITE(6), (10), (12) and (16); WRITE AND VERIFY(10), (12) and (16).
        0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e => Command::Request(Op::Write),
        // WRITE SAME(10) and (16); COMPARE AND WRITE.
        0x41 | 0x93 | 0x89 => Command::Request(Op::Write),
        // UNMAP.
        0x42 => Command::Request(Op::Trim),
        // SYNCHRONIZE CACHE(10) and (16).
        0x35 | 0x91 => Command::Request(Op::Flush),
        // TEST UNIT READY, REZERO UNIT, REQUEST SENSE, FORMAT UNIT, REASSIGN BLOCKS.
        0x00 | 0x01 | 0x03 | 0x04 | 0x07 => Command::Other,
        // SEEK(6), INQUIRY, MODE SELECT(6), RESERVE(6), RELEASE(6), MODE SENSE(6), START STOP UNIT.
        0x0b | 0x12 | 0x15 | 0x16 | 0x17 | 0x1a | 0x1b => Command::Other,
        // RECEIVE and SEND DIAGNOSTIC, PREVENT REMOVAL, READ CAPACITY(10), SEEK(10), VERIFY(10).
        0x1c | 0x1d | 0x1e | 0x25 | 0x2b | 0x2f => Command::Other,
        // PRE-FETCH(10), READ DEFECT DATA(10), WRITE and READ BUFFER, LOG SELECT, LOG SENSE.
        0x34 | 0x37 | 0x3b | 0x3c | 0x4c | 0x4d => Command::Other,
        // MODE SELECT(10), RESERVE(10), RELEASE(10), MODE SENSE(10), PERSISTENT RESERVE IN and OUT.
        0x55 | 0x56 | 0x57 | 0x5a | 0x5e | 0x5f => Command::Other,
        // EXTENDED COPY, RECEIVE COPY RESULTS, VERIFY(16), PRE-FETCH(16), READ CAPACITY(16).
        0x83 | 0x84 | 0x8f | 0x90 | 0x9e => Command::Other,
        // REPORT LUNS, SECURITY PROTOCOL IN, MAINTENANCE IN and OUT, VERIFY(12), SECURITY PROTOCOL
        // OUT.
        0xa0 | 0xa2 | 0xa3 | 0xa4 | 0xaf | 0xb5 => Command::Other,
        _ => return None,
    })
}
