//! A host for tests, written from the specifications. It can also send data that a correct host
//! never sends.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::digest::crc32c;

pub(crate) const HOST_NQN: &str =
    "nqn.2014-08.org.nvmexpress:uuid:a0000000-0000-4000-8000-000000000001";
pub(crate) const DISCOVERY: &str = "nqn.2014-08.org.nvmexpress.discovery";

/// A submission queue entry.
#[derive(Clone)]
pub(crate) struct Entry(pub [u8; 64]);

impl Entry {
    /// Starts a command for namespace `namespace`, whose data are described by an SGL.
    pub(crate) fn new(opcode: u8, namespace: u32) -> Entry {
        let mut entry = Entry([0; 64]);
        entry.0[0] = opcode;
        entry.0[1] = 0x40;
        entry.set(4, &namespace.to_le_bytes())
    }

    /// Starts a Fabrics command.
    pub(crate) fn fabrics(kind: u8) -> Entry {
        Entry::new(0x7f, kind.into())
    }

    pub(crate) fn set(mut self, at: usize, bytes: &[u8]) -> Entry {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    /// Sets command dword `number`.
    pub(crate) fn dword(self, number: usize, value: u32) -> Entry {
        self.set(4 * number, &value.to_le_bytes())
    }

    /// Sets the range of a read, a write or a similar command.
    pub(crate) fn range(self, start: u64, blocks: u32) -> Entry {
        self.set(40, &start.to_le_bytes()).dword(12, blocks - 1)
    }

    /// Describes `len` bytes in separate PDUs.
    pub(crate) fn by_transport(self, len: usize) -> Entry {
        self.set(32, &u32::try_from(len).unwrap().to_le_bytes()).set(39, &[0x5a])
    }

    /// Describes `len` bytes in the capsule.
    pub(crate) fn in_capsule(self, len: usize) -> Entry {
        self.set(32, &u32::try_from(len).unwrap().to_le_bytes()).set(39, &[0x01])
    }
}

/// A received PDU.
#[derive(Debug)]
pub(crate) struct Pdu {
    pub kind: u8,
    pub flags: u8,
    /// The header and its digest, up to the data.
    pub head: Vec<u8>,
    pub data: Vec<u8>,
}

impl Pdu {
    pub(crate) fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.head[at..at + 2].try_into().unwrap())
    }

    pub(crate) fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.head[at..at + 4].try_into().unwrap())
    }
}

/// A completion with the data that came before it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CompletionEntry {
    pub id: u16,
    /// The status without the phase: bits 0 to 7 are the code, 8 to 10 the type.
    pub status: u16,
    pub do_not_retry: bool,
    pub result: u64,
    pub queue_head: u16,
    pub data: Vec<u8>,
}

/// A connection to the target: one queue.
pub(crate) struct Initiator {
    socket: TcpStream,
    pub header_digest: bool,
    pub data_digest: bool,
    /// The maximum number of data bytes in a PDU, as the target stated it.
    pub max_data: usize,
    next_id: u16,
}

/// A request to initialize a connection, with the alignment of data and the digests of the host.
pub(crate) fn ic_req(alignment: u8, digests: u8) -> Vec<u8> {
    let mut pdu = vec![0; 128];
    pdu[2] = 128;
    pdu[4] = 128;
    pdu[10] = alignment;
    pdu[11] = digests;
    pdu
}

impl Initiator {
    /// Connects without sending anything.
    pub(crate) fn raw(address: SocketAddr) -> Initiator {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_nodelay(true).unwrap();
        Initiator { socket, header_digest: false, data_digest: false, max_data: 0, next_id: 1 }
    }

    /// Connects and agrees on digests.
    pub(crate) fn with_digests(address: SocketAddr, header: bool, data: bool) -> Initiator {
        let mut host = Initiator::raw(address);
        host.send(&ic_req(0, u8::from(header) | u8::from(data) << 1));
        let response = host.pdu();
        assert_eq!((response.kind, response.head.len()), (1, 128));
        assert_eq!(response.u16(8), 0, "the version of the format");
        assert_eq!(response.head[11], u8::from(header) | u8::from(data) << 1);
        host.max_data = response.u32(12) as usize;
        assert!(host.max_data >= 4096 && host.max_data.is_multiple_of(4));
        (host.header_digest, host.data_digest) = (header, data);
        host
    }

