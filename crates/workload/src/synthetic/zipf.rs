use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::alias::AliasTable;
use super::law::{PlaceOfRank, Shares};
use super::{COMMON, Generator, Kind, Place, Places, field};
use crate::permutation::Permutation;

/// The place of rank k is chosen in proportion to k to the power of −exponent.
///
/// The law covers every rank of the whole range. A permutation spreads the ranks over the range;
/// with `shuffled=false` rank and place are the same, so that hot data is together at the start.
pub(super) const KIND: Kind = Kind {
    name: "zipf",
    argument: None,
    summary: "few places take most of the IOs: rank k occurs in proportion to 1/k^exponent",
    source: "Zipf's law, with the exponent of YCSB (Cooper et al., SoCC 2010), 0.99",
    leaves_out: None,
    fields: &[
        field("exponent", Some("0.99"), "skew of the distribution, above 0 and up to 10"),
        field(
            "shuffled",
            Some("true"),
            "`false` orders the places by rank, the most frequent place first",
        ),
    ],
    common: COMMON,
    open: |values, target| {
        let rule = "it must be a number above 0 and up to 10";
        let exponent = values.number("exponent", rule, |s: &f64| *s > 0.0 && *s <= 10.0)?;
        let exponent = exponent.unwrap_or_default();
        let shuffled = values.flag("shuffled")?;
        Generator::open(values, target, |room| {
            Ok(Places::Zipf(Zipf::new(room.units, exponent, shuffled.then_some(room.seed))))
        })
    },
};

pub(super) struct Zipf {
    ranks: Ranks,
    spread: Option<Permutation>,
}

impl Zipf {
    /// Creates the distribution over places 0 to `units` − 1, at least one. With a seed, a
    /// permutation spreads the ranks over the places. Without a seed, the places are in the order
    /// of their ranks.
    pub(super) fn new(units: u64, exponent: f64, seed: Option<u64>) -> Zipf {
        let spread = seed.map(|seed| Permutation::new(units, seed));
        Zipf { ranks: Ranks::new(units, exponent), spread }
    }

    pub(super) fn shares(&self) -> Shares {
        Shares::Zipf { exponent: self.ranks.exponent, places: PlaceOfRank(self.spread.clone()) }
    }

    #[inline]
    pub(super) fn draw(&mut self, _units: u64, rng: &mut Xoshiro256PlusPlus) -> Place {
        let rank = self.ranks.draw(rng) - 1;
        let unit = self.spread.as_ref().map_or(rank, |spread| spread.at(rank));
        Place { unit, stream: 0 }
    }
}

/// The approximate number of blocks into which the ranks from one power of two to the next are
/// divided.
const BLOCKS_AN_OCTAVE: u64 = 16;

/// Generates random ranks 1 to n by Zipf's law: exactly for every n, in constant time, with at most
/// some hundred blocks.
///
/// A rank is drawn by rejection from a step function above the law, in two steps. An alias table
/// gives a block of neighbouring ranks, as if each rank had the weight of the first rank. Then a
/// uniform rank of the block is accepted with a probability: its weight divided by the weight of
/// the first rank. The last rank of a block has nearly the weight of the first, and the weight is
/// therefore rarely computed. Other exact methods take a logarithm and an exponential for each IO
/// (rejection-inversion of Hörmann and Derflinger, in `rand_distr` with two more powers), which
/// would cost three times as much.
pub(crate) struct Ranks {
    exponent: f64,
    blocks: AliasTable<Block>,
}

/// Neighbouring ranks.
struct Block {
    first: u64,
    count: u64,
    /// The weight of the last rank divided by that of the first: the minimum probability that a
    /// rank of the block is accepted.
    surely: f64,
}

impl Ranks {
    /// Creates the distribution of the ranks 1 to `most`.
    ///
    /// # Panics
    /// `most` is 0.
    #[allow(clippy::cast_precision_loss)] // places are fewer than 2^53
    pub(crate) fn new(most: u64, exponent: f64) -> Ranks {
        assert!(most > 0, "at least one rank");
        let mut blocks = Vec::new();
        let mut first = 1;
        while first <= most {
            let count = (first / BLOCKS_AN_OCTAVE).max(1).min(most - first + 1);
            let last = (first + count - 1) as f64;
            let surely = (last / first as f64).powf(-exponent);
            let weight = count as f64 * (first as f64).powf(-exponent);
            blocks.push((Block { first, count, surely }, weight));
            first += count;
        }
        Ranks { exponent, blocks: AliasTable::new(blocks) }
    }

