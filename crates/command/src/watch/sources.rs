//! The sources of health data: NVMe drives, files, and the drives that processes have attached.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::{Context, anyhow};
use flashscope_document::environment::{Health, LatencyMonitor};
use flashscope_document::watch::{WatchSource, WatchedDrive};
use flashscope_drive::guard::System;
use flashscope_drive::health::{self, HealthError, NvmeDrive};
use flashscope_measure::timestamp_of;

use crate::import::smart_log;
use crate::{Failure, usage};

/// The name that stands for all drives that `flashscope attach` serves.
const ATTACHED: &str = "attached";

/// The health of a drive, or the reason why it could not be read.
#[derive(Debug)]
pub struct SourceReading {
    /// The identity of the drive.
    pub drive: WatchedDrive,
    /// The time of the reading as RFC 3339 in UTC, if it is not the present.
    pub at: Option<String>,
    /// The health with the latency monitor.
    pub health: anyhow::Result<(Health, Option<LatencyMonitor>)>,
}

/// A function that reads the drives that processes of this user have attached.
pub type AttachedDrives = Box<dyn Fn() -> anyhow::Result<Vec<SourceReading>>>;

/// A source of health data.
pub(super) enum Source {
    Nvme(NvmeSource),
    File(PathBuf),
    Attached {
        /// True if the user named `attached`; false if it is part of the default.
        is_named: bool,
    },
}

/// An NVMe drive, with the optional log pages that it is known to have.
pub(super) struct NvmeSource {
    drive: NvmeDrive,
    extended: PageState,
    latency_monitor: PageState,
}

/// The availability of an optional log page of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum PageState {
    /// No query succeeded, and the drive has not stated that it lacks the page.
    #[default]
    Unknown,
    /// The drive has the page. A later failure does not change that.
    Present,
    /// The drive lacks the page. flashscope does not query it again, because the drive counts each
    /// such query as a rejected command.
    Absent,
}

impl PageState {
    /// Notes the result of a query.
    fn note(&mut self, is_present: bool, is_absent: bool) {
        *self = match (*self, is_present, is_absent) {
            (PageState::Present, ..) | (_, true, _) => PageState::Present,
            (_, _, true) => PageState::Absent,
            (state, ..) => state,
        };
    }
}

impl Source {
    /// Returns the sources that the user named, or all drives.
    ///
    /// # Errors
    /// If a named source does not exist, or is not supported.
    pub(super) fn named(names: &[String]) -> Result<Vec<Source>, Failure> {
        let system = System::default();
        if !names.is_empty() {
            return names.iter().map(|name| Source::of(&system, name)).collect();
        }
        let drives =
            health::drives(&system).context("cannot list drives: is /sys mounted here?")?;
        let nvme = drives.into_iter().map(Source::nvme);
        Ok(nvme.chain([Source::Attached { is_named: false }]).collect())
    }

    fn of(system: &System, name: &str) -> Result<Source, Failure> {
        if name == ATTACHED {
            return Ok(Source::Attached { is_named: true });
        }
        let path = Path::new(name);
        let metadata = fs::metadata(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => usage(anyhow!(
                "device `{name}` does not exist: `flashscope devices` lists the drives"
            )),
            _ => Failure::from(anyhow::Error::from(error).context(name.to_owned())),
        })?;
        if metadata.is_file() {
            return Ok(Source::File(path.into()));
        }
        health::drive(system, path).map(Source::nvme).map_err(usage)
    }

    fn nvme(drive: NvmeDrive) -> Source {
        Source::Nvme(NvmeSource::new(drive))
    }

    /// Reads the drives of this source.
    pub(super) fn read(&mut self, attached: &AttachedDrives) -> anyhow::Result<Vec<SourceReading>> {
        match self {
            Source::Nvme(source) => Ok(vec![source.read(&System::default())]),
            Source::File(path) => Ok(vec![of_file(path)]),
            Source::Attached { is_named } => {
                let mut drives = attached()?;
                // An attached real drive reports no health. Its device is watched instead.
                drives.retain(|drive| *is_named || drive.health.is_ok());
                Ok(drives)
            }
        }
    }
}

impl NvmeSource {
    fn new(drive: NvmeDrive) -> NvmeSource {
        let (extended, latency_monitor) = (PageState::default(), PageState::default());
        NvmeSource { drive, extended, latency_monitor }
    }

    fn read(&mut self, system: &System) -> SourceReading {
        let identified = self.identify(system);
        let NvmeDrive { path, model, serial } = self.drive.clone();
        let name = path.display().to_string();
        let drive = WatchedDrive { name, source: WatchSource::Nvme, model, serial };
        let health = identified.map_err(Into::into).and_then(|()| self.health(system, &path));
        SourceReading { drive, at: None, health }
    }

    /// Checks the serial number of the drive at the path. A different drive has its own history and
    /// its own log pages.
    fn identify(&mut self, system: &System) -> Result<(), HealthError> {
        let NvmeDrive { model, serial, .. } = health::drive(system, &self.drive.path)?;
        if serial.is_some() && serial != self.drive.serial {
            let path = self.drive.path.clone();
            *self = NvmeSource::new(NvmeDrive { path, model, serial });
        }
        Ok(())
    }

    fn health(
        &mut self,
        system: &System,
        path: &Path,
    ) -> anyhow::Result<(Health, Option<LatencyMonitor>)> {
        let (smart, extended, lacks_extended) = match self.extended {
            PageState::Absent => (health::read_smart_log(system, path)?, None, true),
            _ => {
                let pages = health::log_pages(system, path)?;
                (pages.smart, pages.extended, pages.lacks_extended)
            }
        };
        let health = Health::decode(&smart, extended.as_ref())
            .ok_or_else(|| anyhow!("`{}` reports no health: its page is empty", path.display()))?;
        // A page C0h of another format counts as absent.
        self.extended.note(health.ocp.is_some(), lacks_extended || extended.is_some());
        if self.extended == PageState::Present && health.ocp.is_none() {
            // A reading without these counters would change the base of the forecast.
            return Err(anyhow!("`{}` did not return its log page C0h", path.display()));
        }
        Ok((health, self.monitor(system, path)))
    }

    /// Reads the latency monitor. A failure does not affect the health.
    fn monitor(&mut self, system: &System, path: &Path) -> Option<LatencyMonitor> {
        // A drive without OCP's page C0h receives no query for OCP's latency monitor.
        if self.extended != PageState::Present || self.latency_monitor == PageState::Absent {
            return None;
        }
        let page = health::latency_monitor(system, path);
        let lacks = page.as_ref().map_or_else(HealthError::is_unsupported, |_| true);
        let monitor = page.ok().and_then(|page| LatencyMonitor::decode(&page));
        self.latency_monitor.note(monitor.is_some(), lacks);
        monitor
    }
}

fn of_file(path: &Path) -> SourceReading {
    let name = path.display().to_string();
    let drive = WatchedDrive { name, source: WatchSource::File, model: None, serial: None };
    // The time is read before the content: if the file changes in between, the next round reads it
    // again.
    let at = modified(path);
    SourceReading { drive, at, health: smart_log(path).map(|health| (health, None)) }
}

/// Returns the time of the last change of a file.
fn modified(path: &Path) -> Option<String> {
    let modified = fs::metadata(path).and_then(|file| file.modified()).ok()?;
    let since_1970 = modified.duration_since(UNIX_EPOCH).ok()?;
    Some(timestamp_of(i64::try_from(since_1970.as_secs()).ok()?))
}

#[cfg(test)]
mod tests;
