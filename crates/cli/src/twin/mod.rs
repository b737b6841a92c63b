//! `flashscope twin`.

mod args;
mod text;

use std::io::Write;
use std::path::Path;

use anyhow::anyhow;
use flashscope_instrument::{Onlooker, Step, Unit, simulate};
use flashscope_twin::fit::{Check, FitError, How, Sources, Twin};
use flashscope_twin::simulate::Work;

pub use args::TwinArgs;
use args::{CheckArgs, FitArgs, PredictArgs, TwinCommand};

use crate::progress::LateBar;
use crate::{Failure, stop, usage};

pub fn twin(args: &TwinArgs) -> Result<(), Failure> {
    match &args.command {
        TwinCommand::Fit(args) => fit(args),
        TwinCommand::Check(args) => check(args),
        TwinCommand::Predict(args) => predict(args),
    }
}

/// What the results say is a matter of who gave them; that a file cannot be written is not.
fn failure(error: FitError) -> Failure {
    match error {
        FitError::Interrupted => Failure::Failed(anyhow!("interrupted: nothing was written")),
        FitError::Simulate(error) => simulate::failure(error),
        error => usage(error),
    }
}

fn jobs(asked: Option<u16>) -> usize {
    let all = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    asked.map_or_else(all, usize::from)
}

fn fit(args: &FitArgs) -> Result<(), Failure> {
    for path in [args.output.clone(), Twin::path_beside(&args.output)] {
        if path.exists() {
            let path = path.display();
            return Err(usage(anyhow!(
                "--output: {path} exists already: choose another name, or remove it"
            )));
        }
    }
    if args.output.extension().is_none_or(|extension| extension != "toml") {
        let path = args.output.display();
        return Err(usage(anyhow!("--output: {path} is to end in .toml, so that sim: opens it")));
    }
    let sources = Sources::read(&args.results).map_err(failure)?;
    let (stop, mut bar, mut steps) = (stop::flag()?, LateBar::new(), 0);
    let how = How { seed: args.seed, confidence: args.confidence, threads: jobs(args.jobs) };
    let twin = sources.fit(how, stop, &mut |what, misfit| {
        steps += 1;
        let now = format!("{what} fitted, misfit {misfit:.3}: steps");
        Onlooker::show(
            &mut bar,
            &Step { phase: "fitting", now: &now, done: steps, total: None, unit: Unit::Count },
        );
    });
    bar.finish();
    let twin = twin.map_err(failure)?;
    twin.write(&args.output)?;
    let mut out = std::io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &twin)?;
        writeln!(out)?;
        return Ok(());
    }
    write!(out, "{}", text::twin(&twin))?;
    let (path, spec) = (args.output.display(), spec(&args.output));
    writeln!(out, "\nprofile: {path}\nrun it: flashscope simulate --drive {spec}")?;
    Ok(())
}

/// What `--drive` takes for the profile at `path`.
fn spec(path: &Path) -> String {
    let place = if path.is_absolute() { "" } else { "./" };
    format!("sim:{place}{}", path.display())
}

fn check(args: &CheckArgs) -> Result<(), Failure> {
    let twin = Twin::read(&args.twin).map_err(failure)?;
    let sources = Sources::read(&args.results).map_err(failure)?;
    let checked = Check::new(&twin, &sources, stop::flag()?, jobs(args.jobs)).map_err(failure)?;
    let mut out = std::io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &checked)?;
        writeln!(out)?;
        return Ok(());
    }
    write!(out, "{}", text::check(&checked))?;
    Ok(())
}

fn predict(args: &PredictArgs) -> Result<(), Failure> {
    let twin = Twin::read(&args.twin).map_err(failure)?;
    let work = Work {
        workload: args.workload.spec().into_owned(),
        warm_up: args.warmup,
        ios: args.ios,
        queue_depth: args.queue_depth,
        seed: args.seed,
        ..Work::default()
    };
    let predicted = twin.predict(&work, args.draws, stop::flag()?, jobs(args.jobs));
    let predicted = predicted.map_err(failure)?;
    let mut out = std::io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &predicted)?;
        writeln!(out)?;
        return Ok(());
    }
    write!(out, "{}", text::prediction(&predicted))?;
    Ok(())
}
