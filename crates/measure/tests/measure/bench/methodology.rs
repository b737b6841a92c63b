//! Findings of the methodology on a drive with known behaviour, and their effect on later runs.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, DeviceKind, Io, Nanos, Op, Record};
use flashscope_document::environment::Disturbance;
use flashscope_document::manifest::{Manifest, OnError, Options, Progress, Run, State, Status};
use flashscope_document::methodology::{Budget, EndedBy, Methodology, Precision};
use flashscope_measure::{
    Gauge, Length, Load, Observer, PAUSE_MARGIN, Session, Surroundings, WarmUp,
};
use flashscope_result::ResultFolder;
use flashscope_workload::Stream;
use flashscope_workload::state::InitialContents;
use flashscope_workload::uflip::{PerBaseline, Setup};

use crate::bench::drive::{ScriptedDrive, bench, bench_among, manifest, observe, place, short};

/// The number of fast random writes after an idle time of half a second.
const START_UP: u64 = 125;

/// After the start-up phase, half of each period of this many writes is slow.
const PERIOD: u64 = 128;

/// The number of slower reads after random writes, unless the drive is idle for two and a half
/// seconds.
const LINGERING: u64 = 3000;

const FAST: Nanos = Nanos::micros(400);
const SLOW: Nanos = Nanos::millis(27);

/// The mean cost of random writes in the running phase, in ns.
#[allow(clippy::cast_precision_loss)]
fn running_mean() -> f64 {
    (SLOW.0 + FAST.0) as f64 / 2.0
}

/// A drive as in section 4 of the paper: random writes are fast at first and then oscillate, and
/// reads are slow for a while after them.
fn drive() -> ScriptedDrive {
    let (mut random_writes, mut affected, mut last, mut noise) = (0u64, 0u64, Nanos(0), 1u64);
    let mut next = 0;
    ScriptedDrive::new(move |io: &Io, now: Nanos| {
        if now.0 - last.0 > Nanos::millis(500).0 {
            random_writes = 0;
        }
        if now.0 - last.0 > Nanos::millis(2500).0 {
            affected = 0;
        }
        let sequential = io.offset.0 == next;
        (last, next) = (now, io.offset.0 + io.len.0);
        // Noise of ±5 %, as on real drives.
        noise =
            noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let share = 950 + (noise >> 40) % 100;
        let time = match (io.op, sequential) {
            (Op::Read, _) if affected > 0 => {
                affected -= 1;
                2 * FAST.0
            }
            (Op::Read, _) | (_, true) => FAST.0,
            (_, false) => {
                random_writes += 1;
                affected = LINGERING;
                let running = random_writes.checked_sub(START_UP + 1);
                if running.is_some_and(|n| n % PERIOD < PERIOD / 2) { SLOW.0 } else { FAST.0 }
            }
        };
        Nanos(time * share / 1000)
    })
}

fn found_while_measuring(names: &[&str], device: &ScriptedDrive) -> Manifest {
    let methodology = Methodology {
        precision: Some(Precision::default()),
        finds_io_ignore: true,
        finds_run_pause: true,
        ..Methodology::default()
    };
    let setup = Setup { io_count: PerBaseline::same(20_480), ..Setup::paper(Bytes::mib(512), 1) };
    let options = Options { setup, methodology, ..short(State::Keep, OnError::Stop) };
    manifest(device, names, options)
}

fn runs_of<'a>(manifest: &'a Manifest, benchmark: &str, experiment: &str) -> &'a [Run] {
    let benchmark = manifest.micro_benchmarks.iter().find(|b| b.name == benchmark).unwrap();
    &benchmark.experiments.iter().find(|e| e.name == experiment).unwrap().runs
}

#[allow(clippy::cast_precision_loss)]
fn mean(records: &[Record]) -> f64 {
    records.iter().map(|record| record.latency.0 as f64).sum::<f64>() / records.len() as f64
}

/// Returns the mean of the counted IOs of a run.
fn counted_mean(folder: &ResultFolder, run: &Run) -> f64 {
    let records = folder.rows(run.id).unwrap().to_vec().unwrap();
    mean(&records[usize::try_from(run.reference.io_ignore()).unwrap()..])
}

