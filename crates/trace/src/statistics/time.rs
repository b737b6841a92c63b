//! The times of requests, on a clock that does not go backwards.

use crate::Request;
use flashscope_block::Nanos;

use super::per_second;
use flashscope_document::trace::TimeFacts;

/// The clock of a trace, and its anomalies.
#[derive(Debug, Clone, Default)]
pub(super) struct Clock {
    requests: u64,
    first: u64,
    earliest: u64,
    latest: u64,
    backwards: u64,
    first_backwards: Option<u64>,
    longest_backwards: u64,
    /// True if a time is not a whole number of seconds after the first time.
    fractions: bool,
}

impl Clock {
    /// Replaces `times` by the times of the requests since the first request of the trace. If a
    /// time goes backwards, the request gets the latest earlier time instead.
    pub(super) fn push(&mut self, batch: &[Request], times: &mut Vec<u64>) {
        times.clear();
        if let (0, Some(first)) = (self.requests, batch.first()) {
            (self.first, self.earliest, self.latest) = (first.at.0, first.at.0, first.at.0);
        }
        for request in batch {
            let at = request.at.0;
            self.requests += 1;
            if at < self.latest {
                self.note_backwards(at);
            } else if at > self.latest {
                self.latest = at;
                self.fractions |= !(at - self.first).is_multiple_of(1_000_000_000);
            }
            times.push(self.latest - self.first);
        }
    }

    #[cold]
    fn note_backwards(&mut self, at: u64) {
        self.backwards += 1;
        self.first_backwards.get_or_insert(self.requests);
        self.longest_backwards = self.longest_backwards.max(self.latest - at);
        self.earliest = self.earliest.min(at);
        self.fractions |= !at.abs_diff(self.first).is_multiple_of(1_000_000_000);
    }

    /// Returns the time from the first request to the latest, on the clock that does not go
    /// backwards.
    pub(super) fn end(&self) -> u64 {
        self.latest - self.first
    }

    /// Returns true if all times are whole seconds, and not all equal.
    pub(crate) fn whole_seconds(&self) -> bool {
        !self.fractions && self.latest > self.earliest
    }

    pub(super) fn facts(&self, bytes: u64) -> TimeFacts {
        let span = Nanos(self.latest - self.earliest);
        TimeFacts {
            start_ns: Nanos(self.first),
            span_ns: span,
            requests_per_s: per_second(self.requests, span),
            bytes_per_s: per_second(bytes, span),
            backwards: self.backwards,
            first_backwards: self.first_backwards,
            longest_backwards_ns: Nanos(self.longest_backwards),
        }
    }
}

#[cfg(test)]
mod tests {
    use flashscope_block::Op;

    use super::super::tests::request;
    use super::*;

    fn clock(times: &[u64]) -> (Clock, Vec<u64>) {
        let (mut clock, mut found) = (Clock::default(), Vec::new());
        let batch: Vec<_> = times.iter().map(|at| request(*at, Op::Read, 0, 512)).collect();
        clock.push(&batch, &mut found);
        (clock, found)
    }

    #[test]
    fn times_become_monotone_and_steps_backwards_are_counted() {
        let (clock, times) = clock(&[100, 150, 120, 90, 150, 200]);
        assert_eq!(times, [0, 50, 50, 50, 50, 100]);
        let facts = clock.facts(0);
        assert_eq!((facts.backwards, facts.first_backwards), (2, Some(3)));
        assert_eq!((facts.longest_backwards_ns, facts.span_ns), (Nanos(60), Nanos(110)));
        assert_eq!(facts.start_ns, Nanos(100));
    }

    #[test]
    fn whole_seconds_are_told_from_finer_or_equal_times() {
        let second = 1_000_000_000;
        assert!(clock(&[500, 500 + second, 500 + 7 * second]).0.whole_seconds());
        assert!(!clock(&[500, 600, 500 + 7 * second]).0.whole_seconds());
        assert!(!clock(&[500, 500]).0.whole_seconds());
    }
}
