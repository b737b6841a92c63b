//! Predicts a workload from the measured cost of uniform writes (Boboila and Desnoyers, section
//! IV). The only property of the drive that the prediction needs is its size.

use flashscope_model::trace::{Decomposition, Performance, Predictor, Space};
use flashscope_model::{Family, GridError, Surface, Trend, Uniform};

use super::{Pieces, PredictError, Requests};

/// The measured cost of uniform writes, for one mean length and one free space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The mean length of writes, in pages.
    pub mean_len: f64,
    /// The free space of the drive relative to the space written.
    pub free_space: f64,
    /// Nanoseconds per page written.
    pub nanos: f64,
    /// Blocks erased and pages programmed, per page written; `None` if the drive does not report
    /// them.
    pub counts: Option<(f64, f64)>,
}

/// A performance model that interpolates between measured points.
pub struct InterpolatedModel {
    /// The assumed FTL family, which decides how free space is divided.
    family: Family,
    nanos: Surface,
    counts: Option<(Surface, Surface)>,
    /// The minimum mean length and the minimum free space of a point.
    least: (f64, f64),
    /// The free spaces of the points, ascending.
    frees: Vec<f64>,
}

/// The predicted cost of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    /// Pages that the host wrote.
    pub pages: u64,
    /// Total time, in ns.
    pub nanos: f64,
    /// Blocks erased and pages programmed; 0 if the drive does not report them.
    pub counts: (f64, f64),
    /// Pages of writes that are shorter, or have less free space, than all measured points. The
    /// prediction uses the cost of the nearest point, which is too low.
    pub beyond: u64,
}

/// Tolerance, as a share, for lengths and free spaces below the measured values. A drive rounds
/// them to whole pages and blocks.
const MARGIN: f64 = 0.05;

/// The erases per page that replace 0, which has no logarithm, at a point where the drive erased
/// nothing.
const MIN_ERASURES: f64 = 1e-9;

impl InterpolatedModel {
    /// Builds the model from points that form a grid: every mean length combined with every free
    /// space. Assumes that costs fall with free space, and corrects points that deviate by noise.
    ///
    /// # Errors
    /// If points are missing, or values are not above 0.
    pub fn new(points: &[Point], family: Family) -> Result<InterpolatedModel, GridError> {
        let axis = |of: fn(&Point) -> f64| {
            let mut values: Vec<f64> = points.iter().map(of).collect();
            values.sort_unstable_by(f64::total_cmp);
            values.dedup();
            values
        };
        let (lens, frees) = (axis(|point| point.mean_len), axis(|point| point.free_space));
        let mut sorted = points.to_vec();
        sorted.sort_unstable_by(|one, two| {
            let by_len = one.mean_len.total_cmp(&two.mean_len);
            by_len.then(one.free_space.total_cmp(&two.free_space))
        });
        let surface = |of: &dyn Fn(&Point) -> f64| {
            let values: Vec<f64> = sorted.iter().map(of).collect();
            Surface::fitted(&lens, &frees, &values, None, Some(Trend::Falling))
        };
        let nanos = surface(&|point| point.nanos)?;
        let counted = points.iter().all(|point| point.counts.is_some());
        let of = |point: &Point| point.counts.unwrap_or_default();
        let counts = match counted {
            true => Some((
                surface(&|point| of(point).0.max(MIN_ERASURES))?,
                surface(&|point| of(point).1)?,
            )),
            false => None,
        };
        let least = |axis: &[f64]| axis.first().copied().unwrap_or(0.0) / (1.0 + MARGIN);
        let least = (least(&lens), least(&frees));
        Ok(InterpolatedModel { family, nanos, counts, least, frees })
    }

    /// Returns true if the drive reported erases and programs.
    #[must_use]
    pub const fn counts(&self) -> bool {
        self.counts.is_some()
    }

