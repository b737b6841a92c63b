//! Observers, which report what happens inside a drive. A drive without observers, or with
//! observers that are switched off, spends one branch per command: see [`ObserverSwitch`].
//!
//! Each observer is one file and its line in the registry below. [`SimDevice::observe`] attaches an
//! observer and returns a handle to it; [`Watch`] attaches several by name. [`erases`] needs no
//! observer, because the flash counts the erases of its blocks.

mod activities;
mod amplification;
mod cleaning;
mod curve;
mod erases;
mod events;
mod free_blocks;
mod glances;
mod longest;
mod notice;
mod sums;
mod switch;
mod utilization;
mod wear_map;

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flashscope_block::{Completion, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SimDevice;
use crate::footprint::{Size, fixed};
use crate::nand::{self, BlockId, Cause, later};
use crate::sched::Class;
use crate::setup::Layout;

pub use activities::{Activities, ActivitiesReport, Activity, ActivityKind};
pub use amplification::{Amplification, AmplificationReport};
pub use cleaning::{Cleaning, CleaningReport, CleaningTime};
pub use curve::{Bucket, Curve};
pub use erases::{EraseReport, Histogram, LifetimeClasses, erases};
pub use events::{Events, Window};
pub use free_blocks::{FreeBlocks, FreeBlocksReport};
pub use glances::Glances;
pub use notice::{Notice, Relocation};
pub use switch::ObserverSwitch;
pub use utilization::{BusUse, ClassUse, CommandUse, UnitUse, Utilization, UtilizationReport};
pub use wear_map::{UnitWear, WearMap, WearMapReport};

/// A kind of flash command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CommandKind {
    /// Read: cells to register, register to controller.
    Read,
    /// Program: controller to register, register to cells.
    Program,
    /// Copy-back: cells to register to cells of the same plane.
    CopyBack,
    /// Erase of a block.
    Erase,
}

impl CommandKind {
    /// Every kind, in display order; `kind as usize` is its index.
    pub const ALL: [CommandKind; 4] =
        [CommandKind::Read, CommandKind::Program, CommandKind::CopyBack, CommandKind::Erase];

    /// Returns the name of this kind for output.
    pub const fn name(self) -> &'static str {
        match self {
            CommandKind::Read => "read",
            CommandKind::Program => "program",
            CommandKind::CopyBack => "copy-back",
            CommandKind::Erase => "erase",
        }
    }
}

/// A flash command as one package carried it out. A command for several packages of an element
/// appears once for each package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    /// The kind of command.
    pub kind: CommandKind,
    /// The cause of the command.
    pub cause: Cause,
    /// The unit that executes the command, counted over the drive: see [`crate::nand::Array`].
    pub unit: u32,
    /// The serial bus of that unit, counted over the drive.
    pub bus: u32,
    /// The block that the command works on; for a copy-back, the block that is programmed.
    pub block: BlockId,
    /// The page of the block; 0 for an erase.
    pub index: u32,
    /// For a copy-back, the block that is read.
    pub from: Option<BlockId>,
    /// The package of the element that executes the command, from 0.
    pub member: u32,
    /// The end of the range of packages of the element that execute the command: the last package
    /// plus 1.
    pub members: u32,
    /// The time at which the command entered the queue of its unit.
    pub at: Nanos,
    /// The start, when the unit was free, and also the bus if the command needs the bus first.
    pub start: Nanos,
    /// The end. The unit is busy from start to end, including waits for the bus.
    pub done: Nanos,
    /// The time on the bus: at the end of a read, at the start of a program.
    pub transfer: Nanos,
    /// The time between start and end for which the command was suspended.
    pub suspended: Nanos,
    /// The number of commands that its unit carried out together, this one included. 1 if commands
    /// do not wait in queues.
    pub together: u32,
}

/// Returns the class of a command of this kind and cause.
pub(crate) const fn class(kind: CommandKind, cause: Cause) -> Class {
    match (cause, kind) {
        (Cause::Host, CommandKind::Read) => Class::HostRead,
        (Cause::Host, _) => Class::HostWrite,
        (Cause::Mapping, CommandKind::Read | CommandKind::Program) => Class::Mapping,
        (Cause::Wear, CommandKind::Read | CommandKind::Program) => Class::Wear,
        (_, CommandKind::Erase) => Class::Erase,
        _ => Class::Cleaning,
    }
}

