use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

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
    source: "Zipf's law; drawn by rejection-inversion (Hörmann and Derflinger, TOMACS 1996)",
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
            let spread = shuffled.then(|| Permutation::new(room.units, room.seed));
            Ok(Places::Zipf(Zipf { ranks: Ranks::new(room.units, exponent), spread }))
        })
    },
};

pub(super) struct Zipf {
    ranks: Ranks,
    spread: Option<Permutation>,
}

impl Zipf {
    #[inline]
    pub(super) fn draw(&mut self, _units: u64, rng: &mut Xoshiro256PlusPlus) -> Place {
        let rank = self.ranks.draw(rng) - 1;
        let unit = self.spread.as_ref().map_or(rank, |spread| spread.at(rank));
        Place { unit, stream: 0 }
    }
}

/// Ranks 1 to n by Zipf's law, drawn by rejection-inversion: exact for every n, in constant time
/// and memory.
///
/// Every rank k has the part of the area under h(x) = x^−s from k − ½ to k + ½, of which as much
/// is accepted as the rank's weight h(k); h is convex, so that it fits. `rand_distr` draws the
/// same law with three powers an IO where this takes a logarithm and an exponential.
struct Ranks {
    exponent: f64,
    /// 1/(1 − s), where s is not next to 1.
    root: Option<f64>,
    most: u64,
    /// The area up to n + ½, and up to where rank 1 begins.
    area_end: f64,
    area_start: f64,
    /// An x that is no further below its rank than this is accepted without looking at weights.
    sure: f64,
}

impl Ranks {
    /// # Panics
    /// If there is no rank.
    fn new(most: u64, exponent: f64) -> Ranks {
        assert!(most > 0, "at least one rank");
        #[allow(clippy::cast_precision_loss)] // places are fewer than 2^53
        let end = most as f64 + 0.5;
        let power = 1.0 - exponent;
        let root = (power.abs() > 1e-4).then(|| 1.0 / power);
        let mut ranks = Ranks { exponent, root, most, area_end: 0.0, area_start: 0.0, sure: 0.0 };
        ranks.area_end = ranks.area(end);
        ranks.area_start = ranks.area(1.5) - 1.0;
        ranks.sure = 2.0 - ranks.area_inverse(ranks.area(2.5) - ranks.weight(2.0));
        ranks
    }

    /// h(x).
    fn weight(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// The area under h from 1 to x: (x^(1−s) − 1)/(1 − s), or ln x for s = 1.
    fn area(&self, x: f64) -> f64 {
        let (log, power) = (x.ln(), 1.0 - self.exponent);
        log * relative(power * log, f64::exp_m1)
    }

    /// The x up to which there is so much area.
    #[inline]
    fn area_inverse(&self, area: f64) -> f64 {
        // Rounding may lead out of the domain where there is hardly any area left.
        let t = (area * (1.0 - self.exponent)).max(-1.0);
        match self.root {
            // As exact as it has to be, to 1e-12, and faster.
            Some(root) => ((1.0 + t).ln() * root).exp(),
            None => (area * relative(t, f64::ln_1p)).exp(),
        }
    }

    #[inline]
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        loop {
            let uniform: f64 = rng.random();
            let area = self.area_end + uniform * (self.area_start - self.area_end);
            let x = self.area_inverse(area);
            let rank = ((x + 0.5) as u64).clamp(1, self.most);
            let k = rank as f64;
            if k - x <= self.sure || area >= self.area(k + 0.5) - self.weight(k) {
                return rank;
            }
        }
    }
}

/// f(x)/x for a function that is about x near 0, where it is 1.
fn relative(x: f64, f: fn(f64) -> f64) -> f64 {
    if x.abs() > 1e-8 { f(x) / x } else { 1.0 }
}
