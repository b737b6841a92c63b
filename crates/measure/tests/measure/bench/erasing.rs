//! Drives that have an erase command.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use flashscope_block::{
    Bytes, Completion, Device, DeviceInfo, Erase, EraseError, Erasure, Io, Nanos, Op,
};
use flashscope_document::manifest::{OnError, Options, State, Status};
use flashscope_measure::{Bench, Error, check_state};
use flashscope_result::ResultFolder;

use flashscope_workload::uflip::PerBaseline;

use crate::bench::drive::{ScriptedDrive, manifest, place, short};

const LATENCY: Nanos = Nanos::micros(100);

/// A drive that erases itself if `agrees` is set.
struct Erasable {
    drive: ScriptedDrive,
    agrees: bool,
    /// The step of an erasure, from 0 to 3, at which the flag is set.
    stop_at: Option<(u64, &'static AtomicBool)>,
    /// Each erasure with the number of IOs submitted before it.
    erased: std::sync::Mutex<Vec<(Erasure, usize)>>,
    reports: AtomicU64,
}

impl Erasable {
    fn new() -> Erasable {
        let mut drive = ScriptedDrive::even(LATENCY);
        drive.info.capacity = Bytes::mib(64);
        let (agrees, stop_at) = (true, None);
        Erasable { drive, agrees, stop_at, erased: Default::default(), reports: AtomicU64::new(0) }
    }
}

struct Eraser<'d>(&'d Erasable, Erasure);

impl Erase for Eraser<'_> {
    fn erase(
        &mut self,
        tell: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, EraseError> {
        self.0.erased.lock().unwrap().push((self.1, self.0.drive.log.len()));
        for done in 0..4 {
            if let Some((at, stop)) = self.0.stop_at {
                stop.fetch_or(done == at, Ordering::Relaxed);
            }
            self.0.reports.fetch_add(1, Ordering::Relaxed);
            if tell(done, 4).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

impl Device for Erasable {
    fn info(&self) -> &DeviceInfo {
        self.drive.info()
    }
    fn now(&self) -> Nanos {
        self.drive.now()
    }
    fn submit(&mut self, io: &Io) {
        self.drive.submit(io);
    }
    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        self.drive.complete(until)
    }
    fn eraser(&self, erasure: Erasure) -> Result<Box<dyn Erase + '_>, EraseError> {
        match self.agrees {
            true => Ok(Box::new(Eraser(self, erasure))),
            false => Err(EraseError("it would erase another one".into())),
        }
    }
}

/// Runs the micro-benchmarks `names`. Returns the outcome, and the manifest that the result folder
/// has afterwards.
fn run(
    device: &mut Erasable,
    names: &[&str],
    options: Options,
    stop: &AtomicBool,
) -> (Result<Status, Error>, Status) {
    let manifest = &mut manifest(&device.drive, names, options);
    let parent = place();
    let folder = ResultFolder::create(&parent.path().join("r.flashscope"), manifest).unwrap();
    let (observer, forgot, surroundings) = (&mut (), false, None);
    let outcome =
        Bench { device, folder: &folder, manifest, forgot, stop, observer, surroundings }.run();
    (outcome, ResultFolder::open(folder.path()).unwrap().1.status)
}

// The drive erases itself before the first IO, and again where sequential writes have left no space
// in the state. No trim is submitted.
#[test]
fn drives_erase_themselves_in_the_requested_way() {
    for (state, erasure) in
        [(State::Formatted, Erasure::Format), (State::Sanitized, Erasure::Sanitize)]
    {
        let mut device = Erasable::new();
        let mut options = short(state, OnError::Stop);
        options.setup.io_count = PerBaseline::same(128);
        let planned = manifest(&device.drive, &["granularity", "order"], options.clone());
        let resets = planned.runs().filter(|run| run.reset).count();
        assert!(resets > 0);
        let never = AtomicBool::new(false);
        let (outcome, _) = run(&mut device, &["granularity", "order"], options, &never);
        assert_eq!(outcome.unwrap(), Status::Complete);
        let erased = device.erased.lock().unwrap();
        assert_eq!(erased.len(), 1 + resets);
        assert!(erased.iter().all(|(how, _)| *how == erasure));
        assert_eq!(erased[0].1, 0);
        assert!(erased[1].1 > 0);
        assert!(device.drive.log.iter().all(|(_, io)| matches!(io.op, Op::Read | Op::Write)));
        assert_eq!(device.reports.load(Ordering::Relaxed), 4 * erased.len() as u64);
    }
}

// A benchmark stopped before the erasure does not begin it.
#[test]
fn stopping_during_an_erasure_reports_that_it_continues() {
    static STOP: AtomicBool = AtomicBool::new(false);
    let mut device = Erasable::new();
    device.stop_at = Some((1, &STOP));
    let options = short(State::Sanitized, OnError::Stop);
    let (outcome, status) = run(&mut device, &["order"], options.clone(), &STOP);
    let error = outcome.unwrap_err();
    assert!(matches!(error, Error::StillErasing), "{error}");
    assert!(error.to_string().contains("the drive continues to erase itself"), "{error}");
    assert_eq!((status, device.drive.log.len()), (Status::Interrupted, 0));
    assert_eq!(device.reports.load(Ordering::Relaxed), 2);

    let mut device = Erasable::new();
    let (outcome, status) = run(&mut device, &["order"], options, &AtomicBool::new(true));
    assert_eq!((outcome.unwrap(), status), (Status::Interrupted, Status::Interrupted));
    assert_eq!(*device.erased.lock().unwrap(), []);
}

// A drive is not erased if it refuses, has no erase command, or may be used only in part.
// `check_state` detects all three cases beforehand.
#[test]
fn drives_that_cannot_be_erased_are_refused_beforehand() {
    let part = |offset, size| {
        let mut options = short(State::Formatted, OnError::Stop);
        (options.setup.target_offset, options.setup.target_size) = (offset, size);
        options
    };
    let whole = part(Bytes(0), Bytes::mib(64));
    let mut device = Erasable::new();
    check_state(&device, &whole).unwrap();
    for options in [part(Bytes(0), Bytes::mib(63)), part(Bytes::mib(1), Bytes::mib(63))] {
        let refused = check_state(&device, &options).unwrap_err().to_string();
        assert!(refused.starts_with("`scripted` is erased as a whole, and not all"), "{refused}");
    }
    let known = check_state(&device.drive, &whole).unwrap_err().to_string();
    assert!(known.starts_with("`scripted` is not an NVMe drive"), "{known}");
    for state in [State::Keep, State::Purged, State::Sequential, State::Random] {
        check_state(&device.drive, &short(state, OnError::Stop)).unwrap();
    }

    device.agrees = false;
    assert_eq!(check_state(&device, &whole).unwrap_err().0, "it would erase another one");
    let (outcome, status) = run(&mut device, &["order"], whole, &AtomicBool::new(false));
    let error = outcome.unwrap_err().to_string();
    assert_eq!(error, "cannot bring the drive into its state: it would erase another one");
    assert_eq!((status, device.drive.log.len()), (Status::Failed, 0));
    assert_eq!(*device.erased.lock().unwrap(), []);
}
