use flashscope_block::Data;
use flashscope_sim::gc::Ties;
use flashscope_sim::setup::{Scope, Transfer};

use super::PAGE;
use super::workloads::NOT_PUBLIC;
use crate::test_bed::TestBed;
use crate::{
    Axis, Claim, Error, Figure, Input, Item, Outcome, Paper, Run, Series, State, Tolerance,
};

/// Table 7, in section 5.1.
pub(crate) const TABLE_7: Item = Item {
    id: "agrawal-table7",
    paper: Paper::Agrawal,
    place: "Tables 7 and 8, section 5.1",
    title: "block wear under three wear-leveling policies, with another workload than the trace, on one plane",
    expected: State::NotReproduced,
    inputs: &[
        Input {
            name: "drive",
            summary: "the simulated drive: a plane of the baseline",
            value: "agrawal-2008?flash.packages=1&flash.dies_per_package=1&flash.planes_per_die=1",
            other: "agrawal-2008?flash.packages=1&flash.dies_per_package=1&flash.planes_per_die=1&over_provisioning=0.3",
        },
        Input {
            name: "lifetime",
            summary: "the erases that a block endures (section 5.1)",
            value: "50",
            other: "80",
        },
    ],
    run,
};

/// Printed values: mean remaining lifetime, its standard deviation, expired blocks of 16,384.
const PRINTED: [(&str, &str, [f64; 3]); 3] = [
    ("greedy", "none", [43.82, 13.47, 223.0]),
    ("with rate-limiting", "rate-limit", [43.82, 13.42, 153.0]),
    ("with migration", "migrate", [43.34, 5.71, 0.0]),
];

/// Printed number of blocks of a package in each class of Table 8.
const TABLE_8: [[f64; 4]; 3] = [
    [1442.0, 1323.0, 523.0, 13_096.0],
    [1449.0, 1341.0, 501.0, 13_092.0],
    [0.0, 0.0, 8987.0, 7397.0],
];
const BLOCKS: f64 = 16_384.0;

/// Printed migrations per cleaned block, and the relative cost of migration in response time.
const MIGRATIONS: f64 = 7902.0 / 101_170.0;
const OVERHEAD: f64 = 0.047;

/// The number of runs per policy, each with its own seed; a full reproduction doubles it.
const RUNS: u64 = 2;

/// The wear of a drive. Counts are sums over the runs, other values are averages.
#[derive(Default)]
struct Wear {
    mean: f64,
    deviation: f64,
    expired: f64,
    /// Shares of blocks by remaining lifetime relative to the mean: below 40 %, 80 %, 100 %, and
    /// above.
    classes: [f64; 4],
    migrations: f64,
    cleanings: f64,
    /// The mean response time in ms.
    took: f64,
}

/// Wears the drive out as IOzone wears out the paper's drive. Overwrites 5 % of the drive in
/// sequence until the writes reach seven times the capacity; one write in 500 goes to the other 95
/// %.
/// Ties go to the most recently superseded block (`Ties::Youngest`), which concentrates the erases
/// on
/// few blocks. Returns the mean response time in ms.
#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn wear_out(bed: &mut TestBed, seed: u64, run: &Run<'_>) -> Result<f64, Error> {
    let pages = bed.capacity() / PAGE;
    let (hot, mut random, mut sum) = (pages / 20, fastrand::Rng::with_seed(seed), 0.0);
    for write in 0..7 * pages {
        if write.is_multiple_of(1 << 16) {
            run.check_interrupt()?;
        }
        let page = if random.u32(..500) > 0 { write % hot } else { random.u64(hot..pages) };
        sum += bed.write(Data::Random, page * PAGE)?;
    }
    Ok(sum / (7 * pages) as f64)
}

