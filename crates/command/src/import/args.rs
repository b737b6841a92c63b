//! The options of `flashscope import`.

use std::path::PathBuf;

use crate::options::{JsonArgs, OutputFolderArgs, folder_default, json_schema};

/// Import measurements of other tools as a result.
///
/// Reads the JSON that fio writes with --output-format=json+, and the logs that it writes with
/// --write_lat_log, --write_bw_log or --write_iops_log. With --log_avg_msec=0 --log_offset=1, the
/// logs contain every IO with its offset. Without these options they contain means, and the result
/// lists the missing data. The result can be shown, compared and used to fit a twin, like a
/// benchmark of flashscope. flashscope names and refuses options of fio that it does not support.
/// See docs/import.md.
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

    /// The output of the same command after fio ran, to show the change
    #[arg(long, value_name = "FILE", requires = "smart_before")]
    pub smart_after: Option<PathBuf>,

    /// The folder of the result.
    #[command(flatten)]
    pub output: OutputFolderArgs,

    /// The form of the output.
    #[command(flatten)]
    pub json: JsonArgs,
}
