//! The probe for read-ahead: measures the number of bytes that a drive reads ahead after
//! consecutive reads and a pause.

use crate::outcome::Outcome;
use crate::{
    Finding, Halt, Knowledge, Lab, Parameter, Probe, Request, Run, median, standard_error,
};
use flashscope_block::Nanos;
use flashscope_document::probe::{Shape, Signal};

/// The length of the consecutive reads, in bytes: a multiple of any flash page.
const LEAD: u64 = 16 << 10;

/// The number of consecutive reads before the pause: enough to be recognized as sequential.
const LEADS: u64 = 3;

/// The resolution of distances (a grain), in bytes.
const GRAIN: u64 = 2 << 10;

/// Maximum distance to check, in grains.
const FURTHEST: u64 = (4 << 20) / GRAIN;

/// The pause: long enough for the read-ahead to complete.
const PAUSE: Nanos = Nanos::millis(30);

/// The initial number of trials at each distance.
const TRIALS: usize = 12;

/// The number of trials that decide whether there is any read-ahead.
const FIRST_TRIALS: usize = 60;

pub(super) const PROBE: Probe = Probe {
    name: "read-ahead",
    summary: "three consecutive reads, a pause, and one short read further on, which is fast if the \
                 drive has read ahead",
    source: "uFLIP, section 5.1 (Pause); Kim et al., IEEE TC 2012",
    finds: &[Parameter::ReadAhead],
    assumes: &[],
    writes: false,
    cost: |scene, _| {
        let trials = 2 * FIRST_TRIALS as u64 + 14 * TRIALS as u64;
        let mut cost = scene.cost(trials * (LEADS + 1), 0, 0);
        cost.time.0 += trials * PAUSE.0;
        cost
    },
    run,
};

/// The times of short reads after a pause, by their distance from the end of the consecutive reads.
#[derive(Debug, Clone, Default)]
struct Behind {
    /// The distance from the end in grains, and the time in nanoseconds.
    costs: Vec<(u64, f64)>,
    /// The times of short reads at distance 0 after the same reads in falling order, which triggers
    /// no read-ahead.
    apart: Vec<f64>,
    runs: Vec<u32>,
}

impl Behind {
    fn at(&self, grain: u64) -> Vec<f64> {
        self.costs.iter().filter(|(at, _)| *at == grain).map(|(_, cost)| *cost).collect()
    }
}

fn run(lab: &mut Lab<'_>, _: &Knowledge) -> Result<Outcome, Halt> {
    lab.ensure_filled()?;
    let furthest = FURTHEST.min(lab.capacity() / GRAIN / 8);
    let mut behind = Behind::default();
    let trials = FIRST_TRIALS << lab.attempt;
    look(lab, &vec![0; trials], Order::Rising, &mut behind)?;
    look(lab, &vec![0; trials], Order::Falling, &mut behind)?;
    let (near, far) = (behind.at(0), behind.apart.clone());
    let saved = Saving::between(&near, &far);
    if !saved.is_seen() {
        return Ok(vec![none(saved, &behind)].into());
    }
    let divide = (median(&near) * median(&far)).sqrt();
    let (mut here, mut gone, mut doubt) = (0, furthest, 0.0);
    // Double the distance until its data is not read ahead, then bisect.
    while here + 1 < gone {
        let at = match gone == furthest {
            true => (2 * here).clamp(1, furthest - 1),
            false => here.midpoint(gone),
        };
        let there = is_there(lab, at, divide, &mut behind)?;
        doubt += there.doubt;
        if there.is {
            here = at
        } else {
            gone = at
        }
        if gone == furthest && here == furthest - 1 {
            break;
        }
    }
    // Check both sides of the edge once more.
    for (at, is) in [(here, true), (gone, false)] {
        let there = is_there(lab, at, divide, &mut behind)?;
        doubt += if there.is == is { there.doubt } else { 1.0 - there.doubt };
    }
    Ok(vec![finding(gone, doubt, &behind)].into())
}

/// The order of the reads before the pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Rising,
    Falling,
}

/// Makes consecutive reads and then a short read at each of the distances `grains`, each time in
/// another part of the drive.
fn look(lab: &mut Lab<'_>, grains: &[u64], order: Order, behind: &mut Behind) -> Result<(), Halt> {
    let furthest = FURTHEST.min(lab.capacity() / GRAIN / 8);
    let len = lab.info().logical_block.0.min(GRAIN * 2);
    let reach = LEADS * LEAD + (furthest + 2) * GRAIN;
    let space = 0..lab.capacity();
    let mut requests = Vec::new();
    for grain in grains {
        let start = lab.random_offset(&space, reach, LEAD);
        let nth = |i| if order == Order::Rising { i } else { LEADS - 1 - i };
        requests.extend((0..LEADS).map(|i| Request::read(start + nth(i) * LEAD, LEAD)));
        let at = start + LEADS * LEAD + grain * GRAIN;
        requests.push(Request::read(at, len).after(PAUSE));
    }
    let purpose = match order {
        Order::Rising => "a short read after consecutive reads",
        Order::Falling => "a short read after the same reads in falling order",
    };
    let run = lab.run(purpose, requests)?;
    let short = run.records.iter().filter(|record| record.len.0 != LEAD);
    let costs = short.map(Run::nanos);
    match order {
        Order::Rising => behind.costs.extend(grains.iter().copied().zip(costs)),
        Order::Falling => behind.apart.extend(costs),
    }
    behind.runs.push(run.number);
    Ok(())
}

