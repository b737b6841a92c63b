//! `flashscope watch`: reads the health of drives at intervals and publishes it.

mod args;
mod files;
mod history;
mod metrics;
mod sources;

use std::collections::BTreeMap;

use anyhow::anyhow;
use flashscope_document::watch::{
    WATCH_VERSION, WatchHeader, WatchReading, WatchReport, WatchSource, WatchedDrive,
};
use flashscope_measure::{seconds_of, timestamp};
use flashscope_result::Error;
use flashscope_result::watch::WatchFolder;

pub use args::{PORT, PrintedFile, WatchArgs};
pub use files::printed;
use history::History;
pub use metrics::{CONTENT_TYPE, text as metrics};
use sources::Source;
pub use sources::{AttachedDrives, SourceReading};

use crate::build::tool;
use crate::{Failure, usage};

/// The message for a watch without drives.
pub const NO_DRIVE: &str = "there is no drive to watch: this machine has no NVMe drive, and no drive is attached; \
     `flashscope attach sim:demo` attaches a simulated one";

/// The time for which a drive stays in the report after it is detached, in seconds.
const FORGET_AFTER_S: u64 = 3600;

/// A function that stores a reading durably.
type Keeper = Box<dyn FnMut(&WatchReading) -> Result<(), Error>>;

/// A watch over drives.
pub struct Watch {
    sources: Vec<Source>,
    attached: AttachedDrives,
    /// Stores readings in the folder; `None` without a folder.
    keeper: Option<Keeper>,
    /// True if every reading is stored.
    keeps_all: bool,
    /// The readings of each drive by its identity, of this watch and of the folder.
    histories: BTreeMap<String, History>,
    /// The drives of the last round.
    drives: Vec<RoundDrive>,
    failures: WatchFailures,
}

/// A drive of a round of readings.
struct RoundDrive {
    drive: WatchedDrive,
    /// The reason why the drive could not be read; `None` if the reading succeeded.
    error: Option<String>,
    /// The time at which the watch noticed that the drive was detached, in seconds since 1970.
    ended_s: Option<u64>,
}

/// The failures of the last round that are not failures of single drives. The watch continues, and
/// tries again at the next reading.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WatchFailures {
    /// The reason why readings could not be stored in the folder.
    pub folder: Option<String>,
    /// The reason why attached drives could not be listed.
    pub attached: Option<String>,
}

/// The state of a watch after a round of readings.
#[derive(Debug, Clone)]
pub struct WatchState {
    /// The drives with their last readings.
    pub report: WatchReport,
    /// True if the watch stores its readings in a folder.
    pub has_folder: bool,
    /// The failures of the round.
    pub failures: WatchFailures,
}

impl Watch {
    /// Opens the folder and finds the drives. Reads none of them.
    ///
    /// # Errors
    /// If a drive does not exist or is not supported, or the folder cannot be opened.
    pub fn start(args: &WatchArgs, attached: AttachedDrives) -> Result<Watch, Failure> {
        let sources = Source::named(&args.devices)?;
        let mut histories: BTreeMap<String, History> = BTreeMap::new();
        let mut restore = |reading: WatchReading| {
            histories.entry(reading.drive.id().to_owned()).or_default().restore(reading);
        };
        let header =
            WatchHeader { schema_version: WATCH_VERSION, tool: tool(), began: timestamp() };
        let open = |path| WatchFolder::open(path, &header, &mut restore).map_err(not_opened);
        let folder = args.output.folder.as_deref().map(open).transpose()?;
        let keeper = folder.map(|mut folder| -> Keeper {
            Box::new(move |reading: &WatchReading| folder.keep(reading))
        });
        Ok(Watch { keeper, keeps_all: args.once, histories, ..Watch::new(sources, attached) })
    }

    /// Creates a watch without earlier readings and without a folder.
    fn new(sources: Vec<Source>, attached: AttachedDrives) -> Watch {
        Watch {
            sources,
            attached,
            keeper: None,
            keeps_all: false,
            histories: BTreeMap::new(),
            drives: Vec::new(),
            failures: WatchFailures::default(),
        }
    }

    /// Reads all drives. [`Watch::state`] returns the failures.
    pub fn read(&mut self) {
        self.read_at(seconds_of(&timestamp()).unwrap_or(0));
    }

    /// Reads all drives, at a time in seconds since 1970.
    fn read_at(&mut self, now_s: u64) {
        let before = std::mem::take(&mut self.drives);
        self.failures = WatchFailures::default();
        let mut sources = std::mem::take(&mut self.sources);
        for source in &mut sources {
            match source.read(&self.attached) {
                Ok(readings) => readings.into_iter().for_each(|reading| self.add(reading)),
                Err(error) => self.failures.attached = Some(format!("{error:#}")),
            }
        }
        self.sources = sources;
        self.add_ended(before, now_s);
    }

