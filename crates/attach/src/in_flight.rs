use std::collections::VecDeque;

use flashscope_block::Nanos;

/// What is in flight, each under the time [`flashscope_block::Io::at`] at which it was due, which no
/// two share: a completion carries it back.
pub(crate) struct InFlight<T> {
    /// By time. What was taken out leaves a gap, which is closed once it is the first.
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

    /// Puts in what is due at `at` or, where that is taken, as soon after it as can be; returns
    /// when that is. It is later than all that was put in before.
    pub(crate) fn insert(&mut self, at: Nanos, value: T) -> Nanos {
        let at = self.waiting.back().map_or(at, |(last, _)| at.max(Nanos(last.0 + 1)));
        self.waiting.push_back((at, Some(value)));
        self.len += 1;
        at
    }

    /// Takes out what was due at `at`.
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

    // Does everything come out once, by the time that it was given, in any order?
    #[test]
    fn comes_out_once() {
        let mut in_flight = InFlight::new();
        let times: Vec<Nanos> = [5, 5, 3, 9].map(|at| in_flight.insert(Nanos(at), at)).to_vec();
        assert_eq!(times, [Nanos(5), Nanos(6), Nanos(7), Nanos(9)]);
        assert_eq!(in_flight.remove(Nanos(7)), Some(3));
        assert_eq!(in_flight.remove(Nanos(7)), None);
        assert_eq!(in_flight.remove(Nanos(8)), None);
        assert_eq!(in_flight.remove(Nanos(5)), Some(5));
        assert_eq!(in_flight.len(), 2);
        assert_eq!(in_flight.waiting.len(), 3, "the gap after the first is closed with it");
        assert_eq!(in_flight.remove(Nanos(6)), Some(5));
        assert_eq!(in_flight.waiting.len(), 1);
        assert_eq!(in_flight.remove(Nanos(9)), Some(9));
        assert_eq!(in_flight.insert(Nanos(1), 1), Nanos(1), "an empty one has no last time");
    }
}
