use flashscope_block::{Errno, Nanos};

use super::{AnyBuffer, Buffer, Kind};
use crate::footprint::Size;
use crate::ftl::{Ftl, Slice};
use crate::nand::{Array, Lpn};

pub(super) const KIND: Kind = Kind {
    name: "none",
    summary: "no write buffer: a write is acknowledged when it is on flash",
    source: "Agrawal et al., USENIX ATC'08, whose simulator has no write buffer",
    new: |_| AnyBuffer::PassThrough(PassThrough),
    footprint: |_| Size(0),
};

/// A buffer without memory, which passes writes and trims on to the FTL.
pub struct PassThrough;

impl Buffer for PassThrough {
    fn begin<F: Ftl>(&mut self, _ftl: &mut F, _nand: &mut Array, _at: Nanos) {}

    fn write<F: Ftl>(
        &mut self,
        ftl: &mut F,
        nand: &mut Array,
        slice: Slice,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        ftl.write(nand, slice, at)
    }

    fn trim<F: Ftl>(
        &mut self,
        ftl: &mut F,
        nand: &mut Array,
        lpn: Lpn,
        at: Nanos,
    ) -> Result<(), Errno> {
        ftl.trim(nand, lpn, at)
    }

    /// Returns `at`: every acknowledged page is on flash already.
    fn flush<F: Ftl>(
        &mut self,
        _ftl: &mut F,
        _nand: &mut Array,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        Ok(at)
    }

    fn background<F: Ftl>(&mut self, _ftl: &mut F, _nand: &mut Array, _until: Nanos) -> Nanos {
        Nanos::MAX
    }

    fn holds(&self, _lpn: Lpn) -> bool {
        false
    }

    fn covers(&self, _slice: &Slice) -> bool {
        false
    }

    fn expect_power_cuts(&mut self) {}

    fn settle(&mut self, _nand: &Array, _now: Nanos) {}

    fn dirty(&self, _at: Nanos) -> Vec<Slice> {
        Vec::new()
    }

    fn clear(&mut self) {}
}
