//! The PDUs of the TCP transport (NVM Express TCP Transport Specification 1.1, "NVMe/TCP PDUs").

use crc_fast::CrcAlgorithm::Crc32Iscsi;

use super::status::Status;
use super::wire::Structure;
use crate::net::Message;

pub(super) const IC_REQ: u8 = 0x00;
pub(super) const IC_RESP: u8 = 0x01;
pub(super) const H2C_TERM_REQ: u8 = 0x02;
pub(super) const C2H_TERM_REQ: u8 = 0x03;
pub(super) const CAPSULE_CMD: u8 = 0x04;
pub(super) const CAPSULE_RESP: u8 = 0x05;
pub(super) const H2C_DATA: u8 = 0x06;
pub(super) const C2H_DATA: u8 = 0x07;
pub(super) const R2T: u8 = 0x09;

pub(super) const FLAG_HEADER_DIGEST: u8 = 1 << 0;
pub(super) const FLAG_DATA_DIGEST: u8 = 1 << 1;
pub(super) const FLAG_LAST: u8 = 1 << 2;
pub(super) const FLAG_SUCCESS: u8 = 1 << 3;

/// The length of the common header in bytes.
pub(super) const COMMON_LEN: usize = 8;
/// The length of ICReq and ICResp in bytes.
pub(super) const IC_LEN: usize = 128;
/// The length of the header of a command capsule in bytes.
pub(super) const CAPSULE_CMD_LEN: usize = 72;
/// The length of the headers of all other PDUs in bytes.
pub(super) const HEADER_LEN: usize = 24;
/// The length of a digest in bytes.
pub(super) const DIGEST_LEN: usize = 4;

/// The maximum length of a termination request in bytes.
const LONGEST_TERM_REQ: usize = 152;

/// An error after which the connection ends: the fatal error status of a termination request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fatal {
    /// A field of a header is invalid.
    #[error("the byte {0} of a PDU's header is invalid")]
    HeaderField(u32),
    /// A PDU or a command is not allowed now.
    #[error("a PDU or a command is not allowed at this point")]
    Sequence,
    /// The digest of a header is wrong.
    #[error("the digest of a header does not match")]
    HeaderDigest,
    /// Data lie outside the range that was requested.
    #[error("data lie outside the requested range")]
    OutOfRange,
    /// A PDU carries more data than allowed.
    #[error("a PDU carries more data than allowed")]
    DataLimit,
    /// The host requires a version that this controller does not support.
    #[error("the parameter at byte {0} of a PDU's header is not supported")]
    Unsupported(u32),
}

impl Fatal {
    fn code(self) -> (u16, u32) {
        match self {
            Fatal::HeaderField(at) => (1, at),
            Fatal::Sequence => (2, 0),
            Fatal::HeaderDigest => (3, 0),
            Fatal::OutOfRange => (4, 0),
            Fatal::DataLimit => (5, 0),
            Fatal::Unsupported(at) => (6, at),
        }
    }

    /// Returns the PDU that terminates a connection; `header` is the header of the PDU in error.
    pub(super) fn term_req(self, header: &[u8]) -> Vec<u8> {
        let header = &header[..header.len().min(LONGEST_TERM_REQ - HEADER_LEN)];
        let (status, information) = self.code();
        let mut pdu = pdu(C2H_TERM_REQ, 0, HEADER_LEN, 0, HEADER_LEN + header.len());
        pdu.u16(8, status).u32(10, information);
        let mut bytes = pdu.into_bytes();
        bytes.extend_from_slice(header);
        bytes
    }
}

/// The format of PDUs that both sides agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Format {
    /// True if headers have a digest.
    pub header_digest: bool,
    /// True if data have a digest.
    pub data_digest: bool,
    /// The alignment of the data in PDUs to the host (HPDA), in bytes; a multiple of 4.
    pub host_alignment: usize,
}

impl Format {
    pub(super) fn header_digest_len(self) -> usize {
        if self.header_digest { DIGEST_LEN } else { 0 }
    }

    pub(super) fn data_digest_len(self) -> usize {
        if self.data_digest { DIGEST_LEN } else { 0 }
    }

    fn header_flag(self) -> u8 {
        if self.header_digest { FLAG_HEADER_DIGEST } else { 0 }
    }

    fn data_flag(self) -> u8 {
        if self.data_digest { FLAG_DATA_DIGEST } else { 0 }
    }
}

/// Returns the CRC32C of `bytes`.
pub(super) fn digest(bytes: &[u8]) -> [u8; DIGEST_LEN] {
    let crc = crc_fast::checksum(Crc32Iscsi, bytes);
    u32::try_from(crc).expect("a checksum of 32 bits").to_le_bytes()
}

/// A CRC32C of data that arrive in pieces.
#[derive(Debug)]
pub(super) struct RunningDigest(crc_fast::Digest);

