//! Predicts each volume of a collection of traces.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::anyhow;
use flashscope_block::{Bytes, Data, Io, Op};
use flashscope_document::collection::{
    COLLECTION_PREDICTION_VERSION, Collection, CollectionPrediction, CollectionStatus,
    PredictedVolume, PredictionSummary, Spread, VolumePrediction, VolumeStatistics,
};
use flashscope_predict::{Numbers, Request};
use flashscope_result::collection::read_collection;
use flashscope_sim::Profile;
use flashscope_sim::budget::Budget;
use flashscope_sim::setup::Layout;
use flashscope_trace::Spec;
use flashscope_trace::collection::{Part, VolumeRequests, fit, parts, read_volumes};

use super::AddressSpace;
use super::args::PredictArgs;
use super::request::{LoadedWorkload, ModelResult, PredictionRequest, profile};
use crate::{Failure, Progress, Step, Unit, interrupted, trace, usage};

/// The memory of a request while its volume is predicted.
const REQUEST_MEMORY: u64 = 64;

/// The default memory of the requests of the volumes that are predicted together.
const MEMORY: Bytes = Bytes(1 << 30);

/// A progress sink for work that reports its progress elsewhere.
struct Silent;

impl Progress for Silent {
    fn show(&mut self, _: &Step<'_>) {}
    fn note(&mut self, _: &str) {}
}

/// Predicts each volume of the collection in `folder`.
///
/// # Errors
/// If the drive or the collection is invalid, a trace cannot be read, or `stop` was set first.
pub fn predict_collection(
    args: &PredictArgs,
    folder: &Path,
    (stop, sink): (&AtomicBool, &mut dyn Progress),
) -> Result<CollectionPrediction, Failure> {
    let collection = read_collection(folder).map_err(usage)?;
    if collection.status != CollectionStatus::Complete {
        return Err(usage(anyhow!(
            "{0} is unfinished: complete it with `flashscope trace collection --resume {0}`",
            folder.display()
        )));
    }
    let profile = profile(args.drive.name())?;
    let layout = profile.layout_without_zones("a modelled workload").map_err(usage)?;
    let most = args.memory.given().unwrap_or(MEMORY).0 / REQUEST_MEMORY;
    let request = args.request("");
    let memory = Budget::default().waiting();
    let volumes = Volumes { request: &request, profile: &profile, layout: &layout, memory, stop };
    let reading = Rereading::new(&collection, stop)?;
    let total = collection.volumes.len() as u64;
    let mut rows = Vec::new();
    for group in groups(&collection.volumes, most) {
        let mut requests = reading.read(group, most)?;
        rows.extend(volumes.predict(group, most, &mut requests)?);
        sink.show(&Step::of("predicting: volumes", rows.len() as u64, Some(total), Unit::Count));
    }
    Ok(CollectionPrediction {
        schema_version: COLLECTION_PREDICTION_VERSION,
        drive: args.drive.name().into(),
        ftl: layout.ftl.name.into(),
        collection: folder.display().to_string(),
        level: args.confidence.level,
        summary: summary(&rows),
        volumes: rows,
    })
}

/// Divides volumes into groups of at most `most` requests, or one volume.
fn groups(volumes: &[VolumeStatistics], most: u64) -> Vec<&[VolumeStatistics]> {
    let (mut groups, mut start, mut held) = (Vec::new(), 0, 0);
    for (nth, volume) in volumes.iter().enumerate() {
        // A volume that is too large is not read.
        let requests = Some(volume.requests.total).filter(|count| *count <= most).unwrap_or(0);
        if held + requests > most {
            groups.push(&volumes[start..nth]);
            (start, held) = (nth, 0);
        }
        held += requests;
    }
    groups.push(&volumes[start..]);
    groups
}

/// Reads the files of a collection again, for some of their volumes.
struct Rereading<'a> {
    parts: Vec<Part>,
    spec: Spec,
    separate_files: bool,
    stop: &'a AtomicBool,
}

impl Rereading<'_> {
    fn new<'a>(collection: &Collection, stop: &'a AtomicBool) -> Result<Rereading<'a>, Failure> {
        let plan = &collection.plan;
        let mut spec = Spec::default();
        for (name, value) in &plan.fields {
            spec.set(name, value).map_err(usage)?;
        }
        let mut parts = parts(plan);
        parts.retain(|part| collection.files[part.file as usize].problem.is_none());
        Ok(Rereading { parts, spec, separate_files: plan.separate_files, stop })
    }

    /// Returns the requests of these volumes, except those with more than `most` requests.
    fn read(&self, group: &[VolumeStatistics], most: u64) -> Result<VolumeRequests, Failure> {
        let small = group.iter().filter(|volume| volume.requests.total <= most);
        let names: BTreeSet<&str> = small.map(|volume| volume.name.as_str()).collect();
        let all = Mutex::new(VolumeRequests::default());
        each(self.parts.len(), &|number| {
            let part = &self.parts[number];
            let go_on = &mut || !self.stop.load(Ordering::Relaxed);
            let found = read_volumes(part, &self.spec, self.separate_files, &names, go_on);
            let found = found.map_err(trace::failure)?.ok_or_else(stopped)?;
            all.lock().expect("no thread panics with the lock").merge(found);
            Ok(())
        })?;
        Ok(all.into_inner().expect("no thread panics with the lock"))
    }
}

fn stopped() -> Failure {
    interrupted("no prediction is complete")
}

