//! The options of `flashscope trace collection`.

use std::path::PathBuf;

use clap::ValueEnum;
use flashscope_block::Bytes;

use super::FileFields;
use crate::options::{JobsArgs, JsonArgs, json_schema};

/// The help of `--jobs`.
const JOBS: &str =
    "Read this many parts at once [default: all processors]; the result does not depend on it";

/// Summarize a collection of many traces by volume, on all cores, in bounded memory.
///
/// Reads files, folders and patterns. A volume may continue in other files; the result depends
/// neither on the division into files nor on their order. Finished parts are kept, so that an
/// interrupted collection can be resumed. See docs/collections.md.
#[derive(Debug, Clone, clap::Args)]
#[command(mut_arg("json", json_schema("collection")))]
#[command(mut_arg("jobs", |arg| arg.help(JOBS)))]
#[command(after_help = "Examples:
  flashscope trace collection traces/ --output cloud.flashscope
  flashscope trace collection 'tencent/*.csv.zst' --format tencent --output tencent.flashscope --on-bad-file skip
  flashscope trace collection --resume cloud.flashscope --json")]
pub struct CollectionArgs {
    /// The traces: files, folders of files, or patterns
    #[arg(value_name = "PATH", required_unless_present = "resume")]
    pub paths: Vec<String>,

    /// Resume a collection that was interrupted; finished parts are not read again
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["paths", "output", "separate_files", "on_bad_file",
        "sample_pages", "part_size"])]
    pub resume: Option<PathBuf>,

    /// Write the result to this folder, which must not exist yet
    #[arg(
        long,
        short = 'o',
        value_name = "FOLDER",
        required_unless_present = "resume",
        help_heading = "Output"
    )]
    pub output: Option<PathBuf>,

    /// Treat volumes of the same name in different files as different volumes, named FILE:VOLUME
    #[arg(long)]
    pub separate_files: bool,

    /// If a file cannot be read: stop, or leave the file out and name it in the result
    #[arg(long, value_enum, default_value = "stop", value_name = "ACTION")]
    pub on_bad_file: OnBadFile,

    /// Maximum number of 4 KiB pages to track per volume; the footprint of larger volumes is
    /// estimated from a sample
    #[arg(long, default_value_t = 16_384, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(64..=1 << 24))]
    pub sample_pages: u32,

    /// Divide uncompressed text into parts of about this size, which are read at the same time
    #[arg(long, default_value = "256MiB", value_name = "SIZE", value_parser = part_size)]
    pub part_size: Bytes,

    /// The number of parts that are read at once.
    #[command(flatten)]
    pub jobs: JobsArgs,

    /// Maximum memory for the partial statistics of all jobs; when it is full, they are moved to
    /// the folder. The result does not depend on this limit
    #[arg(long, default_value = "1GiB", value_name = "SIZE", help_heading = "Limits")]
    pub memory: Bytes,

    /// The form of the output.
    #[command(flatten)]
    pub json: JsonArgs,

    /// The fields of a trace that apply to each file.
    #[command(flatten)]
    pub fields: FileFields,
}

/// The ways to handle a file that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnBadFile {
    /// Stop with an error; finished parts are kept
    Stop,
    /// Omit the file
    Skip,
}

/// Parses the size of a part.
fn part_size(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|error| format!("{error}"))?;
    match size.0 {
        0 => Err("it must be at least a byte".into()),
        _ => Ok(size),
    }
}
