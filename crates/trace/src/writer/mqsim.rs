use flashscope_block::{Nanos, Op};

use super::super::{Error, Request, Volumes};
use super::text::{SECTOR, Text};
use super::{Kind, OmissionCounts, Writer};

/// `NANOSECONDS DEVICE SECTOR SECTORS TYPE`, with type 1 for a read and 0 for a write. Times are
/// relative to the first request. Unaligned requests grow to whole sectors.
pub(super) const KIND: Kind = Kind {
    name: "mqsim",
    summary: "input of the simulators MQSim and SSDSim: no trims, no flushes, no latencies",
    extensions: &[".mqsim", ".trace", ".ascii"],
    open: |output| Ok(Box::new(MqSim { text: Text::new(output), first: None })),
};

struct MqSim {
    text: Text,
    first: Option<Nanos>,
}

impl Writer for MqSim {
    fn write(&mut self, batch: &[Request], _: &Volumes) -> Result<(), Error> {
        for request in batch {
            let kind = match request.op {
                Op::Read => " 1",
                Op::Write => " 0",
                Op::Trim | Op::Flush => {
                    self.text.lost.requests += 1;
                    continue;
                }
            };
            let first = *self.first.get_or_insert(request.at);
            let (start, end) = (request.offset.0 / SECTOR, request.end().0.div_ceil(SECTOR));
            let whole = (end - start) * SECTOR == request.len.0;
            self.text.lost.widened += u64::from(!whole);
            self.text.lost.latencies += u64::from(request.latency.is_some());
            let text = self.text.number(request.at.0.saturating_sub(first.0)).text(" ");
            let text = text.number(request.volume.into()).text(" ").number(start).text(" ");
            text.number(end - start).text(kind).end()?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>, _: &Volumes) -> Result<(), Error> {
        self.text.finish()
    }

    fn lost(&self) -> OmissionCounts {
        self.text.lost
    }
}
