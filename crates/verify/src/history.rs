use std::collections::VecDeque;

use flashscope_document::verification::{JournalTotals, WritingEnd};

use crate::journal::Event;
use crate::plan::Plan;

/// The time of an event that the journal does not contain: after all other events.
const NEVER: u64 = u64::MAX;

/// The error for a journal with an event that no writer records, such as an acknowledgement of a
/// write that was not in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("event {0} of the journal is invalid: another program wrote the journal, or it is damaged")]
pub struct Impossible(u64);

/// A write. Times are numbers of events, from 1.
#[derive(Debug, Clone, Copy)]
struct Write {
    submitted: u64,
    /// [`NEVER`] for a write that failed, or has no answer in the journal.
    acknowledged: u64,
}

/// A flush that succeeded.
#[derive(Debug, Clone, Copy)]
struct Flush {
    submitted: u64,
    acknowledged: u64,
}

/// The order of the writes and flushes of a verification.
pub struct History {
    writes: Vec<Write>,
    flushes: Vec<Flush>,
    totals: JournalTotals,
    end: WritingEnd,
}

impl History {
    /// Builds the history from the events of a journal.
    ///
    /// # Errors
    /// Returns an error if an event is impossible.
    pub fn new(plan: &Plan, events: impl Iterator<Item = Event>) -> Result<History, Impossible> {
        let mut builder = Builder {
            plan,
            history: History {
                writes: Vec::new(),
                flushes: Vec::new(),
                totals: JournalTotals::default(),
                end: WritingEnd::Cut,
            },
            in_flight: VecDeque::new(),
            flush: None,
        };
        for (time, event) in (1..).zip(events) {
            builder.add(time, event).ok_or(Impossible(time))?;
        }
        let mut history = builder.history;
        history.totals.writes = history.writes.len() as u64;
        history.totals.flushes = history.flushes.len() as u64;
        let flushed = (0..history.totals.writes).filter(|write| history.is_flushed(*write));
        history.totals.flushed = flushed.count() as u64;
        Ok(history)
    }

    /// Returns the totals, without the length of the damaged tail of the journal.
    #[must_use]
    pub const fn totals(&self) -> &JournalTotals {
        &self.totals
    }

    /// Returns the reason why the writing ended.
    #[must_use]
    pub const fn end(&self) -> WritingEnd {
        self.end
    }

    /// Returns the number of writes in the journal.
    pub(crate) fn writes(&self) -> u64 {
        self.writes.len() as u64
    }

    /// Returns the time of the submission. A write that is not in the journal came after all other
    /// writes.
    pub(crate) fn submitted(&self, write: u64) -> u64 {
        self.get(write).map_or(NEVER, |write| write.submitted)
    }

    /// Returns the time of the acknowledgement, or [`NEVER`] if there is none.
    pub(crate) fn acknowledged(&self, write: u64) -> u64 {
        self.get(write).map_or(NEVER, |write| write.acknowledged)
    }

    /// Returns true if the drive acknowledged the write.
    pub(crate) fn is_acknowledged(&self, write: u64) -> bool {
        self.acknowledged(write) != NEVER
    }

    /// Returns true if the host received the acknowledgement of `write` before it submitted
    /// `other`.
    pub(crate) fn precedes(&self, write: u64, other: u64) -> bool {
        self.acknowledged(write) < self.submitted(other)
    }

    /// Returns true if a flush that succeeded covers the write.
    pub(crate) fn is_flushed(&self, write: u64) -> bool {
        let last = self.flushes.last().map_or(0, |flush| flush.submitted);
        self.acknowledged(write) < last
    }

    /// Returns true if `write` was flushed before the host submitted `other`.
    pub(crate) fn is_flushed_before(&self, write: u64, other: u64) -> bool {
        let time = self.submitted(other);
        let count = self.flushes.partition_point(|flush| flush.acknowledged < time);
        let last = count.checked_sub(1).map_or(0, |last| self.flushes[last].submitted);
        self.acknowledged(write) < last
    }

    fn get(&self, write: u64) -> Option<&Write> {
        self.writes.get(usize::try_from(write).ok()?)
    }
}

struct Builder<'a> {
    plan: &'a Plan,
    history: History,
    /// The writes in flight, in order of submission.
    in_flight: VecDeque<u64>,
    /// The time when the flush in flight was submitted.
    flush: Option<u64>,
}

