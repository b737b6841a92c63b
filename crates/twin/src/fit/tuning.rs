//! The times of a drive of given structure.
//!
//! While the same parts of a drive are what requests wait for, response times are sums of times: so a straight
//! line through a simulation with each time a little longer says what others would give, until something else is
//! waited for. The least misfit on that line is found without simulating ([`least`]), and simulated; and so on from
//! there. It is a method of linear interpolation as M. J. D. Powell's (*Advances in Optimization and Numerical
//! Analysis*, 1994), but by the numbers rather than their misfit, which is no straight line.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use flashscope_block::Bytes;
use flashscope_sim::Profile;

use super::knobs::Knob;
use super::measured::{Measured, NUMBERS, Numbers};
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
                mine.push((nth, work(one)));
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
    /// Their values there, ns.
    pub values: Vec<f64>,
    /// For each time what the numbers change by for each ns.
    pub slopes: Vec<Vec<Numbers>>,
}

/// A misfit of so many standard errors or more counts by its size, not by its square: one run that a structure
/// cannot show must not decide all times.
const OUTLIER: f64 = 3.0;

/// How far a time is changed to see what it does.
const STEP: f64 = 0.08;

/// A time may change by such a factor before it is simulated again, as a logarithm.
const REACH: f64 = 1.5;

/// How much better a step has to be, as a share of the misfit, for another one to be worth it.
const BETTER: f64 = 0.01;

impl Target<'_> {
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

    /// Simulates a drive: what it comes to, where it works.
    pub fn one(&self, profile: &Profile) -> Option<Tuned> {
        let mut numbers = Vec::new();
        for measured in self.measured {
            numbers.extend(measured.simulate(profile, self.stop)?);
        }
        let misfit = self.misfit(&numbers, &vec![1.0; numbers.len()]);
        Some(Tuned { profile: profile.clone(), numbers, misfit })
    }

    /// How far numbers are from what was measured: the mean over runs, each counted so often, of what their
    /// deviations in standard errors come to (a pseudo-Huber loss).
    pub fn misfit(&self, numbers: &[Numbers], counts: &[f64]) -> f64 {
        let runs = self.measured.iter().flat_map(|one| &one.runs);
        let (mut sum, mut all) = (0.0, 0.0);
        for ((run, numbers), count) in runs.zip(numbers).zip(counts) {
            for ((number, measured), error) in numbers.iter().zip(run.numbers).zip(run.errors) {
                let deviation = (number.max(1.0) / measured).ln() / error;
                let square = (deviation / OUTLIER).powi(2);
                sum += count * OUTLIER * OUTLIER * 2.0 * ((1.0 + square).sqrt() - 1.0);
            }
            #[allow(clippy::cast_precision_loss, reason = "five")]
            let numbers = NUMBERS as f64;
            all += count * numbers;
        }
        sum / all
    }

    /// Fits the times of a drive, in at most so many steps.
    pub fn tune(&self, from: &Tuned, steps: u32) -> Tuned {
        let (mut best, mut reach) = (from.clone(), REACH);
        for _ in 0..steps {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let slopes = self.slopes(&best);
            let even = vec![1.0; best.numbers.len()];
            let wanted: Vec<Profile> = [reach, reach / 4.0]
                .map(|reach| slopes.best(self, &best, &even, reach))
                .map(|values| slopes.with(&best.profile, &values))
                .into();
            let tried = self.simulate(&wanted).into_iter().flatten();
            let Some(found) = tried.min_by(|a, b| a.misfit.total_cmp(&b.misfit)) else { break };
            let gain = 1.0 - found.misfit / best.misfit;
            if gain > 0.0 {
                best = found;
            } else {
                reach /= 4.0;
            }
            if gain < BETTER && reach < REACH / 4.0 || best.misfit < 1e-3 {
                break;
            }
        }
        best
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
        Slopes { knobs, values, slopes }
    }
}

impl Slopes {
    /// What a drive with other times comes to, by the straight line through `here`.
    pub fn numbers(&self, here: &[Numbers], values: &[f64]) -> Vec<Numbers> {
        let mut numbers = here.to_vec();
        for ((slopes, value), was) in self.slopes.iter().zip(values).zip(&self.values) {
            for (numbers, slopes) in numbers.iter_mut().zip(slopes) {
                for (number, slope) in numbers.iter_mut().zip(slopes) {
                    *number += slope * (value - was);
                }
            }
        }
        numbers
    }

    /// The times, within `reach`, that fit best by the straight line, each run counted so often.
    pub fn best(&self, target: &Target<'_>, here: &Tuned, counts: &[f64], reach: f64) -> Vec<f64> {
        let values = |x: &[f64]| -> Vec<f64> {
            let scaled = x.iter().zip(&self.values).zip(&self.knobs);
            let to = |((x, value), knob): ((&f64, &f64), &&'static Knob)| {
                knob.within(value * (reach * (x / reach).tanh()).exp())
            };
            scaled.map(to).collect()
        };
        let cost = |x: &[f64]| target.misfit(&self.numbers(&here.numbers, &values(x)), counts);
        values(&least(&vec![0.0; self.values.len()], 0.2, cost))
    }

    /// A drive with these times.
    pub fn with(&self, profile: &Profile, values: &[f64]) -> Profile {
        let mut profile = profile.clone();
        self.knobs.iter().zip(values).for_each(|(knob, value)| knob.set(&mut profile, *value));
        profile
    }
}
