//! `223.412 0 3159347200 36864 0`: issue time in milliseconds from the start of the trace; disk
//! (0); offset and size in bytes; 1 for a read and 0 for a write.
//!
//! [DiskSim](super::disksim) has the same five columns in other units. The detection chooses this
//! format if every size in the first lines is a multiple of 512: sizes in bytes are such multiples,
//! but counts of blocks are not.

use flashscope_block::Op;

use super::super::Request;
use super::super::error::Reason;
use super::super::reader::Options;
use super::super::text::{Fields, Output, TextFormat, checked};
use super::Format;

pub(super) const FORMAT: Format = Format::text::<Heimdall>(
    "heimdall",
    "five columns in milliseconds and bytes, of Heimdall, FlashNet and their replayer",
    "Kurniawan et al., EuroSys 2025; README of huaicheng/replayer",
);

struct Heimdall;

impl TextFormat for Heimdall {
    fn new(_: &Options, _: &[u8]) -> Self {
        Heimdall
    }

    #[inline]
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), Reason> {
        let mut fields = Fields::blank(line);
        let at = fields.time("the time", 1_000_000)?;
        let disk = fields.digits("the disk")?;
        let offset = fields.bytes("the offset", 1)?;
        let len = fields.bytes("the size", 1)?;
        let op = fields.op("the operation", &[("1", Op::Read), ("0", Op::Write)])?;
        fields.end()?;
        let request = checked(Request { at, latency: None, offset, len, volume: 0, op })?;
        out.push_of(disk, request);
        Ok(())
    }

    fn plausible(requests: &[Request]) -> bool {
        requests.iter().all(|request| request.len.0 % 512 == 0)
    }
}
