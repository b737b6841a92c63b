//! Workloads on a drive whose answers can be worked out by hand.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_block::{
    Bytes, Completion, Data, Device, DeviceInfo, DeviceKind, Errno, Io, Nanos, Op,
};
use flashscope_measure::{
    FailedIo, Gauge, Length, Load, Outcome, Phase, RunEnd, STEADY, Session, WarmUp, WarmUpOutcome,
};
use flashscope_workload::Stream;
use flashscope_workload::state::InitialContents;

const BLOCK: Bytes = Bytes::kib(4);
const BLOCKS: u64 = 64;
const SERVICE: Nanos = Nanos::micros(10);

/// Serves one IO after the other on virtual time, each in 10 µs except one, which takes 1 ms.
struct Server {
    info: DeviceInfo,
    now: Nanos,
    free: Nanos,
    served: VecDeque<Completion>,
    submitted: u64,
    written: Bytes,
    max_in_flight: usize,
    slow: Option<u64>,
    broken: Option<u64>,
    /// The number of IOs before the drive begins to erase.
    spare: u64,
}

impl Server {
    fn new(queue_depth: u32) -> Server {
        Server {
            info: DeviceInfo::new(
                ("server", DeviceKind::Sim),
                (Bytes(BLOCKS * BLOCK.0), BLOCK),
                queue_depth,
            ),
            now: Nanos(0),
            free: Nanos(0),
            served: VecDeque::new(),
            submitted: 0,
            written: Bytes(0),
            max_in_flight: 0,
            slow: None,
            broken: None,
            spare: 0,
        }
    }
}

impl Device for Server {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn now(&self) -> Nanos {
        self.now
    }
    fn submit(&mut self, io: &Io) {
        assert!(io.at <= self.now, "submitted before it was due");
        self.submitted += 1;
        self.written += io.len;
        let slow = self.slow == Some(self.submitted);
        let service = if slow { Nanos::millis(1) } else { SERVICE };
        self.free = self.free.max(self.now) + service;
        let broken = self.broken == Some(self.submitted);
        let result = if broken { Err(Errno::EIO) } else { Ok(()) };
        let completion = Completion { io: *io, submitted: self.now, completed: self.free, result };
        self.served.push_back(completion);
        self.max_in_flight = self.max_in_flight.max(self.served.len());
        assert!(self.served.len() <= self.info.queue_depth as usize);
    }
    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        if self.served.front().is_some_and(|next| next.completed <= until) {
            let next = self.served.pop_front()?;
            self.now = self.now.max(next.completed);
            return Some(next);
        }
        if until != Nanos::MAX {
            self.now = self.now.max(until);
        }
        None
    }
}

/// A stream of consecutive blocks, alternately written and read; its IOs are due at fixed intervals
/// or after answers.
struct Blocks {
    issued: u64,
    count: u64,
    every: Option<Nanos>,
    ops: [Op; 2],
}

impl Stream for Blocks {
    fn next(&mut self, previous: Nanos) -> Option<Io> {
        if self.issued == self.count {
            return None;
        }
        let at = self.every.map_or(previous, |gap| Nanos(self.issued * gap.0));
        let op = self.ops[usize::from(self.issued % 2 == 1)];
        let offset = Bytes(self.issued % BLOCKS * BLOCK.0);
        self.issued += 1;
        // The stream number must not matter, because there is only one stream.
        Some(Io { op, stream: 7, offset, len: BLOCK, at, data: Data::Random })
    }
}

fn blocks(count: u64) -> Blocks {
    Blocks { issued: 0, count, every: None, ops: [Op::Write; 2] }
}

const LOAD: Load = Load {
    fill: InitialContents::None,
    warm_up: WarmUp::None,
    length: Length::Whole,
    queue_depth: 1,
    open_loop: false,
    seed: 1,
};

/// A metric that falls from 2 towards 1 with the submitted IOs, and becomes steady.
#[allow(clippy::cast_precision_loss)]
fn falling(server: &Server) -> f64 {
    1.0 + (-(server.submitted as f64) / (2.0 * BLOCKS as f64)).exp()
}

const GAUGE: Gauge<Server, f64> =
    Gauge { read: falling, metric: |_, now| Some(*now), erases: |_, _| true };