impl Builder<'_> {
    /// Adds an event. Returns `None` if it is impossible.
    fn add(&mut self, time: u64, event: Event) -> Option<()> {
        let history = &mut self.history;
        if history.end != WritingEnd::Cut {
            return None;
        }
        match event {
            Event::Submitted => {
                let number = history.writes.len() as u64;
                let sectors = self.plan.sectors_of(number);
                let overlaps = |other: &u64| {
                    let other = self.plan.sectors_of(*other);
                    other.start < sectors.end && sectors.start < other.end
                };
                history.totals.overlapping += u64::from(self.in_flight.iter().any(overlaps));
                history.writes.push(Write { submitted: time, acknowledged: NEVER });
                self.in_flight.push_back(number);
            }
            Event::Acknowledged(distance) => {
                let (number, place) = self.answered(distance)?;
                let history = &mut self.history;
                history.totals.acknowledged += 1;
                history.totals.out_of_order += u64::from(place > 0);
                history.writes[number].acknowledged = time;
            }
            Event::Failed(distance) => {
                self.answered(distance)?;
                self.history.totals.failed += 1;
            }
            Event::FlushSubmitted => {
                if self.flush.replace(time).is_some() {
                    return None;
                }
            }
            Event::FlushAcknowledged => {
                let submitted = self.flush.take()?;
                history.flushes.push(Flush { submitted, acknowledged: time });
            }
            Event::FlushFailed => {
                self.flush.take()?;
            }
            Event::Ended(end) => history.end = end,
        }
        Some(())
    }

    /// Removes a write from the writes in flight. Returns its number and its index among them.
    fn answered(&mut self, distance: u64) -> Option<(usize, usize)> {
        let newest = (self.history.writes.len() as u64).checked_sub(1)?;
        let number = newest.checked_sub(distance)?;
        let place = self.in_flight.binary_search(&number).ok()?;
        self.in_flight.remove(place);
        Some((usize::try_from(number).ok()?, place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::WORKLOAD;

    fn history(events: &[Event]) -> Result<History, Impossible> {
        History::new(&Plan::new(WORKLOAD).unwrap(), events.iter().copied())
    }

    #[test]
    fn order_follows_from_acknowledgements_not_from_numbers() {
        use Event::{Acknowledged, FlushAcknowledged, FlushSubmitted, Submitted};
        // Writes 0 and 1 are in flight together; 2 follows 1; the flush covers 1 and 0, not 2.
        let events = [
            Submitted,
            Submitted,
            Acknowledged(0),
            Submitted,
            Acknowledged(2),
            FlushSubmitted,
            Acknowledged(0),
            FlushAcknowledged,
            Submitted,
        ];
        let history = history(&events).unwrap();
        assert!(!history.precedes(0, 1) && !history.precedes(1, 0));
        assert!(history.precedes(1, 2) && !history.precedes(0, 2));
        assert!(history.precedes(2, 3) && !history.precedes(3, 2));
        assert_eq!([0, 1, 2, 3].map(|write| history.is_flushed(write)), [true, true, false, false]);
        assert!(history.is_flushed_before(1, 3) && !history.is_flushed_before(1, 2));
        // A write beyond the journal follows everything that was acknowledged.
        assert!(history.precedes(2, 9) && !history.precedes(9, 2) && !history.precedes(3, 9));
        let expected = JournalTotals {
            writes: 4,
            acknowledged: 3,
            flushed: 2,
            flushes: 1,
            out_of_order: 1,
            ..JournalTotals::default()
        };
        assert_eq!(*history.totals(), expected);
        assert_eq!(history.end(), WritingEnd::Cut);
    }

    #[test]
    fn impossible_events_are_rejected() {
        use Event::{Acknowledged, Ended, Failed, FlushAcknowledged, FlushSubmitted, Submitted};
        for (events, at) in [
            (&[Acknowledged(0)][..], 1),
            (&[Submitted, Acknowledged(1)], 2),
            (&[Submitted, Acknowledged(0), Failed(0)], 3),
            (&[Submitted, Acknowledged(u64::MAX)], 2),
            (&[FlushAcknowledged], 1),
            (&[FlushSubmitted, FlushSubmitted], 2),
            (&[Ended(WritingEnd::Complete), Submitted], 2),
        ] {
            assert_eq!(history(events).err(), Some(Impossible(at)), "{events:?}");
        }
    }
}
