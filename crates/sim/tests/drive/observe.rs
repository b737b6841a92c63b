use std::io::Write;
use std::sync::{Arc, Mutex};

use flashscope_block::{Completion, Device, Io, Nanos, Op};
use flashscope_sim::nand::{BlockId, Cause};
use flashscope_sim::observe::{
    Bucket, Command, CommandKind, Events, FreeBlocks, KINDS, LifetimeClasses, Observer,
    ObserverHandle, Utilization, Watch, Window, erases,
};
use flashscope_sim::{Counters, Profile, SimDevice};
use serde_json::Value;

use crate::{drain, drive, one_pool, request, round_trip};

const PAGE: u64 = 4096;
const CELLS_READ: u64 = 25_000;
const CELLS_PROGRAM: u64 = 200_000;
const TRANSFER: u64 = 105_600;
const READ: u64 = CELLS_READ + TRANSFER;
const WRITE: u64 = TRANSFER + CELLS_PROGRAM;

pub(crate) const ALWAYS: Window = Window { after: Nanos(0), length: Nanos::MAX };

/// Keeps all events that it receives.
#[derive(Default)]
struct Log {
    commands: Vec<Command>,
    requests: Vec<Completion>,
    free_blocks: Vec<(u32, u32, Nanos)>,
}

impl Observer for Log {
    fn command(&mut self, command: &Command) {
        self.commands.push(*command);
    }

    fn request(&mut self, completion: &Completion) {
        self.requests.push(*completion);
    }

    fn free_blocks(&mut self, lane: u32, free: u32, at: Nanos) {
        self.free_blocks.push((lane, free, at));
    }
}

/// A file in memory whose content a test can read.
#[derive(Clone, Default)]
pub(crate) struct SharedFile(Arc<Mutex<Vec<u8>>>);

impl Write for SharedFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl SharedFile {
    pub(crate) fn events(&self) -> Vec<Value> {
        let bytes = self.0.lock().expect("no panic");
        let trace: Value = serde_json::from_slice(&bytes).expect("valid JSON");
        trace["traceEvents"].as_array().expect("an array").clone()
    }
}

/// Returns the profile of a small drive of two packages, which collects garbage in the foreground.
fn small() -> Profile {
    let mut profile = Profile::default();
    profile.flash.packages = 2;
    profile.flash.blocks_per_plane = 8;
    profile.flash.pages_per_block = 16;
    profile.over_provisioning = 0.3;
    profile
}

/// Returns profiles that differ in the execution of commands.
fn profiles() -> Vec<(&'static str, Profile)> {
    let with = |change: fn(&mut Profile)| {
        let mut profile = small();
        change(&mut profile);
        profile
    };
    use flashscope_sim::nand::{GangSharing, Interleaving};
    use flashscope_sim::setup::{Scope, Transfer};
    vec![
        ("plain", small()),
        ("background", with(|p| p.background_cleaning = true)),
        ("span", with(|p| p.page_span = 2)),
        ("small pages", with(|p| p.logical_page_size.0 = 1024)),
        ("counting", with(|p| p.timed = false)),
        ("SLC", with(|p| p.slc.share = 0.1)),
        (
            "pairs",
            with(|p| {
                p.interleaving = Interleaving::PlanePair;
                p.flash.two_plane_commands = true;
                p.active_blocks = Scope::Plane;
                p.cleaning.transfer = Transfer::CopyBack;
                p.over_provisioning = 0.5;
                p.cleaning.free_threshold = 0.25;
            }),
        ),
        (
            "bus gang",
            with(|p| {
                p.gang.packages = 2;
                p.interleaving = Interleaving::Die;
            }),
        ),
        (
            "one queue",
            with(|p| {
                p.gang.packages = 2;
                p.gang.queue_per_package = false;
            }),
        ),
        (
            "control gang",
            with(|p| {
                p.gang.packages = 2;
                p.gang.sharing = GangSharing::Control;
                p.page_span = 2;
            }),
        ),
    ]
}

