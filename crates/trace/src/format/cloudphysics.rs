//! `1,5633898,2a,512,42932745`: version; issue time in seconds (whole seconds in the published
//! traces); hexadecimal operation code of the SCSI command; size in bytes; logical block number in
//! blocks of 512 bytes. The first line names the columns.
//!
//! The format is a text export of `vscsi` with coarser times.

use super::super::Request;
use super::super::error::Reason;
use super::super::reader::Options;
use super::super::text::{Fields, Output, TextFormat, hexadecimal, shown};
use super::{Format, scsi};

pub(super) const FORMAT: Format = Format::text::<CloudPhysics>(
    "cloudphysics",
    "CSV of the SCSI commands of virtual machines (CloudPhysics), in whole seconds",
    "Waldspurger et al., FAST 2015; the data of 1a1a11a/libCacheSim",
);

const HEADER: &[u8] = b"version,time,op,size,lbn";

struct CloudPhysics {
    block: u64,
}

impl TextFormat for CloudPhysics {
    fn new(options: &Options, _: &[u8]) -> Self {
        CloudPhysics { block: options.sector(512) }
    }

    #[inline]
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), Reason> {
        if line == HEADER {
            return Ok(());
        }
        let mut fields = Fields::separated(line, b',');
        fields.number("the version")?;
        let at = fields.time("the time", 1_000_000_000)?;
        let code = fields.text("the operation code")?;
        let len = fields.bytes("the size", 1)?;
        let offset = fields.bytes("the block number", self.block)?;
        fields.end()?;
        let code = hexadecimal(code).ok_or_else(|| {
            let reason = format!("the operation code is `{}`: not hexadecimal", shown(code));
            Reason::new(reason)
        })?;
        if let Some(op) = scsi::operation(code)? {
            let noted = Request { at, latency: None, offset, len, volume: 0, op };
            out.push_of(b"0", scsi::request(noted, self.block)?);
        }
        Ok(())
    }
}
