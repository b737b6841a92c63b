//! The statements of `flashscope bench` about a drive, with its default method.

use std::error::Error;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use flashscope_analysis::analyse;
use flashscope_command::bench::{Part, bench_part};
use flashscope_document::facts::{CheapLimit, Facts};
use flashscope_result::ResultFolder;
use flashscope_stats::Estimate;

use crate::quantity::Quantity;

/// The parts of the plan that the statements follow from.
const NEEDED: [Part; 8] = [
    Part::all("preparation"),
    Part::of("granularity", "RR"),
    Part::of("alignment", "RR"),
    Part::of("locality", "RW"),
    Part::of("partitioning", "SW"),
    Part::of("order", "SW"),
    Part::of("pause", "RW"),
    Part::of("parallelism", "RR"),
];

/// Measures the simulated drive `name` by the default method, into the folder at `place`, or
/// analyses the result that already exists.
///
/// # Errors
/// Returns an error if the drive cannot be measured.
pub fn measure(name: &str, seed: u64, place: &Path) -> Result<Facts, Box<dyn Error>> {
    if place.exists() {
        let (folder, manifest) = ResultFolder::open(place)?;
        return Ok(analyse(&folder, &manifest)?);
    }
    let place = place.to_str().ok_or("the name of the folder is not Unicode")?;
    let (drive, seed) = (format!("sim:{name}"), seed.to_string());
    let words = [&drive, "--seed", &seed, "--output", place].map(String::from);
    let stop = AtomicBool::new(false);
    Ok(bench_part(&words, &NEEDED, &stop, &mut ()).map_err(|failure| failure.message())?.facts)
}

/// A value with the interval that the benchmark states.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statement {
    /// The value.
    pub value: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end of its 95 % interval.
    pub high: f64,
}

/// Returns the statement of the facts about a quantity; `None` if there is none.
pub fn stated(facts: &Facts, quantity: Quantity) -> Option<Statement> {
    let of = &facts.characteristics;
    match quantity {
        Quantity::SequentialRead => estimate(of.sequential_read_ns?),
        Quantity::RandomRead => estimate(of.random_read_ns?),
        Quantity::SequentialWrite => estimate(of.sequential_write_ns?),
        Quantity::RandomWrite => estimate(of.random_write_ns?),
        Quantity::ReadSize => read_size(facts),
        Quantity::ReadShift => evidence(facts, "random reads shifted by", ""),
        Quantity::ConcurrentReads => evidence(facts, "random reads a second", "one at a time"),
        Quantity::Locality => limit(of.locality?),
        Quantity::Partitions => limit(of.partitioning?),
    }
}

#[allow(clippy::unnecessary_wraps, reason = "the arms of `stated` all return an `Option`")]
fn estimate(of: Estimate) -> Option<Statement> {
    let Estimate { value, low, high } = of;
    Some(Statement { value, low: low.unwrap_or(value), high: high.unwrap_or(f64::INFINITY) })
}

/// Returns the first evidence of the hints whose description starts with `start` and ends with
/// `end`.
fn evidence(facts: &Facts, start: &str, end: &str) -> Option<Statement> {
    let mut all = facts.hints.iter().flat_map(|hint| &hint.evidence);
    estimate(all.find(|one| one.what.starts_with(start) && one.what.ends_with(end))?.value)
}

/// Returns the size that an evidence names, such as
/// "random reads: a byte in IOs of 16 KiB, relative to the best
/// size".
fn read_size(facts: &Facts) -> Option<Statement> {
    let mut all = facts.hints.iter().flat_map(|hint| &hint.evidence);
    let size = all.find_map(|one| {
        let rest = one.what.strip_prefix("random reads: a byte in IOs of ")?;
        rest.split_once(',')?.0.replace(' ', "").parse::<flashscope_block::Bytes>().ok()
    })?;
    #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
    let value = size.0 as f64;
    Some(Statement { value, low: value, high: value })
}

#[allow(clippy::cast_precision_loss, reason = "sizes and counts are far below 2^53")]
fn limit(of: CheapLimit) -> Option<Statement> {
    let [value, low, high] = match of {
        CheapLimit::No => [0.0; 3],
        CheapLimit::Unlimited { .. } => [f64::INFINITY; 3],
        CheapLimit::UpTo { value, range: Some(range), .. } => {
            [value, range.low, range.high].map(|value| value as f64)
        }
        CheapLimit::UpTo { value, range: None, .. } => [value as f64; 3],
    };
    Some(Statement { value, low, high })
}
