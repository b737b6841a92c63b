//! The options of `flashscope import`.

use std::path::PathBuf;

use crate::options::{JsonArgs, OutputFolderArgs, folder_default, json_schema};

/// Import measurements of other tools as a result.
///
/// Reads the JSON that fio writes with --output-format=json+, and the logs that it writes with
/// --write_lat_log, --write_bw_log or --write_iops_log. With --log_avg_msec=0 --log_offset=1 they have
/// every IO and its place. Otherwise they have means, and the result says what that leaves unknown.
/// The result shows, compares and fits twins as a benchmark of flashscope does. Options of fio that flashscope does not understand
/// are refused by name. See docs/import.md.
#[derive(clap::Args)]
#[command(
    mut_arg("output", folder_default("NAME.flashscope for NAME.json, in the current folder")),
    mut_arg("json", json_schema("summary"))
)]
#[command(after_help = "Examples:
  flashscope import fio.json
  flashscope import fio.json --logs logs --output drive.flashscope
  flashscope import fio.json --smart-before before.json --smart-after after.json -o w.flashscope")]
pub struct ImportArgs {
    /// The output of fio --output-format=json+
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// The folder of fio's logs [default: the folder of FILE]
    #[arg(long, value_name = "FOLDER")]
    pub logs: Option<PathBuf>,

    /// The output of `nvme smart-log --output-format=json` before fio ran
    #[arg(long, value_name = "FILE")]
    pub smart_before: Option<PathBuf>,

    /// The same after fio ran, for the change
    #[arg(long, value_name = "FILE", requires = "smart_before")]
    pub smart_after: Option<PathBuf>,

    /// The folder of the result.
    #[command(flatten)]
    pub output: OutputFolderArgs,

    /// The form of the output.
    #[command(flatten)]
    pub json: JsonArgs,
}
