//! Tunes the times of a drive with a given structure.
//!
//! As long as requests wait for the same parts of a drive, a response time is a sum of the drive's
//! times, for example for reads and programs. A linear model then predicts the response times for
//! other values of the times. The model takes one simulation for each time, with this time a little
//! longer. [`least`] minimizes the misfit of the linear model without simulating. The drive at the
//! minimum is simulated and becomes the next start. The method is linear interpolation like M. J.
//! D. Powell's (*Advances in Optimization and Numerical Analysis*, 1994), applied to the response
//! times, because their misfit is not linear.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use flashscope_block::Bytes;
use flashscope_measure::{Progress, Step, Unit};
use flashscope_sim::Profile;
use flashscope_simulate::Resources;

use super::knobs::Knob;
use super::measured::{MeasuredResult, MeasuredRun, NUMBERS, Numbers};
use super::optimum::least;

/// Applies `work` to each of `all`, up to `threads` at once, and returns the results in order.
/// Reports each finished item to `progress`. Earlier calls have finished `done` items; `total` is
/// the number of all items, if known.
pub(super) fn side_by_side_with_progress<T: Sync, R: Send>(
    all: &[T],
    threads: usize,
    (done, total): (u64, Option<u64>),
    progress: &mut dyn Progress,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let done = Mutex::new((done, progress));
    side_by_side(all, threads, |one| {
        let made = work(one);
        let (count, progress) = &mut *done.lock().expect("no callback panics");
        *count += 1;
        let phase = "simulating the twin, and drives that fit as well";
        progress.show(&Step::of(phase, *count, total, Unit::Count));
        made
    })
}

/// Applies `work` to each of `all`, up to `threads` at once, and returns the results in order.
///
/// # Panics
/// If `work` panics.
pub fn side_by_side<T: Sync, R: Send>(
    all: &[T],
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
        let some = || {
            let mut mine = Vec::new();
            loop {
                let nth = next.fetch_add(1, Ordering::Relaxed);
                let Some(one) = all.get(nth) else { return mine };
                mine.push((nth, work(one)));
            }
        };
        let workers: Vec<_> = (0..threads.clamp(1, 1024)).map(|_| scope.spawn(some)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no worker panics")).collect()
    });
    done.sort_unstable_by_key(|(nth, _)| *nth);
    done.into_iter().map(|(_, made)| made).collect()
}

/// The measurements to fit, and the settings of the search.
pub struct Target<'m> {
    /// The measured results. The simulation of each result starts with a new drive.
    pub measured: &'m [MeasuredResult],
    /// The resources of the simulations.
    pub resources: &'m Resources<'m>,
    /// Receives the progress of the search.
    pub report: &'m (dyn Fn(SearchEvent) + Sync),
}

/// An event of a search.
pub enum SearchEvent {
    /// A drive was simulated.
    Simulated,
    /// There is a new best drive. Holds what was fitted (`times`, or the field of a choice) and the
    /// misfit.
    Fitted(&'static str, f64),
}

/// A drive with its simulated response times.
#[derive(Clone)]
pub struct TunedDrive {
    /// The profile of the drive.
    pub profile: Profile,
    /// The numbers of each run.
    pub numbers: Vec<Numbers>,
    /// The distance from the measurements, see [`Target::misfit`].
    pub misfit: f64,
}

/// The derivatives of a drive's response times with respect to its times.
pub struct Jacobian {
    /// The fitted times.
    pub knobs: Vec<&'static Knob>,
    /// For each time, the change of each run's numbers per ns.
    pub slopes: Vec<Vec<Numbers>>,
}

/// The deviation, in standard errors, above which the loss grows linearly instead of quadratically.
/// A single run that the structure cannot explain must not decide all times.
const OUTLIER: f64 = 3.0;

/// The relative change of a time by which its slope is measured.
const STEP: f64 = 0.08;

/// The largest change of a time in one step, as the logarithm of a factor.
pub(crate) const REACH: f64 = 1.5;

/// The share by which a step must lower the misfit for another step to follow.
const BETTER: f64 = 0.01;

/// The outcome of simulating a drive.
pub(crate) enum Outcome {
    /// The drive runs everything and fits well enough.
    Within(Box<TunedDrive>),
    /// The drive fits too badly or fails a run, or the search was stopped.
    Worse,
    /// The drive cannot be built, or is too small.
    Unable,
}

impl Outcome {
    /// Returns the drive if it fits well enough.
    pub(crate) fn within(self) -> Option<TunedDrive> {
        match self {
            Outcome::Within(tuned) => Some(*tuned),
            Outcome::Worse | Outcome::Unable => None,
        }
    }
}

/// Returns the loss of a run: its deviations in standard errors, summed as a pseudo-Huber loss.
fn loss(run: &MeasuredRun, numbers: &Numbers) -> f64 {
    let mut sum = 0.0;
    for ((number, measured), error) in numbers.iter().zip(run.numbers).zip(run.errors) {
        let deviation = (number.max(1.0) / measured).ln() / error;
        let square = (deviation / OUTLIER).powi(2);
        sum += OUTLIER * OUTLIER * 2.0 * ((1.0 + square).sqrt() - 1.0);
    }
    sum
}

/// Returns the number of deviations of `runs` runs.
#[allow(clippy::cast_precision_loss, reason = "the runs of a result are far below 2^53")]
fn deviations(runs: usize) -> f64 {
    (runs * NUMBERS) as f64
}

impl Target<'_> {
    /// Returns true if the caller has stopped the search.
    pub fn is_stopped(&self) -> bool {
        self.resources.is_stopped()
    }

