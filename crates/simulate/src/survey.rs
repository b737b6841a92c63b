//! Reads a trace before it is simulated.

use std::sync::atomic::AtomicBool;

use flashscope_measure::{Step, Unit};
use flashscope_trace::Survey;
use flashscope_workload::playback::Playback;

use super::{Error, Hooks};

/// Reads a trace once, to determine its length and the space that it needs.
pub(crate) fn survey(
    playback: &Playback,
    stop: &AtomicBool,
    hooks: &mut dyn Hooks,
) -> Result<Survey, Error> {
    let survey = flashscope_trace::survey(playback, stop, |read| {
        hooks.show(&Step::of("reading the trace", read.done(), read.total(), Unit::Bytes));
    })?;
    let survey = survey.ok_or(Error::Interrupted)?;
    survey.notes.iter().for_each(|note| hooks.note(note));
    Ok(survey)
}
