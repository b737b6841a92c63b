//! `flashscope sweep`: simulates the points of a design space.

mod args;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use flashscope_analysis::conclusions::Conclude;
use flashscope_document::sweep::{Row, Sweep, SweepStatus};
use flashscope_result::sweep::SweepFolder;
use flashscope_simulate::Resources;
use flashscope_simulate::sweep::{Runner, Space, Workers, explore, finish};

pub use self::args::{Engine, SweepArgs};
use crate::{Failure, Progress, interrupted, not_made, usage};

/// A sweep that is ready to start or resume.
pub struct PreparedSweep {
    space: Space,
    path: PathBuf,
    folder: SweepFolder,
    rows: Vec<Row>,
}

/// The result of a sweep, complete or not.
pub struct SweepResult {
    /// The document; [`outcome`] reports whether the sweep is complete.
    pub sweep: Sweep,
    /// The folder, with the table of all rows.
    pub path: PathBuf,
}

impl PreparedSweep {
    /// Creates the folder of a new sweep, or opens the folder of a sweep to resume. `text` is the
    /// space itself, given instead of a file; `args.space` is then only its name.
    ///
    /// # Errors
    /// If the space is invalid, or the folder exists already or cannot be resumed.
    pub fn new(args: &SweepArgs, text: Option<&str>) -> Result<PreparedSweep, Failure> {
        match (&args.resume, &args.space) {
            (Some(path), _) => PreparedSweep::resume(path),
            (None, Some(space)) => PreparedSweep::begin(space, text, args.output.folder.as_deref()),
            (None, None) => Err(usage(anyhow!("name a space, or a sweep to --resume"))),
        }
    }

    fn begin(
        space: &Path,
        text: Option<&str>,
        output: Option<&Path>,
    ) -> Result<PreparedSweep, Failure> {
        let name = || space.display().to_string();
        let parsed = match text {
            Some(text) => Space::parse(text).map_err(usage)?,
            None => {
                let text = fs::read_to_string(space);
                let text = text.with_context(|| format!("cannot read {}", name()));
                let parsed = Space::parse(&text.map_err(usage)?);
                parsed.map_err(|error| usage(anyhow::Error::new(error).context(name())))?
            }
        };
        let stem = PathBuf::from(space.file_stem().unwrap_or(space.as_os_str()));
        let path = output.map_or_else(|| stem.with_extension("flashscope"), Path::to_path_buf);
        let empty = finish(&parsed, &[], SweepStatus::Unfinished);
        let folder = SweepFolder::create(&path, &empty).map_err(not_made)?;
        Ok(PreparedSweep { space: parsed, path, folder, rows: Vec::new() })
    }

    fn resume(path: &Path) -> Result<PreparedSweep, Failure> {
        let (folder, sweep, rows) = SweepFolder::resume(path).map_err(usage)?;
        let space = Space::parse(&sweep.space).map_err(usage)?;
        Ok(PreparedSweep { space, path: path.into(), folder, rows })
    }

    /// Simulates the remaining points and saves the rows. Simulations run on this machine, unless
    /// there are `workers`.
    ///
    /// If the simulations are stopped, the result has the rows so far.
    ///
    /// # Errors
    /// If rows cannot be saved. [`outcome`] reports remaining points, and a space without any
    /// possible point.
    pub fn explore(
        self,
        resources: Resources<'_>,
        workers: Option<&mut dyn Workers>,
        sink: &mut dyn Progress,
    ) -> Result<SweepResult, Failure> {
        let PreparedSweep { space, path, mut folder, rows } = self;
        let names: Vec<String> = space.names().into_iter().map(String::from).collect();
        let total = space.simulations();
        let mut runner = Runner::new(resources, sink)
            .expecting(total)
            .watching(space.objectives.first().map(|one| one.field.as_str()))
            .by(workers.map(|workers| workers as &mut dyn Workers))
            .keeping(&mut folder, names, rows);
        let explored = explore(&space, &mut |trials| runner.run(trials));
        let so_far = runner.finish()?;
        let sweep = match &explored {
            Some(rows) => finish(&space, rows, SweepStatus::Complete),
            None => finish(&space, &so_far, SweepStatus::Unfinished),
        }
        .with_conclusions();
        match &explored {
            Some(rows) => folder.finish(&sweep, rows)?,
            None => folder.write(&sweep)?,
        }
        Ok(SweepResult { sweep, path })
    }
}

/// Checks that all points were simulated.
///
/// # Errors
/// If the sweep was interrupted, or no point can be simulated.
pub fn outcome(SweepResult { sweep, path }: &SweepResult) -> Result<(), Failure> {
    let counts = sweep.counts;
    if sweep.status == SweepStatus::Unfinished {
        let (kept, path) = (counts.done + counts.impossible + counts.failed, path.display());
        return Err(interrupted(format_args!(
            "{kept} of {} simulations are kept; continue with `flashscope sweep --resume {path}`",
            counts.requested
        )));
    }
    match sweep.skipped.first().filter(|_| counts.done == 0) {
        Some(first) => Err(usage(anyhow!(
            "none of the {} points can be simulated; the error of the first: {}",
            counts.points,
            first.reason
        ))),
        None => Ok(()),
    }
}
