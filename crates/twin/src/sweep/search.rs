//! NSGA-II over a space, a generation at a time.
//!
//! The optimizer asks for one point after the other; here those that it has drawn for a generation are
//! noted as they are drawn, and run together when it asks for the first of them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use flashscope_result::sweep::{Measured, Row};
use heuropt::prelude::{
    CompositeVariation, Evaluation, Initializer, Nsga2, Nsga2Config, ObjectiveSpace, Optimizer,
    PolynomialMutation, Problem, RealBounds, Rng, SimulatedBinaryCrossover, Variation,
};

use super::explore::Batch;
use super::front::ranked;
use super::sampling::sobol;
use super::space::Points;
use super::{Space, Trial};

/// How near children are to their parents, and how often they are crossed and changed: the values of
/// Deb et al., section V.
const CROSSOVER: f64 = 20.0;
const MUTATION: f64 = 20.0;

/// So often a known point is changed to find a new one.
const MOST_TRIES: usize = 16;

/// A point as shares of its factors.
type Shares = Vec<f64>;

/// What the search knows.
struct State<'a, 'b> {
    space: &'a Space,
    run: &'a mut Batch<'b>,
    /// Of points that were drawn and not run yet.
    drawn: Vec<Trial>,
    points: Points,
    /// By the number of the point; without values where it is impossible or failed.
    values: HashMap<u32, Option<Vec<f64>>>,
    rows: Vec<Row>,
    stopped: bool,
}

impl State<'_, '_> {
    /// Notes that a point was drawn; whether it is a new one.
    fn draw(&mut self, shares: &Shares) -> bool {
        let new = self.points.take(self.space, shares).new;
        let is_new = new.is_some();
        self.drawn.extend(new.into_iter().flatten());
        is_new
    }

    /// Runs what was drawn.
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
            let found = Measured::of(rows, &self.space.objectives, self.space.repeats);
            self.values.insert(found.point, found.means());
        }
        self.rows.extend(rows);
    }
}

/// The state, from within the parts of the optimizer.
#[derive(Clone, Copy)]
struct Shared<'s, 'a, 'b>(&'s Mutex<State<'a, 'b>>);

impl<'s, 'a, 'b> Shared<'s, 'a, 'b> {
    fn lock(&self) -> MutexGuard<'s, State<'a, 'b>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Problem for Shared<'_, '_, '_> {
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
            // What is left out, impossible or failed is worse than everything else.
            _ => Evaluation::constrained(vec![0.0; space.objectives.len()], 1.0),
        }
    }
}

impl Initializer<Shares> for Shared<'_, '_, '_> {
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

/// Notes what another draws, and draws a factor of it anew as long as the point is a known one: where
/// factors have few levels, children are mostly as their parents.
struct Noting<'s, 'a, 'b, V> {
    inner: V,
    /// Of all factors, and of the choice among them.
    anew: RealBounds,
    state: Shared<'s, 'a, 'b>,
}

impl<V: Variation<Shares>> Variation<Shares> for Noting<'_, '_, '_, V> {
    fn vary(&mut self, parents: &[Shares], rng: &mut Rng) -> Vec<Shares> {
        let mut children = self.inner.vary(parents, rng);
        for child in &mut children {
            for _ in 0..MOST_TRIES {
                if self.state.lock().draw(child) {
                    break;
                }
                redraw(child, &self.anew.initialize(1, rng)[0]);
            }
        }
        children
    }
}

/// Sets a factor, which the last of these shares chooses, to its share among them.
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

/// Searches; the rows of all points that it came to, in their order. `None` where it was stopped.
#[allow(clippy::cast_precision_loss, reason = "factors are few")]
pub fn search(space: &Space, run: &mut Batch<'_>) -> Option<Vec<Row>> {
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
    let shared = Shared(&state);
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
    Nsga2::new(config, shared, Noting { inner, anew, state: shared }).run(&shared);
    let state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
    (!state.stopped).then_some(state.rows)
}
