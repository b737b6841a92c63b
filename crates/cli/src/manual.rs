//! `flashscope completions` and `flashscope man`: completion scripts and manual pages.

#![cfg_attr(
    lint_writes,
    expect(clippy::disallowed_methods, reason = "manual pages: check_output for each")
)]

use std::fs;
use std::io::Write;

use anyhow::Context;
use clap::{Command, CommandFactory};
use flashscope_drive::guard::check_output;
use flashscope_result::write_output;

use crate::args::{Args, CompletionsArgs, ManArgs};
use crate::{Failure, print, usage};

pub(crate) fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "flashscope", &mut script);
    Ok(print::data().write_all(&script)?)
}

pub(crate) fn man(args: &ManArgs) -> Result<(), Failure> {
    let folder = &args.folder;
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut command = Args::command();
    command.build();
    for (name, page) in pages(&command, "flashscope")? {
        let path = folder.join(format!("{name}.1"));
        check_output(&path).map_err(usage)?;
        write_output(&path, &page)?;
    }
    Ok(())
}

/// Returns the manual pages of a command and its subcommands, each with its name.
fn pages(command: &Command, name: &str) -> anyhow::Result<Vec<(String, String)>> {
    let mut page = Vec::new();
    let titled = command.clone().name(name.to_owned());
    clap_mangen::Man::new(titled).render(&mut page)?;
    let mut pages = vec![(name.to_owned(), String::from_utf8(page)?)];
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        pages.extend(self::pages(below, &format!("{name}-{}", below.get_name()))?);
    }
    Ok(pages)
}
