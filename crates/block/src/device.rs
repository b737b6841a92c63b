use std::fmt;
use std::ops::ControlFlow;

use crate::{Bytes, Completion, Io, Nanos};

/// What kind of thing is behind a [`Device`].
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
    /// Answers at once and does nothing; measures the harness itself.
    Null,
    /// A simulated drive on virtual time.
    Sim,
    /// A file on a file system.
    File,
    /// A block device.
    Block,
}

/// What is known about a drive without measuring it.
#[derive(
    Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct DeviceInfo {
    /// How the drive was named on the command line, such as `sim:agrawal-2008`.
    pub name: String,
    /// What is behind it.
    pub kind: DeviceKind,
    /// Addressable bytes.
    #[serde(rename = "capacity_bytes")]
    pub capacity: Bytes,
    /// Offsets and lengths must be multiples of this.
    #[serde(rename = "logical_block_bytes")]
    pub logical_block: Bytes,
    /// How many IOs may be in flight at once.
    pub queue_depth: u32,
    /// The maker's name for it, where there is one.
    pub model: Option<String>,
    /// Serial number, where there is one.
    pub serial: Option<String>,
    /// Firmware revision, where there is one.
    pub firmware: Option<String>,
    /// How IOs reach it, such as `io_uring`, and why that way was chosen.
    pub engine: Option<String>,
}

/// What a drive tells of the flash inside it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Flash {
    /// What all of it holds, free space included.
    #[serde(rename = "capacity_bytes")]
    pub capacity: Bytes,
    /// What a block of it holds.
    #[serde(rename = "block_bytes")]
    pub block: Bytes,
    /// What the host wrote since the drive was made.
    #[serde(rename = "host_written_bytes")]
    pub host_written: Bytes,
    /// Writes of the host since then that did not begin at a page as the drive maps them.
    pub unaligned_writes: u64,
    /// What was programmed since then, whatever for.
    #[serde(rename = "programmed_bytes")]
    pub programmed: Bytes,
    /// What was read of it since then, whatever for, in whole pages.
    #[serde(rename = "read_bytes")]
    pub read: Bytes,
    /// How many blocks were erased since then, each as often as it was.
    pub erasures: u64,
    /// Erases of the block that was erased most, of those that are not bad.
    pub most_erases: u32,
    /// Erases of the block that was erased least, of those that are not bad.
    pub fewest_erases: u32,
    /// Erases that a block is made for.
    pub rated_erases: u32,
    /// Blocks that are erased and hold nothing.
    pub free_blocks: u64,
    /// Blocks that went bad since the drive was made.
    pub retired_blocks: u64,
    /// Blocks that are not bad, beyond those that the drive's capacity takes.
    pub spare_blocks: u64,
    /// Whether it takes no writes any more, as too few blocks are left.
    pub read_only: bool,
}

impl Flash {
    /// All blocks, bad ones included.
    pub fn blocks(&self) -> u64 {
        self.capacity.0 / self.block.0
    }

    /// Erases of a block on average.
    #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53 erases")]
    pub fn mean_erases(&self) -> f64 {
        self.erasures as f64 / self.blocks() as f64
    }

    /// The share of all blocks that are free, in percent.
    #[allow(clippy::cast_precision_loss, reason = "fewer than 2^53 blocks")]
    pub fn free_blocks_percent(&self) -> f64 {
        100.0 * self.free_blocks as f64 / self.blocks() as f64
    }

    /// What two drives tell together that are used as one, of the same kind.
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

/// A command of its own with which a drive forgets everything it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erasure {
    /// NVMe's Format NVM, which erases the user data and keeps the format as it is.
    Format,
    /// NVMe's Sanitize by block erase, which reaches spare blocks as well.
    Sanitize,
}

/// Why a drive cannot be erased, or was not: what is in the way, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotErased(pub String);

impl fmt::Display for NotErased {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotErased {}

/// A drive that was asked whether it can be erased, and can.
pub trait Erase {
    /// Erases everything the drive holds; nothing may be in flight.
    ///
    /// `tell` is told how much is done, of how much, as often as the drive says so. Where it breaks
    /// off, this returns so, and the drive goes on erasing by itself.
    ///
    /// # Errors
    /// The drive refused, failed, or is not open for writing.
    fn erase(
        &mut self,
        tell: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, NotErased>;
}

/// A drive: real, simulated or null. What uses one cannot tell them apart.
///
/// A caller submits at most [`DeviceInfo::queue_depth`] IOs before it takes completions; more is a
/// bug of the caller, and an implementation may panic. An IO that cannot be done (a range past
/// the end, a read-only drive) is answered by a completion with an error, never by a panic.
pub trait Device {
    /// What is known about the drive.
    fn info(&self) -> &DeviceInfo;

    /// The time on the clock of the drive: the machine's for a real one, virtual for a simulated
    /// one. It never goes back.
    fn now(&self) -> Nanos;

    /// Hands over one IO. It reaches the drive at once or, where several can be handed over in
    /// one step, at the next call of [`Device::complete`]; [`Completion::submitted`] says when.
    fn submit(&mut self, io: &Io);

    /// Waits for the next completion, but not past `until`.
    ///
    /// Returns `None` when the clock has reached `until`. Where `until` is [`Nanos::MAX`], `None` says
    /// that there is nothing to wait for: at once when nothing is in flight, or else when the drive has
    /// not answered for so long that it never will. Nothing may be asked of such a drive any more.
    fn complete(&mut self, until: Nanos) -> Option<Completion>;

    /// Lets time pass with nothing in flight, so that the drive may work in the background.
    fn idle_until(&mut self, until: Nanos) {
        let completion = self.complete(until);
        debug_assert!(completion.is_none(), "idle_until with an IO in flight");
    }

    /// [`Device::complete`] will not answer before this. `None` where nothing is in flight, and of
    /// drives that cannot know, as those on the machine's clock.
    fn next_due(&self) -> Option<Nanos> {
        None
    }

    /// Until when waiting changes nothing but the clock, which is virtual: the drive begins no
    /// background work before, unless it is given an IO. [`Nanos::MAX`] once all of it is done, so
    /// that a wait of centuries is one step. 0 where that is not known, and for a drive on the
    /// machine's clock, where one long step would keep an interruption waiting.
    fn quiet_until(&self) -> Nanos {
        Nanos(0)
    }

    /// What the drive tells of its flash; nothing, as of most drives.
    fn flash(&self) -> Option<Flash> {
        None
    }

    /// Whether a cut of the power would lose some of what was written to the `len` bytes from
    /// `offset` on, which must be within the drive. A simulated drive knows what it holds in a
    /// buffer alone; of others this is not known, and nothing is said to be lost.
    fn is_volatile(&self, _offset: Bytes, _len: Bytes) -> bool {
        false
    }

    /// What erases everything the drive holds by a command of its own. Asking changes nothing.
    ///
    /// # Errors
    /// What is in the way. Few drives have such commands.
    fn eraser(&self, _erasure: Erasure) -> Result<Box<dyn Erase + '_>, NotErased> {
        let name = &self.info().name;
        Err(NotErased(format!(
            "`{name}` is no NVMe drive, and only those format or sanitize themselves: choose \
             another state"
        )))
    }
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
    fn eraser(&self, erasure: Erasure) -> Result<Box<dyn Erase + '_>, NotErased> {
        (**self).eraser(erasure)
    }
}
