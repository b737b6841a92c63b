//! The tables and figures of Agrawal et al., "Design Tradeoffs for SSD Performance", USENIX ATC
//! 2008, as far as their workloads are known. `docs/simulator-exactness.md` lists every figure.

mod cleaning;
mod parallelism;
mod table_3;
mod wear;

use flashscope_block::{Bytes, Data, Device, Io, Nanos, Op};
use flashscope_sim::SimDevice;

use crate::round_trip;

const PAGE: u64 = 4096;

/// Response times in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Latency {
    count: u64,
    total: u64,
    longest: u64,
}

impl Latency {
    fn add(&mut self, latency: Nanos) {
        self.count += 1;
        self.total += latency.0;
        self.longest = self.longest.max(latency.0);
    }

    #[allow(clippy::cast_precision_loss)] // far below 2^53 ns
    fn mean(&self) -> f64 {
        self.total as f64 / self.count as f64
    }
}

/// Asserts that `found` is `expected` to a share of `tolerance`, and prints both.
#[track_caller]
#[allow(clippy::print_stdout)] // for whoever runs the tests with --nocapture
fn assert_near(what: &str, found: f64, expected: f64, tolerance: f64) {
    let error = found / expected - 1.0;
    println!("{what}: {found:.3}, expected {expected:.3}, {:+.3} %", 100.0 * error);
    assert!(error.abs() <= tolerance, "{what}: {found} is {:+.3} % off {expected}", 100.0 * error);
}

/// Writes every page of the drive once, in order.
fn fill(drive: &mut SimDevice) {
    let capacity = drive.info().capacity.0;
    let chunk = 1024 * PAGE;
    for offset in (0..capacity).step_by(1024 * 4096) {
        round_trip(drive, Op::Write, offset, chunk.min(capacity - offset));
    }
}

/// Sends requests when they are due, whatever is in flight. Their times begin now.
fn open_loop(drive: &mut SimDevice, requests: impl IntoIterator<Item = Io>) -> Latency {
    let start = drive.now();
    let mut latency = Latency::default();
    let mut take = |drive: &mut SimDevice, until| {
        while let Some(done) = drive.complete(until) {
            assert_eq!(done.result, Ok(()), "{done:?}");
            latency.add(done.completed - done.io.at);
        }
    };
    for io in requests {
        let io = Io { at: Nanos(start.0 + io.at.0), ..io };
        take(drive, io.at);
        drive.submit(&io);
    }
    take(drive, Nanos::MAX);
    latency
}

/// Requests at random times, `per_second` in the mean, of the places, lengths in pages and
/// operations that `next` gives.
fn poisson(
    count: usize,
    per_second: f64,
    random: &mut fastrand::Rng,
    mut next: impl FnMut(&mut fastrand::Rng) -> (Op, u64, u64),
) -> Vec<Io> {
    let mut now = 0.0;
    let mut io = || {
        now -= (1.0 - random.f64()).ln() / per_second;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // times are positive
        let at = Nanos((now * 1e9) as u64);
        let (op, page, pages) = next(random);
        Io {
            op,
            stream: 0,
            offset: Bytes(page * PAGE),
            len: Bytes(pages * PAGE),
            at,
            data: Data::Random,
        }
    };
    (0..count).map(|_| io()).collect()
}
