//! What the commands of flashscope do, without a terminal: for the command line and for Python.
//!
//! What can be asked for is said once, by the options of the commands (`clap`): Python takes them as keyword
//! arguments, so that both know the same options, check them alike and refuse them with the same words.

pub mod bench;
pub mod build;
mod consent;
pub mod drives;
mod failure;
mod jobs;
mod memory;
pub mod names;
mod onlooker;
pub mod panics;
pub mod predict;
pub mod probe;
pub mod simulate;
pub mod sweep;
pub mod trace;
pub mod twin;
pub mod what_if;

pub use consent::ConsentArgs;
pub use failure::{Failure, interrupted, not_made, usage};
pub use jobs::JobsArgs;
pub use memory::MemoryArgs;
pub use onlooker::{Onlooker, Step, Unit};
