//! Observes the internal activity of a simulated drive.

use flashscope_block::Nanos;
use flashscope_result::activity::{Activities, Activity};
use flashscope_sim::Drive;
use flashscope_sim::observe::{self, ObserverHandle, ObserverSchedule};

/// The maximum number of background operations recorded per run: about 3 MB.
const MAX_OPERATIONS: usize = 100_000;

/// The observers of the internal activity of a simulated drive.
pub struct Inside {
    observed: ObserverHandle<observe::Activities>,
    pub(crate) glances: ObserverSchedule,
}

impl Inside {
    /// Attaches observers to a drive. Returns `None` for an array, whose operations have no single
    /// unit and block.
    pub fn of(drive: &mut Drive) -> Option<Inside> {
        let drive = drive.only()?;
        let activities = observe::Activities::with_most(drive, MAX_OPERATIONS);
        let glances = ObserverSchedule::new(drive.observer_switch());
        Some(Inside { observed: drive.observe(activities), glances })
    }

    /// Returns the operations since the start of the run.
    pub(crate) fn activities(&self, until: Nanos) -> Activities {
        let report = self.observed.lock().report(until);
        let item = |activity: observe::Activity| Activity {
            kind: activity.kind.name().into(),
            start_ns: activity.start_ns,
            end_ns: activity.end_ns,
            unit: activity.unit,
            block: activity.block,
            pages_read: activity.pages_read,
            pages_programmed: activity.pages_programmed,
            blocks_erased: activity.blocks_erased,
        };
        let items = report.longest.into_iter().map(item).collect();
        Activities { items, left_out: report.left_out }
    }
}
