//! The options of `flashscope probe`, as they are documented.

use std::path::PathBuf;

use flashscope_block::{Bytes, Nanos};

use crate::{ConsentArgs, MemoryArgs, names};

/// Read a drive's internals from the outside: flash pages, log blocks, buffers, cleaning.
///
/// Experiments are planned, run and understood one after the other: each next one is that which is
/// expected to tell most for what it writes and takes, and goes by what was found before. Each
/// parameter is stated with how probable it is and with what shows it or, where the drive does not
/// tell, as not known. Every single IO is kept in a result folder, which `flashscope report` turns
/// into a page. The drive is filled, and written up to ten times over.
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
    /// What to probe: /dev/NAME, file:PATH, sim:PROFILE or null:
    #[arg(required_unless_present_any = ["list", "file"])]
    pub drive: Option<String>,

    /// Keep to this file: the same as file:PATH
    #[arg(long, value_name = "PATH", conflicts_with = "drive")]
    pub file: Option<String>,

    /// Look for these parameters alone, by name and separated by commas, and for what they go by
    ///
    /// `--list` names them.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,

    /// Write at most so much, filling the drive included [default: 10 times its capacity]
    #[arg(long, value_name = "SIZE", conflicts_with = "read_only")]
    pub budget_bytes: Option<Bytes>,

    /// Take at most so long, on the clock of the drive
    #[arg(long, value_name = "TIME", value_parser = names::duration)]
    pub budget_time: Option<Nanos>,

    /// Write nothing: find what reads tell
    #[arg(long)]
    pub read_only: bool,

    /// Seed of everything random
    #[arg(long, default_value_t = 1, allow_negative_numbers = true, value_parser = names::seed)]
    pub seed: u64,

    /// How much memory.
    #[command(flatten)]
    pub memory: MemoryArgs,

    /// Write the result here [default: named after the drive and the time]
    #[arg(long, short, value_name = "FOLDER")]
    pub output: Option<PathBuf>,

    /// Save a simulated drive with what was found as a profile, which `sim:` takes
    #[arg(long, value_name = "FILE.toml", value_parser = toml)]
    pub profile: Option<PathBuf>,

    /// The owner's consent to writing.
    #[command(flatten)]
    pub consent: ConsentArgs,

    /// Print the outcome as JSON (schema: docs/schemas/probe.schema.json)
    #[arg(long)]
    pub json: bool,

    /// List the parameters and the probes that find them, and do nothing else
    #[arg(long, conflicts_with_all = ["drive", "file", "json", "output", "profile", "only"])]
    pub list: bool,
}

/// A file that `sim:` takes for a profile.
fn toml(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension().is_some_and(|extension| extension == "toml") {
        true => Ok(path),
        false => Err("a profile is a file that ends in .toml".into()),
    }
}
