//! The times of a drive of given structure.
//!
//! While the same parts of a drive are what requests wait for, response times are sums of times: so a straight
//! line through a simulation with each time a little longer says what others would give, until something else is
//! waited for. The least misfit on that line is found without simulating ([`least`]), and simulated; and so on from
//! there. It is a method of linear interpolation as M. J. D. Powell's (*Advances in Optimization and Numerical
//! Analysis*, 1994), but by the numbers rather than their misfit, which is no straight line.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use flashscope_block::Bytes;
use flashscope_sim::Profile;
use flashscope_sim::budget::queued;

use super::knobs::Knob;
use super::measured::{Measured, MeasuredRun, NUMBERS, Numbers};
use super::optimum::least;

/// Is told how many drives were simulated, and of how many.
pub type Tell<'a> = dyn FnMut(usize, usize) + Send + 'a;

/// What `work` makes of each of `all`, in their order, so many at once. `tell` is told of each, one after the other.
pub(super) fn side_by_side_telling<T: Sync, R: Send>(
    all: &[T],
    threads: usize,
    tell: &mut Tell<'_>,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let done = Mutex::new((0, tell));
    side_by_side(all, threads, |one| {
        let made = work(one);
        let (count, tell) = &mut *done.lock().expect("nobody panics while telling");
        *count += 1;
        tell(*count, all.len());
        made
    })
}

/// What `work` makes of each of `all`, in their order, so many at once.
fn side_by_side<T: Sync, R: Send>(
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
                mine.push((nth, queued(|| work(one))));
            }
        };
        let workers: Vec<_> = (0..threads.clamp(1, 1024)).map(|_| scope.spawn(some)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no worker panics")).collect()
    });
    done.sort_unstable_by_key(|(nth, _)| *nth);
    done.into_iter().map(|(_, made)| made).collect()
}

/// What is measured, and what a fit must know of it.
pub struct Target<'m> {
    /// The results, each of a drive as it was new.
    pub measured: &'m [Measured],
    /// Set to end early.
    pub stop: &'m AtomicBool,
    /// How many simulations at once.
    pub threads: usize,
    /// Is told how far a search is.
    pub say: &'m (dyn Fn(Said) + Sync),
}

/// What a search says.
pub enum Said {
    /// A drive was simulated.
    Simulated,
    /// The best drive so far is another: the times were fitted, or the choice of a field, with the misfit.
    Fitted(&'static str, f64),
}

/// A drive with what it comes to.
#[derive(Clone)]
pub struct Tuned {
    /// The drive.
    pub profile: Profile,
    /// What each run comes to.
    pub numbers: Vec<Numbers>,
    /// How far that is from what was measured: [`misfit`].
    pub misfit: f64,
}

/// How what a drive comes to changes with its times, near one.
pub struct Slopes {
    /// The times.
    pub knobs: Vec<&'static Knob>,
    /// For each time what the numbers change by for each ns.
    pub slopes: Vec<Vec<Numbers>>,
}

/// A misfit of so many standard errors or more counts by its size, not by its square: one run that a structure
/// cannot show must not decide all times.
const OUTLIER: f64 = 3.0;

/// How far a time is changed to see what it does.
const STEP: f64 = 0.08;

/// A time may change by such a factor before it is simulated again, as a logarithm.
pub const REACH: f64 = 1.5;

/// How much better a step has to be, as a share of the misfit, for another one to be worth it.
const BETTER: f64 = 0.01;

/// What came of a drive that was tried.
pub enum Outcome {
    /// It works, and fits well enough.
    Within(Box<Tuned>),
    /// It fits worse than was asked for, or does not get through what was measured; or it was to be stopped.
    Worse,
    /// There is no such drive, or none that holds as much.
    Unable,
}

impl Outcome {
    /// The drive, where it fits well enough.
    pub fn within(self) -> Option<Tuned> {
        match self {
            Outcome::Within(tuned) => Some(*tuned),
            Outcome::Worse | Outcome::Unable => None,
        }
    }
}

/// What the deviations of a run come to, in standard errors.
fn loss(run: &MeasuredRun, numbers: &Numbers) -> f64 {
    let mut sum = 0.0;
    for ((number, measured), error) in numbers.iter().zip(run.numbers).zip(run.errors) {
        let deviation = (number.max(1.0) / measured).ln() / error;
        let square = (deviation / OUTLIER).powi(2);
        sum += OUTLIER * OUTLIER * 2.0 * ((1.0 + square).sqrt() - 1.0);
    }
    sum
}

/// How many deviations so many runs have.
#[allow(clippy::cast_precision_loss, reason = "runs of a result")]
fn deviations(runs: usize) -> f64 {
    (runs * NUMBERS) as f64
}

impl Target<'_> {
    /// Whether it is to end early.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// How many runs there are.
    pub fn runs(&self) -> usize {
        self.measured.iter().map(|one| one.runs.len()).sum()
    }

