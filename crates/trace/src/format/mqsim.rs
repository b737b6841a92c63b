//! `11413000 0 657728 16 1`: issue time in nanoseconds from the start of the trace; device; address
//! and length in sectors of 512 bytes; 1 for a read and 0 for a write.

use flashscope_block::{Nanos, Op};

use super::super::Request;
use super::super::error::Reason;
use super::super::reader::Options;
use super::super::text::{Fields, Output, TextFormat, checked};
use super::Format;

pub(super) const FORMAT: Format = Format::text::<MqSim>(
    "mqsim",
    "ASCII of the simulator MQSim; a trace of SSDSim looks the same",
    "Tavakkol et al., FAST 2018; the traces of MQSim's repository",
);

pub(super) struct MqSim {
    sector: u64,
}

impl TextFormat for MqSim {
    const HAS_INDEPENDENT_LINES: bool = true;

    fn new(options: &Options, _: &[u8]) -> Self {
        MqSim { sector: options.sector(512) }
    }

    #[inline]
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), Reason> {
        let mut fields = Fields::blank(line);
        let at = fields.number("the time").map(Nanos)?;
        let device = fields.digits("the device")?;
        let offset = fields.bytes("the address", self.sector)?;
        let len = fields.bytes("the length", self.sector)?;
        let op = fields.op("the operation", &[("1", Op::Read), ("0", Op::Write)])?;
        fields.end()?;
        let request = checked(Request { at, latency: None, offset, len, volume: 0, op })?;
        out.push_of(device, request);
        Ok(())
    }
}