fn run(server: &mut Server, load: Load, runs: Vec<Vec<Blocks>>) -> Outcome<f64> {
    let stop = AtomicBool::new(false);
    let mut progress = |_: Phase, _: u64, _: u64| {};
    let progress = &mut progress;
    Session { device: server, load, gauge: GAUGE, stop: &stop, begin: &mut |_, _| {}, progress }
        .run(runs)
}

#[test]
fn a_closed_loop_keeps_its_depth_and_counts_by_operation() {
    let server = &mut Server::new(8);
    let mixed = Blocks { ops: [Op::Write, Op::Read], ..blocks(1000) };
    let outcome = run(server, Load { queue_depth: 4, ..LOAD }, vec![vec![mixed]]);
    assert_eq!(outcome.ended, RunEnd::Complete);
    assert_eq!((server.submitted, server.max_in_flight), (1000, 4));
    let measured = outcome.measured.unwrap();
    assert_eq!(measured.took, Nanos(1000 * SERVICE.0));
    assert_eq!(measured.bytes, [500, 500, 0, 0].map(|blocks| Bytes(blocks * BLOCK.0)));
    let latencies = &measured.latencies;
    assert_eq!(latencies.all().count(), 1000);
    for op in [Op::Read, Op::Write] {
        let of_op = latencies.of(op).unwrap();
        assert_eq!(of_op.count(), 500);
        assert_eq!(of_op.max(), Some(4 * SERVICE.0));
    }
    assert!(latencies.of(Op::Trim).is_none());
}

#[test]
fn a_single_operation_has_its_own_latencies() {
    let measured = run(&mut Server::new(1), LOAD, vec![vec![blocks(10)]]).measured.unwrap();
    assert_eq!(measured.latencies.of(Op::Write).unwrap().count(), 10);
    assert!(measured.latencies.of(Op::Read).is_none());
}

// The open loop continues while an IO is slow, and counts the wait of the other IOs.
#[test]
fn open_loop_counts_from_when_an_io_was_due() {
    for (depth, every) in [(1, 20), (4, 20), (64, 20)] {
        let server = &mut Server::new(64);
        server.slow = Some(11);
        let stream = Blocks { every: Some(Nanos::micros(every)), ..blocks(1000) };
        let load = Load { queue_depth: depth, open_loop: true, ..LOAD };
        let outcome = run(server, load, vec![vec![stream]]);
        let latencies = outcome.measured.unwrap().latencies;
        // The eleventh IO is due at 200 µs and done at 1200 µs. The next IOs are due 20 µs apart
        // and served 10 µs apart. The wait of each IO is therefore 10 µs shorter than the wait
        // before: 990, 980, …, at every depth.
        assert_eq!(latencies.all().max(), Some(1_000_000));
        let waited = (1..=99).map(|i| f64::from(i) * 10_000.0).sum::<f64>() + 1_000_000.0;
        let mean = (waited + 900.0 * 10_000.0) / 1000.0;
        let found = latencies.all().mean().value;
        assert!((found - mean).abs() < 1.0, "depth {depth}: {found}, not {mean}");
        // IOs that are due are submitted as far as the depth allows.
        let waiting_at_most = if depth == 64 { 50..=51 } else { depth as usize..=depth as usize };
        assert!(waiting_at_most.contains(&server.max_in_flight), "{}", server.max_in_flight);
    }
}

#[test]
fn each_warm_up_lasts_as_specified() {
    for (warm_up, length, warm_ios, ios) in [
        (WarmUp::None, Length::Ios(10), 0, 10),
        (WarmUp::Ios(0), Length::Ios(10), 0, 10),
        (WarmUp::Ios(30), Length::Ios(10), 30, 10),
        (WarmUp::Capacities(1.5), Length::Ios(10), 96, 10),
        (WarmUp::Ios(30), Length::Time(Nanos::micros(95)), 30, 9),
        (WarmUp::Ios(30), Length::Whole, 30, 970),
    ] {
        let server = &mut Server::new(1);
        let outcome = run(server, Load { warm_up, length, ..LOAD }, vec![vec![blocks(1000)]]);
        assert_eq!(outcome.warm_up.ios, warm_ios);
        assert_eq!(outcome.warm_up.bytes, Bytes(warm_ios * BLOCK.0));
        assert_eq!(outcome.warm_up.steady, None);
        let measured = outcome.measured.unwrap();
        assert_eq!(measured.latencies.all().count(), ios);
        let took = if let Length::Time(time) = length { time } else { Nanos(ios * SERVICE.0) };
        assert_eq!(measured.took, took);
        assert!(measured.after < measured.before);
    }
}