    pub(crate) fn new(address: SocketAddr) -> Initiator {
        Initiator::with_digests(address, false, false)
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).unwrap();
    }

    /// Builds a PDU from the header after the common part, and data.
    pub(crate) fn build(&self, kind: u8, flags: u8, header: &[u8], data: &[u8]) -> Vec<u8> {
        let head_len = 8 + header.len();
        let digest = if self.header_digest { 4 } else { 0 };
        let offset = if data.is_empty() { 0 } else { head_len + digest };
        let data_digest = if self.data_digest && !data.is_empty() { 4 } else { 0 };
        let total = head_len + digest + data.len() + data_digest;
        let digest_flags = u8::from(digest > 0) | u8::from(data_digest > 0) << 1;
        let mut pdu = vec![kind, flags | digest_flags, u8::try_from(head_len).unwrap()];
        pdu.push(u8::try_from(offset).unwrap());
        pdu.extend(u32::try_from(total).unwrap().to_le_bytes());
        pdu.extend(header);
        if self.header_digest {
            pdu.extend(crc32c(&pdu.clone()));
        }
        pdu.extend(data);
        if data_digest > 0 {
            pdu.extend(crc32c(data));
        }
        pdu
    }

    /// Sends a command with a new identifier, and data in its capsule. Returns the identifier.
    pub(crate) fn submit(&mut self, entry: Entry, data: &[u8]) -> u16 {
        let id = self.next_id;
        self.next_id = self.next_id.checked_add(1).unwrap_or(1);
        let entry = entry.set(2, &id.to_le_bytes());
        self.send(&self.build(4, 0, &entry.0, data));
        id
    }

    fn exactly(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.socket.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Receives a PDU and checks its lengths and digests.
    pub(crate) fn pdu(&mut self) -> Pdu {
        let mut head = self.exactly(8);
        let (kind, flags, header, offset) = (head[0], head[1], head[2] as usize, head[3] as usize);
        let total = u32::from_le_bytes(head[4..8].try_into().unwrap()) as usize;
        head.extend(self.exactly(header - 8));
        let mut at = header;
        assert_eq!(flags & 1 == 1, self.header_digest && !matches!(kind, 1 | 3), "{head:?}");
        if flags & 1 == 1 {
            let digest = self.exactly(4);
            assert_eq!(digest, crc32c(&head), "the digest of the header");
            at += 4;
        }
        let mut data = Vec::new();
        if total > at {
            // The termination request has no offset; its data follow the header.
            let padding = offset.saturating_sub(at);
            self.exactly(padding);
            let digest = if flags & 2 == 2 { 4 } else { 0 };
            data = self.exactly(total - at - padding - digest);
            if digest > 0 {
                assert_eq!(self.exactly(4), crc32c(&data), "the digest of the data");
            }
        }
        Pdu { kind, flags, head, data }
    }

    /// Receives the completion of the next command, with its data.
    pub(crate) fn done(&mut self) -> CompletionEntry {
        let mut data = Vec::new();
        loop {
            let pdu = self.pdu();
            match pdu.kind {
                7 => {
                    assert_eq!(pdu.u32(12) as usize, data.len(), "data arrive in order");
                    assert_eq!(pdu.u32(16) as usize, pdu.data.len());
                    data.extend(&pdu.data);
                    // The target completes the command without a completion capsule.
                    if pdu.flags & 8 == 8 {
                        let id = pdu.u16(8);
                        let queue_head = u16::MAX;
                        return CompletionEntry {
                            id,
                            status: 0,
                            do_not_retry: false,
                            result: 0,
                            queue_head,
                            data,
                        };
                    }
                }
                5 => {
                    let status = pdu.u16(22);
                    return CompletionEntry {
                        id: pdu.u16(20),
                        status: status >> 1 & 0x7ff,
                        do_not_retry: status >> 15 == 1,
                        result: u64::from(pdu.u32(8)) | u64::from(pdu.u32(12)) << 32,
                        queue_head: pdu.u16(16),
                        data,
                    };
                }
                other => panic!("PDU of type {other}: {pdu:?}"),
            }
        }
    }

    /// Executes a command that moves no data or data to the host.
    pub(crate) fn execute(&mut self, entry: Entry) -> CompletionEntry {
        let id = self.submit(entry, &[]);
        let done = self.done();
        assert_eq!(done.id, id);
        done
    }

    /// Executes a command with data in its capsule.
    pub(crate) fn with_data(&mut self, entry: Entry, data: &[u8]) -> CompletionEntry {
        let id = self.submit(entry.in_capsule(data.len()), data);
        let done = self.done();
        assert_eq!(done.id, id);
        done
    }

    /// Executes a command whose data the target requests.
    pub(crate) fn on_request(&mut self, entry: Entry, data: &[u8]) -> CompletionEntry {
        let id = self.submit(entry.by_transport(data.len()), &[]);
        self.answer_request(id, data);
        let done = self.done();
        assert_eq!(done.id, id);
        done
    }

    /// Waits for a request for data, and sends them in pieces of the permitted length.
    pub(crate) fn answer_request(&mut self, id: u16, data: &[u8]) {
        let request = self.pdu();
        assert_eq!((request.kind, request.u16(8)), (9, id), "{request:?}");
        let (offset, len) = (request.u32(12) as usize, request.u32(16) as usize);
        assert_eq!((offset, len), (0, data.len()));
        for (number, piece) in data.chunks(self.max_data).enumerate() {
            let at = number * self.max_data;
            let is_last = at + piece.len() == data.len();
            let header = piece_header(id, request.u16(10), at, piece.len());
            let pdu = self.build(6, u8::from(is_last) << 2, &header, piece);
            self.send(&pdu);
        }
    }

    /// Sends Connect for a queue of 32 entries.
    pub(crate) fn connect_as(
        &mut self,
        host: &str,
        subsystem: &str,
        queue: u16,
        controller: u16,
    ) -> CompletionEntry {
        let entry = connect_entry(queue, 31);
        self.with_data(entry, &connect_data(host, subsystem, controller))
    }

    /// Returns true if the target has closed the connection.
    pub(crate) fn is_closed(&mut self) -> bool {
        matches!(self.socket.read(&mut [0]), Ok(0) | Err(_))
    }

    /// Receives a termination request: its status and its information. The connection then ends.
    pub(crate) fn terminated(&mut self) -> (u16, u32) {
        let pdu = self.pdu();
        assert_eq!(pdu.kind, 3, "{pdu:?}");
        assert!(self.is_closed());
        let information = u32::from_le_bytes(pdu.head[10..14].try_into().unwrap());
        (pdu.u16(8), information)
    }
}

