//! Options that several commands share. Each is defined once, in a group that a command flattens.
//!
//! A command adapts the help of a shared option with `mut_arg`, such as the default of `--output`.

mod budget;
mod consent;
mod jobs;
mod memory;
mod output;
mod seed;
mod work;

pub use budget::BudgetArgs;
pub use consent::{ConsentArgs, ReadOnlyArgs};
pub use jobs::JobsArgs;
pub(crate) use jobs::processors;
pub use memory::MemoryArgs;
pub use output::{JsonArgs, ListArgs, OutputFolderArgs, folder_default, json_schema};
pub use seed::SeedArgs;
pub use work::{
    LoadArgs, PredictionConfidenceArgs, SimulatedDriveArgs, WorkArgs, WorkloadArgs, fill_parser,
};
