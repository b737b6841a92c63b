//! Generates a drive, adds noise, probes it and judges the answers.

use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Device, Nanos};
use flashscope_document::probe::Parameter;
use flashscope_probe::{Budget, Event, Halt, Investigation, Knowledge, Lab, investigate};

use crate::drives::RandomDrive;
use crate::measured::add_costs;
use crate::noise::{Noise, Noisy};
use crate::score::{Judgement, judge};

/// The number of drive-writes that a probe may use.
pub const DRIVE_WRITES: u64 = 10;

/// The results for one drive.
pub struct Trial {
    /// The seed of the drive.
    pub seed: u64,
    /// The drive.
    pub drive: RandomDrive,
    /// All answers.
    pub judged: Vec<Judgement>,
    /// The amount written, as a multiple of the capacity.
    pub drive_writes: f64,
}

/// The outcome of a probe.
pub struct ProbeOutcome {
    /// The findings.
    pub knowledge: Knowledge,
    /// The amount written, as a multiple of the capacity.
    pub drive_writes: f64,
}

/// Determines `parameters` of a drive (all if empty) within the budget of a probe.
///
/// # Errors
/// Returns the reason why the probe stopped early.
pub fn probe(
    device: &mut dyn Device,
    seed: u64,
    parameters: &[Parameter],
    observe: &mut dyn FnMut(&Event<'_>),
) -> Result<ProbeOutcome, Halt> {
    let capacity = device.info().capacity;
    let budget = Budget { bytes: Bytes(DRIVE_WRITES * capacity.0), time: Nanos::secs(48 * 3600) };
    let (stop, mut keep) = (AtomicBool::new(false), ());
    let mut lab = Lab::new(device, budget, seed, &stop, &mut keep);
    let (knowledge, halt) =
        investigate(&mut lab, &mut Investigation { parameters, observer: observe });
    #[allow(clippy::cast_precision_loss, reason = "bytes of small drives")]
    let drive_writes = lab.used().bytes.0 as f64 / capacity.0 as f64;
    match halt {
        None => Ok(ProbeOutcome { knowledge, drive_writes }),
        Some(halt) => Err(halt),
    }
}

/// Probes a drive behind a host with noise.
///
/// # Panics
/// Panics if the drive is invalid or refuses an IO, which would be a bug of the simulator.
pub fn trial(
    seed: u64,
    mut random: RandomDrive,
    noise: Noise,
    parameters: &[Parameter],
    observe: &mut dyn FnMut(&Event<'_>),
) -> Trial {
    add_costs(&mut random);
    let drive =
        flashscope_sim::open(&random.spec).unwrap_or_else(|e| panic!("{}: {e}", random.spec));
    let outcome = probe(&mut Noisy::new(drive, noise, seed), seed, parameters, observe)
        .unwrap_or_else(|halt| panic!("{}: {halt:?}", random.spec));
    let judged = judge(&random, &only(&outcome.knowledge, parameters));
    Trial { seed, drive: random, judged, drive_writes: outcome.drive_writes }
}

/// Returns the findings about `parameters`, or all if it is empty.
fn only(knowledge: &Knowledge, parameters: &[Parameter]) -> Knowledge {
    let mut result = Knowledge::default();
    let all =
        knowledge.findings().filter(|f| parameters.is_empty() || parameters.contains(&f.parameter));
    all.for_each(|finding| result.add(finding.clone()));
    result
}
