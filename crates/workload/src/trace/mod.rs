//! Traces: what was asked of a drive, when, and how long it took, as others have recorded it.
//!
//! A trace is read in batches by a [`Reader`], which knows its [`format`]; the format is found by
//! content. [`writer`]s do the reverse. Memory does not grow with the trace.

mod binary;
mod block_events;
mod error;
pub mod format;
mod pairing;
mod reader;
mod request;
mod source;
mod text;
mod volumes;

pub use error::{Error, OnBad};
pub use format::{Format, find, open, open_as};
pub use reader::{BATCH, Options, Reader, Skipped};
pub use request::Request;
pub use source::Source;
pub use volumes::{VolumeId, Volumes};
