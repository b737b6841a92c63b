//! Fits a twin to its sources.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use flashscope_block::{Bytes, Nanos};
use flashscope_document::conclusion::EvidenceUnit;
use flashscope_measure::{PartialResult, Progress, Step, Unit};
use flashscope_result::read_probe;
use flashscope_sim::{Profile, setup};
use flashscope_simulate::Resources;

use super::knobs::Knob;
use super::tuning::{SearchEvent, Target, TunedDrive, side_by_side};
use super::{FitError, MeasuredResult, SearchResult, fit_fill, read_levels, search};
use flashscope_document::twin::{
    FillFit, Level, Range, RunFit, StructureChoice, TWIN_VERSION, Time, Twin,
};

/// The sources that a twin is fitted to.
#[derive(Default)]
pub struct Sources {
    /// The paths of the sources, as the user gave them.
    pub names: Vec<String>,
    /// Results of micro-benchmarks.
    pub measured: Vec<MeasuredResult>,
    /// The profile that a probe inferred.
    pub probed: Option<Profile>,
    /// The levels of a fill sweep.
    pub levels: Vec<Level>,
}

/// The options of a fit.
#[derive(Debug, Clone, Copy)]
pub struct FitOptions {
    /// The seed of all random choices.
    pub seed: u64,
    /// The share of intervals that are meant to contain the true value (0 to 1).
    pub confidence: f64,
    /// The maximum number of bytes that the runs used for the structure search read and write,
    /// preparation included. The runs exceed it if no smaller sample exists.
    pub sample: Bytes,
    /// IOs in flight during a fill sweep, for levels that do not state it.
    pub queue_depth: Option<u32>,
}

