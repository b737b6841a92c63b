//! Compares the observers' reports of queued commands with the scheduler's own counts.

use std::ops::Range;

use flashscope_block::{Device, Nanos, Op};
use flashscope_sim::nand::Interleaving;
use flashscope_sim::observe::{
    Command, CommandKind, Events, Observer, Utilization, UtilizationReport,
};
use flashscope_sim::sched::{Class, Totals};
use flashscope_sim::setup::Scope;
use flashscope_sim::{Profile, SimDevice};

use crate::observe::{ALWAYS, SharedFile, nanos};
use crate::queues::{closed_loop, dies_on_a_bus, fill, sequential_writes, without_early_answers};
use crate::{drive, request};

/// Keeps all commands and suspensions.
#[derive(Default)]
struct Log {
    commands: Vec<Command>,
    suspensions: Vec<(Command, Range<Nanos>)>,
}

impl Observer for Log {
    fn command(&mut self, command: &Command) {
        self.commands.push(*command);
    }

    fn suspension(&mut self, command: &Command, time: Range<Nanos>) {
        self.suspensions.push((*command, time));
    }
}

/// Returns the profile of a drive of four dies on which reads suspend programs and erases.
fn suspending() -> Profile {
    let mut profile = dies_on_a_bus(4, "suspend");
    profile.flash.blocks_per_plane = 24;
    profile.scheduling.suspend_time = Nanos::micros(5);
    profile.scheduling.resume_time = Nanos::micros(3);
    profile
}

fn totals(drive: &SimDevice) -> Totals {
    drive.nand().queue_totals().expect("commands wait in queues")
}

#[allow(clippy::cast_precision_loss)]
fn apart(one: f64, other: u128) -> f64 {
    (one - other as f64).abs()
}

// The scheduler counts arrivals and starts as they happen; the observer adds up finished commands.
#[test]
fn waits_by_class_are_those_of_the_scheduler() {
    for policy in ["fcfs", "read-first", "out-of-order", "suspend"] {
        let mut profile = suspending();
        profile.scheduling.policy = policy.into();
        if policy != "suspend" {
            (profile.scheduling.suspend_time, profile.scheduling.resume_time) = Default::default();
        }
        let mut drive = drive(&profile);
        let seen = drive.observe(Utilization::new(&drive));
        fill(&mut drive, 16);
        closed_loop(&mut drive, 32, 0.5, 20_000);
        // The last commands of garbage collection are done, too.
        assert_eq!(drive.complete(drive.now() + Nanos(1_000_000_000_000)), None);
        let until = drive.now();
        let (report, totals) = (seen.lock().report(until), totals(&drive));
        let counted = Class::ALL.into_iter().zip(&totals.classes);
        let counted: Vec<_> = counted.filter(|(_, counts)| counts.started > 0).collect();
        assert_eq!(report.classes.len(), counted.len(), "{policy}");
        assert!(counted.len() >= 4, "{policy}: no garbage was collected");
        for (used, (class, counts)) in report.classes.iter().zip(counted) {
            assert_eq!((used.class, used.count), (class, counts.started), "{policy}");
            assert_eq!(used.max_wait_ns, counts.longest_wait, "{policy}: {class:?}");
            #[allow(clippy::cast_precision_loss)]
            let waited = used.mean_wait_ns.expect("some started") * used.count as f64;
            assert!(apart(waited, counts.waited_ns) < 1.0 + waited * 1e-9, "{policy}: {class:?}");
            #[allow(clippy::cast_precision_loss)]
            let waiting = used.mean_queue_length * until.0 as f64;
            assert!(
                apart(waiting, counts.waiting_ns) < 1.0 + waiting * 1e-9,
                "{policy}: {class:?}"
            );
        }
    }
}

/// Sends requests of up to `most` pages, one at a time, to a drive of one die a bus, and returns
/// the use of its units.
fn use_by_class(spec: &str, most: u64, has_queues: bool) -> UtilizationReport {
    let base = "demo?flash.packages=2&flash.dies_per_package=1&flash.planes_per_die=1\
                &flash.blocks_per_plane=32&flash.pages_per_block=8&over_provisioning=0.3\
                &background_cleaning=false&interleaving=none";
    let mut profile = flashscope_sim::setup::parse(&format!("{base}&{spec}")).expect("it reads");
    if has_queues {
        without_early_answers(&mut profile);
    }
    let mut drive = drive(&profile);
    let seen = drive.observe(Utilization::new(&drive));
    let mut random = fastrand::Rng::with_seed(3);
    let unit = u64::from(drive.nand().geometry().logical_page_size);
    let units = drive.info().capacity.0 / unit;
    for _ in 0..1500 {
        let op = if random.u32(..4) == 0 { Op::Read } else { Op::Write };
        let (offset, len) = (random.u64(..units - most) * unit, random.u64(1..=most) * unit);
        drive.submit(&request(op, offset, len, drive.now()));
        drive.complete(Nanos::MAX).expect("a request in flight completes");
    }
    assert_eq!(drive.complete(drive.now() + Nanos(1_000_000_000_000)), None);
    seen.lock().report(drive.now())
}

