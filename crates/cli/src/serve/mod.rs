//! The command `flashscope serve`.

mod what_ifs;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::anyhow;
use flashscope_block::Bytes;
use flashscope_command::options::{JsonArgs, MemoryArgs};
use flashscope_registry::{Error, Registry};
use flashscope_result::twin::is_twin_path;
use flashscope_serve::what_if::AT_ONCE;
use flashscope_serve::{Access, Folders, app_watching};
use flashscope_sim::budget::{Budget, Limit};
use serde_json::json;

use self::what_ifs::Simulating;
use crate::listen::{ListenArgs, PORT};
use crate::print::{self, notice};
use crate::registry::RegistryPlace;
use crate::{Failure, running, usage};

/// Show results of any size in the browser, from a list of all results down to a single IO.
///
/// Each page is computed from the records when it is opened, and new results appear automatically.
/// A damaged result is listed with its error. Commands of this user that write to the served
/// folders appear while they run, with their progress and their results so far. Ctrl-C ends the
/// server.
#[derive(clap::Args)]
#[command(
    mut_arg("listen", |arg| arg.help(
        "Answer at this address, with or without a port; port 0 chooses a free port [default: 127.0.0.1:7470]"
    )),
    mut_arg("memory", |arg| arg.conflicts_with("registry").help(
        "Limit the memory of the simulated drives of all what-ifs together; one request may use half of it \
         [default: a quarter of this machine's memory]"
    )),
    mut_arg("json", |arg| arg.help("Print the address as JSON, on one line, once the server answers"))
)]
#[command(after_help = "Examples:
  flashscope serve
  flashscope serve results other-results/demo.flashscope
  flashscope serve results --listen 127.0.0.1:0 --json
  flashscope serve --trace hm_0.csv.gz --drive twin.toml
  flashscope serve --registry /srv/registry --listen 0.0.0.0")]
pub(crate) struct ServeArgs {
    /// Results, and folders with results up to three levels deep
    #[arg(default_value = ".", value_name = "DIR")]
    folders: Vec<PathBuf>,

    /// Serve the registry in this folder instead of DIR: results that others submit with tokens
    /// from `flashscope registry`
    #[arg(long, value_name = "FOLDER", conflicts_with = "folders")]
    registry: Option<PathBuf>,

    #[command(flatten)]
    place: RegistryPlace,

    /// A drive to offer for what-ifs, in addition to the profiles: a TOML file, such as a twin
    #[arg(long, value_name = "FILE", conflicts_with = "registry")]
    drive: Vec<PathBuf>,

    /// A trace to offer for what-ifs
    #[arg(long, value_name = "FILE", conflicts_with = "registry")]
    trace: Vec<PathBuf>,

    /// The address of the server. Unless it is a loopback address, the server refuses edits of the
    /// summary grid.
    #[command(flatten)]
    listen: ListenArgs,

    /// The memory limit.
    #[command(flatten)]
    memory: MemoryArgs,

    /// The form of the output.
    #[command(flatten)]
    json: JsonArgs,
}

pub(crate) fn serve(args: &ServeArgs) -> Result<(), Failure> {
    let address = args.listen.address.unwrap_or_else(|| ([127, 0, 0, 1], PORT).into());
    if Access::of(&address) == Access::Network {
        notice!(
            "flashscope: everyone who can reach {address} sees every result, without a password"
        );
    }
    let ready = |address: SocketAddr| announce(address, args.json.is_given);
    let busy = |error: &io::Error| {
        anyhow!("cannot listen at {address}: {error}; choose another address with --listen")
    };
    if let Some(folder) = &args.registry {
        let configuration = args.place.configuration(folder.clone());
        let make = async |access| Registry::open(&configuration).await?.app(access);
        return flashscope_serve::serve(make, address, ready).map_err(|error| match error {
            Error::Io(error) => usage(busy(&error)),
            other => Failure::from(other),
        });
    }
    if args.place.is_given() {
        return Err(usage(anyhow!(
            "--database and --store are options of a registry: name it with --registry"
        )));
    }
    // A twin is a file, which cannot be listed.
    for folder in args.folders.iter().filter(|path| !is_twin_path(path)) {
        let remedy = match folder.is_file() {
            true => "; name result folders, a folder with results, or the .twin.json of a twin",
            false => "",
        };
        let listed = folder.read_dir();
        listed
            .map_err(|error| usage(anyhow!("cannot list {}: {error}{remedy}", folder.display())))?;
    }
    let folders = Folders::new(args.folders.clone());
    for problem in folders.problems() {
        notice!("flashscope: {problem}");
    }
    // A server uses less memory than a command: other programs share the machine, and its clients
    // are untrusted.
    let total = args.memory.given().unwrap_or_else(|| Bytes(Limit::of_machine().total.0 / 2));
    let memory = Budget::new(Limit::of_server(total, AT_ONCE));
    let what_ifs = Simulating { drives: args.drive.clone(), traces: args.trace.clone(), memory };
    let commands = running::commands();
    let make = async |access| Ok(app_watching(folders, access, what_ifs, commands));
    flashscope_serve::serve(make, address, ready).map_err(|error: io::Error| usage(busy(&error)))
}

/// Prints the address. A closed standard output is not an error.
fn announce(address: SocketAddr, as_json: bool) {
    let url = format!("http://{address}/");
    let _ = match as_json {
        true => print::line(print::json_lines(), &json!({ "url": url, "address": address })),
        false => print::line(print::text_lines(), &url),
    };
}
