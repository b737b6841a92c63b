use std::collections::VecDeque;

use flashscope_block::Nanos;

/// The requests in flight. The IO of each request has a unique [`flashscope_block::Io::at`], which
/// identifies the request of a completion.
pub(crate) struct InFlight<T> {
    /// Sorted by time. A removed entry leaves a gap, which is dropped once it is the first entry.
    waiting: VecDeque<(Nanos, Option<T>)>,
    len: usize,
}

impl<T> InFlight<T> {
    pub(crate) fn new() -> InFlight<T> {
        InFlight { waiting: VecDeque::new(), len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Inserts a value under the time `at`, or under the first later time that exceeds the times of
    /// all values in flight. Returns the time used.
    pub(crate) fn insert(&mut self, at: Nanos, value: T) -> Nanos {
        let at = self.waiting.back().map_or(at, |(last, _)| at.max(Nanos(last.0 + 1)));
        self.waiting.push_back((at, Some(value)));
        self.len += 1;
        at
    }

    /// Removes and returns the value with the time `at`.
    pub(crate) fn remove(&mut self, at: Nanos) -> Option<T> {
        let place = self.waiting.binary_search_by_key(&at, |(at, _)| *at).ok()?;
        let value = self.waiting[place].1.take()?;
        self.len -= 1;
        while self.waiting.front().is_some_and(|(_, value)| value.is_none()) {
            self.waiting.pop_front();
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Each value is removed exactly once, by its time, in any order.
    #[test]
    fn each_value_is_removed_once() {
        let mut in_flight = InFlight::new();
        let times: Vec<Nanos> = [5, 5, 3, 9].map(|at| in_flight.insert(Nanos(at), at)).to_vec();
        assert_eq!(times, [Nanos(5), Nanos(6), Nanos(7), Nanos(9)]);
        assert_eq!(in_flight.remove(Nanos(7)), Some(3));
        assert_eq!(in_flight.remove(Nanos(7)), None);
        assert_eq!(in_flight.remove(Nanos(8)), None);
        assert_eq!(in_flight.remove(Nanos(5)), Some(5));
        assert_eq!(in_flight.len(), 2);
        assert_eq!(in_flight.waiting.len(), 3, "a gap stays while an earlier entry is in flight");
        assert_eq!(in_flight.remove(Nanos(6)), Some(5));
        assert_eq!(in_flight.waiting.len(), 1);
        assert_eq!(in_flight.remove(Nanos(9)), Some(9));
        assert_eq!(in_flight.insert(Nanos(1), 1), Nanos(1), "an empty queue has no last time");
    }
}