    /// Returns the costs of uniform writes of `mean_len` pages.
    pub(crate) fn at_length(&self, mean_len: f64) -> AtLength<'_> {
        AtLength { model: self, mean_len }
    }

    /// Predicts a workload on a drive over as many passes as it takes to write all free space once.
    /// Returns the number of passes and their total cost.
    ///
    /// # Errors
    /// If the space is out of range, or nothing is written.
    pub fn predict(
        &self,
        space: Space,
        pieces: Pieces,
        requests: &mut Requests,
    ) -> Result<(u32, Cost), PredictError> {
        let own = f64::from(space.free_blocks) / f64::from(space.logical_blocks.max(1));
        // A grid cannot have points below the free space of the whole drive.
        let covers = self.least.1 <= own * (1.0 + MARGIN);
        let least = (self.least.0, if covers { 0.0 } else { self.least.1 });
        let applied = ModelOnDrive { model: self, least };
        let mut decomposition =
            Decomposition::new(&applied, space, pieces.ranges, pieces.stretches)?;
        let stretch = u64::from(space.free_blocks) * u64::from(space.pages_per_block);
        let (mut passes, mut written) = (0, 0);
        while written < stretch {
            written += requests.pass(&mut |request| {
                if request.is_write() {
                    decomposition.write(request.page.into(), request.pages().into());
                }
            })?;
            passes += 1;
        }
        Ok((passes, decomposition.total()))
    }
}

/// The costs of uniform writes at one mean length, as a function of free space.
pub(crate) struct AtLength<'m> {
    model: &'m InterpolatedModel,
    mean_len: f64,
}

impl AtLength<'_> {
    /// Returns the measured nanoseconds per page.
    pub(crate) fn nanos(&self, free_space: f64) -> f64 {
        self.model.nanos.at(self.mean_len, free_space)
    }

    /// Returns the measured erases and programs per page; `None` if the drive does not report them.
    pub(crate) fn counts(&self, free_space: f64) -> Option<(f64, f64)> {
        let (erasures, programs) = self.model.counts.as_ref()?;
        Some((erasures.at(self.mean_len, free_space), programs.at(self.mean_len, free_space)))
    }

    /// Returns the measured free space that is nearest to `free_space`, but differs from it.
    pub(crate) fn neighbour(&self, free_space: f64) -> Option<f64> {
        let differs = |other: &&f64| (*other / free_space).ln().abs() > APART;
        let distance = |other: &f64| (other / free_space).ln().abs();
        let others = self.model.frees.iter().filter(differs);
        others.min_by(|one, two| distance(one).total_cmp(&distance(two))).copied()
    }

    /// Returns true if writes of this length and free space are within the measured points and
    /// their margin.
    pub(crate) fn covers(&self, free_space: f64) -> bool {
        self.mean_len >= self.model.least.0 && free_space >= self.model.least.1
    }
}

/// The logarithm of the minimum ratio of two free spaces that count as different.
const APART: f64 = 0.1;

/// A model on a drive.
struct ModelOnDrive<'a> {
    model: &'a InterpolatedModel,
    /// The mean length and the free space below which a piece of the workload lies beyond the
    /// points.
    least: (f64, f64),
}

impl Performance for ModelOnDrive<'_> {
    type Sum = Cost;

    fn family(&self) -> Family {
        self.model.family
    }

    #[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
    fn add(&self, uniform: &Uniform, pages: u64, sum: &mut Cost) {
        let (len, free) = (uniform.mean_len(), uniform.free_space());
        let count = pages as f64;
        sum.pages += pages;
        sum.nanos += count * self.model.nanos.at(len, free);
        let beyond = len < self.least.0 || free < self.least.1;
        sum.beyond += if beyond { pages } else { 0 };
        if let Some((erasures, programs)) = &self.model.counts {
            sum.counts.0 += count * erasures.at(len, free);
            sum.counts.1 += count * programs.at(len, free);
        }
    }
}

#[cfg(test)]
mod tests {
    use flashscope_block::{Bytes, Data, Io, Nanos, Op};

    use super::super::Request;
    use super::*;

    const SPACE: Space = Space { pages_per_block: 64, logical_blocks: 100, free_blocks: 10 };

