//! The loop of assuming, testing and refining: chooses the next experiment and evaluates its
//! results.

use flashscope_block::Nanos;

use crate::outcome::Outcome;
use crate::probes::{PROBES, Probe};
use crate::{Contradiction, Finding, Halt, Knowledge, Lab, Parameter};

/// Maximum number of attempts of a probe.
const MAX_ATTEMPTS: u32 = 3;

/// The share of the uncertainty that a probe is expected to resolve in its first, second and third
/// attempt.
const EXPECTED_SHARE: [f64; MAX_ATTEMPTS as usize] = [0.9, 0.5, 0.25];

/// Minimum expected information, in bits, of a probe that is worth running.
const MIN_INFORMATION: f64 = 0.3;

/// The time that costs as much as writing the whole drive once when probes are compared.
const TIME_OF_A_DRIVE_WRITE: Nanos = Nanos::secs(60);

/// An event of an investigation.
pub enum Event<'e> {
    /// A probe starts.
    Begins {
        /// The probe.
        probe: &'static Probe,
        /// The number of earlier attempts.
        attempt: u32,
    },
    /// A probe states a finding.
    Found(&'e Finding),
    /// A probe contradicts an earlier finding.
    Contradicted {
        /// The probe.
        probe: &'static Probe,
        /// The contradiction.
        contradiction: &'e Contradiction,
    },
}

/// The settings of an investigation.
pub struct Investigation<'a> {
    /// The parameters to determine; empty for all.
    pub parameters: &'a [Parameter],
    /// Receives the events.
    pub observer: &'a mut dyn FnMut(&Event<'_>),
}

/// Determines the parameters of a drive until no probe that fits into the budget promises enough
/// information, or the medium is known not to be flash. Returns the knowledge, with a finding for
/// each parameter, and the reason if an interruption or the loss of the drive ended the
/// investigation.
pub fn investigate(
    lab: &mut Lab<'_>,
    options: &mut Investigation<'_>,
) -> (Knowledge, Option<Halt>) {
    let mut knowledge = Knowledge::default();
    let mut attempts = vec![0; PROBES.len()];
    let mut halt = None;
    while no_flash(&knowledge).is_none()
        && let Some(next) = choose(lab, &knowledge, &attempts, options.parameters)
    {
        let probe = &PROBES[next];
        lab.attempt = attempts[next];
        (options.observer)(&Event::Begins { probe, attempt: attempts[next] });
        attempts[next] += 1;
        match (probe.run)(lab, &knowledge) {
            Ok(outcome) => take(probe, outcome, &mut knowledge, &mut attempts, options),
            // Another probe may still fit into the remaining budget.
            Err(Halt::Budget) => {
                leave(probe, "it would take more than the budget allows", &mut knowledge)
            }
            Err(Halt::ReadOnly) => leave(probe, NEEDS_WRITES, &mut knowledge),
            Err(Halt::Failed { errno, offset }) => {
                leave(
                    probe,
                    &format!("the drive refused an IO at {offset}: {errno}"),
                    &mut knowledge,
                );
            }
            Err(ended @ (Halt::Interrupted | Halt::Gone)) => {
                halt = Some(ended);
                break;
            }
        }
    }
    conclude(lab, &mut knowledge, options.parameters, halt);
    (knowledge, halt)
}

/// Returns the medium if it is known not to be flash. The other probes have nothing to find then.
fn no_flash(knowledge: &Knowledge) -> Option<&str> {
    knowledge.class(Parameter::Medium).filter(|medium| *medium != "flash")
}

const NEEDS_WRITES: &str = "determining it requires writes";

fn take(
    probe: &'static Probe,
    outcome: Outcome,
    knowledge: &mut Knowledge,
    attempts: &mut [u32],
    options: &mut Investigation<'_>,
) {
    for finding in outcome.findings {
        debug_assert!(probe.finds.contains(&finding.parameter), "{} finds more", probe.name);
        (options.observer)(&Event::Found(&finding));
        knowledge.add(finding);
    }
    for contradiction in &outcome.contradicts {
        (options.observer)(&Event::Contradicted { probe, contradiction });
        reopen(contradiction.parameter, knowledge, attempts);
    }
    let why = match outcome.contradicts.is_empty() {
        true => "no measurement shows it",
        false => "the measurement contradicts an assumption of the probe",
    };
    for parameter in probe.finds {
        if knowledge.finding(*parameter).is_none() {
            knowledge.add(Finding::unknown(*parameter, why));
        }
    }
}

