//! `0,20941264,8192,W,0.551706`: application-specific unit (a volume); address in blocks of 512
//! bytes; size in bytes; `R` or `W` in either case; issue time in seconds from the start of the
//! trace. The parser ignores further fields, which are application-specific.

use flashscope_block::Op;

use super::super::Request;
use super::super::error::Reason;
use super::super::reader::Options;
use super::super::text::{Fields, Output, TextFormat, checked};
use super::Format;

pub(super) const FORMAT: Format = Format::text::<Spc>(
    "spc",
    "Storage Performance Council's ASCII, as in the UMass repository (Financial, WebSearch)",
    "SPC Trace File Format Specification, revision 1.0.1; UMass Trace Repository",
);

struct Spc {
    sector: u64,
}

impl TextFormat for Spc {
    const HAS_INDEPENDENT_LINES: bool = true;

    fn new(options: &Options, _: &[u8]) -> Self {
        Spc { sector: options.sector(512) }
    }

    #[inline]
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), Reason> {
        let mut fields = Fields::separated(line, b',');
        let unit = fields.digits("the unit (ASU)")?;
        let offset = fields.bytes("the address", self.sector)?;
        let len = fields.bytes("the size", 1)?;
        let op = fields.op("the operation", &[("R", Op::Read), ("W", Op::Write)])?;
        let at = fields.time("the time", 1_000_000_000)?;
        let request = checked(Request { at, latency: None, offset, len, volume: 0, op })?;
        out.push_of(unit, request);
        Ok(())
    }
}
