//! What the way to a drive takes by itself, which is no part of what the drive takes.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "the file of its own FUSE mount: made by this process"
    )
)]

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use flashscope_block::{Bytes, Nanos, Op};
use flashscope_drive::Clock;

use crate::attached::{Attached, Export};
use crate::fixed::Fixed;
use crate::pace::Speed;
use crate::request::Answer;
use crate::store::Store;

/// How long a request and its answer are under way, beside what the drive takes: a fixed part, and one
/// for each byte, of reads and of writes.
///
/// A client that waits for one request after the other sees the latency of the drive and, on top of it,
/// this. So the drive takes a request to have been made this much earlier than it arrived.
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

/// The sizes that are tried.
const SIZES: [Bytes; 2] = [Bytes::kib(4), Bytes::kib(128)];

/// How many requests of each size, and how many of them count. Where one in ten takes longer because a
/// processor has to wake up, that is a part of the mean; milliseconds once in a while are not.
const REQUESTS: usize = 200;
const UNDISTURBED: usize = REQUESTS / 100 * 98;

/// How long the drive takes on which the way is tried: long enough for all who wait to go to sleep, as they
/// do on drives that take long.
const TAKES: Nanos = Nanos::micros(400);

/// The size of that drive: more than the caches of a processor hold, as is that of a drive in use.
const SIZE: Bytes = Bytes::mib(64);

impl RoundTrip {
    /// Of a request; of one that is no read and moves no data as of a read of no bytes.
    pub fn of(&self, op: Op, len: Bytes) -> Nanos {
        let (line, len) = match op {
            Op::Read => (self.read, len),
            Op::Write => (self.write, len),
            Op::Trim | Op::Flush => (self.read, Bytes(0)),
        };
        line.fixed + Nanos(line.per_mib.0 * len.0 / Bytes::MIB.0)
    }

    /// The same time for every request.
    #[cfg(test)]
    pub(crate) fn fixed(fixed: Nanos) -> RoundTrip {
        let line = Line { fixed, per_mib: Nanos(0) };
        RoundTrip { read: line, write: line }
    }

    /// Measures a way to the drive [`to_try`]: `ask` makes a request at a place and waits for the answer,
    /// and `now` is the clock.
    pub(crate) fn measure(
        now: impl Fn() -> Nanos,
        mut ask: impl FnMut(Op, Bytes, Bytes) -> io::Result<()>,
    ) -> io::Result<RoundTrip> {
        let mut mean = |op, len: Bytes| {
            let mut took = Vec::with_capacity(REQUESTS);
            for offset in places(len).take(REQUESTS) {
                let before = now();
                ask(op, offset, len)?;
                took.push((now() - before).0.saturating_sub(TAKES.0));
            }
            took.sort_unstable();
            io::Result::Ok(took[..UNDISTURBED].iter().sum::<u64>() / UNDISTURBED as u64)
        };
        let mut line = |op| {
            let [small, large] = [mean(op, SIZES[0])?, mean(op, SIZES[1])?];
            let per_mib = large.saturating_sub(small) * Bytes::MIB.0 / (SIZES[1] - SIZES[0]).0;
            let fixed = Nanos(small.saturating_sub(per_mib * SIZES[0].0 / Bytes::MIB.0));
            io::Result::Ok(Line { fixed, per_mib: Nanos(per_mib) })
        };
        Ok(RoundTrip { read: line(Op::Read)?, write: line(Op::Write)? })
    }

    /// Measures the way to the drive [`to_try`] that is the file at `path`, past the page cache.
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

/// What direct IO wants of addresses in memory.
const ALIGNMENT: usize = 4096;

fn to_usize(len: Bytes) -> usize {
    usize::try_from(len.0).expect("a request fits in memory")
}

/// Places all over the drive, none of them close to the one before.
fn places(len: Bytes) -> impl Iterator<Item = Bytes> {
    let count = SIZE.0 / len.0;
    // An odd step meets all of a power of two.
    (0..).map(move |i| Bytes(i * ((count / 3) | 1) % count * len.0))
}

/// A drive that takes the same time for everything and is full, to try a way with.
pub(crate) fn to_try<A: Answer>() -> io::Result<Arc<Attached<A>>> {
    let export = Export {
        name: "round trip".into(),
        size: SIZE,
        logical_block: Bytes(512),
        trims: false,
        writable: true,
    };
    let store = Store::memory(SIZE)?;
    let step = Bytes::MIB;
    for offset in (0..SIZE.0).step_by(to_usize(step)) {
        store
            .write(Bytes(offset), step, &vec![1; to_usize(step)])
            .map_err(|errno| io::Error::from_raw_os_error(errno.0))?;
    }
    let device = Box::new(Fixed::new(SIZE, TAKES));
    let timing = Speed::Times(1.0).into();
    Attached::simulated(device, export, store, timing, None, &mut |_, _| {}).map(Arc::new)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    // Is the time of a way found that takes so long for a request and so long for each byte, whatever
    // disturbs a few of the requests?
    #[test]
    fn a_line() {
        let (clock, asked) = (Cell::new(0), Cell::new(0));
        let trip = RoundTrip::measure(
            || Nanos(clock.get()),
            |op, _, len| {
                let fixed = if op == Op::Read { 50_000 } else { 100_000 };
                asked.set(asked.get() + 1);
                let disturbed = if asked.get() % 50 == 0 { 1_000_000 } else { 0 };
                clock.set(clock.get() + TAKES.0 + fixed + len.0 / 2 + disturbed);
                Ok(())
            },
        );
        let trip = trip.unwrap();
        let found = [(Op::Read, 100_000), (Op::Write, 100_000), (Op::Flush, 0)]
            .map(|(op, len)| trip.of(op, Bytes(len)).0);
        assert_eq!(found, [100_000, 150_000, 50_000]);
    }
}