impl Command {
    /// Returns the class of the command, by which waits are counted.
    pub const fn class(&self) -> Class {
        class(self.kind, self.cause)
    }

    /// Returns the period on the bus; empty if the command needs no bus.
    pub fn on_bus(&self) -> Range<Nanos> {
        match self.kind {
            CommandKind::Read => Nanos(self.done.0.saturating_sub(self.transfer.0))..self.done,
            _ => self.start..later(self.start, self.transfer),
        }
    }
}

/// Returns the memory of all observers that produce a report, on a drive of this layout.
pub(crate) fn footprint(layout: &Layout) -> Size {
    let geometry = &layout.geometry;
    let blocks = u64::from(geometry.blocks());
    let units = nand::units(geometry, layout.wiring);
    let parts = [
        utilization::Utilization::footprint(units, geometry.packages),
        fixed::<[u32; 2]>(layout.lanes()) + Size(64 << 10),
        fixed::<u64>(geometry.pages_per_block) * 2,
        fixed::<[u32; 4]>(blocks),
        activities::Activities::footprint(layout.lanes()),
        Size(256 << 10),
    ];
    parts.into_iter().fold(Size(0), std::ops::Add::add)
}

/// Receives the events of a drive. Observers never change what a drive does.
///
/// An observer receives the events of commands that are issued after it is attached. It also
/// receives commands that a power cut undoes later.
///
/// Events arrive in order, but with a delay: at the latest at the end of a `submit` or `complete`,
/// or at the next `expect` after a `round_trip`: see [`flashscope_block::Device::expect`].
pub trait Observer: Send {
    /// Receives the events since the last call, in order.
    fn notices(&mut self, notices: &[Notice]) {
        notices.iter().for_each(|notice| self.notice(notice));
    }

    /// Passes an event to its method.
    #[inline]
    fn notice(&mut self, notice: &Notice) {
        match notice {
            Notice::Command(command) => self.command(command),
            Notice::Relocation(relocation) => self.relocation(relocation),
            Notice::Suspension(command, time) => self.suspension(command, time.clone()),
            Notice::Request(completion) => self.request(completion),
            Notice::Merge(log) => self.merge(*log),
            Notice::FreeBlocks { lane, free, at } => self.free_blocks(*lane, *free, *at),
        }
    }

    /// Returns true if the observer needs each command by itself, with its page. The drive then
    /// executes every command by itself, which takes several times as long. If no observer needs
    /// this, the drive may report relocations.
    fn needs_commands(&self) -> bool {
        true
    }

    /// Receives the commands of a relocation, if no observer of the drive needs each command by
    /// itself.
    fn relocation(&mut self, relocation: &Relocation) {
        relocation.commands().for_each(|command| self.command(&command));
    }

    /// Receives an issued flash command. Its times may lie in the future of the drive's clock. For
    /// background work that is computed late, they may lie in the past. Commands of one unit
    /// arrive in order of time, except that the two planes of a pair may work at once.
    fn command(&mut self, _command: &Command) {}

    /// Receives a suspension when the command resumes. The command itself follows when it is done,
    /// after the commands that its unit carried out in the meantime. Commands that were carried out
    /// together are reported one by one.
    fn suspension(&mut self, _command: &Command, _time: Range<Nanos>) {}

    /// Receives an answered request.
    fn request(&mut self, _completion: &Completion) {}

    /// Announces that the merge commands that follow concern this log block.
    fn merge(&mut self, _log: BlockId) {}

    /// Receives a change of the number of free blocks of a lane, as the FTL counts them. A block
    /// is in use once the first program on it is issued, and free once its erase is issued. `at` is
    /// the time at which the work that includes this change was issued. From call to call, it may
    /// decrease by up to the time of a read.
    fn free_blocks(&mut self, _lane: u32, _free: u32, _at: Nanos) {}