// The start-up phase is found within 5 %, the period within one IO, and the number of slowed reads
// within 10 %. IOIgnore, the pauses and the length of the runs follow from them. The mean is that
// of the running phase, while the mean of the first 512 IOs is far too low (section 4.2).
#[test]
fn the_preparation_finds_the_phases_of_the_papers_drive() {
    let mut device = drive();
    let mut manifest = found_while_measuring(&["preparation", "alignment", "mix"], &device);
    let (status, folder, _parent) = bench(&mut device, &mut manifest, &AtomicBool::new(false));
    assert_eq!(status, Status::Complete);

    let found = &manifest.findings;
    let [sr, rr, sw, rw] = &found.phases[..] else { panic!("{found:?}") };
    assert!([sr, rr, sw].iter().all(|phases| phases.start_up.is_none() && phases.period.is_none()));
    let (start_up, period) = (rw.start_up.unwrap(), rw.period.unwrap());
    assert!(start_up.ios.abs_diff(START_UP) * 20 <= START_UP, "{start_up:?}");
    assert!(period.ios.abs_diff(PERIOD) <= 1, "{period:?}");
    for look in &found.interference {
        let reads = look.reads.unwrap_or_else(|| panic!("{found:?}"));
        assert!(reads.ios.abs_diff(LINGERING) * 10 <= LINGERING && look.settled, "{look:?}");
        assert!(look.run_pause_ns.0 >= PAUSE_MARGIN * LINGERING * 2 * FAST.0 * 9 / 10);
    }
    assert_eq!(found.interference.len(), 2);

    let runs = runs_of(&manifest, "alignment", "RW");
    for run in runs {
        let records = folder.rows(run.id).unwrap().to_vec().unwrap();
        let fixed = mean(&records[..512]) / running_mean();
        assert!((0.70..0.80).contains(&fixed), "{fixed}");
        let automatic = counted_mean(&folder, run) / running_mean();
        assert!((automatic - 1.0).abs() < 0.02, "{automatic}");
        assert!(run.reference.io_ignore() >= START_UP);
        let length = run.length.unwrap();
        assert_eq!((length.ended_by, length.period_ios), (EndedBy::Precision, period.ios));
        assert!(run.progress.ios() >= 20 * PERIOD);
    }
    // A mix of four reads per write scales both values: the writes of the start-up phase are one in
    // five of its IOs.
    let mix = runs_of(&manifest, "mix", "SR/RW").iter().find(|run| run.value == 4).unwrap();
    assert!(mix.reference.io_ignore() >= 5 * START_UP);
    assert_eq!(mix.length.unwrap().period_ios, 5 * period.ios);
    // Each run starts after a pause of at least the length found.
    let pause = found.interference[0].run_pause_ns;
    let rests = device.log.windows(2).filter(|pair| pair[1].0.0 - pair[0].0.0 >= pause.0).count();
    assert!(rests >= runs.len());
}

#[test]
fn each_cap_ends_a_run_and_is_reported() {
    for (most_time, most_bytes, by) in [
        (None, None, EndedBy::Ios),
        (Some(Nanos::secs(1)), None, EndedBy::Time),
        (None, Some(Bytes::mib(8)), EndedBy::Bytes),
    ] {
        let mut device = drive();
        let mut manifest = found_while_measuring(&["alignment"], &device);
        let methodology = &mut manifest.options.methodology;
        methodology.precision = Some(Precision { relative: 1e-4, ..Precision::default() });
        (methodology.most_run_time_ns, methodology.most_run_bytes) = (most_time, most_bytes);
        bench(&mut device, &mut manifest, &AtomicBool::new(false));
        for run in runs_of(&manifest, "alignment", "RW") {
            let length = run.length.unwrap();
            assert_eq!(length.ended_by, by);
            let ios = run.progress.ios();
            match by {
                EndedBy::Bytes => assert_eq!(ios, Bytes::mib(8).0 / Bytes::kib(32).0),
                EndedBy::Time => assert!((100..2500).contains(&ios)),
                EndedBy::Ios => assert_eq!(ios, run.reference.io_count()),
                EndedBy::Precision | EndedBy::Space => unreachable!(),
            }
            // The cap ends the run before it reaches the precision, or before it has an interval.
            assert!(length.relative_precision.is_none_or(|found| found > 1e-4));
        }
    }
}