/// The result for a distance: true if its data was read ahead, and the probability that this is
/// wrong.
struct There {
    is: bool,
    doubt: f64,
}

fn is_there(
    lab: &mut Lab<'_>,
    grain: u64,
    divide: f64,
    behind: &mut Behind,
) -> Result<There, Halt> {
    look(lab, &vec![grain; TRIALS << lab.attempt], Order::Rising, behind)?;
    let costs = behind.at(grain);
    let below = costs.iter().filter(|cost| **cost < divide).count();
    let is = 2 * below > costs.len();
    // The distance of the median from the dividing time, in standard errors.
    let error = standard_error(&costs).max(1.0);
    let doubt = beyond((median(&costs) - divide).abs() / error);
    Ok(There { is, doubt })
}

/// Returns the probability that a normally distributed value is beyond this many standard
/// deviations, with a floor for deviations from normality.
fn beyond(z: f64) -> f64 {
    (0.5 * (-0.717 * z - 0.416 * z * z).exp()).max(5e-4)
}

/// The time that a short read saves right after consecutive reads.
#[derive(Debug, Clone, Copy)]
struct Saving {
    time: f64,
    error: f64,
    cost: f64,
}

impl Saving {
    fn between(near: &[f64], far: &[f64]) -> Saving {
        let error = standard_error(near).hypot(standard_error(far)).max(1.0);
        Saving { time: median(far) - median(near), error, cost: median(far) }
    }

    /// Returns true if the saving exceeds both chance and other possible savings of a drive.
    fn is_seen(self) -> bool {
        self.time > 4.0 * self.error && self.time > 0.03 * self.cost
    }

    /// Returns the probability that nothing is read ahead. Read-ahead would save the read of a page
    /// from the flash: at least 20 us for all NAND but the fastest.
    fn none(self) -> f64 {
        let likely = |time: f64| (-0.5 * ((self.time - time) / self.error).powi(2)).exp();
        let least = 20e3f64.min(0.5 * self.cost);
        // Read-ahead may save any time above the minimum.
        let saved = if self.time > least { 1.0 } else { likely(least) };
        let none = likely(0.0).max(likely(0.03 * self.cost)).max(1e-9);
        (none / (none + saved)).min(0.995)
    }
}

fn signal(behind: &Behind) -> Signal {
    // Sizes are far below 2^53.
    let point = |(grain, cost): &(u64, f64)| ((grain * GRAIN) as f64 / 1024.0, cost / 1e6);
    Signal::new(
        "Short reads after a pause that follows consecutive reads",
        "distance from the end of the reads (KiB)",
        "response time (ms)",
        Shape::Points,
    )
    .series("after consecutive reads", behind.costs.iter().map(point))
    .series("after reads in falling order", behind.apart.iter().map(|cost| (0.0, cost / 1e6)))
}

fn none(saved: Saving, behind: &Behind) -> Finding {
    let because = format!(
        "reads directly after consecutive reads take {:.1} ± {:.1} us less than other reads, which is \
                less than the time to read a flash page",
        saved.time / 1e3,
        saved.error / 1e3
    );
    let probability = saved.none();
    let finding = if probability < 0.7 {
        Finding::unknown(Parameter::ReadAhead, "times vary by more than a read of the flash takes")
    } else {
        Finding::absent(Parameter::ReadAhead, probability).because(because)
    };
    finding.runs(behind.runs.iter().copied()).signal(signal(behind))
}

fn finding(grains: u64, doubt: f64, behind: &Behind) -> Finding {
    let bytes = (grains * GRAIN) as f64;
    let probability = (1.0 - doubt).clamp(0.0, 0.995);
    let finding = if probability < 0.5 {
        Finding::unknown(Parameter::ReadAhead, "the distance varies from trial to trial")
    } else {
        Finding::exact(Parameter::ReadAhead, bytes, probability).because(
            "after three consecutive reads and a pause, short reads up to that distance take less than others",
        )
    };
    let picture = signal(behind).mark(bytes / 1024.0, "read ahead");
    finding.runs(behind.runs.iter().copied()).signal(picture)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn savings_are_found_unless_noise_may_hide_them() {
        let costs = |mean: f64, spread: f64| -> Vec<f64> {
            (0..60).map(|i| mean + spread * (f64::from(i % 7) - 3.0)).collect()
        };
        assert!(Saving::between(&costs(60e3, 1e3), &costs(100e3, 1e3)).is_seen());
        let same = Saving::between(&costs(100e3, 1e3), &costs(100e3, 1e3));
        assert!(!same.is_seen() && same.none() > 0.99);
        let noisy = Saving::between(&costs(900e3, 200e3), &costs(900e3, 200e3));
        assert!(!noisy.is_seen() && noisy.none() < 0.7);
    }
}