    /// Adds a drive to the round, with its reading.
    fn add(&mut self, reading: SourceReading) {
        let SourceReading { drive, at, health } = reading;
        // A drive that the user named twice appears once.
        if self.is_read(&drive) {
            return;
        }
        let error = match health {
            Err(error) => Some(format!("{error:#}")),
            Ok((health, latency_monitor)) => {
                let (at, drive) = (at.unwrap_or_else(timestamp), drive.clone());
                self.add_reading(WatchReading { at, drive, health, latency_monitor });
                None
            }
        };
        self.drives.push(RoundDrive { drive, error, ended_s: None });
    }

    fn is_read(&self, drive: &WatchedDrive) -> bool {
        self.drives.iter().any(|known| known.drive.id() == drive.id())
    }

    fn add_reading(&mut self, reading: WatchReading) {
        let history = self.histories.entry(reading.drive.id().to_owned()).or_default();
        if !history.has(&reading) {
            let kept = history.add(reading, self.keeps_all, &mut keep(&mut self.keeper));
            if let Err(error) = kept {
                self.failures.folder = Some(format!("{:#}", anyhow::Error::from(error)));
            }
        }
    }

    /// Adds the attached drives of the previous round, `before`, that this round did not read.
    /// Forgets each drive an hour after it is detached.
    fn add_ended(&mut self, before: Vec<RoundDrive>, now_s: u64) {
        for RoundDrive { drive, mut ended_s, .. } in before {
            if drive.source != WatchSource::Attached || self.is_read(&drive) {
                continue;
            }
            let mut error = self.failures.attached.clone();
            if error.is_none() {
                let ended_s = *ended_s.get_or_insert(now_s);
                if now_s.saturating_sub(ended_s) >= FORGET_AFTER_S {
                    self.forget(&drive);
                    continue;
                }
                error = Some("it is no longer attached".into());
            }
            self.drives.push(RoundDrive { drive, error, ended_s });
        }
    }

    /// Stores the last reading of a drive, and drops its readings.
    fn forget(&mut self, drive: &WatchedDrive) {
        let Some(mut history) = self.histories.remove(drive.id()) else { return };
        if let Err(error) = history.keep_latest(&mut keep(&mut self.keeper)) {
            self.failures.folder = Some(format!("{:#}", anyhow::Error::from(error)));
            // `finish` tries again.
            self.histories.insert(drive.id().to_owned(), history);
        }
    }

    /// Stores the last reading of each drive.
    ///
    /// # Errors
    /// If a reading cannot be stored.
    pub fn finish(&mut self) -> Result<(), Failure> {
        for history in self.histories.values_mut() {
            history.keep_latest(&mut keep(&mut self.keeper))?;
        }
        Ok(())
    }

    /// Returns the state after the last round.
    pub fn state(&self) -> WatchState {
        let (report, failures) = (self.report(), self.failures.clone());
        WatchState { report, has_folder: self.keeper.is_some(), failures }
    }

    /// Returns the drives with their last readings.
    fn report(&self) -> WatchReport {
        let watch = |RoundDrive { drive, error, .. }: &RoundDrive| {
            let none = History::default();
            self.histories.get(drive.id()).unwrap_or(&none).watch(drive, error.as_ref())
        };
        let drives = self.drives.iter().map(watch).collect();
        WatchReport { schema_version: WATCH_VERSION, tool: tool(), at: timestamp(), drives }
    }
}

impl WatchFailures {
    /// Returns the failures, each with the part of the watch that failed.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let parts = [("storing readings", &self.folder), ("attached drives", &self.attached)];
        parts.into_iter().filter_map(|(part, failure)| Some((part, failure.as_deref()?)))
    }
}

/// Checks that a round read drives, and that nothing failed.
///
/// # Errors
/// If there is no drive, a drive could not be read, or a reading could not be stored.
pub fn outcome(state: &WatchState) -> Result<(), Failure> {
    if let Some((part, failure)) = state.failures.named().next() {
        return Err(Failure::from(anyhow!("{part}: {failure}")));
    }
    if state.report.drives.is_empty() {
        return Err(usage(anyhow!("{NO_DRIVE}")));
    }
    match state.report.drives.iter().find_map(|drive| drive.error.as_ref()) {
        Some(error) => Err(Failure::from(anyhow!("{error}"))),
        None => Ok(()),
    }
}

/// Returns a function that stores a reading if there is a folder.
fn keep(keeper: &mut Option<Keeper>) -> impl FnMut(&WatchReading) -> Result<(), Error> {
    |reading| keeper.as_mut().map_or(Ok(()), |keep| keep(reading))
}

/// Converts an error in opening the folder. An error that a wrong path may cause is a usage error.
fn not_opened(error: Error) -> Failure {
    match error {
        Error::NoWatch(_) | Error::Busy(_) | Error::Version { .. } | Error::NoFile(_) => {
            usage(error)
        }
        other => Failure::from(other),
    }
}

#[cfg(test)]
mod tests;
