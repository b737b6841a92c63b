//! The commands: options in, documents out.

use std::path::{Path, PathBuf};

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, Args, Command};
use flashscope_block::{Bytes, Io, Nanos};
use flashscope_command::bench::{BenchArgs, bench as measure, outcome};
use flashscope_command::compare::CompareArgs;
use flashscope_command::drives::{self, Purpose};
use flashscope_command::import::ImportArgs;
use flashscope_command::predict::{PredictArgs, predict as foretell};
use flashscope_command::probe::{ProbeArgs, outcome as probed_well, probe as investigate};
use flashscope_command::query::QueryArgs;
use flashscope_command::simulate::{Each, SimulateArgs, simulate as run};
use flashscope_command::sweep::SweepArgs;
use flashscope_command::trace::collection::CollectionArgs;
#[cfg(target_os = "linux")]
use flashscope_command::verify::VerifyArgs;
use flashscope_command::what_if::WhatIfArgs;
use flashscope_command::{Failure, Progress, twin, usage};
use flashscope_document::SimulationStatus;
use flashscope_document::manifest::Status;
use flashscope_document::probe::ProbeStatus;
use flashscope_measure::fresh_seed;
use flashscope_result::collection::{is_collection, read_collection};
use flashscope_result::sweep::{is_sweep, read_sweep};
use flashscope_result::what_if::{is_what_if, read_what_if};
use flashscope_result::{ResultFolder, is_probe, is_simulation, read_probe, read_simulation, rows};
use flashscope_sim::setup;
use flashscope_workload::Stream;
use flashscope_workload::synthetic::{self, Ios, Target};
use pyo3::prelude::*;

use crate::columns::{Growing, IoColumns, Records, Sample, Samples};
use crate::error::raised;
use crate::options::parse;
use crate::table::Table;
use crate::watched::watched;

/// Measures a drive. Returns the folder of the result, and true if Ctrl-C stopped it.
#[pyfunction]
pub(crate) fn bench(
    py: Python<'_>,
    words: Vec<String>,
    progress: &Bound<'_, PyAny>,
    note: &Bound<'_, PyAny>,
) -> PyResult<(String, bool)> {
    let args: BenchArgs = parse("bench", words)?;
    watched(py, progress, note, |stop, sink| {
        let benched = measure(&args, stop, sink)?;
        if benched.manifest.status != Status::Interrupted {
            note_failure(outcome(&benched.folder, &benched.manifest), sink);
        }
        Ok(benched.folder.path().display().to_string())
    })
}

