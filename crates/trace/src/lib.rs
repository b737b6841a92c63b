//! Block IO traces: recorded requests with their times and latencies.
//!
//! A [`Reader`] reads a trace in batches. The [`format`] is detected from the content. A [`writer`]
//! converts requests back to a file. Memory use is independent of the length of the trace.

mod binary;
mod block_events;
#[cfg(feature = "files")]
pub mod collection;
#[cfg(feature = "files")]
mod columns;
mod csv_columns;
mod error;
pub mod format;
mod merge;
mod opened;
mod pairing;
mod passes;
mod reader;
mod repeat;
mod replay;
mod request;
mod source;
mod spec;
pub mod statistics;
mod text;
mod transform;
mod volumes;
mod workload;
#[cfg(feature = "files")]
pub mod writer;

pub use csv_columns::Columns;
pub use error::{Error, OnBad};
pub use format::{Format, find, open, open_as};
pub use opened::{Progress, Trace};
pub use passes::Passes;
pub use reader::{BATCH, Options, Reader, SkippedInput};
pub use replay::{Replay, ReplayError, Survey, replay, survey};
pub use request::Request;
pub use source::Source;
pub use spec::{FieldError, Spec};
pub use volumes::{VolumeId, Volumes};
pub use workload::{open_workload, streams};
