//! fio's log of latencies, which `--write_lat_log` writes: `12, 84530, 1, 4096, 61440, 0x0000`: when
//! it was answered, in milliseconds; latency in nanoseconds; 0 for a read, 1 for a write and 2 for a
//! trim; size and offset in bytes; priority. Further fields are passed over.
//!
//! The offset is only there with `--log_offset=1`. Where it is not, the priority follows the size at
//! once: lines of five fields, of which the fifth is nowhere in the first lines anything but 0, 1 or
//! `0x...`, have no offset, and are of no use as a trace.
//!
//! A request was issued at its answer less its latency, which is true to a millisecond, and lines
//! stand in the order of answers. So a `_lat.log` is meant (the whole latency) or a `_clat.log`
//! (from submission); that of submission alone, and logs of bandwidth and of IOPS, look the same,
//! and nobody can tell.

use flashscope_block::{Nanos, Op};

use super::super::Request;
use super::super::error::Reason;
use super::super::reader::Options;
use super::super::text::{Fields, Output, TextFormat, checked};
use super::Format;

pub(super) const FORMAT: Format = Format::text::<FioLog>(
    "fio-log",
    "fio's log of latencies, with --log_offset=1, in the order of the answers",
    "fio(1), LOG FILE FORMATS",
);

const OPERATIONS: &[(&str, Op)] = &[("0", Op::Read), ("1", Op::Write), ("2", Op::Trim)];

struct FioLog {
    /// What looks like an offset in lines of five fields is one.
    fifth_is_offset: bool,
}

impl TextFormat for FioLog {
    fn new(_: &Options, head: &[u8]) -> Self {
        let fifth = |line: &[u8]| line.split(|byte| *byte == b',').nth(4).map(is_offset);
        let mut lines = head.split(|byte| *byte == b'\n');
        FioLog { fifth_is_offset: lines.any(|line| fifth(line) == Some(true)) }
    }

    #[inline]
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), Reason> {
        let mut fields = Fields::separated(line, b',');
        let answered = fields.time("the time", 1_000_000)?;
        let latency = fields.number("the latency")?;
        let op = fields.op("the direction", OPERATIONS)?;
        let len = fields.bytes("the size", 1)?;
        if len.0 == 0 {
            return Err(Reason::new(
                "the size is 0, as in a log of averages (log_avg_msec): it has no requests",
            ));
        }
        let fifth = fields.more().then(|| fields.bytes("the offset", 1)).transpose();
        let offset = match (fifth, fields.more() || self.fifth_is_offset) {
            (Ok(Some(offset)), true) => offset,
            (Err(reason), true) => return Err(reason),
            _ => {
                return Err(Reason::new(
                    "it has no offset: such a log is written with --log_offset=1",
                ));
            }
        };
        let at = Nanos(answered.0.saturating_sub(latency));
        let latency = Some(Nanos(latency));
        let request = checked(Request { at, latency, offset, len, volume: 0, op })?;
        out.push_of(b"0", request);
        Ok(())
    }
}

/// Whether what stands fifth in a line is more than a priority.
fn is_offset(fifth: &[u8]) -> bool {
    let fifth = fifth.trim_ascii();
    !matches!(fifth, b"0" | b"1") && !fifth.starts_with(b"0x")
}
