//! Checks that a plan or result is continued by the same program on the same drive.

use anyhow::anyhow;
use flashscope_block::DeviceInfo;
use flashscope_document::manifest::{Options, Progress, Run, State, Tool};
use flashscope_measure::fresh_seed;
use flashscope_workload::state::LARGEST_FILL_IO;

use crate::drives::Purpose;
use crate::{Failure, usage};

/// Fails if the plan or result is from another version of flashscope. `what` begins the message, as
/// in "the plan was made by".
pub(crate) fn check_tool(tool: &Tool, what: &str, advice: &str) -> Result<(), Failure> {
    let (then, now) = (&tool.version, env!("CARGO_PKG_VERSION"));
    if then != now {
        let reason = "a result must come from one version";
        return Err(usage(anyhow!(
            "{what} flashscope {then}, and this is {now}: {reason}; {advice}"
        )));
    }
    Ok(())
}

/// Returns the purpose for which runs open the drive.
pub(super) fn purpose(runs: &[&Run], options: &Options, confirmation: Option<String>) -> Purpose {
    let runs = || runs.iter().filter(|run| !matches!(run.progress, Progress::Skipped { .. }));
    let depth = |run: &&Run| run.reference.in_flight();
    let largest = runs().map(|run| run.reference.largest_io()).max().unwrap_or_default();
    let fills = options.state != State::Keep;
    Purpose {
        write: fills || runs().any(|run| run.reference.writes()),
        confirmation,
        queue_depth: runs().map(depth).max().unwrap_or(1),
        max_io: largest.max(LARGEST_FILL_IO),
        seed: fresh_seed(),
        ..Purpose::default()
    }
}

/// Fails if the drive is not the expected drive. `that` completes the message, as in "that was
/// measured".
pub(crate) fn check_drive(then: &DeviceInfo, now: &DeviceInfo, that: &str) -> Result<(), Failure> {
    let or_unknown = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".into());
    let properties = [
        ("capacity", then.capacity.to_string(), now.capacity.to_string()),
        ("logical block", then.logical_block.to_string(), now.logical_block.to_string()),
        ("model", or_unknown(&then.model), or_unknown(&now.model)),
        ("serial number", or_unknown(&then.serial), or_unknown(&now.serial)),
        ("firmware", or_unknown(&then.firmware), or_unknown(&now.firmware)),
        ("engine", or_unknown(&then.engine), or_unknown(&now.engine)),
    ];
    let changed = properties.iter().filter(|(_, then, now)| then != now);
    let changed: Vec<_> =
        changed.map(|(what, then, now)| format!("its {what} was {then} and is {now}")).collect();
    match changed.is_empty() {
        true => Ok(()),
        false => {
            Err(usage(anyhow!("`{}` is not the drive {that}: {}", now.name, changed.join("; "))))
        }
    }
}
