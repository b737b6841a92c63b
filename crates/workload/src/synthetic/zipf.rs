use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::alias::AliasTable;
use super::{COMMON, Generator, Kind, Place, Places, field};
use crate::permutation::Permutation;

/// The place of rank k is chosen in proportion to k to the power of −exponent.
///
/// The law holds for every rank of the whole range, none is cut off. Ranks are spread over the
/// range by a permutation; with `shuffled=false` rank and place are the same, so that hot data
/// lies together at the start.
pub(super) const KIND: Kind = Kind {
    name: "zipf",
    argument: None,
    summary: "few places take most of the IOs: rank k in proportion to 1/k^exponent",
    source: "Zipf's law, as YCSB (Cooper et al., SoCC 2010) has it for 0.99",
    fields: &[
        field("exponent", Some("0.99"), "how skewed, above 0 and up to 10"),
        field(
            "shuffled",
            Some("true"),
            "`false` lays places in the order of their ranks, the most frequent first",
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
    /// Places 0 to `units` − 1, of which there is one at least, in the order of their ranks or, with a
    /// seed, spread.
    pub(super) fn new(units: u64, exponent: f64, seed: Option<u64>) -> Zipf {
        let spread = seed.map(|seed| Permutation::new(units, seed));
        Zipf { ranks: Ranks::new(units, exponent), spread }
    }

    #[inline]
    pub(super) fn draw(&mut self, _units: u64, rng: &mut Xoshiro256PlusPlus) -> Place {
        let rank = self.ranks.draw(rng) - 1;
        let unit = self.spread.as_ref().map_or(rank, |spread| spread.at(rank));
        Place { unit, stream: 0 }
    }
}

/// Into how many blocks ranks from a power of two to the next are cut, about.
const BLOCKS_AN_OCTAVE: u64 = 16;

/// Ranks 1 to n by Zipf's law: exact for every n, in constant time, with some hundred blocks at
/// most.
///
/// A rank is drawn in two steps, by rejection from a staircase above the law: first a block of
/// neighbouring ranks, as if each of them had the weight of the first, from an alias table; then a
/// rank of it, any with the same probability, which is accepted by its own weight over that of the
/// first. Of 17 neighbours the last has nearly the weight of the first, so that a weight is
/// hardly ever worked out: a logarithm and an exponential for each IO, as other exact methods take
/// (rejection-inversion of Hörmann and Derflinger, in `rand_distr` with two powers more), would
/// cost three times as much.
struct Ranks {
    exponent: f64,
    blocks: AliasTable<Block>,
}

/// Neighbouring ranks.
struct Block {
    first: u64,
    count: u64,
    /// The weight of the last rank over that of the first.
    surely: f64,
}

impl Ranks {
    /// # Panics
    /// If there is no rank.
    #[allow(clippy::cast_precision_loss)] // places are fewer than 2^53
    fn new(most: u64, exponent: f64) -> Ranks {
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
    fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
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
