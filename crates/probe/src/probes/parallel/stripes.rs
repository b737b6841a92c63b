//! How addresses are dealt out to parallel units, as hypotheses, and how well each explains what was
//! measured.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::median;

/// Pages dealt out in turns: so many in a row to one unit, then as many to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stripes {
    /// Parallel units.
    pub units: u32,
    /// Consecutive pages on one.
    pub chunk: u32,
}

impl Stripes {
    /// The unit that a page is on.
    pub fn unit(self, page: u32) -> usize {
        (page / self.chunk % self.units) as usize
    }

    /// Pages from one to the next in the same place of the same unit.
    pub fn period(self) -> u32 {
        self.units * self.chunk
    }

    /// How many of the first so many pages are on the unit that has most of them.
    pub fn load(self, pages: u32) -> u32 {
        let mut of = vec![0; self.units as usize];
        (0..pages).for_each(|page| of[self.unit(page)] += 1);
        of.into_iter().max().unwrap_or(0)
    }
}

/// A hypothesis with how likely it is.
#[derive(Debug, Clone, Copy)]
pub struct Weighed {
    /// The hypothesis.
    pub stripes: Stripes,
    /// The logarithm of its weight.
    pub log: f64,
}

/// Numbers of units, and how likely they are before anything was measured: controllers have powers
/// of two as a rule, and some 3, 5, 6, 10 or 12.
const UNITS: [(u32, f64); 11] = [
    (1, 1.0),
    (2, 1.0),
    (3, 0.1),
    (4, 1.0),
    (5, 0.05),
    (6, 0.1),
    (8, 1.0),
    (10, 0.1),
    (12, 0.1),
    (16, 1.0),
    (32, 0.5),
];

/// Consecutive pages on a unit.
const CHUNKS: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// The longest period that is looked for, in pages.
pub const LONGEST_PERIOD: u32 = 64;

/// All that is thought possible. One unit has no chunks.
pub fn hypotheses() -> Vec<Weighed> {
    let chunks = |units| if units == 1 { &CHUNKS[..1] } else { &CHUNKS[..] };
    let all = UNITS.iter().flat_map(|(units, prior)| {
        chunks(*units).iter().map(|chunk| Weighed {
            stripes: Stripes { units: *units, chunk: *chunk },
            log: prior.ln(),
        })
    });
    all.filter(|weighed| weighed.stripes.period() <= LONGEST_PERIOD).collect()
}

/// What a series of reads with many in flight took.
#[derive(Debug, Clone)]
pub struct Series {
    /// The pages that were read, in this order.
    pub pages: Vec<u32>,
    /// The median response time.
    pub took: f64,
    /// How far that is off, as a share of it.
    pub error: f64,
}

/// What the model leaves out of a drive, as a share of response times: buses that are shared,
/// controllers with several processors.
const MODEL_ERROR: f64 = 0.04;

/// Beyond so many standard deviations, a deviation tells no more: it is a disturbance.
const OUTLIER: f64 = 5.0;

/// How long everything but the flash takes for a request, as a share of the least time that a read
/// took at any stride, over the most: what is tried. It bounds that least time where units are many.
const FRONTS: [f64; 9] = [0.3, 0.6, 0.8, 0.9, 0.95, 1.0, 1.05, 1.15, 1.5];

/// The logarithm of the likelihood of series of reads with `depth` in flight, for the best time of a
/// flash read and of the work on a request.
pub fn explain_reads(stripes: Stripes, series: &[Series], depth: usize) -> f64 {
    let contrast = contrast(series);
    let fits = FRONTS.iter().map(|front| {
        let front = front * contrast;
        let predicted: Vec<f64> =
            series.iter().map(|series| predict(stripes, &series.pages, depth, front)).collect();
        let off = |(series, predicted): (&Series, &f64)| (series.took / predicted).ln();
        let offs: Vec<f64> = series.iter().zip(&predicted).map(off).collect();
        let scale = median(&offs);
        let log = |(series, off): (&Series, &f64)| {
            let error = series.error.hypot(MODEL_ERROR);
            -0.5 * ((off - scale) / error).powi(2).min(OUTLIER * OUTLIER)
        };
        series.iter().zip(&offs).map(log).sum::<f64>()
    });
    fits.fold(f64::MIN, f64::max)
}

/// The least time that any of the series took, as a share of the most.
pub fn contrast(series: &[Series]) -> f64 {
    let took = series.iter().map(|series| series.took);
    took.clone().fold(f64::MAX, f64::min) / took.fold(1.0, f64::max)
}

/// The time of a flash read in the model.
const READ: u64 = 1000;

