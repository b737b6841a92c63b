use crate::change::first_change;

/// The lasting effect of writes on the reads after them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lingering {
    /// The number of affected reads. If the drive did not settle, the number of all measured reads;
    /// the effect may have lasted longer.
    pub ios: usize,
    /// True if response times returned to normal within the measured reads.
    pub settled: bool,
    /// 1 minus the probability that unaffected reads show an effect this clear.
    pub confidence: f64,
}

/// The search for long effects uses one in this many reads.
const THINNED: usize = 4;

/// Counts the reads affected by preceding writes, in a run of sequential reads, random writes and
/// sequential reads again (Bouganim, Jónsson and Bonnet, *uFLIP*, CIDR 2009, section 4.3).
///
/// `before` and `after` are the response times of the reads, in one unit. Returns `None` if no read
/// was affected.
///
/// The search joins `after` and `before` into one series. The affected reads come first and end at
/// the change point of the series. The first search detects effects, slower or faster, from 8 reads
/// to a third of all reads. A second search uses one in four reads of `after`, to detect longer
/// effects. If `after` is at most twice as long as `before`, the second search covers effects on
/// all of `after`. Takes O(n log n) time.
pub fn lingering(before: &[f64], after: &[f64]) -> Option<Lingering> {
    [1, THINNED].into_iter().find_map(|step| {
        let sampled: Vec<f64> = after.iter().copied().step_by(step).collect();
        let change = first_change(&[&sampled, before].concat(), None)?;
        let ios = (change.at * step).min(after.len());
        // A change point is accurate to 5 %.
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

    /// The difference between affected and unaffected reads.
    #[derive(Debug, Clone, Copy)]
    enum Effect {
        /// Each read takes 1.5 times as long.
        Slower,
        /// One read in five, at random, waits for a block erase.
        SometimesWaiting,
        /// Every fifth read waits for a block erase.
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

    fn simulate(kind: Kind, effect: Option<Effect>, seed: u64) -> Option<Lingering> {
        let mut script = Script::new(kind, seed);
        let (before, mut after) = (script.take(3000), script.take(8000));
        if let Some(effect) = effect {
            affect(&mut after[..AFFECTED], effect, seed);
        }
        lingering(&before, &after)
    }

    // The count is accurate to 10 % for every kind of effect.
    #[test]
    fn affected_reads_are_counted() {
        for (kind, effect, least) in [
            (Kind::Plain, Effect::Slower, 196),
            (Kind::Noise, Effect::Slower, 196),
            (Kind::Noise, Effect::SometimesWaiting, 196),
            (Kind::HeavyTails, Effect::SometimesWaiting, 196),
            (Kind::Dependent, Effect::Slower, 196),
            // A weak effect in correlated noise is missed more often.
            (Kind::Dependent, Effect::SometimesWaiting, 186),
            (Kind::Spikes(64), Effect::WaitingInTurn, 196),
        ] {
            let all: Vec<_> =
                (0..SEEDS).filter_map(|seed| simulate(kind, Some(effect), seed)).collect();
            let near = all
                .iter()
                .filter(|effect| effect.ios.abs_diff(AFFECTED) <= AFFECTED / 10 && effect.settled);
            let near = near.count();
            assert!(near >= least, "{kind:?} {effect:?}: {near}");
        }
    }

    // The effect lasts for most of the reads after the writes.
    #[test]
    fn long_effects_are_detected() {
        for kind in [Kind::Plain, Kind::Noise, Kind::HeavyTails] {
            let near = (0..SEEDS).filter(|&seed| {
                let mut script = Script::new(kind, seed);
                let (before, mut after) = (script.take(4000), script.take(8000));
                affect(&mut after[..6000], Effect::Slower, seed);
                lingering(&before, &after).is_some_and(|effect| effect.ios.abs_diff(6000) <= 600)
            });
            let near = near.count();
            assert!(near >= 196, "{kind:?}: {near}");
        }
    }

    // At most 2 % of the series of unaffected reads cause a false alarm.
    #[test]
    fn false_alarms_are_rare() {
        for kind in READS {
            let alarms = (0..SEEDS).filter(|&seed| simulate(kind, None, seed).is_some()).count();
            assert!(alarms <= 4, "{kind:?}: {alarms}");
        }
    }

    #[test]
    fn an_effect_that_outlasts_the_reads_is_unsettled() {
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