    /// Bytes of the drive: of the largest that was measured.
    pub fn capacity(&self) -> Bytes {
        self.measured.iter().map(Measured::capacity).max().unwrap_or_default()
    }

    /// Simulates drives side by side: each with what it comes to, where it works.
    pub fn simulate(&self, profiles: &[Profile]) -> Vec<Option<Tuned>> {
        side_by_side(profiles, self.threads, |profile| self.one(profile))
    }

    /// Simulates drives side by side, each as long as it may be among the best so many, or have a misfit of `most` at
    /// most. Which those are does not depend on `threads`; another may be [`Outcome::Worse`] or not.
    pub fn race(&self, profiles: &[Profile], best: usize, most: f64) -> Vec<Outcome> {
        let least = Mutex::new(Vec::new());
        let bar = || {
            let least = least.lock().expect("nobody panics with it");
            let last = least.last().map_or(most, |last| most.max(*last));
            if least.len() < best { f64::INFINITY } else { last }
        };
        side_by_side(profiles, self.threads, |profile| {
            let outcome = self.within(profile, &bar);
            if let Outcome::Within(tuned) = &outcome {
                let mut least = least.lock().expect("nobody panics with it");
                least.push(tuned.misfit);
                least.sort_unstable_by(f64::total_cmp);
                least.truncate(best);
            }
            outcome
        })
    }

    /// Simulates a drive: what it comes to, where it works.
    pub fn one(&self, profile: &Profile) -> Option<Tuned> {
        self.within(profile, &|| f64::INFINITY).within()
    }

    /// Simulates a drive as long as its misfit may still be at most `bar`, which is asked after every run.
    fn within(&self, profile: &Profile, bar: &dyn Fn() -> f64) -> Outcome {
        let outcome = self.simulated(profile, bar);
        (self.say)(Said::Simulated);
        outcome
    }

