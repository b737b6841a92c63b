//! `flashscope bench`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Context, anyhow};
use flashscope_analysis::{Facts, analyse};
use flashscope_block::Device;
use flashscope_drive::Clock;
use flashscope_measure::{Bench, Surroundings, fresh_seed, machine, plan, timestamp, trace_plan};
use flashscope_report::{Summary, terminal};
use flashscope_result::ResultFolder;
use flashscope_result::manifest::{
    Calibration, Manifest, MicroBenchmark, Options, Progress, SCHEMA_VERSION, State, Status, Tool,
};
use flashscope_workload::state::LARGEST_FILL_IO;
use flashscope_workload::uflip::{Setup, needs};

use crate::args::BenchArgs;
use crate::drives::{self, Purpose};
use crate::progress::Bar;
use crate::trace::{Benched, LONGEST_IO};
use crate::{Failure, names, resume, stop, usage};

pub fn bench(args: &BenchArgs) -> Result<(), Failure> {
    match (&args.resume, &args.drive) {
        (Some(path), _) => resume::resume(path, args),
        (None, Some(drive)) => begin(drive, args),
        (None, None) => Err(usage(anyhow!("name a drive, or a result to --resume"))),
    }
}

fn begin(drive: &str, args: &BenchArgs) -> Result<(), Failure> {
    let benchmarks = names::micro_benchmarks(&args.only).map_err(usage)?;
    let output = args.output.clone().unwrap_or_else(|| default_output(drive));
    if output.exists() {
        return Err(usage(flashscope_result::Error::Exists(output)));
    }
    let trace = args.trace.as_deref().map(Benched::parse).transpose()?;
    let needs = needs(&benchmarks, args.io_size);
    let (queue_depth, max_io) = match &trace {
        Some(trace) => (trace.queue_depth, LONGEST_IO),
        None => (needs.streams.into(), needs.io),
    };
    let purpose = Purpose {
        write: !args.read_only,
        confirmation: args.destroy_data_on.clone(),
        queue_depth,
        max_io: max_io.max(LARGEST_FILL_IO),
        seed: fresh_seed(),
    };
    // From here on something may be left behind: an interruption ends in an orderly way.
    let stop = stop::flag()?;
    let new_file = drives::file_to_create(drive);
    let mut device = drives::open(drive, &purpose)?;
    let surroundings = drives::surroundings(drive);
    let environment = surroundings.as_ref().map(Surroundings::environment);
    let prepared = options(args, device.as_ref())
        .and_then(|options| {
            let info = device.info();
            let plan = match &trace {
                Some(trace) => trace_plan(trace.reference(info, args.read_only, stop)?),
                None => plan(&benchmarks, &options.setup, info, args.read_only),
            };
            manifest(device.as_ref(), plan, options)
        })
        .map(|manifest| Manifest { environment, ..manifest })
        .and_then(|manifest| Ok((create(&output, &manifest)?, manifest)));
    if let (Err(_), Some(path)) = (&prepared, new_file) {
        // What is refused leaves nothing behind.
        std::fs::remove_file(&path)
            .with_context(|| format!("cannot remove {} again", path.display()))?;
    }
    let (folder, mut manifest) = prepared?;
    let lock = folder.lock()?;
    let facts = measure(device.as_mut(), &mut manifest, &folder, stop, surroundings.as_ref())?;
    drop(lock);
    print(args.json, &folder, &manifest, &facts)?;
    outcome(&manifest)
}

/// Executes the plan of `manifest` on `device` until `stop` is set, and finds the facts.
pub fn measure(
    device: &mut dyn Device,
    manifest: &mut Manifest,
    folder: &ResultFolder,
    stop: &AtomicBool,
    surroundings: Option<&Surroundings>,
) -> Result<Facts, Failure> {
    let resumed = !manifest.resumed.is_empty();
    let forgot = resumed && resume::forgets(device.info());
    let mut observer = Bar::new(manifest, forgot);
    let observer = &mut observer;
    let bench = Bench { device, folder, manifest, forgot, stop, observer, surroundings }.run();
    observer.finish();
    bench.with_context(|| format!("what was measured is in {}", folder.path().display()))?;
    let facts = analyse(folder, manifest)?;
    folder.write_facts(&facts)?;
    Ok(facts)
}

