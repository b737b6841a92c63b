//! The readings that a simulation takes from its drive before and after the measurement.

use flashscope_block::Bytes;
use flashscope_document::{HandleStatistics, PlacementStatistics};
use flashscope_measure::Gauge;
use flashscope_sim::ftl::{HandleCounts, PlacementCounts};
use flashscope_sim::{Counters, Drive};

/// The gauge of a simulation. The measure that must become steady is write amplification.
pub(crate) const GAUGE: Gauge<Drive, Reading> =
    Gauge { read: Reading::of, metric: Reading::write_amplification, erases: Reading::erases };

/// The counts of a drive since its creation, or between two readings.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    pub(crate) counters: Counters,
    placement: PlacementCounts,
}

impl Reading {
    pub(crate) fn of(drive: &Drive) -> Reading {
        Reading { counters: drive.counters(), placement: drive.placement() }
    }

    /// Returns the write amplification from this reading to a later reading.
    pub(crate) fn write_amplification(&self, later: &Reading) -> Option<f64> {
        later.counters.since(&self.counters).write_amplification()
    }

    /// Returns true if the drive erased a block between this reading and a later reading.
    pub(crate) fn erases(&self, later: &Reading) -> bool {
        later.counters.flash.erases.total() > self.counters.flash.erases.total()
    }

    /// Returns the counts since `earlier`.
    pub(crate) fn since(&self, earlier: &Reading) -> Reading {
        Reading {
            counters: self.counters.since(&earlier.counters),
            placement: self.placement.since(&earlier.placement),
        }
    }

    /// Returns the statistics of placed data; `None` without placement. Blocks have `block` bytes.
    pub(crate) fn placement(&self, block: Bytes) -> Option<PlacementStatistics> {
        let PlacementCounts { handles, moved, .. } = &self.placement;
        let Counters { flash, host_pages_written, logical_page, flash_page, .. } = &self.counters;
        let bytes = |count: u64, size: u32| Bytes(count * u64::from(size));
        (!handles.is_empty()).then(|| PlacementStatistics {
            host_bytes_written: bytes(*host_pages_written, *logical_page),
            media_bytes_written: bytes(flash.programs.total(), *flash_page),
            media_bytes_erased: Bytes(flash.erases.total() * block.0),
            invalid_identifiers: self.placement.invalid_identifiers,
            streams_replaced: self.placement.streams_replaced,
            groups_overflowed: self.placement.groups_overflowed,
            handles: handles.iter().map(of_handle).collect(),
            moved: of_handle(moved),
        })
    }
}

fn of_handle(counts: &HandleCounts) -> HandleStatistics {
    let HandleCounts { pages_written, units_opened, units_reclaimed, pages_moved } = *counts;
    HandleStatistics { pages_written, units_opened, units_reclaimed, pages_moved }
}