/// Executes random requests, six for each page of the drive, with up to 8 in flight, and pauses.
fn work(drive: &mut SimDevice) -> Vec<Completion> {
    let mut random = fastrand::Rng::with_seed(8);
    let pages = drive.info().capacity.0 / PAGE;
    let mut done = Vec::new();
    for nth in 0..6 * pages {
        let op = match random.u8(..10) {
            0..2 if nth > pages => Op::Read,
            2 if nth > pages => Op::Trim,
            _ => Op::Write,
        };
        let len = random.u64(1..=3).min(pages);
        let offset = random.u64(..=pages - len) * PAGE;
        drive.submit(&request(op, offset, len * PAGE, drive.now()));
        if nth % 8 == 7 {
            done.extend(drain(drive));
        }
        if nth % 104 == 103 {
            let until = Nanos(drive.now().0 + 20_000_000);
            drive.idle_until(until);
        }
    }
    done.extend(drain(drive));
    assert!(done.iter().all(|completion| completion.result.is_ok()));
    done
}

fn outcome(mut drive: SimDevice) -> (Vec<Completion>, Counters, Vec<u32>) {
    let done = work(&mut drive);
    (done, drive.counters(), drive.free_blocks())
}

#[test]
fn observers_change_no_completion_and_no_counter() {
    for (name, profile) in profiles() {
        let expected = outcome(drive(&profile));
        let cleaned = expected.1.cleanings();
        assert!(cleaned > 50, "{name}: {cleaned} cleaned");
        for kind in KINDS {
            let mut observed = drive(&profile);
            let mut watch = Watch::default();
            if !watch.add(kind.name, &mut observed) {
                assert_eq!(kind.name, "events");
                observed.observe(Events::new(&observed, std::io::sink(), ALWAYS));
            }
            assert!(outcome(observed) == expected, "{name}: {}", kind.name);
        }
    }
}

#[test]
fn observers_are_unique_documented_and_selectable() {
    let mut drive = drive(&small());
    let mut watch = Watch::default();
    let mut sections = 0;
    for kind in KINDS {
        assert!(kind.summary.len() > 20 && kind.yields.len() > 20, "{}", kind.name);
        assert_eq!(KINDS.iter().filter(|other| other.name == kind.name).count(), 1);
        sections += usize::from(watch.add(kind.name, &mut drive));
        let found = serde_json::to_value(watch.report(Nanos(0))).expect("a report");
        assert_eq!(found.as_object().expect("sections").len(), sections);
        assert!(kind.name == "events" || found.get(kind.name).is_some(), "{found}");
    }
    assert!(!watch.add("utilisation", &mut drive));
}

/// A drive and its observers can be moved to another thread.
const fn is_send<T: Send>() {}
const _: () = is_send::<SimDevice>();

/// Submits two writes and a read at time 0, to a drive with one unit and one bus.
fn three_requests(drive: &mut SimDevice) {
    for (op, page) in [(Op::Write, 0), (Op::Write, 1), (Op::Read, 0)] {
        drive.submit(&request(op, page * PAGE, PAGE, Nanos(0)));
    }
}

#[test]
fn utilization_is_exact_to_the_nanosecond() {
    let mut drive = drive(&one_pool(64));
    let utilization = drive.observe(Utilization::new(&drive));
    three_requests(&mut drive);
    // The writes are done at WRITE and 2 WRITE, the read at 2 WRITE + READ.
    let end = 2 * WRITE + READ;
    assert_eq!(drive.complete(Nanos::MAX).map(|done| done.completed), Some(Nanos(WRITE)));
    let at = |until: u64| {
        let report = utilization.lock().report(Nanos(until));
        assert_eq!((report.from_ns, report.until_ns), (Nanos(0), Nanos(until)));
        assert_eq!((report.units.len(), report.buses.len()), (1, 1));
        let unit = report.units[0].clone();
        let commands: Vec<_> =
            unit.commands.iter().map(|c| (c.kind, c.cause, c.count, c.busy_ns.0)).collect();
        (unit, report.buses[0].busy_ns.0, commands)
    };
    let (program, read) = (CommandKind::Program, CommandKind::Read);
    // At WRITE + 1 ns, the second write has been on the bus for a nanosecond.
    let (unit, bus, commands) = at(WRITE + 1);
    assert_eq!(commands, [(program, Cause::Host, 2, WRITE + 1)]);
    assert_eq!((unit.busy_ns.0, unit.busy_share, bus), (WRITE + 1, 1.0, TRANSFER + 1));
    assert_eq!((unit.mean_wait_ns, unit.max_wait_ns), (Some(WRITE as f64 / 2.0), Nanos(WRITE)));
    // The second write waited for WRITE; the read still waits.
    let waiting = (WRITE + (WRITE + 1)) as f64 / (WRITE + 1) as f64;
    assert_eq!(unit.mean_queue_length, waiting);
    // This report ends just before the read gets the bus. The next two end when the read is done,
    // and later.
    let (_, bus, commands) = at(2 * WRITE + CELLS_READ);
    assert_eq!((bus, commands[0]), (2 * TRANSFER, (read, Cause::Host, 1, CELLS_READ)));
    let all = [(read, Cause::Host, 1, READ), (program, Cause::Host, 2, 2 * WRITE)];
    for late in [0, 1000] {
        let (unit, bus, commands) = at(end + late);
        assert_eq!((commands.as_slice(), bus), (all.as_slice(), 3 * TRANSFER));
        assert_eq!(unit.busy_share, end as f64 / (end + late) as f64);
        assert_eq!(unit.mean_wait_ns, Some((WRITE + 2 * WRITE) as f64 / 3.0));
        assert_eq!(unit.mean_queue_length, (3 * WRITE) as f64 / (end + late) as f64);
    }
    // An interval that begins after the cells have been read contains only the transfer, and no
    // wait.
    drain(&mut drive);
    assert_eq!(drive.now(), Nanos(end));
    let mut again = crate::drive(&one_pool(64));
    let utilization = again.observe(Utilization::new(&again));
    three_requests(&mut again);
    let middle = Nanos(2 * WRITE + CELLS_READ);
    assert!(again.complete(middle).is_some() && again.complete(middle).is_some());
    assert_eq!(again.complete(middle), None);
    utilization.lock().restart(again.now());
    let report = utilization.lock().report(Nanos(end));
    assert_eq!((report.from_ns, report.units[0].busy_ns), (middle, Nanos(TRANSFER)));
    assert_eq!((report.units[0].commands.len(), report.units[0].commands[0].count), (1, 0));
    assert_eq!((report.buses[0].busy_share, report.units[0].mean_wait_ns), (1.0, None));
}

