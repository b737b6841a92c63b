//! Erasing a whole NVMe drive by a command of its own.
//!
//! A drive is first asked whether the command would erase what was confirmed to be erased, and nothing
//! else; it is sent on the descriptor that the guards agreed to.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use flashscope_block::{Erase, EraseError, Erasure};

use crate::guard::{Identity, System};
use crate::identify::{ControllerPage, NamespacePage, SanitizeSupport, namespaces};
use crate::nvme::namespace::{NotWhole, directory};
use crate::nvme::{Admin, Controller, Failed, Layout, Structure};
use crate::target::Target;

/// How often a drive that sanitizes itself is asked how far it is.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Log identifier of Sanitize Status.
const SANITIZE_STATUS: u8 = 0x81;

/// Of how much Sanitize Progress (SPROG) is a part.
const PROGRESS_WHOLE: u64 = 1 << 16;

/// What is in the way of erasing a drive, or went wrong.
#[derive(Debug, thiserror::Error)]
enum Obstacle {
    #[error("it is a file, and only NVMe drives have such a command: choose another --state")]
    File,
    #[error("it is no NVMe drive, and only those have such a command: choose another --state")]
    NotNvme,
    #[error(
        "it is a partition of `{0}`, which is erased as a whole: name that, or choose another --state"
    )]
    Partition(String),
    #[error("it is open for reading alone")]
    ReadOnly,
    #[error("the drive has no Format NVM command: choose another --state")]
    NoFormat,
    #[error("the drive cannot sanitize itself{}: choose another --state", but_for(*.0))]
    NoBlockErase(SanitizeSupport),
    #[error(
        "that erases every namespace of the drive, and there {}: choose another --state, or delete \
         what may go (`nvme delete-ns`)",
        others(*.0)
    )]
    OtherNamespaces(usize),
    #[error(
        "that erases every namespace of the drive, and which those are that hang on its other \
         controllers, it does not tell: choose another --state"
    )]
    OtherControllers,
    #[error(
        "a sanitize is under way already: wait until it is done (`nvme sanitize-log` tells how far \
         it is)"
    )]
    UnderWay,
    #[error("the drive says that the sanitize failed: it takes nothing but another one now")]
    SanitizeFailed,
    #[error("the sanitize status of the drive is {0}, which is none that it may have here")]
    SanitizeStatus(u16),
    #[error("the drive came out with another format or size than it had, check it (`nvme id-ns`)")]
    Changed,
    #[error("cannot {action}: {source}")]
    System { action: &'static str, source: io::Error },
    #[error("the drive refused to {action}: it answered with the NVMe status {status:#x}")]
    Refused { action: &'static str, status: u32 },
}

fn others(count: usize) -> String {
    match count {
        1 => "is another one".into(),
        count => format!("are {count} others"),
    }
}

/// How a drive that cannot sanitize itself by block erase can. Data that are there and cannot be read
/// any more, or that were overwritten, are not a fresh drive.
fn but_for(support: SanitizeSupport) -> &'static str {
    match (support.crypto_erase, support.overwrite) {
        (false, false) => "",
        (true, false) => " by block erase, only by new keys",
        (false, true) => " by block erase, only by overwriting",
        (true, true) => " by block erase, only by new keys or overwriting",
    }
}

/// A drive that can be erased.
struct Eraser<C> {
    drive: C,
    plan: Plan,
    subject: Subject,
    poll_interval: Duration,
}

/// What is to be erased, and how, for messages.
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

/// What is sent.
#[derive(Debug, PartialEq, Eq)]
enum Plan {
    Format(Namespace),
    Sanitize,
}

/// A namespace, as it is to be again afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Namespace {
    number: u32,
    layout: Layout,
    /// Namespace Size (NSZE) in blocks.
    blocks: u64,
}

/// Asks whether `target` can be erased.
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

