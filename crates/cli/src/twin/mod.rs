//! `flashscope twin`.

mod args;
mod text;

use std::path::Path;

use anyhow::anyhow;
use flashscope_instrument::{Onlooker, Step, Unit, simulate};
use flashscope_twin::fit::{Check, FitError, How, Sources, Twin};
use flashscope_twin::simulate::Work;

pub use args::TwinArgs;
use args::{CheckArgs, FitArgs, PredictArgs, TwinCommand};

use crate::progress::LateBar;
use crate::{Failure, print, stop, usage};

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
    let how = How { seed: args.seed, confidence: args.confidence, threads: args.jobs.count() };
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
    Ok(print::document(args.json, &twin, || {
        let (text, path, spec) = (text::twin(&twin), args.output.display(), spec(&args.output));
        format!("{text}\nprofile: {path}\nrun it: flashscope simulate --drive {spec}\n")
    })?)
}

/// What `--drive` takes for the profile at `path`.
fn spec(path: &Path) -> String {
    let place = if path.is_absolute() { "" } else { "./" };
    format!("sim:{place}{}", path.display())
}

fn check(args: &CheckArgs) -> Result<(), Failure> {
    let twin = Twin::read(&args.twin).map_err(failure)?;
    let sources = Sources::read(&args.results).map_err(failure)?;
    let checked = Check::new(&twin, &sources, stop::flag()?, args.jobs.count()).map_err(failure)?;
    Ok(print::document(args.json, &checked, || text::check(&checked))?)
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
    let predicted = twin.predict(&work, args.draws, stop::flag()?, args.jobs.count());
    let predicted = predicted.map_err(failure)?;
    Ok(print::document(args.json, &predicted, || text::prediction(&predicted))?)
}