#[test]
fn a_workload_repeats_until_its_passes_are_steady() {
    const PASS: u64 = 37;
    let warm_up = WarmUp::Passes { ios: PASS };
    let load = Load { warm_up, length: Length::Ios(PASS), ..LOAD };
    let passes = (0..1000).map(|_| vec![blocks(PASS)]).collect();
    let server = &mut Server::new(1);
    let outcome = run(server, load, passes);
    let warm_up = &outcome.warm_up;
    assert_eq!(warm_up.steady, Some(true));
    assert_eq!(warm_up.ios, warm_up.windows.len() as u64 * PASS);
    assert!(STEADY.holds(&warm_up.windows) && warm_up.windows.len() > STEADY.windows);
    assert_eq!(outcome.measured.unwrap().latencies.all().count(), PASS);
    assert_eq!(server.submitted, warm_up.ios + PASS);
}

// Three gauges: one that becomes steady, one without a value, and one that never becomes steady.
#[test]
fn the_warm_up_ends_when_steady_or_after_the_most_windows() {
    let load = Load { warm_up: WarmUp::Steady, length: Length::Ios(100), ..LOAD };
    let outcome = run(&mut Server::new(1), load, vec![vec![blocks(u64::MAX)]]);
    let warm_up = &outcome.warm_up;
    assert_eq!(warm_up.steady, Some(true));
    assert_eq!(warm_up.ios, warm_up.windows.len() as u64 * BLOCKS);
    assert!(warm_up.windows.len() > STEADY.windows);
    let before = &warm_up.windows[..warm_up.windows.len() - 1];
    assert!(STEADY.holds(&warm_up.windows) && !STEADY.holds(before));
    assert_eq!(outcome.measured.unwrap().latencies.all().count(), 100);

    let nothing: Gauge<Server, u64> =
        Gauge { read: |server| server.submitted, metric: |_, _| None, erases: |_, _| true };
    let stop = AtomicBool::new(false);
    let mut progress = |_: Phase, _: u64, _: u64| {};
    let device = &mut Server::new(1);
    let session = Session {
        device,
        load,
        gauge: nothing,
        stop: &stop,
        begin: &mut |_, _| {},
        progress: &mut progress,
    };
    let warm_up = session.run([vec![blocks(u64::MAX)]]).warm_up;
    assert_eq!((warm_up.ios, warm_up.steady), (BLOCKS, Some(true)));
    assert!(warm_up.windows.is_empty());

    let restless: Gauge<Server, u64> = Gauge {
        read: |server| server.submitted,
        metric: |_, now| Some((now % 3) as f64),
        erases: |_, _| true,
    };
    let device = &mut Server::new(1);
    let session = Session {
        device,
        load,
        gauge: restless,
        stop: &stop,
        begin: &mut |_, _| {},
        progress: &mut progress,
    };
    let outcome = session.run([vec![blocks(u64::MAX)]]);
    assert_eq!(outcome.warm_up.steady, Some(false));
    assert_eq!(outcome.warm_up.windows.len(), STEADY.most);
    assert_eq!(outcome.measured.unwrap().latencies.all().count(), 100);
}

/// Runs `steady` with a level metric on a drive that erases nothing in its first `spare` IOs.
/// Returns the warm-up.
fn warm_level(ops: [Op; 2], spare: u64) -> WarmUpOutcome {
    let gauge: Gauge<Server, (u64, bool)> = Gauge {
        read: |server| (server.submitted, server.submitted > server.spare),
        metric: |_, _| Some(1.0),
        erases: |_, (_, erases)| *erases,
    };
    let stop = AtomicBool::new(false);
    let device = &mut Server { spare, ..Server::new(1) };
    let load = Load { warm_up: WarmUp::Steady, length: Length::Ios(100), ..LOAD };
    let (begin, progress) = (&mut |_: Phase, _| {}, &mut |_: Phase, _: u64, _: u64| {});
    let session = Session { device, load, gauge, stop: &stop, begin, progress };
    session.run([vec![Blocks { ops, ..blocks(u64::MAX) }]]).warm_up
}