/// Whether what was opened is the whole namespace of an NVMe drive.
fn whole_drive(system: &System, identity: Identity) -> Result<(), Obstacle> {
    let action = "find it in sysfs";
    directory(system, identity).map(drop).map_err(|not_whole| match not_whole {
        NotWhole::File => Obstacle::File,
        NotWhole::NotNvme => Obstacle::NotNvme,
        NotWhole::Partition(whole) => Obstacle::Partition(whole),
        NotWhole::System(source) => Obstacle::System { action, source },
    })
}

/// Asks a drive what it can and what it holds, and finds out what is to be sent.
fn plan(drive: &impl Controller, erasure: Erasure) -> Result<Plan, Obstacle> {
    let action = "ask for the number of the namespace";
    let number = drive.namespace().map_err(|source| Obstacle::System { action, source })?;
    let controller = ControllerPage::of(drive).map_err(failed(SAY))?;
    match erasure {
        Erasure::Format => {
            let format = controller.format().ok_or(Obstacle::NoFormat)?;
            // Either the format or the erase that comes with it.
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
                SanitizeStatus::UnderWay(_) => Err(Obstacle::UnderWay),
                _ => Ok(Plan::Sanitize),
            }
        }
    }
}

/// Whether the drive has no other namespace than this one.
fn check_alone(
    drive: &impl Controller,
    controller: &ControllerPage,
    number: u32,
) -> Result<(), Obstacle> {
    // Who manages namespaces knows of those that are attached to none or to other controllers.
    let list = if controller.manages_namespaces() {
        Structure::AllocatedNamespaces
    } else if controller.shares() {
        return Err(Obstacle::OtherControllers);
    } else {
        Structure::ActiveNamespaces
    };
    let all = namespaces(drive, list).map_err(failed(SAY))?;
    match all.into_iter().filter(|id| *id != number).count() {
        0 => Ok(()),
        count => Err(Obstacle::OtherNamespaces(count)),
    }
}

fn namespace(drive: &impl Controller, number: u32) -> Result<Namespace, Obstacle> {
    let page = NamespacePage::of(drive, number).map_err(failed(SAY))?;
    Ok(Namespace { number, layout: page.layout(), blocks: page.blocks() })
}

/// What a drive does when it answers to Identify.
const SAY: &str = "say what it is";

/// For `map_err`: the drive was to do `action`.
fn failed(action: &'static str) -> impl FnOnce(Failed) -> Obstacle {
    move |failed| match failed {
        Failed::System(source) => Obstacle::System { action, source },
        Failed::Status(status) => Obstacle::Refused { action, status },
    }
}

/// The state of the most recent sanitize.
#[derive(Debug, PartialEq, Eq)]
enum SanitizeStatus {
    /// So much of [`PROGRESS_WHOLE`] is done.
    UnderWay(u64),
    Succeeded,
    Failed,
    Other(u16),
}

fn sanitize_status(drive: &impl Controller) -> Result<SanitizeStatus, Obstacle> {
    let mut page = [0; 512];
    let command = Admin::GetLogPage { log: SANITIZE_STATUS };
    drive.send(command, &mut page).map_err(failed("say how far its sanitize is"))?;
    let [progress, status] = [[page[0], page[1]], [page[2], page[3]]].map(u16::from_le_bytes);
    Ok(match status & 7 {
        2 => SanitizeStatus::UnderWay(progress.into()),
        // Deallocated as was asked for, or although it was not.
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
        tell: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Obstacle> {
        self.drive.send(Admin::SanitizeBlockErase, &mut []).map_err(failed("sanitize itself"))?;
        loop {
            match sanitize_status(&self.drive)? {
                SanitizeStatus::UnderWay(done) => {
                    if tell(done, PROGRESS_WHOLE).is_break() {
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
        tell: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, EraseError> {
        let erased = match self.plan {
            _ if !self.subject.writable => Err(Obstacle::ReadOnly),
            Plan::Format(namespace) => self.format(namespace).map(ControlFlow::Continue),
            Plan::Sanitize => self.sanitize(tell),
        };
        erased.map_err(|obstacle| self.subject.not_erased(&obstacle))
    }
}

#[cfg(test)]
mod tests;
