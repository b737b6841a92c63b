//! The modules with unsafe code, and the reasons that they state.

use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result, bail};

use crate::sources;

/// The path of the page.
pub(crate) const PATH: &str = "docs/unsafe.md";

/// Returns the page.
pub(crate) fn page() -> Result<String> {
    let mut page = String::from(
        "# Unsafe code\n\n<!-- Written by `cargo xtask schemas` from the modules. -->\n\n\
         A lint refuses `unsafe` outside of the modules below, each of which states a reason. Another lint checks that each \
         use states why it is sound.\n\n| module | uses | why |\n|---|---|---|\n",
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