#[test]
fn reads_do_not_advance_the_windows_of_a_workload_that_writes() {
    let windows = STEADY.windows as u64;
    let warm_up = warm_level([Op::Read, Op::Write], 0);
    assert_eq!((warm_up.ios, warm_up.steady), (2 * windows * BLOCKS, Some(true)));
    let warm_up = warm_level([Op::Read, Op::Read], 0);
    assert_eq!((warm_up.ios, warm_up.steady), (windows * BLOCKS, Some(true)));
}

#[test]
fn a_drive_is_not_steady_before_it_erases() {
    let windows = STEADY.windows as u64;
    let warm_up = warm_level([Op::Write; 2], 7 * BLOCKS);
    assert_eq!((warm_up.ios, warm_up.steady), ((7 + windows) * BLOCKS, Some(true)));
    let warm_up = warm_level([Op::Write; 2], u64::MAX);
    assert_eq!((warm_up.windows.len(), warm_up.steady), (STEADY.most, Some(false)));
    // Half of the IOs are reads, but the warm-up ends after the same number of bytes.
    let warm_up = warm_level([Op::Read, Op::Write], u64::MAX);
    assert_eq!((warm_up.ios, warm_up.steady), (STEADY.most as u64 * BLOCKS, Some(false)));
}

#[test]
fn a_fill_writes_every_byte_and_is_not_measured() {
    for fill in [InitialContents::Sequential, InitialContents::Random] {
        let server = &mut Server::new(4);
        let outcome = run(server, Load { fill, ..LOAD }, vec![vec![blocks(100)]]);
        assert_eq!(server.written, Bytes((BLOCKS + 100) * BLOCK.0));
        assert_eq!(outcome.measured.unwrap().latencies.all().count(), 100);
    }
}

#[test]
fn runs_follow_each_other() {
    let server = &mut Server::new(4);
    let outcome = run(server, LOAD, vec![vec![blocks(50)], vec![blocks(30)], vec![blocks(20)]]);
    assert_eq!(outcome.measured.unwrap().latencies.all().count(), 100);
}

#[test]
fn measurements_survive_interruptions_and_failures() {
    let interrupted = |phase: Phase| {
        let stop = AtomicBool::new(false);
        let mut progress = |now: Phase, done: u64, _: u64| {
            if now == phase && done > 0 {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let device = &mut Server::new(4);
        let warm_up = WarmUp::Ios(10_000);
        let load = Load { fill: InitialContents::Sequential, warm_up, ..LOAD };
        let session = Session {
            device,
            load,
            gauge: GAUGE,
            stop: &stop,
            begin: &mut |_, _| {},
            progress: &mut progress,
        };
        session.run([vec![blocks(u64::MAX)]])
    };
    let filling = interrupted(Phase::Fill);
    assert!(filling.measured.is_none() && filling.warm_up.ios == 0);
    let warming = interrupted(Phase::WarmUp);
    assert!(warming.measured.is_none());
    assert!((4096..10_000).contains(&warming.warm_up.ios));
    let measuring = interrupted(Phase::Measure);
    let measured = measuring.measured.unwrap();
    assert!(measured.latencies.all().count() >= 4096);
    assert!(measured.after <= measured.before);
    assert_eq!(measuring.ended, RunEnd::Interrupted);

    let server = &mut Server::new(4);
    server.broken = Some(50);
    let failed = run(server, LOAD, vec![vec![blocks(100)], vec![blocks(100)]]);
    let offset = Bytes(49 * BLOCK.0);
    let first = FailedIo { errno: Errno::EIO, op: Op::Write, offset, len: BLOCK };
    assert_eq!(failed.ended, RunEnd::Failed { errors: 1, first, gone: false });
    // Failed IOs do not count.
    let measured = failed.measured.unwrap();
    assert_eq!((measured.latencies.all().count(), measured.bytes[1]), (49, Bytes(49 * BLOCK.0)));
}
