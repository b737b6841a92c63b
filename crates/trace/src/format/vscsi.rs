//! VMware's vscsiStats, as CloudPhysics used it: little-endian records with the version in the
//! upper byte of the version field. A record of version 1 has 32 bytes: serial number (32 bits),
//! length in bytes (32), scatter-gather elements (32), SCSI operation code (16), version (16),
//! first block of 512 bytes (64), microseconds (64). A record of version 2 has 40 bytes: operation
//! code (16), version (16), serial number, length, elements, first block, microseconds, and the
//! response time in microseconds (64).
//!
//! [`scsi`] selects the commands that are requests.

use flashscope_block::{Bytes, Nanos};

use super::super::Request;
use super::super::binary::{BinaryFormat, bytes};
use super::super::error::Reason;
use super::super::reader::Options;
use super::super::text::Output;
use super::{Format, scsi};

pub(super) const FORMAT: Format = Format::binary::<Vscsi>(
    "vscsi",
    "VMware vscsiStats (binary, versions 1 and 2), as used by CloudPhysics",
    "Waldspurger, Park, Garthwaite and Ahmad, FAST 2015; the reader of libCacheSim",
);

/// The usual block size of a virtual disk, in bytes.
const BLOCK: u64 = 512;

/// The only volume: a file contains the trace of one virtual disk.
const VOLUME: &[u8] = b"0";

/// The number of records examined to detect the format.
const SNIFFED_RECORDS: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

struct Vscsi {
    version: Version,
    block: u64,
}

impl BinaryFormat for Vscsi {
    fn sniff(head: &[u8]) -> u32 {
        let Some(version) = version(head) else { return 0 };
        let mut records = head.chunks_exact(version.length()).take(SNIFFED_RECORDS).peekable();
        let known =
            |record: &[u8]| version.is_of(record) && scsi::is_known(version.code(record).into());
        // The format has no magic number. Score it lower, to let a format with a magic number win.
        if records.peek().is_some() && records.all(known) { 900 } else { 0 }
    }

    fn new(head: &[u8], options: &Options) -> Result<(Self, usize), Reason> {
        // For an empty file, either version works.
        let version = if head.is_empty() { Some(Version::V1) } else { version(head) };
        let version = version.ok_or_else(|| {
            Reason::new(match head.len() {
                0..32 => "it ends within its first record",
                _ => "the version of its first record is neither 1 nor 2",
            })
        })?;
        Ok((Vscsi { version, block: options.sector(BLOCK) }, 0))
    }

    fn length(&self, _: &[u8]) -> Result<Option<usize>, Reason> {
        Ok(Some(self.version.length()))
    }

    fn record(&mut self, record: &[u8], out: &mut Output) -> Result<(), Reason> {
        let version = self.version;
        if !version.is_of(record) {
            return Err(Reason::new("its version differs from that of the first record"));
        }
        let Some(op) = scsi::operation(version.code(record).into())? else { return Ok(()) };
        let len = Bytes(u64::from(u32::from_le_bytes(bytes(record, version.at(4, 8)))));
        let block = u64::from_le_bytes(bytes(record, 16));
        // A deliberate fault that tests the fuzz targets: accept a block beyond 2^64 bytes.
        let offset = match flashscope_block::canary::is_planted() {
            true => Some(Bytes(block * self.block)),
            false => block.checked_mul(self.block).map(Bytes),
        };
        let offset = offset.ok_or_else(|| Reason::new("it begins beyond 2^64 bytes"))?;
        let at = nanos(record, 24).ok_or_else(|| Reason::new("its time is beyond 584 years"))?;
        let latency = match version {
            Version::V1 => None,
            Version::V2 => nanos(record, 32),
        };
        let volume = out.volumes.id(VOLUME);
        let noted = Request { at, latency, offset, len, volume, op };
        out.requests.push(scsi::request(noted, self.block)?);
        Ok(())
    }
}

impl Version {
    fn length(self) -> usize {
        match self {
            Version::V1 => 32,
            Version::V2 => 40,
        }
    }

    /// Returns the offset of a field in this version, given its offsets in both versions.
    fn at(self, v1: usize, v2: usize) -> usize {
        match self {
            Version::V1 => v1,
            Version::V2 => v2,
        }
    }

    fn code(self, record: &[u8]) -> u16 {
        u16::from_le_bytes(bytes(record, self.at(12, 0)))
    }

    /// Returns true if a record has this version.
    fn is_of(self, record: &[u8]) -> bool {
        let number = match self {
            Version::V1 => 1,
            Version::V2 => 2,
        };
        u16::from_le_bytes(bytes(record, self.at(14, 2))) >> 8 == number
    }
}