// The busy time of each unit, kind and cause is the sum of the times of its commands. The bus is
// busy during each transfer, no share exceeds 1, and each counter is the number of observed
// commands.
#[test]
fn busy_times_add_up() {
    for (name, profile) in profiles() {
        let mut drive = drive(&profile);
        let utilization = drive.observe(Utilization::new(&drive));
        let log: ObserverHandle<Log> = drive.observe(Log::default());
        work(&mut drive);
        let until = drive.now() + Nanos(1_000_000_000);
        // By then, the last commands of garbage collection have ended.
        assert_eq!(drive.complete(until), None);
        let report = utilization.lock().report(until);
        let log = log.lock();
        let mut seen = 0;
        for (unit, used) in (0u32..).zip(&report.units) {
            for by in &used.commands {
                let of = |c: &&Command| (c.unit, c.kind, c.cause) == (unit, by.kind, by.cause);
                let commands = log.commands.iter().filter(of);
                let sum: u64 = commands.clone().map(|c| (c.done - c.start).0).sum();
                assert_eq!((by.count, by.busy_ns.0), (commands.count() as u64, sum), "{name}");
                seen += by.count;
            }
            assert!(used.busy_share <= 1.0, "{name}: {}", used.busy_share);
            assert!(used.busy_ns.0 > 0 || !profile.timed, "{name}: unit {unit} did nothing");
        }
        assert_eq!(seen, log.commands.len() as u64, "{name}");
        let buses = report.buses.iter().map(|bus| bus.busy_ns.0).sum::<u64>();
        assert_eq!(buses, log.commands.iter().map(|c| c.transfer.0).sum::<u64>(), "{name}");
        assert!(report.buses.iter().all(|bus| bus.busy_share <= 1.0), "{name}");
        let flash = drive.counters().flash;
        assert_eq!(seen, flash.reads.total() + flash.programs.total() + flash.erases.total());
    }
}

