//! The options of `flashscope reproduce`.

use std::path::PathBuf;

use flashscope_command::options::{JsonArgs, json_schema};

/// Reproduce tables and figures of the papers, and compare the published numbers with the
/// reproduced ones.
///
/// Without an item, lists all items. An item passes if its numbers agree within the tolerance
/// shown. If numbers differ for a known reason, the output states the reason. The exit status is 1
/// if they differ for an unknown reason. `all` prints a line for each item, and writes the figures
/// and the errata to an HTML page. Ctrl-C ends the reproduction; the page then has the finished
/// items.
#[derive(clap::Args)]
#[command(mut_arg("json", json_schema("reproduction")), mut_arg("json", |arg| arg.requires("items")))]
#[command(after_help = "Examples:
  flashscope reproduce
  flashscope reproduce agrawal-table3
  flashscope reproduce agrawal-table3 --set 'drive=agrawal-2008?flash.page_program=250us'
  flashscope reproduce all --output book.html
  flashscope reproduce all --json")]
pub(crate) struct ReproduceArgs {
    /// The items, or `all`
    #[arg(value_name = "ITEM")]
    pub items: Vec<String>,

    /// Change an input of an item; the output shows the inputs
    #[arg(long, value_name = "INPUT=VALUE", value_parser = setting, requires = "items")]
    pub set: Vec<(String, String)>,

    /// Run items completely, including those that are shortened by default
    #[arg(long, requires = "items")]
    pub full: bool,

    /// Write an HTML page with figures: a file `NAME.html`, or a folder for papers.html [default
    /// for `all` without --json: papers.html]
    #[arg(long, short, value_name = "PATH", requires = "items")]
    pub output: Option<PathBuf>,

    /// The form of the output.
    #[command(flatten)]
    pub json: JsonArgs,
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write it as INPUT=VALUE")?;
    Ok((name.into(), value.into()))
}