    fn simulated(&self, profile: &Profile, bar: &dyn Fn() -> f64) -> Outcome {
        let (mut numbers, mut losses) = (Vec::new(), 0.0);
        let all = deviations(self.runs());
        for measured in self.measured {
            let Some(drive) = measured.drive(profile) else { return Outcome::Unable };
            let simulated = measured.simulate(drive, self.stop, |run, numbers| {
                losses += loss(run, numbers);
                let worse = losses / all > bar();
                if worse { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            // Whether one would have failed later does not matter: when it is given up depends on others.
            let Some(simulated) = simulated else { return Outcome::Worse };
            numbers.extend(simulated);
        }
        let misfit = self.misfit(&numbers, &vec![1.0; numbers.len()]);
        Outcome::Within(Box::new(Tuned { profile: profile.clone(), numbers, misfit }))
    }

    /// How far numbers are from what was measured: the mean over runs, each counted so often, of what their
    /// deviations in standard errors come to (a pseudo-Huber loss).
    pub fn misfit(&self, numbers: &[Numbers], counts: &[f64]) -> f64 {
        let runs = self.measured.iter().flat_map(|one| &one.runs);
        let (mut sum, mut all) = (0.0, 0.0);
        for ((run, numbers), count) in runs.zip(numbers).zip(counts) {
            sum += count * loss(run, numbers);
            all += count * deviations(1);
        }
        sum / all
    }

    /// Fits the times of a drive, in at most so many steps.
    pub fn tune(&self, from: &Tuned, steps: u32) -> Tuned {
        let (mut best, mut reach) = (from.clone(), REACH);
        for _ in 0..steps {
            if self.stopped() {
                break;
            }
            let slopes = self.slopes(&best);
            let found = self.step(&best, &slopes, reach);
            let gain = 1.0 - found.misfit / best.misfit;
            if gain <= 0.0 {
                reach /= 4.0;
            }
            best = found;
            if gain < BETTER && reach < REACH / 4.0 || best.misfit < 1e-3 {
                break;
            }
        }
        best
    }

    /// The drive with the times, within `reach`, that fit best by the straight line of `slopes`, if it does fit better.
    pub fn step(&self, from: &Tuned, slopes: &Slopes, reach: f64) -> Tuned {
        let even = vec![1.0; from.numbers.len()];
        let wanted = [reach, reach / 4.0].map(|reach| {
            let values = slopes.best(self, from, &even, reach);
            slopes.with(&from.profile, &values)
        });
        let found = self.race(&wanted, 1, 0.0).into_iter().filter_map(Outcome::within);
        let found = found.min_by(|a, b| a.misfit.total_cmp(&b.misfit));
        found.filter(|found| found.misfit < from.misfit).unwrap_or_else(|| from.clone())
    }

    /// What each time does near a drive.
    pub fn slopes(&self, at: &Tuned) -> Slopes {
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
        let slope = |(nth, there): (usize, Option<Tuned>)| {
            let by = knobs[nth].get(&changed[nth]) - values[nth];
            let Some(there) = there else { return vec![[0.0; NUMBERS]; at.numbers.len()] };
            let pairs = at.numbers.iter().zip(&there.numbers);
            pairs.map(|(here, there)| std::array::from_fn(|n| (there[n] - here[n]) / by)).collect()
        };
        let slopes = self.simulate(&changed).into_iter().enumerate().map(slope).collect();
        Slopes { knobs, slopes }
    }
}

impl Slopes {
    /// What a drive comes to with other times, by the straight line through what it comes to with its own.
    fn numbers(&self, of: &Tuned, values: &[f64]) -> Vec<Numbers> {
        let mut numbers = of.numbers.clone();
        for ((slopes, value), knob) in self.slopes.iter().zip(values).zip(&self.knobs) {
            let by = value - knob.get(&of.profile);
            for (numbers, slopes) in numbers.iter_mut().zip(slopes) {
                for (number, slope) in numbers.iter_mut().zip(slopes) {
                    *number += slope * by;
                }
            }
        }
        numbers
    }

    /// The times of a drive, within `reach`, that fit best by the straight line, each run counted so often.
    pub fn best(&self, target: &Target<'_>, of: &Tuned, counts: &[f64], reach: f64) -> Vec<f64> {
        let times: Vec<f64> = self.knobs.iter().map(|knob| knob.get(&of.profile)).collect();
        let values = |x: &[f64]| -> Vec<f64> {
            let scaled = x.iter().zip(&times).zip(&self.knobs);
            let to = |((x, time), knob): ((&f64, &f64), &&'static Knob)| {
                knob.within(time * (reach * (x / reach).tanh()).exp())
            };
            scaled.map(to).collect()
        };
        let cost = |x: &[f64]| target.misfit(&self.numbers(of, &values(x)), counts);
        values(&least(&vec![0.0; times.len()], 0.2, cost))
    }

    /// A drive with these times.
    pub fn with(&self, profile: &Profile, values: &[f64]) -> Profile {
        let mut profile = profile.clone();
        self.knobs.iter().zip(values).for_each(|(knob, value)| knob.set(&mut profile, *value));
        profile
    }
}
