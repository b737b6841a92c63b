//! Searches a space with NSGA-II, a generation at a time.
//!
//! The optimizer evaluates one point at a time. This module records the points of a generation as
//! the optimizer generates them, and runs all of them when the optimizer evaluates the first.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use flashscope_document::sweep::{MeasuredPoint, Row};
use heuropt::prelude::{
    CompositeVariation, Evaluation, Initializer, Nsga2, Nsga2Config, ObjectiveSpace, Optimizer,
    PolynomialMutation, Problem, RealBounds, Rng, SimulatedBinaryCrossover, Variation,
};

use super::Batch;
use super::front::ranked;
use super::sampling::sobol;
use super::space::Points;
use super::{Space, Trial};

/// The distribution indices of crossover and mutation: how close children are to their parents. The
/// values are those of Deb et al., section V.
const CROSSOVER: f64 = 20.0;
const MUTATION: f64 = 20.0;

/// The maximum number of attempts to turn a child that is a known point into a new point.
const MAX_TRIES: usize = 16;

/// A point as shares of its factors.
type Shares = Vec<f64>;

/// The state of the search.
struct State<'a, 'b> {
    space: &'a Space,
    run: &'a mut Batch<'b>,
    /// The trials of points that were recorded but not run yet.
    drawn: Vec<Trial>,
    points: Points,
    /// The objectives of each point, by its number; `None` if it is impossible or failed.
    values: HashMap<u32, Option<Vec<f64>>>,
    rows: Vec<Row>,
    stopped: bool,
}

impl State<'_, '_> {
    /// Records a point. Returns true if it is new.
    fn draw(&mut self, shares: &Shares) -> bool {
        let new = self.points.take(self.space, shares).new;
        let is_new = new.is_some();
        self.drawn.extend(new.into_iter().flatten());
        is_new
    }

    /// Runs the recorded points.
    fn run_drawn(&mut self) {
        let trials = std::mem::take(&mut self.drawn);
        if self.stopped || trials.is_empty() {
            return;
        }
        let Some(rows) = (self.run)(&trials) else {
            self.stopped = true;
            return;
        };
        for rows in rows.chunk_by(|a, b| a.point == b.point) {
            let measured = MeasuredPoint::of(rows, &self.space.objectives, self.space.repeats);
            self.values.insert(measured.point, measured.means());
        }
        self.rows.extend(rows);
    }
}

/// The state, shared by the parts of the optimizer.
#[derive(Clone, Copy)]
struct SharedState<'s, 'a, 'b>(&'s Mutex<State<'a, 'b>>);

impl<'s, 'a, 'b> SharedState<'s, 'a, 'b> {
    fn lock(&self) -> MutexGuard<'s, State<'a, 'b>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Problem for SharedState<'_, '_, '_> {
    type Decision = Shares;

    fn objectives(&self) -> ObjectiveSpace {
        ranked(&self.lock().space.objectives)
    }

    fn evaluate(&self, shares: &Shares) -> Evaluation {
        let mut state = self.lock();
        state.run_drawn();
        let State { space, points, values, .. } = &mut *state;
        let point = points.take(space, shares).point;
        match point.and_then(|point| values.get(&point)) {
            Some(Some(means)) => Evaluation::new(means.clone()),
            // An excluded, impossible or failed point ranks below all others.
            _ => Evaluation::constrained(vec![0.0; space.objectives.len()], 1.0),
        }
    }
}

impl Initializer<Shares> for SharedState<'_, '_, '_> {
    fn initialize(&mut self, size: usize, _rng: &mut Rng) -> Vec<Shares> {
        let mut state = self.lock();
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        let first = sobol(state.space.factors.len(), size, state.space.seed());
        for shares in &first {
            state.draw(shares);
        }
        first
    }
}

/// A variation that records the children of the variation `inner`. While a child is a known point,
/// this variation replaces one factor of the child by a random
/// level. Without this step, most children would
/// equal their parents if factors have few levels.
struct RecordingVariation<'s, 'a, 'b, V> {
    inner: V,
    /// Generates a random share for each factor, and an additional share that chooses the factor to
    /// replace.
    anew: RealBounds,
    state: SharedState<'s, 'a, 'b>,
}

impl<V: Variation<Shares>> Variation<Shares> for RecordingVariation<'_, '_, '_, V> {
    fn vary(&mut self, parents: &[Shares], rng: &mut Rng) -> Vec<Shares> {
        let mut children = self.inner.vary(parents, rng);
        for child in &mut children {
            for _ in 0..MAX_TRIES {
                if self.state.lock().draw(child) {
                    break;
                }
                redraw(child, &self.anew.initialize(1, rng)[0]);
            }
        }
        children
    }
}

/// Sets one factor of `child` to its share in `anew`. The last share in `anew` chooses the factor.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "factors are few"
)]
fn redraw(child: &mut Shares, anew: &[f64]) {
    let factors = child.len();
    let chosen = (anew[factors] * factors as f64) as usize;
    let chosen = chosen.min(factors - 1);
    child[chosen] = anew[chosen];
}

/// Runs the search. Returns the rows of all points it tried, in order; `None` if stopped.
#[allow(clippy::cast_precision_loss, reason = "factors are few")]
pub(super) fn search(space: &Space, run: &mut Batch<'_>) -> Option<Vec<Row>> {
    let factors = space.factors.len();
    let state = Mutex::new(State {
        space,
        run,
        drawn: Vec::new(),
        points: Points::default(),
        values: HashMap::new(),
        rows: Vec::new(),
        stopped: false,
    });
    let shared = SharedState(&state);
    let bounds = vec![(0.0, 1.0); factors];
    let inner = CompositeVariation {
        crossover: SimulatedBinaryCrossover::new(bounds.clone(), CROSSOVER, 0.9),
        mutation: PolynomialMutation::new(bounds, MUTATION, 1.0 / factors as f64),
    };
    let anew = RealBounds::new(vec![(0.0, 1.0); factors + 1]);
    let config = Nsga2Config {
        population_size: space.population as usize,
        generations: (space.samples / space.population).saturating_sub(1) as usize,
        seed: space.seed(),
    };
    Nsga2::new(config, shared, RecordingVariation { inner, anew, state: shared }).run(&shared);
    let state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
    (!state.stopped).then_some(state.rows)
}
