//! `909 D write 134217728 4096 0.023623389 0.023623389 False`: process; `D` for an issue to the
//! drive or `C` for a completion; operation; offset and size in bytes; time in seconds from the
//! start of the trace; seconds since the previous line; `True` if the request was synchronous.
//!
//! A request has a latency if the trace contains both its issue and its completion.
//!
//! Offsets are relative to the traced partition. They are negative for requests before it, such as
//! those for the partition table. These requests go to a separate volume, `before`, whose addresses
//! count backwards from the start of the partition.

use flashscope_block::{Bytes, Op};

use super::super::Request;
use super::super::error::Reason;
use super::super::pairing::Pairing;
use super::super::reader::Options;
use super::super::text::{Fields, Output, TextFormat, checked, shown};
use super::Format;

pub(super) const FORMAT: Format = Format::text::<WiscSee>(
    "wiscsee",
    "events of the simulator WiscSee (ftlsim), with discards, and with latencies if it has \
     completions",
    "He et al., EuroSys 2017; the test data of junhe/wiscsee",
);

const OPERATIONS: &[(&str, Op)] =
    &[("read", Op::Read), ("write", Op::Write), ("discard", Op::Trim)];

#[derive(Default)]
struct WiscSee {
    pairing: Pairing,
}

impl TextFormat for WiscSee {
    fn new(_: &Options, _: &[u8]) -> Self {
        WiscSee::default()
    }

    #[inline]
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), Reason> {
        let mut fields = Fields::blank(line);
        fields.number("the process")?;
        let action = fields.text("the action")?;
        let op = fields.op("the operation", OPERATIONS)?;
        let offset = fields.text("the offset")?;
        let len = fields.bytes("the size", 1)?;
        let at = fields.time("the time", 1_000_000_000)?;
        fields.text("the time since the line before")?;
        if !matches!(fields.text("whether it was synchronous")?, b"True" | b"False") {
            return Err(Reason::new("it does not end with True or False: it may be cut off"));
        }
        fields.end()?;
        let (volume, offset) = match offset.strip_prefix(b"-") {
            None => (&b"0"[..], Fields::blank(offset).bytes("the offset", 1)?),
            Some(before) => (&b"before"[..], mirrored(before, len)?),
        };
        let volume = out.volumes.id(volume);
        let request = checked(Request { at, latency: None, offset, len, volume, op })?;
        match action {
            b"D" => {
                self.pairing.issued(request, &mut out.requests);
            }
            b"C" => {
                self.pairing.answered(volume, offset, op, at, &mut out.requests);
            }
            other => {
                let reason = format!("the action is `{}`, not one of D, C", shown(other));
                return Err(Reason::new(reason));
            }
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Output) {
        self.pairing.end(&mut out.requests);
    }
}

/// Returns the offset in the volume `before` of a request that begins `before` bytes ahead of the
/// partition: the distance of its end from the start of the partition.
#[cold]
fn mirrored(before: &[u8], len: Bytes) -> Result<Bytes, Reason> {
    let before = Fields::blank(before).bytes("the offset", 1)?;
    let end = before.0.checked_sub(len.0).map(Bytes);
    end.ok_or_else(|| Reason::new("it begins before the partition and ends within it"))
}
