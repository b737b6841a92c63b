//! Where the page of what was reproduced goes.

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

/// Its name in a folder.
const NAME: &str = "papers.html";

/// The file that is meant: what does not end as a page does is a folder for it, which is made.
pub fn file(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let Some(named) = named else { return Ok(NAME.into()) };
    if named.extension().is_none_or(|ending| ending != "html") {
        fs::create_dir_all(named).with_context(|| format!("cannot make {}", named.display()))?;
        return Ok(named.join(NAME));
    }
    // Known before anything is run, which may take minutes.
    match named.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            Err(anyhow!("cannot write {}: there is no such folder", named.display()))
        }
        _ => Ok(named.into()),
    }
}

/// Writes it.
pub fn write(found: &Reproductions, path: &Path) -> anyhow::Result<()> {
    let page = papers_html(found)?;
    check_output(path)?;
    Ok(write_output(path, &page)?)
}