/// Simulates a workload. Returns JSON that follows docs/schemas/simulation.schema.json, each
/// measured IO if `records` is set, and true if Ctrl-C stopped it.
#[pyfunction]
pub(crate) fn simulate(
    py: Python<'_>,
    words: Vec<String>,
    records: bool,
    progress: &Bound<'_, PyAny>,
    note: &Bound<'_, PyAny>,
) -> PyResult<((String, Option<Table>), bool)> {
    let args: SimulateArgs = parse("simulate", words)?;
    watched(py, progress, note, |stop, sink| {
        let mut table = records.then(Growing::<Samples>::new);
        let mut each = table.as_mut().map(|table| {
            |io: &Io, answered: Nanos, latency: Nanos| {
                let (op, offset, len) = (io.op, io.offset, io.len);
                table.push(&Sample { op, offset, len, answered, latency });
            }
        });
        let each = each.as_mut().map(|each| each as &mut Each<'_>);
        let done = run(&args, stop, sink, each)?;
        let json = serde_json::to_string(&done.simulation)?;
        if done.simulation.status != SimulationStatus::Interrupted {
            note_failure(done.outcome(), sink);
        }
        let table = table.map(|table| table.finish(|_| Vec::new())).transpose()?;
        Ok((json, table))
    })
}

/// Reports a failure as a note, because a part of the result exists.
fn note_failure(outcome: Result<(), Failure>, sink: &mut dyn Progress) {
    if let Err(failure) = outcome {
        sink.note(&failure.message());
    }
}

/// Probes a drive. Returns the folder of the result, and true if Ctrl-C stopped it.
#[pyfunction]
pub(crate) fn probe(
    py: Python<'_>,
    words: Vec<String>,
    progress: &Bound<'_, PyAny>,
    note: &Bound<'_, PyAny>,
) -> PyResult<(String, bool)> {
    let args: ProbeArgs = parse("probe", words)?;
    watched(py, progress, note, |stop, sink| {
        let probed = investigate(&args, stop, sink)?;
        if probed.report.status != ProbeStatus::Interrupted {
            note_failure(probed_well(&probed.report), sink);
        }
        Ok(probed.folder.path().display().to_string())
    })
}

/// Predicts a workload. Returns JSON that follows docs/schemas/prediction.schema.json, and true if
/// Ctrl-C stopped it.
#[pyfunction]
pub(crate) fn predict(
    py: Python<'_>,
    words: Vec<String>,
    progress: &Bound<'_, PyAny>,
    note: &Bound<'_, PyAny>,
) -> PyResult<(String, bool)> {
    let args: PredictArgs = parse("predict", words)?;
    watched(py, progress, note, |stop, sink| {
        Ok(serde_json::to_string(&foretell(&args, stop, sink)?)?)
    })
}

/// Returns the name of the document in a result folder: `manifest`, `probe`, `simulation`, `sweep`,
/// `what-if` or `collection`. Raises `UsageError` if this version cannot read it.
#[pyfunction]
pub(crate) fn open(path: &str) -> PyResult<&'static str> {
    let path = Path::new(path);
    let look = || -> Result<_, Failure> {
        if is_probe(path) {
            return read_probe(path).map(|_| "probe").map_err(usage);
        }
        if is_simulation(path) {
            return read_simulation(path).map(|_| "simulation").map_err(usage);
        }
        if is_sweep(path) {
            return read_sweep(path).map(|_| "sweep").map_err(usage);
        }
        if is_what_if(path) {
            return read_what_if(path).map(|_| "what-if").map_err(usage);
        }
        if is_collection(path) {
            return read_collection(path).map(|_| "collection").map_err(usage);
        }
        ResultFolder::open(path).map(|_| "manifest").map_err(usage)
    };
    look().map_err(|failure| raised(&failure))
}

/// Returns every IO of a run of a measurement or a probe, in the order of completion.
#[pyfunction]
pub(crate) fn records(py: Python<'_>, folder: &str, run: u32) -> PyResult<Table> {
    let read = || -> Result<Table, Failure> {
        let mut table = Growing::<Records>::new();
        rows(Path::new(folder), run)?.for_each(|record| table.push(record))?;
        Ok(table.finish(|_| Vec::new())?)
    };
    py.detach(read).map_err(|failure| raised(&failure))
}

/// Returns the properties of a drive as JSON, the `device` of a manifest. Opens the drive for
/// reading only.
#[pyfunction]
pub(crate) fn info(py: Python<'_>, drive: &str) -> PyResult<String> {
    let look = || -> Result<String, Failure> {
        if let Some(path) = drives::file_to_create(drive) {
            let path = path.display();
            return Err(usage(anyhow::anyhow!(
                "{path} is not there yet: a measurement creates it"
            )));
        }
        let purpose = Purpose {
            queue_depth: 1,
            max_io: Bytes::MIB,
            seed: fresh_seed(),
            ..Purpose::default()
        };
        Ok(serde_json::to_string(drives::open(drive, &purpose)?.info())?)
    };
    py.detach(look).map_err(|failure| raised(&failure))
}

