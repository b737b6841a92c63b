//! The key characteristics of a drive: the columns of uFLIP's Table 3.
//!
//! The paper reads them from its figures. This module has a rule for each characteristic,
//! documented at its code.

use std::ops::Range;

use flashscope_block::{Bytes, Nanos};
use flashscope_stats::{Estimate, Knee, knee};

use crate::hints::NEARLY;
use crate::means::{Mean, Means};
use flashscope_document::facts::{Characteristics, CheapLimit, LimitRange, PauseEffect};

/// The ratio up to which something costs "about the same" as sequential writes.
pub(crate) const ABOUT_THE_SAME: f64 = 1.5;

/// Minimum saving, as a share of the cost, that counts as an effect.
const NOTICEABLE: f64 = 0.2;

/// A curve begins at the first value whose cost is at most this share of the highest cost. Smaller
/// values may be slow for another reason: an area of one IO, for example, is written in place.
const STILL_CHEAP: f64 = 0.25;

/// A larger limit than [`STILL_CHEAP`], for values that also cost nearly the same as sequential
/// writes.
const HALF: f64 = 0.5;

/// The gaps in bytes that count as large increments (Table 3: "from one 1 MB to 8 MB").
const LARGE_GAPS: std::ops::RangeInclusive<u64> = Bytes::MIB.0..=Bytes::mib(8).0;

impl Means {
    pub(crate) fn characteristics(&self) -> Characteristics {
        let in_order = |incr| Some(self.at("order", "SW", incr)?.ns);
        let over_in_order = |incr| in_order(incr)?.ratio(&in_order(1)?);
        let basic = |baseline| Some(self.basic(baseline)?.ns);
        Characteristics {
            io_size_bytes: self.basic("SR").or(self.basic("SW")).map(|_| self.io_size),
            sequential_read_ns: basic("SR"),
            random_read_ns: basic("RR"),
            sequential_write_ns: basic("SW"),
            random_write_ns: basic("RW"),
            pause: self.pause(),
            locality: self.bounded("locality", "RW"),
            partitioning: self.bounded("partitioning", "SW"),
            reverse: over_in_order(-1),
            in_place: over_in_order(0),
            large_increments: self.large_increments(),
        }
    }

    fn pause(&self) -> Option<PauseEffect> {
        let means = self.experiment("pause", "RW");
        let (random, sequential) = (self.basic("RW")?.ns, self.basic("SW")?.ns);
        let cheapest = means.iter().map(|mean| mean.ns).min_by(by_value)?;
        if cheapest.value > (1.0 - NOTICEABLE) * random.value {
            return Some(PauseEffect::None);
        }
        let limit = (ABOUT_THE_SAME * sequential.value).min((1.0 - NOTICEABLE) * random.value);
        let as_sequential = |mean: &&Mean| mean.ns.value <= limit;
        let shortest = means.iter().rev().take_while(as_sequential).last();
        Some(match shortest {
            Some(mean) => PauseEffect::AsSequential { pause_ns: Nanos(unsigned(mean.value)) },
            None => PauseEffect::Cheaper { ratio: cheapest.ratio(&random)? },
        })
    }

