use flashscope_sim::Profile;
use flashscope_workload::uflip::Baseline;

use super::bench::{Measurement, Method, measure};
use super::{OFF, SAMSUNG, SEED};
use crate::times::mean;
use crate::{Claim, Error, Item, Outcome, Paper, Run, State, Tolerance};

/// The end of section 5.2.
pub(crate) const OTHER_RESULTS: Item = Item {
    id: "uflip-section5.2",
    paper: Paper::Uflip,
    place: "Section 5.2, other results",
    title: "unaligned and parallel IOs of the Samsung SSD",
    expected: State::NotReproduced,
    inputs: &[SAMSUNG, SEED],
    run,
};

const KIB: i64 = 1 << 10;

/// The largest number of processes in Table 1.
const DEGREE: u32 = 16;

const CROSSING: &str = "an unaligned write costs a second merge if it crosses into another log block. The log blocks of the simulated \
                       drive have stripes of 128 KB, which its large increments imply, and one write of 32 KB in four crosses; \
                       the printed value implies three in four";

fn select(benchmark: &str, experiment: &str, value: i64) -> bool {
    match (benchmark, experiment) {
        ("alignment", "RW") => true,
        ("alignment", "SW") => value == 0,
        ("partitioning" | "parallelism", "SW") => value == 1 || value == i64::from(DEGREE),
        _ => false,
    }
}

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let method = Method { queue_depth: DEGREE, ..Method::ssd(run) };
    let found = measure(SAMSUNG.name, method, select, run)?;
    let mut claims = alignment(&found, &run.profile(SAMSUNG.name)?);
    claims.push(parallel(&found));
    Ok(claims.into())
}

fn alignment(found: &Measurement, profile: &Profile) -> Vec<Claim> {
    let shifts = found.means("alignment", "RW");
    let of = |is: fn(i64) -> bool| {
        let means = shifts.iter().filter(|(shift, _)| is(*shift)).map(|(_, mean)| *mean);
        mean(&means.collect::<Vec<_>>())
    };
    let aligned = of(|shift| shift % (16 * KIB) == 0);
    let unaligned = of(|shift| shift % (16 * KIB) != 0);
    #[allow(clippy::cast_precision_loss, reason = "sizes of requests")]
    let crossing = (32 << 10) as f64 / profile.stripe.0 as f64;
    vec![
        Claim::within(("random writes aligned to 16 KB", "ms"), 18.0, aligned, OFF),
        Claim::within(("unaligned random writes", "ms"), 32.0, unaligned, OFF).not_reproduced_by(
            aligned * (1.0 + crossing),
            Tolerance::Share(OFF),
            CROSSING,
        ),
    ]
}

/// Compares the cost of parallel sequential writes with the cost of partitioned writes.
fn parallel(found: &Measurement) -> Claim {
    let sw = found.baseline(Baseline::SequentialWrite);
    let degree = i64::from(DEGREE);
    let each = found.mean("parallelism", "SW", degree) / f64::from(DEGREE) / sw;
    let partitioned = found.mean("partitioning", "SW", degree) / sw;
    Claim::statement(
        "parallel execution with a high degree can cause multiple sequential write patterns to degenerate to partitioned write \
         patterns, with the corresponding increase in cost",
        format!("x{each:.1} by {DEGREE} processes, x{partitioned:.1} in {DEGREE} partitions"),
        each > 2.0 && (0.5..2.0).contains(&(each / partitioned)),
    )
}
