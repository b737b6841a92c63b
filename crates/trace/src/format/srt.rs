//! HP Laboratories' SRT: a text header that describes the traced machine and ends with a form feed,
//! then records of big-endian 32-bit integers. Their fields are: length in bytes; version (upper
//! half) and kind; time of entry into the driver in seconds and microseconds since the start of the
//! trace; start and finish times in microseconds after the entry; bytes; first sector; device (from
//! the highest byte: major, controller, disk, section); driver, cylinder, flags (bit 0 marks a
//! read), and buffer information. Version 4 adds the queue length, version 5 the process, and
//! version 6 the logical volume.
//!
//! The latency is the time from entry to finish. Sectors count from the start of the disk, with the
//! size given in the header. A volume is a disk.

use flashscope_block::{Bytes, Nanos, Op};

use super::super::Request;
use super::super::binary::{BinaryFormat, bytes};
use super::super::error::Reason;
use super::super::reader::Options;
use super::super::text::{Output, checked};
use super::Format;

pub(super) const FORMAT: Format = Format::binary::<Srt>(
    "srt",
    "HP Laboratories' SRT (binary), with response times",
    "Ruemmler and Wilkes, USENIX Winter 1993; the reader of DiskSim 4.0",
);

const MAGIC: &[u8] = b"$$TR_IOREC";

/// The byte that ends the header.
const FORM_FEED: u8 = 0x0c;

/// The last version with a known layout; later versions have other fields.
const LAST_VERSION: u32 = 6;

/// The number of fields that all versions have.
const FIELDS: u32 = 13;

/// Record kinds: a request, and a request whose fields the tracer marked as unreliable.
const SHORT_IO: u32 = 1;
const SUSPECT_IO: u32 = 4;

const READ: u32 = 1;

struct Srt {
    sector: u64,
}

impl BinaryFormat for Srt {
    fn sniff(head: &[u8]) -> u32 {
        if head.starts_with(MAGIC) { 1000 } else { 0 }
    }

    fn new(head: &[u8], options: &Options) -> Result<(Self, usize), Reason> {
        if !head.starts_with(MAGIC) {
            return Err(Reason::new("it does not begin with `$$TR_IOREC`"));
        }
        let end = memchr::memchr(FORM_FEED, head).ok_or_else(|| {
            Reason::new(format!(
                "its header has no end (a form feed) in the first {} bytes",
                head.len()
            ))
        })?;
        let sector = match options.sector {
            Some(sector) => sector.0,
            None => sector_size(&head[..end])?,
        };
        Ok((Srt { sector }, end + 1))
    }

    fn length(&self, start: &[u8]) -> Result<Option<usize>, Reason> {
        if start.len() < 8 {
            return Ok(None);
        }
        let (length, id) = (field(start, 0), field(start, 1));
        let (version, kind) = (id >> 16, id & 0xffff);
        if !(1..=LAST_VERSION).contains(&version) || ![SHORT_IO, SUSPECT_IO].contains(&kind) {
            return Err(Reason::new(format!(
                "its version is {version} and its kind {kind}; supported are the versions 1 to \
                 {LAST_VERSION} of the kinds {SHORT_IO} and {SUSPECT_IO}"
            )));
        }
        let fields = FIELDS + version.saturating_sub(3) + u32::from(kind == SUSPECT_IO);
        if length != 4 * fields {
            return Err(Reason::new(format!(
                "its length is {length} bytes; a record of version {version} and kind {kind} has {}",
                4 * fields
            )));
        }
        Ok(usize::try_from(length).ok())
    }

    fn record(&mut self, record: &[u8], out: &mut Output) -> Result<(), Reason> {
        if field(record, 1) & 0xffff == SUSPECT_IO {
            return Err(Reason::new("its tracer marked its fields as unreliable"));
        }
        let (seconds, micros) = (field(record, 2), field(record, 3));
        if micros >= 1_000_000 {
            return Err(Reason::new(format!(
                "its time has {micros} us after the second, not below 1000000"
            )));
        }
        let at = Nanos(u64::from(seconds) * 1_000_000_000 + u64::from(micros) * 1_000);
        // A negative time marks a missing value.
        let finished = field(record, 5).cast_signed();
        let latency = u64::try_from(finished).ok().map(|micros| Nanos(micros * 1_000));
        let len = Bytes(u64::from(field(record, 6)));
        let offset = u64::from(field(record, 7)).checked_mul(self.sector).map(Bytes);
        let offset = offset.ok_or_else(|| Reason::new("it begins beyond 2^64 bytes"))?;
        let disk = field(record, 8) >> 8 & 0xff;
        let volume = out.volumes.id(disk.to_string().as_bytes());
        let op = if field(record, 11) & READ != 0 { Op::Read } else { Op::Write };
        out.requests.push(checked(Request { at, latency, offset, len, volume, op })?);
        Ok(())
    }
}

/// Returns the integer at this index of a record.
fn field(record: &[u8], number: usize) -> u32 {
    u32::from_be_bytes(bytes(record, 4 * number))
}

