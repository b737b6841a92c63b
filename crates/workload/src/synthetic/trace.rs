use std::collections::BTreeMap;

use flashscope_block::Bytes;

use super::{Ios, Kind, QUEUE_DEPTH, Target, Values, WorkloadError, field};
use crate::playback::{FIELDS, Pace, Playback};

/// The requests of a trace, in its order.
pub(super) const KIND: Kind = Kind {
    name: "trace",
    argument: Some("FILE"),
    summary: "the requests of a trace, in any format that `flashscope trace formats` lists",
    source: "the system on which the trace was recorded",
    leaves_out: None,
    fields: &[
        field(
            "pace",
            Some("timed"),
            "`timed` issues requests at their recorded times, independent of the IOs in flight (an \
             open loop); `asap` issues each request as soon as an earlier one completes",
        ),
        QUEUE_DEPTH,
    ],
    common: FIELDS,
    open,
};

fn open(values: &Values, target: &Target) -> Result<Ios, WorkloadError> {
    let pace = match values.text("pace") {
        Some("asap") => Pace::Asap,
        Some("timed") | None => Pace::Timed,
        Some(_) => return Err(values.invalid("pace", "it must be `timed` or `asap`")),
    };
    let mut fields = BTreeMap::new();
    for field in FIELDS {
        if let Some(value) = values.given(field.name) {
            fields.insert(field.name.into(), value.into());
        }
    }
    if values.argument.is_empty() {
        return Err(WorkloadError::Trace("name the file: `trace:FILE`".into()));
    }
    Ok(Ios::Trace(Playback {
        files: vec![values.argument.into()],
        fields,
        pace,
        capacity: target.capacity,
        logical_block: target.logical_block,
        longest: Bytes::GIB,
    }))
}
