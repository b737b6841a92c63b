//! The options of `flashscope probe`.

use std::path::PathBuf;

use flashscope_block::{Bytes, Nanos};

use crate::{ConsentArgs, MemoryArgs, names};

/// Infer a drive's internals from its timing: flash pages, log blocks, buffers, garbage collection.
///
/// Experiments are planned, run and evaluated one after the other. The next one is always the one with the most expected
/// information for the bytes it writes and the time it takes, given the earlier findings. Each parameter is reported with
/// its probability and the evidence or, where timing does not reveal it, as unknown. Every single IO is kept in a result
/// folder, which `flashscope report` turns into a page. The drive is filled, and written up to ten times over.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  flashscope probe sim:demo
  flashscope probe sim:sun-zhang-kingston --only log-list,groups
  flashscope probe 'file:scratch.img?size=1GiB'
  flashscope probe --file 'scratch.img?size=1GiB' --budget-time 10min
  flashscope probe /dev/nvme1n1 --read-only
  flashscope probe /dev/nvme1n1 --destroy-data-on S4EWNX0R123456 --budget-bytes 500GB
  flashscope probe sim:demo --profile twin.toml
  flashscope probe --list")]
pub struct ProbeArgs {
    /// The drive to probe: /dev/NAME, file:PATH, sim:PROFILE or null:
    #[arg(required_unless_present_any = ["list", "file"])]
    pub drive: Option<String>,

    /// Probe this file only: the same as file:PATH
    #[arg(long, value_name = "PATH", conflicts_with = "drive")]
    pub file: Option<String>,

    /// Probe only these parameters, by name and separated by commas, and those they depend on
    ///
    /// `--list` names them.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,

    /// Limit on bytes written, including those that fill the drive [default: 10 times its capacity]
    #[arg(long, value_name = "SIZE", conflicts_with = "read_only")]
    pub budget_bytes: Option<Bytes>,

    /// Time limit, on the clock of the drive
    #[arg(long, value_name = "TIME", value_parser = names::duration)]
    pub budget_time: Option<Nanos>,

    /// Write nothing: find only what reads reveal
    #[arg(long)]
    pub read_only: bool,

    /// Seed of all random choices
    #[arg(long, default_value_t = 1, allow_negative_numbers = true, value_parser = names::seed)]
    pub seed: u64,

    /// The memory limit.
    #[command(flatten)]
    pub memory: MemoryArgs,

    /// Write the result here [default: named after the drive and the time]
    #[arg(long, short, value_name = "FOLDER")]
    pub output: Option<PathBuf>,

    /// Save the findings as the profile of a simulated drive, for `sim:`
    #[arg(long, value_name = "FILE.toml", value_parser = toml)]
    pub profile: Option<PathBuf>,

    /// The owner's consent to writing.
    #[command(flatten)]
    pub consent: ConsentArgs,

    /// Print the outcome as JSON (schema: docs/schemas/probe.schema.json)
    #[arg(long)]
    pub json: bool,

    /// List the parameters and the probes that find them, then exit
    #[arg(long, conflicts_with_all = ["drive", "file", "json", "output", "profile", "only"])]
    pub list: bool,
}

/// Parses the path of a profile, as `sim:` accepts it.
fn toml(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension().is_some_and(|extension| extension == "toml") {
        true => Ok(path),
        false => Err("the name of a profile must end in .toml".into()),
    }
}
