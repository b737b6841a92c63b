//! The commands and their options; the doc comments are the help.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use flashscope_command::bench::{BenchArgs, PlanArgs};
use flashscope_command::compare::CompareArgs;
use flashscope_command::import::ImportArgs;
use flashscope_command::options::{JsonArgs, OutputFolderArgs, folder_default, json_schema};
use flashscope_command::predict::PredictArgs;
use flashscope_command::probe::ProbeArgs;
use flashscope_command::query::QueryArgs;
use flashscope_command::simulate::SimulateArgs;
use flashscope_command::sweep::SweepArgs;
use flashscope_command::twin::TwinArgs;
#[cfg(target_os = "linux")]
use flashscope_command::verify::VerifyArgs;
#[cfg(feature = "attach")]
use flashscope_command::watch::WatchArgs;
use flashscope_command::what_if::WhatIfArgs;

#[cfg(feature = "attach")]
use crate::attach::AttachArgs;
#[cfg(feature = "attach")]
use crate::devices::DevicesArgs;
use crate::print::TerminalArgs;
#[cfg(feature = "serve")]
use crate::registry::{RegistryArgs, SubmitArgs};
#[cfg(feature = "papers")]
use crate::reproduce::ReproduceArgs;
#[cfg(feature = "serve")]
use crate::serve::ServeArgs;
use crate::trace::TraceArgs;

/// Measure, simulate and model flash storage.
#[derive(Parser)]
#[command(version = flashscope_command::build::VERSION, propagate_version = true, max_term_width = 100)]
#[command(
    after_help = "Defaults of options: ~/.config/flashscope/config.toml, such as `seed = 7` or, under `[bench]`, \
`precision = \"1%\"`; and the environment, such as FLASHSCOPE_SEED=7.

Exit status: 0 success; 1 failure; 2 invalid options or input; \
3 a regression (compare) or damaged data (verify); 130 interrupted."
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub terminal: TerminalArgs,

    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    #[cfg(feature = "attach")]
    Devices(DevicesArgs),
    Plan(PlanArgs),
    Bench(BenchArgs),
    Probe(ProbeArgs),
    Twin(TwinArgs),
    Simulate(SimulateArgs),
    WhatIf(WhatIfArgs),
    Sweep(SweepArgs),
    Predict(PredictArgs),
    Trace(TraceArgs),
    #[cfg(target_os = "linux")]
    Verify(VerifyArgs),
    #[cfg(feature = "attach")]
    Watch(WatchArgs),
    Report(ReportArgs),
    Compare(CompareArgs),
    Query(QueryArgs),
    Import(ImportArgs),
    #[cfg(feature = "serve")]
    Serve(ServeArgs),
    #[cfg(feature = "attach")]
    Attach(AttachArgs),
    #[cfg(feature = "serve")]
    Registry(RegistryArgs),
    #[cfg(feature = "serve")]
    Submit(SubmitArgs),
    #[cfg(feature = "papers")]
    Reproduce(ReproduceArgs),
    Demo(DemoArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

#[cfg(feature = "serve")]
impl Command {
    /// Returns the path of the result that the command writes; a path in the current folder if the
    /// command chooses the name.
    pub(crate) fn output(&self) -> Option<PathBuf> {
        use flashscope_command::twin::TwinCommand;

        let here = || PathBuf::from("new result");
        let named = |args: &OutputFolderArgs| Some(args.folder.clone().unwrap_or_else(here));
        match self {
            Command::Bench(args) => args.resume.clone().or_else(|| named(&args.output)),
            Command::Probe(args) => named(&args.output),
            Command::Sweep(args) => {
                let space = || args.space.as_ref()?.file_stem().map(PathBuf::from);
                args.resume.clone().or_else(|| args.output.folder.clone()).or_else(space)
            }
            Command::Import(args) => named(&args.output),
            Command::Demo(args) => named(&args.output),
            Command::Simulate(args) => args.output.folder.clone(),
            Command::WhatIf(args) => args.output.folder.clone(),
            Command::Predict(args) => args.output.folder.clone(),
            Command::Twin(args) => match &args.command {
                TwinCommand::Fit(args) => Some(args.output.clone()),
                TwinCommand::Predict(args) => args.output.folder.clone(),
                TwinCommand::Check(_) => None,
            },
            _ => None,
        }
    }
}

/// Print a script for a shell that completes commands and options.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  flashscope completions bash > ~/.local/share/bash-completion/completions/flashscope
  flashscope completions zsh > ~/.zfunc/_flashscope
  flashscope completions fish > ~/.config/fish/completions/flashscope.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// Write the manual pages of all commands.
#[derive(clap::Args)]
#[command(after_help = "Example:
  flashscope man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The folder to write to; it is created if it does not exist
    pub folder: PathBuf,
}