impl RunningDigest {
    pub(super) fn new() -> RunningDigest {
        RunningDigest(crc_fast::Digest::new(Crc32Iscsi))
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(super) fn finish(&self) -> [u8; DIGEST_LEN] {
        u32::try_from(self.0.finalize()).expect("a checksum of 32 bits").to_le_bytes()
    }
}

/// Starts a PDU with its common header; `len` is the length of the PDU with its data and digests.
fn pdu(kind: u8, flags: u8, header: usize, data: usize, len: usize) -> Structure {
    let small = |number: usize| u8::try_from(number).expect("headers are short");
    let mut pdu = Structure::new(header);
    pdu.u8(0, kind).u8(1, flags).u8(2, small(header)).u8(3, small(data));
    pdu.u32(4, u32::try_from(len).expect("PDUs are limited"));
    pdu
}

/// Returns the reply to ICReq.
pub(super) fn ic_resp(format: Format, max_data: u32) -> Vec<u8> {
    let mut response = pdu(IC_RESP, 0, IC_LEN, 0, IC_LEN);
    response.u8(11, format.header_flag() | format.data_flag()).u32(12, max_data);
    response.into_bytes()
}

/// Returns a request to send `len` bytes of the data of the command `id`, from the first byte on.
pub(super) fn r2t(format: Format, id: u16, len: u32) -> Vec<u8> {
    let total = HEADER_LEN + format.header_digest_len();
    let mut request = pdu(R2T, format.header_flag(), HEADER_LEN, 0, total);
    // The identifier of a command is unique among those in flight, and serves as the transfer tag.
    request.u16(8, id).u16(10, id).u32(12, 0).u32(16, len);
    with_digest(request, format)
}

fn with_digest(header: Structure, format: Format) -> Vec<u8> {
    let mut bytes = header.into_bytes();
    if format.header_digest {
        let digest = digest(&bytes);
        bytes.extend(digest);
    }
    bytes
}

/// The result of a command: the entry of the completion queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The identifier of the command.
    pub id: u16,
    /// The status.
    pub status: Status,
    /// The result of the command: dwords 0 and 1.
    pub result: u64,
}

impl Completion {
    /// Returns the completion of a command without a result.
    pub(super) fn new(id: u16, status: Status) -> Completion {
        Completion { id, status, result: 0 }
    }
}

/// An encoded completion, after the data of the command.
#[derive(Debug)]
pub(super) struct Reply {
    head: Vec<u8>,
    data: Vec<u8>,
    tail: Vec<u8>,
}

impl Reply {
    /// Encodes a completion and its data, if there are any. `queue_head` is `None` if the host does
    /// not control the flow of the submission queue.
    pub(super) fn new(
        format: Format,
        completion: &Completion,
        data: Vec<u8>,
        queue_head: Option<u16>,
    ) -> Reply {
        if data.is_empty() {
            let tail = capsule_resp(format, completion, queue_head);
            return Reply { head: Vec::new(), data, tail };
        }
        let silent =
            queue_head.is_none() && *completion == Completion::new(completion.id, Status::SUCCESS);
        let flags = if silent { FLAG_LAST | FLAG_SUCCESS } else { FLAG_LAST };
        let head = c2h_data(format, flags, completion.id, data.len());
        let mut tail = Vec::new();
        if format.data_digest {
            tail.extend(digest(&data));
        }
        if !silent {
            tail.extend(capsule_resp(format, completion, queue_head));
        }
        Reply { head, data, tail }
    }
}

impl Reply {
    /// Returns PDUs that do not reply to a command.
    pub(super) fn raw(bytes: Vec<u8>) -> Reply {
        Reply { head: bytes, data: Vec::new(), tail: Vec::new() }
    }
}

fn c2h_data(format: Format, flags: u8, id: u16, len: usize) -> Vec<u8> {
    let offset =
        (HEADER_LEN + format.header_digest_len()).next_multiple_of(format.host_alignment.max(4));
    let flags = flags | format.header_flag() | format.data_flag();
    let total = offset + len + format.data_digest_len();
    let mut header = pdu(C2H_DATA, flags, HEADER_LEN, offset, total);
    header.u16(8, id).u32(12, 0).u32(16, u32::try_from(len).expect("transfers are limited"));
    let mut head = with_digest(header, format);
    head.resize(offset, 0);
    head
}

fn capsule_resp(format: Format, completion: &Completion, queue_head: Option<u16>) -> Vec<u8> {
    let total = HEADER_LEN + format.header_digest_len();
    let mut response = pdu(CAPSULE_RESP, format.header_flag(), HEADER_LEN, 0, total);
    response.u64(8, completion.result).u16(16, queue_head.unwrap_or(u16::MAX));
    response.u16(20, completion.id).u16(22, completion.status.field());
    with_digest(response, format)
}

impl Message for Reply {
    fn parts(&self) -> impl Iterator<Item = &[u8]> {
        [&self.head[..], &self.data, &self.tail].into_iter().filter(|part| !part.is_empty())
    }

    fn len(&self) -> usize {
        self.head.len() + self.data.len() + self.tail.len()
    }
}