/// Returns the first `count` IOs that a workload issues to a drive that completes each IO at once.
#[pyfunction]
pub(crate) fn ios(
    py: Python<'_>,
    workload: &str,
    capacity: u64,
    logical_block: u64,
    seed: u64,
    count: usize,
) -> PyResult<Table> {
    let (capacity, logical_block) = (Bytes(capacity), Bytes(logical_block));
    let draw = || -> Result<Table, Failure> {
        let target = Target { capacity, logical_block, filled: true, seed };
        let mut table = Growing::<IoColumns>::new();
        let mut left = count;
        let mut issue = |stream: &mut dyn Stream| {
            while left > 0
                && let Some(io) = stream.next(Nanos(0))
            {
                table.push(&io);
                left -= 1;
            }
        };
        match flashscope_trace::open_workload(workload, &target).map_err(usage)?.ios {
            Ios::Endless(mut generator) => issue(&mut generator),
            Ios::Application(mut application) => issue(&mut application),
            Ios::Trace(playback) => issue(&mut flashscope_trace::replay(&playback)?),
            Ios::Runs(runs) => {
                for mut stream in runs
                    .iter()
                    .map(flashscope_trace::streams)
                    .collect::<Result<Vec<_>, _>>()?
                    .into_iter()
                    .flatten()
                {
                    issue(&mut stream);
                }
            }
        }
        Ok(table.finish(|_| Vec::new())?)
    };
    py.detach(draw).map_err(|failure| raised(&failure))
}

/// Returns the name, the summary and the source of all `drives` or `workloads`.
#[pyfunction]
pub(crate) fn kinds(of: &str) -> Vec<(&'static str, &'static str, &'static str)> {
    match of {
        "drives" => {
            setup::KINDS.iter().map(|kind| (kind.name, kind.summary, kind.source)).collect()
        }
        _ => synthetic::KINDS.iter().map(|kind| (kind.name, kind.summary, kind.source)).collect(),
    }
}

/// Returns the options of a command: their names as keywords, the types of their values, and their
/// help texts.
#[pyfunction]
pub(crate) fn options(command: &str) -> Vec<(String, String, String)> {
    let options = match command {
        "bench" => BenchArgs::augment_args(Command::new("bench")),
        "simulate" => SimulateArgs::augment_args(Command::new("simulate")),
        "probe" => ProbeArgs::augment_args(Command::new("probe")),
        "sweep" => SweepArgs::augment_args(Command::new("sweep")),
        "twin fit" => twin::FitArgs::augment_args(Command::new("fit")),
        "twin check" => twin::CheckArgs::augment_args(Command::new("check")),
        "twin predict" => twin::PredictArgs::augment_args(Command::new("predict")),
        "compare" => CompareArgs::augment_args(Command::new("compare")),
        "query" => QueryArgs::augment_args(Command::new("query")),
        "import" => ImportArgs::augment_args(Command::new("import")),
        "trace collection" => CollectionArgs::augment_args(Command::new("collection")),
        #[cfg(target_os = "linux")]
        "verify" => VerifyArgs::augment_args(Command::new("verify")),
        "what-if" => WhatIfArgs::augment_args(Command::new("what-if")),
        _ => PredictArgs::augment_args(Command::new("predict")),
    };
    let told = |arg: &Arg| {
        let name = arg.get_long()?.replace('-', "_");
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        Some((name, kind(arg), help))
    };
    options.get_arguments().filter_map(told).collect()
}

/// Returns the Python type of an option's value, in the names of `python/tools/generate.py`.
fn kind(arg: &Arg) -> String {
    if matches!(arg.get_action(), ArgAction::SetTrue) {
        return "bool".into();
    }
    let parsed = arg.get_value_parser().type_id();
    let is = |parser: ValueParser| parser.type_id() == parsed;
    let names: Vec<_> = arg.get_possible_values();
    let one = match () {
        () if !names.is_empty() => {
            let names = names.iter().map(|value| format!("{:?}", value.get_name()));
            format!("Literal[{}]", names.collect::<Vec<_>>().join(", "))
        }
        () if is(clap::value_parser!(u32).into()) || is(clap::value_parser!(u64).into()) => {
            "int".into()
        }
        () if is(clap::value_parser!(usize).into()) => "int".into(),
        () if is(clap::value_parser!(f64).into()) => "Share".into(),
        () if is(clap::value_parser!(Bytes).into()) => "Size".into(),
        () if is(clap::value_parser!(Nanos).into()) => "Time".into(),
        () if is(clap::value_parser!(PathBuf)) => "Path".into(),
        // Most other values are names; some may be a number or a name.
        () => "str | int".into(),
    };
    match arg.get_value_delimiter() {
        Some(_) => format!("Sequence[{one}]"),
        None => one,
    }
}
