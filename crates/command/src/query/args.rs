//! The options of `flashscope query`.

use std::path::PathBuf;

use crate::options::{JsonArgs, ListArgs, json_schema};

/// Find the IOs of a result that match an expression.
///
/// An expression compares fields of an IO: `latency > 10ms and op = write`. Times and sizes have
/// units, `and`, `or`, `not` and parentheses combine comparisons, and `offset % 4KiB` is a
/// remainder. The page of `flashscope serve` has the same search. See docs/query.md.
#[derive(clap::Args)]
#[command(mut_arg("json", json_schema("matches")))]
#[command(mut_arg("list", |arg| arg.help("List the fields of an IO, then exit")))]
#[command(after_help = "Examples:
  flashscope query demo.flashscope 'latency > 10ms and op = write'
  flashscope query demo.flashscope 'micro_benchmark = alignment and offset % 4KiB != 0' --limit 5
  flashscope query demo.flashscope 'errno != 0 or late > 1ms' --json
  flashscope query --list")]
pub struct QueryArgs {
    /// The folder of the result, from `flashscope bench` or `flashscope import`
    #[arg(required_unless_present = "list", value_name = "RESULT")]
    pub result: Option<PathBuf>,

    /// The expression, in quotes
    #[arg(required_unless_present = "list", value_name = "EXPRESSION")]
    pub expression: Option<String>,

    /// The number of slowest IOs to show
    #[arg(long, default_value_t = 20, value_name = "COUNT")]
    pub limit: usize,

    /// The form of the output.
    #[command(flatten)]
    pub json: JsonArgs,

    /// The choice to list fields.
    #[command(flatten)]
    pub list: ListArgs,
}
