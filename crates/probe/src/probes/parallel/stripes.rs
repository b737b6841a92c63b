//! Hypotheses about the distribution of addresses over parallel units, and the likelihood of the
//! measurements under each.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::median;

/// A striping of pages: `chunk` consecutive pages on one unit, then as many on the next unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stripes {
    /// The number of parallel units.
    pub units: u32,
    /// The number of consecutive pages on one unit.
    pub chunk: u32,
}

impl Stripes {
    /// Returns the unit of a page.
    pub(super) fn unit(self, page: u32) -> usize {
        (page / self.chunk % self.units) as usize
    }

    /// Returns the number of pages after which the striping repeats.
    pub(super) fn period(self) -> u32 {
        self.units * self.chunk
    }
}

/// A hypothesis and its weight.
#[derive(Debug, Clone, Copy)]
pub(super) struct WeighedHypothesis {
    /// The hypothesis.
    pub stripes: Stripes,
    /// The logarithm of its weight.
    pub log: f64,
}

/// The numbers of units and their prior weights. Controllers usually have powers of two; some have
/// 3, 5 to 7, 9, 10, 12 or 24.
const UNITS: [(u32, f64); 15] = [
    (1, 1.0),
    (2, 1.0),
    (3, 0.1),
    (4, 1.0),
    (5, 0.05),
    (6, 0.1),
    (7, 0.05),
    (8, 1.0),
    (9, 0.05),
    (10, 0.1),
    (12, 0.1),
    (16, 1.0),
    (24, 0.05),
    (32, 0.5),
    (64, 0.1),
];

/// The numbers of consecutive pages on a unit to consider.
const CHUNKS: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// The longest period to consider for a drive that takes one request at a time, in pages.
pub(crate) const LONGEST_PERIOD: u32 = 64;

/// The longest period to consider for a drive that takes several requests at once, in pages.
pub(crate) const LONGEST_DEEP_PERIOD: u32 = 256;

/// A multiple of every period up to [`LONGEST_DEEP_PERIOD`].
pub(crate) const ALL_PERIODS: u64 = 32 * 32 * 9 * 5 * 7;

/// Returns all hypotheses up to a period. One unit has no chunks.
pub(crate) fn hypotheses(longest: u32) -> Vec<WeighedHypothesis> {
    let chunks = |units| if units == 1 { &CHUNKS[..1] } else { &CHUNKS[..] };
    let all = UNITS.iter().flat_map(|(units, prior)| {
        chunks(*units).iter().map(|chunk| WeighedHypothesis {
            stripes: Stripes { units: *units, chunk: *chunk },
            log: prior.ln(),
        })
    });
    all.filter(|weighed| weighed.stripes.period() <= longest).collect()
}

/// The result of a series of reads with many in flight.
#[derive(Debug, Clone)]
pub(super) struct Series {
    /// The pages in the order of reading.
    pub pages: Vec<u32>,
    /// The median response time, in nanoseconds.
    pub took: f64,
    /// The relative error of the median.
    pub error: f64,
}

/// The error of the model as a share of response times, from details it omits: shared buses,
/// controllers with several processors.
const MODEL_ERROR: f64 = 0.03;

/// Minimum relative error of a median of a few dozen response times.
const MIN_ERROR: f64 = 0.003;

/// The limit of deviations, in standard deviations; a larger deviation counts as a disturbance.
const OUTLIER: f64 = 5.0;

/// Minimum number of unexplained strides that refute a hypothesis.
pub(super) const MIN_UNEXPLAINED: usize = 3;

/// The values to try for the controller's time for a request. The unit is the time of a flash read,
/// times the ratio of the least to the greatest response time over all strides. With many units,
/// the controller's time bounds the least response time.
const FRONTS: [f64; 9] = [0.3, 0.6, 0.8, 0.9, 0.95, 1.0, 1.05, 1.15, 1.5];

