//! Requests for predictions, and their execution.

use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use flashscope_block::{Bytes, Nanos, Op};
use flashscope_document::prediction::{PREDICTION_VERSION, Passes, PredictionReport, Validation};
use flashscope_drive::Clock;
use flashscope_model::trace::Total;
use flashscope_predict::long_run::{self, LongRun, LongRunModel};
use flashscope_predict::validation::{Factors, Stratum};
use flashscope_predict::{
    CountedPasses, Numbers, Pieces, Pools, PredictError, Request, Requests, SelectedModel,
    WrittenShare, never_modelled, not_modelled,
};
use flashscope_sim::Design;
use flashscope_sim::budget::Budget;
use flashscope_sim::setup::HostInterface;
use flashscope_sim::{Profile, setup};
use flashscope_simulate::profile_name;
use flashscope_workload::Stream;
use flashscope_workload::synthetic::{Ios, Law, Target};

use super::args::{CONFIDENCE, PASS_IOS};
use super::{cases, failure};
use crate::{Failure, Progress, trace, usage};

/// The number of IOs from which the share of written bytes in the pages of an endless workload is
/// determined.
const SHARE_IOS: u64 = 100_000;

/// The feature that models ignore if a write is shorter than a logical page.
const PARTIAL_PAGES: &str =
    "reads of the rest of logical pages that are written in part, which make such writes slower";

/// A request for a prediction.
#[derive(Clone)]
pub struct PredictionRequest<'a> {
    /// The simulated drive.
    pub drive: &'a str,
    /// The workload.
    pub workload: &'a str,
    /// The model; by default the best for the drive.
    pub model: Option<&'a str>,
    /// The settings of models of uniform writes.
    pub pieces: Pieces,
    /// The IOs in a pass of an endless workload.
    pub ios: u64,
    /// The confidence level of intervals, from 0 to 1.
    pub confidence: f64,
    /// The seed of all random choices, unless the workload has its own.
    pub seed: u64,
    /// The memory budget of the drive. A model uses at most as much memory as the simulated drive.
    pub memory: Budget,
}

/// A prediction, with the drive and the numbers behind it.
pub struct Prediction {
    /// The drive.
    pub profile: Profile,
    /// The document of the prediction.
    pub report: PredictionReport,
    /// The predicted numbers.
    pub numbers: Numbers,
    /// The time from the first to the last request of a trace with times.
    pub span: Option<Nanos>,
}

