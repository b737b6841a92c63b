//! The options of `flashscope probe`.

use std::path::PathBuf;

use crate::options::{
    BudgetArgs, ConsentArgs, JsonArgs, ListArgs, MemoryArgs, OutputFolderArgs, ReadOnlyArgs,
    SeedArgs, folder_default, json_schema,
};

/// Infer a drive's internals from its timing: flash pages, log blocks, buffers, garbage collection.
///
/// flashscope plans, runs and evaluates one experiment at a time. Given the earlier findings, it
/// chooses the experiment with the most expected information for its cost in bytes written and
/// time. Each parameter is reported with its probability and the evidence or, where timing does not
/// reveal it, as unknown. The result folder keeps every IO; `flashscope report` turns the folder
/// into a page. By default, the drive is filled, and written up to ten times over.
#[derive(clap::Args)]
#[command(
    mut_arg("budget_bytes", |arg| arg.conflicts_with("read_only").help(
        "Limit on bytes written, including those that fill the drive [default: 10 times its capacity]"
    )),
    mut_arg("output", folder_default("named after the drive and the time")),
    mut_arg("json", json_schema("probe")),
    mut_arg("list", |arg| {
        let conflicts = ["drive", "file", "json", "output", "profile", "only"];
        arg.conflicts_with_all(conflicts).help("List the parameters and the probes that find them, then exit")
    })
)]
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

    /// Probe only these parameters, by name and separated by commas, and the parameters that they
    /// depend on
    ///
    /// `--list` names them.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,

    /// The limits on bytes and time.
    #[command(flatten)]
    pub budget: BudgetArgs,

    /// The choice to write nothing: a probe then finds only what reads reveal.
    #[command(flatten)]
    pub read_only: ReadOnlyArgs,

    /// The seed.
    #[command(flatten)]
    pub seed: SeedArgs,

    /// The memory limit.
    #[command(flatten)]
    pub memory: MemoryArgs,

    /// The folder of the result.
    #[command(flatten)]
    pub output: OutputFolderArgs,

    /// Save the findings as the profile of a simulated drive, for `sim:`
    #[arg(long, value_name = "FILE.toml", value_parser = toml, help_heading = "Output")]
    pub profile: Option<PathBuf>,

    /// The owner's consent to writing.
    #[command(flatten)]
    pub consent: ConsentArgs,

    /// The form of the output.
    #[command(flatten)]
    pub json: JsonArgs,

    /// The choice to list parameters and probes.
    #[command(flatten)]
    pub list: ListArgs,
}

/// Parses the path of a profile, as `sim:` accepts it.
fn toml(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension().is_some_and(|extension| extension == "toml") {
        true => Ok(path),
        false => Err("the name of a profile must end in .toml".into()),
    }
}
