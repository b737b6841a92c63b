//! Compares the scheduler with queueing theory: formulas for one server, and laws that hold for any
//! number of servers.

use std::collections::VecDeque;

use super::*;

/// The outcome of an open loop of Poisson arrivals on one die: mean times from arrival to
/// completion of reads and of programs, in nanoseconds.
struct OpenLoop {
    reads: f64,
    programs: f64,
    /// The mean of reads, minus the mean of Lindley's recursion for one server with the same
    /// arrivals.
    reads_apart: f64,
}

#[allow(clippy::cast_precision_loss)]
const fn float(value: u64) -> f64 {
    value as f64
}

/// Runs commands that arrive at `rate` per nanosecond. A fraction `share` of them are reads.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn open_loop(setup: Setup, bus: u64, rate: f64, share: f64, commands: u64) -> OpenLoop {
    let mut scheduler = scheduler(setup, 1, 1);
    let mut random = fastrand::Rng::with_seed(7);
    let (mut clock, mut submitted) = (0.0, VecDeque::new());
    let (mut sums, mut counts) = ([0u64; 2], [0u64; 2]);
    // Lindley's recursion for reads alone. `free` is the time at which the server becomes free.
    let (mut free, mut lindley) = (0, 0);
    let mut issued = 0;
    while counts[0] + counts[1] < commands {
        if issued < commands && submitted.len() < 2 {
            clock += -(1.0 - random.f64()).ln() / rate;
            let (at, op) =
                (clock as u64, if random.f64() < share { Op::Read } else { Op::Program });
            free = at.max(free) + READ + bus;
            lindley += free - at;
            submitted.push_back((at, op));
            scheduler.set_timer(Nanos(at), 0);
            issued += 1;
        }
        match scheduler.advance(Nanos::MAX).expect("something is due") {
            SchedulerEvent::Timer(_) => {
                let (at, op) = submitted.pop_front().expect("it was due");
                let kind = u64::from(op == Op::Program);
                let transfer = Nanos(bus);
                let owner = Some(at << 1 | kind);
                let now = scheduler.now();
                scheduler.submit(Command { owner, transfer, ..command(op, 0) }, now);
            }
            SchedulerEvent::Done { owner, .. } => {
                let kind = usize::from(owner & 1 == 1);
                sums[kind] += scheduler.now().0 - (owner >> 1);
                counts[kind] += 1;
            }
            SchedulerEvent::Idle(_) | SchedulerEvent::Resumed { .. } => {}
        }
    }
    let mean = |kind: usize| float(sums[kind]) / float(counts[kind].max(1));
    let reads_apart = mean(0) - float(lindley) / float(commands);
    OpenLoop { reads: mean(0), programs: mean(1), reads_apart }
}

fn near(what: &str, found: f64, theory: f64, tolerance: f64) {
    let off = found / theory - 1.0;
    assert!(off.abs() <= tolerance, "{what}: {found:.1} is {off:+.3} from {theory:.1}");
}

// The recursion is a control variate: its mean is known, from the formula of Pollaczek and
// Khinchine. The comparison is therefore free of the noise of the arrivals.
#[test]
fn one_die_with_reads_is_an_md1_queue() {
    let service = float(READ + BUS);
    for load in [0.2, 0.4, 0.6, 0.8, 0.9, 0.95] {
        let found = open_loop(policy("fcfs"), BUS, load / service, 1.0, 200_000);
        let theory = service + load * service / (2.0 * (1.0 - load));
        near(&format!("M/D/1 at {load}"), theory + found.reads_apart, theory, 0.003);
        if load < 0.7 {
            near(&format!("M/D/1 at {load}, as simulated"), found.reads, theory, 0.01);
        }
    }
}

#[test]
fn reads_first_is_cobhams_queue() {
    for (share, load) in [(0.5, 0.4), (0.7, 0.5), (0.9, 0.6)] {
        let [read, program] = [float(READ + BUS), float(PROGRAM + BUS)];
        let rate = load / (share * read + (1.0 - share) * program);
        let [reads, programs] = [rate * share, rate * (1.0 - share)];
        let residual = (reads * read * read + programs * program * program) / 2.0;
        let wait = residual / (1.0 - reads * read);
        let found = open_loop(policy("read-first"), BUS, rate, share, 3_000_000);
        near("reads", found.reads, read + wait, 0.005);
        near("programs", found.programs, program + wait / (1.0 - load), 0.005);
    }
}