/// The state of a fit.
#[derive(Default)]
struct FitState {
    /// The name of the last fit (`times`, or the field of a choice), and the misfit of the best
    /// drive so far. The misfit covers the runs that the search uses.
    fitted: Option<(&'static str, f64)>,
    /// The number of drives simulated so far.
    simulations: u64,
    /// The value of `fitted` that was reported last.
    reported: Option<(&'static str, f64)>,
}

impl FitState {
    fn update(&mut self, event: SearchEvent) {
        match event {
            SearchEvent::Simulated => self.simulations += 1,
            SearchEvent::Fitted(what, misfit) => self.fitted = Some((what, misfit)),
        }
    }

    fn report(&mut self, progress: &mut dyn Progress) {
        let fitted =
            self.fitted.map(|(what, misfit)| format!("{what} fitted, misfit {misfit:.4}; "));
        let now = fitted.unwrap_or_default() + "simulations";
        let step = Step::of("fitting", self.simulations, None, Unit::Count);
        progress.show(&Step { now: &now, ..step });
        if let Some((what, misfit)) = self.fitted.filter(|(_, misfit)| misfit.is_finite()) {
            let is_new = self.reported != self.fitted;
            let what = format!("misfit after {what} fitted");
            #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53 simulations")]
            let x = self.simulations as f64;
            progress.found(&PartialResult {
                chart: "Misfit of the best drive",
                x_axis: "simulations",
                series: "misfit",
                x,
                what: if is_new { &what } else { "" },
                value: misfit,
                unit: EvidenceUnit::Number,
            });
            self.reported = self.fitted;
        }
    }
}

/// The number of alternative drives in a twin, which fit the measurements about as well.
const DRAWS: usize = 200;

/// A time counts as determined if a 50 % longer time changes a number of some run by more than this
/// many standard errors.
const TELLS: f64 = 2.0;

impl Sources {
    /// Reads results of `flashscope bench` and `flashscope probe`, and tables of fill sweeps.
    ///
    /// # Errors
    /// If a path is none of these or cannot be read.
    pub fn read(paths: &[PathBuf]) -> Result<Sources, FitError> {
        let mut sources = Sources::default();
        for path in paths {
            sources.names.push(path.display().to_string());
            let folder =
                if path.ends_with("probe.json") { path.parent() } else { Some(path.as_path()) };
            if let Some(folder) = folder.filter(|folder| flashscope_result::is_probe(folder)) {
                sources.probed = Some(probed(folder)?);
            } else if path.is_dir() {
                sources.measured.push(MeasuredResult::read(path)?);
            } else {
                sources.levels.extend(levels(path)?);
            }
        }
        Ok(sources)
    }

    /// Fits a twin. Reports each simulated drive to `progress`.
    ///
    /// # Errors
    /// If the sources are of several drives or are too few, or if the simulations are stopped.
    pub fn fit(
        &self,
        options: FitOptions,
        resources: &Resources<'_>,
        progress: &mut dyn Progress,
    ) -> Result<Twin, FitError> {
        let depth = super::depth::measured(&self.measured, &self.levels, options.queue_depth);
        let mut twin = Twin {
            schema_version: TWIN_VERSION,
            conclusions: vec![],
            flashscope: env!("CARGO_PKG_VERSION").into(),
            seed: options.seed,
            confidence: options.confidence,
            drive: String::new(),
            sources: self.names.clone(),
            profile: String::new(),
            misfit: None,
            times: vec![],
            choices: vec![],
            runs: vec![],
            fill: None,
            queue_depth: Some(depth),
            measure_next: vec![],
            spread: [1.0; 2],
            draws: vec![],
        };
        if !self.levels.is_empty() {
            twin.fill = Some(fit_fill(&self.levels, options.seed, options.confidence)?);
        }
        if self.measured.is_empty() {
            let Some(fill) = &twin.fill else {
                return Err(FitError::TooFew {
                    what: "no response times and no fill sweep".into(),
                    needed: "measure with `flashscope bench DRIVE --only granularity,locality,partitioning`"
                        .into(),
                });
            };
            let fill = fill.clone();
            super::of_fill::complete(&mut twin, &fill, self.probed.as_ref());
            return Ok(twin);
        }
        super::checks::one_drive(&self.measured)?;
        super::checks::enough(&self.measured)?;
        let state = Mutex::new((FitState::default(), progress));
        let report = |event: SearchEvent| {
            let (state, progress) = &mut *state.lock().expect("no callback panics");
            state.update(event);
            state.report(&mut **progress);
        };
        let target = Target { measured: &self.measured, resources, report: &report };
        let result = search(&target, options.sample, &self.start(twin.fill.as_ref()));
        if target.is_stopped() {
            return Err(FitError::Interrupted);
        }
        let result = result?;
        self.describe(&mut twin, &target, &result);
        Ok(twin)
    }

    /// Returns the drive at which the search starts: the drive that a probe inferred, or a default
    /// drive. If there is a fill sweep, the drive has the over-provisioning that the sweep gives.
    fn start(&self, fill: Option<&FillFit>) -> Profile {
        let mut start = self.probed.clone().unwrap_or_else(unknown);
        if let Some(fill) = fill {
            let fullest = fill.levels.last().map_or(Bytes(0), |level| level.fill);
            start.over_provisioning = super::of_fill::spare(fill.best(), fullest);
        }
        start
    }

    fn describe(&self, twin: &mut Twin, target: &Target<'_>, result: &SearchResult) {
        let best = &result.best;
        twin.drive = self.measured.first().map(name).unwrap_or_default();
        twin.misfit = Some(best.misfit);
        twin.draws = draws(target, result, twin.seed);
        twin.times = times(target, result, twin);
        twin.choices = choices(result);
        twin.runs = self.runs(best);
        twin.spread = spread(&twin.runs, twin.confidence);
        twin.measure_next = super::checks::next(twin);
        let head = format!("# The twin of {}, fitted by `flashscope twin fit` to\n", twin.drive);
        let sources: String = twin.sources.iter().map(|name| format!("#   {name}\n")).collect();
        let model = format!("{}, twin", twin.drive);
        let text = Profile { model, ..best.profile.clone() }.to_toml(|field| comment(twin, field));
        twin.profile = format!("{head}{sources}\n{text}");
    }

    fn runs(&self, best: &TunedDrive) -> Vec<RunFit> {
        let runs = self.measured.iter().flat_map(|one| one.runs.iter().map(move |run| (one, run)));
        let fit =
            |((one, run), twin): ((&MeasuredResult, &super::MeasuredRun), &super::Numbers)| {
                RunFit {
                    result: one.name.clone(),
                    run: run.id,
                    title: run.title.clone(),
                    measured_ns: [run.numbers[0], run.numbers[super::LAST]],
                    twin_ns: [twin[0], twin[super::LAST]],
                }
            };
        runs.zip(&best.numbers).map(fit).collect()
    }
}

/// Returns the drive to start from if nothing is known: a simplified drive of Agrawal et al.
fn unknown() -> Profile {
    let spec = "agrawal-2008?flash.dies_per_package=1&flash.planes_per_die=1&flash.packages=4\
                &persistence.map=pages&cleaning.free_threshold=0.03";
    setup::parse(spec).expect("the profile is among those that are built in")
}

fn name(measured: &MeasuredResult) -> String {
    let device = &measured.manifest.device;
    device.model.clone().unwrap_or_else(|| device.name.clone())
}

fn probed(folder: &Path) -> Result<Profile, FitError> {
    let report = read_probe(folder)?;
    let text = report["profile"].as_str().ok_or_else(|| FitError::TooFew {
        what: format!("too few findings of the probe in {}", folder.display()),
        needed: "probe with a larger --budget-bytes, or omit the probe".into(),
    })?;
    setup::from_toml(text).map_err(FitError::Profile)
}

fn levels(path: &Path) -> Result<Vec<Level>, FitError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| FitError::Twin { path: path.into(), message: error.to_string() })?;
    read_levels(&text)
}

