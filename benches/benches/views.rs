//! Measures the speed of the views of a result with 10 million IOs, in one run or in many.
//!
//! `-- --keep FOLDER` instead creates both results in a folder, to measure other programs with
//! them.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads clocks, and prints"
)]

use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use flashscope_analysis::analyse;
use flashscope_analysis::view::{LatencyHistogram, Overviews, Viewer};
use flashscope_benches::scripted::{manifest, record, run};
use flashscope_benches::verdict;
use flashscope_document::Manifest;
use flashscope_document::facts::Facts;
use flashscope_document::facts::{Characteristics, SCHEMA_VERSION};
use flashscope_result::{Error, ResultFolder};

/// The number of IOs of the result.
const IOS: u64 = 10_000_000;
/// The largest time of a view in the application, in ms.
const LIMIT: f64 = 500.0;
/// The resolution that a screen requests.
const STRETCHES: u64 = 1000;
const COLUMNS: u64 = 2000;
const THREADS: usize = 2;
/// The number of rounds; the median counts.
const ROUNDS: usize = 5;

fn main() {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--keep").skip(1);
    if let Some(place) = arguments.next() {
        return keep(Path::new(&place));
    }
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("not measured: run `cargo bench`");
        return;
    }
    println!("views of {IOS} IOs, {THREADS} threads: median of {ROUNDS} in ms; limit {LIMIT}");
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let one = ScriptedResult::new(&place.path().join("one"), 1);
    println!("one run");
    let whole = 0..u64::MAX;
    let million = 4_100_000..5_100_000;
    one.time("facts", facts, f64::INFINITY);
    one.time("outline, first", |viewer| outline(viewer, whole.clone()), LIMIT);
    one.cached("outline", |viewer| outline(viewer, whole.clone()));
    one.cached("outline of 1,000,000", |viewer| outline(viewer, million.clone()));
    one.cached("outline of 100,000", |viewer| outline(viewer, 4_100_000..4_200_000));
    one.cached("histogram", |viewer| histogram(viewer, whole.clone()));
    one.cached("histogram of 1,000,000", |viewer| histogram(viewer, million.clone()));
    one.cached("1,000 IOs", |viewer| ios(viewer, 7_000_000..7_001_000));
    one.time("colours, first", |viewer| colours(viewer, whole.clone()), LIMIT);
    one.cached("colours", |viewer| colours(viewer, whole.clone()));
    one.cached("colours of 1,000,000", |viewer| colours(viewer, million.clone()));
    println!("an experiment of 16 runs");
    let many = ScriptedResult::new(&place.path().join("many"), 16);
    many.time("colours, first", |viewer| colours(viewer, whole.clone()), LIMIT);
    many.cached("colours", |viewer| colours(viewer, whole.clone()));
    many.cached("colours of 100,000", |viewer| colours(viewer, 300_000..400_000));
}

/// Creates both results in `place`, with their facts.
fn keep(place: &Path) {
    for (name, runs) in [("one.flashscope", 1), ("many.flashscope", 16)] {
        let ScriptedResult { folder, manifest, .. } = ScriptedResult::new(&place.join(name), runs);
        let facts = analyse(&folder, &manifest).expect("the records are whole");
        folder.write_facts(&facts).expect("the folder is writable");
    }
}

fn facts(viewer: Viewer) {
    analyse(viewer.folder, viewer.manifest).expect("the records are whole");
}

fn outline(viewer: Viewer, window: Range<u64>) {
    expect_view(viewer.outline(1, window, STRETCHES));
}

fn histogram(viewer: Viewer, window: Range<u64>) {
    expect_view(viewer.run_view::<LatencyHistogram>(1, window));
}

fn ios(viewer: Viewer, window: Range<u64>) {
    expect_view(viewer.ios(1, window));
}

fn colours(viewer: Viewer, window: Range<u64>) {
    expect_view(viewer.colours("locality", "RR", window, COLUMNS));
}

/// Panics unless the view could be created.
fn expect_view<T>(view: Result<Option<T>, Error>) {
    view.expect("the records are whole").expect("the run exists");
}

struct ScriptedResult {
    folder: ResultFolder,
    manifest: Manifest,
    facts: Facts,
}

impl ScriptedResult {
    /// Creates a result with `runs` runs.
    fn new(path: &Path, runs: u32) -> ScriptedResult {
        let ios = IOS / u64::from(runs);
        let manifest = manifest((1..=runs).map(|id| run(id, ios)).collect());
        let folder = ResultFolder::create(path, &manifest).expect("a new folder");
        let mut recorder = folder.recorder();
        let mut random = fastrand::Rng::with_seed(7);
        for id in 1..=runs {
            record(&mut recorder, id, ios, &mut random);
        }
        let facts = Facts {
            schema_version: SCHEMA_VERSION,
            characteristics: Characteristics::default(),
            runs: vec![],
            repeats: vec![],
            rounds: None,
            grid: vec![],
            depths: vec![],
            hints: vec![],
            baselines: None,
            conclusions: vec![],
            verdicts_withheld: None,
        };
        ScriptedResult { folder, manifest, facts }
    }

    /// Prints the time of `view` without any cache.
    fn time(&self, name: &str, view: impl Fn(Viewer), limit: f64) {
        self.print(name, limit, || {
            let overviews = Overviews::new(THREADS);
            let start = Instant::now();
            view(self.viewer(&overviews));
            start.elapsed().as_secs_f64() * 1e3
        });
    }

    /// Prints the time of `view` with the overview of the first run cached.
    fn cached(&self, name: &str, view: impl Fn(Viewer)) {
        let overviews = Overviews::new(THREADS);
        outline(self.viewer(&overviews), 0..u64::MAX);
        self.print(name, LIMIT, || {
            let start = Instant::now();
            view(self.viewer(&overviews));
            start.elapsed().as_secs_f64() * 1e3
        });
    }

    fn print(&self, name: &str, limit: f64, round: impl Fn() -> f64) {
        let middle = flashscope_benches::median((0..ROUNDS).map(|_| round()));
        println!("  {name:<24} {middle:>8.1}   {}", verdict(middle <= limit));
    }

    fn viewer<'a>(&'a self, overviews: &'a Overviews) -> Viewer<'a> {
        let ScriptedResult { folder, manifest, facts } = self;
        Viewer { folder, manifest, facts, overviews }
    }
}