    /// Returns the value of the parameter up to which an experiment is cheap: the knee of its curve
    /// of costs (see [`knee`]).
    fn bounded(&self, benchmark: &str, experiment: &str) -> Option<CheapLimit> {
        let means = self.experiment(benchmark, experiment);
        let sequential = self.basic("SW")?.ns;
        let highest_cost = |values: Range<usize>| {
            let highest_cost = means[values].iter().map(|mean| mean.ns).max_by(by_value)?;
            highest_cost.ratio(&sequential)
        };
        let ratio = highest_cost(0..means.len())?;
        // Only costs that are high beyond the uncertainty of their mean count as high.
        let at_least = means.iter().map(|mean| mean.ns.low.unwrap_or(mean.ns.value));
        let at_most = means.iter().map(|mean| mean.ns.high.unwrap_or(mean.ns.value));
        if at_least.fold(0.0, f64::max) <= ABOUT_THE_SAME * at_most.fold(f64::MAX, f64::min) {
            // The cost is the same everywhere: either low or high.
            let measured = unsigned(means.last()?.value);
            let cheap = ratio.low.unwrap_or(ratio.value) <= ABOUT_THE_SAME;
            return Some(if cheap {
                CheapLimit::Unlimited { measured, ratio }
            } else {
                CheapLimit::No
            });
        }
        let highest = means.iter().map(|mean| mean.ns.value).fold(0.0, f64::max);
        let limit = (STILL_CHEAP * highest).max((HALF * highest).min(NEARLY * sequential.value));
        let Some(first) = means.iter().position(|mean| mean.ns.value <= limit) else {
            return Some(CheapLimit::No);
        };
        let costs: Vec<Estimate> = means[first..].iter().map(|mean| mean.ns).collect();
        let value = |at: usize| unsigned(means[first + at].value);
        let (at, range) = match (knee(&costs, NEARLY * sequential.value), costs.len()) {
            (Some(Knee { at, first, last, confidence }), _) => {
                (at, Some(LimitRange { low: value(first), high: value(last), confidence }))
            }
            // Two costs that differ.
            (None, 2) => (0, None),
            // The costs fall, or rise no more than chance explains.
            (None, _) => {
                let measured = unsigned(means.last()?.value);
                return Some(CheapLimit::Unlimited {
                    measured,
                    ratio: highest_cost(first..means.len())?,
                });
            }
        };
        let ratio = highest_cost(first..first + at + 1)?;
        Some(CheapLimit::UpTo { value: value(at), ratio, range })
    }

    fn large_increments(&self) -> Option<Estimate> {
        let means = self.experiment("order", "SW").iter();
        let gap = |incr: i64| unsigned(incr).saturating_mul(self.io_size.0);
        let is_large = |incr: i64| LARGE_GAPS.contains(&gap(incr));
        let large = means.filter(|mean| mean.value > 0 && is_large(mean.value));
        large.map(|mean| mean.ns).max_by(by_value)?.ratio(&self.basic("RW")?.ns)
    }
}

fn by_value(a: &Estimate, b: &Estimate) -> std::cmp::Ordering {
    a.value.total_cmp(&b.value)
}