impl PredictionRequest<'_> {
    /// Creates the request for the best prediction of a workload on a drive.
    #[must_use]
    pub fn of<'a>(
        drive: &'a str,
        workload: &'a str,
        seed: u64,
        memory: Budget,
    ) -> PredictionRequest<'a> {
        PredictionRequest {
            drive,
            workload,
            model: None,
            pieces: Pieces::default(),
            ios: PASS_IOS,
            confidence: CONFIDENCE,
            seed,
            memory,
        }
    }

    /// Makes the prediction.
    ///
    /// # Errors
    /// If the request cannot be predicted, or `stop` was set first.
    pub fn make(
        &self,
        (stop, sink): (&AtomicBool, &mut dyn Progress),
    ) -> Result<Prediction, Failure> {
        let clock = Clock::new();
        let begun = clock.now();
        let profile = profile(self.drive)?;
        let design = profile.design_without_zones("a modelled workload").map_err(usage)?;
        // A model keeps no more state per page than the simulated drive does.
        let _memory = profile.reserve(self.drive, &self.memory).map_err(usage)?;
        let addressed = AddressSpace::of(&design);
        let mut loaded = self.load(addressed, (stop, &mut *sink))?;
        let run = self.long_run((&profile.interface, &design), &loaded)?;
        let mut result = match &run {
            Some(run) => self.computed(run, &design),
            None => self.sampled(&design, &mut loaded, (stop, sink))?,
        };
        let numbers = result.numbers(&design, self.written_share(&loaded, addressed)?);
        let ModelResult { model, passes, total, cases, not_modelled, .. } = result;
        let numbers = match &run {
            Some(run) => numbers.in_the_long_run(run),
            None => numbers,
        };
        let wall_ns = (clock.now() - begun).0;
        let report = PredictionReport {
            schema_version: PREDICTION_VERSION,
            conclusions: Vec::new(),
            drive: self.drive.into(),
            ftl: design.ftl.name.into(),
            workload: self.workload.into(),
            seed: loaded.seed,
            model: model.into(),
            passes,
            host_pages_written: total.pages,
            bytes_written: numbers.bytes_written(),
            erases: Some(numbers.erases()),
            write_amplification: Some(numbers.write_amplification()),
            equivalent_throughput: numbers.equivalent_throughput(),
            ns_per_page: numbers.ns_per_page(),
            bytes_per_second: numbers.bytes_per_second(),
            validation: Validation { level: self.confidence, cases: cases as u64 },
            not_modelled,
            lifetime: None,
            simulated: None,
            wall_ns,
        };
        Ok(Prediction { profile, report, numbers, span: loaded.span })
    }

    /// Returns the long run of the workload if a model computes it in closed form. The request may
    /// name the model. By default, it is any model that covers workload and drive.
    fn long_run(
        &self,
        (interface, design): (&HostInterface, &Design),
        loaded: &LoadedWorkload,
    ) -> Result<Option<LongRun>, Failure> {
        let named = self.model.map(LongRunModel::named);
        if named.is_some_and(|model| model.is_none()) {
            return Ok(None);
        }
        let run = loaded.law.as_ref().and_then(|law| LongRun::of(law, design, interface));
        let Some(name) = self.model else { return Ok(run) };
        match run {
            Some(run) if run.model.name == name => Ok(Some(run)),
            _ => Err(usage(PredictError::NotComputed { name: name.into() })),
        }
    }

    /// Predicts the computed long run of a workload.
    fn computed(&self, run: &LongRun, design: &Design) -> ModelResult {
        let mut not_modelled = never_modelled(design);
        not_modelled.extend(run.beyond.map(String::from));
        let (factors, cases) = long_run::factors(run, self.confidence);
        let factors = factors.filter(|_| not_modelled.is_empty());
        // The intervals cover other idle time, which is therefore no reason to omit them.
        if run.with_idle_time > run.without_idle_time && factors.is_some() {
            let assumed = match run.balances_idle_time {
                true => {
                    "the value assumes one request in flight, and intervals extend to none and to any amount"
                }
                false => "the value assumes enough idle time, and intervals extend to no idle time",
            };
            not_modelled.push(format!(
                "other idle time of packages, in which background cleaning moves more: {assumed}"
            ));
        }
        ModelResult {
            model: run.model.name,
            passes: Passes { warm_up: 0, counted: 1, converged: true },
            total: run.total(self.ios, design),
            factors,
            cases,
            not_modelled,
        }
    }

    /// Predicts a workload from its requests, until the prediction has converged.
    pub(super) fn sampled(
        &self,
        design: &Design,
        loaded: &mut LoadedWorkload,
        watched: (&AtomicBool, &mut dyn Progress),
    ) -> Result<ModelResult, Failure> {
        let chosen = match self.model {
            Some(name) => SelectedModel::named(name, design),
            None => SelectedModel::for_drive(design),
        }
        .map_err(usage)?;
        let mut pools = Pools::new(design, chosen, self.pieces).map_err(usage)?;
        let CountedPasses { passes, total, .. } =
            CountedPasses::find(&mut pools, &mut loaded.requests, watched).map_err(failure)?;
        let stratum = Stratum::of(total.write_amplification(), loaded.has_trims());
        let cases = cases(chosen.name(), design.ftl.name, stratum);
        let mut not_modelled = not_modelled(design);
        if !chosen.follows_trims() {
            not_modelled.extend(loaded.ignored_trims());
        }
        // In all validation cases the model converged, and modelled every feature of the drive and
        // the workload. Intervals from them hold only for such predictions.
        let is_like_them = not_modelled.is_empty() && passes.converged;
        let factors = Factors::of(&cases, self.confidence).filter(|_| is_like_them);
        // The validation cases include the flash pages that record trims. The interval therefore
        // contains their error.
        let is_noted = factors.is_some() || !not_modelled.is_empty();
        if design.pages_per_record > 0 && loaded.has_trims() && is_noted {
            not_modelled.push("the flash pages that record trims".into());
        }
        let (model, cases) = (chosen.name(), cases.len());
        Ok(ModelResult { model, passes, total, factors, cases, not_modelled })
    }

    /// Reads the workload.
    pub(super) fn load(
        &self,
        addressed: AddressSpace,
        (stop, sink): (&AtomicBool, &mut dyn Progress),
    ) -> Result<LoadedWorkload, Failure> {
        let (target, page_size) = (addressed.target(self.seed), addressed.page_size);
        let workload = flashscope_trace::open_workload(self.workload, &target).map_err(usage)?;
        let (seed, ios) = (workload.seed, self.ios);
        let endless = |stream| Requests::Endless { stream, page_size, ios, trims: false };
        let (mut span, mut trims, mut law) = (None, false, None);
        let mut written = WrittenShare::default();
        let requests = match workload.ios {
            Ios::Endless(generator) => {
                law = generator.law();
                endless(generator)
            }
            Ios::Application(application) => endless(application),
            Ios::Trace(playback) => {
                trace::survey(&playback, stop, sink)?;
                let (mut requests, mut last) = (Vec::new(), Nanos(0));
                trace::each_io(&playback, stop, |io| {
                    requests.extend(written.request_of(io, page_size));
                    trims |= io.op == Op::Trim;
                    last = last.max(io.at);
                })?;
                span = (workload.open_loop && last.0 > 0).then_some(last);
                Requests::Repeated(requests)
            }
            Ios::Runs(_) => {
                return Err(usage(anyhow!(
                    "uFLIP runs cannot be predicted: name another workload (`flashscope simulate --list`)"
                )));
            }
        };
        Ok(LoadedWorkload { requests, seed, span, trims, law, written })
    }

    /// Returns the share of the touched logical pages that the writes of a workload change. For an
    /// endless workload, its first IOs determine it.
    fn written_share(
        &self,
        loaded: &LoadedWorkload,
        addressed: AddressSpace,
    ) -> Result<f64, Failure> {
        let (target, page_size) = (addressed.target(self.seed), addressed.page_size);
        // Generated IOs consist of complete logical blocks.
        let is_whole = target.logical_block.0 == page_size;
        if matches!(loaded.requests, Requests::Repeated(_)) || is_whole {
            return Ok(loaded.written.share(page_size));
        }
        let workload = flashscope_trace::open_workload(self.workload, &target).map_err(usage)?;
        let mut stream: Box<dyn Stream> = match workload.ios {
            Ios::Endless(generator) => generator,
            Ios::Application(application) => application,
            Ios::Trace(_) | Ios::Runs(_) => unreachable!("only these workloads are endless"),
        };
        let mut written = WrittenShare::default();
        for _ in 0..self.ios.min(SHARE_IOS) {
            let Some(io) = stream.next(Nanos(0)) else { break };
            written.request_of(&io, page_size);
        }
        Ok(written.share(page_size))
    }
}