    #[inline]
    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        loop {
            let block = self.blocks.draw(rng);
            if block.count == 1 {
                return block.first;
            }
            let rank = block.first + rng.random_range(0..block.count);
            let uniform: f64 = rng.random();
            let weight = || (rank as f64 / block.first as f64).powf(-self.exponent);
            if uniform < block.surely || uniform < weight() {
                return rank;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use flashscope_block::{Bytes, Nanos};

    use super::super::Target;
    use super::super::tests::{TARGET, assert_law, endless, histogram, ios};

    // Each of 1000 ranks has the frequency of Zipf's law, for exponents below, near, at and above
    // 1.
    #[test]
    fn ranks_have_the_frequencies_of_zipfs_law() {
        for exponent in [0.2_f64, 0.8, 0.99, 1.0, 1.2] {
            let weight =
                |rank: usize| (f64::from(u32::try_from(rank).unwrap()) + 1.0).powf(-exponent);
            let total: f64 = (0..1000).map(weight).sum();
            let counts =
                histogram(&ios(&format!("zipf?exponent={exponent}&shuffled=false"), 1_000_000));
            assert_law(&counts, |rank| weight(rank) / total);
        }
    }

    // The ranks are spread over the whole range, each at its own place.
    #[test]
    fn zipf_is_spread() {
        let mut spread = histogram(&ios("zipf", 1_000_000));
        let lower: f64 = spread[..500].iter().sum();
        assert!((300_000.0..700_000.0).contains(&lower), "{lower} in the lower half");
        assert!(spread.windows(2).filter(|pair| pair[0] < pair[1]).count() > 400);
        // Sorted, the counts equal those of the ranks, because both workloads draw the same ranks.
        let mut ranked = histogram(&ios("zipf?shuffled=false", 1_000_000));
        spread.sort_by(f64::total_cmp);
        ranked.sort_by(f64::total_cmp);
        assert_eq!(spread, ranked);
    }

    // The ranks reach the last of very many places, and a single place works.
    #[test]
    #[allow(clippy::cast_precision_loss)]
    fn zipf_has_no_cut_off() {
        let capacity = Bytes::gib(64 << 10);
        let target = Target { capacity, ..TARGET };
        let mut stream = endless("zipf?exponent=0.5&shuffled=false", &target);
        // P(rank ≤ n/4) → (1/4)^(1/2) for n → ∞.
        let quarter = Bytes(capacity.0 / 4);
        let low = (0..100_000).filter(|_| stream.next(Nanos(0)).unwrap().offset < quarter).count();
        assert!((low as f64 / 1e5 - 0.5).abs() < 0.005, "{low}");
        assert!(ios("zipf?length=4KiB", 100).iter().all(|io| io.offset == Bytes(0)));
    }

    // Very many ranks, 2^40, get their shares at any exponent. The test counts the ranks by octave,
    // and merges octaves in which few draws are expected.
    #[test]
    #[allow(clippy::cast_precision_loss)]
    fn zipf_of_very_many_ranks() {
        let target = Target { capacity: Bytes(512 << 40), ..TARGET };
        for exponent in [0.01, 0.5, 0.99, 1.0, 1.01, 2.0, 10.0] {
            let spec = format!("zipf?exponent={exponent}&shuffled=false&size=512");
            let mut stream = endless(&spec, &target);
            let mut octaves = vec![0.0; 41];
            for _ in 0..400_000 {
                let rank = stream.next(Nanos(0)).unwrap().offset.0 / 512 + 1;
                octaves[rank.ilog2() as usize] += 1.0;
            }
            // Ranks 2^k to 2^(k+1) − 1; the last octave is one rank.
            let mut law: Vec<f64> =
                (0..40).map(|k| sum_of_powers(1 << k, (2 << k) - 1, exponent)).collect();
            law.push(2f64.powf(-40.0 * exponent));
            let total: f64 = law.iter().sum();
            law.iter_mut().for_each(|weight| *weight /= total);
            // Merge ranks with too few samples for the test into their neighbour.
            let (mut found, mut expected) = (vec![0.0], vec![0.0]);
            for (count, weight) in octaves.iter().zip(&law) {
                if expected.last().is_some_and(|last| last * 4e5 > 10.0) {
                    found.push(0.0);
                    expected.push(0.0);
                }
                *found.last_mut().unwrap() += count;
                *expected.last_mut().unwrap() += weight;
            }
            if let ([.., a, b], [.., c, d]) = (&mut found[..], &mut expected[..]) {
                (*a, *c) = (*a + *b, *c + *d);
            }
            found.pop();
            expected.pop();
            if found.len() > 1 {
                assert_law(&found, |i| expected[i]);
            } else {
                assert!(exponent > 5.0, "nothing is tested");
            }
        }
    }

    /// Returns the sum of k to the power of −s, from `first` to `last`: term by term, or by the
    /// Euler–Maclaurin formula.
    #[allow(clippy::cast_precision_loss)]
    fn sum_of_powers(first: u64, last: u64, s: f64) -> f64 {
        if last < 1000 {
            return (first..=last).map(|k| (k as f64).powf(-s)).sum();
        }
        let (a, b) = (first as f64, last as f64);
        let integral = match s {
            1.0 => (b / a).ln(),
            _ => (b.powf(1.0 - s) - a.powf(1.0 - s)) / (1.0 - s),
        };
        let ends = f64::midpoint(a.powf(-s), b.powf(-s));
        integral + ends + s / 12.0 * (a.powf(-s - 1.0) - b.powf(-s - 1.0))
    }
}
