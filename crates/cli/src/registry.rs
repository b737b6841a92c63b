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

/// The storage of a registry.
#[derive(clap::Args)]
pub(crate) struct RegistryPlace {
    /// The database: postgres://USER:PASSWORD@HOST/NAME [default: the environment variable
    /// FLASHSCOPE_DATABASE, which other users cannot read, or else SQLite in the folder]
    #[arg(long, value_name = "URL")]
    database: Option<String>,

    /// The store of results: s3://BUCKET/PREFIX, with the environment variables AWS_ACCESS_KEY_ID,
    /// AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT [default: in the folder of the registry]
    #[arg(long, value_name = "URL")]
    store: Option<Url>,
}

impl RegistryPlace {
    /// Returns true if any option was given.
    pub(crate) fn is_given(&self) -> bool {
        self.database.is_some() || self.store.is_some()
    }

    /// Returns the configuration of the registry in `folder`.
    pub(crate) fn configuration(&self, folder: PathBuf) -> Configuration {
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

#[allow(clippy::disallowed_methods, reason = "the command line reads the environment")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Manage the tokens of a registry of results.
///
/// `flashscope serve --registry FOLDER` serves the registry. Submitting a result needs a token;
/// reading results does not.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  flashscope registry /srv/registry add alice
  flashscope registry /srv/registry list
  flashscope registry /srv/registry remove alice")]
pub(crate) struct RegistryArgs {
    /// The folder of the registry; it is created if it does not exist
    folder: PathBuf,

    #[command(flatten)]
    place: RegistryPlace,

    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Subcommand)]
enum TokenCommand {
    /// Create a token and print it; the registry stores only its hash, and cannot show it again
    Add {
        /// The owner of the token
        name: String,
    },
    /// Remove a token, so that it no longer allows submissions
    Remove {
        /// The owner of the token
        name: String,
    },
    /// List the owners of tokens
    List,
}

pub(crate) fn registry(args: RegistryArgs) -> Result<(), Failure> {
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
/// The result is a measurement, a simulation or a probe. Its records are sent unchanged, with the
/// internal activity of a simulated drive. Data that identifies this drive or machine is left out:
/// the serial number, and paths of devices and files. The registry stores partial submissions for a
/// day; run the command again to continue one. The registry checks that facts and runs follow from
/// the records and that numbers agree, and lists the parts that it cannot check.
#[derive(clap::Args)]
#[command(mut_arg("json", |arg| arg.help("Print the address of the result as JSON")))]
#[command(after_help = "Examples:
  flashscope submit my-drive.flashscope --to https://registry.example --dry-run
  flashscope submit my-drive.flashscope --to https://registry.example --token TOKEN
  flashscope submit simulated.flashscope --to https://registry.example --token TOKEN")]
pub(crate) struct SubmitArgs {
    /// The result folder
    result: PathBuf,

    /// The address of the registry
    #[arg(long, value_name = "URL")]
    to: Url,

    /// The token [default: the environment variable FLASHSCOPE_TOKEN, which other users cannot
    /// read]
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,

    /// Also publish the serial number of the drive
    #[arg(long)]
    with_serial: bool,

    /// Print the submission as JSON, without its records, and send nothing
    #[arg(long, conflicts_with = "json")]
    dry_run: bool,

    /// The form of the output.
    #[command(flatten)]
    json: JsonArgs,
}

pub(crate) fn submit(args: &SubmitArgs) -> Result<(), Failure> {
    let submit_failure = |error: SubmitError| match error {
        SubmitError::Result(_) | SubmitError::Invalid(_) => usage(error),
        other => Failure::from(other),
    };
    let prepared = prepare(&args.result, args.with_serial).map_err(submit_failure)?;
    if args.dry_run {
        return Ok(print::document(
            JsonArgs { is_given: true },
            &prepared.submission,
            String::new,
        )?);
    }
    let token = args.token.clone().or_else(|| variable("FLASHSCOPE_TOKEN"));
    let missing = "a token is needed: give it with --token or FLASHSCOPE_TOKEN; the operator of the \
                   registry creates one with `flashscope registry FOLDER add NAME`";
    let token = token.ok_or_else(|| usage(anyhow!(missing)))?;
    let mut progress = LateBar::new();
    let show = |sent, total| progress.show("sending", sent, Some(total));
    let published = send(&prepared, &args.to, &token, show);
    progress.finish();
    let published = published.map_err(submit_failure)?;
    let page = match prepared.submission.kind() {
        ResultKind::Measurement => "d",
        ResultKind::Simulation => "s",
        ResultKind::Probe => "p",
        ResultKind::Sweep => "w",
        ResultKind::WhatIf => "what-if",
        ResultKind::Twin => "twin",
        ResultKind::Prediction => "prediction",
    };
    let url = format!("{}/#/{page}/{}", args.to.as_str().trim_end_matches('/'), published.id);
    for what in &published.unchecked {
        notice!("flashscope: the registry did not check {what}");
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
