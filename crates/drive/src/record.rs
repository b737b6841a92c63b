//! Recording what a drive is asked for, by the kernel's own tracer of block devices.
//!
//! The tracer `blk` of tracefs gives the events of blktrace, those of all processors in one stream,
//! without the debugfs that the program `blktrace` needs and that hardened kernels lock. There is
//! one such tracer for the whole system: [`Recording::start`] refuses where anything else is traced,
//! and everything that it sets is put back at the end, whether that comes by itself, by an error, or
//! because the recording is dropped.
//!
//! (Linux, Documentation/trace/ftrace.rst; kernel/trace/blktrace.c.)

mod error;
mod events;
mod settings;
#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use flashscope_block::{Bytes, Nanos};
use rustix::time::{ClockId, clock_gettime};

pub use error::RecordError;
use events::{Count, Events};
use settings::Settings;

use crate::Clock;
use crate::guard::{DeviceNumber, System};

/// How much the kernel keeps for each processor until it is read, unless more is set already.
const BUFFER: Bytes = Bytes(8 << 20);

/// How much is read from the kernel at a time.
const CHUNK: usize = 1 << 16;

/// How long to wait where the kernel has nothing: long enough to cost nothing, and too short to
/// fill the kernel's buffer.
const WAIT: Duration = Duration::from_millis(5);

/// What of the kernel's events is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// What tells of requests: their issue and completion, and being put back in between; on a
    /// device that has no queue of its own, being queued and completed.
    Requests,
    /// Everything that the kernel tells.
    Everything,
}

/// The kernel's events of one drive, as they come, in the format of blktrace: read it to the end.
///
/// The first event notes the time of day, as those of the program `blktrace` do, so that times can
/// be told since 1970. Where a partition is traced, addresses are nevertheless those of its drive.
pub struct Recording {
    device: PathBuf,
    pipe: Option<File>,
    tracefs: PathBuf,
    settings: Settings,
    /// Held as long as the tracer is in use, so that two recordings exclude each other.
    _lock: File,
    events: Events,
    /// Whole events that were not read yet, and how much of them was.
    ready: Vec<u8>,
    given: usize,
    watch: Box<dyn FnMut(&Report) -> bool + Send>,
    until: Option<(Clock, Nanos)>,
    /// Nothing more is traced; what was is still to be read.
    stopping: bool,
    /// Whether requests are what the device issues, rather than what is queued for it.
    has_queue: bool,
    report: Arc<Report>,
}

/// How a recording goes.
#[derive(Debug, Default)]
pub struct Report {
    requests: AtomicU64,
    bytes: AtomicU64,
    lost: AtomicU64,
    not_restored: Mutex<Vec<String>>,
}

impl Report {
    /// How many requests were recorded so far.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// How many bytes they were for.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.bytes.load(Ordering::Relaxed))
    }

    /// How many events the kernel could not keep; known at the end.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Which settings could not be put back, and how to do so.
    pub fn not_restored(&self) -> Vec<String> {
        self.not_restored.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Recording {
    /// Begins to record the block device at `device`, a drive or a partition of one, until `watch`
    /// says so or `duration` is over. `watch` is told how it goes, every few milliseconds as long as
    /// the recording is read.
    ///
    /// # Errors
    /// What is missing, or who else uses the tracer. Nothing stays changed then.
    pub fn start(
        device: &Path,
        scope: Scope,
        duration: Option<Duration>,
        watch: impl FnMut(&Report) -> bool + Send + 'static,
    ) -> Result<Recording, RecordError> {
        let number = device_number(device)?;
        Recording::start_on(&System::default(), device, number, scope, duration, watch)
    }

    fn start_on(
        system: &System,
        device: &Path,
        number: DeviceNumber,
        scope: Scope,
        duration: Option<Duration>,
        watch: impl FnMut(&Report) -> bool + Send + 'static,
    ) -> Result<Recording, RecordError> {
        let directory = system.directory(number);
        let directory = directory.map_err(RecordError::system("find", device))?.join("trace");
        let tracefs = tracefs(system, &directory)?;
        let lock = lock(&tracefs)?;
        check_unused(&tracefs, &directory)?;
        let mut settings = Settings::default();
        prepare(&mut settings, &tracefs)?;
        // From here on the buffer is empty, and the tracer may not be changed while this is open.
        let pipe = tracefs.join("trace_pipe");
        let pipe = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&pipe);
        let pipe = pipe.map_err(RecordError::system("open", &tracefs.join("trace_pipe")))?;
        let until = duration.map(|duration| {
            let clock = Clock::new();
            let duration = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
            let until = Nanos(clock.now().0.saturating_add(duration));
            (clock, until)
        });
        let ready = events::note_of_time(now(ClockId::Monotonic), now(ClockId::Realtime));
        settings.set(&directory.join("enable"), "1")?;
        let has_queue = system.whole_disk(number).is_some_and(|disk| disk.join("mq").exists());
        if scope == Scope::Requests {
            let mask = if has_queue { "requeue,issue,complete" } else { "queue,complete" };
            let path = directory.join("act_mask");
            // It is gone with the trace of the device, so that nothing is to be put back.
            settings::write(&path, mask).map_err(RecordError::system("set", &path))?;
        }
        Ok(Recording {
            device: device.into(),
            pipe: Some(pipe),
            tracefs,
            settings,
            _lock: lock,
            events: Events::default(),
            ready,
            given: 0,
            watch: Box::new(watch),
            until,
            stopping: false,
            has_queue,
            report: Arc::default(),
        })
    }
}

