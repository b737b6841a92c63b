use std::collections::HashMap;

use flashscope_block::Nanos;
use flashscope_document::sweep::{Goal, Level, Objective};
use flashscope_workload::state::Fill;
use serde::Deserialize;
use toml::{Table, Value};

use super::conditions::{Condition, Settings, apply, flat};
use super::sampling::{MAX_FACTORS, MAX_SAMPLES, latin_hypercube, sobol};
use super::trial::number_names;
use super::{Factor, Sampling, SpaceError, Trial, Values, fields};
use crate::{SimulationRequest, Work};

/// The table of factors.
const FACTORS: &str = "[factors]";

/// Maximum number of points of a full grid.
const MAX_POINTS: u64 = 1_000_000;

/// Maximum number of simulations, counting all repeats. All trials are created before the first
/// trial runs.
const MAX_TRIALS: u64 = 10_000_000;

/// A design space and the way to explore it.
#[derive(Debug, Clone)]
pub struct Space {
    /// The source text.
    pub text: String,
    /// The factors, sorted by name.
    pub factors: Vec<Factor>,
    /// The objectives that rank points.
    pub objectives: Vec<Objective>,
    /// The way points are chosen.
    pub sampling: Sampling,
    /// The number of points; not used for a full grid.
    pub samples: u32,
    /// The points in a generation of a search.
    pub population: u32,
    /// Simulations per point, with consecutive seeds.
    pub repeats: u32,
    /// The drive and the work on it before factors apply, with the seed of the first repeat.
    base: SimulationRequest,
    conditions: Vec<Condition>,
}

/// A space as TOML.
#[derive(Deserialize)]
#[serde(default)]
struct SpaceToml {
    drive: String,
    workload: String,
    fill: Fill,
    warm_up: Option<String>,
    ios: Option<u64>,
    duration: Option<String>,
    queue_depth: Option<u32>,
    seed: u64,
    repeats: u32,
    sampling: Sampling,
    samples: u32,
    population: u32,
    objectives: Vec<String>,
    factors: Table,
    conditions: Vec<Table>,
}

impl Default for SpaceToml {
    fn default() -> SpaceToml {
        let Work { workload, fill, ios, queue_depth, seed, .. } = Work::default();
        SpaceToml {
            drive: "sim:demo".into(),
            workload,
            fill,
            warm_up: None,
            ios,
            duration: None,
            queue_depth,
            seed,
            repeats: 1,
            sampling: Sampling::Full,
            samples: 64,
            population: 16,
            objectives: vec![
                "minimize write_amplification".into(),
                "maximize ios_per_second".into(),
            ],
            factors: Table::new(),
            conditions: Vec::new(),
        }
    }
}

/// The keys of [`SpaceToml`].
const KEYS: [&str; 15] = [
    "drive",
    "workload",
    "fill",
    "warm_up",
    "ios",
    "duration",
    "queue_depth",
    "seed",
    "repeats",
    "sampling",
    "samples",
    "population",
    "objectives",
    "factors",
    "conditions",
];