/// The header of a data PDU after its common part.
pub(crate) fn piece_header(id: u16, tag: u16, at: usize, len: usize) -> Vec<u8> {
    let mut header = id.to_le_bytes().to_vec();
    header.extend(tag.to_le_bytes());
    header.extend(u32::try_from(at).unwrap().to_le_bytes());
    header.extend(u32::try_from(len).unwrap().to_le_bytes());
    header.extend([0; 4]);
    header
}

/// Connect for a queue whose size field is `size`.
pub(crate) fn connect_entry(queue: u16, size: u16) -> Entry {
    Entry::fabrics(1).set(42, &queue.to_le_bytes()).set(44, &size.to_le_bytes())
}

pub(crate) fn connect_data(host: &str, subsystem: &str, controller: u16) -> Vec<u8> {
    let mut data = vec![0; 1024];
    data[..16].copy_from_slice(&[7; 16]);
    data[16..18].copy_from_slice(&controller.to_le_bytes());
    data[256..256 + subsystem.len()].copy_from_slice(subsystem.as_bytes());
    data[512..512 + host.len()].copy_from_slice(host.as_bytes());
    data
}

/// Property Set of 4 bytes.
pub(crate) fn property_set(offset: u32, value: u32) -> Entry {
    Entry::fabrics(0).set(44, &offset.to_le_bytes()).set(48, &value.to_le_bytes())
}

/// Property Get of 4 or 8 bytes.
pub(crate) fn property_get(offset: u32, size: u32) -> Entry {
    Entry::fabrics(4).set(40, &[u8::from(size == 8)]).set(44, &offset.to_le_bytes())
}

/// The configuration that enables a controller, with entries of 64 and 16 bytes.
pub(crate) const ENABLED: u32 = 1 | 6 << 16 | 4 << 20;

pub(crate) fn u16_at(data: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(data[at..at + 2].try_into().unwrap())
}

pub(crate) fn u32_at(data: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(data[at..at + 4].try_into().unwrap())
}

pub(crate) fn u64_at(data: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(data[at..at + 8].try_into().unwrap())
}