/// Calls `work` with each number below `count`, on all processors. Returns an error of the first number that fails.
fn each(count: usize, work: &(dyn Fn(usize) -> Result<(), Failure> + Sync)) -> Result<(), Failure> {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(count) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let is_over = failed.lock().is_ok_and(|failed| !failed.is_empty());
                    if number >= count || is_over {
                        return;
                    }
                    if let Err(error) = work(number) {
                        failed
                            .lock()
                            .expect("no thread panics with the lock")
                            .insert(number, error);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("no thread panics with the lock");
    failed.into_values().next().map_or(Ok(()), Err)
}

/// The prediction of volumes on drives of the same kind.
struct Volumes<'a> {
    request: &'a PredictionRequest<'a>,
    profile: &'a Profile,
    /// The memory of the models, which take no more than simulated drives would.
    memory: Budget,
    layout: &'a Layout,
    stop: &'a AtomicBool,
}

impl Volumes<'_> {
    /// Predicts the volumes of a group, in their order.
    fn predict(
        &self,
        group: &[VolumeStatistics],
        most: u64,
        requests: &mut VolumeRequests,
    ) -> Result<Vec<VolumePrediction>, Failure> {
        let requests: Vec<_> =
            group.iter().map(|volume| Mutex::new(requests.take(&volume.name))).collect();
        let rows = Mutex::new(BTreeMap::new());
        each(group.len(), &|number| {
            let volume = &group[number];
            let requests =
                std::mem::take(&mut *requests[number].lock().expect("each is taken once"));
            let predicted = match volume.requests.total > most {
                true => Err(too_many(volume, most)),
                false => self.one(requests)?,
            };
            let (predicted, problem) = match predicted {
                Ok(predicted) => (Some(predicted), None),
                Err(problem) => (None, Some(problem)),
            };
            let (name, requests) = (volume.name.clone(), volume.requests.total);
            let row = VolumePrediction { name, requests, predicted, problem };
            rows.lock().expect("no thread panics with the lock").insert(number, row);
            Ok(())
        })?;
        let rows = rows.into_inner().expect("no thread panics with the lock");
        Ok(rows.into_values().collect())
    }

    /// Predicts a volume, or returns the reason that it cannot be predicted.
    fn one(
        &self,
        mut requests: Vec<flashscope_trace::Request>,
    ) -> Result<Result<PredictedVolume, String>, Failure> {
        let AddressSpace { page_size, pages } = AddressSpace::of(self.layout);
        let covered = fit(&mut requests, Bytes(page_size * pages));
        if covered > 1.0 {
            return Ok(Err(format!(
                "its regions of 1 MiB are {covered:.1} times as large as the drive: choose a larger drive"
            )));
        }
        let trims = requests.iter().any(|request| request.op == Op::Trim);
        let packed: Vec<_> =
            requests.iter().filter_map(|one| Request::of(&io(one), page_size)).collect();
        drop(requests);
        if !packed.iter().any(|request| request.is_write()) {
            return Ok(Err("it has no writes".into()));
        }
        let _memory = self.profile.reserve(self.request.drive, &self.memory).map_err(usage)?;
        let mut loaded = LoadedWorkload::repeated(packed, trims, self.request.seed);
        let found = self.request.sampled(self.layout, &mut loaded, (self.stop, &mut Silent))?;
        Ok(Ok(self.predicted(found)))
    }

    #[allow(clippy::cast_precision_loss, reason = "counts of pages and passes are below 2^53")]
    fn predicted(&self, found: ModelResult) -> PredictedVolume {
        let ModelResult { model, passes, total, factors, cases, not_modelled } = found;
        let numbers = Numbers::new(self.layout, total, factors);
        let counted = u64::from(passes.counted.max(1));
        PredictedVolume {
            model: model.into(),
            passes,
            host_pages_written: total.pages / counted,
            erases: numbers.erases().value / counted as f64,
            write_amplification: numbers.write_amplification(),
            bytes_per_second: numbers.bytes_per_second(),
            cases: cases as u64,
            not_modelled,
        }
    }
}

fn io(request: &flashscope_trace::Request) -> Io {
    let flashscope_trace::Request { op, offset, len, at, .. } = *request;
    Io { op, stream: 0, offset, len, data: Data::Random, at }
}

fn too_many(volume: &VolumeStatistics, most: u64) -> String {
    format!(
        "its {} requests are more than the {most} that fit in memory: --memory {}MiB is enough",
        volume.requests.total,
        volume.requests.total.saturating_mul(REQUEST_MEMORY).div_ceil(1 << 20)
    )
}

#[allow(clippy::cast_precision_loss, reason = "counts of pages are below 2^53")]
fn summary(rows: &[VolumePrediction]) -> PredictionSummary {
    let predicted: Vec<_> = rows.iter().filter_map(|row| row.predicted.as_ref()).collect();
    let host_pages_written: u64 = predicted.iter().map(|one| one.host_pages_written).sum();
    let programmed: f64 = predicted
        .iter()
        .map(|one| one.host_pages_written as f64 * one.write_amplification.value)
        .sum();
    let mut sorted: Vec<f64> = predicted.iter().map(|one| one.write_amplification.value).collect();
    sorted.sort_by(f64::total_cmp);
    // The nearest rank.
    let at = |percent: usize| sorted[(sorted.len() * percent).div_ceil(100).max(1) - 1];
    let is_any = !sorted.is_empty();
    PredictionSummary {
        volumes: rows.len() as u64,
        predicted: predicted.len() as u64,
        host_pages_written,
        erases: predicted.iter().map(|one| one.erases).sum(),
        write_amplification: is_any.then(|| programmed / host_pages_written as f64),
        write_amplification_of_volumes: is_any.then(|| Spread {
            min: at(0),
            p50: at(50),
            p90: at(90),
            p99: at(99),
            max: at(100),
        }),
    }
}