    /// Returns the number of runs.
    pub fn runs(&self) -> usize {
        self.measured.iter().map(|one| one.runs.len()).sum()
    }

    /// Returns the capacity to simulate: that of the largest measured drive.
    pub fn capacity(&self) -> Bytes {
        self.measured.iter().map(MeasuredResult::capacity).max().unwrap_or_default()
    }

    /// Simulates drives in parallel. An entry is `None` if the drive cannot run everything.
    pub fn simulate(&self, profiles: &[Profile]) -> Vec<Option<TunedDrive>> {
        side_by_side(profiles, self.resources.jobs, |profile| self.one(profile))
    }

    /// Simulates drives in parallel. Gives up a drive once it can neither be among the `best`
    /// drives with the smallest misfit nor have a misfit of at most `most`. The drives that meet
    /// one of these conditions are the same for any number of threads. The outcomes of all other
    /// drives may vary.
    pub(crate) fn race(&self, profiles: &[Profile], best: usize, most: f64) -> Vec<Outcome> {
        let least = Mutex::new(Vec::new());
        let bar = || {
            let least = least.lock().expect("no holder of the lock panics");
            let last = least.last().map_or(most, |last| most.max(*last));
            if least.len() < best { f64::INFINITY } else { last }
        };
        side_by_side(profiles, self.resources.jobs, |profile| {
            let outcome = self.within(profile, &bar);
            if let Outcome::Within(tuned) = &outcome {
                let mut least = least.lock().expect("no holder of the lock panics");
                least.push(tuned.misfit);
                least.sort_unstable_by(f64::total_cmp);
                least.truncate(best);
            }
            outcome
        })
    }

    /// Simulates a drive; `None` if it cannot run everything.
    pub fn one(&self, profile: &Profile) -> Option<TunedDrive> {
        self.within(profile, &|| f64::INFINITY).within()
    }

    /// Simulates a drive, and stops once its misfit is certain to exceed `bar`. Evaluates `bar`
    /// after every run.
    fn within(&self, profile: &Profile, bar: &dyn Fn() -> f64) -> Outcome {
        let outcome = self.simulated(profile, bar);
        (self.report)(SearchEvent::Simulated);
        outcome
    }

