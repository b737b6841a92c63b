use std::path::PathBuf;

use clap::Arg;

/// The form of the output.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct JsonArgs {
    /// Print the result as JSON
    #[arg(long = "json", id = "json")]
    pub is_given: bool,
}

/// Names the schema of a command in the help of `--json`, for `mut_arg`.
pub fn json_schema(name: &'static str) -> impl FnOnce(Arg) -> Arg {
    move |arg| {
        arg.help(format!("Print the result as JSON (schema: docs/schemas/{name}.schema.json)"))
    }
}

/// The folder to which a result is written.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct OutputFolderArgs {
    /// Write the result to this folder, which must not exist yet
    #[arg(long = "output", id = "output", short = 'o', value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
}

/// States the default of `--output` in its help, for `mut_arg`.
pub fn folder_default(default: &'static str) -> impl FnOnce(Arg) -> Arg {
    move |arg| {
        let help = "Write the result to this folder, which must not exist yet";
        arg.help(format!("{help} [default: {default}]"))
    }
}

/// The option to list the values that a command accepts, instead of running it.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct ListArgs {
    /// List the values that the options accept, then exit
    #[arg(long = "list", id = "list")]
    pub is_given: bool,
}