/// Returns the log-likelihood of series of reads with `depth` reads in flight, with the time of the
/// controller that fits best. [`fits`] sets the time of a flash read.
pub(crate) fn explain_reads(stripes: Stripes, series: &[Series], depth: usize) -> f64 {
    let log = |deviations: Vec<f64>| -> f64 {
        deviations.iter().map(|off| -0.5 * off.powi(2).min(OUTLIER * OUTLIER)).sum()
    };
    fits(stripes, series, depth).map(log).fold(f64::MIN, f64::max)
}

/// Returns the deviation of each series from the model, in standard deviations. Of the times in
/// [`FRONTS`] for the controller, it uses the one with the fewest disturbances.
fn deviations(stripes: Stripes, series: &[Series], depth: usize) -> Vec<f64> {
    let fits = fits(stripes, series, depth);
    fits.min_by_key(|deviations| disturbed(deviations)).unwrap_or_default()
}

/// Returns the number of deviations that count as disturbances.
fn disturbed(deviations: &[f64]) -> usize {
    deviations.iter().filter(|off| off.abs() > OUTLIER).count()
}

/// Returns, for each time of the controller in [`FRONTS`], the deviation of each series from the
/// model, in standard deviations. The time of a flash read makes the median deviation 0.
fn fits(stripes: Stripes, series: &[Series], depth: usize) -> impl Iterator<Item = Vec<f64>> {
    let contrast = contrast(series);
    FRONTS.iter().map(move |front| {
        let front = front * contrast;
        let predicted = |series: &Series| predict(stripes, &series.pages, depth, front);
        let off = |series: &Series| (series.took / predicted(series)).ln();
        let offs: Vec<f64> = series.iter().map(off).collect();
        let scale = median(&offs);
        let error = |series: &Series| series.error.hypot(MODEL_ERROR);
        series.iter().zip(&offs).map(|(series, off)| (off - scale) / error(series)).collect()
    })
}

/// Returns the series of all strides.
pub(super) fn series(strides: &[(u32, Series)]) -> Vec<Series> {
    strides.iter().map(|(_, series)| series.clone()).collect()
}

/// Returns the strides at which reads of both lengths take a time that the hypothesis does not
/// predict. The host may disturb the times of one length; a deviation at both lengths is a property
/// of the drive.
pub(super) fn unexplained(
    stripes: Stripes,
    [short, long]: [&[(u32, Series)]; 2],
    depth: usize,
) -> Vec<u32> {
    let off = |reads: &[(u32, Series)]| deviations(stripes, &series(reads), depth);
    let both = off(short).into_iter().zip(off(long));
    let off = both.map(|(short, long)| short.abs().min(long.abs()));
    let strides = short.iter().map(|(stride, _)| *stride).zip(off);
    strides.filter(|(_, off)| *off > OUTLIER).map(|(stride, _)| stride).collect()
}

/// Returns the ratio of the least to the greatest time of the series.
pub(super) fn contrast(series: &[Series]) -> f64 {
    let took = series.iter().map(|series| series.took);
    took.clone().fold(f64::MAX, f64::min) / took.fold(1.0, f64::max)
}

/// The time of a flash read in the model.
const READ: u64 = 1000;

/// Returns the median response time of a series of reads with `depth` reads in flight. The unit is
/// the time of a flash read. The controller handles one read at a time, and takes `front` units for
/// each.
fn predict(stripes: Stripes, pages: &[u32], depth: usize, front: f64) -> f64 {
    // `front` is a small share of a read, and not negative.
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

/// A single short read, which may cross the edge of a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Crossing {
    /// The page where the read ends. A read that crosses the edge begins in the previous page; any
    /// other read begins in this page.
    pub page: u32,
    /// True if the read crosses into this page.
    pub crosses: bool,
    /// The response time, in nanoseconds.
    pub took: f64,
}

/// Minimum ratio of the time of a short read that waits for another flash read to the time of a
/// short read that does not wait. It limits the share of the response time that host and controller
/// may take.
const MIN_WAIT_RATIO: f64 = 1.04;

