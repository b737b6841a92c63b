//! `flashscope sweep`.

mod args;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use flashscope_result::Error;
use flashscope_result::sweep::{Row, Sweep, SweepFolder, SweepStatus};
use flashscope_twin::sweep::{Runner, Sampling, Space, explore, finish};

pub use self::args::SweepArgs;
use crate::progress::LateBar;
use crate::{Failure, print, stop, usage};

/// A sweep that can begin, or go on.
struct Begun {
    space: Space,
    path: PathBuf,
    folder: SweepFolder,
    rows: Vec<Row>,
}

pub fn sweep(args: &SweepArgs) -> Result<(), Failure> {
    let Begun { space, path, mut folder, rows } = match (&args.resume, &args.space) {
        (Some(path), _) => resume(path)?,
        (None, Some(space)) => begin(space, args.output.as_deref())?,
        (None, None) => return Err(usage(anyhow!("name a space, or a sweep to --resume"))),
    };
    let stop = stop::flag()?;
    let names: Vec<String> = space.names().into_iter().map(String::from).collect();
    let total = asked(&space);
    let mut bar = LateBar::new();
    let mut told = |done: u64| bar.show("simulating points", done, Some(total));
    let mut runner =
        Runner::new(args.jobs.count(), stop, &mut told).keeping(&mut folder, names, rows);
    let explored = explore(&space, &mut |trials| runner.run(trials));
    let so_far = runner.finish()?;
    bar.finish();
    let (sweep, complete) = match &explored {
        Some(rows) => (finish(&space, rows, SweepStatus::Complete), true),
        None => (finish(&space, &so_far, SweepStatus::Unfinished), false),
    };
    match &explored {
        Some(rows) => folder.finish(&sweep, rows)?,
        None => folder.write(&sweep)?,
    }
    print(args, &sweep, &path)?;
    if !complete {
        let (done, path) = (so_far.len(), path.display());
        return Err(Failure::Failed(anyhow!(
            "interrupted: {done} of {total} simulations are kept; go on with `flashscope sweep \
             --resume {path}`"
        )));
    }
    nothing_possible(&sweep).map_or(Ok(()), |error| Err(usage(error)))
}

fn begin(space: &Path, output: Option<&Path>) -> Result<Begun, Failure> {
    let text = fs::read_to_string(space);
    let text = text.with_context(|| format!("cannot read {}", space.display())).map_err(usage)?;
    let named = |error| usage(anyhow::Error::new(error).context(space.display().to_string()));
    let parsed = Space::parse(&text).map_err(named)?;
    let stem = PathBuf::from(space.file_stem().unwrap_or(space.as_os_str()));
    let path = output.map_or_else(|| stem.with_extension("flashscope"), Path::to_path_buf);
    let nothing = finish(&parsed, &[], SweepStatus::Unfinished);
    let folder = SweepFolder::create(&path, &nothing).map_err(|error| match error {
        Error::Exists(_) => usage(error),
        error => Failure::Failed(error.into()),
    })?;
    Ok(Begun { space: parsed, path, folder, rows: Vec::new() })
}

fn resume(path: &Path) -> Result<Begun, Failure> {
    let (folder, sweep, rows) = SweepFolder::resume(path).map_err(usage)?;
    let space = Space::parse(&sweep.space).map_err(usage)?;
    Ok(Begun { space, path: path.into(), folder, rows })
}

/// How many simulations there are, of a search at most.
fn asked(space: &Space) -> u64 {
    match space.sampling {
        Sampling::Search => u64::from(space.samples) * u64::from(space.repeats),
        _ => space.trials().len() as u64,
    }
}

/// What to say of a space that has no point which can be.
fn nothing_possible(sweep: &Sweep) -> Option<anyhow::Error> {
    let first = sweep.skipped.first().filter(|_| sweep.counts.done == 0)?;
    let points = sweep.counts.points;
    Some(anyhow!("none of the {points} points can be simulated; the first: {}", first.reason))
}

fn print(args: &SweepArgs, sweep: &Sweep, path: &Path) -> anyhow::Result<()> {
    print::document(args.json, sweep, || flashscope_report::sweep(sweep) + &print::result(path))
}