/// A workload, read into memory or as a stream.
pub(super) struct LoadedWorkload {
    pub requests: Requests,
    pub seed: u64,
    /// The time from the first to the last request of a trace with times.
    span: Option<Nanos>,
    /// True if a trace has trims.
    trims: bool,
    /// The distribution of a synthetic workload.
    pub law: Option<Law>,
    /// The bytes and the pages that a trace writes.
    pub written: WrittenShare,
}

/// The result of a model.
pub(super) struct ModelResult {
    pub model: &'static str,
    pub passes: Passes,
    pub total: Total,
    pub factors: Option<Factors>,
    /// The number of validation cases behind the factors.
    pub cases: usize,
    pub not_modelled: Vec<String>,
}

impl ModelResult {
    /// Returns the numbers for a host that writes this share of the pages that its writes touch.
    /// Notes what the model ignores if the share is below 1.
    pub(super) fn numbers(&mut self, design: &Design, share: f64) -> Numbers {
        if share < 1.0 {
            self.not_modelled.push(PARTIAL_PAGES.into());
        }
        Numbers::new(design, self.total, self.factors).of_partial_pages(share)
    }
}

impl LoadedWorkload {
    /// Returns the workload that repeats these requests.
    pub(super) fn repeated(
        requests: Vec<Request>,
        written: WrittenShare,
        trims: bool,
        seed: u64,
    ) -> LoadedWorkload {
        let requests = Requests::Repeated(requests);
        LoadedWorkload { requests, seed, span: None, trims, law: None, written }
    }

    /// Returns true if the workload has trims. For a generated workload, this is known only after
    /// its prediction.
    pub(crate) fn has_trims(&self) -> bool {
        self.trims || self.requests.has_trimmed()
    }

    /// Describes trims as a feature that a model ignores.
    pub(crate) fn ignored_trims(&self) -> Option<String> {
        self.has_trims().then(|| "trims, which leave fewer pages to move".into())
    }
}

/// The address space of the host.
#[derive(Clone, Copy)]
pub(super) struct AddressSpace {
    /// Bytes per page.
    pub page_size: u64,
    /// The number of pages.
    pub pages: u64,
}

impl AddressSpace {
    pub(super) fn of(design: &Design) -> AddressSpace {
        let page_size = design.logical_page_size().into();
        AddressSpace { page_size, pages: design.logical_pages().into() }
    }

    /// Returns the target of a workload that covers the space, with logical blocks of at most a
    /// page.
    fn target(self, seed: u64) -> Target {
        Target {
            capacity: Bytes(self.pages * self.page_size),
            logical_block: Bytes(self.page_size.min(4096)),
            filled: true,
            seed,
        }
    }
}

/// Parses the profile of the drive, which must not be an array.
pub(super) fn profile(name: &str) -> Result<Profile, Failure> {
    let profile = setup::parse(profile_name(name).map_err(usage)?).map_err(usage)?;
    if profile.raid.drives > 1 {
        return Err(usage(anyhow!(
            "`{name}` is an array of {} drives, but a prediction needs a single drive: set raid.drives=1",
            profile.raid.drives
        )));
    }
    Ok(profile)
}