/// Returns the version that the first record states.
fn version(head: &[u8]) -> Option<Version> {
    // The version field of version 1 overlaps the number of scatter-gather elements of version 2,
    // which never reaches 2^24. The version field of version 2 overlaps the serial number of
    // version 1.
    let is_of = |version: &Version| {
        head.len() >= version.length() && version.is_of(head) && version.code(head) <= 0xff
    };
    [Version::V1, Version::V2].into_iter().find(is_of)
}

/// Reads a time in microseconds at this offset.
fn nanos(record: &[u8], at: usize) -> Option<Nanos> {
    u64::from_le_bytes(bytes(record, at)).checked_mul(1_000).map(Nanos)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{read, read_skipping, reason};
    use super::*;
    use flashscope_block::Op;

    fn v1(number: u32, code: u16, len: u32, block: u64, micros: u64) -> Vec<u8> {
        let words = [number, len, 1].map(u32::to_le_bytes).concat();
        let halves = [code, 0x0100].map(u16::to_le_bytes).concat();
        [words, halves, [block, micros].map(u64::to_le_bytes).concat()].concat()
    }

    fn v2(number: u32, code: u16, len: u32, block: u64, micros: u64) -> Vec<u8> {
        let halves = [code, 0x0200].map(u16::to_le_bytes).concat();
        let words = [number, len, 1].map(u32::to_le_bytes).concat();
        [halves, words, [block, micros, 250].map(u64::to_le_bytes).concat()].concat()
    }

    // Both versions parse, and the content distinguishes them.
    #[test]
    fn versions_are_read() {
        let wanted = Request {
            at: Nanos::micros(7_000),
            latency: None,
            offset: Bytes(100 * 512),
            len: Bytes(4096),
            volume: 0,
            op: Op::Read,
        };
        let first = [v1(0x8000_0200, 0x28, 4096, 100, 7_000), v1(1, 0x12, 36, 0, 7_001)].concat();
        let (requests, volumes) = read(&FORMAT, &first);
        assert_eq!((requests, volumes.len()), (vec![wanted], 1));
        let second = [v2(5, 0x8a, 4096, 100, 7_000), v2(6, 0x12, 36, 0, 7_001)].concat();
        let latency = Some(Nanos::micros(250));
        assert_eq!(read(&FORMAT, &second).0, [Request { latency, op: Op::Write, ..wanted }]);
        assert_eq!((Vscsi::sniff(&first), Vscsi::sniff(&second)), (900, 900));
    }

    // Operations follow the SCSI codes, and commands with impossible fields are refused.
    #[test]
    fn commands_are_told_apart() {
        for (code, op) in [
            (0x08, Op::Read),
            (0xa8, Op::Read),
            (0x0a, Op::Write),
            (0x93, Op::Write),
            (0x42, Op::Trim),
            (0x91, Op::Flush),
        ] {
            let (requests, _) = read(&FORMAT, &v1(1, code, 1024, 8, 1));
            let end = if op == Op::Flush { 0 } else { 8 * 512 + 1024 };
            assert_eq!((requests[0].op, requests[0].end()), (op, Bytes(end)), "{code:#x}");
        }
        for (code, len, wanted) in [
            (0x42, 24, "record 2 (at byte 32): it is an UNMAP whose ranges were not recorded"),
            (0x28, 0, "record 2 (at byte 32): it is for 0 bytes"),
            (0x7f, 512, "record 2 (at byte 32): 0x7f is not a known SCSI operation code"),
        ] {
            let content = [v1(1, 0x2a, 512, 0, 1), v1(2, code, len, 0, 2)].concat();
            let reason = reason(&FORMAT, &content);
            assert!(reason.contains(wanted), "{reason}");
            assert_eq!(read_skipping(&FORMAT, &content), (1, 1));
        }
    }

    // A file is refused if it is truncated, changes its version or has an unknown version.
    #[test]
    fn damage_is_found() {
        let first = v1(1, 0x28, 512, 0, 1);
        let cut = [&first[..], &first[..20]].concat();
        let wanted = "record 2 (at byte 32): the file ends after 20 bytes of this record";
        assert!(reason(&FORMAT, &cut).contains(wanted));
        assert_eq!(read_skipping(&FORMAT, &cut), (1, 1));
        let mut mixed = [&first[..], &first[..]].concat();
        mixed[32 + 15] = 2;
        assert!(
            reason(&FORMAT, &mixed).contains("its version differs from that of the first record")
        );
        mixed[15] = 3;
        assert!(reason(&FORMAT, &mixed).contains("neither 1 nor 2"));
        assert_eq!(Vscsi::sniff(&mixed), 0);
    }
}
