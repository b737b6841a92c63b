//! The commands of flashscope as functions without a terminal, for the command line and for Python.
//!
//! The options of each command are defined once, with `clap`. Python takes them as keyword
//! arguments. Both interfaces therefore have the same options, checks and error messages.

pub mod bench;
pub mod build;
pub mod compare;
pub mod drives;
mod failure;
pub mod fio;
pub mod import;
mod inside;
pub mod names;
pub mod options;
pub mod panics;
pub mod predict;
pub mod probe;
pub mod query;
pub mod simulate;
pub mod sweep;
pub mod trace;
pub mod twin;
#[cfg(target_os = "linux")]
pub mod verify;
#[cfg(target_os = "linux")]
pub mod watch;
pub mod what_if;

pub(crate) use failure::not_made;
pub use failure::{Failure, interrupted, not_opened, usage};
pub use flashscope_measure::{PartialResult, Progress, Step, Unit};
