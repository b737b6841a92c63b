//! Requests from the events of Linux' block layer, as blktrace records them.

use flashscope_block::{Bytes, Nanos, Op};

use super::pairing::Pairing;
use super::{Request, VolumeId};

/// Takes the events of a trace, in order, and gives its requests.
///
/// A request is what was issued to the driver (event D), and its latency is the time to its
/// completion (C); one that was put back into the queue (requeue, R) counts when it is issued
/// again. Devices without a queue of their own (device mapper, RAID, some in memory) issue nothing:
/// on a device without D before the first completion, requests are what was queued (Q).
#[derive(Debug, Default)]
pub(super) struct BlockEvents {
    pairing: Pairing,
    /// By volume.
    devices: Vec<Requests>,
}

/// Which events are the requests of a device.
#[derive(Debug)]
enum Requests {
    /// That is not known yet: these were queued so far, by their numbers in the pairing.
    Undecided(Vec<u64>),
    Queued,
    Issued,
}

impl BlockEvents {
    /// Q: a request was queued.
    pub(super) fn queued(&mut self, request: Request, out: &mut Vec<Request>) {
        if matches!(self.device(request.volume), Requests::Issued) {
            return;
        }
        let pushed = self.push(request, out);
        if let Requests::Undecided(queued) = self.device(request.volume) {
            queued.push(pushed);
        }
    }

    /// D: a request was issued to the driver.
    pub(super) fn issued(&mut self, request: Request, out: &mut Vec<Request>) {
        let requests = self.device(request.volume);
        match requests {
            Requests::Queued => return,
            Requests::Issued => {}
            Requests::Undecided(queued) => {
                let queued = std::mem::take(queued);
                *requests = Requests::Issued;
                queued.into_iter().for_each(|number| self.pairing.withdraw(number));
            }
        }
        self.push(request, out);
    }

    /// R: a request was put back into the queue.
    pub(super) fn requeued(&mut self, volume: VolumeId, offset: Bytes, op: Op) {
        if matches!(self.device(volume), Requests::Issued) {
            self.pairing.taken_back(volume, offset, op);
        }
    }

    /// C: a request was completed at that time.
    pub(super) fn completed(
        &mut self,
        volume: VolumeId,
        offset: Bytes,
        op: Op,
        at: Nanos,
        out: &mut Vec<Request>,
    ) {
        let found = self.pairing.answered(volume, offset, op, at, out);
        let requests = self.device(volume);
        if found && matches!(requests, Requests::Undecided(_)) {
            *requests = Requests::Queued;
        }
    }

    /// The trace is at its end: gives what was held back.
    pub(super) fn end(&mut self, out: &mut Vec<Request>) {
        self.pairing.end(out);
    }

    fn device(&mut self, volume: VolumeId) -> &mut Requests {
        let index = volume as usize;
        if index >= self.devices.len() {
            self.devices.resize_with(index + 1, || Requests::Undecided(Vec::new()));
        }
        &mut self.devices[index]
    }

    fn push(&mut self, request: Request, out: &mut Vec<Request>) -> u64 {
        // One that is given can no longer turn out to be none.
        if let Some(oldest) = self.pairing.pushed_out_next() {
            for requests in &mut self.devices {
                if matches!(requests, Requests::Undecided(queued) if queued.first() == Some(&oldest))
                {
                    *requests = Requests::Queued;
                }
            }
        }
        self.pairing.issued(request, out)
    }
}
