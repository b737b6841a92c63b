//! Tests that every probe of a failing drive ends, keeps the records so far, and reports the fault.

use std::cell::Cell;
use std::sync::atomic::AtomicBool;

use flashscope_block::faulty::{Fault, Faulty};
use flashscope_block::{Bytes, Errno, Nanos, NullDevice, Record};
use flashscope_document::probe::{Finding, IoErrors, Parameter, ProbeStatus, RunSummary};
use flashscope_probe::{
    Budget, Halt, Investigation, Keeper, Knowledge, Lab, PROBES, Probe, RunInProgress, investigate,
};

/// The seed of the probes.
const SEED: u64 = 5;

/// Keeps every record, and the number of IOs of each run.
#[derive(Default)]
struct RecordKeeper {
    records: Vec<Record>,
    runs: Vec<u64>,
}

impl Keeper for RecordKeeper {
    fn io(&mut self, _: &RunInProgress<'_>, record: &Record) {
        self.records.push(*record);
    }

    fn end(&mut self, run: RunSummary) {
        self.runs.push(run.ios);
    }
}

/// The outcome of a probe on a failing drive.
struct ProbeOutcome {
    halt: Option<Halt>,
    errors: Option<IoErrors>,
    kept: RecordKeeper,
    asked: u64,
}

/// Runs one probe on a small drive whose IOs take 60 to 80 µs.
fn run(probe: &Probe, faults: &[(u64, Fault)]) -> ProbeOutcome {
    let readings = Cell::new(0);
    let clock = || {
        let n = readings.get() + 1;
        readings.set(n);
        Nanos(n * 30_000 + n * 7919 % 20_000)
    };
    let mut device =
        Faulty::new(NullDevice::new(Bytes::mib(16), 64, clock), faults.iter().copied());
    let (stop, mut kept) = (AtomicBool::new(false), RecordKeeper::default());
    let budget = Budget { bytes: Bytes::mib(64), time: Nanos::secs(100) };
    let mut lab = Lab::new(&mut device, budget, SEED, &stop, &mut kept);
    let mut knowledge = Knowledge::default();
    knowledge.add(Finding::class(Parameter::Medium, "flash", 0.99));
    let halt = (probe.run)(&mut lab, &knowledge).err();
    let errors = lab.errors().cloned();
    ProbeOutcome { halt, errors, kept, asked: device.submitted() }
}

/// Returns every kind of fault with the error that reports it. `None` stands for a fault without a
/// fixed error: a short transfer, or an IO that only completes late or out of order.
fn faults(random: &mut fastrand::Rng) -> [(Fault, Option<Errno>); 9] {
    let long = Nanos(random.u64(1_000_000..10_000_000_000));
    [
        (Fault::Refused(Errno::EIO), Some(Errno::EIO)),
        (Fault::Refused(Errno::ETIMEDOUT), Some(Errno::ETIMEDOUT)),
        (Fault::Short, None),
        (Fault::Overtaken(random.u32(1..64)), None),
        (Fault::Lost, Some(Errno::ETIMEDOUT)),
        (Fault::Repeated, Some(Errno::EPROTO)),
        (Fault::Forward(long), None),
        (Fault::Back(long), Some(Errno::EPROTO)),
        (Fault::Removed, Some(Errno::ENODEV)),
    ]
}

/// Injects each fault into each probe at `points` points; returns the number of injections.
fn inject(points: u64) -> u64 {
    let mut random = fastrand::Rng::with_seed(15);
    let mut injected = 0;
    for probe in PROBES {
        let sound = run(probe, &[]);
        // The probe lacks its assumptions and makes no requests.
        if sound.asked == 0 {
            continue;
        }
        for _ in 0..points {
            for (fault, errno) in faults(&mut random) {
                let number = random.u64(0..sound.asked);
                let what = format!("{}, {fault:?} at IO {number}", probe.name);
                check(&sound, &run(probe, &[(number, fault)]), number, (fault, errno), &what);
                injected += 1;
            }
        }
    }
    injected
}

/// Asserts that the records of all IOs before IO `number` are kept and the fault is reported.
fn check(
    sound: &ProbeOutcome,
    struck: &ProbeOutcome,
    number: u64,
    (fault, errno): (Fault, Option<Errno>),
    what: &str,
) {
    let (kept, whole) = (&struck.kept.records, &sound.kept.records);
    let same = kept.iter().zip(whole).take_while(|(one, other)| one == other).count() as u64;
    // Up to 64 other IOs may have been in flight with the failed IO.
    assert!(same + 64 >= number, "{what}: {same} of {number} records are there");
    assert_eq!(struck.kept.runs.iter().sum::<u64>(), kept.len() as u64, "{what}");
    let failed = kept.iter().filter(|record| record.result.is_err()).count() as u64;
    let reported = struck.errors.as_ref();
    assert_eq!(reported.map_or(0, |errors| errors.ios), failed, "{what}");
    if let Some(errno) = errno {
        assert_eq!(reported.map(|errors| errors.errno), Some(errno), "{what}");
    }
    assert_eq!(fault == Fault::Short, failed > 0 && errno.is_none(), "{what}");
    let gone = matches!(fault, Fault::Removed | Fault::Lost);
    assert_eq!(struck.halt == Some(Halt::Gone), gone, "{what}: {:?}", struck.halt);
}

// Every probe keeps all answers before the fault, and reports the fault.
#[test]
fn every_probe_survives_every_fault() {
    println!("{} faults were injected while drives were probed", inject(2));
}

// The same test with faults at more points.
#[test]
#[ignore = "takes a minute: scripts/test-trust runs it"]
fn every_probe_survives_every_fault_at_many_points() {
    println!("{} faults were injected while drives were probed", inject(60));
}

// Guards against a former bug: after the removal, each remaining probe still ran, and the
// investigation counted as complete.
#[test]
fn a_removed_drive_gets_no_further_requests() {
    let clock = Cell::new(0);
    let null = NullDevice::new(Bytes::mib(16), 64, || Nanos(clock.replace(clock.get() + 50_000)));
    let mut device = Faulty::new(null, [(10, Fault::Removed)]);
    let (stop, mut kept) = (AtomicBool::new(false), RecordKeeper::default());
    let budget = Budget { bytes: Bytes::mib(64), time: Nanos::secs(100) };
    let mut lab = Lab::new(&mut device, budget, SEED, &stop, &mut kept);
    let mut how = Investigation { parameters: &[], observer: &mut |_| {} };
    let (knowledge, halt) = investigate(&mut lab, &mut how);
    assert_eq!(flashscope_probe::status_of(halt), ProbeStatus::Failed);
    assert_eq!(device.submitted(), 11);
    assert!(knowledge.findings().all(|finding| !finding.is_known()));
}
