//! Placement: the stream of a write tells the drive which data belongs together, as in NVMe's
//! Flexible Data Placement.

use crate::{Bytes, StreamId};

/// The reclaim unit handles of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlacementLimits {
    /// The number of handles. The stream of a write is its handle; higher streams use handle 0.
    pub handles: StreamId,
    /// True if garbage collection also keeps the data of different handles in different units.
    pub is_persistent: bool,
    /// The size of a reclaim unit in bytes.
    pub unit: Bytes,
}

/// A drive with reclaim unit handles.
pub trait PlacedDevice {
    /// Returns the number of handles and their properties.
    fn limits(&self) -> PlacementLimits;

    /// Returns the free bytes in the reclaim unit of a handle. For a handle that fills several
    /// units in parallel, returns the free bytes of the emptiest unit.
    ///
    /// # Panics
    /// If `handle` is not below [`PlacementLimits::handles`].
    fn room(&self, handle: StreamId) -> Bytes;

    /// Moves a handle to an empty reclaim unit. Returns the bytes that stay free in the previous
    /// unit.
    ///
    /// # Panics
    /// If `handle` is not below [`PlacementLimits::handles`].
    fn renew(&mut self, handle: StreamId) -> Bytes;
}
