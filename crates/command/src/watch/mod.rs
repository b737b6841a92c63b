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
use flashscope_measure::timestamp;
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

/// A watch over drives.
pub struct Watch {
    sources: Vec<Source>,
    attached: AttachedDrives,
    folder: Option<WatchFolder>,
    /// True if each reading is kept.
    keeps_all: bool,
    /// The readings of each drive by its identity, of this watch and of the folder.
    histories: BTreeMap<String, History>,
    /// The drives of the last round, with the reasons of failures.
    drives: Vec<(WatchedDrive, Option<String>)>,
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
        let keeps_all = args.once;
        Ok(Watch { sources, attached, folder, keeps_all, histories, drives: Vec::new() })
    }

    /// Reads all drives. A drive that cannot be read is part of the report, with the reason.
    ///
    /// # Errors
    /// If the readings cannot be kept, or attached drives cannot be listed.
    pub fn read(&mut self) -> Result<(), Failure> {
        let before = std::mem::take(&mut self.drives);
        for source in &mut self.sources {
            for SourceReading { drive, at, health } in source.read(&self.attached)? {
                // A drive that is named twice is one drive.
                if self.drives.iter().any(|(known, _)| known.id() == drive.id()) {
                    continue;
                }
                let error = match health {
                    Err(error) => Some(format!("{error:#}")),
                    Ok((health, latency_monitor)) => {
                        let history = self.histories.entry(drive.id().to_owned()).or_default();
                        let (at, drive) = (at.unwrap_or_else(timestamp), drive.clone());
                        let reading = WatchReading { at, drive, health, latency_monitor };
                        if !history.has(&reading) {
                            history.add(reading, self.keeps_all, &mut keep(&mut self.folder))?;
                        }
                        None
                    }
                };
                self.drives.push((drive, error));
            }
        }
        let is_gone = |drive: &WatchedDrive| {
            drive.source == WatchSource::Attached
                && self.drives.iter().all(|(known, _)| known.id() != drive.id())
        };
        let gone: Vec<_> = before.into_iter().filter(|(drive, _)| is_gone(drive)).collect();
        let no_longer = |(drive, _)| (drive, Some("it is no longer attached".to_owned()));
        self.drives.extend(gone.into_iter().map(no_longer));
        Ok(())
    }

    /// Keeps the last readings.
    ///
    /// # Errors
    /// If they cannot be kept.
    pub fn finish(&mut self) -> Result<(), Failure> {
        for history in self.histories.values_mut() {
            history.keep_latest(&mut keep(&mut self.folder))?;
        }
        Ok(())
    }

    /// Returns the drives with their last readings.
    pub fn report(&self) -> WatchReport {
        let watch = |(drive, error): &(WatchedDrive, Option<String>)| {
            let none = History::default();
            self.histories.get(drive.id()).unwrap_or(&none).watch(drive, error.as_ref())
        };
        let drives = self.drives.iter().map(watch).collect();
        WatchReport { schema_version: WATCH_VERSION, tool: tool(), at: timestamp(), drives }
    }
}

/// Checks that a report has drives and that all were read.
///
/// # Errors
/// If there is no drive, or one could not be read.
pub fn outcome(report: &WatchReport) -> Result<(), Failure> {
    if report.drives.is_empty() {
        return Err(usage(anyhow!(
            "there is no drive to watch: this machine shows no NVMe drive, and no drive is attached; \
             `flashscope attach sim:demo` attaches a simulated one"
        )));
    }
    match report.drives.iter().find_map(|drive| drive.error.as_ref()) {
        Some(error) => Err(Failure::from(anyhow!("{error}"))),
        None => Ok(()),
    }
}

/// Returns a function that keeps a reading in the folder, if there is one.
fn keep(folder: &mut Option<WatchFolder>) -> impl FnMut(&WatchReading) -> Result<(), Error> {
    |reading| folder.as_mut().map_or(Ok(()), |folder| folder.keep(reading))
}

/// Converts an error in opening the folder. Most often the path is wrong.
fn not_opened(error: Error) -> Failure {
    match error {
        Error::NoWatch(_) | Error::Busy(_) | Error::Version { .. } | Error::NoFile(_) => {
            usage(error)
        }
        other => Failure::from(other),
    }
}
