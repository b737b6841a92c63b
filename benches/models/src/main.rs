//! Compares the predictions of the models with the simulator, for traces and workloads, and
//! measures their speed.
//!
//! Cases are every trace of the reference data with at least 5,000 writes, and workloads with the
//! traits of the paper's eight traces, on the drive of Boboila and Desnoyers with four FTLs. Traces
//! and synthetic workloads also run on drives that they fill.
//!
//! Arguments are parts of workload names; without arguments, all workloads run. `--vary` compares
//! workloads that differ in one trait. `--traits` prints the traits of workloads instead of
//! predictions. `--speed` measures models and predictors instead, by parts of their names.
//! `--write` writes the tables to docs/models-accuracy.md.
//!
//! `--population COUNT` predicts COUNT random drives and workloads instead. It scores the intervals
//! on half as many drives and workloads of other kinds, and prints the table by stratum. With
//! `--write` it stores the cases for intervals (crates/predict/src/validation.csv) and the table
//! (docs/intervals.md).
//!
//! `--long-run COUNT` compares the computed long run of random workloads with simulations to the
//! steady state on COUNT random drives, and scores its intervals on half as many drives of other
//! geometries. With `--write` it stores the errors (crates/predict/src/long_run.csv) and the table
//! (docs/long-run.md).

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints")]
#![allow(clippy::disallowed_methods, reason = "a benchmark reads clocks and its arguments")]
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

mod book;
mod cases;
mod interpolation;
mod long_run;
mod population;
mod requests;
mod score;
mod side_by_side;
mod speed;
mod workloads;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use flashscope_document::prediction::Passes;
use flashscope_predict::drawn::{EIGHT, TraitSummary, Traits};
use flashscope_predict::{
    CountedPasses, Pieces, Pools, Request, Requests, SelectedModel, SimulatedDrive, repeat_passes,
    simulate_passes, space,
};

use book::{Book, Line};
use cases::Case;
use interpolation::Grids;
use population::Part;

/// The default number of random drives.
const DRIVES: usize = 600;

/// The least number of writes in a trace.
const MIN_WRITES: usize = 5000;

fn main() {
    let (options, names): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let has = |option: &str| options.iter().any(|one| one == option);
    let selected =
        |name: &str| names.is_empty() || names.iter().any(|part| name.contains(part.as_str()));
    if has("--speed") {
        speed::print(selected);
        return;
    }
    if has("--long-run") {
        let count = names.first().and_then(|count| count.parse().ok()).unwrap_or(DRIVES);
        score_long_run(count, has("--write"));
        return;
    }
    if has("--population") {
        let count = names.first().and_then(|count| count.parse().ok()).unwrap_or(DRIVES);
        score_population(count, has("--write"));
        return;
    }
    let generated = if has("--vary") { &workloads::VARIATIONS[..] } else { &EIGHT };
    let generated: Vec<&Traits> = generated.iter().filter(|traits| selected(traits.name)).collect();
    let traces: Vec<(String, String)> = if has("--vary") { Vec::new() } else { traces(selected) };
    if has("--traits") {
        print_traits(&traces, &generated);
        return;
    }
    let mut book = Book::default();
    let grids = Grids::measure();
    Book::heading();
    for (name, spec) in &traces {
        let folded = requests::of(&format!("{spec}?remap=fold"), cases::PAPER.pages(), u64::MAX);
        cases::on_the_papers_drive(name)
            .for_each(|case| compare(&case, &folded, &grids, &mut book));
        let packed =
            requests::of(&format!("{spec}?remap=compact&region=128KiB"), 1 << 32, u64::MAX);
        on_full_drives(name, &packed, &grids, &mut book);
    }
    for traits in generated {
        let requests = cases::generate(traits);
        cases::on_the_papers_drive(traits.name)
            .for_each(|case| compare(&case, &requests, &grids, &mut book));
    }
    if !has("--vary") {
        for (name, requests) in cases::workloads().filter(|(name, _)| selected(name)) {
            on_full_drives(&name, &requests, &grids, &mut book);
        }
    }
    for papers in [true, false] {
        println!("\n{}\n{}", book.table(papers), book.worst(papers));
    }
    if has("--write") {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        book.write(&root).expect("the project can be written to");
    }
}

/// Calibrates the intervals on random drives, and scores them on other random drives.
fn score_population(count: usize, write: bool) {
    let calibration = score::run(Part::Calibration, count);
    let held_out = score::run(Part::HeldOut, count / 2);
    let table = score::table(&calibration, &held_out);
    println!("{table}");
    if write {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let write = |path: &str, text: &str| {
            std::fs::write(root.join(path), text).expect("the project can be written to");
        };
        write("crates/predict/src/validation.csv", &score::csv(&calibration));
        write("docs/intervals.md", &include_str!("intervals.md").replace("TABLE\n", &table));
    }
}

/// Compares the models of the long run with the simulator on random drives, and scores their
/// intervals on other random drives.
fn score_long_run(count: usize, write: bool) {
    let calibration = long_run::run(Part::Calibration, count);
    let held_out = long_run::run(Part::HeldOut, count / 2);
    long_run::print(&calibration);
    println!("held out:");
    long_run::print(&held_out);
    let table = long_run::table(&calibration, &held_out);
    println!("{table}");
    if write {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let write = |path: &str, text: &str| {
            std::fs::write(root.join(path), text).expect("the project can be written to");
        };
        write("crates/predict/src/long_run.csv", &long_run::csv(&calibration));
        write("docs/long-run.md", &include_str!("long_run.md").replace("TABLE\n", &table));
    }
}

