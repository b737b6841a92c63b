use flashscope_document::facts::{Bounded, PauseEffect};
use flashscope_sim::Profile;
use flashscope_stats::Estimate;
use flashscope_workload::uflip::Baseline;

use super::bench::{Measured, Method, measure};
use super::{DTHX, DTI, MEMORIGHT, MLC, MODULE, MTRON, OFF, SAMSUNG, SEED};
use crate::{Claim, Error, Found, Item, Paper, Run, State, Tolerance};

/// Section 5.2.
pub const TABLE_3: Item = Item {
    id: "uflip-table3",
    paper: Paper::Uflip,
    place: "Table 3",
    title: "result summary: the key characteristics of seven drives",
    stands: State::Explained,
    inputs: &[MEMORIGHT, MTRON, SAMSUNG, MODULE, MLC, DTHX, DTI, SEED],
    run,
};

/// A row as it is printed: times in ms; ratios to SW, of large increments to RW, with `=` as 1.
pub(super) struct Row {
    pub drive: &'static str,
    /// Whether its runs are of 512 IOs.
    pub small: bool,
    baselines: [f64; 4],
    pause: Option<f64>,
    /// MB, and the ratio up to there.
    locality: Option<[f64; 2]>,
    /// How many, and the ratio up to there.
    partitions: [f64; 2],
    reverse: f64,
    in_place: f64,
    large: f64,
}

pub(super) const ROWS: [Row; 7] = [
    Row {
        drive: MEMORIGHT.name,
        small: false,
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
        small: false,
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
        small: false,
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
        small: true,
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
        small: false,
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
        small: true,
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
        small: true,
        baselines: [1.9, 2.2, 2.9, 256.0],
        pause: None,
        locality: None,
        partitions: [4.0, 5.0],
        reverse: 8.0,
        in_place: 40.0,
        large: 1.0,
    },
];

const DIGITS: &str = "it is printed to so few digits: what is found rounds to it";

const STEPS: &str = "ratios are printed as =, x1.5 and whole numbers, of which the largest have one digit: what is found rounds to it";

const POWERS: &str =
    "pauses are 0.1 ms times powers of two (Table 1): it is the next one after what is printed";

pub(super) const COVERED: &str = "the log blocks of the simulated drive cover a larger area: it has as many as partitions need, of the size that \
                       random writes ask for, and it takes no fewer of them for random writes";

const ALIKE: &str = "a log block is filled and merged by writes in reverse as by those in place: the simulated drive has no reason for a \
                     difference";

const FILLED: &str = "writes in place fill a log block before it is merged, so that a merge, which costs what a random write does \
                      less an erase, is shared by as many as there are pages in it";

const QUARTER: &str = "as many are counted as good as cost a quarter of the dearest; in twice as many as printed \"the write performance \
                       degrades significantly\", to more than twice the cost, but not by as much";

const CHANCE: &str = "a log block that is given up too early is a merge that a random write costs, and which one is given up is drawn: a \
                      run has a few dozen of them, two standard deviations of which are allowed for";

/// What counts as a significant loss.
const DEGRADES: f64 = 2.0;

/// How far what follows from other figures of the same drive may be off.
const DERIVED: Tolerance = Tolerance::Share(0.2);

const MIB: i64 = 1 << 20;

fn run(run: &Run<'_>) -> Result<Found, Error> {
    let mut claims = Vec::new();
    for row in &ROWS {
        let method = if row.small { Method::small(run) } else { Method::ssd(run) };
        let found = measure(row.drive, method, wanted, run)?;
        #[allow(clippy::cast_precision_loss, reason = "thousands")]
        let count = method.io_count.sequential_write as f64;
        claims.extend(row.claims(&found, &run.profile(row.drive)?, count));
    }
    Ok(claims.into())
}

/// What the columns are of: the baselines, RW by pause and area, SW by partitions and increments.
pub(super) fn wanted(benchmark: &str, experiment: &str, value: i64) -> bool {
    match (benchmark, experiment) {
        ("alignment", _) => value == 0,
        ("pause" | "locality", "RW") | ("partitioning", "SW") => true,
        ("order", "SW") => value <= 1 || (MIB..=8 * MIB).contains(&(value * (32 << 10))),
        _ => false,
    }
}