#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn measure_wear(policy: &str, lifetime: u32, runs: u64, run: &Run<'_>) -> Result<Wear, Error> {
    let mut profile = run.profile("drive")?;
    profile.active_blocks = Scope::Plane;
    profile.cleaning.transfer = Transfer::CopyBack;
    profile.cleaning.ties = Ties::Youngest;
    profile.reliability.block_lifetime = lifetime;
    profile.wear.policy = policy.into();
    let (mut wear, share) = (Wear::default(), 1.0 / runs as f64);
    for seed in 1..=runs {
        let mut bed = TestBed::filled(&profile, Data::Random)?;
        wear.took += wear_out(&mut bed, seed, run)? * share;
        let left = |erases: u32| f64::from(lifetime) - f64::from(erases);
        let left: Vec<f64> = bed.drive.nand().erase_counts().map(left).collect();
        let count = left.len() as f64;
        let mean = left.iter().sum::<f64>() / count;
        let variance = left.iter().map(|left| (left - mean).powi(2)).sum::<f64>() / count;
        for left in left {
            wear.classes[[0.4, 0.8, 1.0].iter().filter(|limit| left >= *limit * mean).count()] +=
                share / count;
        }
        let (health, counters) = (bed.drive.health(), bed.drive.counters());
        wear.mean += mean * share;
        wear.deviation += variance.sqrt() * share;
        wear.expired += health.expired_blocks as f64;
        wear.migrations += health.migrations as f64;
        wear.cleanings += counters.cleanings() as f64;
    }
    Ok(wear)
}

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let lifetime = run.number("lifetime")?;
    let runs = if run.full { 2 * RUNS } else { RUNS };
    let (mut claims, mut all) = (Vec::new(), Vec::new());
    for (name, policy, [mean, ..]) in PRINTED {
        let wear = measure_wear(policy, lifetime, runs, run)?;
        claims.push(Claim::within((format!("mean lifetime, {name}"), ""), mean, wear.mean, 0.01));
        all.push(wear);
    }
    let [greedy, limited, migrated] = [&all[0], &all[1], &all[2]];
    let deviations =
        format!("{:.2}, {:.2}, {:.2}", greedy.deviation, limited.deviation, migrated.deviation);
    let expired = format!("{}, {}, {}", greedy.expired, limited.expired, migrated.expired);
    claims.extend([
        Claim::statement(
            "invoking migration gives a much smaller standard deviation of remaining block lifetimes (13.47, 13.42, 5.71)",
            deviations,
            (limited.deviation / greedy.deviation - 1.0).abs() < 0.01 && migrated.deviation < greedy.deviation / 2.0,
        ),
        Claim::statement(
            "fewer blocks reach expiry when rate-limiting is used than without it; with migration, there were no block \
             expiries (223, 153, 0)",
            expired,
            greedy.expired > limited.expired && limited.expired > 0.0 && migrated.expired == 0.0,
        ),
        Claim::statement(
            "cold data migration offers better clustering around the mean (Table 8: none below 80 %)",
            format!("below 40 %: {}; below 80 %: {}", share(greedy, limited, migrated, 0), share(greedy, limited, migrated, 1)),
            migrated.classes[0] + migrated.classes[1] == 0.0 && greedy.classes[0] > 0.0,
        ),
        Claim::within(("migrations per cleaned block", ""), MIGRATIONS, migrated.migrations / migrated.cleanings, 0.2),
        Claim::number(
            ("relative cost of migration in response time", ""),
            OVERHEAD,
            migrated.took / greedy.took - 1.0,
            Tolerance::Share(0.2),
        ),
    ]);
    let claims = claims.into_iter().map(|claim| claim.on_substitute(NOT_PUBLIC)).collect();
    let series = PRINTED.iter().zip(&all).zip(TABLE_8).flat_map(|(((name, ..), wear), printed)| {
        let printed = (0u32..).zip(printed).map(|(at, of)| [f64::from(at), 100.0 * of / BLOCKS]);
        [
            Series::bars(*name, &wear.classes.map(|share| 100.0 * share)),
            Series::printed(*name, printed.collect()),
        ]
    });
    let figure = Figure {
        title: "Blocks by their remaining lifetime".into(),
        x: Axis::named(
            "remaining lifetime relative to the mean",
            &["below 40 %", "40 to 80 %", "80 to 100 %", "100 % and more"],
        ),
        y: Axis::linear("blocks (%)"),
        series: series.collect(),
    };
    Ok(Outcome { claims, figures: vec![figure] })
}

/// Returns the shares of blocks of a class under the three policies, as text.
fn share(greedy: &Wear, limited: &Wear, migrated: &Wear, class: usize) -> String {
    let shares =
        [greedy, limited, migrated].map(|wear| format!("{:.1} %", 100.0 * wear.classes[class]));
    shares.join(", ")
}