fn unsigned(value: i64) -> u64 {
    value.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::{MS, means};

    /// The Memoright SSD of Table 3: SW 0.3 ms, RW 5 ms, and the varied experiment.
    fn memoright(benchmark: &str, experiment: &str, varied: &[(i64, f64)]) -> Characteristics {
        means(&[
            ("preparation", "SW", &[(20480, 0.3)]),
            ("preparation", "RW", &[(20480, 5.0)]),
            (benchmark, experiment, varied),
        ])
        .characteristics()
    }

    #[test]
    fn the_row_of_the_memoright_in_table_3_is_reproduced() {
        let pause =
            memoright("pause", "RW", &[(100_000, 4.9), (1_600_000, 3.0), (6_400_000, 0.35)]);
        assert_eq!(pause.pause, Some(PauseEffect::AsSequential { pause_ns: Nanos(6_400_000) }));
        let mib = |n: i64| n << 20;
        let areas = [(mib(1), 0.3), (mib(4), 0.3), (mib(8), 0.31), (mib(16), 3.0), (mib(64), 5.0)];
        let Some(CheapLimit::UpTo { value, ratio, .. }) =
            memoright("locality", "RW", &areas).locality
        else {
            panic!("the area is bounded");
        };
        assert_eq!(value, Bytes::mib(8).0);
        assert!(ratio.covers(1.0333));
        let order = [(-1, 0.3), (0, 0.3), (1, 0.3), (2, 0.5), (32, 12.0), (256, 20.0)];
        let order = memoright("order", "SW", &order);
        assert!(order.reverse.unwrap().covers(1.0) && order.in_place.unwrap().covers(1.0));
        assert!(order.large_increments.unwrap().covers(4.0));
    }

    #[test]
    fn huge_increments_do_not_overflow() {
        let order = [(1, 0.3), (32, 12.0), (i64::MAX, 20.0)];
        let order = memoright("order", "SW", &order);
        assert!(order.large_increments.unwrap().covers(2.4));
    }

    #[test]
    fn bounds_are_none_partial_or_unlimited() {
        let partitions = |means: &[(i64, f64)]| memoright("partitioning", "SW", means).partitioning;
        assert_eq!(partitions(&[(1, 4.0), (2, 5.0), (256, 5.0)]), Some(CheapLimit::No));
        let all = partitions(&[(1, 0.3), (2, 0.3), (256, 0.4)]);
        assert!(matches!(all, Some(CheapLimit::Unlimited { measured: 256, .. })));
        let four = partitions(&[(1, 0.3), (2, 0.3), (4, 0.6), (8, 4.0), (256, 5.0)]);
        assert!(
            matches!(four, Some(CheapLimit::UpTo { value: 4, ratio, .. }) if ratio.covers(2.0))
        );
        assert_eq!(partitions(&[]), None);
        // A drive may be slow in place and fast in an area, as Table 3 shows for USB drives.
        let areas = [(32 << 10, 12.0), (1 << 20, 0.6), (8 << 20, 0.6), (64 << 20, 9.0)];
        let area = memoright("locality", "RW", &areas).locality;
        assert!(matches!(area, Some(CheapLimit::UpTo { value: 8_388_608, .. })));
    }

    #[test]
    fn uncertain_means_bound_nothing() {
        let mut given = means(&[
            ("preparation", "SW", &[(20480, 0.3)]),
            ("partitioning", "SW", &[(1, 0.3), (2, 0.3), (4, 0.9)]),
        ]);
        given.series[1].means[2].ns = Estimate::symmetric(0.9 * MS, Some(0.6 * MS));
        let found = given.characteristics().partitioning;
        assert!(matches!(found, Some(CheapLimit::Unlimited { measured: 4, .. })));
        given.series[1].means[2].ns = Estimate::symmetric(0.9 * MS, Some(0.1 * MS));
        let found = given.characteristics().partitioning;
        assert!(matches!(found, Some(CheapLimit::UpTo { value: 2, .. })));
    }

    #[test]
    fn pauses_have_no_some_or_full_effect() {
        let none = memoright("pause", "RW", &[(100_000, 5.1), (25_600_000, 4.9)]);
        assert_eq!(none.pause, Some(PauseEffect::None));
        let some = memoright("pause", "RW", &[(100_000, 5.1), (25_600_000, 2.5)]);
        assert!(matches!(some.pause, Some(PauseEffect::Cheaper { ratio }) if ratio.covers(0.5)));
        // A pause has to help even if random writes cost little more than sequential writes.
        let near = means(&[
            ("preparation", "SW", &[(20480, 1.7)]),
            ("preparation", "RW", &[(20480, 1.9)]),
            ("pause", "RW", &[(100_000, 1.9), (800_000, 0.9), (1_600_000, 0.8)]),
        ]);
        let helps = PauseEffect::AsSequential { pause_ns: Nanos(800_000) };
        assert_eq!(near.characteristics().pause, Some(helps));
        // A shorter pause with fast writes does not count if a longer pause has slow writes.
        let odd = memoright("pause", "RW", &[(100_000, 0.3), (200_000, 5.0), (400_000, 0.3)]);
        assert_eq!(odd.pause, Some(PauseEffect::AsSequential { pause_ns: Nanos(400_000) }));
    }

    #[test]
    fn experiments_that_were_not_run_give_no_characteristics() {
        assert_eq!(means(&[]).characteristics(), Characteristics::default());
    }

    #[test]
    fn baselines_fall_back_to_other_micro_benchmarks() {
        let granularity = means(&[("granularity", "SR", &[(512, 0.1), (32768, 0.3)])]);
        assert!(granularity.characteristics().sequential_read_ns.unwrap().covers(0.3 * MS));
        let alignment = means(&[("alignment", "RR", &[(0, 0.4), (512, 0.8)])]);
        assert!(alignment.characteristics().random_read_ns.unwrap().covers(0.4 * MS));
    }
}