#[test]
fn nothing_runs_beyond_the_budget() {
    let budgets = [
        Budget { time_ns: Some(Nanos::secs(10)), bytes: None },
        Budget { time_ns: None, bytes: Some(Bytes::mib(70)) },
    ];
    for budget in budgets {
        let mut device = drive();
        let mut options = short(State::Sequential, OnError::Stop);
        options.methodology.budget = budget;
        let mut manifest = manifest(&device, &["order"], options);
        bench(&mut device, &mut manifest, &AtomicBool::new(false));
        let of =
            |wanted: fn(&Progress) -> bool| manifest.runs().filter(|r| wanted(&r.progress)).count();
        let done = of(|progress| matches!(progress, Progress::Done { .. }));
        let skipped = of(
            |progress| matches!(progress, Progress::Skipped { reason } if reason.contains(" budget, ")),
        );
        assert!(done > 0 && skipped > 0 && done + skipped == 22, "{done} {skipped}");
        let spent = manifest.spent;
        let slack = Nanos(SLOW.0 + Nanos::secs(1).0);
        assert!(budget.time_ns.is_none_or(|time| spent.time_ns.0 <= time.0 + slack.0));
        assert!(budget.bytes.is_none_or(|bytes| spent.bytes.0 <= bytes.0 + Bytes::kib(32).0));
        let written: u64 =
            device.log.iter().filter(|(_, io)| io.op == Op::Write).map(|(_, io)| io.len.0).sum();
        assert_eq!(spent.bytes.0, written);
    }
}

#[test]
fn the_state_is_enforced_again_only_where_planned() {
    let mut device = drive();
    let setup = Setup { io_count: PerBaseline::same(512), ..Setup::paper(Bytes::mib(64), 1) };
    let options = Options { setup, ..short(State::Sequential, OnError::Stop) };
    let mut manifest = manifest(&device, &["granularity"], options);
    let resets = manifest.runs().filter(|run| run.reset).count() as u64;
    assert!(resets > 2);
    bench(&mut device, &mut manifest, &AtomicBool::new(false));
    let of_runs: u64 = manifest
        .runs()
        .filter(|run| run.reference.writes())
        .map(|run| run.progress.ios() * run.reference.largest_io().0)
        .sum();
    assert_eq!(manifest.spent.bytes.0, (1 + resets) * Bytes::mib(64).0 + of_runs);
}

/// Counts how often the manifest in a folder held the progress of a fill.
struct Notes<'a> {
    folder: &'a ResultFolder,
    seen: u64,
}

impl Observer for Notes<'_> {
    fn state(&mut self, _done: Bytes, _size: Bytes) {
        let (_, manifest) = ResultFolder::open(self.folder.path()).unwrap();
        self.seen += u64::from(manifest.enforcing.is_some());
    }
}

#[test]
fn progress_of_a_fill_is_saved_only_for_drives_that_keep_their_contents() {
    let notes = |kind| {
        let mut device = ScriptedDrive::even(Nanos::millis(100));
        device.info.kind = kind;
        let options = Options {
            setup: Setup::paper(Bytes::mib(256), 1),
            ..short(State::Random, OnError::Stop)
        };
        let mut manifest = manifest(&device, &["order"], options);
        let parent = place();
        let folder = ResultFolder::create(&parent.path().join("r.flashscope"), &manifest).unwrap();
        let mut notes = Notes { folder: &folder, seen: 0 };
        let stop = AtomicBool::new(false);
        observe(&mut device, &mut manifest, &stop, &folder, (None, &mut notes)).unwrap();
        notes.seen
    };
    assert_eq!(notes(DeviceKind::Sim), 0);
    assert!(notes(DeviceKind::File) > 3);
}

#[test]
fn an_interrupted_fill_continues_and_covers_every_byte() {
    static STOP: AtomicBool = AtomicBool::new(false);
    let mut device = ScriptedDrive::even(Nanos::micros(100));
    device.stop_at = Some((3000, &STOP));
    let options =
        Options { setup: Setup::paper(Bytes::mib(256), 1), ..short(State::Random, OnError::Stop) };
    let mut manifest = manifest(&device, &["order"], options);
    let (status, ..) = bench(&mut device, &mut manifest, &STOP);
    assert_eq!(status, Status::Interrupted);
    let done = manifest.enforcing.unwrap().ios;
    assert!((3000 - 16..=3000).contains(&done), "{done}");
    let first = std::mem::take(&mut device.log);

    (device.stop_at, manifest.status) = (None, Status::Running);
    bench(&mut device, &mut manifest, &AtomicBool::new(false));
    assert_eq!(manifest.enforcing, None);
    let pieces = |log: &[(Nanos, Io)]| -> BTreeSet<(u64, u64)> {
        log.iter().map(|(_, io)| (io.offset.0, io.len.0)).collect()
    };
    let fill: Vec<(Nanos, Io)> =
        device.log.iter().take_while(|(_, io)| io.op == Op::Write).copied().collect();
    let (before, after) = (pieces(&first), pieces(&fill));
    assert!((900..1100).contains(&before.intersection(&after).count()));
    let all: u64 = before.union(&after).map(|(_, len)| len).sum();
    assert_eq!(all, Bytes::mib(256).0);
}

