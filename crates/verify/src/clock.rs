/// A reading of two clocks of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The time of day in ns since 1970, which an administrator or a time server may change.
    pub wall_ns: i64,
    /// The time in ns of a clock that never goes back, and restarts at each boot.
    pub steady_ns: u64,
}

/// A jump of the time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jump {
    /// The time of day after the jump, in ns since 1970.
    pub at_ns: i64,
    /// The length in ns; negative if the clock went back.
    pub by_ns: i64,
}

/// The minimum difference between the two clocks that counts as a jump, in ns. Adjustments of time
/// servers stay far below it.
const MIN_JUMP: i64 = 1_000_000_000;

/// Returns the jumps between successive moments of one boot.
#[must_use]
pub fn jumps(moments: &[Moment]) -> Vec<Jump> {
    let jump = |pair: &[Moment]| {
        let wall = pair[1].wall_ns.saturating_sub(pair[0].wall_ns);
        let steady = pair[1].steady_ns.saturating_sub(pair[0].steady_ns);
        let by_ns = wall.saturating_sub(i64::try_from(steady).unwrap_or(i64::MAX));
        (by_ns.saturating_abs() >= MIN_JUMP).then_some(Jump { at_ns: pair[1].wall_ns, by_ns })
    };
    moments.windows(2).filter_map(jump).collect()
}

/// Returns the jump if the time of day after a power cut is before the end of the journal. A
/// machine without a working battery loses the time. The duration of the power cut is unknown; a
/// jump forward is therefore not detected.
#[must_use]
pub fn jump_at_resume(last: Moment, wall_ns: i64) -> Option<Jump> {
    let by_ns = wall_ns.saturating_sub(last.wall_ns);
    (by_ns <= -MIN_JUMP).then_some(Jump { at_ns: wall_ns, by_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn moment(wall: i64, steady: u64) -> Moment {
        Moment { wall_ns: wall * SECOND, steady_ns: steady * 1_000_000_000 }
    }

    #[test]
    fn a_clock_that_is_set_jumps_and_one_that_runs_does_not() {
        let moments = [(1000, 1), (1010, 11), (1020, 21), (5020, 31), (20, 41), (30, 51)];
        let moments = moments.map(|(wall, steady)| moment(wall, steady));
        let expected = [(5020, 3990), (20, -5010)]
            .map(|(at, by)| Jump { at_ns: at * SECOND, by_ns: by * SECOND });
        assert_eq!(jumps(&moments), expected);
        let slow = [moment(0, 0), Moment { wall_ns: SECOND / 2, steady_ns: 0 }];
        assert_eq!(jumps(&slow), []);
        let extreme = [Moment { wall_ns: i64::MAX, steady_ns: u64::MAX }, moment(0, 0)];
        assert_eq!(jumps(&extreme).len(), 1);
    }

    #[test]
    fn a_clock_that_went_back_shows_at_the_resume() {
        assert_eq!(jump_at_resume(moment(100, 5), 200 * SECOND), None);
        let back = Jump { at_ns: 40 * SECOND, by_ns: -60 * SECOND };
        assert_eq!(jump_at_resume(moment(100, 5), 40 * SECOND), Some(back));
    }
}
