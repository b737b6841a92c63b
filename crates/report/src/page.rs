//! Builds the page: one HTML file with results and views of their records, within a size limit.

use std::collections::BTreeMap;
use std::io::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flashscope_analysis::Outline;
use flashscope_analysis::compare::{Contestant, Subject, compare};
use flashscope_analysis::view::{
    Colours, Ios, OUTLINE_BUCKETS, RUN_VIEWS, RunView, RunViewVisitor, Viewer, visit_run_views,
};
use flashscope_document::Manifest;
use flashscope_document::facts::Facts;
use flashscope_document::manifest::Run;
use flashscope_document::marks::Marks;
use flashscope_document::sweep::ExploredSweep;
use flashscope_document::twin::Twin;
use flashscope_document::what_if::WhatIf;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use serde_json::Value;

/// The maximum size of a page in bytes, small enough for mail.
const MAX_BYTES: usize = 15 << 20;

/// The maximum shares of outlines and single IOs in the space for views; colours get the remaining
/// space.
const OUTLINES: f64 = 0.5;
const IOS: f64 = 0.15;

/// The maximum size of all comparisons together, in bytes: enough for a dozen results with all
/// benchmarks of uFLIP.
const MAX_COMPARISONS: usize = MAX_BYTES / 3;

/// The minimum resolution of charts: the number of segments of an outline, and of columns of
/// colours. A segment is a group of successive IOs, of which the outline shows the fastest and the
/// slowest.
const MIN_OUTLINE_BUCKETS: u64 = 50;
const MIN_COLUMNS: u64 = 64;

/// The maximum number of colour codes to compute for a measurement. More codes would not fit into
/// the page.
const MAX_CODES: u64 = 4 * MAX_BYTES as u64;

/// The choices for the single IOs to show, from many IOs to few. Each is a number of slowest IOs of
/// a run, and a number of neighbours before and after each of them.
const NEIGHBOURHOODS: [(usize, u64); 4] = [(3, 25), (1, 25), (1, 10), (0, 0)];

/// The reason why a page cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The records cannot be read.
    #[error(transparent)]
    Result(#[from] flashscope_result::Error),
    /// The report cannot be written as JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// A measurement on a page.
#[derive(Debug, Clone, Copy)]
pub struct Exhibit<'a> {
    /// The id in addresses, unique within a page.
    pub id: &'a str,
    /// The name of the folder without its extension.
    pub name: &'a str,
    /// Access to the records.
    pub viewer: Viewer<'a>,
    /// The user's corrections of the summary grid.
    pub marks: &'a Marks,
}

/// A simulation on a page.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct SimulatedExhibit<'a> {
    /// The id in addresses, unique within a page.
    pub id: &'a str,
    /// The name of the folder without its extension.
    pub name: &'a str,
    /// The contents of `simulation.json`.
    pub simulation: &'a Value,
}

/// A probe on a page.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ProbedExhibit<'a> {
    /// The id in addresses, unique within a page.
    pub id: &'a str,
    /// The name of the folder without its extension.
    pub name: &'a str,
    /// The contents of `probe.json`.
    pub probe: &'a Value,
}

/// A sweep on a page.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct SweptExhibit<'a> {
    /// The id in addresses, unique within a page.
    pub id: &'a str,
    /// The name of the folder without its extension.
    pub name: &'a str,
    /// The sweep with its points.
    pub sweep: &'a ExploredSweep,
}

/// A what-if on a page.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct WhatIfExhibit<'a> {
    /// The id in addresses, unique within a page.
    pub id: &'a str,
    /// The name of the folder without its extension.
    pub name: &'a str,
    /// The what-if.
    pub what_if: &'a WhatIf,
}

/// A twin on a page.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct TwinExhibit<'a> {
    /// The id in addresses, unique within a page.
    pub id: &'a str,
    /// The name of the file without its extension.
    pub name: &'a str,
    /// The twin.
    pub twin: &'a Twin,
}

/// A prediction on a page.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct PredictedExhibit<'a> {
    /// The id in addresses, unique within a page.
    pub id: &'a str,
    /// The name of the folder without its extension.
    pub name: &'a str,
    /// The contents of `prediction.json`.
    pub prediction: &'a Value,
}