/// The median response time, in flash reads, of a series of reads with `depth` in flight, where each
/// takes the controller `front` of a flash read, one after the other.
fn predict(stripes: Stripes, pages: &[u32], depth: usize, front: f64) -> f64 {
    // Shares of a read are small and not negative.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    let front = (front * READ as f64) as u64;
    let (mut free, mut controller) = (vec![0; stripes.units as usize], 0);
    let mut flying: BinaryHeap<Reverse<u64>> = BinaryHeap::with_capacity(depth + 1);
    let mut latencies = Vec::with_capacity(pages.len());
    for page in pages {
        let submitted = match flying.len() == depth {
            true => flying.pop().map_or(0, |Reverse(done)| done),
            false => 0,
        };
        controller = submitted.max(controller) + front;
        let unit = &mut free[stripes.unit(*page)];
        *unit = controller.max(*unit) + READ;
        flying.push(Reverse(*unit));
        latencies.push(*unit - submitted);
    }
    let steady = latencies.get_mut(depth..).unwrap_or_default();
    let middle = steady.len() / 2;
    #[allow(clippy::cast_precision_loss)]
    match steady {
        [] => 1.0,
        steady => *steady.select_nth_unstable(middle).1 as f64 / READ as f64,
    }
}

/// A read or a write alone across pages `first` to `last`.
#[derive(Debug, Clone, Copy)]
pub struct Crossing {
    /// The page where it ends; it begins in the page before, or in this one, where it crosses none.
    pub page: u32,
    /// Whether it crosses into this page.
    pub crosses: bool,
    /// What it took.
    pub took: f64,
}

/// How much longer a short read takes at least that waits for another read of the flash: the host's
/// and the controller's part of it is at most so many times that of the flash.
const LEAST_WAIT: f64 = 1.04;

/// The logarithm of the likelihood of short reads alone, some across the boundary between two pages:
/// those whose pages are on the same unit take a flash read longer than those that touch one page.
pub fn explain_crossings(stripes: Stripes, reads: &[Crossing], sigma: f64) -> f64 {
    let waits = |read: &&Crossing| {
        read.crosses && stripes.unit(read.page) == stripes.unit(read.page.wrapping_sub(1))
    };
    let of = |waiting: bool| -> Vec<f64> {
        reads.iter().filter(|read| waits(read) == waiting).map(|read| read.took).collect()
    };
    let (short, long) = (of(false), of(true));
    let low = median(&short);
    let high = median(&long).max(low * LEAST_WAIT);
    let off = |values: &[f64], level: f64| {
        let off = |value: &f64| ((value - level) / sigma).powi(2).min(OUTLIER * OUTLIER);
        values.iter().map(off).sum::<f64>()
    };
    -0.5 * (off(&short, low) + off(&long, high))
}

/// What writes of so many pages took, each a request of its own.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// How many.
    pub pages: u32,
    /// The lower quartile of the response times.
    pub took: f64,
    /// How far that is off.
    pub error: f64,
}

/// How much of the time of a program it takes to send a page to the drive: what is tried.
const SENDS: [f64; 10] = [0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.35, 0.5, 0.75, 1.0];

/// The logarithm of the likelihood of writes of several lengths: a fixed cost, what it takes to send
/// each page, and the programs of the unit that has most of them.
pub fn explain_spans(stripes: Stripes, spans: &[Span]) -> f64 {
    let fits = SENDS.iter().map(|send| {
        let of = |span: &Span| f64::from(stripes.load(span.pages)) + send * f64::from(span.pages);
        let weights: Vec<f64> = spans
            .iter()
            .map(|span| span.error.hypot(0.5 * MODEL_ERROR * span.took).powi(-2))
            .collect();
        let sum = |value: &dyn Fn(&Span) -> f64| -> f64 {
            spans.iter().zip(&weights).map(|(span, weight)| weight * value(span)).sum()
        };
        let (n, x, y) = (sum(&|_| 1.0), sum(&of), sum(&|span| span.took));
        let (xx, xy) = (sum(&|span| of(span).powi(2)), sum(&|span| of(span) * span.took));
        let program = (n * xy - x * y) / (n * xx - x * x).max(1e-300);
        let fixed = (y - program * x) / n;
        if program <= 0.0 || fixed < 0.0 {
            return f64::MIN;
        }
        let off = |span: &Span| (span.took - fixed - program * of(span)).powi(2);
        -0.5 * sum(&off).min(1e6)
    });
    fits.fold(f64::MIN, f64::max)
}

/// How many weighed hypotheses are alike in something, likeliest first, with their share of the
/// weight of all.
pub fn shares(weighed: &[Weighed], of: impl Fn(Stripes) -> u32) -> VecDeque<(u32, f64)> {
    let best = weighed.iter().map(|weighed| weighed.log).fold(f64::MIN, f64::max);
    let total: f64 = weighed.iter().map(|weighed| (weighed.log - best).exp()).sum();
    let mut shares: Vec<(u32, f64)> = Vec::new();
    for weighed in weighed {
        let (value, share) = (of(weighed.stripes), (weighed.log - best).exp() / total);
        match shares.iter_mut().find(|(known, _)| *known == value) {
            Some((_, sum)) => *sum += share,
            None => shares.push((value, share)),
        }
    }
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares.into()
}