/// Generates drives that fit the measurements about as well as the best drive. Returns the fields
/// in which each drive differs from the best drive. The times of each drive are fitted to a
/// bootstrap sample of the runs (B. Efron, *The Annals of Statistics* 7(1), 1979). Every second
/// drive also differs by a structural choice that fits as well.
fn draws(target: &Target<'_>, result: &SearchResult, seed: u64) -> Vec<BTreeMap<String, String>> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let (runs, best) = (target.runs(), &result.best);
    let base = best.profile.fields();
    let mut sample = |nth: usize| {
        let mut counts = vec![0.0; runs];
        (0..runs).for_each(|_| counts[rng.usize(0..runs)] += 1.0);
        (nth, counts)
    };
    let samples: Vec<(usize, Vec<f64>)> = (0..DRAWS).map(&mut sample).collect();
    let draw = |(nth, counts): &(usize, Vec<f64>)| {
        let values = result.slopes.best(target, best, counts, 0.5);
        let other = nth % 2 == 1 && !result.as_well.is_empty();
        let from = match other {
            true => &result.as_well[nth / 2 % result.as_well.len()].1.profile,
            false => &best.profile,
        };
        let drawn = result.slopes.with(from, &values).fields();
        let changed = drawn.into_iter().zip(&base).filter(|(drawn, base)| drawn != *base);
        changed.map(|(drawn, _)| drawn).collect()
    };
    side_by_side(&samples, target.resources.jobs, draw)
}

fn times(target: &Target<'_>, result: &SearchResult, twin: &Twin) -> Vec<Time> {
    let time = |(nth, knob): (usize, &&'static Knob)| {
        let value = knob.get(&result.best.profile);
        #[allow(clippy::cast_precision_loss, reason = "times are below 2^53 ns")]
        let drawn = |draw: &BTreeMap<String, String>| {
            let text = draw.get(knob.field)?;
            Some(text.parse::<Nanos>().ok()?.0 as f64)
        };
        let values = twin.draws.iter().map(|draw| drawn(draw).unwrap_or(value)).collect();
        Time {
            field: knob.field.into(),
            nanos: Range::around(value, values, twin.confidence),
            is_determined: tells(target, result, nth),
        }
    };
    result.slopes.knobs.iter().enumerate().map(time).collect()
}

/// Returns true if the measurements depend on the time with index `nth`.
fn tells(target: &Target<'_>, result: &SearchResult, nth: usize) -> bool {
    let runs = target.measured.iter().flat_map(|one| &one.runs);
    let half = result.slopes.knobs[nth].get(&result.best.profile) / 2.0;
    runs.zip(&result.slopes.slopes[nth]).any(|(run, slopes)| {
        let mut numbers = slopes.iter().zip(run.numbers).zip(run.errors);
        numbers.any(|((slope, number), error)| (slope * half).abs() > TELLS * error * number)
    })
}

fn choices(result: &SearchResult) -> Vec<StructureChoice> {
    let of = |profile: &Profile, field: &str| {
        let fields = profile.fields();
        fields
            .into_iter()
            .find(|(name, _)| name == field)
            .map(|(_, value)| value)
            .unwrap_or_default()
    };
    let value = |field: &str| of(&result.best.profile, field);
    let mut choices: BTreeMap<&str, Vec<String>> =
        result.determined.iter().map(|field| (*field, vec![])).collect();
    for (field, other) in &result.as_well {
        let other = of(&other.profile, field);
        let as_well = choices.entry(field).or_default();
        if other != value(field) && !as_well.contains(&other) {
            as_well.push(other);
        }
    }
    let choice = |(field, as_well): (&str, Vec<String>)| StructureChoice {
        field: field.into(),
        value: value(field),
        as_well,
    };
    choices.into_iter().map(choice).collect()
}

/// Returns two factors, one for means and one for 99th percentiles. The share `confidence` of the
/// twin's values lies within this factor of the measured values.
fn spread(runs: &[RunFit], confidence: f64) -> [f64; 2] {
    [0, 1].map(|which| {
        let off = |run: &RunFit| (run.twin_ns[which] / run.measured_ns[which]).ln().abs();
        Range::around(0.0, runs.iter().map(off).collect(), 2.0 * confidence - 1.0).high.exp()
    })
}

/// Returns the comment on a profile field: the origin of its value, and its interval.
fn comment(twin: &Twin, field: &str) -> Option<String> {
    let percent = 100.0 * twin.confidence;
    if let Some(time) = twin.times.iter().find(|time| time.field == field) {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "times are positive"
        )]
        let text = |nanos: f64| Nanos(nanos.round() as u64).to_string();
        return Some(match time.is_determined {
            true => format!(
                "fitted: {percent:.0} % interval {} to {}",
                text(time.nanos.low),
                text(time.nanos.high)
            ),
            false => "not determined by the measurements".into(),
        });
    }
    let choice = twin.choices.iter().find(|choice| choice.field == field)?;
    Some(match choice.as_well.is_empty() {
        true => "chosen: its alternatives fit worse".into(),
        false => format!("chosen; fit as well: {}", choice.as_well.join(", ")),
    })
}
