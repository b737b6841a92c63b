use std::cmp::Reverse;
use std::ops::Range;

use flashscope_block::Nanos;
use flashscope_result::activity::Activity;
use flashscope_result::{Error, ResultFolder};

/// Maximum number of activities to return at once.
const MAX_ACTIVITIES: usize = 1000;

/// Returns the internal activities of the drive at any time in `window` of run `run`, in the order
/// of their start; if there are too many, only the longest.
pub(super) fn activities(
    folder: &ResultFolder,
    run: u32,
    window: Range<Nanos>,
) -> Result<Vec<Activity>, Error> {
    let mut activities = folder.activities(run, window)?.items;
    if activities.len() > MAX_ACTIVITIES {
        let length = |activity: &Activity| activity.end_ns.0.saturating_sub(activity.start_ns.0);
        activities.sort_by_key(|activity| Reverse(length(activity)));
        activities.truncate(MAX_ACTIVITIES);
    }
    activities.sort_by_key(|activity| activity.start_ns);
    Ok(activities)
}
