//! Looks up fields of drives and workloads by name, and changes them in a request.

use flashscope_workload::synthetic;

use super::SpaceError;
use crate::SimulationRequest;

const DRIVE: &str = "drive";
const WORKLOAD: &str = "workload";
/// The prefix of the names of workload fields.
const OF_WORKLOAD: &str = "workload.";

/// Returns true for the names `drive` and `workload`, which replace a drive or a workload as a
/// whole.
pub(crate) fn is_whole(name: &str) -> bool {
    name == DRIVE || name == WORKLOAD
}

/// Checks that a request can set the field `name`: a profile field by its dotted name, a workload
/// field as `workload.FIELD`, or `drive` or `workload` as a whole. `place` names the part of the
/// document, for the error.
///
/// # Errors
/// [`SpaceError::Unknown`], with the nearest known name.
pub(crate) fn known(place: &'static str, name: &str) -> Result<(), SpaceError> {
    let fields = synthetic::KINDS.iter().flat_map(|kind| kind.all_fields());
    let workload = fields.map(|field| format!("{OF_WORKLOAD}{}", field.name));
    let whole = [DRIVE, WORKLOAD].map(String::from);
    let names: Vec<String> =
        flashscope_sim::setup::field_names().iter().cloned().chain(workload).chain(whole).collect();
    match names.iter().any(|known| known == name) {
        true => Ok(()),
        false => Err(SpaceError::unknown(place, name, names.iter().map(String::as_str))),
    }
}

/// Returns a copy of a request with the settings applied. Their names must be [known]. If a name
/// occurs more than once, its last setting counts.
#[must_use]
pub(crate) fn set(base: &SimulationRequest, settings: &[(&str, String)]) -> SimulationRequest {
    let mut request = base.clone();
    for (name, value) in settings {
        match *name {
            DRIVE => request.drive.clone_from(value),
            WORKLOAD => request.work.workload.clone_from(value),
            _ => {}
        }
    }
    for (name, value) in settings.iter().filter(|(name, _)| !is_whole(name)) {
        let (spec, field) = match name.strip_prefix(OF_WORKLOAD) {
            Some(field) => (&mut request.work.workload, field),
            None => (&mut request.drive, *name),
        };
        let sign = if spec.contains('?') { '&' } else { '?' };
        *spec += &format!("{sign}{field}={value}");
    }
    request
}
