//! fio's latency log, written with `--write_lat_log`: `12, 84530, 1, 4096, 61440, 0x0000`:
//! completion time in milliseconds; latency in nanoseconds; 0 for a read, 1 for a write and 2 for a
//! trim; size and offset in bytes; priority. The parser ignores further fields.
//!
//! fio writes the offset only with `--log_offset=1`; otherwise the priority follows the size. If
//! the fifth field of all lines in the first 64 KiB is 0, 1 or `0x...`, it is a priority. The log
//! then has no offsets and is useless as a trace.
//!
//! The issue time is the completion time minus the latency, exact to a millisecond; lines are in
//! order of completion. Use a `_lat.log` (total latency) or a `_clat.log` (latency from
//! submission). A log of submission latency, bandwidth or IOPS has the same form, and the parser
//! cannot detect it.

use flashscope_block::{Nanos, Op};

use super::super::Request;
use super::super::error::Reason;
use super::super::reader::Options;
use super::super::text::{Fields, Output, TextFormat, checked};
use super::Format;

pub(super) const FORMAT: Format = Format::text::<FioLog>(
    "fio-log",
    "fio's log of latencies, with --log_offset=1, in the order of completion",
    "fio(1), LOG FILE FORMATS",
);

const OPERATIONS: &[(&str, Op)] = &[("0", Op::Read), ("1", Op::Write), ("2", Op::Trim)];

struct FioLog {
    /// True if the fifth of five fields is an offset.
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
                return Err(Reason::new("it has no offset: record the log with --log_offset=1"));
            }
        };
        let at = Nanos(answered.0.saturating_sub(latency));
        let latency = Some(Nanos(latency));
        let request = checked(Request { at, latency, offset, len, volume: 0, op })?;
        out.push_of(b"0", request);
        Ok(())
    }
}

/// Returns true if the fifth field of a line cannot be a priority.
fn is_offset(fifth: &[u8]) -> bool {
    let fifth = fifth.trim_ascii();
    !matches!(fifth, b"0" | b"1") && !fifth.starts_with(b"0x")
}