/// Returns the selected traces by name and spec.
fn traces(selected: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let named = requests::traces().into_iter().map(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name, format!("trace:{}", path.display()))
    });
    let enough = |spec: &str| {
        let requests = requests::of(&format!("{spec}?remap=fold"), cases::PAPER.pages(), u64::MAX);
        requests::writes(&requests) >= MIN_WRITES
    };
    named.filter(|(name, spec)| selected(name) && enough(spec)).collect()
}

fn on_full_drives(name: &str, requests: &[Request], grids: &Grids, book: &mut Book) {
    let cases = cases::on_full_drives(name, requests);
    cases.iter().for_each(|case| compare(case, requests, grids, book));
}

/// Compares each model of a case with the simulator. All models and the simulator run as many
/// passes as the best model needs to converge.
fn compare(case: &Case, requests: &[Request], grids: &Grids, book: &mut Book) {
    let design = case.profile.design().expect("a valid profile");
    let mut passes: Option<Passes> = None;
    let mut requests = Requests::Repeated(requests.to_vec());
    let Requests::Repeated(all) = &requests else { unreachable!("just made") };
    let in_pass = all.len() as f64;
    let mut predicted = Vec::new();
    for (model, pieces) in &case.models {
        let selected = SelectedModel::named(model, &design).expect("a model of the drive");
        let mut pools = Pools::new(&design, selected, *pieces).expect("a drive in range");
        let start = Instant::now();
        let total = match &passes {
            Some(passes) => {
                repeat_passes(passes, &mut pools, &mut requests).expect("the workload writes")
            }
            None => {
                let counted = CountedPasses::find(
                    &mut pools,
                    &mut requests,
                    (&AtomicBool::new(false), &mut ()),
                );
                let CountedPasses { passes: first, total, .. } =
                    counted.expect("the workload writes");
                passes = Some(first);
                total
            }
        };
        let label = match pieces.ranges {
            flashscope_model::trace::Ranges::Whole => (*model).to_owned(),
            flashscope_model::trace::Ranges::Written => format!("{model}, written"),
        };
        predicted.push((label, total, start.elapsed().as_nanos() as f64));
    }
    if case.drive == cases::PAPERS
        && let Some(grid) = grids.of(design.ftl.name)
    {
        let start = Instant::now();
        let prediction = grid.predict(space(&design), Pieces::default(), &mut requests);
        let (counted, cost) = prediction.expect("the workload writes");
        let took = start.elapsed().as_nanos() as f64 / f64::from(counted);
        let per_pass = passes.as_ref().map_or(1, |passes| passes.warm_up + passes.counted);
        predicted.push(("grid".into(), interpolation::total(&cost), took * f64::from(per_pass)));
    }
    let passes = passes.expect("each case has a model");
    let all = in_pass * f64::from(passes.warm_up + passes.counted);
    let (truth, took) = simulate(case, &passes, &mut requests);
    let took = took / all;
    for (model, total, nanos) in predicted {
        book.add(Line {
            model,
            ftl: design.ftl.name,
            workload: case.workload.clone(),
            drive: case.drive.clone(),
            predicted: total,
            simulated: truth,
            nanos: (nanos / all, took),
        });
    }
}

/// Returns the counts of the simulator, and the time of the simulation in nanoseconds.
fn simulate(
    case: &Case,
    passes: &Passes,
    requests: &mut Requests,
) -> (flashscope_model::trace::Total, f64) {
    let start = Instant::now();
    let mut simulated = SimulatedDrive::new(&case.profile).expect("a valid profile");
    let (truth, _) =
        simulate_passes(passes, &mut simulated, requests, (&AtomicBool::new(false), &mut ()))
            .expect("the workload writes");
    (truth, start.elapsed().as_nanos() as f64)
}

/// Prints the traits of workloads. Most traits describe the writes; the last is the share of
/// written pages in the hottest hundredth of the blocks.
fn print_traits(traces: &[(String, String)], generated: &[&Traits]) {
    println!(
        "workload                           writes reads   pages deviation longest goes on \
         aligned    pages  blocks hottest"
    );
    let print = |name: &str, requests: Vec<Request>| {
        let of = TraitSummary::of(requests.into_iter(), u64::from(cases::PAPER.pages_per_block));
        let TraitSummary { writes, reads, mean, deviation, longest, .. } = of;
        let TraitSummary { goes_on, aligned, pages, blocks, hottest, .. } = of;
        println!(
            "{name:<32.32} {writes:>8} {reads:>5.3} {mean:>7.2} {deviation:>9.1} {longest:>7} {goes_on:>7.3} \
             {aligned:>7.3} {pages:>8} {blocks:>7} {hottest:>7.3}"
        );
    };
    for (name, spec) in traces {
        print(name, requests::of(&format!("{spec}?remap=fold"), cases::PAPER.pages(), u64::MAX));
    }
    generated.iter().for_each(|traits| print(traits.name, cases::generate(traits)));
}