impl Recording {
    /// How it goes, for whoever does not read it.
    pub fn report(&self) -> Arc<Report> {
        self.report.clone()
    }

    /// Ends the tracing where that is due; what the kernel has already can still be read.
    fn stop_if_due(&mut self) {
        let over = |(clock, until): &(Clock, Nanos)| clock.now() >= *until;
        let due = (self.watch)(&self.report) || self.until.as_ref().is_some_and(over);
        if self.stopping || !due {
            return;
        }
        self.stopping = true;
        // The last that was set is that the device is traced.
        let failed = self.settings.restore(self.settings.len() - 1);
        self.note_not_restored(failed);
    }

    /// Puts everything back; the kernel forgets what was not read.
    fn finish(&mut self) {
        if self.pipe.is_none() {
            return;
        }
        self.report.lost.store(lost(&self.tracefs), Ordering::Relaxed);
        // While it is open the tracer cannot be changed.
        self.pipe = None;
        let failed = self.settings.restore(0);
        self.note_not_restored(failed);
    }

    fn note_not_restored(&self, failed: Vec<String>) {
        let mut all = self.report.not_restored.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(failed);
    }

    /// Reads from the kernel until there are events to give, or there is nothing more.
    fn fetch(&mut self) -> io::Result<()> {
        (self.given, self.ready) = (0, Vec::new());
        let mut chunk = vec![0; CHUNK];
        while self.ready.is_empty() {
            self.stop_if_due();
            let Some(pipe) = &mut self.pipe else { return Ok(()) };
            match pipe.read(&mut chunk) {
                Ok(0) => self.wait(),
                Ok(count) => self.events.push(&chunk[..count], &mut self.ready)?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let Count { requests, bytes } =
            if self.has_queue { self.events.issued } else { self.events.queued };
        self.report.requests.store(requests, Ordering::Relaxed);
        self.report.bytes.store(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// There is nothing to read at the moment, or not any more.
    fn wait(&mut self) {
        if self.stopping {
            self.finish();
        } else {
            std::thread::sleep(WAIT);
        }
    }
}

impl Read for Recording {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.ready.len()
            && let Err(error) = self.fetch()
        {
            self.finish();
            return Err(error);
        }
        let count = (&self.ready[self.given..]).read(buffer)?;
        self.given += count;
        Ok(count)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.finish();
    }
}

impl std::fmt::Debug for Recording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recording").field("device", &self.device).finish_non_exhaustive()
    }
}

/// The number of the block device at a path.
fn device_number(device: &Path) -> Result<DeviceNumber, RecordError> {
    let metadata = fs::metadata(device).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => RecordError::NoDevice(device.into()),
        _ => RecordError::system("find", device)(source),
    })?;
    if !metadata.file_type().is_block_device() {
        return Err(RecordError::NotADevice(device.into()));
    }
    Ok(DeviceNumber::new(metadata.rdev()))
}

/// Whether writing to the file at `path`, which need not be there yet, is writing to the drive of
/// the block device at `device`, as far as that is plain.
pub fn is_on_device(path: &Path, device: &Path) -> bool {
    let system = System::default();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let below = fs::metadata(folder.unwrap_or(Path::new("."))).ok();
    let below = below.and_then(|folder| system.whole_disk(DeviceNumber::new(folder.dev())));
    let drive = device_number(device).ok().and_then(|number| system.whole_disk(number));
    below.is_some() && below == drive
}

