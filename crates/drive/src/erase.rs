//! Erasing a whole NVMe drive with a Format or Sanitize command.
//!
//! Before sending the command, this module checks that it would erase exactly what the user
//! confirmed, and nothing else. It uses the descriptor that the guards approved.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use flashscope_block::{Erase, EraseError, Erasure};

use crate::guard::{Identity, System};
use crate::identify::{ControllerPage, NamespacePage, SanitizeSupport, namespaces};
use crate::nvme::namespace::{NotWhole, directory};
use crate::nvme::{Admin, CommandError, Controller, Layout, Structure};
use crate::target::Target;

/// The interval between two queries of a sanitize operation's progress.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Log identifier of Sanitize Status.
const SANITIZE_STATUS: u8 = 0x81;

/// The value of Sanitize Progress (SPROG) that stands for completion.
const PROGRESS_WHOLE: u64 = 1 << 16;

/// The reason why a drive cannot be erased, or was not erased.
#[derive(Debug, thiserror::Error)]
enum Obstacle {
    #[error("it is a file, and only NVMe drives have such a command: choose another --state")]
    File,
    #[error("it is not an NVMe drive, and only those have such a command: choose another --state")]
    NotNvme,
    #[error(
        "it is a partition of `{0}`, and the command erases the whole drive: name that drive, or \
             choose another --state"
    )]
    Partition(String),
    #[error("it is open for reading only")]
    ReadOnly,
    #[error("the drive has no Format NVM command: choose another --state")]
    NoFormat,
    #[error("the drive cannot sanitize itself{}: choose another --state", but_for(*.0))]
    NoBlockErase(SanitizeSupport),
    #[error(
        "the command erases every namespace of the drive, and there {}: choose another --state, or \
         delete the others (`nvme delete-ns`)",
        others(*.0)
    )]
    OtherNamespaces(usize),
    #[error(
        "the command erases every namespace of the drive, and the drive does not list those \
             attached to its other controllers: choose another --state"
    )]
    OtherControllers,
    #[error(
        "a sanitize operation is in progress: wait until it is done (`nvme sanitize-log` shows its \
             progress)"
    )]
    ProgramsInProgress,
    #[error(
        "the drive reports that the sanitize operation failed: it now accepts only another \
         sanitize command"
    )]
    SanitizeFailed,
    #[error("the sanitize status of the drive is {0}, which is invalid here")]
    SanitizeStatus(u16),
    #[error("the format changed the drive's block format or size: check it (`nvme id-ns`)")]
    Changed,
    #[error("cannot {action}: {source}")]
    System { action: &'static str, source: io::Error },
    #[error("the drive refused to {action}: it returned the NVMe status {status:#x}")]
    Refused { action: &'static str, status: u32 },
}

fn others(count: usize) -> String {
    match count {
        1 => "is another one".into(),
        count => format!("are {count} others"),
    }
}

/// Describes the sanitize methods of a drive that lacks block erase, for a message. These methods
/// do not restore the state of a new drive: after a crypto erase, the blocks still hold unreadable
/// data, and an overwrite fills the blocks with other data.
fn but_for(support: SanitizeSupport) -> &'static str {
    match (support.crypto_erase, support.overwrite) {
        (false, false) => "",
        (true, false) => " by block erase, only by crypto erase",
        (false, true) => " by block erase, only by overwrite",
        (true, true) => " by block erase, only by crypto erase or overwrite",
    }
}

/// A drive that can be erased, with the command to send.
struct Eraser<C> {
    drive: C,
    plan: Plan,
    subject: Subject,
    poll_interval: Duration,
}

/// The path and the command, for messages, and the permission to write.
struct Subject {
    path: PathBuf,
    erasure: Erasure,
    writable: bool,
}

impl Subject {
    fn not_erased(&self, obstacle: &Obstacle) -> EraseError {
        let verb = match self.erasure {
            Erasure::Format => "format",
            Erasure::Sanitize => "sanitize",
        };
        EraseError(format!("cannot {verb} `{}`: {obstacle}", self.path.display()))
    }
}

/// The command to send.
#[derive(Debug, PartialEq, Eq)]
enum Plan {
    Format(Namespace),
    Sanitize,
}

/// A namespace and the properties that a format must keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Namespace {
    number: u32,
    layout: Layout,
    /// Namespace Size (NSZE) in blocks.
    blocks: u64,
}

/// Returns a handle that erases `target`, or the reason why it cannot be erased.
pub(crate) fn eraser(
    target: &Target,
    erasure: Erasure,
    writable: bool,
) -> Result<Box<dyn Erase + '_>, EraseError> {
    let subject = Subject { path: target.path().into(), erasure, writable };
    let drive = whole_drive(&System::default(), target.identity());
    match drive.and_then(|()| plan(&target.file(), erasure)) {
        Ok(plan) => {
            let (drive, poll_interval): (&File, _) = (target.file(), POLL_INTERVAL);
            Ok(Box::new(Eraser { drive, plan, subject, poll_interval }))
        }
        Err(obstacle) => Err(subject.not_erased(&obstacle)),
    }
}

/// Checks that an open device is the whole namespace of an NVMe drive.
fn whole_drive(system: &System, identity: Identity) -> Result<(), Obstacle> {
    let action = "find it in sysfs";
    directory(system, identity).map(drop).map_err(|not_whole| match not_whole {
        NotWhole::File => Obstacle::File,
        NotWhole::NotNvme => Obstacle::NotNvme,
        NotWhole::Partition(whole) => Obstacle::Partition(whole),
        NotWhole::System(source) => Obstacle::System { action, source },
    })
}