    fn points(counts: bool) -> Vec<Point> {
        let mut points = Vec::new();
        for mean_len in [1.0, 8.0, 64.0] {
            for free_space in [0.1, 1.0, 10.0, 100.0] {
                let nanos = 1e5 / mean_len / free_space;
                let counts = counts.then_some((nanos / 1e7, 1.0 + nanos / 1e5));
                points.push(Point { mean_len, free_space, nanos, counts });
            }
        }
        points
    }

    fn writes(len: u64) -> Requests {
        let io = |at: u64| {
            let (offset, len) = (Bytes(at * 37 % 6400 * 4096), Bytes(len * 4096));
            Io { op: Op::Write, stream: 0, offset, len, data: Data::Random, at: Nanos(0) }
        };
        let requests = (0..2000).filter_map(|at| Request::of(&io(at), 4096));
        Requests::Repeated(requests.collect())
    }

    #[test]
    fn shorter_writes_cost_more_and_counts_need_reports() {
        for counted in [false, true] {
            let grid = InterpolatedModel::new(&points(counted), Family::Fast).unwrap();
            assert_eq!(grid.counts(), counted);
            let of = |len| grid.predict(SPACE, Pieces::default(), &mut writes(len)).unwrap().1;
            let (short, long) = (of(1), of(8));
            let per_page = |cost: &Cost| cost.nanos / cost.pages as f64;
            assert!(per_page(&short) > 2.0 * per_page(&long), "{short:?} {long:?}");
            assert_eq!(short.counts.0 > 0.0, counted);
            assert_eq!(short.counts.1 >= short.pages as f64, counted);
        }
    }

    #[test]
    fn pages_beyond_the_measured_points_are_counted() {
        let mut few = points(true);
        few.retain(|point| point.free_space >= 1.0);
        let beyond = |points: &[Point]| {
            let grid = InterpolatedModel::new(points, Family::Fast).unwrap();
            let cost = grid.predict(SPACE, Pieces::default(), &mut writes(1)).unwrap().1;
            (cost.beyond, cost.pages)
        };
        // A tenth of the drive is free.
        let (outside, pages) = beyond(&few);
        assert_eq!(outside, pages);
        let mut wide = points(true);
        wide.iter_mut().for_each(|point| point.free_space /= 10.0);
        assert_eq!(beyond(&wide).0, 0);
    }

    #[test]
    fn points_from_a_model_predict_as_it_does() {
        let model = flashscope_model::Model::named("fast-2011").unwrap();
        let axis = |from: f64, points: i32| (0..points).map(move |i| from * 2_f64.powi(i));
        let point = |mean_len, free_space| {
            let uniform = Uniform::new(64.0, 100.0, free_space, mean_len).unwrap();
            let predicted = (model.predict)(&uniform);
            let counts = Some((predicted.erasures, predicted.write_amplification()));
            Point { mean_len, free_space, nanos: 1.0, counts }
        };
        let points: Vec<Point> = axis(1.0, 12)
            .flat_map(|len| axis(1e-3, 21).map(move |free| point(len, free)))
            .collect();
        let grid = InterpolatedModel::new(&points, Family::Fast).unwrap();
        for len in [1, 6, 100] {
            let Pieces { ranges, stretches } = Pieces::default();
            let mut by_model = Decomposition::new(model, SPACE, ranges, stretches).unwrap();
            let (passes, cost) = grid.predict(SPACE, Pieces::default(), &mut writes(len)).unwrap();
            for _ in 0..passes {
                let each = &mut |request: Request| {
                    by_model.write(request.page.into(), request.pages().into());
                };
                writes(len).pass(each).unwrap();
            }
            let expected = by_model.total();
            assert_eq!(cost.pages, expected.pages);
            let programs = expected.write_amplification() * expected.pages as f64;
            for (got, expected) in [(cost.counts.0, expected.erasures), (cost.counts.1, programs)] {
                assert!((got / expected - 1.0).abs() < 0.02, "{len}: {got} for {expected}");
            }
        }
    }

    #[test]
    fn incomplete_grid_is_an_error() {
        let points = &points(false)[1..];
        assert!(matches!(
            InterpolatedModel::new(points, Family::Fast),
            Err(GridError::Count { .. })
        ));
    }
}
