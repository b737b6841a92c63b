//! One drive probed: drawn, disturbed by noise, looked at from the outside, and judged.

use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Device, Nanos};
use flashscope_probe::{
    Budget, Event, Halt, Investigation, Knowledge, Lab, Parameter, investigate,
};

use crate::drives::{Drawn, draw};
use crate::measured::add_costs;
use crate::noise::{Noise, Noisy};
use crate::score::{Judged, judge};

/// Drive-writes that a probe may use.
pub const DRIVE_WRITES: u64 = 10;

/// What came of one drive.
pub struct Trial {
    /// What the drive was drawn from.
    pub seed: u64,
    /// The drive.
    pub drawn: Drawn,
    /// Every answer.
    pub judged: Vec<Judged>,
    /// How much was written, as a multiple of the drive.
    pub drive_writes: f64,
}

/// What was found of any drive, and how much was written for it, as a multiple of the drive.
pub struct Found {
    /// What is known.
    pub knowledge: Knowledge,
    /// What was written.
    pub drive_writes: f64,
}

/// Looks for the wanted parameters of a drive (all where none is named) with what a probe may use up.
///
/// # Errors
/// What ended it before its end.
pub fn probe(
    device: &mut dyn Device,
    seed: u64,
    wanted: &[Parameter],
    tell: &mut dyn FnMut(&Event<'_>),
) -> Result<Found, Halt> {
    let capacity = device.info().capacity;
    let budget = Budget { bytes: Bytes(DRIVE_WRITES * capacity.0), time: Nanos::secs(48 * 3600) };
    let (stop, mut keep) = (AtomicBool::new(false), ());
    let mut lab = Lab::new(device, budget, seed, &stop, &mut keep);
    let (knowledge, halt) = investigate(&mut lab, &mut Investigation { wanted, tell });
    #[allow(clippy::cast_precision_loss, reason = "bytes of small drives")]
    let drive_writes = lab.used().bytes.0 as f64 / capacity.0 as f64;
    match halt {
        None => Ok(Found { knowledge, drive_writes }),
        Some(halt) => Err(halt),
    }
}

/// Draws a drive, probes it with response times that deviate by this share of them and a host that
/// hiccups (not without noise), and judges what was said.
///
/// # Panics
/// If the drive does not work, or refuses an IO: which would be a bug of the simulator.
pub fn trial(
    seed: u64,
    deviation: f64,
    wanted: &[Parameter],
    tell: &mut dyn FnMut(&Event<'_>),
) -> Trial {
    let mut drawn = draw(seed);
    add_costs(&mut drawn);
    let drive = flashscope_sim::open(&drawn.spec).unwrap_or_else(|e| panic!("{}: {e}", drawn.spec));
    let hiccup_every = if deviation > 0.0 { Nanos::secs(1) } else { Nanos(0) };
    let noise = Noise { deviation, hiccup_every, hiccup: Nanos::millis(20) };
    let found = probe(&mut Noisy::new(drive, noise, seed), seed, wanted, tell)
        .unwrap_or_else(|halt| panic!("{}: {halt:?}", drawn.spec));
    let judged = judge(&drawn, &asked(&found.knowledge, wanted));
    Trial { seed, drawn, judged, drive_writes: found.drive_writes }
}

/// What was asked for, of what is known.
fn asked(knowledge: &Knowledge, wanted: &[Parameter]) -> Knowledge {
    let mut asked = Knowledge::default();
    let all = knowledge.findings().filter(|f| wanted.is_empty() || wanted.contains(&f.parameter));
    all.for_each(|finding| asked.take(finding.clone()));
    asked
}
