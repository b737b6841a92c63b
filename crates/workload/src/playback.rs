//! A trace as part of a workload: its files, fields and pacing. `flashscope-trace` reads and plays
//! it.

use std::collections::BTreeMap;

use flashscope_block::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::field::{Field, field};

/// The pacing of a trace's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// At the recorded times relative to the first request, independent of the IOs in flight: an
    /// open loop.
    Timed,
    /// Each when an earlier one completes: a closed loop.
    Asap,
}

/// A trace to replay on a drive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Playback {
    /// The files.
    pub files: Vec<String>,
    /// The reader's options and transforms: trace fields by name.
    pub fields: BTreeMap<String, String>,
    /// The pacing.
    pub pace: Pace,
    /// The capacity of the drive in bytes.
    #[serde(rename = "capacity_bytes")]
    pub capacity: Bytes,
    /// Offsets and lengths on the drive are multiples of this: reads and writes are widened to the
    /// blocks that they touch, trims narrowed to those that they cover.
    #[serde(rename = "logical_block_bytes")]
    pub logical_block: Bytes,
    /// A longer read or write is issued in parts of this, a longer trim in parts of 1 GiB.
    #[serde(rename = "longest_bytes")]
    pub longest: Bytes,
}

/// The reader's options and transforms of a trace, in the order of their application.
pub const FIELDS: &[Field] = &[
    field(
        "format",
        None,
        "the format of the trace: see `flashscope trace formats` [default: found by content]",
    ),
    field(
        "on_bad_line",
        Some("stop"),
        "at a line or record that cannot be read: `stop`, or `skip` it and count",
    ),
    field(
        "sector",
        None,
        "bytes in what the trace counts in, where its format counts in sectors or blocks \
         [default: what the format says, mostly 512]",
    ),
    field(
        "merge",
        Some("time"),
        "several traces become one in the order of their `time`s as they are, or each from its own \
         `start`",
    ),
    field("volumes", None, "only requests for these volumes: names, separated by commas"),
    field("ops", None, "only these operations: of `read`, `write`, `trim` and `flush`"),
    field("from", None, "only requests from so long after the first one on, such as `10s`"),
    field("until", None, "only requests earlier than so long after the first one"),
    field(
        "range",
        None,
        "only what lies in these bytes of a volume, such as `1GiB..2GiB`; requests are cut to it",
    ),
    field(
        "sample",
        None,
        "only this share of the regions of each volume, above 0 and up to 1, chosen at random: \
         every request that begins in one",
    ),
    field("sample_seed", Some("1"), "which regions a sample takes"),
    Field {
        alone: Some("auto"),
        ..field(
            "realign",
            None,
            "move every address up by so many bytes; `auto` finds what mends a misalignment that \
             most of the first requests share",
        )
    },
    field("space", Some("1"), "addresses are multiplied by this, in whole pages of 4 KiB"),
    field(
        "remap",
        None,
        "how a trace is put on a drive that is smaller than its volumes: `fold` takes addresses \
         modulo the drive, each volume from its start; `compact` numbers the regions of all volumes \
         in the order in which they are touched, and keeps what is nearer than a region together",
    ),
    field("into", None, "how large the drive is for `remap` [default: that of the drive, if any]"),
    field("region", Some("1MiB"), "what `sample` chooses and `compact` numbers"),
    field("speed", Some("1"), "times are divided by this: 2 is twice as fast"),
    field("repeat", Some("1"), "how many times the trace is played, one after the other"),
];
