//! `128166372003061629,hm,1,Read,383496192,32768,413`: issue time in units of 100 ns since 1601;
//! host; disk; operation; offset and size in bytes; response time in units of 100 ns.

use flashscope_block::{Nanos, Op};

use super::super::error::Reason;
use super::super::reader::Options;
use super::super::text::{Fields, Output, TextFormat, checked};
use super::super::{Request, VolumeId, Volumes};
use super::Format;

pub(super) const FORMAT: Format = Format::text::<Msr>(
    "msr",
    "CSV of Microsoft Research Cambridge, with response times",
    "Narayanan, Donnelly and Rowstron, FAST 2008; SNIA IOTTA repository, set 388",
);

/// The time from 1601, the Windows epoch, to 1970, the Unix epoch, in units of 100 ns.
pub(in super::super) const UNIX_EPOCH: u64 = 116_444_736_000_000_000;

/// A volume's name is host and disk, such as `hm_1`, as in the names of the published files.
#[derive(Default)]
struct Msr {
    /// The host and disk fields of the last line.
    last: Vec<u8>,
    /// The number of the volume of these fields.
    volume: VolumeId,
}

impl TextFormat for Msr {
    const HAS_INDEPENDENT_LINES: bool = true;

    fn new(_: &Options, _: &[u8]) -> Self {
        Msr::default()
    }

    #[inline]
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), Reason> {
        let mut fields = Fields::separated(line, b',');
        let time = fields.number("the time")?;
        let time = time.checked_sub(UNIX_EPOCH).and_then(|time| time.checked_mul(100));
        let at = time.ok_or_else(|| {
            Reason::new(
                "the time is not between 1970 and 2554: it counts units of 100 ns from 1601",
            )
        })?;
        let (host, disk) = (fields.text("the host")?, fields.text("the disk")?);
        let op = fields.op("the operation", &[("Read", Op::Read), ("Write", Op::Write)])?;
        let offset = fields.bytes("the offset", 1)?;
        let len = fields.bytes("the size", 1)?;
        let latency = fields.number("the response time")?.checked_mul(100).map(Nanos);
        fields.end()?;
        let volume = self.volume(host, disk, &mut out.volumes);
        out.requests.push(checked(Request { at: Nanos(at), latency, offset, len, volume, op })?);
        Ok(())
    }
}

impl Msr {
    #[inline]
    fn volume(&mut self, host: &[u8], disk: &[u8], volumes: &mut Volumes) -> VolumeId {
        let same = self.last.len() == host.len() + 1 + disk.len()
            && self.last.starts_with(host)
            && self.last.ends_with(disk);
        if !same || volumes.is_empty() {
            self.last = [host, disk].join(&b'_');
            self.volume = volumes.id(&self.last);
        }
        self.volume
    }
}
