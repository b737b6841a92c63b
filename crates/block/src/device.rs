use std::fmt;
use std::ops::ControlFlow;

use crate::{Bytes, Completion, Io, Nanos, PlacedDevice, ZonedDevice};

/// The kind of drive behind a [`Device`].
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// A drive that completes IOs immediately and stores nothing, for measuring the harness.
    Null,
    /// A simulated drive on virtual time.
    Sim,
    /// A file on a file system.
    File,
    /// A block device.
    Block,
}

/// The properties of a drive that are known without measuring it.
#[derive(
    Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct DeviceInfo {
    /// The drive's name on the command line, such as `sim:agrawal-2008`.
    pub name: String,
    /// The kind of drive.
    pub kind: DeviceKind,
    /// Addressable capacity in bytes.
    #[serde(rename = "capacity_bytes")]
    pub capacity: Bytes,
    /// Logical block size in bytes: offsets and lengths must be multiples of it.
    #[serde(rename = "logical_block_bytes")]
    pub logical_block: Bytes,
    /// The maximum number of IOs in flight.
    pub queue_depth: u32,
    /// The vendor's model name, if known.
    pub model: Option<String>,
    /// The serial number, if known.
    pub serial: Option<String>,
    /// The firmware revision, if known.
    pub firmware: Option<String>,
    /// The engine that submits IOs, such as `io_uring`, and the reason for choosing it.
    pub engine: Option<String>,
}

impl DeviceInfo {
    /// Describes a drive whose model, serial number, firmware and engine are not known.
    #[must_use]
    pub fn new(
        (name, kind): (impl Into<String>, DeviceKind),
        (capacity, logical_block): (Bytes, Bytes),
        queue_depth: u32,
    ) -> DeviceInfo {
        DeviceInfo {
            name: name.into(),
            kind,
            capacity,
            logical_block,
            queue_depth,
            model: None,
            serial: None,
            firmware: None,
            engine: None,
        }
    }
}

/// State and wear of a drive's flash, as the drive reports them.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Flash {
    /// Size of all blocks in bytes, free ones included.
    #[serde(rename = "capacity_bytes")]
    pub capacity: Bytes,
    /// Size of a block in bytes.
    #[serde(rename = "block_bytes")]
    pub block: Bytes,
    /// Bytes that the host has written since the drive was made.
    #[serde(rename = "host_written_bytes")]
    pub host_written: Bytes,
    /// Host writes since the drive was made that did not begin at a boundary of the FTL's mapping
    /// unit.
    pub unaligned_writes: u64,
    /// Bytes programmed since the drive was made, for any cause.
    #[serde(rename = "programmed_bytes")]
    pub programmed: Bytes,
    /// Bytes read from the flash since the drive was made, for any cause, in whole pages.
    #[serde(rename = "read_bytes")]
    pub read: Bytes,
    /// Block erases since the drive was made.
    pub erasures: u64,
    /// Erase count of the most erased good block.
    pub most_erases: u32,
    /// Erase count of the least erased good block.
    pub fewest_erases: u32,
    /// Rated endurance of a block, in erases.
    pub rated_erases: u32,
    /// Blocks that are erased and hold no data.
    pub free_blocks: u64,
    /// Blocks that went bad since the drive was made.
    pub retired_blocks: u64,
    /// Good blocks beyond the number that the drive's capacity needs.
    pub spare_blocks: u64,
    /// True if the drive rejects writes because too few good blocks are left.
    pub read_only: bool,
}

impl Flash {
    /// Returns the number of blocks, bad ones included.
    pub fn blocks(&self) -> u64 {
        self.capacity.0 / self.block.0
    }

    /// Returns the mean number of erases of a block.
    #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53 erases")]
    pub fn mean_erases(&self) -> f64 {
        self.erasures as f64 / self.blocks() as f64
    }

    /// Returns the percentage of blocks that are free.
    #[allow(clippy::cast_precision_loss, reason = "fewer than 2^53 blocks")]
    pub fn free_blocks_percent(&self) -> f64 {
        100.0 * self.free_blocks as f64 / self.blocks() as f64
    }

