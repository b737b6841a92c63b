use crate::change::first_change;
use crate::period::{Period, period};

/// The start-up phase of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StartUp {
    /// How many IOs it lasts.
    pub ios: usize,
    /// 1 less the probability that a series without a start-up phase seems to have one as clear.
    pub confidence: f64,
}

/// The two phases of Bouganim, Jónsson and Bonnet, *uFLIP* (CIDR 2009), section 4.2: a start-up
/// phase, then a running phase that may oscillate.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Phases {
    /// The start-up phase; `None` when there is none.
    pub start_up: Option<StartUp>,
    /// The period of the running phase; `None` when it does not oscillate.
    pub period: Option<Period>,
}

impl Phases {
    /// Finds the phases of a series of response times (in any unit), by their distribution and
    /// not by eye. A start-up phase is found when it is from 8 IOs to a third of the series, a
    /// period from 2 IOs to a ninth of the series: the series should be long. A start-up phase
    /// may also be dearer than the running phase. Time is O(n log n).
    pub fn of(series: &[f64]) -> Phases {
        // What comes after the first third is past any start-up phase that can be found.
        let period = period(&series[series.len() / 3..]);
        let start_up = first_change(series, period.map(|period| period.ios));
        let start_up =
            start_up.map(|change| StartUp { ios: change.at, confidence: 1.0 - change.p_value });
        Phases { start_up, period }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::{APERIODIC, DEAR, Kind, Script, with_startup};

    const PERIODIC: [Kind; 5] =
        [Kind::Spikes(4), Kind::Spikes(16), Kind::Spikes(128), Kind::Square(128), Kind::Wave(128)];

    const SEEDS: u64 = 200;
    const COUNT: usize = 4096;

    fn count(holds: impl Fn(u64) -> bool) -> u64 {
        (0..SEEDS).map(|seed| u64::from(holds(seed))).sum()
    }

    // Is a start-up phase found within 5 %, whatever the running phase looks like?
    #[test]
    fn start_up_is_found() {
        // Under a steep drift a start-up phase is left out rather than made up.
        let told = APERIODIC.into_iter().filter(|&kind| kind != Kind::SteepDrift);
        for kind in told.chain(PERIODIC) {
            let found = count(|seed| {
                let start_up = Phases::of(&with_startup(kind, 125, COUNT, seed)).start_up;
                start_up.is_some_and(|start_up| start_up.ios.abs_diff(125) <= 6)
            });
            assert!(found >= SEEDS * 98 / 100, "{kind:?}: {found}");
        }
    }

    // Is a start-up phase found that differs by lacking what is rare and comes in clumps, as cleaning
    // does; and none where it comes from the start?
    #[test]
    fn start_up_without_clumps_is_found() {
        let clumped = |start_up: usize, seed: u64| -> Vec<f64> {
            let (mut script, mut clump) = (Script::new(Kind::Noise, seed), 0);
            let value = |i: usize| {
                if clump == 0 && script.uniform() < 0.06 {
                    let length = script.uniform();
                    clump = 1 + usize::from(length > 0.3) + usize::from(length > 0.6);
                }
                let dear = clump > 0 && i >= start_up;
                clump = clump.saturating_sub(1);
                script.value() + if dear { DEAR } else { 0.0 }
            };
            (0..8192).map(value).collect()
        };
        let found = |start_up, seed| Phases::of(&clumped(start_up, seed)).start_up;
        let near = count(|seed| {
            found(1200, seed).is_some_and(|start_up| start_up.ios.abs_diff(1200) <= 60)
        });
        let alarms = count(|seed| found(0, seed).is_some());
        assert!(near >= SEEDS * 95 / 100 && alarms <= SEEDS / 50, "{near} {alarms}");
    }

    // Is a period found within one IO?
    #[test]
    fn period_is_found() {
        let short = [Kind::Spikes(2), Kind::Spikes(3), Kind::Square(10)];
        for kind in short.into_iter().chain(PERIODIC) {
            let found = count(|seed| {
                let period = Phases::of(&Script::new(kind, seed).take(COUNT)).period;
                period.is_some_and(|period| period.ios.abs_diff(kind.period().unwrap()) <= 1)
            });
            assert!(found >= SEEDS * 98 / 100, "{kind:?}: {found}");
        }
    }

    // Is nothing found where there is nothing, in at least 98 of 100 series?
    #[test]
    fn nothing_is_found_in_nothing() {
        for kind in APERIODIC.into_iter().chain(PERIODIC) {
            let all = (0..SEEDS).map(|seed| Phases::of(&Script::new(kind, seed).take(COUNT)));
            let all: Vec<Phases> = all.collect();
            let start_ups = all.iter().filter(|phases| phases.start_up.is_some()).count();
            let periods = all.iter().filter(|phases| phases.period.is_some()).count();
            assert!(start_ups <= all.len() / 50, "{kind:?}: {start_ups}");
            assert!(kind.period().is_some() || periods <= all.len() / 50, "{kind:?}: {periods}");
        }
    }

    // Are series that are too short or never vary without phases?
    #[test]
    fn degenerate_series_have_no_phases() {
        for count in [0, 1, 2, 11, 12, 63, 64, 1000] {
            assert_eq!(Phases::of(&vec![400.0; count]), Phases::default());
            assert_eq!(Phases::of(&vec![0.0; count]), Phases::default());
        }
    }
}
