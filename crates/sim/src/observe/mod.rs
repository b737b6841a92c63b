//! Observers: what happens inside a drive, for those who want to know. A drive without observers
//! pays one branch a command, and so does one whose observers look away: see [`Attention`].
//!
//! An observer is one file and its line in the registry below. [`SimDevice::observe`] puts one on a
//! drive and returns a handle to it, [`Watch`] several by their names; [`erases`] needs none, as
//! the flash knows how often its blocks were erased.

mod activities;
mod amplification;
mod attention;
mod cleaning;
mod curve;
mod erases;
mod events;
mod free_blocks;
mod glances;
mod longest;
mod sums;
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
use crate::setup::Layout;

pub use activities::{Activities, ActivitiesReport, Activity, ActivityKind};
pub use amplification::{Amplification, AmplificationReport};
pub use attention::Attention;
pub use cleaning::{Cleaning, CleaningReport, CleaningTime};
pub use curve::{Bucket, Curve};
pub use erases::{EraseReport, Histogram, LifetimeClasses, erases};
pub use events::{Events, Window};
pub use free_blocks::{FreeBlocks, FreeBlocksReport};
pub use glances::Glances;
pub use utilization::{BusUse, CommandUse, UnitUse, Utilization, UtilizationReport};
pub use wear_map::{UnitWear, WearMap, WearMapReport};

/// What a flash command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CommandKind {
    /// Cells to register, register to controller.
    Read,
    /// Controller to register, register to cells.
    Program,
    /// Cells to register to cells of the same plane.
    CopyBack,
    /// Erase of a block.
    Erase,
}

impl CommandKind {
    /// Every kind, in the order in which they are shown; `kind as usize` is its place.
    pub const ALL: [CommandKind; 4] =
        [CommandKind::Read, CommandKind::Program, CommandKind::CopyBack, CommandKind::Erase];

    /// Its name in what is printed.
    pub const fn name(self) -> &'static str {
        match self {
            CommandKind::Read => "read",
            CommandKind::Program => "program",
            CommandKind::CopyBack => "copy-back",
            CommandKind::Erase => "erase",
        }
    }
}

/// A flash command as it was carried out by one package. One that concerns several packages of an
/// element is a command of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    /// What it does.
    pub kind: CommandKind,
    /// Why it was given.
    pub cause: Cause,
    /// The unit that carries it out, counted over the drive: see [`crate::nand::Array`].
    pub unit: u32,
    /// The serial bus of that unit, counted over the drive.
    pub bus: u32,
    /// The block it works on; for a copy-back, the one that is programmed.
    pub block: BlockId,
    /// The page of the block; 0 for an erase.
    pub index: u32,
    /// For a copy-back, the block that is read.
    pub from: Option<BlockId>,
    /// Which package of its element carries it out, from 0.
    pub member: u32,
    /// The package after the last of its element that carries it out.
    pub members: u32,
    /// When it reached the queue of its unit.
    pub at: Nanos,
    /// When it began: the unit, and the bus where it is needed first, were free.
    pub start: Nanos,
    /// When it was done. From start to end the unit is taken, also while it waits for the bus.
    pub done: Nanos,
    /// For how long it has the bus: at its end if it reads, at its start if it programs.
    pub transfer: Nanos,
}

impl Command {
    /// When it has the bus; empty if it needs none.
    pub fn on_bus(&self) -> Range<Nanos> {
        match self.kind {
            CommandKind::Read => Nanos(self.done.0.saturating_sub(self.transfer.0))..self.done,
            _ => self.start..later(self.start, self.transfer),
        }
    }
}

/// What all observers take that yield a report, on a drive of this layout.
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

/// Something that looks on. It changes nothing.
///
/// It sees what happens from when it is put on the drive; of commands given before, it knows
/// nothing. Those that a power cut takes back have been seen.
pub trait Observer: Send {
    /// A flash command was given; its times may lie in the future of the drive's clock, or, for
    /// background work that is worked out late, in its past. Commands of one unit come in the
    /// order of their times, but that two of a pair of planes may work at once.
    fn command(&mut self, _command: &Command) {}

    /// A request was answered.
    fn request(&mut self, _completion: &Completion) {}

