//! `1538323200,4247200,128,1,1058`: issue time in seconds since 1970 (whole seconds in the
//! published files); offset and size in sectors of 512 bytes; 0 for a read and 1 for a write;
//! volume.

use flashscope_block::Op;

use super::super::Request;
use super::super::error::Reason;
use super::super::reader::Options;
use super::super::text::{Fields, Output, TextFormat, checked};
use super::Format;

pub(super) const FORMAT: Format = Format::text::<Tencent>(
    "tencent",
    "CSV of Tencent's block storage, in whole seconds",
    "Zhang et al., OSCA, USENIX ATC 2020; SNIA IOTTA repository, Tencent Block Storage Traces",
);

/// The header that some copies contain.
const HEADER: &[u8] = b"Timestamp,Offset,Size,IOType,VolumeID";

struct Tencent {
    sector: u64,
}

impl TextFormat for Tencent {
    const HAS_INDEPENDENT_LINES: bool = true;

    fn new(options: &Options, _: &[u8]) -> Self {
        Tencent { sector: options.sector(512) }
    }

    #[inline]
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), Reason> {
        if line == HEADER {
            return Ok(());
        }
        let mut fields = Fields::separated(line, b',');
        let at = fields.time("the time", 1_000_000_000)?;
        let offset = fields.bytes("the offset", self.sector)?;
        let len = fields.bytes("the size", self.sector)?;
        let op = fields.op("the operation", &[("0", Op::Read), ("1", Op::Write)])?;
        let volume = fields.digits("the volume")?;
        fields.end()?;
        let request = checked(Request { at, latency: None, offset, len, volume: 0, op })?;
        out.push_of(volume, request);
        Ok(())
    }
}
