//! `flashscope report`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use flashscope_analysis::view::{Overviews, Viewer};
use flashscope_analysis::{Facts, Outline, analyse};
use flashscope_report::{Report, html, terminal};
use flashscope_result::{Error, Manifest, ResultFolder};

use crate::args::ReportArgs;
use crate::{Failure, usage};

pub fn report(args: &ReportArgs) -> Result<(), Failure> {
    let (folder, manifest) = ResultFolder::open(&args.result).map_err(|error| match error {
        error @ (Error::NoResult(_) | Error::Json { .. } | Error::Version { .. }) => usage(error),
        other => Failure::from(other),
    })?;
    let facts = analyse(&folder, &manifest)?;
    let mut out = std::io::stdout().lock();
    if args.terminal {
        write!(out, "{}", terminal(&manifest, &facts))?;
        return Ok(());
    }
    let outlines = outlines(&folder, &manifest, &facts)?;
    let report = Report { manifest, facts, outlines };
    if args.json {
        serde_json::to_writer(&mut out, &report)?;
        writeln!(out)?;
        return Ok(());
    }
    let path = write_page(&report, &folder, args.output.as_deref())?;
    writeln!(out, "{}", path.display())?;
    Ok(())
}

/// The pictures of all runs.
pub fn outlines(
    folder: &ResultFolder,
    manifest: &Manifest,
    facts: &Facts,
) -> Result<Vec<Outline>, Error> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let overviews = &Overviews::new(threads);
    Viewer { folder, manifest, facts, overviews }.outlines()
}

/// Writes the page of a result, by default into its folder.
pub fn write_page(
    report: &Report,
    folder: &ResultFolder,
    output: Option<&Path>,
) -> anyhow::Result<PathBuf> {
    let path = output.map_or_else(|| folder.path().join("report.html"), Path::to_path_buf);
    fs::write(&path, html(report)?).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}
