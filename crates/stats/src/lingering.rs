use crate::change::first_change;

/// How long reads were affected by the writes before them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lingering {
    /// How many of the reads after the writes were affected; all of them where the drive did not
    /// come back to its former times, and then it may have been more.
    pub ios: usize,
    /// Whether the drive came back to its former times within the reads that were made.
    pub settled: bool,
    /// 1 less the probability that unaffected reads seem affected as clearly.
    pub confidence: f64,
}

/// Of long effects, one read in so many is looked at.
const THINNED: usize = 4;

/// How many of the reads `after` the writes were affected by them, in a run of sequential reads,
/// random writes and sequential reads again (Bouganim, Jónsson and Bonnet, *uFLIP*, CIDR 2009,
/// section 4.3); `None` when none was. `before` and `after` are the response times of the reads,
/// in one unit.
///
/// Reads after the writes and before them are put in one series, where the affected ones come
/// first: they end at its change point. An effect is found, slower or faster, when it is from 8 reads
/// to a third of all reads; a longer one, up to all reads after where these are at most twice as many as
/// those before, on one in four of the reads after. Time is O(n log n).
pub fn lingering(before: &[f64], after: &[f64]) -> Option<Lingering> {
    [1, THINNED].into_iter().find_map(|step| {
        let looked_at: Vec<f64> = after.iter().copied().step_by(step).collect();
        let change = first_change(&[&looked_at, before].concat(), None)?;
        let ios = (change.at * step).min(after.len());
        // A change point is as good as 5 %.
        let settled = ios + ios / 20 < after.len();
        Some(Lingering {
            ios: if settled { ios } else { after.len() },
            settled,
            confidence: 1.0 - change.p_value,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::{Kind, Script};

    const SEEDS: u64 = 200;
    const AFFECTED: usize = 3000;

    /// How affected reads differ from others.
    #[derive(Debug, Clone, Copy)]
    enum Effect {
        /// Each takes half as long again.
        Slower,
        /// By chance, one in five waits for a block to be erased.
        SometimesWaiting,
        /// As many are dear, in turn.
        WaitingInTurn,
    }

    fn affect(reads: &mut [f64], effect: Effect, seed: u64) {
        let mut script = Script::aligned(Kind::Bimodal, seed + 1000);
        for (i, read) in reads.iter_mut().enumerate() {
            *read += match effect {
                Effect::Slower => *read / 2.0,
                Effect::SometimesWaiting if script.uniform() < 0.2 => 1500.0,
                Effect::WaitingInTurn if i % 5 == 0 => 1500.0,
                Effect::SometimesWaiting | Effect::WaitingInTurn => 0.0,
            }
        }
    }

    const READS: [Kind; 5] =
        [Kind::Plain, Kind::Noise, Kind::HeavyTails, Kind::Dependent, Kind::Spikes(64)];

    fn found(kind: Kind, effect: Option<Effect>, seed: u64) -> Option<Lingering> {
        let mut script = Script::new(kind, seed);
        let (before, mut after) = (script.take(3000), script.take(8000));
        if let Some(effect) = effect {
            affect(&mut after[..AFFECTED], effect, seed);
        }
        lingering(&before, &after)
    }

    // Are affected reads counted within 10 %, whatever affects them?
    #[test]
    fn affected_reads_are_counted() {
        for (kind, effect, least) in [
            (Kind::Plain, Effect::Slower, 196),
            (Kind::Noise, Effect::Slower, 196),
            (Kind::Noise, Effect::SometimesWaiting, 196),
            (Kind::HeavyTails, Effect::SometimesWaiting, 196),
            (Kind::Dependent, Effect::Slower, 196),
            // A mild effect in noise that wanders is missed more often.
            (Kind::Dependent, Effect::SometimesWaiting, 186),
            (Kind::Spikes(64), Effect::WaitingInTurn, 196),
        ] {
            let all: Vec<_> =
                (0..SEEDS).filter_map(|seed| found(kind, Some(effect), seed)).collect();
            let near = all
                .iter()
                .filter(|found| found.ios.abs_diff(AFFECTED) <= AFFECTED / 10 && found.settled);
            let near = near.count();
            assert!(near >= least, "{kind:?} {effect:?}: {near}");
        }
    }

    // Is an effect found that lasts for most of the reads after the writes?
    #[test]
    fn long_effects_are_found() {
        for kind in [Kind::Plain, Kind::Noise, Kind::HeavyTails] {
            let near = (0..SEEDS).filter(|&seed| {
                let mut script = Script::new(kind, seed);
                let (before, mut after) = (script.take(4000), script.take(8000));
                affect(&mut after[..6000], Effect::Slower, seed);
                lingering(&before, &after).is_some_and(|found| found.ios.abs_diff(6000) <= 600)
            });
            let near = near.count();
            assert!(near >= 196, "{kind:?}: {near}");
        }
    }

    // Are unaffected reads found unaffected?
    #[test]
    fn unaffected_reads_are_not_affected() {
        for kind in READS {
            let alarms = (0..SEEDS).filter(|&seed| found(kind, None, seed).is_some()).count();
            assert!(alarms <= 4, "{kind:?}: {alarms}");
        }
    }

    // Is it said when the drive did not settle within the reads that were made?
    #[test]
    fn unsettled_drive_is_said_to_be() {
        let mut script = Script::new(Kind::Noise, 1);
        let (before, mut after) = (script.take(4000), script.take(1500));
        affect(&mut after, Effect::SometimesWaiting, 1);
        let lingering = lingering(&before, &after).unwrap();
        assert!(
            lingering.ios > 1470 && !lingering.settled || lingering.ios == 1500,
            "{lingering:?}"
        );
    }
}