    /// The commands of merges that follow are about this log block.
    fn merge(&mut self, _log: BlockId) {}

    /// The number of free blocks of a lane, as the FTL counts them, changed: a block is in use
    /// when the first program on it is given, and free when its erase is. The time is when the
    /// work was given of which this is part; it may go back by the time of a read.
    fn free_blocks(&mut self, _lane: u32, _free: u32, _at: Nanos) {}

    /// Forgets what it has counted: what it yields is about the time from `now` on, which the
    /// clock of the drive shows.
    fn restart(&mut self, _now: Nanos) {}

    /// Looks again after it looked away: it was not told of what the drive did meanwhile. What it
    /// yields is about the time from now on, as if it had just been put on the drive.
    fn look_again(&mut self, _drive: &SimDevice) {}
}

/// A handle to an observer that is on a drive.
pub struct Observed<O>(Arc<Mutex<O>>);

impl<O> Observed<O> {
    pub(crate) fn new(observer: O) -> Self {
        Observed(Arc::new(Mutex::new(observer)))
    }

    /// The observer. While it is held, the drive cannot be used.
    pub fn lock(&self) -> MutexGuard<'_, O> {
        // An observer that panicked has at worst missed something.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<O> Clone for Observed<O> {
    fn clone(&self) -> Self {
        Observed(Arc::clone(&self.0))
    }
}

impl<O: Observer> Observer for Observed<O> {
    fn command(&mut self, command: &Command) {
        self.lock().command(command);
    }

    fn request(&mut self, completion: &Completion) {
        self.lock().request(completion);
    }

    fn merge(&mut self, log: BlockId) {
        self.lock().merge(log);
    }

    fn free_blocks(&mut self, lane: u32, free: u32, at: Nanos) {
        self.lock().free_blocks(lane, free, at);
    }

    fn restart(&mut self, now: Nanos) {
        self.lock().restart(now);
    }

    fn look_again(&mut self, drive: &SimDevice) {
        self.lock().look_again(drive);
    }
}

/// A registered observer.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// What it looks at, in a sentence.
    pub summary: &'static str,
    /// What it yields.
    pub yields: &'static str,
}

/// Makes [`Watch`], [`Observations`] and [`KINDS`] from one list: observers that yield a report,
/// then those that yield something else.
macro_rules! registry {
    ($($module:ident :: $observer:ident => $report:ident),+ ; $($other:ident),+ $(,)?) => {
        /// Observers on one drive, chosen by their names.
        #[derive(Default)]
        pub struct Watch {
            $($module: Option<Observed<$observer>>,)+
        }

        impl Watch {
            /// Puts the observer of this name on the drive, if it is not yet; false if there is
            /// none that yields a report.
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

            /// Puts every observer that yields a report on the drive.
            pub fn add_all(&mut self, drive: &mut SimDevice) {
                $(self.add($module::KIND.name, drive);)+
            }

            /// See [`Observer::restart`].
            pub fn restart(&self, now: Nanos) {
                $(if let Some(observed) = &self.$module { observed.lock().restart(now); })+
            }

            /// What they have found up to `until`, which must not be before the last answer.
            pub fn report(&self, until: Nanos) -> Observations {
                Observations {
                    $($module: self.$module.as_ref().map(|observed| observed.lock().report(until)),)+
                }
            }
        }

        /// What the observers of a [`Watch`] have found.
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
        pub struct Observations {
            $(#[doc = concat!("Of the observer `", stringify!($module), "`; absent if it was not there.")]
            #[serde(skip_serializing_if = "Option::is_none")]
            pub $module: Option<$report>,)+
        }

        /// Every observer, in the order in which they are shown.
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

/// What a drive shows of itself beside its counters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Findings {
    /// How often its blocks were erased since it was new; absent where it has no good block.
    pub erases: Option<EraseReport>,
    /// What observers saw, where there were any.
    #[serde(flatten)]
    pub observed: Observations,
}

/// `part` of `whole`; 0 where there is nothing.
#[allow(clippy::cast_precision_loss)] // for shares and means, which a f64 holds to 15 digits
fn ratio(part: u128, whole: u128) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
