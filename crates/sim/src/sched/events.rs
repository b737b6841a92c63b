//! The queue of events, earliest first; events of equal times in the order in which they were
//! scheduled.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use flashscope_block::Nanos;

/// An event at a known time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A command arrives at its die.
    Arrival(u32),
    /// The cells are done with a group. If the group was suspended in the meantime, its token has
    /// changed and the event is void.
    CellsDone { group: u32, token: u32 },
    /// The group in the cells of a die is suspended.
    Suspended(u32),
    /// A group has been resumed.
    Resumed(u32),
    /// A die checks again whether it can suspend its command.
    Check(u32),
    /// A bus is released.
    Released(u32),
    /// The page of one of several joined reads has crossed the bus.
    PageOver(u32),
    /// A time that the owner of the scheduler set.
    Timer(u32),
}

/// The key that stands for no event.
const EMPTY: u128 = u128::MAX;

/// Number of lanes. A drive has few durations: a read, a program and an erase in the cells, and a
/// page and command cycles on the bus.
const LANES: usize = 6;

/// Events with the same duration from scheduling to due time. They are therefore scheduled in order
/// of time.
#[derive(Debug, Default)]
struct Lane {
    later: VecDeque<(u128, Event)>,
}

/// A queue of events.
///
/// Events of a common duration wait in the lane of that duration, all others in a heap. The next
/// event is the earliest of the first events of the lanes and of the heap.
#[derive(Debug)]
pub(super) struct Events {
    /// The durations of the lanes.
    durations: [u64; LANES],
    /// The key of the first event of each lane: its time, and the order in which it was scheduled.
    /// A key is one number, which compares without a branch.
    heads: [u128; LANES],
    lanes: [Lane; LANES],
    /// The key of the next event and its lane, or `LANES` if the event is in the heap.
    first: (u128, usize),
    others: BinaryHeap<Reverse<(u128, Event)>>,
    scheduled: u64,
    /// The events at the current instant that were scheduled at this instant. They follow all other
    /// events of the instant.
    now: VecDeque<Event>,
}

impl Events {
    pub(super) fn new() -> Events {
        Events {
            durations: [0; LANES],
            heads: [EMPTY; LANES],
            lanes: Default::default(),
            first: (EMPTY, LANES),
            others: BinaryHeap::new(),
            scheduled: 0,
            now: VecDeque::new(),
        }
    }

    /// Schedules an event at `at`, while the clock shows `now`.
    #[inline]
    pub(super) fn schedule(&mut self, now: Nanos, at: Nanos, event: Event) {
        if at == now {
            self.now.push_back(event);
            return;
        }
        self.scheduled += 1;
        let key = (u128::from(at.0) << 64) | u128::from(self.scheduled);
        let duration = at.0 - now.0;
        for lane in 0..LANES {
            if self.durations[lane] == duration {
                return self.add(lane, key, event);
            }
        }
        self.schedule_other(duration, key, event);
    }

    /// Adds an event at the end of a lane.
    #[inline]
    fn add(&mut self, lane: usize, key: u128, event: Event) {
        if self.heads[lane] == EMPTY {
            self.heads[lane] = key;
            self.first = self.first.min((key, lane));
        }
        self.lanes[lane].later.push_back((key, event));
    }

    /// Schedules an event of a duration without a lane. An empty lane changes to this duration;
    /// without an empty lane, the event goes to the heap.
    #[inline(never)]
    fn schedule_other(&mut self, duration: u64, key: u128, event: Event) {
        match self.heads.iter().position(|head| *head == EMPTY) {
            Some(lane) => {
                self.durations[lane] = duration;
                self.add(lane, key, event);
            }
            None => {
                self.others.push(Reverse((key, event)));
                self.first = self.first.min((key, LANES));
            }
        }
    }

    /// Finds the first event of the lanes and of the heap.
    #[inline]
    fn find_first(&mut self) {
        let (mut key, mut place) = (EMPTY, LANES);
        for (lane, head) in self.heads.iter().enumerate() {
            let is_first = *head < key;
            key = if is_first { *head } else { key };
            place = if is_first { lane } else { place };
        }
        self.first = match self.others.peek() {
            Some(Reverse((other, _))) if *other < key => (*other, LANES),
            _ => (key, place),
        };
    }

    /// Returns when the next event is due, while the clock shows `now`.
    #[inline]
    pub(super) fn next(&self, now: Nanos) -> Option<Nanos> {
        if !self.now.is_empty() {
            return Some(now);
        }
        let (key, _) = self.first;
        (key != EMPTY).then(|| Events::time(key))
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "the time is the upper 64 bits of the key")]
    const fn time(key: u128) -> Nanos {
        Nanos((key >> 64) as u64)
    }

    /// Removes and returns the next event and its time, if it is due by `until`. The clock shows
    /// `now`.
    #[inline]
    pub(super) fn pop(&mut self, now: Nanos, until: Nanos) -> Option<(Nanos, Event)> {
        let (key, lane) = self.first;
        let at = Events::time(key);
        if !self.now.is_empty() && (at != now || key == EMPTY) {
            return self.now.pop_front().map(|event| (now, event));
        }
        if at > until || key == EMPTY {
            return None;
        }
        let event = match self.lanes.get_mut(lane) {
            None => self.others.pop()?.0.1,
            Some(lane_of_event) => {
                let (_, event) = lane_of_event.later.pop_front()?;
                self.heads[lane] = lane_of_event.later.front().map_or(EMPTY, |(key, _)| *key);
                event
            }
        };
        self.find_first();
        Some((at, event))
    }

    pub(super) fn clear(&mut self) {
        *self = Events { scheduled: self.scheduled, ..Events::new() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Events of one time come in the order of scheduling. Events scheduled for the current instant
    // come after all others of the instant.
    #[test]
    fn events_come_in_order() {
        let mut random = fastrand::Rng::with_seed(3);
        let (mut events, mut now) = (Events::new(), Nanos(5));
        let mut plain: Vec<(u64, bool, u32)> = Vec::new();
        for token in 0..20_000 {
            let at = now.0 + random.u64(..12);
            events.schedule(now, Nanos(at), Event::Timer(token));
            plain.push((at, at == now.0, token));
            while random.bool() && !plain.is_empty() {
                let first = (0..plain.len()).min_by_key(|place| plain[*place]).unwrap_or_default();
                let (at, _, token) = plain.remove(first);
                assert_eq!(events.next(now), Some(Nanos(at)));
                if at > now.0 {
                    assert_eq!(events.pop(now, Nanos(at - 1)), None);
                }
                let popped = events.pop(now, Nanos(at));
                assert_eq!(popped, Some((Nanos(at), Event::Timer(token))));
                now = Nanos(at);
                assert_eq!(events.next(now), plain.iter().map(|(at, ..)| Nanos(*at)).min());
            }
        }
    }
}
