//! Binary traces of the Linux kernel's blktrace: records of 48 bytes (`struct blk_io_trace` of
//! `linux/blktrace_api.h`, version 7) or 64 bytes (`blk_io_trace2`, version 8), in the machine's
//! byte order, each followed by an optional payload. Sources are the files `sda.blktrace.0` (one
//! per processor), the output of `blkparse -d`, and the binary output of the tracefs tracer `blk`.
//!
//! [`BlockEvents`] selects the events that stand for requests. The parser skips passthrough and
//! zone commands.
//!
//! For a traced partition, the kernel records addresses relative to the whole drive. A write with a
//! preceding flush counts as a write; a flush without data counts as a flush.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use flashscope_block::{Bytes, Nanos, Op};

use super::super::binary::{BinaryFormat, bytes};
use super::super::block_events::BlockEvents;
use super::super::error::Reason;
use super::super::reader::Options;
use super::super::text::{Output, checked};
use super::super::{Error, Request, VolumeId};
use super::Format;

pub(super) const FORMAT: Format = Format::binary::<Blktrace>(
    "blktrace",
    "the Linux kernel's blktrace (binary), with response times",
    "Linux, include/uapi/linux/blktrace_api.h; Brunelle, blktrace User Guide, 2007",
);

/// The magic number in the upper three bytes of the first word; the lowest byte is the version.
const MAGIC: u32 = 0x6561_7400;

const SECTOR: u64 = 512;

/// Event categories: the bits of the action word from 16 on.
mod category {
    pub(super) const WRITE: u64 = 1 << 1;
    pub(super) const FLUSH: u64 = 1 << 2;
    /// A passthrough command.
    pub(crate) const PC: u64 = 1 << 9;
    pub(super) const NOTIFY: u64 = 1 << 10;
    pub(crate) const DISCARD: u64 = 1 << 13;
}

/// The events, in the lowest byte of the action word.
mod action {
    pub(super) const QUEUE: u8 = 1;
    pub(crate) const REQUEUE: u8 = 6;
    pub(super) const ISSUE: u8 = 7;
    pub(crate) const COMPLETE: u8 = 8;
    /// In category [`super::category::NOTIFY`]: the record gives the time of day.
    pub(crate) const TIMESTAMP: u8 = 1;
}

/// A flag of the action word: the payload begins with the number of a control group.
const FROM_CGROUP: u64 = 1 << 8;
const CGROUP_LENGTH: usize = 8;

struct Blktrace {
    events: BlockEvents,
    volumes: BTreeMap<u32, VolumeId>,
    /// The offset from trace time to nanoseconds since 1970, modulo 2^64; 0 if unknown.
    shift: u64,
    sector: u64,
}

impl BinaryFormat for Blktrace {
    fn sniff(head: &[u8]) -> u32 {
        if Layout::of(head).is_some() { 1000 } else { 0 }
    }

    fn new(_: &[u8], options: &Options) -> Result<(Self, usize), Reason> {
        let sector = options.sector(SECTOR);
        let (events, volumes) = (BlockEvents::default(), BTreeMap::new());
        Ok((Blktrace { events, volumes, shift: 0, sector }, 0))
    }

    fn length(&self, start: &[u8]) -> Result<Option<usize>, Reason> {
        if start.len() < 4 {
            return Ok(None);
        }
        let layout = Layout::of(start)
            .ok_or_else(|| Reason::new("it does not begin with the magic number of blktrace"))?;
        let header = layout.header().ok_or_else(|| {
            Reason::new(format!("its version is {}; supported are 7 and 8", layout.version))
        })?;
        let follows = (start.len() >= header).then(|| layout.follows(start));
        Ok(follows.map(|follows| header + follows))
    }

