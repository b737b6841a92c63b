//! `  8,33   4        1     0.000000000  3922  D   R 540544 + 8 [kworker/4:1]`: device; processor;
//! number of the event; time in seconds from the start of the trace; process; event; what kind of
//! request it is (`RWBS`); first sector and number of sectors of 512 bytes; name of the process.
//! After a completion stands its error, in brackets. What blkparse prints without `-f`.
//!
//! [`BlockEvents`] says which events are requests, and that they may be those of a queue (Q) where
//! none is issued (D). Events of other kinds hold no request, nor do commands that are passed
//! through to the drive (`R 36 (12 01 ..)`, `N 0`), nor the summary at the end.
//!
//! Of the letters of `RWBS`, the first, or the second after a leading `F`, says what is asked:
//! `R`ead, `W`rite, `D`iscard, `N`othing. `F` is a flush where there are no sectors; before a write
//! it asks for a flush first, behind it for the write to be on the medium (FUA): both are writes.

use flashscope_block::{Bytes, Op};

use super::super::Request;
use super::super::block_events::BlockEvents;
use super::super::error::Reason;
use super::super::reader::Options;
use super::super::text::{Fields, Output, TextFormat, checked, shown};
use super::Format;

pub(super) const FORMAT: Format = Format::text::<Blkparse>(
    "blkparse",
    "text of Linux' blkparse, with response times",
    "Brunelle, blktrace User Guide, 2007, section 7; blkparse(1)",
);

struct Blkparse {
    sector: u64,
    events: BlockEvents,
    /// The summary has begun: lines in words, up to the next event (of another file).
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

/// How summaries begin: that of a processor, that of all, and where both were asked not to be.
const SUMMARY: [&[u8]; 3] = [b"CPU", b"Total (", b"Throughput (R/W)"];

/// What blkparse says first of its input where that is not standard input.
const INPUT: &[u8] = b"Input file ";

impl Blkparse {
    #[inline]
    fn event(&mut self, line: &[u8], out: &mut Output) -> Result<(), Reason> {
        let mut fields = Fields::blank(line);
        let device = fields.text("the device")?;
        if !is_device(device) {
            let reason = format!("the device is `{}`, and not of two numbers", shown(device));
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

    /// What a request asks for and where.
    #[inline]
    fn asked(&self, fields: &mut Fields) -> Result<Option<(Op, Bytes, Bytes)>, Reason> {
        let kind = fields.text("the kind (RWBS)")?;
        let flush = kind.contains(&b'F') || kind.contains(&b'B');
        let no_sectors = flush.then_some((Op::Flush, Bytes(0), Bytes(0)));
        // Without sectors, the name of the process follows, or the error of a completion.
        if !fields.number_follows() {
            return fields.text("what follows the kind").map(|_| no_sectors);
        }
        let offset = fields.number("the first sector")?;
        if fields.text("the number of sectors")? != b"+" {
            // The length of what is passed through, or the place of a flush that was completed.
            return Ok(no_sectors);
        }
        let len = fields.bytes("the number of sectors", self.sector)?;
        // Where a line is cut off, the number may be, too.
        fields.text("the process after the sectors")?;
        if len.0 == 0 && flush {
            return Ok(no_sectors);
        }
        let offset = offset.checked_mul(self.sector).map(Bytes);
        let offset = offset.ok_or_else(|| Reason::new("it begins beyond 2^64 bytes"))?;
        Ok(operation(kind)?.map(|op| (op, offset, len)))
    }
}

/// Whether it is a device's major and minor number.
#[inline]
fn is_device(text: &[u8]) -> bool {
    let mut numbers = text.split(|byte| *byte == b',');
    let is_number =
        |text: &[u8]| matches!(text.len(), 1..=10) && text.iter().all(u8::is_ascii_digit);
    numbers.by_ref().take(2).filter(|number| is_number(number)).count() == 2
        && numbers.next().is_none()
}

/// What the letters ask to be done with sectors.
#[inline]
fn operation(kind: &[u8]) -> Result<Option<Op>, Reason> {
    match kind.strip_prefix(b"F").unwrap_or(kind) {
        [b'R', ..] => Ok(Some(Op::Read)),
        [b'W', ..] => Ok(Some(Op::Write)),
        [b'D', ..] => Ok(Some(Op::Trim)),
        [b'N' | b'Z', ..] => Ok(None),
        _ => Err(Reason::new(format!(
            "the kind (RWBS) is `{}`, and none of R, W, D, F, N",
            shown(kind)
        ))),
    }
}
