//! Collections: many files of traces, read in parts on all cores.
//!
//! A [`Plan`] divides the files into [`Part`]s. Reading a part gives segments of partial
//! statistics, each sorted by volume. A segment ends when the statistics in memory reach a limit,
//! so that memory does not grow with the collection. [`merge_segments`] merges the segments of all
//! parts, one volume at a time.

mod merge;
mod part;
mod plan;
mod requests;

pub use merge::{SegmentMerge, merge_segments};
pub use part::{PartLimits, PartOutcome, read_part};
pub use plan::{Part, parts, plan_file};
pub use requests::{VolumeRequests, read_volumes};

pub use crate::transform::compact;

#[cfg(test)]
mod tests;
