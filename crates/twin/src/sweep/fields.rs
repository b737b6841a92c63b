//! Fields of drives and workloads by name, and what is simulated with some of them set otherwise.

use flashscope_workload::{synthetic, trace};

use super::SpaceError;
use crate::simulate::Asked;

const DRIVE: &str = "drive";
const WORKLOAD: &str = "workload";
/// How the names of a workload's fields begin.
const OF_WORKLOAD: &str = "workload.";

/// Whether a name is of a drive or a workload as a whole.
pub fn is_whole(name: &str) -> bool {
    name == DRIVE || name == WORKLOAD
}

/// That a name is of something that can be set: a field of the profile by its dotted name, one of the
/// workload as `workload.FIELD`, or `drive` or `workload` as a whole. `place` says where it stands.
///
/// # Errors
/// [`SpaceError::Unknown`], with the nearest.
pub fn known(place: &'static str, name: &str) -> Result<(), SpaceError> {
    let fields = synthetic::KINDS.iter().flat_map(|kind| kind.all_fields()).chain(trace::FIELDS);
    let workload = fields.map(|field| format!("{OF_WORKLOAD}{}", field.name));
    let whole = [DRIVE, WORKLOAD].map(String::from);
    let names: Vec<String> = flashscope_sim::profile::field_names()
        .iter()
        .cloned()
        .chain(workload)
        .chain(whole)
        .collect();
    match names.iter().any(|known| known == name) {
        true => Ok(()),
        false => Err(SpaceError::unknown(place, name, names.iter().map(String::as_str))),
    }
}

/// What is asked for, with these fields, which are [known], set so; of those set twice the last counts.
#[must_use]
pub fn set(base: &Asked, settings: &[(&str, String)]) -> Asked {
    let mut asked = base.clone();
    for (name, value) in settings {
        match *name {
            DRIVE => asked.drive.clone_from(value),
            WORKLOAD => asked.work.workload.clone_from(value),
            _ => {}
        }
    }
    for (name, value) in settings.iter().filter(|(name, _)| !is_whole(name)) {
        let (spec, field) = match name.strip_prefix(OF_WORKLOAD) {
            Some(field) => (&mut asked.work.workload, field),
            None => (&mut asked.drive, *name),
        };
        let sign = if spec.contains('?') { '&' } else { '?' };
        *spec += &format!("{sign}{field}={value}");
    }
    asked
}
