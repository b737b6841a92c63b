//! The kind of SLC cache, static or dynamic: compares its size in a nearly full drive with its size
//! in the empty drive.
//!
//! A static cache has its own blocks. A dynamic cache borrows cells without data, and is largest in
//! an empty drive. A cache that holds valid data has less room for new data. The probe therefore
//! writes a region, which the cache then holds, and trims it.

use flashscope_block::Nanos;

use super::slc_cache::FillCosts;
use crate::levels::within_errors;
use crate::outcome::Outcome;
use crate::{Answer, Cost, Fill, Finding, Halt, Knowledge, Lab, Parameter, Probe, Request};

/// The length of writes, in bytes.
const LEN: u64 = 128 << 10;

/// The size of the region relative to the cache, large enough to show the end of the cache.
const REGION: u64 = 4;

/// The capacity of the drive divided by the maximum size of the region. Nearly all other addresses
/// hold data.
const MAX_SHARE_DIVISOR: u64 = 2;

/// The idle pause before the cache is filled again: longer than erasing it takes.
const REST: Nanos = Nanos::secs(2);

/// The ratio of sizes above which the cache is static. A dynamic cache is smaller in a nearly full
/// drive, because it borrows free cells.
const SAME: f64 = 0.7;

/// The spread of the ratio for a static cache, some of whose blocks may or may not be erased when
/// writes begin.
const SPREAD: f64 = 0.1;

const KIND: Parameter = Parameter::SlcCacheKind;

pub(super) const PROBE: Probe = Probe {
    name: "slc-cache-kind",
    summary: "writes a region of a full drive, trims it and writes it again: the bandwidth falls after as \
                 many bytes as on the empty drive, or sooner",
    source: "whole-drive fills, as reviewers of drives run them at several fill levels",
    finds: &[KIND],
    assumes: &[Parameter::SlcCache],
    writes: true,
    cost: |scene, knowledge| {
        let region = region(knowledge, scene.capacity.0).unwrap_or(0);
        let Cost { written, time } = scene.cost(0, 2 * region / LEN, LEN);
        Cost { written, time: time + REST }
    },
    run,
};

/// Returns the bytes that are written twice, if the size of the cache is known.
fn region(knowledge: &Knowledge, capacity: u64) -> Option<u64> {
    let cache = knowledge.whole(Parameter::SlcCache)? + buffer(knowledge);
    Some((REGION * cache).min(capacity / MAX_SHARE_DIVISOR) / LEN * LEN)
}

fn buffer(knowledge: &Knowledge) -> u64 {
    knowledge.whole(Parameter::WriteBuffer).unwrap_or(0)
}

/// The highest probability of a static cache.
const MAX_STATIC_PROBABILITY: f64 = 0.97;

/// The highest probability of a dynamic cache. A static cache that the drive has not emptied
/// completely looks the same.
const MAX_DYNAMIC_PROBABILITY: f64 = 0.7;

fn run(lab: &mut Lab<'_>, knowledge: &Knowledge) -> Result<Outcome, Halt> {
    if lab.attempt > 0 {
        // Another attempt cannot show whether there is a cache.
        return Ok(Outcome::default());
    }
    let unknown = |why: &str| Ok(vec![Finding::unknown(KIND, why)].into());
    let Some(cache) = knowledge.finding(Parameter::SlcCache).filter(|cache| cache.is_known())
    else {
        return unknown("it is not known whether the drive has an SLC cache");
    };
    if cache.answer == Answer::Absent {
        let absent = Finding::absent(KIND, cache.probability).because("the drive has no SLC cache");
        return Ok(vec![absent.shown_by(cache)].into());
    }
    let Some(region) = region(knowledge, lab.capacity()).filter(|region| *region >= 8 * LEN) else {
        return unknown("the cache is too small to find its end");
    };
    lab.ensure_filled()?;
    let writes = || (0..region / LEN).map(|nth| Request::write(nth * LEN, LEN));
    let end = [Request::flush()];
    let mut runs = vec![lab.run("write a region of a full drive", writes().chain(end))?.number];
    let trims = (0..region).step_by(1 << 20);
    let trims = trims.map(|at| Request::trim(at, (region - at).min(1 << 20)));
    match lab.run("trim the region", trims.chain(end)) {
        Ok(run) => runs.push(run.number),
        Err(Halt::Failed { .. }) => {
            return unknown("the drive failed the trims that would empty the cache");
        }
        Err(halt) => return Err(halt),
    }
    lab.idle(REST);
    let again = lab.run("write the region again", writes())?;
    runs.push(again.number);
    let again = Fill::of(&again);
    let fill = FillCosts::new(&again, knowledge);
    let finding = kind(cache, fill.size()).runs(runs);
    let title = "Cost of the writes that fill a trimmed region of a full drive";
    Ok(vec![finding.signal(fill.picture(title))].into())
}

/// Returns the kind, from the sizes of the cache in a full and in an empty drive.
fn kind(cache: &Finding, full: Option<f64>) -> Finding {
    let Answer::Value { value: empty, .. } = cache.answer else {
        return Finding::unknown(KIND, "the size of the cache is not known");
    };
    let Some(full) = full else {
        let why = "no writes to a full drive are faster than others: the cache was not emptied, or has \
                          disappeared";
        return Finding::unknown(KIND, why);
    };
    let ratio = full / empty;
    let class = if ratio > SAME { "static" } else { "dynamic" };
    let most = if class == "static" { MAX_STATIC_PROBABILITY } else { MAX_DYNAMIC_PROBABILITY };
    let errors = (ratio - SAME).abs() / SPREAD;
    let clear = f64::midpoint(1.0, within_errors(errors));
    Finding::class(KIND, class, clear * cache.probability.min(most)).because(format!(
        "the cache takes {:.1} MiB on a nearly full drive, and {:.1} MiB on an empty one",
        full / 1_048_576.0,
        empty / 1_048_576.0
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Without a cliff in the full drive, the kind is unknown.
    #[test]
    fn a_cache_that_shrinks_in_a_full_drive_is_dynamic() {
        let cache = Finding::exact(Parameter::SlcCache, 4e6, 0.98);
        let class = |full: Option<f64>| kind(&cache, full).answer;
        let is = |class: &str| Answer::Class { class: class.into() };
        assert_eq!(class(Some(3.8e6)), is("static"));
        assert_eq!(class(Some(1e6)), is("dynamic"));
        assert!(!kind(&cache, None).is_known());
        assert!(kind(&cache, Some(2.9e6)).probability < 0.7);
    }
}