impl Space {
    /// Parses a space from TOML, see docs/sweep.md.
    ///
    /// # Errors
    /// If the text is invalid; for an unknown name, the error has the nearest known name. Parsing
    /// does not detect points that cannot be simulated.
    pub fn parse(text: &str) -> Result<Space, SpaceError> {
        let toml = |error: toml::de::Error| SpaceError::Toml(error.to_string().trim_end().into());
        let table: Table = toml::from_str(text).map_err(toml)?;
        if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(SpaceError::unknown("a space", key, KEYS));
        }
        let written: SpaceToml = toml::from_str(text).map_err(toml)?;
        let factors = flat(&written.factors);
        let factors: Result<Vec<Factor>, SpaceError> =
            factors.into_iter().map(|(name, value)| factor(&name, value)).collect();
        let conditions: Result<_, _> = written.conditions.iter().map(Condition::read).collect();
        let space = Space {
            text: text.into(),
            factors: factors?,
            objectives: objectives(&written.objectives)?,
            sampling: written.sampling,
            samples: written.samples,
            population: written.population,
            repeats: written.repeats,
            base: base(&written)?,
            conditions: conditions?,
        };
        space.check()?;
        Ok(space)
    }

    fn check(&self) -> Result<(), SpaceError> {
        let names = self.names();
        for condition in &self.conditions {
            let (mut factors, mut set) = condition.names();
            if let Some(unknown) = factors.find(|name| !names.contains(name)) {
                return Err(SpaceError::unknown(FACTORS, unknown, names));
            }
            set.try_for_each(|name| fields::known(FACTORS, name))?;
        }
        if self.factors.is_empty() || self.factors.len() > MAX_FACTORS {
            let rule = format!("give at least one factor, at most {MAX_FACTORS}");
            return Err(SpaceError::invalid(FACTORS, rule));
        }
        for (what, value, most) in
            [("repeats", self.repeats, 10_000), ("samples", self.samples, MAX_SAMPLES)]
        {
            if !(1..=most).contains(&value) {
                let rule = format!("give a whole number from 1 to {most}");
                return Err(SpaceError::invalid(what, rule));
            }
        }
        if self.sampling == Sampling::Search {
            let fits =
                self.population.is_multiple_of(2) && (2..=self.samples).contains(&self.population);
            let rule = "it must be even, and at most `samples`";
            fits.then_some(()).ok_or_else(|| SpaceError::invalid("population", rule))?;
        }
        let points = match self.sampling {
            Sampling::Full => self.check_grid()?,
            _ => self.samples.into(),
        };
        self.check_trials(points)
    }

    /// Returns the number of points of the full grid. Fails above [`MAX_POINTS`].
    fn check_grid(&self) -> Result<u64, SpaceError> {
        let counts = self.factors.iter().map(|factor| {
            let rule = "a full grid needs `step` or `count` for each range, or another `sampling`";
            let wrong = || SpaceError::Factor { factor: factor.name.clone(), rule };
            Ok(factor.count().ok_or_else(wrong)? as u64)
        });
        let points =
            counts.collect::<Result<Vec<_>, _>>()?.into_iter().fold(1, u64::saturating_mul);
        match points > MAX_POINTS {
            true => Err(SpaceError::invalid(
                "[factors]",
                format!(
                    "the full grid has {points} points, and at most {MAX_POINTS} are allowed: remove \
                     levels, or choose a sample with sampling = \"sobol\""
                ),
            )),
            false => Ok(points),
        }
    }

    /// Fails if `points` points have more than [`MAX_TRIALS`] trials.
    fn check_trials(&self, points: u64) -> Result<(), SpaceError> {
        let trials = points.saturating_mul(self.repeats.into());
        match trials > MAX_TRIALS {
            true => Err(SpaceError::invalid(
                "repeats",
                format!(
                    "{points} points with {} repeats each are {trials} simulations, and at most \
                     {MAX_TRIALS} are allowed: use fewer points or repeats",
                    self.repeats
                ),
            )),
            false => Ok(()),
        }
    }

    /// Returns the names of the factors.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.factors.iter().map(|factor| factor.name.as_str()).collect()
    }

    /// Returns all trials, in the order of points and repeats. Empty for a search, whose points
    /// depend on earlier results.
    #[must_use]
    pub fn trials(&self) -> Vec<Trial> {
        let mut points = Points::default();
        let trials = self.shares().into_iter().filter_map(|shares| points.take(self, &shares).new);
        trials.flatten().collect()
    }

    /// Returns the number of trials without creating them; for a search, the upper limit.
    #[must_use]
    pub fn simulations(&self) -> u64 {
        let points = match self.sampling {
            Sampling::Search => self.samples.into(),
            _ => self.points(),
        };
        points * u64::from(self.repeats)
    }

    /// Returns the number of distinct points that are not excluded.
    fn points(&self) -> u64 {
        let mut points = Points::default();
        let place = |shares: Vec<f64>| points.place(self, &shares);
        self.shares().into_iter().filter_map(place).filter(|placed| placed.is_new).count() as u64
    }

    /// Returns the shares of all points; empty for a search, whose points depend on earlier
    /// results.
    fn shares(&self) -> Vec<Vec<f64>> {
        let (factors, samples, seed) = (self.factors.len(), self.samples, self.base.work.seed);
        match self.sampling {
            Sampling::Full => self.grid(),
            Sampling::LatinHypercube => latin_hypercube(factors, samples, seed),
            Sampling::Sobol => sobol(factors, samples, seed),
            Sampling::Search => Vec::new(),
        }
    }

    /// Returns the shares of all points of the grid; the last factor varies fastest.
    #[allow(clippy::cast_precision_loss, reason = "levels are few")]
    fn grid(&self) -> Vec<Vec<f64>> {
        let mut points = vec![Vec::new()];
        for factor in &self.factors {
            let count = factor.count().unwrap_or(1);
            let with = |point: &Vec<f64>, level: usize| {
                // The middle of the interval of shares that stands for the level.
                let share = (level as f64 + 0.5) / count as f64;
                point.iter().copied().chain([share]).collect::<Vec<f64>>()
            };
            let all =
                points.iter().flat_map(|point| (0..count).map(move |level| with(point, level)));
            points = all.collect();
        }
        points
    }

    /// Creates the trials of a point.
    fn trials_of(&self, point: u32, levels: &[Option<Level>], set: &Settings) -> Vec<Trial> {
        let names = self.factors.iter().map(|factor| &factor.name);
        let given = names.zip(levels).filter_map(|(name, level)| Some((name, level.as_ref()?)));
        let settings = given.chain(set.iter().map(|(name, level)| (name, level)));
        let settings: Vec<(&str, String)> =
            settings.map(|(name, level)| (name.as_str(), level.to_string())).collect();
        let request = fields::set(&self.base, &settings);
        let trial = |repeat: u32| Trial {
            point,
            repeat,
            levels: levels.to_vec(),
            request: request.repeated(repeat),
        };
        (0..self.repeats).map(trial).collect()
    }

    /// Returns the seed for the choice of points.
    pub(super) fn seed(&self) -> u64 {
        self.base.work.seed
    }
}