    /// Combines the state of two drives of the same kind that form one drive, as in a RAID array.
    #[must_use]
    pub fn plus(&self, other: &Flash) -> Flash {
        Flash {
            capacity: self.capacity + other.capacity,
            block: self.block,
            host_written: self.host_written + other.host_written,
            unaligned_writes: self.unaligned_writes + other.unaligned_writes,
            programmed: self.programmed + other.programmed,
            read: self.read + other.read,
            erasures: self.erasures + other.erasures,
            most_erases: self.most_erases.max(other.most_erases),
            fewest_erases: self.fewest_erases.min(other.fewest_erases),
            rated_erases: self.rated_erases,
            free_blocks: self.free_blocks + other.free_blocks,
            retired_blocks: self.retired_blocks + other.retired_blocks,
            spare_blocks: self.spare_blocks + other.spare_blocks,
            read_only: self.read_only || other.read_only,
        }
    }
}

/// An NVMe command that erases all data on a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erasure {
    /// NVMe's Format NVM, which erases the user data and keeps the current format.
    Format,
    /// NVMe's Sanitize by block erase, which reaches spare blocks as well.
    Sanitize,
}

/// The reason why a drive cannot be erased, or why erasing failed, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EraseError(pub String);

impl fmt::Display for EraseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EraseError {}

/// A drive that can be erased.
pub trait Erase {
    /// Erases all data on the drive. No IO may be in flight.
    ///
    /// Calls `progress(done, total)` each time the drive reports its progress. If `progress`
    /// breaks, this function returns immediately while the drive continues to erase.
    ///
    /// # Errors
    /// The drive rejected the command, failed, or is not open for writing.
    fn erase(
        &mut self,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, EraseError>;
}

/// A drive: real, simulated or null. Callers use all of them in the same way.
///
/// A caller may have at most [`DeviceInfo::queue_depth`] IOs in flight. Submitting more is a bug of
/// the caller, and an implementation may panic. A drive completes an IO that it cannot do (a range
/// past the end, a write to a read-only drive) with an error; it never panics.
pub trait Device {
    /// Returns the properties of the drive.
    fn info(&self) -> &DeviceInfo;

    /// Returns the time on the drive's clock: the machine's clock for a real drive, virtual time
    /// for a simulated one. It never goes back.
    fn now(&self) -> Nanos;

    /// Submits one IO. A drive may defer it to the next call of [`Device::complete`] to submit
    /// several IOs in one step; [`Completion::submitted`] holds the actual time.
    fn submit(&mut self, io: &Io);

    /// Waits for the next completion, but not past `until`.
    ///
    /// Returns `None` when the clock has reached `until`. If `until` is [`Nanos::MAX`], `None`
    /// means that no completion will come: no IO is in flight, or the drive has not answered within
    /// its timeout. After a timeout, callers must not use the drive any more.
    fn complete(&mut self, until: Nanos) -> Option<Completion>;

    /// Announces the IOs that will probably be submitted next, `near`, and after them `far`. A
    /// simulated drive then fetches their state into the processor's cache. The fetch takes two
    /// steps, so each IO should be announced twice: first far, then near. This changes no answer.
    ///
    /// After the last [`Device::round_trip`] of a series, announce that no IO follows: a simulated
    /// drive reports the events of round trips to its observers only here, many at once.
    fn announce(&mut self, _near: &[Io], _far: &[Io]) {}

    /// Submits an IO that is due, and waits for its answer. No other IO may be in flight. Returns
    /// `None` if the drive does not answer: see [`Device::complete`].
    fn round_trip(&mut self, io: &Io) -> Option<Completion> {
        self.submit(io);
        self.complete(Nanos::MAX)
    }

    /// Lets time pass with no IO in flight, which gives the drive time for background work.
    fn idle_until(&mut self, until: Nanos) {
        let completion = self.complete(until);
        debug_assert!(completion.is_none(), "idle_until with an IO in flight");
    }

