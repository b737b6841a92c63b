//! `1456095145.133076000,0.000806000,R,0,899056122368,131072`: issue time in seconds since 1970;
//! response time in seconds, empty if unknown; `R` or `W`; LUN; offset and size in bytes. The first
//! line names the columns.
//!
//! Lines are in order of completion: the sum of issue and response time never decreases, but the
//! issue times alone are not sorted.

use flashscope_block::Op;

use super::super::Request;
use super::super::error::Reason;
use super::super::reader::Options;
use super::super::text::{Fields, Output, TextFormat, checked};
use super::Format;

pub(super) const FORMAT: Format = Format::text::<Systor>(
    "systor",
    "CSV of SYSTOR'17 (virtual desktops), with response times, in the order of completion",
    "Lee et al., SYSTOR 2017; SNIA IOTTA repository, Systor '17 Traces",
);

const HEADER: &[u8] = b"Timestamp,Response,IOType,LUN,Offset,Size";

const SECOND: u64 = 1_000_000_000;

struct Systor;

impl TextFormat for Systor {
    const HAS_INDEPENDENT_LINES: bool = true;

    fn new(_: &Options, _: &[u8]) -> Self {
        Systor
    }

    #[inline]
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), Reason> {
        if line == HEADER {
            return Ok(());
        }
        let mut fields = Fields::separated(line, b',');
        let at = fields.time("the time", SECOND)?;
        let latency = fields.time_or_empty("the response time", SECOND)?;
        let op = fields.op("the operation", &[("R", Op::Read), ("W", Op::Write)])?;
        let lun = fields.digits("the LUN")?;
        let offset = fields.bytes("the offset", 1)?;
        let len = fields.bytes("the size", 1)?;
        fields.end()?;
        let request = checked(Request { at, latency, offset, len, volume: 0, op })?;
        out.push_of(lun, request);
        Ok(())
    }
}
