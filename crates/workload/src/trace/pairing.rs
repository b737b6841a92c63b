//! Latencies from formats that note issue and answer apart.

use std::collections::{BTreeMap, VecDeque};

use flashscope_block::{Bytes, Nanos, Op};

use super::{Request, VolumeId};

/// A request whose answer has not come when so many others were issued after it is given without.
const MOST_HELD: usize = 1 << 12;

/// Holds requests back until their answers are known, and gives them in the order of issue.
#[derive(Debug, Default)]
pub(super) struct Pairing {
    held: VecDeque<Held>,
    /// How many were given: the number of the first that is held.
    given: u64,
    /// The numbers of those without an answer, by what is answered, in the order of issue.
    waiting: BTreeMap<Key, VecDeque<u64>>,
}

/// Volume, offset and the code of the operation.
type Key = (VolumeId, Bytes, u8);

#[derive(Debug)]
struct Held {
    request: Request,
    answered: bool,
}

fn key(request: &Request) -> Key {
    (request.volume, request.offset, request.op.code())
}

impl Pairing {
    /// A request was issued; gives what need not be held any longer to `out`.
    pub(super) fn issued(&mut self, request: Request, out: &mut Vec<Request>) {
        let number = self.given + self.held.len() as u64;
        self.waiting.entry(key(&request)).or_default().push_back(number);
        self.held.push_back(Held { request, answered: false });
        if self.held.len() > MOST_HELD {
            self.give_first(out);
        }
        self.give_answered(out);
    }

    /// The oldest request for that place was answered; an answer to none (it was issued before the
    /// trace began) is passed over.
    pub(super) fn answered(
        &mut self,
        volume: VolumeId,
        offset: Bytes,
        op: Op,
        at: Nanos,
        out: &mut Vec<Request>,
    ) {
        let key = (volume, offset, op.code());
        let Some(numbers) = self.waiting.get_mut(&key) else { return };
        let number = numbers.pop_front();
        if numbers.is_empty() {
            self.waiting.remove(&key);
        }
        let index = number.and_then(|number| usize::try_from(number - self.given).ok());
        if let Some(held) = index.and_then(|index| self.held.get_mut(index)) {
            held.answered = true;
            held.request.latency = at.0.checked_sub(held.request.at.0).map(Nanos);
        }
        self.give_answered(out);
    }

    /// The trace is at its end: gives everything.
    pub(super) fn end(&mut self, out: &mut Vec<Request>) {
        while !self.held.is_empty() {
            self.give_first(out);
        }
    }

    fn give_answered(&mut self, out: &mut Vec<Request>) {
        while self.held.front().is_some_and(|held| held.answered) {
            self.give_first(out);
        }
    }

    fn give_first(&mut self, out: &mut Vec<Request>) {
        let Some(Held { request, answered }) = self.held.pop_front() else { return };
        if !answered {
            let key = key(&request);
            let numbers = self.waiting.entry(key).or_default();
            numbers.pop_front();
            if numbers.is_empty() {
                self.waiting.remove(&key);
            }
        }
        self.given += 1;
        out.push(request);
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

    // Does each request get its own answer, whatever the order, and come in the order of issue?
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

    // Is memory bounded where answers never come, and nothing lost?
    #[test]
    fn what_is_never_answered_is_given() {
        let (mut pairing, mut out) = (Pairing::default(), Vec::new());
        let count = 3 * MOST_HELD as u64;
        for at in 0..count {
            pairing.issued(request(at, at % 7 * 512), &mut out);
            assert!(pairing.held.len() <= MOST_HELD);
        }
        pairing.answered(0, Bytes(0), Op::Read, Nanos(count), &mut out);
        pairing.end(&mut out);
        assert!(out.iter().map(|r| r.at.0).eq(0..count));
        assert_eq!(out.iter().filter(|r| r.latency.is_some()).count(), 1);
        assert!(pairing.waiting.is_empty());
    }
}