/// Withdraws a finding and the findings of all probes that assume it, so that these probes run
/// again. Does nothing if no probe of the parameter has an attempt left.
fn reopen(parameter: Parameter, knowledge: &mut Knowledge, attempts: &[u32]) {
    let probes = PROBES.iter().zip(attempts.iter());
    let again =
        probes.clone().any(|(probe, n)| probe.finds.contains(&parameter) && *n < MAX_ATTEMPTS);
    if !again {
        return;
    }
    knowledge.withdraw(parameter);
    for (probe, n) in probes.filter(|(probe, _)| probe.assumes.contains(&parameter)) {
        for found in probe.finds {
            knowledge.withdraw(*found);
            if *n == MAX_ATTEMPTS {
                let why = "later measurements contradict an assumption of its probe, which has no attempt left";
                knowledge.add(Finding::unknown(*found, why));
            }
        }
    }
}

fn leave(probe: &Probe, why: &str, knowledge: &mut Knowledge) {
    probe.unknown(why).into_iter().for_each(|finding| knowledge.add(finding));
}

/// Returns the index of the probe with the most expected information per cost; the probe of the
/// medium comes first. A candidate has an attempt left, finds a needed parameter and fits into the
/// budget. Each parameter that it assumes has a finding, even if the finding is unknown.
fn choose(
    lab: &Lab<'_>,
    knowledge: &Knowledge,
    attempts: &[u32],
    requested: &[Parameter],
) -> Option<usize> {
    let needed = needed(requested);
    let left = lab.left();
    let scene = lab.scene();
    let worth = |index: usize| {
        let (probe, attempt) = (&PROBES[index], attempts[index]);
        let ready = probe.assumes.iter().all(|assumed| knowledge.finding(*assumed).is_some());
        let allowed = attempt < MAX_ATTEMPTS && !(probe.writes && lab.is_read_only());
        let useful = probe.finds.iter().any(|found| needed.contains(found));
        let cost = (probe.cost)(&scene, knowledge);
        let affordable = cost.written <= left.bytes && cost.time <= left.time;
        if !(ready && allowed && useful && affordable) {
            return None;
        }
        let gain = expected_gain(probe, attempt, knowledge);
        (gain >= MIN_INFORMATION).then(|| (gain / price(&cost, &scene), index))
    };
    // The medium decides whether any other probe makes sense.
    let about_medium = |index: &usize| PROBES[*index].finds.contains(&Parameter::Medium);
    if knowledge.finding(Parameter::Medium).is_none()
        && let Some(first) = (0..PROBES.len()).find(about_medium)
        && worth(first).is_some()
    {
        return Some(first);
    }
    // A probe waits for an unknown assumed parameter as long as another attempt may determine that
    // parameter.
    let waits = |index: &usize| {
        let unknown = |at: &&Parameter| !knowledge.finding(**at).is_some_and(Finding::is_known);
        let mut missing = PROBES[*index].assumes.iter().filter(unknown);
        missing.any(|at| {
            (0..PROBES.len()).any(|nth| PROBES[nth].finds.contains(at) && worth(nth).is_some())
        })
    };
    let best = (0..PROBES.len()).filter(|index| !waits(index)).filter_map(worth);
    // The order of the registry breaks ties.
    best.reduce(|best, other| if other.0 > best.0 { other } else { best }).map(|(_, index)| index)
}

fn expected_gain(probe: &Probe, attempt: u32, knowledge: &Knowledge) -> f64 {
    let unknown: f64 = probe.finds.iter().map(|found| knowledge.uncertainty(*found)).sum();
    unknown * EXPECTED_SHARE[attempt as usize]
}

/// Returns the cost of a probe in seconds: its time, plus the time that stands for its writes, see
/// [`TIME_OF_A_DRIVE_WRITE`].
#[allow(clippy::cast_precision_loss)]
fn price(cost: &crate::Cost, scene: &crate::Scene) -> f64 {
    let drive_writes = cost.written.0 as f64 / scene.capacity.0.max(1) as f64;
    1e-3 + 1e-9 * (cost.time.0 as f64 + drive_writes * TIME_OF_A_DRIVE_WRITE.0 as f64)
}

/// Returns the requested parameters, the medium and, transitively, the parameters that their probes
/// assume; all parameters if none is requested.
fn needed(requested: &[Parameter]) -> Vec<Parameter> {
    if requested.is_empty() {
        return crate::PARAMETERS.iter().map(|spec| spec.parameter).collect();
    }
    let mut needed = requested.to_vec();
    if !needed.contains(&Parameter::Medium) {
        needed.push(Parameter::Medium);
    }
    let mut next = 0;
    while let Some(parameter) = needed.get(next).copied() {
        for probe in PROBES.iter().filter(|probe| probe.finds.contains(&parameter)) {
            for assumed in probe.assumes {
                if !needed.contains(assumed) {
                    needed.push(*assumed);
                }
            }
        }
        next += 1;
    }
    needed
}

