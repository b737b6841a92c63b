//! Computes the memory of a simulated drive before any of it is allocated. Each part of a drive
//! states its need beside its allocation. Sums saturate instead of overflowing.

use std::ops::{Add, Mul};

use flashscope_block::Bytes;

/// The maximum memory of a drive, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Footprint {
    /// The memory of the drive when it is full, without the records needed to undo commands after
    /// a power cut.
    pub drive: Bytes,
    /// The memory of all observers that produce a report.
    pub observers: Bytes,
}

impl Footprint {
    /// Returns the memory of the drive and its observers together.
    pub const fn total(&self) -> Bytes {
        Bytes(self.drive.0.saturating_add(self.observers.0))
    }

    /// Returns this footprint with `more` added to the drive.
    pub(crate) fn and(&self, more: Size) -> Footprint {
        Footprint { drive: Bytes((Size(self.drive.0) + more).0), ..*self }
    }

    /// Returns the footprint of an array of `drives` drives that each have this footprint.
    pub(crate) const fn times(&self, drives: u32) -> Footprint {
        Footprint {
            drive: Bytes(self.drive.0.saturating_mul(drives as u64)),
            observers: Bytes(self.observers.0.saturating_mul(drives as u64)),
        }
    }
}

/// A number of bytes. Sums and products saturate instead of overflowing.
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

/// Returns the size of a vector of `count` items that is allocated at its final length.
pub(crate) fn fixed<T>(count: impl Into<u64>) -> Size {
    Size(size_of::<T>() as u64) * count.into()
}

/// Returns the size of a vector or queue that grows item by item to `count`. Its capacity doubles
/// from 4.
pub(crate) fn grown<T>(count: impl Into<u64>) -> Size {
    fixed::<T>(count.into().saturating_mul(2).saturating_add(4))
}

/// Returns the size of an ordered set or map of the standard library with `count` entries of type
/// `T`. Assumes half-full nodes. Each node has room for 11 entries, and each inner node for 12
/// children.
pub(crate) fn tree<T>(count: impl Into<u64>) -> Size {
    let (count, node) = (count.into(), 11 * size_of::<T>() as u64 + 16);
    let leaves = Size(node) * (count / 5).saturating_add(1);
    leaves + Size(node + 96) * (count / 25).saturating_add(1)
}
