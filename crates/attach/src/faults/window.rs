use flashscope_block::Nanos;

/// The time during which a rule applies, once or periodically.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    /// The start of the first window.
    pub(super) from: Nanos,
    /// The length of each window; `None` for a window without an end.
    pub(super) len: Option<Nanos>,
    /// The interval between two starts; `None` if there is one window.
    pub(super) every: Option<Nanos>,
}

impl Window {
    /// Returns the number of windows that began at or before `time`.
    pub(super) fn begun(&self, time: Nanos) -> u64 {
        match (time.0.checked_sub(self.from.0), self.every) {
            (None, _) => 0,
            (Some(_), None) => 1,
            (Some(since), Some(every)) => since / every.0 + 1,
        }
    }

    /// Returns the start of the latest window that began at or before `time`.
    pub(super) fn last_begin(&self, time: Nanos) -> Option<Nanos> {
        self.begun(time).checked_sub(1).map(|number| self.begin_of(number))
    }

    /// Returns the starts later than `after` and not later than `until`: the last `most` of them,
    /// in order. Without `after`, returns the starts from the first one.
    pub(super) fn begins(
        &self,
        after: Option<Nanos>,
        until: Nanos,
        most: u64,
    ) -> impl Iterator<Item = Nanos> + use<> {
        let (window, end) = (*self, self.begun(until));
        let start = after.map_or(0, |after| self.begun(after)).max(end.saturating_sub(most));
        (start..end).map(move |number| window.begin_of(number))
    }

    /// Returns the start of a window by its number, from 0.
    fn begin_of(&self, number: u64) -> Nanos {
        let every = self.every.map_or(0, |every| every.0);
        Nanos(self.from.0.saturating_add(number.saturating_mul(every)))
    }

    /// Returns the end of the window that contains `time`: `Nanos::MAX` for a window without an
    /// end. Returns `None` if no window contains `time`.
    pub(super) fn end(&self, time: Nanos) -> Option<Nanos> {
        let begin = self.last_begin(time)?;
        let end = self.len.map_or(Nanos::MAX, |len| Nanos(begin.0.saturating_add(len.0)));
        (time < end).then_some(end)
    }

    pub(super) fn contains(&self, time: Nanos) -> bool {
        self.end(time).is_some()
    }

    /// Returns the first start after `time`.
    pub(super) fn next_begin(&self, time: Nanos) -> Option<Nanos> {
        let number = self.begun(time);
        (number == 0 || self.every.is_some()).then(|| self.begin_of(number))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn window(from: u64, len: Option<u64>, every: Option<u64>) -> Window {
        Window { from: Nanos(from), len: len.map(Nanos), every: every.map(Nanos) }
    }

    #[test]
    fn a_window_has_a_begin_and_an_end() {
        let once = window(10, Some(5), None);
        assert_eq!(once.end(Nanos(9)), None);
        assert_eq!(once.end(Nanos(10)), Some(Nanos(15)));
        assert_eq!(once.end(Nanos(15)), None);
        assert_eq!(once.next_begin(Nanos(9)), Some(Nanos(10)));
        assert_eq!(once.next_begin(Nanos(10)), None);
        assert_eq!(window(10, None, None).end(Nanos(99)), Some(Nanos::MAX));
    }

    proptest! {
        // The reference is a walk over all starts.
        #[test]
        fn repeated_windows_agree_with_a_walk(
            from in 0u64..50, len in 1u64..20, gap in 0u64..20, time in 0u64..500,
        ) {
            let every = len + gap;
            let repeated = window(from, Some(len), Some(every));
            let begins = (0..).map(|number| from + number * every);
            let begun: Vec<u64> = begins.clone().take_while(|begin| *begin <= time).collect();
            prop_assert_eq!(repeated.begun(Nanos(time)), begun.len() as u64);
            let end = begun.last().map(|begin| begin + len).filter(|end| time < *end);
            prop_assert_eq!(repeated.end(Nanos(time)), end.map(Nanos));
            let next = begins.into_iter().find(|begin| *begin > time);
            prop_assert_eq!(repeated.next_begin(Nanos(time)), next.map(Nanos));
        }
    }
}