    fn simulated(&self, profile: &Profile, bar: &dyn Fn() -> f64) -> Outcome {
        let (mut numbers, mut losses) = (Vec::new(), 0.0);
        let all = deviations(self.runs());
        let memory = self.resources.memory.waiting();
        for measured in self.measured {
            let Some(drive) = measured.drive(profile, &memory) else { return Outcome::Unable };
            let simulated = measured.simulate(drive, self.resources.stop, |run, numbers| {
                losses += loss(run, numbers);
                let worse = losses / all > bar();
                if worse { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            // A drive that fails a run and a drive that is given up have the same outcome. If they
            // differed, the outcome of a drive that would fail later would depend on the progress
            // of the other threads.
            let Some(simulated) = simulated else { return Outcome::Worse };
            numbers.extend(simulated);
        }
        let misfit = self.misfit(&numbers, &vec![1.0; numbers.len()]);
        Outcome::Within(Box::new(TunedDrive { profile: profile.clone(), numbers, misfit }))
    }

    /// Returns the misfit: the mean loss of the runs, each weighted by its count. The loss is the
    /// pseudo-Huber loss of the deviations in standard errors.
    pub fn misfit(&self, numbers: &[Numbers], counts: &[f64]) -> f64 {
        let runs = self.measured.iter().flat_map(|one| &one.runs);
        let (mut sum, mut all) = (0.0, 0.0);
        for ((run, numbers), count) in runs.zip(numbers).zip(counts) {
            sum += count * loss(run, numbers);
            all += count * deviations(1);
        }
        sum / all
    }

    /// Fits the times of a drive, in at most `steps` steps.
    pub(crate) fn tune(&self, from: &TunedDrive, steps: u32) -> TunedDrive {
        let (mut best, mut reach) = (from.clone(), REACH);
        for _ in 0..steps {
            if self.is_stopped() {
                break;
            }
            let slopes = self.slopes(&best);
            let next = self.step(&best, &slopes, reach);
            let gain = 1.0 - next.misfit / best.misfit;
            if gain <= 0.0 {
                reach /= 4.0;
            }
            best = next;
            if gain < BETTER && reach < REACH / 4.0 || best.misfit < 1e-3 {
                break;
            }
        }
        best
    }

    /// Returns the drive with the times, within `reach`, that fit best by the linear model, or
    /// `from` if this drive does not fit better when simulated.
    pub fn step(&self, from: &TunedDrive, slopes: &Jacobian, reach: f64) -> TunedDrive {
        let even = vec![1.0; from.numbers.len()];
        let trials = [reach, reach / 4.0].map(|reach| {
            let values = slopes.best(self, from, &even, reach);
            slopes.with(&from.profile, &values)
        });
        let results = self.race(&trials, 1, 0.0).into_iter().filter_map(Outcome::within);
        let least = results.min_by(|a, b| a.misfit.total_cmp(&b.misfit));
        least.filter(|one| one.misfit < from.misfit).unwrap_or_else(|| from.clone())
    }

    /// Measures how response times change with each time, near a drive.
    pub fn slopes(&self, at: &TunedDrive) -> Jacobian {
        let knobs = Knob::of(&at.profile);
        let values: Vec<f64> = knobs.iter().map(|knob| knob.get(&at.profile)).collect();
        let changed: Vec<Profile> = knobs
            .iter()
            .zip(&values)
            .map(|(knob, value)| {
                let mut profile = at.profile.clone();
                knob.set(&mut profile, value * (1.0 + STEP) + 1.0);
                profile
            })
            .collect();
        let slope = |(nth, there): (usize, Option<TunedDrive>)| {
            let by = knobs[nth].get(&changed[nth]) - values[nth];
            let Some(there) = there else { return vec![[0.0; NUMBERS]; at.numbers.len()] };
            let pairs = at.numbers.iter().zip(&there.numbers);
            pairs.map(|(here, there)| std::array::from_fn(|n| (there[n] - here[n]) / by)).collect()
        };
        let slopes = self.simulate(&changed).into_iter().enumerate().map(slope).collect();
        Jacobian { knobs, slopes }
    }
}

impl Jacobian {
    /// Predicts the numbers of a drive with other times, by the linear model. `times` are the
    /// drive's own.
    fn numbers(&self, of: &TunedDrive, times: &[f64], values: &[f64]) -> Vec<Numbers> {
        let mut numbers = of.numbers.clone();
        for ((slopes, value), time) in self.slopes.iter().zip(values).zip(times) {
            let by = value - time;
            for (numbers, slopes) in numbers.iter_mut().zip(slopes) {
                for (number, slope) in numbers.iter_mut().zip(slopes) {
                    *number += slope * by;
                }
            }
        }
        numbers
    }

    /// Returns the times of a drive, within `reach`, that fit best by the linear model. `counts`
    /// weights the runs.
    pub fn best(
        &self,
        target: &Target<'_>,
        of: &TunedDrive,
        counts: &[f64],
        reach: f64,
    ) -> Vec<f64> {
        let times: Vec<f64> = self.knobs.iter().map(|knob| knob.get(&of.profile)).collect();
        let values = |x: &[f64]| -> Vec<f64> {
            let scaled = x.iter().zip(&times).zip(&self.knobs);
            let to = |((x, time), knob): ((&f64, &f64), &&'static Knob)| {
                knob.within(time * (reach * (x / reach).tanh()).exp())
            };
            scaled.map(to).collect()
        };
        let cost = |x: &[f64]| target.misfit(&self.numbers(of, &times, &values(x)), counts);
        values(&least(&vec![0.0; times.len()], 0.2, cost))
    }

    /// Returns the profile with these times.
    pub fn with(&self, profile: &Profile, values: &[f64]) -> Profile {
        let mut profile = profile.clone();
        self.knobs.iter().zip(values).for_each(|(knob, value)| knob.set(&mut profile, *value));
        profile
    }
}
