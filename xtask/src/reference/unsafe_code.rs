//! Where there is unsafe code, and why, as the modules say that have any.

use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result, bail};

use crate::sources;

/// Where the page lies.
pub const PATH: &str = "docs/unsafe.md";

/// The page.
pub fn page() -> Result<String> {
    let mut page = String::from(
        "# Unsafe code\n\n<!-- Written by `cargo xtask schemas` from the modules. -->\n\n\
         A lint refuses `unsafe` but in the modules below, each of which says why; each use of it says why it is sound, \
         which another lint sees to.\n\n| module | uses | why |\n|---|---|---|\n",
    );
    for path in sources(&["*.rs"])? {
        let text = fs::read_to_string(&path).with_context(|| path.clone())?;
        let Some((_, after)) = text.split_once("allow(") else { continue };
        let Some(after) = after.trim_start().strip_prefix("unsafe_code,") else { continue };
        let reason = after.trim_start().strip_prefix("reason = \"");
        let Some((reason, _)) = reason.and_then(|reason| reason.split_once('"')) else {
            bail!("{path}: unsafe code is allowed without a reason");
        };
        let uses = text.matches("unsafe {").count() + text.matches("unsafe impl").count();
        writeln!(page, "| `{path}` | {uses} | {reason} |")?;
    }
    Ok(page)
}
