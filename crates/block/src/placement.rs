//! Placement: the host says by the stream of a write which data belongs together, as in NVMe's
//! Flexible Data Placement.

use crate::{Bytes, StreamId};

/// The reclaim unit handles of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlacementLimits {
    /// The number of handles. The stream of a write names one; others stand for handle 0.
    pub handles: StreamId,
    /// True if garbage collection keeps the data of a handle apart as well.
    pub is_persistent: bool,
    /// The size of a reclaim unit in bytes.
    pub unit: Bytes,
}

/// A drive with reclaim unit handles.
pub trait PlacedDevice {
    /// Returns the number of handles and their properties.
    fn limits(&self) -> PlacementLimits;

    /// Returns the bytes that the reclaim unit of a handle still takes. A handle that fills several units
    /// side by side has the room of the emptiest one.
    ///
    /// # Panics
    /// If `handle` is not below [`PlacementLimits::handles`].
    fn room(&self, handle: StreamId) -> Bytes;

    /// Moves a handle to an empty reclaim unit. Returns the bytes that the previous unit could still
    /// have taken.
    ///
    /// # Panics
    /// If `handle` is not below [`PlacementLimits::handles`].
    fn renew(&mut self, handle: StreamId) -> Bytes;
}
