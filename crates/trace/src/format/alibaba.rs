//! `419,W,1050357760,16384,1577808000000626`: device; `R` or `W`; offset and length in bytes; issue
//! time in microseconds since 1970.

use flashscope_block::Op;

use super::super::Request;
use super::super::error::Reason;
use super::super::reader::Options;
use super::super::text::{Fields, Output, TextFormat, checked};
use super::Format;

pub(super) const FORMAT: Format = Format::text::<Alibaba>(
    "alibaba",
    "CSV of Alibaba's block storage",
    "Li et al., IISWC 2020; README of alibaba/block-traces",
);

/// The header that some copies contain.
const HEADER: &[u8] = b"device_id,opcode,offset,length,timestamp";

struct Alibaba;

impl TextFormat for Alibaba {
    const HAS_INDEPENDENT_LINES: bool = true;

    fn new(_: &Options, _: &[u8]) -> Self {
        Alibaba
    }

    #[inline]
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), Reason> {
        if line == HEADER {
            return Ok(());
        }
        let mut fields = Fields::separated(line, b',');
        let device = fields.digits("the device")?;
        let op = fields.op("the operation", &[("R", Op::Read), ("W", Op::Write)])?;
        let offset = fields.bytes("the offset", 1)?;
        let len = fields.bytes("the length", 1)?;
        let at = fields.time("the time", 1_000)?;
        fields.end()?;
        let request = checked(Request { at, latency: None, offset, len, volume: 0, op })?;
        out.push_of(device, request);
        Ok(())
    }
}
