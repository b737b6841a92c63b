//! The reclaim unit handles that a host can name.

use flashscope_block::{Bytes, PlacedDevice, PlacementLimits, StreamId};

use super::SimDevice;
use crate::ftl::Ftl;
use crate::setup::{Identifiers, Isolation, Layout};

/// Returns the limits of the handles that a host can name. Returns `None` if the drive has none, or
/// if placement identifiers also name a reclaim group.
pub(super) fn limits(layout: &Layout) -> Option<PlacementLimits> {
    let (placement, geometry) = (layout.placement, layout.geometry);
    let is_used = placement.is_on()
        && layout.zones.is_none()
        && placement.identifiers == Identifiers::Handles
        && placement.groups == 1;
    let page = u64::from(geometry.logical_page_size);
    is_used.then(|| PlacementLimits {
        handles: StreamId::try_from(placement.handles).expect("at most 128 handles"),
        is_persistent: placement.isolation == Isolation::Persistent,
        unit: Bytes(u64::from(geometry.slots_per_block) * page),
    })
}

impl PlacedDevice for SimDevice {
    fn limits(&self) -> PlacementLimits {
        self.handles.expect("only a drive with handles is used as one")
    }

    fn room(&self, handle: StreamId) -> Bytes {
        let limits = PlacedDevice::limits(self);
        assert!(handle < limits.handles, "handle {handle} of {}", limits.handles);
        match self.ftl.handle_room(handle) {
            Some(pages) => Bytes(u64::from(pages) * self.page_size.value()),
            // The next write opens a unit.
            None => limits.unit,
        }
    }

    fn renew(&mut self, handle: StreamId) -> Bytes {
        let room = self.room(handle);
        let _ = self.ftl.end_handle(&mut self.nand, handle, self.now);
        let unit = PlacedDevice::limits(self).unit;
        if room == unit { Bytes(0) } else { room }
    }
}