/// Chooses the command from the drive's capabilities and namespaces.
fn plan(drive: &impl Controller, erasure: Erasure) -> Result<Plan, Obstacle> {
    let action = "read the namespace ID";
    let number = drive.namespace().map_err(|source| Obstacle::System { action, source })?;
    let controller = ControllerPage::of(drive).map_err(failed(IDENTIFY))?;
    match erasure {
        Erasure::Format => {
            let format = controller.format().ok_or(Obstacle::NoFormat)?;
            // The scope of the format and the scope of its erase are separate attributes.
            if format.formats_all_namespaces || format.erases_all_namespaces {
                check_alone(drive, &controller, number)?;
            }
            Ok(Plan::Format(namespace(drive, number)?))
        }
        Erasure::Sanitize => {
            let ways = controller.sanitize();
            if !ways.block_erase {
                return Err(Obstacle::NoBlockErase(ways));
            }
            check_alone(drive, &controller, number)?;
            match sanitize_status(drive)? {
                SanitizeStatus::InProgress(_) => Err(Obstacle::ProgramsInProgress),
                _ => Ok(Plan::Sanitize),
            }
        }
    }
}

/// Checks that the drive has no namespace other than `number`.
fn check_alone(
    drive: &impl Controller,
    controller: &ControllerPage,
    number: u32,
) -> Result<(), Obstacle> {
    // With namespace management, the drive also lists namespaces that are attached to other
    // controllers or to none.
    let list = if controller.manages_namespaces() {
        Structure::AllocatedNamespaces
    } else if controller.shares() {
        return Err(Obstacle::OtherControllers);
    } else {
        Structure::ActiveNamespaces
    };
    let all = namespaces(drive, list).map_err(failed(IDENTIFY))?;
    match all.into_iter().filter(|id| *id != number).count() {
        0 => Ok(()),
        count => Err(Obstacle::OtherNamespaces(count)),
    }
}

fn namespace(drive: &impl Controller, number: u32) -> Result<Namespace, Obstacle> {
    let page = NamespacePage::of(drive, number).map_err(failed(IDENTIFY))?;
    Ok(Namespace { number, layout: page.layout(), blocks: page.blocks() })
}

/// The action of an Identify command, for messages.
const IDENTIFY: &str = "identify itself";

/// Returns a function for `map_err` that adds the failed `action` to an error.
fn failed(action: &'static str) -> impl FnOnce(CommandError) -> Obstacle {
    move |error| match error {
        CommandError::System(source) => Obstacle::System { action, source },
        CommandError::Status(status) => Obstacle::Refused { action, status },
    }
}

/// The state of the latest sanitize operation.
#[derive(Debug, PartialEq, Eq)]
enum SanitizeStatus {
    /// In progress; holds the completed part of [`PROGRESS_WHOLE`].
    InProgress(u64),
    Succeeded,
    Failed,
    Other(u16),
}

fn sanitize_status(drive: &impl Controller) -> Result<SanitizeStatus, Obstacle> {
    let mut page = [0; 512];
    let command = Admin::GetLogPage { log: SANITIZE_STATUS };
    drive.send(command, &mut page).map_err(failed("report its sanitize progress"))?;
    let [progress, status] = [[page[0], page[1]], [page[2], page[3]]].map(u16::from_le_bytes);
    Ok(match status & 7 {
        2 => SanitizeStatus::InProgress(progress.into()),
        // Success, with or without deallocation of the blocks.
        1 | 4 => SanitizeStatus::Succeeded,
        3 => SanitizeStatus::Failed,
        other => SanitizeStatus::Other(other),
    })
}

impl<C: Controller> Eraser<C> {
    fn format(&self, before: Namespace) -> Result<(), Obstacle> {
        let Namespace { number, layout, .. } = before;
        let command = Admin::Format { namespace: number, layout };
        self.drive.send(command, &mut []).map_err(failed("format itself"))?;
        let after = namespace(&self.drive, number)?;
        if after == before { Ok(()) } else { Err(Obstacle::Changed) }
    }

    fn sanitize(
        &self,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Obstacle> {
        self.drive.send(Admin::SanitizeBlockErase, &mut []).map_err(failed("sanitize itself"))?;
        loop {
            match sanitize_status(&self.drive)? {
                SanitizeStatus::InProgress(done) => {
                    if progress(done, PROGRESS_WHOLE).is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                SanitizeStatus::Succeeded => return Ok(ControlFlow::Continue(())),
                SanitizeStatus::Failed => return Err(Obstacle::SanitizeFailed),
                SanitizeStatus::Other(status) => return Err(Obstacle::SanitizeStatus(status)),
            }
            std::thread::sleep(self.poll_interval);
        }
    }
}

impl<C: Controller> Erase for Eraser<C> {
    fn erase(
        &mut self,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, EraseError> {
        let erased = match self.plan {
            _ if !self.subject.writable => Err(Obstacle::ReadOnly),
            Plan::Format(namespace) => self.format(namespace).map(ControlFlow::Continue),
            Plan::Sanitize => self.sanitize(progress),
        };
        erased.map_err(|obstacle| self.subject.not_erased(&obstacle))
    }
}

#[cfg(test)]
mod tests;