/// Where the tracer is told what to do, which knows of `directory` in sysfs, that of the device.
fn tracefs(system: &System, directory: &Path) -> Result<PathBuf, RecordError> {
    if !directory.join("enable").exists() {
        return Err(RecordError::NoTracer(directory.into()));
    }
    let places = ["sys/kernel/tracing", "sys/kernel/debug/tracing"].map(|at| system.path(at));
    for place in &places {
        match fs::metadata(place.join("current_tracer")) {
            Ok(_) => {
                let available = place.join("available_tracers");
                let tracers = settings::read(&available)?;
                let has_blk = tracers.split_whitespace().any(|tracer| tracer == "blk");
                return if has_blk {
                    Ok(place.clone())
                } else {
                    Err(RecordError::NoTracer(available))
                };
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(RecordError::system("use", place)(error)),
        }
    }
    let [place, _] = places;
    Err(RecordError::NoTracefs(place))
}

/// Keeps other recordings away until the file is closed.
fn lock(tracefs: &Path) -> Result<File, RecordError> {
    let path = tracefs.join("current_tracer");
    let file = File::open(&path).map_err(RecordError::system("open", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let who = format!("`fuser {}` tells who it is", path.display());
            Err(RecordError::in_use("another recording runs", who))
        }
        Err(TryLockError::Error(error)) => Err(RecordError::system("lock", &path)(error)),
    }
}

/// Fails where anybody else traces, whose trace would be lost and mixed up with this one.
fn check_unused(tracefs: &Path, directory: &Path) -> Result<(), RecordError> {
    let free = |value: &str, path: &Path| format!("`echo {value} > {}`", path.display());
    let path = tracefs.join("current_tracer");
    let tracer = settings::read(&path)?;
    if tracer != "nop" {
        let found = format!("its current tracer is `{tracer}`");
        return Err(RecordError::in_use(found, free("nop", &path)));
    }
    let path = tracefs.join("set_event");
    if let Some(event) = settings::read(&path)?.lines().next() {
        let found = format!("the event `{event}` is enabled");
        return Err(RecordError::in_use(found, free("", &path)));
    }
    let path = directory.join("enable");
    if settings::read(&path)? != "0" {
        return Err(RecordError::in_use("this device is traced already", free("0", &path)));
    }
    Ok(())
}

/// Makes the tracer give events as blktrace does, once devices are traced.
fn prepare(settings: &mut Settings, tracefs: &Path) -> Result<(), RecordError> {
    settings.set(&tracefs.join("tracing_on"), "1")?;
    // The usual clock is one for each processor, and latencies are between events of two.
    settings.set(&tracefs.join("trace_clock"), "mono")?;
    let path = tracefs.join("buffer_size_kb");
    // No number stands there where each processor has its own size: somebody thought about it.
    let size = settings::read(&path)?.parse::<u64>();
    if size.is_ok_and(|size| size < BUFFER.0 >> 10) {
        settings.set(&path, &(BUFFER.0 >> 10).to_string())?;
    }
    settings.set(&tracefs.join("options/context-info"), "0")?;
    settings.set(&tracefs.join("options/bin"), "1")?;
    let path = tracefs.join("options/blk_classic");
    if path.exists() {
        settings.set(&path, "0")?;
    }
    settings.set(&tracefs.join("current_tracer"), "blk")
}

/// How many events the kernel could not keep, on all processors.
fn lost(tracefs: &Path) -> u64 {
    let Ok(processors) = fs::read_dir(tracefs.join("per_cpu")) else { return 0 };
    let stats = processors.flatten().map(|processor| processor.path().join("stats"));
    let of = |stats: String| -> u64 {
        let lines = stats.lines().filter_map(|line| line.split_once(": "));
        let lost = ["overrun", "commit overrun", "dropped events"];
        let lost = lines.filter(|(name, _)| lost.contains(name));
        lost.filter_map(|(_, count)| count.trim().parse::<u64>().ok()).sum()
    };
    stats.filter_map(|path| fs::read_to_string(path).ok()).map(of).sum()
}

/// Nanoseconds on a clock of the kernel.
fn now(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let (seconds, nanos) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec));
    seconds.unwrap_or_default() * 1_000_000_000 + nanos.unwrap_or_default()
}
