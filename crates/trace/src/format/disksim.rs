//! `13.191135 30 0 5 1`: issue time in milliseconds from the start of the trace; device; address
//! and length in blocks of 512 bytes; hexadecimal flags, where bit 0 marks a read.

use flashscope_block::Op;

use super::super::Request;
use super::super::error::Reason;
use super::super::reader::Options;
use super::super::text::{Fields, Output, TextFormat, checked, hexadecimal, shown};
use super::Format;

pub(super) const FORMAT: Format = Format::text::<DiskSim>(
    "disksim",
    "DiskSim's default ASCII",
    "Bucy et al., The DiskSim Simulation Environment Version 4.0, CMU-PDL-08-101, section 3.4",
);

/// The bit of the flags that marks a read.
const READ: u64 = 1;

struct DiskSim {
    block: u64,
}

impl TextFormat for DiskSim {
    fn new(options: &Options, _: &[u8]) -> Self {
        DiskSim { block: options.sector(512) }
    }

    #[inline]
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), Reason> {
        let mut fields = Fields::blank(line);
        let at = fields.time("the time", 1_000_000)?;
        let device = fields.digits("the device")?;
        let offset = fields.bytes("the address", self.block)?;
        let len = fields.bytes("the length", self.block)?;
        let op = operation(fields.text("the flags")?)?;
        fields.end()?;
        let request = checked(Request { at, latency: None, offset, len, volume: 0, op })?;
        out.push_of(device, request);
        Ok(())
    }
}

#[inline]
fn operation(flags: &[u8]) -> Result<Op, Reason> {
    let flags = hexadecimal(flags).ok_or_else(|| {
        Reason::new(format!("the flags are `{}`, not a hexadecimal number", shown(flags)))
    })?;
    Ok(if flags & READ == 0 { Op::Write } else { Op::Read })
}