#[test]
fn suspension_that_costs_nothing_is_preemptive_resume() {
    for (share, load) in [(0.5, 0.4), (0.7, 0.5), (0.9, 0.6)] {
        let [read, program] = [float(READ), float(PROGRAM)];
        let rate = load / (share * read + (1.0 - share) * program);
        let [reads, programs] = [rate * share, rate * (1.0 - share)];
        let of_reads = reads * read;
        let residual = (reads * read * read + programs * program * program) / 2.0;
        let found = open_loop(policy("suspend"), 0, rate, share, 3_000_000);
        let theory = read + reads * read * read / 2.0 / (1.0 - of_reads);
        near("reads", found.reads, theory, 0.005);
        let theory = program / (1.0 - of_reads) + residual / (1.0 - of_reads) / (1.0 - load);
        near("programs", found.programs, theory, 0.005);
    }
}

/// Keeps `depth` commands in flight on random dies until `commands` commands were submitted, and
/// then completes those in flight.
fn closed_loop(setup: Setup, dies: u32, depth: u32, share: f64, commands: u64) -> Scheduler {
    let mut scheduler = scheduler(setup, dies, 2);
    let mut random = fastrand::Rng::with_seed(3);
    let mut submit = |scheduler: &mut Scheduler| {
        let op = if random.f64() < share { Op::Read } else { Op::Program };
        let (die, plane) = (random.u32(..dies), random.u32(..2));
        let command = Command { plane, owner: Some(0), ..command(op, die) };
        scheduler.submit(command, scheduler.now());
    };
    (0..depth).for_each(|_| submit(&mut scheduler));
    let mut done = 0;
    while let Some(happened) = scheduler.advance(Nanos::MAX) {
        if matches!(happened, SchedulerEvent::Done { .. }) {
            done += 1;
            if done + u64::from(depth) <= commands {
                submit(&mut scheduler);
            }
        }
    }
    assert_eq!(done, commands);
    scheduler
}

#[test]
fn throughput_is_that_of_the_dies_or_of_the_bus() {
    for (dies, limit) in [(2, float(2) / float(READ + BUS)), (16, 1.0 / float(BUS))] {
        let scheduler = closed_loop(policy("fcfs"), dies, 512, 1.0, 100_000);
        let found = 100_000.0 / float(scheduler.now().0);
        near(&format!("{dies} dies"), found, limit, 0.01);
    }
}

#[test]
fn littles_law_holds_for_every_queue_and_busy_times_add_up() {
    let rules = Suspension { suspend: Nanos(5000), resume: Nanos(9000), ..Default::default() };
    for setup in [
        policy("fcfs"),
        policy("out-of-order"),
        Setup { cache_read: true, cache_program: true, ..policy("read-first") },
        Setup { suspension: rules, ..policy("suspend") },
        Setup { multi_plane: true, ..policy("fcfs") },
    ] {
        let scheduler = closed_loop(setup, 4, 32, 0.7, 20_000);
        let totals = scheduler.totals();
        let mut busy = Busy::default();
        for (class, cells) in [(Class::HostRead, READ), (Class::HostWrite, PROGRAM)] {
            let counts = totals.classes[class as usize];
            assert_eq!((counts.waiting, counts.arrived), (0, counts.started));
            assert_eq!(counts.waiting_ns, counts.waited_ns, "{class:?} of {setup:?}");
            assert!(counts.max_waiting > 0 && counts.max_waiting <= 32);
            busy.cells.0 += counts.started * cells;
            busy.buses.0 += counts.started * BUS;
        }
        let found = scheduler.busy();
        assert_eq!(found.buses, busy.buses);
        if totals.joined == 0 {
            assert_eq!(found.cells, busy.cells, "{setup:?}");
        }
        assert!(found.dies >= found.cells);
        assert_eq!(totals.joined > 0, setup.multi_plane);
        assert_eq!(totals.suspensions > 0, setup.policy.suspends);
    }
}