/// Show results as an HTML page or in the terminal.
#[derive(clap::Args)]
#[command(mut_arg("json", |arg| arg.conflicts_with("output").help(
    "Print the content of the page as JSON, one line per result (schema: docs/schemas/report.schema.json)"
)))]
#[command(after_help = "Examples:
  flashscope report demo.flashscope
  flashscope report demo.flashscope --output demo.html
  flashscope report old.flashscope new.flashscope --output compared.html
  flashscope report demo.flashscope --terminal
  flashscope report drive.toml --output twin.html")]
pub(crate) struct ReportArgs {
    /// The result folders, and twins; the page can compare several
    #[arg(required = true, value_name = "RESULT")]
    pub results: Vec<PathBuf>,

    /// Write the page to this file [default: report.html in the result folder, or in the current
    /// folder for several or for a twin]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Print a summary instead of writing a page
    #[arg(long, conflicts_with_all = ["output", "json"])]
    pub terminal: bool,

    /// The form of the output.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Measure a simulated drive and write its report, in seconds.
#[derive(clap::Args)]
#[command(
    mut_arg("output", folder_default("demo.flashscope, or demo-2.flashscope, …")),
    mut_arg("json", json_schema("summary"))
)]
#[command(after_help = "Example:
  flashscope demo --output /tmp/demo.flashscope")]
pub(crate) struct DemoArgs {
    /// The folder of the result.
    #[command(flatten)]
    pub output: OutputFolderArgs,

    /// The form of the output.
    #[command(flatten)]
    pub json: JsonArgs,
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use clap::CommandFactory;

    use super::*;

    /// Returns the README and every page of the documentation.
    fn pages() -> Vec<PathBuf> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let entries = fs::read_dir(root.join("docs")).unwrap();
        let guide = fs::read_dir(root.join("docs/guide")).unwrap();
        let pages = entries.chain(guide).map(|entry| entry.unwrap().path());
        let pages = pages.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
        pages.chain([root.join("README.md")]).collect()
    }

    /// Returns the calls of the program in a page, split into arguments as a shell does.
    fn calls(page: &str) -> Vec<Vec<String>> {
        let lines = page.lines();
        let lines = lines.filter_map(|line| {
            line.strip_prefix("    ").or_else(|| line.strip_prefix("$ ")).map(str::trim)
        });
        let call = |line: &str| {
            let words = shlex::split(line)?;
            let is_end = |word: &String| ["|", ">", "&&", "&", ";"].contains(&word.as_str());
            let end = words.iter().position(is_end).unwrap_or(words.len());
            (words.first()? == "flashscope").then(|| words[..end].to_vec())
        };
        lines.filter_map(call).collect()
    }

    #[test]
    fn bench_and_plan_group_every_option_in_help() {
        let args = Args::command();
        for command in ["bench", "plan"] {
            let command = args.find_subcommand(command).unwrap();
            let options = command.get_arguments().filter(|option| !option.is_positional());
            let without_heading = ["plan", "resume"];
            for option in
                options.filter(|option| !without_heading.contains(&option.get_id().as_str()))
            {
                assert!(option.get_help_heading().is_some(), "{command}: {}", option.get_id());
            }
        }
    }

    #[test]
    fn documentation_calls_parse() {
        let (mut count, mut errors) = (0, Vec::new());
        for page in pages() {
            for call in calls(&fs::read_to_string(&page).unwrap()) {
                count += 1;
                // `clap` returns help as an error, too.
                let parsed = Args::command().try_get_matches_from(&call);
                if let Some(error) = parsed.err().filter(clap::Error::use_stderr) {
                    errors.push(format!("{}: {}: {error}", page.display(), call.join(" ")));
                }
            }
        }
        assert!(errors.is_empty(), "{}", errors.join("\n"));
        assert!(count > 100, "only {count} calls");
    }
}
