use flashscope_document::facts::{CheapLimit, PauseEffect};
use flashscope_sim::Profile;
use flashscope_sim::ftl::{self, Family, LogSharing};
use flashscope_stats::Estimate;
use flashscope_workload::uflip::Baseline;

use super::bench::{Measurement, section_5_2};
use super::{DTHX, DTI, MEMORIGHT, MLC, MODULE, MTRON, OFF, SAMSUNG, SEED};
use crate::{Claim, Error, Item, Outcome, Paper, Run, State, Tolerance};

/// Table 3, in section 5.2.
pub(crate) const TABLE_3: Item = Item {
    id: "uflip-table3",
    paper: Paper::Uflip,
    place: "Table 3",
    title: "result summary: the key characteristics of seven drives",
    expected: State::NotReproduced,
    inputs: &[MEMORIGHT, MTRON, SAMSUNG, MODULE, MLC, DTHX, DTI, SEED],
    run,
};

/// A printed row: times in ms, ratios to SW, and large increments as a ratio to RW; 1 for a printed
/// `=`.
pub(super) struct Row {
    pub drive: &'static str,
    baselines: [f64; 4],
    pause: Option<f64>,
    /// The area in MB, and the ratio within it.
    pub locality: Option<[f64; 2]>,
    /// The number of partitions, and the ratio with that many partitions.
    partitions: [f64; 2],
    reverse: f64,
    in_place: f64,
    large: f64,
}

pub(super) const ROWS: [Row; 7] = [
    Row {
        drive: MEMORIGHT.name,
        baselines: [0.3, 0.4, 0.3, 5.0],
        pause: Some(5.0),
        locality: Some([8.0, 1.0]),
        partitions: [8.0, 1.0],
        reverse: 1.0,
        in_place: 1.0,
        large: 4.0,
    },
    Row {
        drive: MTRON.name,
        baselines: [0.4, 0.5, 0.4, 9.0],
        pause: Some(9.0),
        locality: Some([8.0, 2.0]),
        partitions: [4.0, 1.5],
        reverse: 1.0,
        in_place: 1.0,
        large: 2.0,
    },
    Row {
        drive: SAMSUNG.name,
        baselines: [0.5, 0.5, 0.6, 18.0],
        pause: None,
        locality: Some([16.0, 1.5]),
        partitions: [4.0, 2.0],
        reverse: 1.5,
        in_place: 0.6,
        large: 2.0,
    },
    Row {
        drive: MODULE.name,
        baselines: [1.2, 1.3, 1.7, 18.0],
        pause: None,
        locality: Some([4.0, 2.0]),
        partitions: [4.0, 2.0],
        reverse: 3.0,
        in_place: 2.0,
        large: 2.0,
    },
    Row {
        drive: MLC.name,
        baselines: [1.4, 3.0, 2.6, 233.0],
        pause: None,
        locality: Some([4.0, 1.0]),
        partitions: [4.0, 2.0],
        reverse: 2.0,
        in_place: 2.0,
        large: 1.0,
    },
    Row {
        drive: DTHX.name,
        baselines: [1.3, 1.5, 1.8, 270.0],
        pause: None,
        locality: Some([16.0, 20.0]),
        partitions: [8.0, 20.0],
        reverse: 7.0,
        in_place: 6.0,
        large: 1.0,
    },
    Row {
        drive: DTI.name,
        baselines: [1.9, 2.2, 2.9, 256.0],
        pause: None,
        locality: None,
        partitions: [4.0, 5.0],
        reverse: 8.0,
        in_place: 40.0,
        large: 1.0,
    },
];

const DIGITS: &str = "the printed value has few digits: the measured value rounds to it";

const STEPS: &str = "ratios are printed as =, x1.5 and whole numbers, large ones with one digit: the measured value rounds to it";

const POWERS: &str = "pauses are 0.1 ms times powers of two (Table 1): the result is the next pause above the printed value";

pub(super) const COVERED: &str = "the log blocks of the simulated drive cover a larger area: their number follows from the partitions, their size from \
                      random writes, and random writes use all of them";

const ALIKE: &str = "reverse writes fill and merge a log block just as in-place writes do: on the simulated \
                    drive, both cost the same";

const FILLED: &str = "writes in place fill a log block before its merge, which costs as much as a random write \
                     less an erase: each page of the log block bears its share";