/// A drive that other processes use during the IOs with the numbers `disturbed`, from 1.
fn disturbed_drive(root: &std::path::Path, disturbed: std::ops::Range<u64>) -> ScriptedDrive {
    let stat = root.join("sys/block/sda/stat");
    fs::create_dir_all(stat.parent().unwrap()).unwrap();
    let (mut ios, mut others) = (0u64, 0u64);
    ScriptedDrive::new(move |_, _| {
        ios += 1;
        others += u64::from(disturbed.contains(&ios));
        let (reads, sectors) = (ios + others, 64 * ios + 8 * others);
        let line = format!("{reads} 0 {sectors} 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
        fs::write(&stat, line).unwrap();
        Nanos::micros(100)
    })
}

#[test]
fn disturbed_runs_are_repeated_once() {
    for (disturbed, still) in [(10..20, false), (10..1000, true)] {
        let root = place();
        let mut device = disturbed_drive(root.path(), disturbed);
        let options = short(State::Keep, OnError::Stop);
        let mut manifest = manifest(&device, &["order"], options);
        fs::write(root.path().join("sys/block/sda/stat"), "0 0 0 0 0 0 0 0 0 0 0\n").unwrap();
        let disk = root.path().join("sys/block/sda");
        let around = Surroundings::at(root.path(), Some(disk), None);
        let stop = AtomicBool::new(false);
        let (_, folder, _parent) = bench_among(&mut device, &mut manifest, &stop, Some(&around));
        let run = &runs_of(&manifest, "order", "SR")[0];
        let conditions = run.conditions.as_ref().unwrap();
        assert_eq!(conditions.repeated_as_disturbed_by, [Disturbance::Ios]);
        assert_eq!(conditions.disturbed_by.is_empty(), !still);
        assert_eq!(folder.rows(run.id).unwrap().total(), 32);
        let calm = &runs_of(&manifest, "order", "SR")[10].conditions.as_ref().unwrap();
        assert_eq!(calm.repeated_as_disturbed_by.is_empty(), !still);
        let repeated = |run: &&Run| {
            let conditions = run.conditions.as_ref().unwrap();
            !conditions.repeated_as_disturbed_by.is_empty()
        };
        let repeated = manifest.runs().filter(repeated).count();
        assert_eq!(device.log.len(), 32 * (22 + repeated));
    }
}

/// 1,000 IOs per second for 10 s, each due at its time.
struct Arrivals(u64);

impl Stream for Arrivals {
    fn next(&mut self, _: Nanos) -> Option<Io> {
        let at = Nanos::millis(self.0);
        self.0 += 1;
        let (op, offset, len, data) = (Op::Read, Bytes(0), Bytes::kib(4), Default::default());
        (self.0 <= 10_000).then_some(Io { op, stream: 0, offset, len, at, data })
    }
}

// The drive stalls for 1 s of 10 s. The open loop shows a wait of 900 ms at the 99th percentile,
// although nearly every IO is fast once submitted.
#[test]
fn an_open_loop_shows_a_stall() {
    let p99 = |open_loop| {
        let mut device = ScriptedDrive::new(|_, now| {
            let stalls = (Nanos::secs(5)..Nanos::secs(6)).contains(&now);
            if stalls { Nanos(Nanos::secs(6).0 - now.0) } else { Nanos::micros(50) }
        });
        let length = Length::Whole;
        let load = Load {
            fill: InitialContents::None,
            warm_up: WarmUp::None,
            length,
            queue_depth: 1,
            open_loop,
            seed: 1,
        };
        let gauge =
            Gauge { read: |_: &ScriptedDrive| (), metric: |(), ()| None, erases: |(), ()| false };
        let (stop, begin, progress) = (&AtomicBool::new(false), &mut |_, _| {}, &mut |_, _, _| {});
        let session = Session { device: &mut device, load, gauge, stop, begin, progress };
        let measured = session.run([vec![Arrivals(0)]]).measured.unwrap();
        assert_eq!(measured.latencies.all().count(), 10_000);
        measured.latencies.all().quantile(0.99).unwrap()
    };
    let (seen, hidden) = (p99(true), p99(false));
    assert!((880_000_000..920_000_000).contains(&seen), "{seen}");
    assert!(hidden < 1_000_000, "{hidden}");
}
