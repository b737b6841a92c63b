//! Writes the page of reproduced items.

#![cfg_attr(
    lint_writes,
    expect(clippy::disallowed_methods, reason = "the page of papers: check_output")
)]

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use flashscope_drive::guard::check_output;
use flashscope_papers::Reproductions;
use flashscope_report::papers_html;
use flashscope_result::write_output;

/// The name of the page in a folder.
const NAME: &str = "papers.html";

/// Returns the file of the page. A path that does not end in .html is a folder, which is created.
pub(super) fn file(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let Some(named) = named else { return Ok(NAME.into()) };
    if named.extension().is_none_or(|ending| ending != "html") {
        fs::create_dir_all(named).with_context(|| format!("cannot create {}", named.display()))?;
        return Ok(named.join(NAME));
    }
    // The folder is checked before the items run, because they may run for minutes.
    match named.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            Err(anyhow!("cannot write {}: its folder does not exist", named.display()))
        }
        _ => Ok(named.into()),
    }
}

/// Writes the page.
pub(super) fn write(reproductions: &Reproductions, path: &Path) -> anyhow::Result<()> {
    let page = papers_html(reproductions)?;
    check_output(path)?;
    Ok(write_output(path, &page)?)
}
