//! The default output of `blkparse`, without `-f`: `  8,33   4        1     0.000000000  3922  D
//! R 540544 + 8 [kworker/4:1]`: device; processor; event number; time in seconds from the start of
//! the trace; process; event; request kind (`RWBS`); first sector and number of sectors of 512
//! bytes; process name. A completion ends with its error in brackets.
//!
//! [`BlockEvents`] selects the events that stand for requests: issues (D), or queued requests (Q)
//! on devices without issues. The parser skips events of other kinds, passthrough commands (`R 36
//! (12 01 ..)`, `N 0`), and the summary at the end.
//!
//! The operation is the first letter of `RWBS`, or the second after a leading `F`: `R`ead, `W`rite,
//! `D`iscard, `N`one. A leading `F` requests a flush, alone if there are no sectors, else before
//! the write. An `F` after `W` requests that the data reach the medium (FUA). Both kinds of write
//! count as writes.

use flashscope_block::{Bytes, Op};

use super::super::Request;
use super::super::block_events::BlockEvents;
use super::super::error::Reason;
use super::super::reader::Options;
use super::super::text::{Fields, Output, TextFormat, checked, shown};
use super::Format;

pub(super) const FORMAT: Format = Format::text::<Blkparse>(
    "blkparse",
    "text output of blkparse on Linux, with response times",
    "Brunelle, blktrace User Guide, 2007, section 7; blkparse(1)",
);

struct Blkparse {
    sector: u64,
    events: BlockEvents,
    /// True inside a summary: skip text lines until the next event (of another file).
    in_summary: bool,
}

impl TextFormat for Blkparse {
    fn new(options: &Options, _: &[u8]) -> Self {
        let sector = options.sector(512);
        Blkparse { sector, events: BlockEvents::default(), in_summary: false }
    }

    #[inline]
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), Reason> {
        let start = line.trim_ascii_start();
        if start.first().is_some_and(u8::is_ascii_digit) {
            self.in_summary = false;
            return self.event(start, out);
        }
        self.in_summary |= SUMMARY.iter().any(|word| start.starts_with(word));
        if self.in_summary || start.starts_with(INPUT) {
            return Ok(());
        }
        Err(Reason::new(format!("`{}` is neither an event nor a summary", shown(start))))
    }

    fn end(&mut self, out: &mut Output) {
        self.events.end(&mut out.requests);
    }
}

/// The first words of a summary: per processor, in total, or with both disabled.
const SUMMARY: [&[u8]; 3] = [b"CPU", b"Total (", b"Throughput (R/W)"];

/// The start of the line by which blkparse names an input other than standard input.
const INPUT: &[u8] = b"Input file ";

impl Blkparse {
    #[inline]
    fn event(&mut self, line: &[u8], out: &mut Output) -> Result<(), Reason> {
        let mut fields = Fields::blank(line);
        let device = fields.text("the device")?;
        if !is_device(device) {
            let reason = format!("the device is `{}`, not two numbers with a comma", shown(device));
            return Err(Reason::new(reason));
        }
        fields.number("the processor")?;
        fields.number("the number of the event")?;
        let at = fields.time("the time", 1_000_000_000)?;
        fields.number("the process")?;
        let event = fields.text("the event")?;
        if !matches!(event, b"Q" | b"D" | b"R" | b"C") {
            return Ok(());
        }
        let Some((op, offset, len)) = self.asked(&mut fields)? else { return Ok(()) };
        let request = checked(Request { at, latency: None, offset, len, volume: 0, op })?;
        self.request(event, Request { volume: out.volumes.id(device), ..request }, out);
        Ok(())
    }

    fn request(&mut self, event: &[u8], request: Request, out: &mut Output) {
        let (events, out) = (&mut self.events, &mut out.requests);
        let Request { volume, offset, op, at, .. } = request;
        match event {
            b"Q" => events.queued(request, out),
            b"D" => events.issued(request, out),
            b"R" => events.requeued(volume, offset, op),
            _ => events.completed(volume, offset, op, at, out),
        }
    }

    /// Parses the operation and range of a request.
    #[inline]
    fn asked(&self, fields: &mut Fields) -> Result<Option<(Op, Bytes, Bytes)>, Reason> {
        let kind = fields.text("the kind (RWBS)")?;
        let flush = kind.contains(&b'F') || kind.contains(&b'B');
        let no_sectors = flush.then_some((Op::Flush, Bytes(0), Bytes(0)));
        // Without sectors, the process name or the error of a completion follows.
        if !fields.number_follows() {
            return fields.text("what follows the kind").map(|_| no_sectors);
        }
        let offset = fields.number("the first sector")?;
        if fields.text("the number of sectors")? != b"+" {
            // Skip the length of a passthrough command, or the position of a completed flush.
            return Ok(no_sectors);
        }
        let len = fields.bytes("the number of sectors", self.sector)?;
        // In a truncated line, the number may be truncated, too.
        fields.text("the process after the sectors")?;
        if len.0 == 0 && flush {
            return Ok(no_sectors);
        }
        let offset = offset.checked_mul(self.sector).map(Bytes);
        let offset = offset.ok_or_else(|| Reason::new("it begins beyond 2^64 bytes"))?;
        Ok(operation(kind)?.map(|op| (op, offset, len)))
    }
}

/// Returns true if the text is a device's major and minor number.
#[inline]
fn is_device(text: &[u8]) -> bool {
    let mut numbers = text.split(|byte| *byte == b',');
    let is_number =
        |text: &[u8]| matches!(text.len(), 1..=10) && text.iter().all(u8::is_ascii_digit);
    numbers.by_ref().take(2).filter(|number| is_number(number)).count() == 2
        && numbers.next().is_none()
}

/// Returns the operation that the letters request on sectors.
#[inline]
fn operation(kind: &[u8]) -> Result<Option<Op>, Reason> {
    match kind.strip_prefix(b"F").unwrap_or(kind) {
        [b'R', ..] => Ok(Some(Op::Read)),
        [b'W', ..] => Ok(Some(Op::Write)),
        [b'D', ..] => Ok(Some(Op::Trim)),
        [b'N' | b'Z', ..] => Ok(None),
        _ => Err(Reason::new(format!(
            "the kind (RWBS) is `{}`, not one of R, W, D, F, N",
            shown(kind)
        ))),
    }
}