// The report `cleaning` agrees with the counters and with the observed commands: each erase has a
// victim, and the pages moved are the valid pages of the victims.
#[test]
fn cleaning_reports_match_the_counters() {
    for (name, profile) in profiles() {
        let mut drive = drive(&profile);
        let mut watch = Watch::default();
        assert!(watch.add("cleaning", &mut drive));
        let log = drive.observe(Log::default());
        work(&mut drive);
        // By then, the last commands of garbage collection have ended.
        assert_eq!(drive.complete(drive.now() + Nanos::secs(1)), None);
        let found = watch.report(drive.now()).cleaning.expect("it was there");
        let counters = drive.counters();
        let data_pages = drive.nand().geometry().data_pages();
        assert_eq!(found.count, counters.cleanings(), "{name}");
        assert_eq!(found.pages_moved, counters.pages_moved(), "{name}");
        let efficiency = counters.cleaning_efficiency(data_pages).expect("cleaned");
        assert!((found.efficiency.expect("cleaned") - efficiency).abs() < 1e-12, "{name}");
        let span = u64::from(profile.page_span);
        let victims: u64 = found.victims_by_valid_pages.iter().sum();
        assert_eq!(victims * span, found.count, "{name}");
        let valid = (0u64..).zip(&found.victims_by_valid_pages).map(|(n, count)| n * count);
        // Pages moved out of a block that is not erased yet count as moved, too. Small
        // pages are gathered: several flash pages become one.
        let lanes = drive.free_blocks().len() as u64;
        let moved = valid.sum::<u64>() * span;
        let under_way = lanes * u64::from(data_pages) * span;
        assert!(moved + under_way >= found.pages_moved, "{name}: {moved} {found:?}");
        let gathered = profile.logical_page_size.0 == 1024;
        assert!(gathered || moved <= found.pages_moved, "{name}: {moved} {found:?}");
        let busy = log
            .lock()
            .commands
            .iter()
            .filter(|c| c.cause == Cause::Cleaning)
            .map(|c| (c.done - c.start).0)
            .sum::<u64>();
        assert_eq!(found.busy_ns.0, busy, "{name}");
        let time = found.time_per_block_ns.expect("cleaned");
        let erase = if profile.timed { profile.flash.block_erase } else { Nanos(0) };
        assert!(time.min >= erase && time.min.0 as f64 <= time.mean, "{name}: {time:?}");
    }
}

#[test]
fn collecting_one_valid_page_takes_read_program_and_erase() {
    let mut profile = one_pool(8);
    profile.flash.pages_per_block = 4;
    profile.over_provisioning = 0.5;
    profile.cleaning.free_threshold = 0.25; // 2 blocks
    let mut drive = drive(&profile);
    let mut watch = Watch::default();
    assert!(watch.add("cleaning", &mut drive));
    // Each block gets one page that stays and three pages that are overwritten immediately.
    let mut page = 0;
    while drive.counters().cleanings() == 0 {
        round_trip(&mut drive, Op::Write, page * PAGE, PAGE);
        for _ in 0..3 {
            round_trip(&mut drive, Op::Write, 15 * PAGE, PAGE);
        }
        page += 1;
    }
    let found = watch.report(drive.now()).cleaning.expect("it was there");
    assert!(found.count > 0);
    assert_eq!(found.pages_moved, found.count);
    assert_eq!(found.victims_by_valid_pages, [0, found.count, 0, 0, 0]);
    let time = found.time_per_block_ns.expect("cleaned");
    assert_eq!((time.min, time.max), (Nanos(READ + WRITE + 1_500_000), time.min));
    assert_eq!(found.efficiency, Some(0.75));
    assert_eq!(found.busy_ns, Nanos(time.max.0 * found.count));
}

#[test]
fn free_block_reports_follow_every_change() {
    for (name, profile) in profiles() {
        let mut drive = drive(&profile);
        let start = drive.free_blocks();
        let free = drive.observe(FreeBlocks::with_buckets(&drive, 16));
        let log = drive.observe(Log::default());
        work(&mut drive);
        let report = free.lock().report(drive.now());
        let log = log.lock();
        let (mut lanes, mut minima) = (start.clone(), start.clone());
        let (mut least, mut most) = (u32::MAX, start.iter().sum::<u32>());
        for (lane, free, _) in &log.free_blocks {
            lanes[*lane as usize] = *free;
            minima[*lane as usize] = minima[*lane as usize].min(*free);
            least = least.min(lanes.iter().sum());
            most = most.max(lanes.iter().sum());
        }
        assert_eq!(lanes, drive.free_blocks(), "{name}");
        assert_eq!((report.min, &report.lane_min), (least.into(), &minima), "{name}");
        let curve = report.curve;
        assert!(curve.buckets.len() <= 16);
        assert!(curve.buckets.len() > 8 || !profile.timed, "{name}: {curve:?}");
        assert_eq!(curve.buckets.iter().map(|b| b.min).min(), Some(least.into()), "{name}");
        assert_eq!(curve.buckets.iter().map(|b| b.max).max(), Some(most.into()), "{name}");
        let last: u32 = lanes.iter().sum();
        let Bucket { min, max } = *curve.buckets.last().expect("there is one");
        assert!((min..=max).contains(&last.into()), "{name}");
    }
}