const CHANCE: &str = "a log block that is evicted early costs a merge like a random write, and the victim is random: a \
                     run has a few dozen such merges, and the tolerance is two standard deviations";

/// The tolerance of values derived from other values of the same drive.
const DERIVED: Tolerance = Tolerance::Share(0.2);

const MIB: i64 = 1 << 20;

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let mut claims = Vec::new();
    let measured = section_5_2(&ROWS.map(|row| row.drive), run)?;
    for (row, found) in ROWS.iter().zip(measured) {
        claims.extend(row.claims(&found, &run.profile(row.drive)?));
    }
    Ok(claims.into())
}

impl Row {
    fn claims(&self, found: &Measurement, profile: &Profile) -> Vec<Claim> {
        let of = &found.facts.characteristics;
        let sw = found.baseline(Baseline::SequentialWrite);
        let ratio = |of: Option<Estimate>| of.map_or(f64::NAN, |estimate| estimate.value);
        let mut claims: Vec<Claim> = Baseline::ALL
            .into_iter()
            .zip(self.baselines)
            .map(|(of, printed)| {
                self.number(of.name(), "ms", printed, found.baseline(of), &[of_time(printed)])
            })
            .collect();
        claims.push(self.pause(of.pause));
        #[allow(clippy::cast_precision_loss, reason = "areas are far below 2^53")]
        let mb = MIB as f64;
        let area = up_to(of.locality).map(|bytes| bytes / mb);
        #[allow(clippy::cast_possible_truncation, reason = "printed limits are whole and small")]
        let cost = |limit: f64, benchmark: &str, experiment: &str| {
            slowest(&found.means(benchmark, experiment), limit as i64) / sw
        };
        match &self.locality {
            Some([limit, printed]) => {
                let covered = Why::Missing(covered(profile), Tolerance::Absolute(0.0), COVERED);
                claims.push(self.bound("locality", "MB", *limit, area, &[covered]));
                let cost = cost(limit * mb, "locality", "RW");
                claims.push(self.number(
                    "RW in that area",
                    "SW",
                    *printed,
                    cost,
                    &[of_ratio(*printed)],
                ));
            }
            None => claims.push(Claim::statement(
                format!("{}: locality: No", self.drive),
                area.map_or("none".into(), |mb| format!("{mb} MB")),
                of.locality == Some(CheapLimit::No),
            )),
        }
        let [limit, printed] = self.partitions;
        let partitioned = cost(limit, "partitioning", "SW");
        claims.push(self.bound("partitions", "", limit, up_to(of.partitioning), &[]));
        let rw = found.baseline(Baseline::RandomWrite);
        #[allow(clippy::cast_possible_truncation, reason = "printed limits are whole and small")]
        let count = found.counted("partitioning", "SW", limit as i64);
        #[allow(clippy::cast_precision_loss, reason = "thousands of IOs")]
        let chance = by_chance(printed, sw, rw, count as f64);
        let why = [of_ratio(printed), Why::Missing(printed, chance, CHANCE)];
        claims.push(self.number("SW with that many partitions", "SW", printed, partitioned, &why));
        let (reverse, in_place) = (ratio(of.reverse), ratio(of.in_place));
        let alike = Why::Missing(in_place, DERIVED, ALIKE);
        let why = [of_ratio(self.reverse), alike];
        claims.push(self.number("reverse", "SW", self.reverse, reverse, &why));
        let sr = found.baseline(Baseline::SequentialRead);
        let merge = rw - profile.flash.block_erase.as_secs_f64() * 1e3;
        let filled = (sr + merge / f64::from(profile.flash.pages_per_block)) / sw;
        let why = [of_ratio(self.in_place), Why::Missing(filled, DERIVED, FILLED)];
        claims.push(self.number("in-place", "SW", self.in_place, in_place, &why));
        let (printed, large) = (self.large, ratio(of.large_increments));
        claims.push(self.number("large increments", "RW", printed, large, &[of_ratio(printed)]));
        claims
    }

    fn number(
        &self,
        column: &str,
        unit: &'static str,
        printed: f64,
        measured: f64,
        why: &[Why],
    ) -> Claim {
        explained(
            Claim::within((format!("{}: {column}", self.drive), unit), printed, measured, OFF),
            why,
        )
    }

