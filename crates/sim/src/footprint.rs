//! How much memory a simulated drive takes, stated before any of it is allocated: each part of a
//! drive says so beside what it allocates. Sums saturate instead of overflowing.

use std::ops::{Add, Mul};

use flashscope_block::Bytes;

use crate::nand::Array;
use crate::setup::Layout;
use crate::{cache, observe};

/// The memory that a drive takes at most, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Footprint {
    /// Of the drive itself, filled and in use, without what a power cut could take back.
    pub drive: Bytes,
    /// Of all observers that yield a report, which a drive may have beside.
    pub observers: Bytes,
}

impl Footprint {
    /// Both together.
    pub const fn total(&self) -> Bytes {
        Bytes(self.drive.0.saturating_add(self.observers.0))
    }

    /// That of a drive with something more.
    pub(crate) fn and(&self, more: Size) -> Footprint {
        Footprint { drive: Bytes((Size(self.drive.0) + more).0), ..*self }
    }

    /// That of so many such drives.
    pub(crate) const fn times(&self, drives: u32) -> Footprint {
        Footprint {
            drive: Bytes(self.drive.0.saturating_mul(drives as u64)),
            observers: Bytes(self.observers.0.saturating_mul(drives as u64)),
        }
    }
}

/// Bytes, added and multiplied without overflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Size(pub(crate) u64);

impl Add for Size {
    type Output = Size;
    fn add(self, other: Size) -> Size {
        Size(self.0.saturating_add(other.0))
    }
}

impl Mul<u64> for Size {
    type Output = Size;
    fn mul(self, times: u64) -> Size {
        Size(self.0.saturating_mul(times))
    }
}

/// A vector of `count` items that is made at its length.
pub(crate) fn fixed<T>(count: impl Into<u64>) -> Size {
    Size(size_of::<T>() as u64) * count.into()
}

/// A vector or queue that grows item by item to `count`: its capacity doubles, from 4 on.
pub(crate) fn grown<T>(count: impl Into<u64>) -> Size {
    fixed::<T>(count.into().saturating_mul(2).saturating_add(4))
}

/// An ordered set or map of the standard library with `count` entries of type `T`, its nodes half
/// full: they have room for 11 entries and, within the tree, 12 children.
pub(crate) fn tree<T>(count: impl Into<u64>) -> Size {
    let (count, node) = (count.into(), 11 * size_of::<T>() as u64 + 16);
    let leaves = Size(node) * (count / 5).saturating_add(1);
    leaves + Size(node + 96) * (count / 25).saturating_add(1)
}

/// That of a drive of this layout with such an interface.
pub(crate) fn of(layout: &Layout, interface: Size) -> Footprint {
    let slc = layout.slc_blocks_per_lane > 0;
    let parts = [
        Array::footprint(&layout.parts(), slc),
        (layout.ftl.footprint)(layout),
        cache::footprint(layout),
        interface,
        // What is moved at once, names, and the drive itself.
        grown::<[u64; 8]>(layout.slots_per_block()) + Size(16 << 10),
    ];
    let drive = parts.into_iter().fold(Size(0), Size::add);
    Footprint { drive: Bytes(drive.0), observers: Bytes(observe::footprint(layout).0) }
}