/// Converts a time in an event to nanoseconds.
pub(crate) fn nanos(micros: &Value) -> u64 {
    let text = micros.to_string();
    let (whole, part) = text.split_once('.').unwrap_or((&text, "0"));
    let part = format!("{part:0<3}");
    whole.parse::<u64>().expect("a number") * 1000 + part.parse::<u64>().expect("a number")
}

#[test]
fn the_trace_holds_every_command_and_request() {
    for (name, profile) in profiles() {
        let mut drive = drive(&profile);
        let file = SharedFile::default();
        let events = drive.observe(Events::new(&drive, file.clone(), ALWAYS));
        let log = drive.observe(Log::default());
        work(&mut drive);
        events.lock().finish().expect("memory takes everything");
        let trace = file.events();
        let log = log.lock();
        let of = |phase: &'static str| trace.iter().filter(move |event| event["ph"] == phase);
        assert_eq!(of("X").count(), log.commands.len(), "{name}");
        let mut ends = std::collections::BTreeMap::new();
        for (event, command) in of("X").zip(&log.commands) {
            assert_eq!(event["name"], command.kind.name());
            assert_eq!((&event["cat"], &event["args"]["cause"]), (&event["cat"], &event["cat"]));
            assert_eq!(event["cat"], command.cause.name());
            assert_eq!(event["args"]["block"], command.block.0);
            assert_eq!(event["args"]["page"], command.index);
            assert_eq!(event["args"]["waited_ns"], (command.start - command.at).0);
            let (start, duration) = (nanos(&event["ts"]), nanos(&event["dur"]));
            assert_eq!((start, start + duration), (command.start.0, command.done.0), "{name}");
            let package = event["pid"].as_u64().expect("a process") - 2;
            let packages = drive.nand().packages_of(command.unit);
            assert_eq!(package, u64::from(packages.start), "{name}");
            let thread = event["tid"].as_u64().expect("a thread");
            assert_eq!(thread / 2, u64::from(command.unit), "{name}");
            let end = ends.insert(thread, command.done).unwrap_or_default();
            assert!(end <= command.start, "{name}: {command:?} overlaps on thread {thread}");
        }
        let named = of("M").filter(|event| event["name"] == "thread_name");
        let named: Vec<_> = named.map(|event| event["tid"].as_u64().expect("a thread")).collect();
        assert!(ends.keys().all(|thread| named.contains(thread)), "{name}: {named:?}");
        assert_eq!(ends.keys().any(|thread| thread % 2 == 1), name == "pairs", "{name}");
        let waits = log.commands.iter().filter(|command| command.start > command.at);
        let waits: Vec<_> = waits.collect();
        let paired = |cat: &'static str| {
            let of = |phase| of(phase).filter(move |event| event["cat"] == cat);
            assert_eq!(of("b").count(), of("e").count(), "{name}");
            of("b").zip(of("e")).collect::<Vec<_>>()
        };
        let queued = paired("queue");
        assert_eq!(queued.len(), waits.len(), "{name}");
        for ((begin, end), command) in queued.into_iter().zip(waits) {
            assert_eq!((&begin["id"], &begin["name"]), (&end["id"], &end["name"]));
            assert_eq!(begin["name"], command.class().name());
            let times = (nanos(&begin["ts"]), nanos(&end["ts"]));
            assert_eq!(times, (command.at.0, command.start.0), "{name}");
        }
        let requests = paired("request");
        assert_eq!(requests.len(), log.requests.len(), "{name}");
        for ((begin, end), request) in requests.into_iter().zip(&log.requests) {
            assert_eq!((&begin["id"], &begin["name"]), (&end["id"], &end["name"]));
            assert_eq!((&begin["cat"], &begin["pid"]), (&end["cat"], &end["pid"]));
            let times = (nanos(&begin["ts"]), nanos(&end["ts"]));
            assert_eq!(times, (request.submitted.0, request.completed.0));
            let Io { offset, len, .. } = request.io;
            assert_eq!(
                (&begin["args"]["offset"], &begin["args"]["len"]),
                (&Value::from(offset.0), &Value::from(len.0))
            );
        }
    }
}