// With requests of one page, a drive that answers early reports the same waits and queue lengths as
// one whose commands wait in queues. It serves the commands of larger requests in another order,
// but reports the same commands.
#[test]
fn waits_by_class_are_the_same_of_early_answers() {
    for spec in [
        "seed=1",
        "persistence.map=nv-ram",
        "ftl=bast&persistence.map=pages",
        "ftl=fast&persistence.map=pages",
        "ftl=superblock&persistence.map=pages&log.group=2",
        "ftl=last&persistence.map=pages&log.sequential_request=8KiB",
        "cache.kind=lru&cache.size=32KiB",
        "gang.packages=2&gang.queue_per_package=false",
    ] {
        let [early, queued] = [false, true].map(|has_queues| use_by_class(spec, 1, has_queues));
        assert!(early.classes.len() >= 4, "{spec}: it must clean");
        assert_eq!(early, queued, "{spec}");
        let work = [false, true].map(|has_queues| {
            let classes = use_by_class(spec, 8, has_queues).classes;
            classes.iter().map(|of| (of.class, of.count, of.busy_ns)).collect::<Vec<_>>()
        });
        assert_eq!(work[0], work[1], "{spec}");
    }
}

#[test]
fn suspended_time_is_not_busy_time() {
    let mut drive = drive(&suspending());
    let (seen, log) = (drive.observe(Utilization::new(&drive)), drive.observe(Log::default()));
    fill(&mut drive, 16);
    closed_loop(&mut drive, 32, 0.5, 20_000);
    assert_eq!(drive.complete(drive.now() + Nanos(1_000_000_000_000)), None);
    let (report, log) = (seen.lock().report(drive.now()), log.lock());
    let suspended: u64 = log.suspensions.iter().map(|(_, time)| (time.end - time.start).0).sum();
    assert_eq!(log.suspensions.len() as u64, totals(&drive).suspensions);
    assert_eq!(log.commands.iter().map(|command| command.suspended.0).sum::<u64>(), suspended);
    assert_eq!(report.classes.iter().map(|used| used.suspended_ns.0).sum::<u64>(), suspended);
    for (unit, used) in (0..).zip(&report.units) {
        let of_unit = log.commands.iter().filter(|command| command.unit == unit);
        let busy: u64 = of_unit.map(|c| (c.done - c.start).0 - c.suspended.0).sum();
        assert_eq!(used.busy_ns.0, busy, "unit {unit}");
        assert_eq!(used.commands.iter().map(|used| used.busy_ns.0).sum::<u64>(), busy);
    }
}

#[test]
fn the_trace_shows_suspensions() {
    let mut drive = drive(&suspending());
    let file = SharedFile::default();
    let events = drive.observe(Events::new(&drive, file.clone(), ALWAYS));
    let log = drive.observe(Log::default());
    fill(&mut drive, 16);
    closed_loop(&mut drive, 32, 0.5, 2000);
    events.lock().finish().expect("memory takes everything");
    let (trace, log) = (file.events(), log.lock());
    let shown: Vec<_> = trace.iter().filter(|event| event["cat"] == "suspension").collect();
    assert_eq!(shown.len(), log.suspensions.len());
    assert!(shown.len() > 50);
    for (event, (command, time)) in shown.iter().zip(&log.suspensions) {
        let (start, duration) = (nanos(&event["ts"]), nanos(&event["dur"]));
        assert_eq!((start, start + duration), (time.start.0, time.end.0));
        assert_eq!(event["args"]["block"], command.block.0);
        // Each suspension lies within its command, on the same thread, and a read lies within the
        // suspension.
        let slice = |kind: &'static str| {
            trace.iter().filter(move |slice| {
                slice["ph"] == "X" && slice["name"] == kind && slice["tid"] == event["tid"]
            })
        };
        let span = |slice: &serde_json::Value| {
            let start = nanos(&slice["ts"]);
            (start, start + nanos(&slice["dur"]))
        };
        let holds = |(start, end): (u64, u64)| start <= time.start.0 && time.end.0 <= end;
        let kind = command.kind.name();
        assert!(slice(kind).any(|slice| holds(span(slice))), "{command:?}");
        let within = |(start, end): (u64, u64)| time.start.0 <= start && end <= time.end.0;
        assert!(slice("read").any(|slice| within(span(slice))), "{command:?}");
    }
}

#[test]
fn the_trace_shows_joined_planes() {
    let mut profile = dies_on_a_bus(2, "out-of-order");
    profile.flash.planes_per_die = 4;
    profile.flash.two_plane_commands = true;
    profile.interleaving = Interleaving::PlanePair;
    profile.active_blocks = Scope::Plane;
    let mut drive = drive(&profile);
    let file = SharedFile::default();
    let events = drive.observe(Events::new(&drive, file.clone(), ALWAYS));
    let log = drive.observe(Log::default());
    sequential_writes(&mut drive, 16, 400);
    events.lock().finish().expect("memory takes everything");
    let (trace, log) = (file.events(), log.lock());
    let pairs = trace.iter().filter(|event| event["args"]["together"] == 2).count() as u64;
    let joined = totals(&drive).joined;
    assert!(joined > 20, "{joined}");
    assert_eq!(pairs, 2 * joined);
    let together = log.commands.iter().filter(|command| command.together == 2);
    assert_eq!(together.clone().count() as u64, pairs);
    assert!(together.into_iter().all(|command| command.kind == CommandKind::Program));
}
