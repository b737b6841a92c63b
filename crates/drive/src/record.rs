//! Recording the IOs of a drive with the kernel's block tracer.
//!
//! The tracer `blk` of tracefs produces the events of blktrace, in one stream for all
//! processors. It does not need debugfs, which the program `blktrace` requires and hardened kernels
//! lock. There is one such tracer for the whole system: [`Recording::start`] fails if anything else
//! is being traced. All changed settings are restored at the end of a recording, after an error,
//! and when it is dropped.
//!
//! Source: Linux, Documentation/trace/ftrace.rst and kernel/trace/blktrace.c.

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

/// The minimum size of the kernel's buffer for each processor.
const BUFFER: Bytes = Bytes(8 << 20);

/// The number of bytes to read from the kernel at a time.
const CHUNK: usize = 1 << 16;

/// The time to wait if the kernel has no events: long enough to cost little CPU time, and too short
/// for the kernel's buffer to fill up.
const WAIT: Duration = Duration::from_millis(5);

/// The kinds of events to record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The events of requests: issue, completion and requeue; for a device without its own queue,
    /// queueing and completion.
    Requests,
    /// All events.
    Everything,
}

/// The kernel's events of one drive, in the format of blktrace, as a stream to read to its end.
///
/// The first event contains the time of day, as with the program `blktrace`, which makes absolute
/// times available. For a partition, the addresses are still those of its drive.
pub struct Recording {
    device: PathBuf,
    pipe: Option<File>,
    tracefs: PathBuf,
    settings: Settings,
    /// A lock held during the recording, which excludes other recordings.
    _lock: File,
    events: Events,
    /// Complete events to return to the reader.
    ready: Vec<u8>,
    /// The number of bytes of `ready` that were already returned.
    given: usize,
    watch: Box<dyn FnMut(&Report) -> bool + Send>,
    until: Option<(Clock, Nanos)>,
    /// True after tracing has stopped; the events recorded so far can still be read.
    stopping: bool,
    /// True if the device has its own queue: requests are then counted when issued. Without a
    /// queue, requests are counted when queued.
    has_queue: bool,
    report: Arc<Report>,
}

/// The state of a recording.
#[derive(Debug, Default)]
pub struct Report {
    requests: AtomicU64,
    bytes: AtomicU64,
    lost: AtomicU64,
    not_restored: Mutex<Vec<String>>,
}

impl Report {
    /// Returns the number of requests recorded so far.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes in these requests.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.bytes.load(Ordering::Relaxed))
    }

    /// Returns the number of events that the kernel lost; known at the end of the recording.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Returns the settings that could not be restored, each with the command to restore it.
    pub fn not_restored(&self) -> Vec<String> {
        self.not_restored.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Recording {
    /// Starts to record the block device at `device`, a drive or a partition, for `duration` or
    /// until `watch` returns true. While the recording is being read, it calls `watch` every few
    /// milliseconds.
    ///
    /// # Errors
    /// The reason why tracing is not possible, or the other user of the tracer. All settings are
    /// then unchanged.
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
        // From here on, the buffer is empty and nobody can change the tracer, as long as the pipe
        // is open.
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
            // The mask disappears when tracing of the device ends, and needs no restoring.
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
    /// Returns the state, for observers that do not read the recording.
    pub fn report(&self) -> Arc<Report> {
        self.report.clone()
    }

    /// Stops tracing if the duration is over or `watch` returns true. Events in the kernel's buffer
    /// can still be read.
    fn stop_if_due(&mut self) {
        let over = |(clock, until): &(Clock, Nanos)| clock.now() >= *until;
        let due = (self.watch)(&self.report) || self.until.as_ref().is_some_and(over);
        if self.stopping || !due {
            return;
        }
        self.stopping = true;
        // Restores only the last setting, which enables tracing of the device.
        let failed = self.settings.restore(self.settings.len() - 1);
        self.note_not_restored(failed);
    }

    /// Restores all settings. The kernel discards events that were not read.
    fn finish(&mut self) {
        if self.pipe.is_none() {
            return;
        }
        self.report.lost.store(lost(&self.tracefs), Ordering::Relaxed);
        // The tracer cannot be changed while the pipe is open.
        self.pipe = None;
        let failed = self.settings.restore(0);
        self.note_not_restored(failed);
    }

    fn note_not_restored(&self, failed: Vec<String>) {
        let mut all = self.report.not_restored.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(failed);
    }

    /// Reads from the kernel until events arrive or the recording ends.
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

    /// Waits for events, or ends the recording after tracing has stopped.
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

/// Returns the number of the block device at a path.
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

/// Returns true if the file at `path`, which may not exist yet, lies on the drive of the block
/// device at `device`, as far as the kernel shows.
pub fn is_on_device(path: &Path, device: &Path) -> bool {
    let system = System::default();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let below = fs::metadata(folder.unwrap_or(Path::new("."))).ok();
    let below = below.and_then(|folder| system.whole_disk(DeviceNumber::new(folder.dev())));
    let drive = device_number(device).ok().and_then(|number| system.whole_disk(number));
    below.is_some() && below == drive
}

/// Returns the tracefs folder of the tracer. `directory` is the device's trace folder in sysfs.
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

/// Locks the tracer against other recordings until the returned file is closed.
fn lock(tracefs: &Path) -> Result<File, RecordError> {
    let path = tracefs.join("current_tracer");
    let file = File::open(&path).map_err(RecordError::system("open", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let who = format!("`fuser {}` shows the process", path.display());
            Err(RecordError::in_use("another recording runs", who))
        }
        Err(TryLockError::Error(error)) => Err(RecordError::system("lock", &path)(error)),
    }
}

/// Checks that nobody else is tracing. A recording would discard the earlier events of another
/// trace, and mix the later events with its own.
fn check_unused(tracefs: &Path, directory: &Path) -> Result<(), RecordError> {
    let free = |value: &str, path: &Path| format!("`echo {value} > {}`", path.display());
    let path = tracefs.join("current_tracer");
    let tracer = settings::read(&path)?;
    if tracer != "nop" {
        let user = format!("its current tracer is `{tracer}`");
        return Err(RecordError::in_use(user, free("nop", &path)));
    }
    let path = tracefs.join("set_event");
    if let Some(event) = settings::read(&path)?.lines().next() {
        let user = format!("the event `{event}` is enabled");
        return Err(RecordError::in_use(user, free("", &path)));
    }
    let path = directory.join("enable");
    if settings::read(&path)? != "0" {
        return Err(RecordError::in_use("this device is already being traced", free("0", &path)));
    }
    Ok(())
}

/// Configures the tracer to produce the events of blktrace for traced devices.
fn prepare(settings: &mut Settings, tracefs: &Path) -> Result<(), RecordError> {
    settings.set(&tracefs.join("tracing_on"), "1")?;
    // The default clock differs between processors, and an IO may begin on one processor and end on
    // another.
    settings.set(&tracefs.join("trace_clock"), "mono")?;
    let path = tracefs.join("buffer_size_kb");
    // If the sizes differ between processors, the file contains no number. Someone then set the
    // sizes on purpose, and they stay unchanged.
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

/// Returns the number of events that the kernel lost, on all processors.
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

/// Returns the time on a clock of the kernel in nanoseconds.
fn now(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let (seconds, nanos) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec));
    seconds.unwrap_or_default() * 1_000_000_000 + nanos.unwrap_or_default()
}