#[test]
fn three_requests_make_ten_events() {
    let mut drive = drive(&one_pool(64));
    let file = SharedFile::default();
    drop(drive.observe(Events::new(&drive, file.clone(), ALWAYS)));
    three_requests(&mut drive);
    drain(&mut drive);
    drop(drive);
    let events: Vec<_> = file
        .events()
        .iter()
        .filter(|event| event["ph"] != "M")
        .map(|event| format!("{} {} {} {}", event["ph"], event["name"], event["ts"], event["dur"]))
        .collect();
    assert_eq!(
        events,
        [
            r#""X" "program" 0.0 305.6"#,
            r#""b" "host writes" 0.0 null"#,
            r#""e" "host writes" 305.6 null"#,
            r#""X" "program" 305.6 305.6"#,
            r#""b" "host reads" 0.0 null"#,
            r#""e" "host reads" 611.2 null"#,
            r#""X" "read" 611.2 130.6"#,
            r#""b" "write" 0.0 null"#,
            r#""e" "write" 305.6 null"#,
            r#""b" "write" 0.0 null"#,
            r#""e" "write" 611.2 null"#,
            r#""b" "read" 0.0 null"#,
            r#""e" "read" 741.8 null"#,
        ]
    );
}

// A window contains exactly the events that overlap with it, to the nanosecond. The trace is
// complete even if the drive is dropped while commands are in progress.
#[test]
fn events_outside_the_window_are_left_out() {
    // Two programs, from 0 to WRITE and from WRITE to 2 WRITE, then a read.
    let cases = [
        (0, WRITE, 1),
        (0, WRITE + 1, 2),
        (WRITE - 1, 1, 1),
        (WRITE - 1, 2, 2),
        (WRITE, 1, 1),
        (2 * WRITE + READ, 1000, 0),
        (0, 1 << 40, 3),
    ];
    for (after, length, commands) in cases {
        let mut drive = drive(&one_pool(64));
        let file = SharedFile::default();
        let window = Window { after: Nanos(after), length: Nanos(length) };
        let events = drive.observe(Events::new(&drive, file.clone(), window));
        three_requests(&mut drive);
        drop(drive);
        drop(events);
        let count = file.events().iter().filter(|event| event["ph"] == "X").count();
        assert_eq!(count, commands, "{window:?}");
    }
}

// A waiting observer records nothing before its start. A write error is returned at the end and
// does not affect the drive.
#[test]
fn a_trace_may_wait_and_fail() {
    let mut drive = drive(&one_pool(64));
    let file = SharedFile::default();
    let events = drive.observe(Events::waiting(&drive, file.clone(), ALWAYS));
    round_trip(&mut drive, Op::Write, 0, PAGE);
    events.lock().restart(drive.now());
    round_trip(&mut drive, Op::Read, 0, PAGE);
    events.lock().finish().expect("memory takes everything");
    round_trip(&mut drive, Op::Read, 0, PAGE);
    let recorded: Vec<_> = file
        .events()
        .iter()
        .filter(|event| event["ph"] == "X")
        .map(|event| event["name"].clone())
        .collect();
    assert_eq!(recorded, ["read"]);

    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let events = drive.observe(Events::new(&drive, Full, ALWAYS));
    for page in 0..300 {
        round_trip(&mut drive, Op::Write, page * PAGE, PAGE);
    }
    let error = events.lock().finish().expect_err("the disk is full");
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
}

#[test]
fn erase_reports_match_the_counts_of_the_blocks() {
    let mut profile = small();
    profile.reliability.factory_bad_blocks = 0.1;
    profile.over_provisioning = 0.5;
    let mut drive = drive(&profile);
    work(&mut drive);
    let report = erases(std::slice::from_ref(&drive)).expect("there are blocks");
    let nand = drive.nand();
    let good = (0u32..).map(BlockId).zip(nand.erase_counts()).filter(|(b, _)| !nand.is_bad(*b));
    let counts: Vec<_> = good.map(|(_, erases)| erases).collect();
    assert!(counts.len() < nand.erase_counts().len(), "some are bad");
    assert_eq!(report.blocks, counts.len() as u64);
    assert_eq!(report.histogram.counts.iter().sum::<u64>(), report.blocks);
    assert_eq!((Some(&report.min), Some(&report.max)), (counts.iter().min(), counts.iter().max()));
    let sum: u32 = counts.iter().sum();
    assert_eq!(u64::from(sum), drive.counters().flash.erases.total());
    assert_eq!(report.mean, f64::from(sum) / counts.len() as f64);
    let LifetimeClasses { below_40_percent, below_80_percent, .. } = report.remaining_lifetime;
    assert_eq!((below_40_percent, below_80_percent), (0, 0));
    assert_eq!(report.health, drive.health());
    assert_eq!(report.block_lifetime, 100_000);
}