    /// Discards all counts. Later reports cover the time from `now`, which is the clock of the
    /// drive.
    fn restart(&mut self, _now: Nanos) {}

    /// Resumes after the observer was switched off and missed events. Later reports cover the time
    /// from now, as if the observer had just been attached.
    fn resume(&mut self, _drive: &SimDevice) {}
}

/// A handle to an observer that is attached to a drive.
pub struct ObserverHandle<O>(Arc<Mutex<O>>);

impl<O> ObserverHandle<O> {
    pub(crate) fn new(observer: O) -> Self {
        ObserverHandle(Arc::new(Mutex::new(observer)))
    }

    /// Locks the observer. The drive cannot be used while the lock is held.
    pub fn lock(&self) -> MutexGuard<'_, O> {
        // A panic in an observer loses at most some of its events.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<O> Clone for ObserverHandle<O> {
    fn clone(&self) -> Self {
        ObserverHandle(Arc::clone(&self.0))
    }
}

impl<O: Observer> Observer for ObserverHandle<O> {
    fn notices(&mut self, notices: &[Notice]) {
        self.lock().notices(notices);
    }

    fn needs_commands(&self) -> bool {
        self.lock().needs_commands()
    }

    fn restart(&mut self, now: Nanos) {
        self.lock().restart(now);
    }

    fn resume(&mut self, drive: &SimDevice) {
        self.lock().resume(drive);
    }
}

/// A registered observer.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The name.
    pub name: &'static str,
    /// The subject of the observer, in a sentence.
    pub summary: &'static str,
    /// The content of its report.
    pub yields: &'static str,
}

/// Makes [`Watch`], [`Observations`] and [`KINDS`] from one list: first the observers that produce
/// a report, then the others.
macro_rules! registry {
    ($($module:ident :: $observer:ident => $report:ident),+ ; $($other:ident),+ $(,)?) => {
        /// Observers of one drive, chosen by name.
        #[derive(Default)]
        pub struct Watch {
            $($module: Option<ObserverHandle<$observer>>,)+
        }

        impl Watch {
            /// Attaches the observer of this name, if it is not attached yet. Returns false if no
            /// observer of this name produces a report.
            pub fn add(&mut self, name: &str, drive: &mut SimDevice) -> bool {
                $(if name == $module::KIND.name {
                    if self.$module.is_none() {
                        let observer = $observer::new(drive);
                        self.$module = Some(drive.observe(observer));
                    }
                    return true;
                })+
                false
            }

            /// Attaches every observer that produces a report.
            pub fn add_all(&mut self, drive: &mut SimDevice) {
                $(self.add($module::KIND.name, drive);)+
            }

            /// Returns the reports up to `until`, which must not be before the last answer.
            pub fn report(&self, until: Nanos) -> Observations {
                Observations {
                    $($module: self.$module.as_ref().map(|observed| observed.lock().report(until)),)+
                }
            }
        }

        /// The reports of the observers of a [`Watch`].
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
        pub struct Observations {
            $(#[doc = concat!("The report of the observer `", stringify!($module), "`; left out if it was not attached.")]
            #[serde(skip_serializing_if = "Option::is_none")]
            pub $module: Option<$report>,)+
        }

        /// Every observer, in display order.
        pub const KINDS: &[Kind] = &[$($module::KIND,)+ $($other::KIND),+];
    };
}

registry![
    utilization::Utilization => UtilizationReport,
    free_blocks::FreeBlocks => FreeBlocksReport,
    cleaning::Cleaning => CleaningReport,
    amplification::Amplification => AmplificationReport,
    wear_map::WearMap => WearMapReport,
    activities::Activities => ActivitiesReport;
    events,
];

/// Observations of a drive beyond its counters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Findings {
    /// Statistics of the erases of the drive's blocks since the drive was new. Null if the drive
    /// has no good block.
    pub erases: Option<EraseReport>,
    /// The reports of its observers, if any.
    #[serde(flatten)]
    pub observed: Observations,
}

/// Returns `part` divided by `whole`, or 0 if `whole` is 0.
#[allow(clippy::cast_precision_loss)] // An f64 holds shares and means to 15 digits.
fn ratio(part: u128, whole: u128) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
