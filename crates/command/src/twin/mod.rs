//! `flashscope twin`: fits a simulated drive to a measured one.

mod args;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use flashscope_analysis::conclusions::Conclude;
use flashscope_block::Bytes;
use flashscope_document::twin::{Check, Twin, TwinPrediction};
use flashscope_fit::{
    FitError, FitOptions, PredictionOptions, Sources, read_twin, scaled_fields, write_twin,
};
use flashscope_result::prediction::PredictionFolder;
use flashscope_result::twin::twin_path;
use flashscope_simulate::Resources;

pub use self::args::{CheckArgs, FitArgs, PredictArgs, TwinArgs, TwinCommand};
use crate::options::{JobsArgs, MemoryArgs};
use crate::{Failure, Progress, interrupted, not_made, simulate, usage};

/// Fits a twin and writes its files.
///
/// # Errors
/// If the results do not allow a fit, the files cannot be written, or `stop` was set first.
pub fn fit(args: &FitArgs, stop: &AtomicBool, sink: &mut dyn Progress) -> Result<Twin, Failure> {
    check_output(&args.output)?;
    let sources = Sources::read(&args.results).map_err(failure)?;
    let work = sources.measured.iter().map(|one| one.min_work().0);
    if let Some(note) = takes_long(Bytes(work.fold(0, u64::saturating_add))) {
        sink.note(&note);
    }
    let options = FitOptions {
        seed: args.seed.value,
        confidence: args.confidence.level,
        sample: args.sample,
        queue_depth: args.queue_depth,
    };
    let resources = resources(&args.jobs, &args.memory, stop);
    let twin = sources.fit(options, &resources, sink);
    let twin = twin.map_err(failure)?.with_conclusions();
    write_twin(&twin, &args.output)?;
    Ok(twin)
}

/// The work of a simulation above which a note is shown, because each simulation takes several
/// seconds.
const LONG: Bytes = Bytes::gib(64);

/// Returns a note for the user if each simulation of a fit is slow.
fn takes_long(work: Bytes) -> Option<String> {
    (work > LONG).then(|| {
        format!(
            "a fit runs hundreds of simulations, each of which reads and writes {work} (several seconds per {LONG}): to get a twin \
             within minutes, measure a part of the drive with `flashscope bench --target-size 4GiB`"
        )
    })
}

/// Fails if an output file exists already, or is not a .toml file. The check comes before the fit,
/// which may take minutes.
fn check_output(output: &Path) -> Result<(), Failure> {
    for path in [output, &twin_path(output)] {
        if path.exists() {
            let path = path.display();
            return Err(usage(anyhow!(
                "--output: {path} exists already: choose another name, or remove it"
            )));
        }
    }
    if output.extension().is_none_or(|extension| extension != "toml") {
        let path = output.display();
        return Err(usage(anyhow!("--output: {path} must end in .toml, so that sim: opens it")));
    }
    Ok(())
}

/// Reads the twin that belongs to the profile at `path`.
///
/// # Errors
/// If it is missing, is damaged or has a later version.
pub fn read(path: &Path) -> Result<Twin, Failure> {
    read_twin(path).map_err(failure)
}

/// Returns the fields after the `?` of a drive that scale a large twin down for a simulation, and
/// the factor. Returns `None` if the drive can be simulated at full size.
///
/// # Errors
/// If the profile is invalid.
pub fn scaled(twin: &Twin) -> Result<Option<(String, f64)>, Failure> {
    scaled_fields(twin).map_err(failure)
}

/// Compares a twin with results that it was not fitted to.
///
/// # Errors
/// If the results cannot be compared with the twin, or `stop` was set first.
pub fn check(
    args: &CheckArgs,
    stop: &AtomicBool,
    sink: &mut dyn Progress,
) -> Result<Check, Failure> {
    let twin = read(&args.twin)?;
    let sources = Sources::read(&args.results).map_err(failure)?;
    let resources = resources(&args.jobs, &args.memory, stop);
    flashscope_fit::check(&twin, &sources, &resources, sink).map_err(failure)
}

/// Predicts the performance of a workload on a drive, by its twin.
///
/// # Errors
/// If the request cannot be predicted, or `stop` was set first.
pub fn predict(
    args: &PredictArgs,
    stop: &AtomicBool,
    sink: &mut dyn Progress,
) -> Result<TwinPrediction, Failure> {
    let twin = read(&args.twin)?;
    let folder = args.output.folder.as_deref();
    let folder = folder.map(|path| PredictionFolder::create(path).map_err(not_made)).transpose()?;
    let work = args.load.work();
    let resources = resources(&args.jobs, &args.memory, stop);
    let options = PredictionOptions { draws: args.draws, filled: args.filled };
    let prediction = flashscope_fit::predict(&twin, &work, options, &resources, sink);
    let prediction = prediction.map_err(failure)?.with_conclusions();
    folder.map_or(Ok(()), |mut folder| folder.write(&prediction))?;
    Ok(prediction)
}

fn resources<'a>(jobs: &JobsArgs, memory: &MemoryArgs, stop: &'a AtomicBool) -> Resources<'a> {
    Resources { jobs: jobs.count(), memory: memory.budget(), stop }
}

/// Converts the error of a fit. Unsuitable results are a usage error; a failed simulation keeps its
/// own class.
fn failure(error: FitError) -> Failure {
    match error {
        FitError::Interrupted => interrupted("nothing was written"),
        FitError::Simulate(error) => simulate::failure(error),
        error => usage(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_fits_get_a_note_with_advice() {
        assert_eq!(takes_long(LONG), None);
        let note = takes_long(Bytes::gib(512)).unwrap();
        assert!(note.contains("512 GiB") && note.contains("--target-size"), "{note}");
    }
}