/// Returns the sector size from the header lines `sectorsize = 256,` of the disks.
fn sector_size(header: &[u8]) -> Result<u64, Reason> {
    let text = String::from_utf8_lossy(header);
    let mut found = None;
    for line in text.lines() {
        let Some((name, value)) = line.split_once('=') else { continue };
        if name.trim() != "sectorsize" {
            continue;
        }
        let value = value.trim().trim_end_matches([',', ';']);
        let size = value.parse::<u64>().ok().filter(|size| *size > 0);
        let size = size.ok_or_else(|| {
            Reason::new(format!("its header gives `{value}` as the size of a sector"))
        })?;
        if found.is_some_and(|found| found != size) {
            let reason = "its disks have sectors of different sizes: give the one that all \
                          addresses count in by --sector";
            return Err(Reason::new(reason));
        }
        found = Some(size);
    }
    found.ok_or_else(|| {
        Reason::new("its header does not give the size of a sector: give it by --sector")
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{read, read_skipping, reason};
    use super::*;

    const HEADER: &str = "$$TR_IOREC-1.3 (made by hand)\0\nversion = 1.3;\ndisks = {\n\
        0 -> {\n\tsectorsize  = 256,\n\tsections = {\n\t\t8 -> {\n\t\t\tsectorsize = 256\n}}}};\n\x0c";

    /// A record of version 4: a request for 8 KiB from sector 100 of disk 1 at 2.5 s.
    const FIELDS: [u32; 14] =
        [56, 4 << 16 | 1, 2, 500_000, 20, 9_000, 8192, 100, 0x0800_0108, 4, 1, 27, 0, 3];

    fn trace(records: &[&[u32]]) -> Vec<u8> {
        let records = records.iter().copied().flatten().flat_map(|field| field.to_be_bytes());
        HEADER.bytes().chain(records).collect()
    }

    // Every field of a request comes from its record.
    #[test]
    fn a_record_is_read() {
        let mut write = FIELDS;
        write[8] = 0x0700_0000;
        write[11] = 26;
        let (requests, volumes) = read(&FORMAT, &trace(&[&FIELDS, &write]));
        assert_eq!(volumes.names().collect::<Vec<_>>(), ["1", "0"]);
        let wanted = Request {
            at: Nanos(2_500_000_000),
            latency: Some(Nanos::micros(9_000)),
            offset: Bytes(25_600),
            len: Bytes(8192),
            volume: 0,
            op: Op::Read,
        };
        assert_eq!(requests, [wanted, Request { volume: 1, op: Op::Write, ..wanted }]);
    }

    // All versions with a known layout parse, and others are refused.
    #[test]
    fn versions_have_their_lengths() {
        for (version, fields) in [(1, 13), (3, 13), (4, 14), (5, 15), (6, 16)] {
            let mut record = [FIELDS.as_slice(), &[7, 7]].concat();
            record.truncate(fields);
            record[0] = 4 * u32::try_from(fields).unwrap();
            record[1] = version << 16 | SHORT_IO;
            assert_eq!(read(&FORMAT, &trace(&[&record, &record])).0.len(), 2, "{version}");
            record[0] += 4;
            assert!(reason(&FORMAT, &trace(&[&record])).contains("its length is"));
        }
        let mut later = FIELDS;
        later[1] = 7 << 16 | SHORT_IO;
        let reason = reason(&FORMAT, &trace(&[&FIELDS, &later]));
        let wanted = format!("record 2 (at byte {}): its version is 7", HEADER.len() + 56);
        assert!(reason.contains(&wanted), "{reason}");
    }

    // A record with impossible values is an error, or is skipped with `OnBad::Skip`.
    #[test]
    fn impossible_records_are_bad() {
        let mut suspect = [FIELDS.as_slice(), &[1]].concat();
        (suspect[0], suspect[1]) = (60, 4 << 16 | SUSPECT_IO);
        let (mut late, mut empty) = (FIELDS, FIELDS);
        late[3] = 1_000_000;
        empty[6] = 0;
        for (record, wanted) in [
            (&suspect[..], "its tracer marked its fields as unreliable"),
            (&late, "its time has 1000000 us after the second, not below 1000000"),
            (&empty, "it is for 0 bytes"),
        ] {
            let content = trace(&[record, &FIELDS]);
            assert!(reason(&FORMAT, &content).contains(wanted));
            assert_eq!(read_skipping(&FORMAT, &content), (1, 1));
        }
        let mut unseen = FIELDS;
        unseen[5] = u32::MAX;
        assert_eq!(read(&FORMAT, &trace(&[&unseen])).0[0].latency, None);
    }

    // An error names a header without an end or with ambiguous sector sizes.
    #[test]
    fn headers_are_complete() {
        let differ = HEADER.replacen("= 256", "= 512", 1);
        let none = HEADER.replace("sectorsize", "size");
        let zero = HEADER.replace("= 256", "= 0");
        for (header, wanted) in [
            (&HEADER[..HEADER.len() - 1], "its header has no end"),
            (&differ, "sectors of different sizes"),
            (&none, "does not give the size of a sector"),
            (&zero, "gives `0` as the size of a sector"),
        ] {
            let reason = reason(&FORMAT, header.as_bytes());
            assert!(reason.contains(wanted), "{reason}");
        }
    }
}
