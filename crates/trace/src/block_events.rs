//! Builds requests from events of the Linux block layer, as blktrace records them.

use std::collections::BTreeMap;

use flashscope_block::{Bytes, Nanos, Op};

use super::pairing::Pairing;
use super::{Request, VolumeId};

/// Builds the requests of a trace from its events, in order.
///
/// A request begins at its issue to the driver (event D). Its latency is the time until its
/// completion (C). A requeued request (R) counts when it is issued again. Stacked devices without a
/// queue (device mapper, RAID, some RAM disks) emit no D event: if no D precedes a device's first
/// C, its queued requests (Q) count instead.
#[derive(Debug, Default)]
pub(super) struct BlockEvents {
    pairing: Pairing,
    /// The events that count for each device, indexed by volume.
    devices: Vec<Requests>,
    /// The undecided devices with queued requests, by the number of their first queued request.
    undecided: BTreeMap<u64, VolumeId>,
}

/// The events that stand for the requests of a device.
#[derive(Debug)]
enum Requests {
    /// Not decided yet. Holds the numbers that [`Pairing`] assigned to the requests queued until
    /// now.
    Undecided(Vec<u64>),
    Queued,
    Issued,
}

impl BlockEvents {
    /// Handles event Q: a request was queued.
    pub(super) fn queued(&mut self, request: Request, out: &mut Vec<Request>) {
        let volume = request.volume;
        if matches!(self.device(volume), Requests::Issued) {
            return;
        }
        let pushed = self.push(request, out);
        if let Requests::Undecided(queued) = self.device(volume) {
            queued.push(pushed);
            if queued.len() == 1 {
                self.undecided.insert(pushed, volume);
            }
        }
    }

    /// Handles event D: a request was issued to the driver.
    pub(super) fn issued(&mut self, request: Request, out: &mut Vec<Request>) {
        if matches!(self.device(request.volume), Requests::Queued) {
            return;
        }
        for number in self.decide(request.volume, Requests::Issued) {
            self.pairing.withdraw(number);
        }
        self.push(request, out);
    }

    /// Handles event R: a request was put back into the queue.
    pub(super) fn requeued(&mut self, volume: VolumeId, offset: Bytes, op: Op) {
        if matches!(self.device(volume), Requests::Issued) {
            self.pairing.taken_back(volume, offset, op);
        }
    }

    /// Handles event C: a request completed at this time.
    pub(super) fn completed(
        &mut self,
        volume: VolumeId,
        offset: Bytes,
        op: Op,
        at: Nanos,
        out: &mut Vec<Request>,
    ) {
        let found = self.pairing.answered(volume, offset, op, at, out);
        if found && matches!(self.device(volume), Requests::Undecided(_)) {
            self.decide(volume, Requests::Queued);
        }
    }

    /// Ends the trace and emits all pending requests.
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

    /// Records which events count for a device, and returns the numbers of the requests queued
    /// before this decision.
    fn decide(&mut self, volume: VolumeId, known: Requests) -> Vec<u64> {
        match std::mem::replace(self.device(volume), known) {
            Requests::Undecided(queued) => {
                if let Some(first) = queued.first() {
                    self.undecided.remove(first);
                }
                queued
            }
            _ => Vec::new(),
        }
    }

    fn push(&mut self, request: Request, out: &mut Vec<Request>) -> u64 {
        // The push may emit the oldest queued request of an undecided device. A later event D could
        // not withdraw it, hence queued requests count for this device from now on.
        let given = self.pairing.next_evicted();
        let volume = given.and_then(|number| self.undecided.get(&number).copied());
        if let Some(volume) = volume {
            self.decide(volume, Requests::Queued);
        }
        self.pairing.issued(request, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(volume: VolumeId, at: u64) -> Request {
        let (at, offset) = (Nanos(at), Bytes(at * 512));
        Request { at, latency: None, offset, len: Bytes(512), volume, op: Op::Read }
    }

    fn told(requests: &[Request]) -> Vec<(VolumeId, u64, Option<u64>)> {
        requests.iter().map(|r| (r.volume, r.at.0, r.latency.map(|latency| latency.0))).collect()
    }

    // Issued requests count on devices with a driver queue, and queued requests on all others.
    #[test]
    fn requests_are_issued_or_queued() {
        let (mut events, mut out) = (BlockEvents::default(), Vec::new());
        for at in 0..3 {
            events.queued(request(0, at), &mut out);
            events.queued(request(1, at), &mut out);
        }
        events.issued(Request { at: Nanos(5), ..request(0, 0) }, &mut out);
        events.requeued(0, Bytes(0), Op::Read);
        events.issued(Request { at: Nanos(6), ..request(0, 0) }, &mut out);
        events.completed(0, Bytes(0), Op::Read, Nanos(10), &mut out);
        events.completed(1, Bytes(512), Op::Read, Nanos(11), &mut out);
        events.issued(request(1, 2), &mut out);
        events.queued(request(0, 9), &mut out);
        events.end(&mut out);
        let wanted = [(1, 0, None), (1, 1, Some(10)), (1, 2, None), (0, 6, Some(4))];
        assert_eq!(told(&out), wanted);
    }

    // Queued requests of a device without further events are emitted, in a time independent of the
    // number of such devices.
    #[test]
    fn the_undecided_are_given() {
        let (mut events, mut out) = (BlockEvents::default(), Vec::new());
        for at in 0..20_000 {
            events.queued(request(at % 10_000, u64::from(at)), &mut out);
        }
        assert!(out.len() > 15_000 && events.undecided.is_empty());
        // An emitted request cannot be withdrawn: the device counts queued requests.
        events.issued(request(0, 1), &mut out);
        events.end(&mut out);
        assert!(out.iter().map(|request| request.at.0).eq(0..20_000));
    }
}