/// The points used so far, with their numbers.
#[derive(Default)]
pub(super) struct Points {
    numbers: HashMap<String, u32>,
}

/// A point and its trials.
pub(super) struct TakenPoint {
    /// The number of the point; `None` if it is excluded.
    pub point: Option<u32>,
    /// The trials, if the point is new.
    pub new: Option<Vec<Trial>>,
}

/// A point with its number and settings.
struct PlacedPoint {
    point: u32,
    levels: Vec<Option<Level>>,
    set: Settings,
    /// True if the point is new.
    is_new: bool,
}

impl Points {
    /// Adds the point at these shares of the factors. Returns its number and, if it is new, its
    /// trials.
    pub(super) fn take(&mut self, space: &Space, shares: &[f64]) -> TakenPoint {
        let Some(PlacedPoint { point, levels, set, is_new }) = self.place(space, shares) else {
            return TakenPoint { point: None, new: None };
        };
        let new = is_new.then(|| space.trials_of(point, &levels, &set));
        TakenPoint { point: Some(point), new }
    }

    /// Finds the point at these shares of the factors; `None` if it is excluded.
    fn place(&mut self, space: &Space, shares: &[f64]) -> Option<PlacedPoint> {
        let levels =
            space.factors.iter().zip(shares).map(|(factor, share)| Some(factor.at(*share)));
        let mut levels: Vec<Option<Level>> = levels.collect();
        let set = apply(&space.conditions, &space.names(), &mut levels)?;
        let key = format!("{levels:?} {set:?}");
        let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        let point = *self.numbers.entry(key).or_insert(next);
        Some(PlacedPoint { point, levels, set, is_new: point == next })
    }
}

fn factor(name: &str, value: &Value) -> Result<Factor, SpaceError> {
    fields::known(FACTORS, name)?;
    let factor = Factor::read(name, value)?;
    let whole = fields::is_whole(name);
    match whole && !matches!(&factor.values, Values::Levels(levels) if levels.iter().all(is_text)) {
        true => Err(SpaceError::Factor { factor: name.into(), rule: "its values must be names" }),
        false => Ok(factor),
    }
}

fn is_text(level: &Level) -> bool {
    matches!(level, Level::Text(_))
}

fn objectives(written: &[String]) -> Result<Vec<Objective>, SpaceError> {
    let names = number_names();
    let objective = |text: &String| {
        let (goal, field) = text.split_once(' ').unwrap_or((text, ""));
        let goal = match goal {
            "minimize" => Goal::Minimize,
            "maximize" => Goal::Maximize,
            _ => {
                let rule = format!("`{text}`: write it like \"minimize latency_ns.p99\"");
                return Err(SpaceError::invalid("objectives", rule));
            }
        };
        match names.iter().any(|name| name == field) {
            true => Ok(Objective { goal, field: field.into() }),
            false => {
                let known = names.iter().map(String::as_str);
                Err(SpaceError::unknown("the JSON of `flashscope simulate`", field, known))
            }
        }
    };
    if written.is_empty() {
        return Err(SpaceError::invalid("objectives", "give at least one"));
    }
    written.iter().map(objective).collect()
}

fn base(written: &SpaceToml) -> Result<SimulationRequest, SpaceError> {
    let warm_up = written.warm_up.as_ref().map(|text| text.parse()).transpose();
    let warm_up = warm_up.map_err(|error: flashscope_measure::ParseWarmUpError| {
        SpaceError::invalid("warm_up", error.to_string())
    })?;
    let duration = written.duration.as_ref().map(|text| text.parse::<Nanos>()).transpose();
    let duration = duration.map_err(|error| SpaceError::invalid("duration", error.to_string()))?;
    let work = Work {
        workload: written.workload.clone(),
        fill: written.fill,
        warm_up,
        ios: written.ios,
        duration,
        queue_depth: written.queue_depth,
        seed: written.seed,
        ..Work::default()
    };
    Ok(SimulationRequest { drive: written.drive.clone(), work })
}