/// Makes the folder of a result; that something is there already is a matter of usage.
pub fn create(output: &Path, manifest: &Manifest) -> Result<ResultFolder, Failure> {
    ResultFolder::create(output, manifest).map_err(|error| match error {
        flashscope_result::Error::Exists(_) => usage(error),
        error => Failure::from(error),
    })
}

fn options(args: &BenchArgs, device: &dyn Device) -> Result<Options, Failure> {
    let target_size =
        drives::check_target(device, args.io_size, args.target_offset, args.target_size);
    let setup = Setup {
        io_size: args.io_size,
        target_offset: args.target_offset,
        target_size: target_size.map_err(usage)?,
        io_count: args.io_count,
        io_ignore: args.io_ignore,
        preparation_io_count: args.preparation_io_count,
        burst_pause: args.burst_pause,
        seed: args.seed,
    };
    let state = match (args.state.map(State::from), args.read_only) {
        (None | Some(State::Keep), true) | (Some(State::Keep), false) => State::Keep,
        (Some(state), false) => state,
        (None, false) => State::Random,
        (Some(_), true) => {
            return Err(usage(anyhow!("--state writes to the drive, and --read-only forbids it")));
        }
    };
    let (run_pause_ns, on_error) = (args.run_pause, args.on_error.into());
    Ok(Options { setup, state, run_pause_ns, on_error })
}

/// The manifest of what is about to be measured by a plan.
pub fn manifest(
    device: &dyn Device,
    plan: Vec<MicroBenchmark>,
    options: Options,
) -> Result<Manifest, Failure> {
    let calibration = Clock::new().calibrate();
    let manifest = Manifest {
        schema_version: SCHEMA_VERSION,
        tool: Tool {
            version: env!("CARGO_PKG_VERSION").into(),
            commit: option_env!("FLASHSCOPE_COMMIT").map(str::to_string),
        },
        machine: machine::describe(),
        environment: None,
        device: device.info().clone(),
        calibration: Calibration {
            clock_resolution_ns: calibration.clock_resolution,
            clock_cost_ns: calibration.clock_cost,
        },
        micro_benchmarks: plan,
        options,
        started: timestamp(),
        resumed: Vec::new(),
        finished: None,
        status: Status::Running,
    };
    let skipped = manifest.runs().find_map(|run| match &run.progress {
        Progress::Skipped { reason } => Some(reason),
        _ => None,
    });
    let nothing = manifest.runs().all(|run| run.progress != Progress::Pending);
    match skipped.filter(|_| nothing) {
        Some(reason) => {
            let name = &device.info().name;
            Err(usage(anyhow!(
                "nothing can be run on `{name}`; the reason for the first run: {reason}"
            )))
        }
        None => Ok(manifest),
    }
}

pub fn print(
    json: bool,
    folder: &ResultFolder,
    manifest: &Manifest,
    facts: &Facts,
) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if json {
        let result = folder.path().display().to_string();
        let summary = Summary { result, manifest: manifest.clone(), facts: facts.clone() };
        serde_json::to_writer_pretty(&mut out, &summary)?;
        writeln!(out)?;
    } else {
        let path = folder.path().display();
        write!(out, "{}", terminal(manifest, facts))?;
        writeln!(out, "\nresult: {path}\nsee it: flashscope report {path}")?;
    }
    Ok(())
}

pub fn outcome(manifest: &Manifest) -> Result<(), Failure> {
    let failed = manifest.runs().filter(|run| matches!(run.progress, Progress::Failed { .. }));
    match (manifest.status, failed.count()) {
        (Status::Interrupted, _) => Err(Failure::Failed(anyhow!("interrupted"))),
        (_, 1..) => Err(Failure::Failed(anyhow!("IO errors ended some runs, see above"))),
        _ => Ok(()),
    }
}

/// A name from the drive and the time, such as `sim-demo-20260102-030405.flashscope`.
fn default_output(drive: &str) -> PathBuf {
    let name = drive.split('?').next().unwrap_or(drive);
    let words: Vec<&str> =
        name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let time: String = timestamp().chars().filter(char::is_ascii_digit).collect();
    let (day, second) = time.split_at_checked(8).unwrap_or((&time, ""));
    format!("{}-{day}-{second}.flashscope", words.join("-")).into()
}
