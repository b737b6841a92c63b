//! The commands of flashscope as functions without a terminal, for the command line and for Python.
//!
//! The options of each command are defined once, with `clap`. Python takes them as keyword arguments, so both have the
//! same options, checks and error messages.

pub mod bench;
pub mod build;
mod consent;
pub mod drives;
mod failure;
mod jobs;
mod memory;
pub mod names;
pub mod panics;
pub mod predict;
pub mod probe;
mod progress;
pub mod simulate;
pub mod sweep;
pub mod trace;
pub mod twin;
pub mod what_if;

pub use consent::ConsentArgs;
pub use failure::{Failure, interrupted, not_made, usage};
pub use jobs::JobsArgs;
pub use memory::MemoryArgs;
pub use progress::{ProgressSink, Step, Unit};