/// The contents of a page.
#[derive(Debug, Clone, Default)]
pub struct Exhibits<'a> {
    /// Measurements, which are compared with each other.
    pub measurements: Vec<Exhibit<'a>>,
    /// Simulations.
    pub simulations: Vec<SimulatedExhibit<'a>>,
    /// Probes.
    pub probes: Vec<ProbedExhibit<'a>>,
    /// Sweeps.
    pub sweeps: Vec<SweptExhibit<'a>>,
    /// Saved what-ifs.
    pub what_ifs: Vec<WhatIfExhibit<'a>>,
    /// Twins.
    pub twins: Vec<TwinExhibit<'a>>,
    /// Saved predictions.
    pub predictions: Vec<PredictedExhibit<'a>>,
}

/// The data in a page.
#[derive(Serialize)]
struct Page<'a> {
    measurements: Vec<PageMeasurement<'a>>,
    simulations: &'a [SimulatedExhibit<'a>],
    probes: &'a [ProbedExhibit<'a>],
    sweeps: &'a [SweptExhibit<'a>],
    what_ifs: &'a [WhatIfExhibit<'a>],
    twins: &'a [TwinExhibit<'a>],
    predictions: &'a [PredictedExhibit<'a>],
    /// The comparisons, in which each measurement is the baseline in turn. The other measurements
    /// follow in their order, wrapping around. The text is compressed JSON, as for the views of a
    /// measurement.
    comparisons: Vec<String>,
}

/// A measurement as the page contains it. Views make up nearly all of its size. They are JSON,
/// compressed by gzip and encoded in base64, which takes a quarter of the space of plain JSON.
#[derive(Serialize)]
struct PageMeasurement<'a> {
    id: &'a str,
    name: &'a str,
    manifest: &'a Manifest,
    facts: &'a Facts,
    marks: &'a Marks,
    outlines: String,
    colours: String,
    /// Each view of runs, by its name.
    run_views: BTreeMap<&'static str, String>,
    ios: String,
}

/// A callback that receives the number of steps done and the total. A step reads an IO for one kind
/// of view.
pub(crate) type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// The number of times that the records of a run are read: once for each kind of run view, for
/// outlines, for colours and for single IOs.
const READS: u64 = RUN_VIEWS + 3;

/// Renders the page of several results. Measurements are compared with each
/// other. To keep the page below
/// 15 MiB, charts become coarser and fewer single IOs are shown. Manifests and facts are never
/// reduced, and may exceed the limit.
pub(crate) fn html(
    template: &str,
    exhibits: &Exhibits,
    progress: Progress,
) -> Result<String, PageError> {
    let Exhibits { measurements, simulations, probes, sweeps, what_ifs, twins, predictions } =
        exhibits;
    let page_measurements = measurements.iter().map(|shown| bare(*shown)).collect();
    let comparisons = comparisons(measurements)?;
    let mut page = Page {
        measurements: page_measurements,
        simulations,
        probes,
        sweeps,
        what_ifs,
        twins,
        predictions,
        comparisons,
    };
    let used = template.len() + serde_json::to_vec(&page)?.len();
    let room = MAX_BYTES.saturating_sub(used) / measurements.len().max(1);
    let ios =
        measurements.iter().flat_map(|shown| recorded(shown.viewer)).map(|run| run.progress.ios());
    let total = ios.fold(0, u64::saturating_add).saturating_mul(READS);
    let mut steps = Steps { done: 0, total, progress };
    for (shown, paged) in measurements.iter().zip(&mut page.measurements) {
        fill(paged, shown.viewer, room, &mut steps)?;
    }
    Ok(crate::filled(template, &page)?)
}

/// Compares the measurements, with each as the baseline in turn, until the comparisons exceed their
/// size limit: their size grows with the square of the number of measurements. The first comparison
/// is always included.
fn comparisons<'a>(measurements: &[Exhibit<'a>]) -> Result<Vec<String>, PageError> {
    let mut packed: Vec<String> = Vec::new();
    if measurements.len() < 2 {
        return Ok(packed);
    }
    let contestant = |shown: &Exhibit<'a>| {
        let Viewer { manifest, facts, .. } = shown.viewer;
        Contestant::new(shown.id, Subject::Measurement { manifest, facts })
    };
    let mut results: Vec<Contestant> = measurements.iter().map(contestant).collect();
    let mut room = MAX_COMPARISONS;
    for _ in measurements {
        let next = compressed(&compare(&results, None))?;
        if next.len() > room && !packed.is_empty() {
            break;
        }
        room = room.saturating_sub(next.len());
        packed.push(next);
        results.rotate_left(1);
    }
    Ok(packed)
}

