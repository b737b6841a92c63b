//! The project's own checks, run as `cargo xtask`.

mod schemas;

use anyhow::{Result, bail};

fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("schemas") => schemas::write(),
        _ => bail!("usage: cargo xtask check | schemas"),
    }
}
