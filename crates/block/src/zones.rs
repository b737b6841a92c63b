//! Zones: parts of a drive that are written from start to end and reset as a whole, as in NVMe's
//! Zoned Namespaces.

use crate::{Bytes, Errno};

/// The state of a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZoneState {
    /// Holds no data.
    Empty,
    /// Being written; a write opened it.
    ImplicitlyOpen,
    /// Being written; the host opened it.
    ExplicitlyOpen,
    /// Active but not open; usually partly written.
    Closed,
    /// Accepts no more data until a reset.
    Full,
    /// Can be read, but neither written nor reset, because the drive has lost blocks of it.
    ReadOnly,
    /// Can be neither read nor written.
    Offline,
}

impl ZoneState {
    /// Returns true for the two open states.
    pub const fn is_open(self) -> bool {
        matches!(self, ZoneState::ImplicitlyOpen | ZoneState::ExplicitlyOpen)
    }

    /// Returns true if the zone counts towards the limit of active zones.
    pub const fn is_active(self) -> bool {
        self.is_open() || matches!(self, ZoneState::Closed)
    }

    /// Returns true for the two states of a zone that is never written again.
    pub const fn is_lost(self) -> bool {
        matches!(self, ZoneState::ReadOnly | ZoneState::Offline)
    }
}

/// A zone of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zone {
    /// Offset of its first byte.
    pub start: Bytes,
    /// The bytes from its start to the start of the next zone.
    pub size: Bytes,
    /// The bytes from its start that can be written. The remaining bytes of the zone are a hole.
    pub capacity: Bytes,
    /// Offset of the next byte to write; the end of the capacity if the zone is full.
    pub write_pointer: Bytes,
    /// The state of the zone.
    pub state: ZoneState,
}

impl Zone {
    /// Returns the offset of the first byte that cannot be written.
    pub fn end(&self) -> Bytes {
        self.start + self.capacity
    }
}

/// The zones of a drive and their limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneLimits {
    /// The number of zones.
    pub zones: u32,
    /// The size of each zone in bytes.
    pub size: Bytes,
    /// The bytes of each zone that can be written, at most its size.
    pub capacity: Bytes,
    /// The number of zones that may be open at a time.
    pub open: u32,
    /// The number of zones that may be active at a time: open or closed.
    pub active: u32,
}

/// A drive with zones.
///
/// A write must begin at the write pointer of its zone and end within the zone's capacity. Several
/// writes may be in flight, because the pointer moves at submission. An append is a write at the
/// pointer that [`ZonedDevice::zone`] returns. A trim of whole zones resets them, and any other
/// trim is refused. A read beyond the pointer returns zeros, also in the hole between capacity and
/// size.
///
/// A write that finds no block on the flash fails and leaves its zone read-only. A reset takes its
/// zone offline and fails if the flash has too few blocks left. A trim of several zones leaves out
/// those that are read-only or offline.
pub trait ZonedDevice {
    /// Returns the number of zones and their limits.
    fn limits(&self) -> ZoneLimits;

    /// Returns a zone.
    ///
    /// # Panics
    /// If `number` is not below [`ZoneLimits::zones`].
    fn zone(&self, number: u32) -> Zone;

    /// Opens a zone explicitly.
    ///
    /// # Errors
    /// `EIO` for a zone that is full, read-only or offline, `EOVERFLOW` beyond the limit of active
    /// zones, `ETOOMANYREFS` beyond the limit of open zones.
    fn open(&mut self, number: u32) -> Result<(), Errno>;

    /// Closes an open zone. It stays active, even if nothing was written to it.
    ///
    /// # Errors
    /// `EIO` for a zone that is empty, full, read-only or offline.
    fn close(&mut self, number: u32) -> Result<(), Errno>;

    /// Makes a zone full. Its unwritten part stays unwritten until the zone is reset.
    ///
    /// # Errors
    /// `EIO` for a zone that is read-only or offline.
    fn finish(&mut self, number: u32) -> Result<(), Errno>;

    /// Takes a read-only zone offline, which loses its data.
    ///
    /// # Errors
    /// `EIO` for a zone that is neither read-only nor offline.
    fn take_offline(&mut self, number: u32) -> Result<(), Errno>;
}