/// Adds an unknown finding, with the reason, for each parameter that has no finding yet.
fn conclude(lab: &Lab<'_>, knowledge: &mut Knowledge, requested: &[Parameter], halt: Option<Halt>) {
    let no_flash = no_flash(knowledge).map(|medium| match medium {
        "nothing" => String::from("there is no flash: the drive stores nothing"),
        medium => format!("there is no flash: the medium is {medium}"),
    });
    if no_flash.is_some() {
        // Other probes may have stated findings before the medium was known not to be flash.
        knowledge.withdraw_all_but(Parameter::Medium);
    }
    let missing: Vec<Parameter> = knowledge.missing().collect();
    for parameter in missing {
        let probes = || PROBES.iter().filter(|probe| probe.finds.contains(&parameter));
        let writes = probes().all(|probe| probe.writes);
        let why = if !requested.is_empty() && !requested.contains(&parameter) {
            "it was not requested"
        } else if let Some(no_flash) = &no_flash {
            no_flash
        } else if probes().next().is_none() {
            "no probe looks for it"
        } else if halt == Some(Halt::Interrupted) {
            "the probe was interrupted before this parameter was determined"
        } else if halt == Some(Halt::Gone) {
            "the drive disappeared before this parameter was determined"
        } else if lab.is_read_only() && writes {
            NEEDS_WRITES
        } else {
            "the budget does not allow it"
        };
        knowledge.add(Finding::unknown(parameter, why));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use flashscope_block::{Bytes, NullDevice};

    use super::*;
    use crate::Budget;

    #[test]
    fn a_contradiction_withdraws_the_finding_and_its_consequences() {
        let known = || {
            let mut knowledge = Knowledge::default();
            for parameter in [Parameter::Mapping, Parameter::Volumes, Parameter::ReadAhead] {
                knowledge.add(Finding::exact(parameter, 1.0, 0.9));
            }
            knowledge
        };
        let left = |attempts: u32| {
            let mut knowledge = known();
            reopen(Parameter::Mapping, &mut knowledge, &vec![attempts; PROBES.len()]);
            knowledge.findings().map(|finding| finding.parameter).collect::<Vec<_>>()
        };
        assert_eq!(left(1), [Parameter::ReadAhead]);
        assert_eq!(left(MAX_ATTEMPTS).len(), 3);
    }

    #[test]
    fn probes_wait_for_unknown_assumptions() {
        let mut device = NullDevice::new(Bytes(1 << 30), 1, || Nanos(0));
        let budget = Budget { bytes: Bytes(8 << 30), time: Nanos::secs(1 << 20) };
        let (stop, mut keeper) = (AtomicBool::new(false), ());
        let lab = Lab::new(&mut device, budget, 0, &stop, &mut keeper);
        let mut knowledge = Knowledge::default();
        knowledge.add(Finding::class(Parameter::Medium, "flash", 0.99));
        knowledge.add(Finding::unknown(Parameter::PageSize, "noise"));
        let next = |of_page: u32| {
            let finds_page = |probe: &Probe| probe.finds.contains(&Parameter::PageSize);
            let attempts: Vec<u32> =
                PROBES.iter().map(|probe| if finds_page(probe) { of_page } else { 0 }).collect();
            choose(&lab, &knowledge, &attempts, &[Parameter::Parallelism])
                .map(|nth| PROBES[nth].name)
        };
        assert_eq!(next(1), Some("page"));
        assert_eq!(next(MAX_ATTEMPTS), Some("parallel"));
    }

    // Covers findings that were stated before the medium was recognized as memory.
    #[test]
    fn findings_about_flash_are_withdrawn_from_memory() {
        let mut device = NullDevice::new(Bytes(1 << 30), 1, || Nanos(0));
        let budget = Budget { bytes: Bytes(8 << 30), time: Nanos::secs(1 << 20) };
        let (stop, mut keeper) = (AtomicBool::new(false), ());
        let lab = Lab::new(&mut device, budget, 0, &stop, &mut keeper);
        let left = |medium: &str| {
            let mut knowledge = Knowledge::default();
            knowledge.add(Finding::exact(Parameter::RequestCost, 14_532.0, 0.98));
            knowledge.add(Finding::class(Parameter::Medium, medium, 0.99));
            conclude(&lab, &mut knowledge, &[], None);
            let known: Vec<_> = knowledge
                .findings()
                .filter(|finding| finding.is_known())
                .map(|finding| finding.parameter)
                .collect();
            (known, knowledge.findings().count() == crate::PARAMETERS.len())
        };
        assert_eq!(left("memory"), (vec![Parameter::Medium], true));
        let (of_flash, all) = left("flash");
        assert_eq!((of_flash.len(), all), (2, true));
    }

    #[test]
    fn assumptions_of_requested_parameters_are_determined_too() {
        for probe in PROBES {
            for found in probe.finds {
                let needed = needed(&[*found]);
                assert!(probe.assumes.iter().all(|assumed| needed.contains(assumed)));
            }
        }
    }
}
