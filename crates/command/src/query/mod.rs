//! `flashscope query`: finds the IOs of a result that match an expression.

mod args;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use flashscope_analysis::view::{MatchLimits, Matches, matches};
use flashscope_measure::{Progress, Step, Unit};
use flashscope_query::parse;
use flashscope_result::ResultFolder;

pub use self::args::QueryArgs;
use crate::{Failure, not_opened, usage};

/// Finds the IOs of a result that match an expression.
///
/// # Errors
/// If the expression is invalid, the result cannot be read, or `stop` was set first.
pub fn query(
    args: &QueryArgs,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn Progress,
) -> Result<Matches, Failure> {
    let missing = || usage(anyhow!("name a result and an expression, or use --list"));
    let (path, text) = (args.result.as_ref(), args.expression.as_ref());
    let (path, text) = path.zip(text).ok_or_else(missing)?;
    let expression = parse(text).map_err(|error| usage(anyhow!(error.pointing_into(text))))?;
    let (folder, manifest) = ResultFolder::open(path).map_err(not_opened)?;
    let folder = folder.stopped_by(stop);
    let limits = MatchLimits { read: u64::MAX, listed: args.limit };
    Ok(matches(&folder, &manifest, &expression, limits, |done, total| {
        progress.show(&Step::of("reading the records", done, Some(total), Unit::Count));
    })?)
}