    fn record(&mut self, record: &[u8], out: &mut Output) -> Result<(), Reason> {
        let Some(event) = Event::of(record) else { return Ok(()) };
        if event.category & category::NOTIFY != 0 {
            self.note(&event, out);
            return Ok(());
        }
        let Some(request) = event.request(self.shift, self.sector)? else { return Ok(()) };
        self.request(&event, request, out)
    }

    fn end(&mut self, out: &mut Output) {
        self.events.end(&mut out.requests);
    }

    fn others(name: &str) -> Result<Vec<String>, Error> {
        let path = Path::new(name);
        let file = path.file_name().and_then(|file| file.to_str()).and_then(PerProcessor::parse);
        let (Some(file), true) = (file, path.is_file()) else { return Ok(Vec::new()) };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let shown = folder.to_string_lossy();
        let mut others = Vec::new();
        for entry in fs::read_dir(folder).map_err(Error::io("list", &shown))? {
            let entry = entry.map_err(Error::io("list", &shown))?;
            let Some(other) = entry.file_name().to_str().and_then(file.number_beside()) else {
                continue;
            };
            others.push((other, entry.path().to_string_lossy().into_owned()));
        }
        others.sort();
        Ok(others.into_iter().map(|(_, name)| name).collect())
    }

    fn time(record: &[u8]) -> u64 {
        Layout::of(record).map_or(0, |layout| layout.u64(record, 8))
    }
}

impl Blktrace {
    /// Handles a record of the time of day, which counts only before the first request.
    fn note(&mut self, event: &Event, out: &Output) {
        let begun = !out.volumes.is_empty();
        if let (action::TIMESTAMP, Some(now), false) = (event.action, event.time_of_day, begun) {
            self.shift = now.wrapping_sub(event.time);
        }
    }

    fn volume(&mut self, number: u32, out: &mut Output) -> VolumeId {
        *self.volumes.entry(number).or_insert_with(|| {
            // The device number is encoded as in `include/linux/kdev_t.h` of the kernel.
            let name = format!("{},{}", number >> 20, number & 0xf_ffff);
            out.volumes.id(name.as_bytes())
        })
    }

