//! `flashscope serve`.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use flashscope_serve::{Access, Folders};
use serde_json::json;

use crate::{Failure, usage};

/// The port, unless asked for otherwise.
const PORT: u16 = 7470;

/// Show results in the browser, however large: from a shelf of them down to a single IO.
///
/// What a screen shows is computed from the records when it is looked at, and new results appear by
/// themselves. A result that is damaged is shown with what is wrong with it. It ends with Ctrl-C.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  flashscope serve
  flashscope serve results other-results/demo.flashscope
  flashscope serve results --listen 127.0.0.1:0 --json")]
pub struct ServeArgs {
    /// Results, and folders with results up to three folders deep
    #[arg(default_value = ".", value_name = "DIR")]
    folders: Vec<PathBuf>,

    /// Answer at this address, with or without a port; port 0 takes a free one [default:
    /// 127.0.0.1:7470]
    ///
    /// Whoever reaches the address sees every result. With any but a loopback address, corrections of
    /// the summary grid are refused.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    listen: Option<SocketAddr>,

    /// Print the address as JSON, on a line, once it is answered at
    #[arg(long)]
    json: bool,
}

pub fn serve(args: &ServeArgs) -> Result<(), Failure> {
    for folder in &args.folders {
        folder
            .read_dir()
            .with_context(|| format!("cannot list {}", folder.display()))
            .map_err(usage)?;
    }
    let address = args.listen.unwrap_or_else(|| ([127, 0, 0, 1], PORT).into());
    if Access::of(&address) == Access::Network {
        eprintln!("flashscope: whoever reaches {address} sees every result, without a password");
    }
    let ready = |address: SocketAddr| announce(address, args.json);
    flashscope_serve::serve(Folders::new(args.folders.clone()), address, ready).map_err(|error| {
        usage(anyhow!("cannot answer at {address}: {error}; choose another address with --listen"))
    })
}

/// Tells the address. Who started this and does not listen any more loses nothing.
fn announce(address: SocketAddr, as_json: bool) {
    let url = format!("http://{address}/");
    let mut out = std::io::stdout().lock();
    let _ = match as_json {
        true => writeln!(out, "{}", json!({ "url": url, "address": address })),
        false => writeln!(out, "{url}"),
    };
    let _ = out.flush();
}

/// `127.0.0.1:7470`, `[::1]:7470`, or an address without a port.
fn address(text: &str) -> anyhow::Result<SocketAddr> {
    let whole = text.parse::<SocketAddr>().ok();
    let bare = || Some(SocketAddr::new(text.parse::<IpAddr>().ok()?, PORT));
    whole
        .or_else(bare)
        .ok_or_else(|| anyhow!("write it like 127.0.0.1:{PORT}, [::1]:{PORT} or 0.0.0.0"))
}
