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
    /// Each request when an earlier request completes: a closed loop.
    Asap,
}

/// A trace to replay on a drive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Playback {
    /// The files of the trace.
    pub files: Vec<String>,
    /// The reader's options and transforms: trace fields by name.
    pub fields: BTreeMap<String, String>,
    /// The pacing of the requests.
    pub pace: Pace,
    /// The capacity of the drive in bytes.
    #[serde(rename = "capacity_bytes")]
    pub capacity: Bytes,
    /// Offsets and lengths on the drive are multiples of this: reads and writes are widened to the
    /// blocks that they touch, trims are narrowed to the blocks that they cover.
    #[serde(rename = "logical_block_bytes")]
    pub logical_block: Bytes,
    /// The maximum length of a read or write. A longer read or write is issued in parts of this
    /// length, a trim in parts of at most 1 GiB.
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
        "what to do at a line or record that cannot be read: `stop`, or `skip` and count it",
    ),
    field(
        "sector",
        None,
        "bytes in a sector or block, if the format counts in sectors or blocks \
         [default: that of the format, mostly 512]",
    ),
    field(
        "time",
        None,
        "the column of the issue time in delimited text (format `csv`), by its number from 0 or its \
         name in the first line, and its unit, such as `0:us`: s, ms, us, ns, or filetime (100 ns \
         since 1601)",
    ),
    field(
        "offset",
        None,
        "the column of the offset, with a unit after a colon: bytes (the default), sectors, or a \
         length such as `4KiB`",
    ),
    field("size", None, "the column of the length, with a unit as for `offset`"),
    field(
        "op",
        None,
        "the column of the operation, with words such as `R` or `write`; or this column, a colon \
         and the text of reads, such as `1:28`, if every other text is a write",
    ),
    field(
        "latency",
        None,
        "the column of the response time, if there is one, and its unit, such as `1:us`: s, ms, us \
         or ns",
    ),
    field("volume", None, "the column of the name of the volume, if there is one"),
    field(
        "merge",
        Some("time"),
        "how several traces are merged: `time` by their recorded times, `start` by the times since \
         the start of each trace",
    ),
    field("volumes", None, "only requests for these volumes: names, separated by commas"),
    field(
        "ops",
        None,
        "only these operations, separated by commas: `read`, `write`, `trim` and `flush`",
    ),
    field("from", None, "only requests from this time after the first request on, such as `10s`"),
    field("until", None, "only requests before this time after the first request"),
    field(
        "range",
        None,
        "only the parts of requests in these bytes of a volume, such as `1GiB..2GiB`",
    ),
    field(
        "sample",
        None,
        "only requests that begin in randomly chosen regions of each volume: the share of regions, \
         above 0 and up to 1",
    ),
    field("sample_seed", Some("1"), "seed of the choice of regions for `sample`"),
    Field {
        alone: Some("auto"),
        ..field(
            "realign",
            None,
            "move every address up by this many bytes; `auto` finds the shift that corrects a \
             misalignment of most of the first requests",
        )
    },
    field("space", Some("1"), "factor for all addresses, in whole pages of 4 KiB"),
    field(
        "remap",
        None,
        "how addresses are mapped to a drive that is smaller than the volumes of the trace: `fold` \
         takes addresses modulo the size of the drive; `compact` places the regions of all volumes \
         in the order of their first access, and keeps the addresses of a region together",
    ),
    field("into", None, "drive size for `remap` [default: that of the actual drive, if any]"),
    field("region", Some("1MiB"), "size of the regions that `sample` chooses and `compact` places"),
    field("speed", Some("1"), "divisor of all times: 2 is twice as fast"),
    field("repeat", Some("1"), "how many times the trace is played, one after the other"),
];
