//! The option for the address of a server.

use std::net::{IpAddr, SocketAddr};

use anyhow::anyhow;

/// The default port.
pub(crate) const PORT: u16 = 7470;

/// The address of a server.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct ListenArgs {
    /// Answer at this address, with or without a port; port 0 chooses a free port
    ///
    /// Everyone who can reach the address sees what the server shows, without a password. Unless it
    /// is a loopback address, the server refuses all changes.
    #[arg(long = "listen", id = "listen", value_name = "ADDRESS", value_parser = address)]
    pub address: Option<SocketAddr>,
}

/// Parses an address with or without a port, such as `127.0.0.1:7470` or `::1`.
pub(crate) fn address(text: &str) -> anyhow::Result<SocketAddr> {
    let whole = text.parse::<SocketAddr>().ok();
    let bare = || Some(SocketAddr::new(text.parse::<IpAddr>().ok()?, PORT));
    whole
        .or_else(bare)
        .ok_or_else(|| anyhow!("write it like 127.0.0.1:{PORT}, [::1]:{PORT} or 0.0.0.0"))
}
