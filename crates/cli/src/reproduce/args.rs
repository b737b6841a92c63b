//! The options of `flashscope reproduce`, as they are documented.

use std::path::PathBuf;

use flashscope_command::options::{JsonArgs, json_schema};

/// Reproduce tables and figures of the papers: what is printed, what is found, and how far these are
/// apart.
///
/// Without an item, all of them are listed. An item passes where what is found is what is printed, within a
/// tolerance that is shown; where it is not and the reason is known, that is given. The status is 1
/// where an item fails. `all` prints a line for each item, and writes the rest as a book with the figures and with what
/// is wrong in print; Ctrl-C ends it with what was run until then.
#[derive(clap::Args)]
#[command(mut_arg("json", json_schema("reproduction")), mut_arg("json", |arg| arg.requires("items")))]
#[command(after_help = "Examples:
  flashscope reproduce
  flashscope reproduce agrawal-table3
  flashscope reproduce agrawal-table3 --set 'drive=agrawal-2008?flash.page_program=250us'
  flashscope reproduce all --output book.html
  flashscope reproduce all --json")]
pub struct ReproduceArgs {
    /// The items, or `all`
    #[arg(value_name = "ITEM")]
    pub items: Vec<String>,

    /// Change what an item rests on; its inputs are shown with what is found
    #[arg(long, value_name = "INPUT=VALUE", value_parser = setting, requires = "items")]
    pub set: Vec<(String, String)>,

    /// Take as long as it needs, where the quick form of an item is not all of it
    #[arg(long, requires = "items")]
    pub full: bool,

    /// Write it as an HTML page, with figures: a file `NAME.html`, or a folder for papers.html; of `all`
    /// that is written without being asked for, but for --json
    #[arg(long, short, value_name = "PATH", requires = "items")]
    pub output: Option<PathBuf>,

    /// The form of the output.
    #[command(flatten)]
    pub json: JsonArgs,
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("an input and its value are joined by `=`")?;
    Ok((name.into(), value.into()))
}
