use crate::change::first_change;
use crate::period::{Period, period};

/// The start-up phase of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StartUp {
    /// The length of the phase in IOs.
    pub ios: usize,
    /// 1 minus the probability that a start-up phase this clear appears by chance.
    pub confidence: f64,
}

/// The two phases of a run (Bouganim, Jónsson and Bonnet, *uFLIP*, CIDR 2009, section 4.2): a
/// start-up phase, then a running phase that may oscillate.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Phases {
    /// The start-up phase, if any.
    pub start_up: Option<StartUp>,
    /// The period of the running phase, if it oscillates.
    pub period: Option<Period>,
}

impl Phases {
    /// Detects the phases of a series of response times (in any unit) by statistical tests.
    ///
    /// Detects start-up phases from 8 IOs to a third of the series, and periods from 2 IOs to a
    /// ninth of it; the series should therefore be long. A start-up phase may be faster or slower
    /// than the running phase. Takes O(n log n) time.
    pub fn of(series: &[f64]) -> Phases {
        // A start-up phase that can be detected ends within the first third.
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
    use crate::scripted::{APERIODIC, Kind, SLOW, Script, with_startup};

    const PERIODIC: [Kind; 5] =
        [Kind::Spikes(4), Kind::Spikes(16), Kind::Spikes(128), Kind::Square(128), Kind::Wave(128)];

    const SEEDS: u64 = 200;
    const COUNT: usize = 4096;

    fn count(holds: impl Fn(u64) -> bool) -> u64 {
        (0..SEEDS).map(|seed| u64::from(holds(seed))).sum()
    }

    // The length of the phase is accurate to 5 % for every kind of running phase.
    #[test]
    fn start_up_phases_are_detected() {
        // Under a steep drift, the test may miss a start-up phase, but causes no false alarm.
        let detectable = APERIODIC.into_iter().filter(|&kind| kind != Kind::SteepDrift);
        for kind in detectable.chain(PERIODIC) {
            let detected = count(|seed| {
                let start_up = Phases::of(&with_startup(kind, 125, COUNT, seed)).start_up;
                start_up.is_some_and(|start_up| start_up.ios.abs_diff(125) <= 6)
            });
            assert!(detected >= SEEDS * 98 / 100, "{kind:?}: {detected}");
        }
    }

    // The start-up phase differs only by a lack of rare bursts of slow IOs, which GC causes. If the
    // bursts occur from the start, there is no start-up phase.
    #[test]
    fn a_start_up_phase_without_bursts_is_detected() {
        let bursty = |start_up: usize, seed: u64| -> Vec<f64> {
            let (mut script, mut burst) = (Script::new(Kind::Noise, seed), 0);
            let value = |i: usize| {
                if burst == 0 && script.uniform() < 0.06 {
                    let length = script.uniform();
                    burst = 1 + usize::from(length > 0.3) + usize::from(length > 0.6);
                }
                let is_slow = burst > 0 && i >= start_up;
                burst = burst.saturating_sub(1);
                script.value() + if is_slow { SLOW } else { 0.0 }
            };
            (0..8192).map(value).collect()
        };
        let detect = |start_up, seed| Phases::of(&bursty(start_up, seed)).start_up;
        let near = count(|seed| {
            detect(1200, seed).is_some_and(|start_up| start_up.ios.abs_diff(1200) <= 60)
        });
        let alarms = count(|seed| detect(0, seed).is_some());
        assert!(near >= SEEDS * 95 / 100 && alarms <= SEEDS / 50, "{near} {alarms}");
    }

    // The period is accurate to one IO.
    #[test]
    fn periods_are_detected() {
        let short = [Kind::Spikes(2), Kind::Spikes(3), Kind::Square(10)];
        for kind in short.into_iter().chain(PERIODIC) {
            let detected = count(|seed| {
                let period = Phases::of(&Script::new(kind, seed).take(COUNT)).period;
                period.is_some_and(|period| period.ios.abs_diff(kind.period().unwrap()) <= 1)
            });
            assert!(detected >= SEEDS * 98 / 100, "{kind:?}: {detected}");
        }
    }

    // At most 2 % of the series cause a false detection, of a start-up phase or of a period.
    #[test]
    fn false_detections_are_rare() {
        for kind in APERIODIC.into_iter().chain(PERIODIC) {
            let all = (0..SEEDS).map(|seed| Phases::of(&Script::new(kind, seed).take(COUNT)));
            let all: Vec<Phases> = all.collect();
            let start_ups = all.iter().filter(|phases| phases.start_up.is_some()).count();
            let periods = all.iter().filter(|phases| phases.period.is_some()).count();
            assert!(start_ups <= all.len() / 50, "{kind:?}: {start_ups}");
            assert!(kind.period().is_some() || periods <= all.len() / 50, "{kind:?}: {periods}");
        }
    }

    #[test]
    fn short_or_constant_series_have_no_phases() {
        for count in [0, 1, 2, 11, 12, 63, 64, 1000] {
            assert_eq!(Phases::of(&vec![400.0; count]), Phases::default());
            assert_eq!(Phases::of(&vec![0.0; count]), Phases::default());
        }
    }
}