    /// Returns a lower bound for the time of the next completion. Returns `None` if no IO is in
    /// flight, or if the time is unknown, as on the machine's clock.
    fn next_due(&self) -> Option<Nanos> {
        None
    }

    /// Returns the time up to which a virtual clock can jump without changing any result: until
    /// then, the drive starts no background work unless an IO arrives.
    ///
    /// Returns [`Nanos::MAX`] when all background work is done, which lets a wait of centuries take
    /// one step. Returns 0 if the time is unknown, and on the machine's clock, where one long step
    /// would delay an interruption.
    fn quiet_until(&self) -> Nanos {
        Nanos(0)
    }

    /// Returns the state of the flash, or `None` if the drive does not report it. Most real drives
    /// do not.
    fn flash(&self) -> Option<Flash> {
        None
    }

    /// Returns true if a power loss would lose some of the data written to the `len` bytes from
    /// `offset`. The range must be within the drive. A simulated drive knows which data is only in
    /// its write buffer. Other drives return false, because they do not report the state of their
    /// buffer.
    fn is_volatile(&self, _offset: Bytes, _len: Bytes) -> bool {
        false
    }

    /// Returns the zones of the drive, or `None` for a drive that can be written anywhere.
    fn zones(&mut self) -> Option<&mut dyn ZonedDevice> {
        None
    }

    /// Returns the reclaim unit handles of the drive, or `None` for a drive without any.
    fn placed(&mut self) -> Option<&mut dyn PlacedDevice> {
        None
    }

    /// Returns a handle that erases the whole drive with the command `erasure`. This call itself
    /// changes nothing.
    ///
    /// # Errors
    /// The reason why the drive cannot be erased. Few drives have such commands.
    fn eraser(&self, _erasure: Erasure) -> Result<Box<dyn Erase + '_>, EraseError> {
        let name = &self.info().name;
        Err(EraseError(format!(
            "`{name}` is not an NVMe drive, and only NVMe drives have format and sanitize commands: \
                 choose another state"
        )))
    }
}

/// Supplies the content of writes to a drive.
///
/// [`Io::stream`] tells concurrent writes apart, as long as each stream has one IO in flight.
pub trait WriteData: Send + Sync {
    /// Fills `buffer`, which has the length of the write `io`. A drive calls this once for each
    /// write, from any thread, after [`Device::submit`] and before the write completes.
    fn fill(&self, io: &Io, buffer: &mut [u8]);
}

impl<D: Device + ?Sized> Device for Box<D> {
    fn info(&self) -> &DeviceInfo {
        (**self).info()
    }
    fn now(&self) -> Nanos {
        (**self).now()
    }
    fn submit(&mut self, io: &Io) {
        (**self).submit(io);
    }
    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        (**self).complete(until)
    }
    fn announce(&mut self, near: &[Io], far: &[Io]) {
        (**self).announce(near, far);
    }
    fn round_trip(&mut self, io: &Io) -> Option<Completion> {
        (**self).round_trip(io)
    }
    fn idle_until(&mut self, until: Nanos) {
        (**self).idle_until(until);
    }
    fn next_due(&self) -> Option<Nanos> {
        (**self).next_due()
    }
    fn quiet_until(&self) -> Nanos {
        (**self).quiet_until()
    }
    fn flash(&self) -> Option<Flash> {
        (**self).flash()
    }
    fn is_volatile(&self, offset: Bytes, len: Bytes) -> bool {
        (**self).is_volatile(offset, len)
    }
    fn placed(&mut self) -> Option<&mut dyn PlacedDevice> {
        (**self).placed()
    }
    fn zones(&mut self) -> Option<&mut dyn ZonedDevice> {
        (**self).zones()
    }
    fn eraser(&self, erasure: Erasure) -> Result<Box<dyn Erase + '_>, EraseError> {
        (**self).eraser(erasure)
    }
}