impl Row {
    pub fn claims(&self, found: &Measured, profile: &Profile, count: f64) -> Vec<Claim> {
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
        #[allow(clippy::cast_possible_truncation, reason = "printed")]
        let cost = |limit: f64, benchmark: &str, experiment: &str| {
            dearest(&found.means(benchmark, experiment), limit as i64) / sw
        };
        match &self.locality {
            Some([limit, printed]) => {
                let covered = (covered(profile), Tolerance::Absolute(0.0), COVERED);
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
                of.locality == Some(Bounded::No),
            )),
        }
        let [limit, printed] = self.partitions;
        let partitioned = cost(limit, "partitioning", "SW");
        let (bound, beyond) = (up_to(of.partitioning), cost(2.0 * limit, "partitioning", "SW"));
        let degrades = bound.filter(|_| beyond >= DEGRADES * partitioned).unwrap_or(limit);
        let why = (degrades, Tolerance::Absolute(0.0), QUARTER);
        claims.push(self.bound("partitions", "", limit, bound, &[why]));
        let rw = found.baseline(Baseline::RandomWrite);
        let why = [of_ratio(printed), (printed, by_chance(printed, sw, rw, count), CHANCE)];
        claims.push(self.number("SW in so many", "SW", printed, partitioned, &why));
        let (reverse, in_place) = (ratio(of.reverse), ratio(of.in_place));
        let alike = (in_place, DERIVED, ALIKE);
        let why = [of_ratio(self.reverse), alike];
        claims.push(self.number("reverse", "SW", self.reverse, reverse, &why));
        let sr = found.baseline(Baseline::SequentialRead);
        let merge = rw - profile.flash.block_erase.as_secs_f64() * 1e3;
        let filled = (sr + merge / f64::from(profile.flash.pages_per_block)) / sw;
        let why = [of_ratio(self.in_place), (filled, DERIVED, FILLED)];
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
        found: f64,
        why: &[Why],
    ) -> Claim {
        explained(
            Claim::close((format!("{}: {column}", self.drive), unit), printed, found, OFF),
            why,
        )
    }

    fn bound(
        &self,
        column: &str,
        unit: &'static str,
        printed: f64,
        found: Option<f64>,
        why: &[Why],
    ) -> Claim {
        let what = (format!("{}: {column}", self.drive), unit);
        let found = found.unwrap_or(0.0);
        explained(Claim::number(what, printed, found, Tolerance::Absolute(0.0)), why)
    }

    fn pause(&self, found: Option<PauseEffect>) -> Claim {
        let Some(printed) = self.pause else {
            let what = format!("{}: a pause has no effect on random writes", self.drive);
            return Claim::statement(what, format!("{found:?}"), found == Some(PauseEffect::None));
        };
        let found = match found {
            Some(PauseEffect::AsSequential { pause_ns }) => pause_ns.as_secs_f64() * 1e3,
            _ => f64::NAN,
        };
        let mut next = 0.1;
        while next < printed {
            next *= 2.0;
        }
        let what = format!("{}: pause with which RW is SW", self.drive);
        let next = (next, Tolerance::Absolute(0.01), POWERS);
        explained(Claim::close((what, "ms"), printed, found, OFF), &[next])
    }
}

/// What is expected instead of what is printed, and why.
type Why = (f64, Tolerance, &'static str);

/// A claim with the first of the reasons that predicts what is found, where that is not what is printed.
fn explained(claim: Claim, why: &[Why]) -> Claim {
    let of = |claim: Claim, (expected, tolerance, why): &Why| match claim.state {
        State::Fail => claim.unless(*expected, *tolerance, why),
        State::Pass | State::Explained => claim,
    };
    why.iter().fold(claim, of)
}

/// MB that all log blocks cover together, as a power of two.
pub(super) fn covered(profile: &Profile) -> f64 {
    let (flash, log) = (&profile.flash, &profile.log);
    let per_log_block = if profile.ftl == "n-k" { log.group.max(1) } else { 1 };
    let blocks = u64::from(flash.packages) * u64::from(log.blocks) * u64::from(per_log_block);
    let bytes = blocks * u64::from(flash.pages_per_block) * flash.page_size.0;
    #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
    let mb = (bytes >> 20) as f64;
    mb.log2().floor().exp2()
}

/// How far the cost of partitions may be off by chance, where it comes of merges of `rw` ms in a run of so many IOs.
fn by_chance(printed: f64, sw: f64, rw: f64, count: f64) -> Tolerance {
    let merges = (printed - 1.0) * sw * count / rw;
    Tolerance::Absolute(2.0 * merges.sqrt() * rw / (sw * count))
}

/// How far a time is from what is printed at most, that is printed so.
fn of_time(printed: f64) -> Why {
    let half = if printed < 5.0 { 0.05 } else { 0.5 };
    (printed, Tolerance::Absolute(half), DIGITS)
}

/// The same for a ratio.
fn of_ratio(printed: f64) -> Why {
    let half = match printed {
        0.0..1.0 => 0.05,
        1.0..2.0 => 0.25,
        20.0 | 40.0 => 5.0,
        _ => 0.5,
    };
    (printed, Tolerance::Absolute(half), STEPS)
}

#[allow(clippy::cast_precision_loss, reason = "sizes of areas are far below 2^53")]
fn up_to(bounded: Option<Bounded>) -> Option<f64> {
    match bounded {
        Some(Bounded::UpTo { value, .. }) => Some(value as f64),
        Some(Bounded::Unlimited { measured, .. }) => Some(measured as f64),
        Some(Bounded::No) | None => None,
    }
}

/// The dearest mean of a value up to `limit`; of areas, from 1 MiB on: smaller ones are written in place.
pub(super) fn dearest(means: &[(i64, f64)], limit: i64) -> f64 {
    let least = if limit >= MIB { MIB } else { 1 };
    let within = means.iter().filter(|(value, _)| (least..=limit).contains(value));
    within.map(|(_, mean)| *mean).fold(f64::NAN, f64::max)
}