    fn request(&mut self, event: &Event, request: Request, out: &mut Output) -> Result<(), Reason> {
        let Request { offset, op, at, .. } = request;
        match event.action {
            action::QUEUE | action::ISSUE => {
                let volume = self.volume(event.device, out);
                let request = checked(Request { volume, ..request })?;
                match event.action {
                    action::QUEUE => self.events.queued(request, &mut out.requests),
                    _ => self.events.issued(request, &mut out.requests),
                }
            }
            action::REQUEUE | action::COMPLETE => {
                // A device without requests has nothing to complete.
                let Some(volume) = self.volumes.get(&event.device).copied() else { return Ok(()) };
                match event.action {
                    action::REQUEUE => self.events.requeued(volume, offset, op),
                    _ => self.events.completed(volume, offset, op, at, &mut out.requests),
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// The layout of a record, detected from its first word.
struct Layout {
    version: u8,
    big_endian: bool,
}

impl Layout {
    fn of(record: &[u8]) -> Option<Layout> {
        let word: [u8; 4] = record.get(..4)?.try_into().ok()?;
        [(u32::from_le_bytes(word), false), (u32::from_be_bytes(word), true)]
            .into_iter()
            .find(|(word, _)| word & !0xff == MAGIC)
            .map(|(word, big_endian)| Layout { version: word.to_le_bytes()[0], big_endian })
    }

    /// Returns the length of a record without its payload, in bytes.
    fn header(&self) -> Option<usize> {
        match self.version {
            7 => Some(48),
            8 => Some(64),
            _ => None,
        }
    }

    /// Returns the length of the payload in bytes.
    fn follows(&self, record: &[u8]) -> usize {
        let at = if self.version == 7 { 46 } else { 50 };
        let follows = bytes(record, at);
        usize::from(if self.big_endian {
            u16::from_be_bytes(follows)
        } else {
            u16::from_le_bytes(follows)
        })
    }

    fn u32(&self, record: &[u8], at: usize) -> u32 {
        let bytes = bytes(record, at);
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    fn u64(&self, record: &[u8], at: usize) -> u64 {
        let bytes = bytes(record, at);
        if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
    }
}

/// The decoded fields of a record.
struct Event {
    /// Time in nanoseconds, on the clock of the trace.
    time: u64,
    sector: u64,
    bytes: u32,
    action: u8,
    category: u64,
    device: u32,
    /// For a time-of-day record: nanoseconds since 1970.
    time_of_day: Option<u64>,
}

impl Event {
    #[inline]
    fn of(record: &[u8]) -> Option<Event> {
        let layout = Layout::of(record)?;
        let (action, device) = match layout.version {
            7 => (u64::from(layout.u32(record, 28)), layout.u32(record, 36)),
            _ => (layout.u64(record, 32), layout.u32(record, 40)),
        };
        let cgroup = if action & FROM_CGROUP == 0 { 0 } else { CGROUP_LENGTH };
        let follows = layout.header()? + cgroup;
        let time_of_day = (record.len() >= follows + 8).then(|| {
            let (seconds, nanos) = (layout.u32(record, follows), layout.u32(record, follows + 4));
            u64::from(seconds) * 1_000_000_000 + u64::from(nanos)
        });
        Some(Event {
            time: layout.u64(record, 8),
            sector: layout.u64(record, 16),
            bytes: layout.u32(record, 24),
            action: action.to_le_bytes()[0],
            category: action >> 16,
            device,
            time_of_day,
        })
    }

    /// Returns the request of the event, with the time of the event and volume 0.
    #[inline]
    fn request(&self, shift: u64, sector: u64) -> Result<Option<Request>, Reason> {
        let op = match self.category {
            category if category & category::PC != 0 => return Ok(None),
            category if category & category::DISCARD != 0 => Op::Trim,
            category if self.bytes == 0 => match category & category::FLUSH {
                0 => return Ok(None),
                _ => Op::Flush,
            },
            category if category & category::WRITE != 0 => Op::Write,
            _ => Op::Read,
        };
        // A flush has no address; the kernel leaves an arbitrary value there.
        let first = if op == Op::Flush { Some(0) } else { self.sector.checked_mul(sector) };
        let offset = first.map(Bytes).ok_or_else(|| Reason::new("it begins beyond 2^64 bytes"))?;
        let (at, len) = (Nanos(self.time.wrapping_add(shift)), Bytes(u64::from(self.bytes)));
        Ok(Some(Request { at, latency: None, offset, len, volume: 0, op }))
    }
}

/// The name of a per-processor file, such as `sda.blktrace.0`, in parts; compressed or not.
#[derive(Debug, PartialEq, Eq)]
struct PerProcessor<'a> {
    device: &'a str,
    processor: u32,
    compression: &'a str,
}

impl<'a> PerProcessor<'a> {
    fn parse(name: &'a str) -> Option<PerProcessor<'a>> {
        let (device, rest) = name.rsplit_once(".blktrace.")?;
        let (processor, compression) = match rest.find('.') {
            Some(end) => rest.split_at(end),
            None => (rest, ""),
        };
        let digits = !processor.is_empty() && processor.bytes().all(|byte| byte.is_ascii_digit());
        let processor = processor.parse().ok().filter(|_| digits)?;
        Some(PerProcessor { device, processor, compression })
    }

    /// Returns a function that returns the processor of another file of the same trace from its
    /// name; `None` for this file and the files of other traces.
    fn number_beside(&self) -> impl Fn(&str) -> Option<u32> {
        |name| {
            let other = PerProcessor::parse(name)?;
            let same = other.device == self.device && other.compression == self.compression;
            (same && other.processor != self.processor).then_some(other.processor)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{read, read_skipping, reason};
    use super::*;

    /// Encodes a `struct blk_io_trace` in little-endian order.
    fn event(time: u64, action: u8, category: u64, first: u64, len: u32, device: u32) -> Vec<u8> {
        followed(time, u64::from(action) | category << 16, first, len, device, &[])
    }

    fn followed(
        time: u64,
        action: u64,
        first: u64,
        len: u32,
        device: u32,
        follows: &[u8],
    ) -> Vec<u8> {
        let action = u32::try_from(action).unwrap();
        let start = [MAGIC | 7, 0].map(u32::to_le_bytes).concat();
        let place = [time, first].map(u64::to_le_bytes).concat();
        let rest = [len, action, 77, device, 1].map(u32::to_le_bytes).concat();
        let length = u16::try_from(follows.len()).unwrap();
        [start, place, rest, vec![0; 2], length.to_le_bytes().to_vec(), follows.to_vec()].concat()
    }

    /// The flag of reads.
    const READ: u64 = 1;
    const WRITE: u64 = category::WRITE;
    const SDA: u32 = 8 << 20;
    const DM: u32 = 253 << 20 | 3;

    /// Reads a trace and returns `(time, latency, offset, len, op)` of each request.
    fn seen(events: &[Vec<u8>]) -> Vec<(u64, Option<u64>, u64, u64, Op)> {
        let (requests, _) = read(&FORMAT, &events.concat());
        let latency = |r: &Request| r.latency.map(|latency| latency.0);
        requests.iter().map(|r| (r.at.0, latency(r), r.offset.0, r.len.0, r.op)).collect()
    }

    // The latency of a request is the time from its issue to its completion. Other events do not
    // matter.
    #[test]
    fn issued_requests_are_read() {
        let events = [
            event(5, action::COMPLETE, READ, 100, 512, SDA),
            event(10, action::QUEUE, READ, 8, 4096, SDA),
            event(11, action::QUEUE, READ, 16, 4096, SDA),
            event(12, 2, READ, 16, 4096, SDA),
            event(20, action::ISSUE, READ, 8, 8192, SDA),
            event(21, action::QUEUE, WRITE, 64, 512, SDA),
            event(22, action::ISSUE, WRITE, 64, 512, SDA),
            event(30, action::COMPLETE, WRITE, 64, 512, SDA),
            event(31, action::ISSUE, WRITE | category::DISCARD, 128, 65_536, SDA),
            event(32, action::ISSUE, READ | category::FLUSH, u64::MAX, 0, SDA),
            event(33, action::ISSUE, WRITE | category::FLUSH, 0, 512, SDA),
            event(34, action::ISSUE, READ | category::PC, 0, 36, SDA),
            event(35, action::ISSUE, WRITE, 524_288, 0, SDA),
            event(40, action::COMPLETE, READ | category::FLUSH, 0, 0, SDA),
            event(50, action::COMPLETE, READ, 8, 8192, SDA),
            event(51, action::COMPLETE, WRITE | category::DISCARD, 128, 65_536, SDA),
        ];
        let wanted = [
            (20, Some(30), 4096, 8192, Op::Read),
            (22, Some(8), 32_768, 512, Op::Write),
            (31, Some(20), 65_536, 65_536, Op::Trim),
            (32, Some(8), 0, 0, Op::Flush),
            (33, None, 0, 512, Op::Write),
        ];
        assert_eq!(seen(&events), wanted);
        assert_eq!(read(&FORMAT, &events.concat()).1.names().collect::<Vec<_>>(), ["8,0"]);
    }

    // A requeued request counts once, from its last issue.
    #[test]
    fn requeued_requests_count_once() {
        let events = [
            event(10, action::ISSUE, READ, 8, 4096, SDA),
            event(20, action::REQUEUE, READ, 8, 4096, SDA),
            event(30, action::ISSUE, READ, 8, 4096, SDA),
            event(45, action::COMPLETE, READ, 8, 4096, SDA),
        ];
        assert_eq!(seen(&events), [(30, Some(15), 4096, 4096, Op::Read)]);
    }

    // A device without issues reports queued requests, in order, next to a device with issues.
    #[test]
    fn devices_without_issues_are_read() {
        let events = [
            event(10, action::QUEUE, WRITE, 0, 4096, DM),
            event(11, action::QUEUE, WRITE, 2048, 4096, SDA),
            event(12, action::ISSUE, WRITE, 2048, 4096, SDA),
            event(13, action::QUEUE, WRITE, 8, 4096, DM),
            event(20, action::COMPLETE, WRITE, 2048, 4096, SDA),
            event(21, action::COMPLETE, WRITE, 0, 4096, DM),
            event(22, action::QUEUE, READ, 16, 512, DM),
            event(23, action::COMPLETE, WRITE, 8, 4096, DM),
        ];
        let wanted = [
            (10, Some(11), 0, 4096, Op::Write),
            (12, Some(8), 1 << 20, 4096, Op::Write),
            (13, Some(10), 4096, 4096, Op::Write),
            (22, None, 8192, 512, Op::Read),
        ];
        assert_eq!(seen(&events), wanted);
        let names = read(&FORMAT, &events.concat()).1;
        assert_eq!(names.names().collect::<Vec<_>>(), ["253,3", "8,0"]);
    }

    // A device without completions loses no request and duplicates none, next to a device that is
    // decided late.
    #[test]
    fn traces_without_completions_are_read() {
        let count = 10_000;
        let queued = |time| event(time, action::QUEUE, READ, time, 512, DM);
        let issued = |time| event(time, action::ISSUE, READ, time, 512, SDA);
        let only_queued: Vec<_> = (0..count).map(queued).collect();
        assert_eq!(seen(&only_queued).len(), 10_000);
        let mut mixed: Vec<_> = (0..count).map(issued).collect();
        mixed.push(event(count, action::QUEUE, READ, 0, 4096, DM));
        mixed.push(event(count + 1, action::ISSUE, READ, 0, 4096, DM));
        let seen = seen(&mixed);
        assert_eq!(seen.len(), 10_001);
        assert_eq!(seen[10_000].0, count + 1);
    }

    // The time of day shifts all times, but only if it precedes all requests.
    #[test]
    fn times_are_since_1970_where_they_can_be() {
        let now = [1_700_000_000u32, 5].map(u32::to_le_bytes).concat();
        let note = |time, from_cgroup: u64, follows: &[u8]| {
            let action = u64::from(action::TIMESTAMP) | category::NOTIFY << 16 | from_cgroup;
            followed(time, action, 0, 0, 0, follows)
        };
        let issue = event(1_007, action::ISSUE, READ, 8, 512, SDA);
        let in_group = [&[9; 8], &now[..]].concat();
        for first in [note(1_000, 0, &now), note(1_000, FROM_CGROUP, &in_group)] {
            assert_eq!(seen(&[first, issue.clone()])[0].0, 1_700_000_000_000_000_012);
        }
        let cut = note(1_000, 0, &now[..4]);
        for events in [[issue.clone(), note(1_000, 0, &now)], [cut, issue.clone()]] {
            assert_eq!(seen(&events)[0].0, 1_007);
        }
    }

    // Both byte orders and both record sizes parse alike.
    #[test]
    fn layouts_are_read() {
        let start = [MAGIC | 7, 0].map(u32::to_be_bytes).concat();
        let place = [10, 8].map(u64::to_be_bytes).concat();
        let action = u32::try_from(u64::from(action::ISSUE) | WRITE << 16).unwrap();
        let rest = [4096, action, 77, SDA, 1].map(u32::to_be_bytes).concat();
        let swapped = [start, place, rest, vec![0, 0, 0, 3, 1, 2, 3]].concat();
        assert_eq!(swapped.len(), 51);
        let start = [MAGIC | 8, 0].map(u32::to_le_bytes).concat();
        let place = [10, 8].map(u64::to_le_bytes).concat();
        let rest = [4096, 77, action, 0, SDA, 1].map(u32::to_le_bytes).concat();
        let follows = [vec![0, 0, 3, 0], vec![0; 12], vec![1, 2, 3]].concat();
        let wide = [start, place, rest, follows].concat();
        assert_eq!(wide.len(), 67);
        let wanted = (10, None, 4096, 4096, Op::Write);
        assert_eq!(seen(&[swapped.clone(), swapped]), [wanted; 2]);
        assert_eq!(seen(&[wide.clone(), wide]), [wanted; 2]);
    }

    // Errors name the record and the byte for each kind of damage.
    #[test]
    fn damage_is_found() {
        let good = event(10, action::ISSUE, READ, 8, 512, SDA);
        let (mut later, mut long, mut far) = (good.clone(), good.clone(), good.clone());
        later[0] = 9;
        long[46..48].copy_from_slice(&[0xff, 0xff]);
        far[16..24].copy_from_slice(&[0xff; 8]);
        for (second, wanted) in [
            (&b"junk"[..], "it does not begin with the magic number of blktrace; the records"),
            (&later, "its version is 9; supported are 7 and 8; the records"),
            (&long, "its length is not between 1 and 65536 bytes"),
            (&good[..47], "the file ends after 47 bytes of this record"),
            (&far, "it begins beyond 2^64 bytes"),
        ] {
            let reason = reason(&FORMAT, &[&good, second].concat());
            let wanted = format!("record 2 (at byte 48): {wanted}");
            assert!(reason.contains(&wanted), "{reason}");
        }
        assert_eq!(read_skipping(&FORMAT, &[&good[..], &far, &good, &good[..9]].concat()), (2, 2));
    }

    // The files of all processors form one trace in time order, whichever file is named.
    #[test]
    fn files_of_processors_are_one_trace() {
        let folder = tempfile::tempdir().unwrap();
        let files = [
            ("sda.blktrace.0", [(10, action::ISSUE, 8), (40, action::COMPLETE, 16)]),
            ("sda.blktrace.10", [(20, action::COMPLETE, 8), (30, action::ISSUE, 16)]),
            ("sdb.blktrace.1", [(1, action::ISSUE, 8), (2, action::ISSUE, 8)]),
            ("sda.blktrace.1.gz", [(1, action::ISSUE, 8), (2, action::ISSUE, 8)]),
            ("sda.blktrace.x", [(1, action::ISSUE, 8), (2, action::ISSUE, 8)]),
        ];
        for (name, events) in files {
            let events = events.map(|(time, action, at)| event(time, action, READ, at, 512, SDA));
            fs::write(folder.path().join(name), events.concat()).unwrap();
        }
        for name in ["sda.blktrace.0", "sda.blktrace.10"] {
            let source =
                super::super::super::Source::open(folder.path().join(name).to_str().unwrap());
            let (format, mut reader) =
                super::super::open(source.unwrap(), Options::default()).unwrap();
            let mut requests = Vec::new();
            reader.read(&mut requests).unwrap();
            let seen: Vec<_> = requests.iter().map(|r| (r.at.0, r.latency)).collect();
            assert_eq!(seen, [(10, Some(Nanos(10))), (30, Some(Nanos(10)))]);
            assert_eq!(format.name, "blktrace");
        }
        fs::write(folder.path().join("sda.blktrace.2"), b"junk").unwrap();
        let source = super::super::super::Source::open(
            folder.path().join("sda.blktrace.0").to_str().unwrap(),
        );
        let mut reader = super::super::open(source.unwrap(), Options::default()).unwrap().1;
        let error = reader.read(&mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("sda.blktrace.2: record 1 (at byte 0)"), "{error}");
    }
}
