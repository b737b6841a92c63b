use flashscope_workload::uflip::Baseline;

use super::bench::{Measurement, section_5_2};
use super::{SAMSUNG, SEED};
use crate::{Claim, Error, Item, Outcome, Paper, Run, State};

/// The end of section 5.2.
pub(crate) const OTHER_RESULTS: Item = Item {
    id: "uflip-section5.2",
    paper: Paper::Uflip,
    place: "Section 5.2, other results: Parallelism",
    title: "parallel IOs of the Samsung SSD",
    expected: State::AsPrinted,
    inputs: &[SAMSUNG, SEED],
    run,
};

/// The largest number of processes in Table 1.
const DEGREE: u32 = 16;

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let measured = section_5_2(&[SAMSUNG.name], run)?;
    Ok(measured.iter().map(|found| parallel(found)).collect::<Vec<_>>().into())
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
        format!("x{each:.3} by {DEGREE} processes, x{partitioned:.3} in {DEGREE} partitions"),
        each > 2.0 && (0.5..2.0).contains(&(each / partitioned)),
    )
}
