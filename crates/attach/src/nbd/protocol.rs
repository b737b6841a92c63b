//! The constants of the protocol, named as in its specification without the prefix `NBD_`:
//! doc/proto.md of <https://github.com/NetworkBlockDevice/nbd>.

/// The start of a server's greeting.
pub(super) const MAGIC: u64 = u64::from_be_bytes(*b"NBDMAGIC");
/// The second part of the greeting, and the start of each option from the client.
pub(super) const OPTION_MAGIC: u64 = u64::from_be_bytes(*b"IHAVEOPT");
pub(super) const OPTION_REPLY_MAGIC: u64 = 0x3e889045565a9;
pub(super) const REQUEST_MAGIC: u32 = 0x25609513;
pub(super) const SIMPLE_REPLY_MAGIC: u32 = 0x67446698;
pub(super) const STRUCTURED_REPLY_MAGIC: u32 = 0x668e33ef;

pub(super) const FLAG_FIXED_NEWSTYLE: u16 = 1;
pub(super) const FLAG_NO_ZEROES: u16 = 2;

pub(super) const OPT_EXPORT_NAME: u32 = 1;
pub(super) const OPT_ABORT: u32 = 2;
pub(super) const OPT_LIST: u32 = 3;
pub(super) const OPT_INFO: u32 = 6;
pub(super) const OPT_GO: u32 = 7;
pub(super) const OPT_STRUCTURED_REPLY: u32 = 8;

pub(super) const REP_ACK: u32 = 1;
pub(super) const REP_SERVER: u32 = 2;
pub(super) const REP_INFO: u32 = 3;
pub(super) const REP_ERR_UNSUP: u32 = 1 << 31 | 1;
pub(super) const REP_ERR_POLICY: u32 = 1 << 31 | 2;
pub(super) const REP_ERR_INVALID: u32 = 1 << 31 | 3;
pub(super) const REP_ERR_UNKNOWN: u32 = 1 << 31 | 6;
pub(super) const REP_ERR_TOO_BIG: u32 = 1 << 31 | 9;

pub(super) const INFO_EXPORT: u16 = 0;
pub(super) const INFO_NAME: u16 = 1;
pub(super) const INFO_BLOCK_SIZE: u16 = 3;

pub(super) const FLAG_HAS_FLAGS: u16 = 1;
pub(super) const FLAG_READ_ONLY: u16 = 1 << 1;
pub(super) const FLAG_SEND_FLUSH: u16 = 1 << 2;
pub(super) const FLAG_SEND_FUA: u16 = 1 << 3;
pub(super) const FLAG_SEND_TRIM: u16 = 1 << 5;
pub(super) const FLAG_SEND_WRITE_ZEROES: u16 = 1 << 6;
pub(super) const FLAG_SEND_DF: u16 = 1 << 7;
pub(super) const FLAG_CAN_MULTI_CONN: u16 = 1 << 8;

pub(super) const CMD_READ: u16 = 0;
pub(super) const CMD_WRITE: u16 = 1;
pub(super) const CMD_DISC: u16 = 2;
pub(super) const CMD_FLUSH: u16 = 3;
pub(super) const CMD_TRIM: u16 = 4;
pub(super) const CMD_WRITE_ZEROES: u16 = 6;

pub(super) const CMD_FLAG_FUA: u16 = 1;
pub(super) const CMD_FLAG_NO_HOLE: u16 = 1 << 1;
pub(super) const CMD_FLAG_DF: u16 = 1 << 2;

pub(super) const REPLY_FLAG_DONE: u16 = 1;
pub(super) const REPLY_TYPE_OFFSET_DATA: u16 = 1;
pub(super) const REPLY_TYPE_ERROR: u16 = 1 << 15 | 1;

/// The error numbers of the protocol, which are those of Linux.
pub(super) mod error {
    pub(crate) const EPERM: u32 = 1;
    pub(crate) const EIO: u32 = 5;
    pub(crate) const ENOMEM: u32 = 12;
    pub(crate) const EINVAL: u32 = 22;
    pub(crate) const ENOSPC: u32 = 28;
    pub(crate) const ENOTSUP: u32 = 95;
}

/// Defines a function that removes a big-endian number from the front of the input, if it is
/// complete.
macro_rules! take {
    ($name:ident, $number:ty) => {
        pub(super) fn $name(input: &mut &[u8]) -> Option<$number> {
            let (bytes, rest) = input.split_first_chunk()?;
            *input = rest;
            Some(<$number>::from_be_bytes(*bytes))
        }
    };
}

take!(take_u16, u16);
take!(take_u32, u32);
take!(take_u64, u64);