    fn bound(
        &self,
        column: &str,
        unit: &'static str,
        printed: f64,
        measured: Option<f64>,
        why: &[Why],
    ) -> Claim {
        let what = (format!("{}: {column}", self.drive), unit);
        let measured = measured.unwrap_or(0.0);
        explained(Claim::number(what, printed, measured, Tolerance::Absolute(0.0)), why)
    }

    fn pause(&self, effect: Option<PauseEffect>) -> Claim {
        let Some(printed) = self.pause else {
            let what = format!("{}: a pause has no effect on random writes", self.drive);
            return Claim::statement(
                what,
                format!("{effect:?}"),
                effect == Some(PauseEffect::None),
            );
        };
        let measured = match effect {
            Some(PauseEffect::AsSequential { pause_ns }) => pause_ns.as_secs_f64() * 1e3,
            _ => f64::NAN,
        };
        let mut next = 0.1;
        while next < printed {
            next *= 2.0;
        }
        let what = format!("{}: pause that makes RW as fast as SW", self.drive);
        let next = Why::Missing(next, Tolerance::Absolute(0.01), POWERS);
        explained(Claim::within((what, "ms"), printed, measured, OFF), &[next])
    }
}

/// A reason for a difference.
enum Why {
    /// The measured value rounds to the printed one: it differs by at most this much.
    Rounding(f64, &'static str),
    /// The drive or the rule differs from the paper's, which predicts this value.
    Missing(f64, Tolerance, &'static str),
}

/// Attaches the first reason that applies, if the claim does not hold.
fn explained(claim: Claim, why: &[Why]) -> Claim {
    why.iter().fold(claim, |claim, why| match *why {
        Why::Rounding(half, why) => claim.rounded(half, why),
        Why::Missing(expected, tolerance, why) => claim.not_reproduced_by(expected, tolerance, why),
    })
}

/// Returns the area in MB that all log blocks cover together, rounded down to a power of two.
pub(super) fn covered(profile: &Profile) -> f64 {
    let (flash, log) = (&profile.flash, &profile.log);
    let sharing = ftl::family(&profile.ftl).and_then(Family::sharing);
    let per_log_block = if sharing == Some(LogSharing::Group) { log.group.max(1) } else { 1 };
    let blocks = u64::from(flash.packages) * u64::from(log.blocks) * u64::from(per_log_block);
    let bytes = blocks * u64::from(flash.pages_per_block) * flash.page_size.0;
    #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
    let mb = (bytes >> 20) as f64;
    mb.log2().floor().exp2()
}

/// Returns the tolerance for chance in the cost of partitions, if that cost consists of merges of
/// `rw` ms each in runs of `count` IOs.
fn by_chance(printed: f64, sw: f64, rw: f64, count: f64) -> Tolerance {
    let merges = (printed - 1.0) * sw * count / rw;
    Tolerance::Absolute(2.0 * merges.sqrt() * rw / (sw * count))
}

/// Explains the rounding of a printed time.
fn of_time(printed: f64) -> Why {
    let half = if printed < 5.0 { 0.05 } else { 0.5 };
    Why::Rounding(half, DIGITS)
}

/// Explains the rounding of a printed ratio.
fn of_ratio(printed: f64) -> Why {
    let half = match printed {
        0.0..1.0 => 0.05,
        1.0..2.0 => 0.25,
        20.0 | 40.0 => 5.0,
        _ => 0.5,
    };
    Why::Rounding(half, STEPS)
}

#[allow(clippy::cast_precision_loss, reason = "sizes of areas are far below 2^53")]
fn up_to(bounded: Option<CheapLimit>) -> Option<f64> {
    match bounded {
        Some(CheapLimit::UpTo { value, .. }) => Some(value as f64),
        Some(CheapLimit::Unlimited { measured, .. }) => Some(measured as f64),
        Some(CheapLimit::No) | None => None,
    }
}

/// Returns the largest mean of the values up to `limit`. Areas below 1 MiB do not count, because
/// writes to them are writes in place.
pub(super) fn slowest(means: &[(i64, f64)], limit: i64) -> f64 {
    let least = if limit >= MIB { MIB } else { 1 };
    let within = means.iter().filter(|(value, _)| (least..=limit).contains(value));
    within.map(|(_, mean)| *mean).fold(f64::NAN, f64::max)
}
