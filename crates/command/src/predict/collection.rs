//! Predicts each volume of a collection of traces.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::anyhow;
use flashscope_block::{Bytes, Data, Io, Op};
use flashscope_document::collection::{
    COLLECTION_PREDICTION_VERSION, Collection, CollectionPrediction, CollectionStatus,
    PredictedVolume, PredictionSummary, Spread, VolumePrediction, VolumeStatistics,
};
use flashscope_fit::side_by_side;
use flashscope_predict::WrittenShare;
use flashscope_result::collection::read_collection;
use flashscope_sim::Design;
use flashscope_sim::Profile;
use flashscope_sim::budget::Budget;
use flashscope_trace::Spec;
use flashscope_trace::collection::{Part, VolumeRequests, compact, parts, read_volumes};

use super::AddressSpace;
use super::args::PredictArgs;
use super::request::{LoadedWorkload, ModelResult, PredictionRequest, profile};
use crate::options::processors;
use crate::trace::collection::spec;
use crate::{Failure, Progress, Step, Unit, interrupted, trace, usage};

/// The memory of a request while its volume is predicted, in bytes.
const REQUEST_MEMORY: u64 = 64;

/// The default memory of the requests of the volumes that are predicted together.
const MEMORY: Bytes = Bytes(1 << 30);

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
    let design = profile.design_without_zones("a modelled workload").map_err(usage)?;
    let most = args.memory.given().unwrap_or(MEMORY).0 / REQUEST_MEMORY;
    let request = args.request("");
    let memory = Budget::default().waiting();
    let volumes = Volumes { request: &request, profile: &profile, design: &design, memory, stop };
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
        ftl: design.ftl.name.into(),
        collection: folder.display().to_string(),
        level: args.confidence.level,
        summary: summary(&rows),
        volumes: rows,
    })
}

/// Divides volumes into groups of at most `most` requests. A volume with more requests counts as
/// empty.
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

/// A reader of the files of a collection, which returns the requests of some volumes.
struct Rereading<'a> {
    parts: Vec<Part>,
    spec: Spec,
    separate_files: bool,
    stop: &'a AtomicBool,
}

impl Rereading<'_> {
    fn new<'a>(collection: &Collection, stop: &'a AtomicBool) -> Result<Rereading<'a>, Failure> {
        let plan = &collection.plan;
        let spec = spec(&plan.fields)?;
        let mut parts = parts(plan);
        parts.retain(|part| collection.files[part.file as usize].problem.is_none());
        Ok(Rereading { parts, spec, separate_files: plan.separate_files, stop })
    }

    /// Returns the requests of these volumes, except those with more than `most` requests.
    fn read(&self, group: &[VolumeStatistics], most: u64) -> Result<VolumeRequests, Failure> {
        let small = group.iter().filter(|volume| volume.requests.total <= most);
        let names: BTreeSet<&str> = small.map(|volume| volume.name.as_str()).collect();
        let failed = AtomicBool::new(false);
        let goes_on = || !self.stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed);
        let read = side_by_side(&self.parts, processors(), |part| {
            if !goes_on() {
                return Ok(None);
            }
            let found =
                read_volumes(part, &self.spec, self.separate_files, &names, &mut || goes_on());
            found.inspect_err(|_| failed.store(true, Ordering::Relaxed))
        });
        let read: Vec<_> = read.into_iter().collect::<Result<_, _>>().map_err(trace::failure)?;
        let mut all = VolumeRequests::default();
        for found in read {
            all.merge(found.ok_or_else(stopped)?);
        }
        Ok(all)
    }
}

fn stopped() -> Failure {
    interrupted("no prediction is complete")
}

/// The settings for the prediction of volumes on drives of the same kind.
struct Volumes<'a> {
    request: &'a PredictionRequest<'a>,
    profile: &'a Profile,
    /// The memory budget of the models. A model uses at most as much memory as a simulated drive.
    memory: Budget,
    design: &'a Design,
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
        let volumes: Vec<_> =
            group.iter().map(|volume| (volume, Mutex::new(requests.take(&volume.name)))).collect();
        let rows = side_by_side(&volumes, processors(), |(volume, requests)| {
            let requests = std::mem::take(&mut *requests.lock().expect("each is taken once"));
            let predicted = match volume.requests.total > most {
                true => Err(too_many(volume, most)),
                false => self.one(requests)?,
            };
            let (predicted, problem) = match predicted {
                Ok(predicted) => (Some(predicted), None),
                Err(problem) => (None, Some(problem)),
            };
            let (name, requests) = (volume.name.clone(), volume.requests.total);
            Ok(VolumePrediction { name, requests, predicted, problem })
        });
        rows.into_iter().collect()
    }

    /// Predicts a volume, or returns the reason that it cannot be predicted.
    fn one(
        &self,
        mut requests: Vec<flashscope_trace::Request>,
    ) -> Result<Result<PredictedVolume, String>, Failure> {
        let AddressSpace { page_size, pages } = AddressSpace::of(self.design);
        let covered = compact(&mut requests, Bytes(page_size * pages));
        if covered > 1.0 {
            return Ok(Err(format!(
                "the regions of 1 MiB that it accesses are together {covered:.1} times as large as the drive: choose a \
                 larger drive"
            )));
        }
        let trims = requests.iter().any(|request| request.op == Op::Trim);
        let mut written = WrittenShare::default();
        let packed: Vec<_> =
            requests.iter().filter_map(|one| written.request_of(&io(one), page_size)).collect();
        drop(requests);
        if !packed.iter().any(|request| request.is_write()) {
            return Ok(Err("it has no writes".into()));
        }
        let _memory = self.profile.reserve(self.request.drive, &self.memory).map_err(usage)?;
        let mut loaded = LoadedWorkload::repeated(packed, written, trims, self.request.seed);
        let found = self.request.sampled(self.design, &mut loaded, (self.stop, &mut ()))?;
        Ok(Ok(self.predicted(found, written.share(page_size))))
    }

    #[allow(clippy::cast_precision_loss, reason = "counts of pages and passes are below 2^53")]
    fn predicted(&self, mut found: ModelResult, share: f64) -> PredictedVolume {
        let numbers = found.numbers(self.design, share);
        let ModelResult { model, passes, total, cases, not_modelled, .. } = found;
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
    // Quantiles by nearest rank.
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
