//! Compares the statements of the benchmark about simulated drives with their profiles and with
//! long runs.

#![allow(clippy::disallowed_methods, reason = "prints its own figures, not untrusted text")]

use std::io::{Write, stdout};
use std::path::PathBuf;

use clap::Parser;
use flashscope_agreement_bench::agreement::Comparison;
use flashscope_agreement_bench::page;

/// Compares the statements of the benchmark about simulated drives with their profiles and with
/// long runs
#[derive(Parser)]
struct Args {
    /// Profiles; by default those of at most 2 GiB
    drives: Vec<String>,
    /// Seed of the measurement
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Keep the results in this folder, and analyse those that it has already
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    /// Write agreement.md to this folder
    #[arg(long, value_name = "FOLDER")]
    write: Option<PathBuf>,
}

fn main() -> std::io::Result<()> {
    let args = Args::parse();
    let drives = if args.drives.is_empty() { page::drives() } else { args.drives };
    let temporary = tempfile::tempdir()?;
    let folder = args.keep.as_deref().unwrap_or(temporary.path());
    let mut out = stdout();
    let mut all = Vec::new();
    for drive in &drives {
        let place = folder.join(format!("{drive}-{}.flashscope", args.seed));
        match Comparison::of(drive, args.seed, &place) {
            Ok(comparison) => {
                write!(out, "{}", page::table(&comparison))?;
                all.push(comparison);
            }
            Err(error) => writeln!(out, "{drive}: {error}")?,
        }
    }
    if let Some(folder) = &args.write {
        std::fs::write(folder.join(page::NAME), page::page(&all))?;
    }
    Ok(())
}