/// The progress of building a page.
struct Steps<'a> {
    done: u64,
    total: u64,
    progress: Progress<'a>,
}

impl Steps<'_> {
    /// Counts the IOs of a run as read for one kind of view.
    fn read(&mut self, run: &Run) {
        self.done = self.done.saturating_add(run.progress.ios());
        (self.progress)(self.done, self.total);
    }
}

/// Returns a measurement without its views.
fn bare(shown: Exhibit) -> PageMeasurement {
    let none = String::new;
    PageMeasurement {
        id: shown.id,
        name: shown.name,
        manifest: shown.viewer.manifest,
        facts: shown.viewer.facts,
        marks: shown.marks,
        outlines: none(),
        colours: none(),
        run_views: BTreeMap::new(),
        ios: none(),
    }
}

/// Adds the views of a measurement, in about `room` bytes. Computes the finest views from the
/// records, and derives the coarser ones from them.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
fn fill(
    paged: &mut PageMeasurement,
    viewer: Viewer,
    room: usize,
    steps: &mut Steps,
) -> Result<(), PageError> {
    paged.run_views = run_views(viewer, steps)?;
    let room = room.saturating_sub(paged.run_views.values().map(String::len).sum());
    let share = |share: f64| (share * room as f64) as usize;
    let all_ios = neighbours(viewer, steps)?;
    paged.ios = first_that_fits(share(IOS), NEIGHBOURHOODS.into_iter(), |(slowest, around)| {
        let of_run = all_ios.chunk_by(|a, b| a.run == b.run);
        of_run.flat_map(|ios| Ios::fewer(ios, slowest, around)).collect::<Vec<_>>()
    })?;
    let finest = outlines(viewer, steps)?;
    let buckets = halves(OUTLINE_BUCKETS, MIN_OUTLINE_BUCKETS);
    paged.outlines = first_that_fits(share(OUTLINES), buckets, |buckets| {
        finest.iter().map(|outline| outline.coarser(OUTLINE_BUCKETS, buckets)).collect::<Vec<_>>()
    })?;
    let room = room.saturating_sub(paged.ios.len() + paged.outlines.len());
    let columns = finest_columns(viewer);
    let mut pictures = colours(viewer, columns, steps)?;
    paged.colours = first_that_fits(room, halves(columns, MIN_COLUMNS), |columns| {
        for picture in &mut pictures {
            while picture.columns() > columns {
                *picture = picture.halved();
            }
        }
        pictures.clone()
    })?;
    Ok(())
}

/// Returns the number of columns of the finest colours: one per IO of the longest run, or fewer if
/// that gives too many codes.
fn finest_columns(viewer: Viewer) -> u64 {
    let ios: Vec<u64> = recorded(viewer).map(|run| run.progress.ios()).collect();
    let codes =
        |columns: u64| ios.iter().map(|ios| *ios.min(&columns)).fold(0, u64::saturating_add);
    let longest = ios.iter().max().copied().unwrap_or(0).max(MIN_COLUMNS);
    let few = halves(longest, MIN_COLUMNS).find(|columns| codes(*columns) <= MAX_CODES);
    few.unwrap_or(MIN_COLUMNS)
}

/// Yields `most`, then repeatedly half of the last number, down to `least`.
fn halves(most: u64, least: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(most), move |n| (*n > least).then(|| n.div_ceil(2).max(least)))
}

/// Computes coarser and coarser views, and returns the first that fits into `room` bytes, or the
/// coarsest.
fn first_that_fits<C, T: Serialize>(
    room: usize,
    coarser: impl Iterator<Item = C>,
    mut view: impl FnMut(C) -> T,
) -> Result<String, serde_json::Error> {
    let mut text = String::new();
    for choice in coarser {
        text = compressed(&view(choice))?;
        if text.len() <= room {
            break;
        }
    }
    Ok(text)
}

