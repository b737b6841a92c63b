//! The round trip of a transport: the latency that the transport adds to the latency of the drive.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "a file of a FUSE mount or a ublk device: created by this process"
    )
)]

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use flashscope_block::{Bytes, Nanos, Op};
use flashscope_drive::Clock;

/// The time that a transport needs for a request and its reply, without the time of the drive.
/// Reads and writes each have a fixed part and a part per byte.
///
/// A client that waits for each reply observes the latency of the drive plus this time. The drive
/// therefore treats a request as submitted this much earlier than it arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RoundTrip {
    read: Line,
    write: Line,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Line {
    fixed: Nanos,
    per_mib: Nanos,
}

/// The request sizes that are measured.
const SIZES: [Bytes; 2] = [Bytes::kib(4), Bytes::kib(128)];

/// The number of requests per size, and the number of fastest requests that count. The mean
/// includes wake-ups of a processor, which delay about one request in ten, but not rare delays of
/// milliseconds.
const REQUESTS: usize = 200;
const COUNTED: usize = REQUESTS / 100 * 98;

/// The latency of the drive used for the measurement: long enough for all waiting threads to go to
/// sleep, as they do with slow drives.
pub(crate) const LATENCY: Nanos = Nanos::micros(400);

/// The size in bytes of the drive used for the measurement: more than the processor caches can
/// hold, like a drive in use.
pub(crate) const SIZE: Bytes = Bytes::mib(64);

impl RoundTrip {
    /// Returns the round trip of a request. Trims and flushes count as reads of 0 bytes.
    pub fn of(&self, op: Op, len: Bytes) -> Nanos {
        let (line, len) = match op {
            Op::Read => (self.read, len),
            Op::Write => (self.write, len),
            Op::Trim | Op::Flush => (self.read, Bytes(0)),
        };
        line.fixed + Nanos(line.per_mib.0 * len.0 / Bytes::MIB.0)
    }

    /// Returns a round trip of the same time for every request.
    #[cfg(test)]
    pub(crate) fn fixed(fixed: Nanos) -> RoundTrip {
        let line = Line { fixed, per_mib: Nanos(0) };
        RoundTrip { read: line, write: line }
    }

    /// Measures the round trip to a drive from [`crate::trial::trial_drive`]: `request` sends a
    /// request for a range and waits for the reply, and `now` reads the clock.
    pub(crate) fn measure(
        now: impl Fn() -> Nanos,
        mut request: impl FnMut(Op, Bytes, Bytes) -> io::Result<()>,
    ) -> io::Result<RoundTrip> {
        let mut mean = |op, len: Bytes| {
            let mut took = Vec::with_capacity(REQUESTS);
            for offset in places(len).take(REQUESTS) {
                let before = now();
                request(op, offset, len)?;
                took.push((now() - before).0.saturating_sub(LATENCY.0));
            }
            took.sort_unstable();
            io::Result::Ok(took[..COUNTED].iter().sum::<u64>() / COUNTED as u64)
        };
        let mut line = |op| {
            let [small, large] = [mean(op, SIZES[0])?, mean(op, SIZES[1])?];
            let per_mib = large.saturating_sub(small) * Bytes::MIB.0 / (SIZES[1] - SIZES[0]).0;
            let fixed = Nanos(small.saturating_sub(per_mib * SIZES[0].0 / Bytes::MIB.0));
            io::Result::Ok(Line { fixed, per_mib: Nanos(per_mib) })
        };
        Ok(RoundTrip { read: line(Op::Read)?, write: line(Op::Write)? })
    }

    /// Measures the round trip to a drive from [`crate::trial::trial_drive`] through the file at
    /// `path`, bypassing the page cache.
    pub(crate) fn of_file(path: &Path) -> io::Result<RoundTrip> {
        let file =
            OpenOptions::new().read(true).write(true).custom_flags(libc::O_DIRECT).open(path)?;
        let mut buffer = vec![0; to_usize(SIZES[1]) + ALIGNMENT];
        let start = buffer.as_ptr().align_offset(ALIGNMENT);
        let clock = Clock::new();
        RoundTrip::measure(
            || clock.now(),
            |op, offset, len| {
                let buffer = &mut buffer[start..][..to_usize(len)];
                match op {
                    Op::Write => file.write_all_at(buffer, offset.0),
                    _ => file.read_exact_at(buffer, offset.0),
                }
            },
        )
    }
}

/// The alignment in memory that direct IO requires, in bytes.
const ALIGNMENT: usize = 4096;

pub(crate) fn to_usize(len: Bytes) -> usize {
    usize::try_from(len.0).expect("a request fits in memory")
}

/// Returns offsets spread over the whole drive, each far from the previous one.
fn places(len: Bytes) -> impl Iterator<Item = Bytes> {
    let count = SIZE.0 / len.0;
    // An odd step visits every offset because the number of offsets is a power of two.
    (0..).map(move |i| Bytes(i * ((count / 3) | 1) % count * len.0))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    // The measurement determines the fixed part and the part per byte, despite a few disturbed
    // requests.
    #[test]
    fn a_linear_round_trip_is_measured() {
        let (clock, count) = (Cell::new(0), Cell::new(0));
        let trip = RoundTrip::measure(
            || Nanos(clock.get()),
            |op, _, len| {
                let fixed = if op == Op::Read { 50_000 } else { 100_000 };
                count.set(count.get() + 1);
                let disturbed = if count.get() % 50 == 0 { 1_000_000 } else { 0 };
                clock.set(clock.get() + LATENCY.0 + fixed + len.0 / 2 + disturbed);
                Ok(())
            },
        );
        let trip = trip.unwrap();
        let times = [(Op::Read, 100_000), (Op::Write, 100_000), (Op::Flush, 0)]
            .map(|(op, len)| trip.of(op, Bytes(len)).0);
        assert_eq!(times, [100_000, 150_000, 50_000]);
    }
}
