//! Status values of completions (NVM Express Base Specification 2.1, "Status Field Definition";
//! Zoned Namespace Command Set Specification 1.1, "Command Specific Status Values").

use flashscope_block::{Errno, Op};

use crate::request::{RequestError, ZoneError};

/// The status of a completed command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    kind: u8,
    code: u8,
    /// True if the same command may succeed later.
    retry: bool,
    /// The index of the first block of the command that failed, for the error log.
    block: u16,
}

const fn generic(code: u8) -> Status {
    Status { kind: 0, code, retry: false, block: 0 }
}

const fn specific(code: u8) -> Status {
    Status { kind: 1, code, retry: false, block: 0 }
}

const fn media(code: u8) -> Status {
    Status { kind: 2, code, retry: false, block: 0 }
}

const fn retried(status: Status) -> Status {
    Status { retry: true, ..status }
}

#[allow(missing_docs, reason = "the names are those of the specification")]
impl Status {
    pub const SUCCESS: Status = Status { kind: 0, code: 0, retry: true, block: 0 };
    pub(crate) const INVALID_OPCODE: Status = generic(0x01);
    pub(crate) const INVALID_FIELD: Status = generic(0x02);
    pub(crate) const COMMAND_ID_CONFLICT: Status = generic(0x03);
    pub const INTERNAL_ERROR: Status = generic(0x06);
    pub(crate) const ABORTED_BY_REQUEST: Status = generic(0x07);
    pub(crate) const ABORTED_BY_QUEUE_DELETION: Status = retried(generic(0x08));
    pub const INVALID_NAMESPACE: Status = generic(0x0B);
    pub(crate) const COMMAND_SEQUENCE_ERROR: Status = generic(0x0C);
    pub(crate) const DATA_SGL_LENGTH_INVALID: Status = generic(0x0F);
    pub(crate) const SGL_TYPE_INVALID: Status = generic(0x11);
    pub(crate) const SGL_OFFSET_INVALID: Status = generic(0x16);
    pub(crate) const SANITIZE_FAILED: Status = generic(0x1C);
    pub const SANITIZE_IN_PROGRESS: Status = retried(generic(0x1D));
    pub const NAMESPACE_WRITE_PROTECTED: Status = generic(0x20);
    pub(crate) const TRANSIENT_TRANSPORT_ERROR: Status = retried(generic(0x22));
    pub(crate) const LBA_OUT_OF_RANGE: Status = generic(0x80);
    pub const CAPACITY_EXCEEDED: Status = generic(0x81);
    pub const FORMAT_IN_PROGRESS: Status = retried(generic(0x84));
    pub(crate) const EVENT_LIMIT_EXCEEDED: Status = specific(0x05);
    pub(crate) const INVALID_LOG_PAGE: Status = specific(0x09);
    pub(crate) const INVALID_FORMAT: Status = specific(0x0A);
    pub(crate) const INVALID_PROTECTION_INFORMATION: Status = specific(0x81);
    pub(crate) const FEATURE_NOT_SAVEABLE: Status = specific(0x0D);
    pub(crate) const CONNECT_INCOMPATIBLE_FORMAT: Status = specific(0x80);
    pub(crate) const CONNECT_CONTROLLER_BUSY: Status = retried(specific(0x81));
    pub const CONNECT_INVALID_PARAMETERS: Status = specific(0x82);
    pub(crate) const CONNECT_INVALID_HOST: Status = specific(0x84);
    pub(crate) const COMMAND_SIZE_LIMIT_EXCEEDED: Status = specific(0x83);
    pub(crate) const INVALID_QUEUE_TYPE: Status = specific(0x85);
    pub(crate) const COMMAND_SET_COMBINATION_REJECTED: Status = specific(0x2B);
    pub(crate) const ZONE_BOUNDARY_ERROR: Status = specific(0xB8);
    pub(crate) const ZONE_IS_FULL: Status = specific(0xB9);
    pub(crate) const ZONE_IS_READ_ONLY: Status = specific(0xBA);
    pub(crate) const ZONE_IS_OFFLINE: Status = specific(0xBB);
    pub(crate) const ZONE_INVALID_WRITE: Status = specific(0xBC);
    pub(crate) const TOO_MANY_ACTIVE_ZONES: Status = specific(0xBD);
    pub(crate) const TOO_MANY_OPEN_ZONES: Status = specific(0xBE);
    pub(crate) const INVALID_ZONE_STATE_TRANSITION: Status = specific(0xBF);
    pub const WRITE_FAULT: Status = media(0x80);
    pub const UNRECOVERED_READ_ERROR: Status = media(0x81);
    pub(crate) const GUARD_CHECK_ERROR: Status = media(0x82);
    pub(crate) const APPLICATION_TAG_CHECK_ERROR: Status = media(0x83);
    pub(crate) const REFERENCE_TAG_CHECK_ERROR: Status = media(0x84);
    pub(crate) const COMPARE_FAILURE: Status = media(0x85);
}

impl Status {
    /// Returns the status field of a completion, without the phase tag.
    pub(super) fn field(self) -> u16 {
        let do_not_retry = u16::from(!self.retry) << 15;
        do_not_retry | u16::from(self.kind) << 9 | u16::from(self.code) << 1
    }

    /// Returns the status of a command whose block with this index was the first to fail.
    pub(super) fn at_block(self, index: u64) -> Status {
        Status { block: u16::try_from(index).unwrap_or(u16::MAX), ..self }
    }

    /// Returns the index of the first block of the command that failed.
    pub(super) fn block(self) -> u16 {
        self.block
    }

    /// Returns the status for a failed request.
    pub(super) fn of(op: Op, error: RequestError) -> Status {
        match error {
            RequestError::Drive(errno) => Status::of_drive(op, errno),
            RequestError::Zone(error) => Status::of_zone(error),
            // No host receives this status, because the connection is about to be cut.
            RequestError::Lost => Status::INTERNAL_ERROR,
        }
    }

    fn of_zone(error: ZoneError) -> Status {
        match error {
            ZoneError::Boundary => Status::ZONE_BOUNDARY_ERROR,
            ZoneError::Full => Status::ZONE_IS_FULL,
            ZoneError::ReadOnly => Status::ZONE_IS_READ_ONLY,
            ZoneError::Offline => Status::ZONE_IS_OFFLINE,
            ZoneError::InvalidWrite => Status::ZONE_INVALID_WRITE,
            ZoneError::TooManyActive => Status::TOO_MANY_ACTIVE_ZONES,
            ZoneError::TooManyOpen => Status::TOO_MANY_OPEN_ZONES,
            ZoneError::InvalidTransition => Status::INVALID_ZONE_STATE_TRANSITION,
        }
    }

    fn of_drive(op: Op, errno: Errno) -> Status {
        match (errno.0, op) {
            (libc::EOVERFLOW, Op::Write) => Status::TOO_MANY_ACTIVE_ZONES,
            (libc::ETOOMANYREFS, Op::Write) => Status::TOO_MANY_OPEN_ZONES,
            (libc::EROFS | libc::EPERM | libc::EACCES, _) => Status::NAMESPACE_WRITE_PROTECTED,
            (libc::ENOSPC, _) => Status::CAPACITY_EXCEEDED,
            (_, Op::Read) => Status::UNRECOVERED_READ_ERROR,
            (_, Op::Write | Op::Trim) => Status::WRITE_FAULT,
            (_, Op::Flush) => Status::INTERNAL_ERROR,
        }
    }
}
