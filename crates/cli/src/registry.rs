//! `flashscope registry`, `flashscope submit`, and the registry of `flashscope serve`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::anyhow;
use clap::Subcommand;
use flashscope_command::options::JsonArgs;
use flashscope_registry::{Configuration, Error, Registry, SubmitError, prepare, send};
use flashscope_report::ResultKind;
use serde_json::json;
use url::Url;

use crate::print::{self, notice};
use crate::progress::LateBar;
use crate::{Failure, usage};

/// Where a registry keeps what it has.
#[derive(clap::Args)]
pub struct RegistryPlace {
    /// The database: postgres://USER:PASSWORD@HOST/NAME [default: SQLite in the folder; the
    /// environment's FLASHSCOPE_DATABASE, which others on this machine cannot read, unless given]
    #[arg(long, value_name = "URL")]
    database: Option<String>,

    /// Where results are stored: s3://BUCKET/PREFIX, with the environment's AWS_ACCESS_KEY_ID,
    /// AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT [default: a folder in the folder]
    #[arg(long, value_name = "URL")]
    store: Option<Url>,
}

impl RegistryPlace {
    /// Whether anything was said.
    pub fn is_given(&self) -> bool {
        self.database.is_some() || self.store.is_some()
    }

    /// The configuration of the registry in `folder`.
    pub fn configuration(&self, folder: PathBuf) -> Configuration {
        let option = |(name, value): (String, String)| {
            name.starts_with("AWS_").then(|| (name.to_lowercase(), value))
        };
        Configuration {
            folder,
            database: self.database.clone().or_else(|| variable("FLASHSCOPE_DATABASE")),
            store: self.store.clone(),
            store_options: std::env::vars().filter_map(option).collect(),
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "this is the command line")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Keep the tokens of a registry of results.
///
/// The registry itself is `flashscope serve --registry FOLDER`. Who has a token of it can submit results;
/// looking at them takes none.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  flashscope registry /srv/registry add alice
  flashscope registry /srv/registry list
  flashscope registry /srv/registry remove alice")]
pub struct RegistryArgs {
    /// The folder of the registry; it is made if there is none
    folder: PathBuf,

    #[command(flatten)]
    place: RegistryPlace,

    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Subcommand)]
enum TokenCommand {
    /// Make a token, and print it: it is not kept, and told only now
    Add {
        /// Who it is for
        name: String,
    },
    /// Remove a token: nothing can be submitted with it any more
    Remove {
        /// Who it was for
        name: String,
    },
    /// List whom there are tokens for
    List,
}

pub fn registry(args: RegistryArgs) -> Result<(), Failure> {
    let configuration = args.place.configuration(args.folder);
    let done = flashscope_registry::block_on(async {
        let registry = Registry::open(&configuration).await?;
        match &args.command {
            TokenCommand::Add { name } => Ok(vec![registry.add_token(name).await?]),
            TokenCommand::Remove { name } => registry.remove_token(name).await.map(|()| vec![]),
            TokenCommand::List => registry.tokens().await,
        }
    });
    let lines = done.map_err(|error| match error {
        Error::Token(_) => usage(error),
        other => Failure::from(other),
    })?;
    let mut out = print::text_lines();
    for line in lines {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Publish a result in a registry.
///
/// A measurement, a simulation or a probe. Its records are sent as they are, and so is what a simulated drive
/// did inside. What tells this drive and machine from others of their kind is left out: the serial number,
/// paths of devices and files. What arrived is kept for a day, so that a submission that was cut off goes on
/// where it was. The registry checks that facts and runs follow from the records, and numbers from each other,
/// and what it cannot check is told.
#[derive(clap::Args)]
#[command(mut_arg("json", |arg| arg.help("Print the address of the result as JSON")))]
#[command(after_help = "Examples:
  flashscope submit my-drive.flashscope --to https://registry.example --dry-run
  flashscope submit my-drive.flashscope --to https://registry.example --token TOKEN
  flashscope submit simulated.flashscope --to https://registry.example --token TOKEN")]
pub struct SubmitArgs {
    /// The result folder
    result: PathBuf,

    /// The address of the registry
    #[arg(long, value_name = "URL")]
    to: Url,

    /// The token [default: the environment's FLASHSCOPE_TOKEN, which others on this machine cannot
    /// read]
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,

    /// Publish the serial number of the drive, too
    #[arg(long)]
    with_serial: bool,

    /// Send nothing, and print what would be sent, without the records, as JSON
    #[arg(long, conflicts_with = "json")]
    dry_run: bool,

    /// The form of the output.
    #[command(flatten)]
    json: JsonArgs,
}

pub fn submit(args: &SubmitArgs) -> Result<(), Failure> {
    let wrong = |error: SubmitError| match error {
        SubmitError::Result(_) | SubmitError::Wrong(_) => usage(error),
        other => Failure::from(other),
    };
    let prepared = prepare(&args.result, args.with_serial).map_err(wrong)?;
    if args.dry_run {
        return Ok(print::document(
            JsonArgs { is_given: true },
            &prepared.submission,
            String::new,
        )?);
    }
    let token = args.token.clone().or_else(|| variable("FLASHSCOPE_TOKEN"));
    let ask = "a token is needed: give it with --token or FLASHSCOPE_TOKEN; whoever keeps the registry \
               makes one with `flashscope registry FOLDER add NAME`";
    let token = token.ok_or_else(|| usage(anyhow!(ask)))?;
    let mut progress = LateBar::new();
    let tell = |sent, total| progress.show("sending", sent, Some(total));
    let published = send(&prepared, &args.to, &token, tell);
    progress.finish();
    let published = published.map_err(wrong)?;
    let page = match prepared.submission.kind() {
        ResultKind::Measurement => "d",
        ResultKind::Simulation => "s",
        ResultKind::Probe => "p",
        ResultKind::Sweep => "w",
        ResultKind::WhatIf => "what-if",
    };
    let url = format!("{}/#/{page}/{}", args.to.as_str().trim_end_matches('/'), published.id);
    for what in &published.unchecked {
        notice!("flashscope: the registry publishes unchecked {what}");
    }
    if args.json.is_given {
        let unchecked = &published.unchecked;
        let answer = json!({ "id": published.id, "url": url, "unchecked": unchecked });
        writeln!(print::json_lines(), "{answer}")?;
    } else {
        writeln!(print::text_lines(), "{url}")?;
    }
    Ok(())
}