/// The result of reading records.
type ReadResult<T> = Result<T, flashscope_result::Error>;

/// Returns the runs that have records.
fn recorded(viewer: Viewer<'_>) -> impl Iterator<Item = &Run> {
    viewer.manifest.runs().filter(|run| run.progress.ios() > 0)
}

/// Computes and compresses the views of runs.
struct Packer<'a, 's> {
    viewer: Viewer<'a>,
    steps: &'a mut Steps<'s>,
    packed: Vec<Result<(&'static str, String), PageError>>,
}

impl Packer<'_, '_> {
    fn pack<T: RunView>(&mut self) -> Result<(&'static str, String), PageError> {
        let mut all: Vec<T> = Vec::new();
        for run in recorded(self.viewer) {
            all.extend(self.viewer.run_view(run.id, 0..u64::MAX)?);
            self.steps.read(run);
        }
        Ok((T::NAME, compressed(&all)?))
    }
}

impl RunViewVisitor for Packer<'_, '_> {
    fn visit<T: RunView>(&mut self) {
        let packed = self.pack::<T>();
        self.packed.push(packed);
    }
}

fn run_views(
    viewer: Viewer,
    steps: &mut Steps,
) -> Result<BTreeMap<&'static str, String>, PageError> {
    let mut packer = Packer { viewer, steps, packed: Vec::new() };
    visit_run_views(&mut packer);
    packer.packed.into_iter().collect()
}

fn neighbours(viewer: Viewer, steps: &mut Steps) -> ReadResult<Vec<Ios>> {
    let [(slowest, around), ..] = NEIGHBOURHOODS;
    let mut all = Vec::new();
    for run in recorded(viewer) {
        all.extend(viewer.slowest(run.id, slowest, around)?);
        steps.read(run);
    }
    Ok(all)
}

fn outlines(viewer: Viewer, steps: &mut Steps) -> ReadResult<Vec<Outline>> {
    let mut all = Vec::new();
    for run in recorded(viewer) {
        all.extend(viewer.outline(run.id, 0..u64::MAX, OUTLINE_BUCKETS)?);
        steps.read(run);
    }
    Ok(all)
}

fn colours(viewer: Viewer, columns: u64, steps: &mut Steps) -> ReadResult<Vec<Colours>> {
    let mut all = Vec::new();
    for benchmark in &viewer.manifest.micro_benchmarks {
        for experiment in &benchmark.experiments {
            all.extend(viewer.colours(&benchmark.name, &experiment.name, 0..u64::MAX, columns)?);
            experiment.runs.iter().for_each(|run| steps.read(run));
        }
    }
    Ok(all)
}

fn compressed(views: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    serde_json::to_writer(&mut encoder, views)?;
    let gzip = encoder.flush().and_then(|()| encoder.finish());
    Ok(BASE64_STANDARD.encode(gzip.map_err(serde_json::Error::io)?))
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;

    fn inflated(text: &str) -> String {
        let gzip = BASE64_STANDARD.decode(text).unwrap();
        let mut json = String::new();
        GzDecoder::new(&gzip[..]).read_to_string(&mut json).unwrap();
        json
    }

    #[test]
    fn views_survive_compression() {
        let outline =
            Outline { run: 7, ios: 2, latency_ns: vec![u64::MAX, 1], ..Outline::default() };
        let text = compressed(&[&outline]).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Outline>>(&inflated(&text)).unwrap(), [outline]);
    }

    #[test]
    fn views_get_coarser_until_they_fit() {
        let noise =
            |n: u64| (0..n).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect::<Vec<_>>();
        let fits = |room| {
            let text = first_that_fits(room, halves(4000, 300), noise).unwrap();
            serde_json::from_str::<Vec<u64>>(&inflated(&text)).unwrap().len()
        };
        let whole = compressed(&noise(4000)).unwrap().len();
        assert_eq!(fits(whole), 4000);
        assert_eq!(fits(whole - 1), 2000);
        assert_eq!(fits(whole / 5), 500);
        assert_eq!(fits(0), 300);
        assert_eq!(halves(7, 7).collect::<Vec<_>>(), [7]);
    }
}