/// Returns the log-likelihood of single short reads, some across the edge between two pages. If
/// both pages are on the same unit, the read takes one flash read longer.
pub(crate) fn explain_crossings(stripes: Stripes, reads: &[Crossing], sigma: f64) -> f64 {
    let waits = |read: &&Crossing| {
        read.crosses && stripes.unit(read.page) == stripes.unit(read.page.wrapping_sub(1))
    };
    let of = |waiting: bool| -> Vec<f64> {
        reads.iter().filter(|read| waits(read) == waiting).map(|read| read.took).collect()
    };
    let (short, long) = (of(false), of(true));
    let low = median(&short);
    let high = median(&long).max(low * MIN_WAIT_RATIO);
    let off = |values: &[f64], level: f64| {
        let off = |value: &f64| ((value - level) / sigma).powi(2).min(OUTLIER * OUTLIER);
        values.iter().map(off).sum::<f64>()
    };
    -0.5 * (off(&short, low) + off(&long, high))
}

/// The result of writes of `pages` pages, each as one request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// The number of pages.
    pub pages: u32,
    /// The lower quartile of the response times, in nanoseconds.
    pub took: f64,
    /// The error of the response time, in nanoseconds.
    pub error: f64,
}

/// The values to try for the time to send a page to the drive, as a share of the time of a program.
const SENDS: [f64; 16] =
    [0.0, 0.03, 0.06, 0.1, 0.15, 0.2, 0.26, 0.32, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2];

/// Returns the log-likelihood of writes of several lengths. The time of a write is a fixed cost,
/// the transfer of each page to the drive, and the programs of each unit. Programs begin either as
/// pages arrive or after all pages have arrived.
pub(crate) fn explain_spans(stripes: Stripes, spans: &[Span]) -> f64 {
    let tried = SENDS.iter().flat_map(|send| [(*send, true), (*send, false)]);
    let fits = tried.map(|(send, at_once)| {
        let programs: Vec<f64> =
            spans.iter().map(|span| programs(stripes, span.pages, send, at_once)).collect();
        explain_line(&programs, spans)
    });
    fits.fold(f64::MIN, f64::max)
}

/// Returns the time at which the last page is programmed, if each page takes `send` to arrive. The
/// unit is the time of a program.
fn programs(stripes: Stripes, pages: u32, send: f64, at_once: bool) -> f64 {
    let mut free = vec![0.0f64; stripes.units as usize];
    for page in 0..pages {
        let arrived = send * f64::from(if at_once { page + 1 } else { pages });
        let unit = &mut free[stripes.unit(page)];
        *unit = unit.max(arrived) + 1.0;
    }
    free.into_iter().fold(0.0, f64::max)
}

/// Returns the log-likelihood of a straight line through the times of spans, by weighted least
/// squares.
fn explain_line(x: &[f64], spans: &[Span]) -> f64 {
    let weight = |span: &Span| span.error.max(MIN_ERROR * span.took).powi(-2);
    let sum = |value: &dyn Fn(f64, f64) -> f64| -> f64 {
        x.iter().zip(spans).map(|(x, span)| weight(span) * value(*x, span.took)).sum()
    };
    let (n, sx, sy) = (sum(&|_, _| 1.0), sum(&|x, _| x), sum(&|_, y| y));
    let (xx, xy) = (sum(&|x, _| x * x), sum(&|x, y| x * y));
    let slope = (n * xy - sx * sy) / (n * xx - sx * sx).max(1e-300);
    let fixed = (sy - slope * sx) / n;
    if slope <= 0.0 || fixed < 0.0 {
        return f64::MIN;
    }
    -0.5 * sum(&|x, y| (y - fixed - slope * x).powi(2))
}

/// Flattens the likelihoods of a poor fit until the best hypothesis has a mean deviation of one
/// standard deviation per measurement. A poor fit then gives no certainty.
pub(crate) fn tempered(logs: &[f64], measurements: usize) -> Vec<f64> {
    let best = logs.iter().copied().fold(f64::MIN, f64::max);
    let excess = (-2.0 * best / measurements.max(1) as f64).max(1.0);
    logs.iter().map(|log| log / excess).collect()
}

