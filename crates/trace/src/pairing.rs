//! Pairs issues with completions, for formats that record them separately.

use std::collections::{BTreeMap, VecDeque};

use flashscope_block::{Bytes, Nanos, Op};

use super::{Request, VolumeId};

/// The maximum number of pending requests. After this many later issues, a request is emitted
/// without a latency.
const MAX_HELD: usize = 1 << 12;

/// Holds requests until their completions are known, and emits them in the order of issue.
#[derive(Debug, Default)]
pub(super) struct Pairing {
    held: VecDeque<HeldRequest>,
    /// The number of requests emitted or dropped, which is the number of the first held request.
    given: u64,
    /// The numbers of requests without a completion, by key, in the order of issue.
    waiting: BTreeMap<Key, VecDeque<u64>>,
}

/// The key that an issue and its completion share: volume, offset and operation code.
type Key = (VolumeId, Bytes, u8);

#[derive(Debug)]
struct HeldRequest {
    request: Request,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Answered,
    /// Withdrawn: it will not be emitted.
    Withdrawn,
}

fn key(request: &Request) -> Key {
    (request.volume, request.offset, request.op.code())
}

impl Pairing {
    /// Adds an issued request and returns its number. Emits to `out` the requests that no longer
    /// need to wait.
    pub(super) fn issued(&mut self, request: Request, out: &mut Vec<Request>) -> u64 {
        let number = self.given + self.held.len() as u64;
        self.waiting.entry(key(&request)).or_default().push_back(number);
        self.held.push_back(HeldRequest { request, state: State::Waiting });
        if self.held.len() > MAX_HELD {
            self.emit_first(out);
        }
        self.give_settled(out);
        number
    }

    /// Returns the number of the request that the next issue will evict, completed or not.
    pub(super) fn next_evicted(&self) -> Option<u64> {
        (self.held.len() >= MAX_HELD).then_some(self.given)
    }

    /// Completes the oldest pending request for this key. Returns false if there is none: it was
    /// issued before the trace began, or more than [`MAX_HELD`] requests ago.
    pub(super) fn answered(
        &mut self,
        volume: VolumeId,
        offset: Bytes,
        op: Op,
        at: Nanos,
        out: &mut Vec<Request>,
    ) -> bool {
        let Some(held) = self.oldest((volume, offset, op.code())) else { return false };
        held.state = State::Answered;
        held.request.latency = at.0.checked_sub(held.request.at.0).map(Nanos);
        self.give_settled(out);
        true
    }

    /// Withdraws the oldest request for this key; it will not be emitted.
    pub(super) fn taken_back(&mut self, volume: VolumeId, offset: Bytes, op: Op) {
        if let Some(held) = self.oldest((volume, offset, op.code())) {
            held.state = State::Withdrawn;
        }
    }

    /// Withdraws the request of this number if it is still held.
    pub(super) fn withdraw(&mut self, number: u64) {
        let Some(index) = self.index(number) else { return };
        let Some(held) = self.held.get_mut(index) else { return };
        if held.state == State::Waiting {
            held.state = State::Withdrawn;
            let key = key(&held.request);
            self.forget(key, number);
        }
    }

    /// Ends the trace and emits all requests held.
    pub(super) fn end(&mut self, out: &mut Vec<Request>) {
        while !self.held.is_empty() {
            self.emit_first(out);
        }
    }

    /// Marks the oldest pending request for this key as no longer pending, and returns it.
    fn oldest(&mut self, key: Key) -> Option<&mut HeldRequest> {
        let number = *self.waiting.get(&key)?.front()?;
        self.forget(key, number);
        let index = self.index(number)?;
        self.held.get_mut(index)
    }

    fn forget(&mut self, key: Key, number: u64) {
        let Some(numbers) = self.waiting.get_mut(&key) else { return };
        if numbers.front() == Some(&number) {
            numbers.pop_front();
        } else {
            numbers.retain(|other| *other != number);
        }
        if numbers.is_empty() {
            self.waiting.remove(&key);
        }
    }

    fn index(&self, number: u64) -> Option<usize> {
        usize::try_from(number.checked_sub(self.given)?).ok()
    }

    fn give_settled(&mut self, out: &mut Vec<Request>) {
        while self.held.front().is_some_and(|held| held.state != State::Waiting) {
            self.emit_first(out);
        }
    }

    fn emit_first(&mut self, out: &mut Vec<Request>) {
        let Some(HeldRequest { request, state }) = self.held.pop_front() else { return };
        let number = self.given;
        self.given += 1;
        if state == State::Waiting {
            self.forget(key(&request), number);
        }
        if state != State::Withdrawn {
            out.push(request);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(at: u64, offset: u64) -> Request {
        let (at, offset) = (Nanos(at), Bytes(offset));
        Request { at, latency: None, offset, len: Bytes(512), volume: 0, op: Op::Read }
    }

    fn latencies(requests: &[Request]) -> Vec<(u64, Option<u64>)> {
        requests.iter().map(|r| (r.at.0, r.latency.map(|latency| latency.0))).collect()
    }

    // Each request gets its own completion, and requests appear in the order of issue.
    #[test]
    fn answers_find_their_requests() {
        let (mut pairing, mut out) = (Pairing::default(), Vec::new());
        for (at, offset) in [(10, 0), (20, 512), (30, 0)] {
            pairing.issued(request(at, offset), &mut out);
        }
        pairing.answered(0, Bytes(512), Op::Read, Nanos(35), &mut out);
        pairing.answered(0, Bytes(512), Op::Read, Nanos(36), &mut out);
        pairing.answered(0, Bytes(0), Op::Write, Nanos(37), &mut out);
        assert!(out.is_empty());
        pairing.answered(0, Bytes(0), Op::Read, Nanos(40), &mut out);
        assert_eq!(latencies(&out), [(10, Some(30)), (20, Some(15))]);
        pairing.end(&mut out);
        assert_eq!(latencies(&out[2..]), [(30, None)]);
    }

    // Memory is bounded without completions, and no request is lost.
    #[test]
    fn requests_without_completion_are_emitted() {
        let (mut pairing, mut out) = (Pairing::default(), Vec::new());
        let count = 3 * MAX_HELD as u64;
        for at in 0..count {
            pairing.issued(request(at, at % 7 * 512), &mut out);
            assert!(pairing.held.len() <= MAX_HELD);
        }
        pairing.answered(0, Bytes(0), Op::Read, Nanos(count), &mut out);
        pairing.end(&mut out);
        assert!(out.iter().map(|r| r.at.0).eq(0..count));
        assert_eq!(out.iter().filter(|r| r.latency.is_some()).count(), 1);
        assert!(pairing.waiting.is_empty());
    }

    // A withdrawn request is not emitted, and other requests with its key still find their
    // completions.
    #[test]
    fn withdrawn_requests_are_not_emitted() {
        let (mut pairing, mut out) = (Pairing::default(), Vec::new());
        let numbers = [10, 20, 30, 40].map(|at| pairing.issued(request(at, 0), &mut out));
        pairing.taken_back(0, Bytes(0), Op::Read);
        pairing.withdraw(numbers[2]);
        assert!(pairing.answered(0, Bytes(0), Op::Read, Nanos(50), &mut out));
        pairing.withdraw(numbers[1]);
        assert!(pairing.answered(0, Bytes(0), Op::Read, Nanos(55), &mut out));
        assert!(!pairing.answered(0, Bytes(0), Op::Read, Nanos(60), &mut out));
        pairing.end(&mut out);
        assert_eq!(latencies(&out), [(20, Some(30)), (40, Some(15))]);
        assert!(pairing.waiting.is_empty());
    }
}
