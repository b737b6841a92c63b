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
mod sums;
mod utilization;
mod wear_map;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flashscope_block::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SimDevice;
use crate::footprint::{Size, fixed};
use crate::nand;
use crate::setup::Layout;

pub use crate::event::{Command, CommandKind, Notice, Observer, ObserverSwitch, Relocation};
pub use activities::{Activities, ActivitiesReport, Activity, ActivityKind};
pub use amplification::{Amplification, AmplificationReport};
pub use cleaning::{Cleaning, CleaningReport, CleaningTime};
pub use curve::{Bucket, Curve};
pub use erases::{EraseReport, Histogram, LifetimeClasses, erases};
pub use events::{Events, Window};
pub use free_blocks::{FreeBlocks, FreeBlocksReport};
pub use glances::ObserverSchedule;
pub use utilization::{BusUse, ClassUse, CommandUse, UnitUse, Utilization, UtilizationReport};
pub use wear_map::{UnitWear, WearMap, WearMapReport};

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

            /// Returns the reports up to `until`, which must not be before the last completion of
            /// an IO.
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