/// Groups weighed hypotheses by a property. Returns each value with its share of the total weight,
/// the likeliest first.
pub(super) fn shares(
    weighed: &[WeighedHypothesis],
    of: impl Fn(Stripes) -> u32,
) -> Vec<(u32, f64)> {
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
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the likeliest number of units and chunk length, each with its share.
    fn likeliest(explain: impl Fn(Stripes) -> f64) -> [(u32, f64); 2] {
        let mut weighed = hypotheses(LONGEST_PERIOD);
        weighed.iter_mut().for_each(|weighed| weighed.log += explain(weighed.stripes));
        [shares(&weighed, |s| s.units)[0], shares(&weighed, |s| s.chunk)[0]]
    }

    fn strides(truth: Stripes, front: f64) -> Vec<Series> {
        at_strides(truth, front, (1..=48).chain([64, 96]))
    }

    fn at_strides(truth: Stripes, front: f64, strides: impl Iterator<Item = u32>) -> Vec<Series> {
        let pages = |stride| (0..80).map(|i| i * stride % 512).collect::<Vec<u32>>();
        let series = |stride: u32| {
            // The times deviate by up to 4 %.
            let off = 1.0 + 0.02 * (f64::from(stride * 7 % 5) - 2.0);
            let took = 60e3 * off * predict(truth, &pages(stride), 16, front);
            Series { pages: pages(stride), took, error: 0.02 }
        };
        strides.map(series).collect()
    }

    // If the controller takes nearly as long as the flash, the reads show only the product of units
    // and chunk length.
    #[test]
    fn strides_show_units_and_chunks() {
        for truth in [(2, 1), (4, 2), (8, 1), (8, 8), (3, 4)] {
            let truth = Stripes { units: truth.0, chunk: truth.1 };
            for front in [0.05, 0.2] {
                let series = strides(truth, front);
                let [units, chunk] = likeliest(|stripes| explain_reads(stripes, &series, 16));
                assert_eq!((units.0, chunk.0), (truth.units, truth.chunk), "{truth:?} {front}");
                assert!(units.1 > 0.8, "{truth:?} {front}: {}", units.1);
            }
            let (series, mut weighed) = (strides(truth, 0.8), hypotheses(LONGEST_PERIOD));
            weighed.iter_mut().for_each(|w| w.log += explain_reads(w.stripes, &series, 16));
            assert_eq!(shares(&weighed, Stripes::period)[0].0, truth.period(), "{truth:?}");
        }
    }

    #[test]
    fn a_controller_slower_than_the_flash_hides_units() {
        let series = strides(Stripes { units: 4, chunk: 1 }, 1.5);
        let [units, _] = likeliest(|stripes| explain_reads(stripes, &series, 16));
        assert!(units.1 < 0.6, "{units:?}");
    }

    #[test]
    fn reads_across_edges_show_one_unit_or_several_and_the_chunk() {
        for (truth, expected) in [((1, 1), 1), ((4, 4), 4)] {
            let truth = Stripes { units: truth.0, chunk: truth.1 };
            let read = |page: u32, crosses: bool| {
                let waits = crosses && truth.unit(page) == truth.unit(page - 1);
                let took = if waits { 150e3 } else { 100e3 } + 1e3 * f64::from(page % 7);
                Crossing { page, crosses, took }
            };
            let reads: Vec<Crossing> =
                (1..97).flat_map(|page| [read(page, true), read(page, false)]).collect();
            let [units, chunk] = likeliest(|stripes| explain_crossings(stripes, &reads, 3e3));
            assert_eq!(chunk.0, expected);
            assert_eq!(units.0 == 1, truth.units == 1);
        }
    }

    // Each of four buses has four packages: reads of packages on one bus overlap except for their
    // transfers. Short reads across edges then show chunks of four pages.
    #[test]
    fn units_that_share_buses_are_not_explained_by_equal_units() {
        let took = |pages: &[u32]| {
            let (mut packages, mut buses, mut at) = ([0u64; 16], [0u64; 4], Vec::new());
            for (nth, page) in pages.iter().enumerate() {
                let submitted = if nth < 16 { 0 } else { at[nth - 16] };
                let package = (page % 16) as usize;
                let cells = packages[package].max(submitted) + 25_000;
                let done = buses[package / 4].max(cells) + 105_000;
                (packages[package], buses[package / 4]) = (done, done);
                at.push(done);
            }
            let took: Vec<f64> =
                (16..at.len()).map(|nth| (at[nth] - at[nth - 16]) as f64).collect();
            median(&took)
        };
        let pages = |stride| (0..80).map(|i| i * stride % 512).collect::<Vec<u32>>();
        let series = |stride| {
            let pages = pages(stride);
            (stride, Series { took: took(&pages), pages, error: 0.01 })
        };
        let reads: Vec<(u32, Series)> = (1..=32).chain([48, 64]).map(series).collect();
        let least =
            |units, chunk| unexplained(Stripes { units, chunk }, [&reads, &reads], 16).len();
        let chunks = hypotheses(LONGEST_PERIOD).into_iter().map(|weighed| weighed.stripes);
        for stripes in chunks.filter(|stripes| stripes.chunk == 4) {
            let unexplained = least(stripes.units, stripes.chunk);
            assert!(unexplained >= MIN_UNEXPLAINED, "{stripes:?}: {unexplained}");
        }
        let truth = Stripes { units: 8, chunk: 1 };
        let reads: Vec<(u32, Series)> = (1u32..).zip(strides(truth, 0.2)).collect();
        assert!(unexplained(truth, [&reads, &reads], 16).is_empty());
    }

    // A transfer longer than a program hides the units.
    #[test]
    fn writes_of_several_pages_show_units() {
        let spans = |truth: Stripes, send: f64| -> Vec<Span> {
            let took = |pages| 200e3 + 500e3 * programs(truth, pages, send, true);
            (1..=8).map(|pages| Span { pages, took: took(pages), error: 5e3 }).collect()
        };
        // Only reads across edges can show whether chunks are longer than a page.
        let by_page = |stripes: Stripes, seen: &[Span]| match stripes.chunk {
            1 => explain_spans(stripes, seen),
            _ => f64::MIN,
        };
        for units in [1, 2, 4] {
            let seen = spans(Stripes { units, chunk: 1 }, 0.1);
            let [best, _] = likeliest(|stripes| by_page(stripes, &seen));
            assert!(best.0 == units && best.1 > 0.9, "{units}: {best:?}");
        }
        let seen = spans(Stripes { units: 2, chunk: 1 }, 1.2);
        assert!(likeliest(|stripes| by_page(stripes, &seen))[0].1 < 0.6);
    }

    // With 16 reads in flight, 32 units in long chunks and 16 units differ at strides beyond 64
    // pages only.
    #[test]
    fn longer_periods_than_a_stride_of_64_pages_are_found() {
        for truth in [Stripes { units: 32, chunk: 4 }, Stripes { units: 16, chunk: 16 }] {
            let strides = (1..=48).chain([64, 96, 128, 256]);
            let series = at_strides(truth, 0.2, strides);
            let mut weighed = hypotheses(LONGEST_DEEP_PERIOD);
            weighed.iter_mut().for_each(|w| w.log += explain_reads(w.stripes, &series, 16));
            let units = shares(&weighed, |stripes| stripes.units);
            assert!(units[0].0 == truth.units && units[0].1 > 0.9, "{truth:?}: {units:?}");
        }
    }

    #[test]
    fn all_periods_is_a_multiple_of_every_period() {
        let divides =
            |w: &WeighedHypothesis| ALL_PERIODS.is_multiple_of(u64::from(w.stripes.period()));
        assert!(hypotheses(LONGEST_DEEP_PERIOD).iter().all(divides));
    }

    #[test]
    fn poor_fits_are_flattened_and_good_ones_are_kept() {
        assert_eq!(tempered(&[-5.0, -20.0], 40), vec![-5.0, -20.0]);
        assert_eq!(tempered(&[-200.0, -240.0], 40), vec![-20.0, -24.0]);
    }
}
