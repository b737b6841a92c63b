//! `docs/probe-accuracy.md`: how often the probe is right, and where it is not.

use std::collections::BTreeMap;

use crate::score::{Judged, Tally, calibration, calibration_error, tallies, total};
use crate::sweep::{Plan, Sweep};
use crate::trial::{DRIVE_WRITES, Trial};
use crate::{figure, targets};

/// Its name.
pub const NAME: &str = "probe-accuracy.md";

/// How many wrong answers are named for each noise, the surest first.
const WORST: usize = 10;

/// The page about these sweeps of a plan.
pub fn page(plan: &Plan, sweeps: &[Sweep]) -> String {
    let mut parts = vec![introduction(plan, sweeps), summary(sweeps)];
    parts.push(format!("![Calibration, and accuracy by parameter]({})", figure::NAME));
    parts.push(String::from(PARAMETERS));
    parts.extend(sweeps.iter().map(by_parameter));
    parts.push(String::from(WORST_CASES));
    parts.extend(sweeps.iter().map(worst));
    parts.push(drives(sweeps));
    parts.join("\n\n") + "\n"
}

fn introduction(plan: &Plan, sweeps: &[Sweep]) -> String {
    let noise: Vec<String> = sweeps.iter().map(|sweep| sweep.noise.to_string()).collect();
    let Plan { first, drives, jobs, .. } = plan;
    format!(
        "# How often the probe is right

<!-- Written by `make bench-probe`. -->

`make bench-probe` draws {drives} simulated drives at random, has `flashscope probe` look at each from the
outside, and compares what it says with what was drawn. It wrote this page with

    cargo run --release --package flashscope-probe-bench -- --first {first} --drives {drives} --noise {} \\
        --jobs {jobs} --speed --write docs

## How

**Drives.** A seed makes a drive. Four in ten are SSDs mapped by pages, one in ten such drives that keep
their map on the flash, and the others USB drives and early SSDs with log blocks: BAST, FAST, superblock or
N/K. All else is drawn as well, as far as the kind has it: flash pages and blocks, their number, the times of
the flash and of the interface, packages and how addresses are spread over them, the longest request, write
buffer and read-ahead, memory for the map, an SLC cache, over-provisioning, the cleaning policy, whether
cleaned data stays apart and whether the drive cleans while idle, log lists and their eviction, address groups
and their switch, and whether the content matters. `benches/probe/src/drives.rs` says how. They are drives of
about 100 MB, since sizes are not what makes probing hard.

**Noise.** Each response time is multiplied by a normal factor with a deviation of 0, 2 or 10 %, and, unless
there is no noise at all, the host does something else about once a second, for up to 20 ms.

**What is seen.** The probe sees a block device and nothing else: `crates/probe` cannot link to the simulator,
which a test of its dependencies enforces. What is true is what was drawn, as defined in
[probe.md](probe.md); the costs of reads are measured at the drive itself, without noise.

**What counts.** An answer is right if it is exact, or within the tolerance that [probe.md](probe.md) gives
for the parameter. That a drive has no such thing, such as a write buffer, is an answer, too. Accuracy is the
share of answers that are right. A drive that has what is asked for and about which nothing is said counts as
abstained. What has no answer is not asked, such as how a drive without a common log list evicts from it.

**Calibration.** Answers are put in ten bins by the probability that they were stated with. The expected
calibration error is how far the share that is right is from the mean of what was stated, over all answers.",
        noise.join(",")
    )
}

/// A figure, in bold where it falls short.
fn beside(figure: String, falls_short: bool) -> String {
    if falls_short { format!("**{figure}**") } else { figure }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn accuracy(tally: &Tally, noise: f64) -> String {
    if tally.right + tally.wrong == 0 {
        return String::from("-");
    }
    beside(percent(tally.accuracy()), tally.accuracy() < targets::accuracy(noise))
}

fn abstention(tally: &Tally) -> String {
    if tally.have == 0 {
        return String::from("-");
    }
    beside(percent(tally.abstention()), tally.abstention() > targets::ABSTENTION)
}

fn error(judged: &[Judged]) -> String {
    let error = calibration_error(&calibration(judged));
    beside(format!("{error:.3}"), error > targets::CALIBRATION_ERROR)
}

#[allow(clippy::cast_precision_loss, reason = "ten")]
fn drive_writes(most: f64) -> String {
    beside(format!("{most:.1}"), most > DRIVE_WRITES as f64)
}

fn summary(sweeps: &[Sweep]) -> String {
    let mut lines = vec![
        String::from("## All parameters\n\nWhat falls short of its target is bold.\n"),
        format!(
            "| noise | right | wrong | accuracy | target | abstained | of those that drives have | \
             limit | calibration error | limit | most drive-writes | limit |\n{}|",
            "|---".repeat(12)
        ),
    ];
    lines.extend(sweeps.iter().map(|sweep| {
        let judged = sweep.judged();
        let tally = total(&judged);
        format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {DRIVE_WRITES} |",
            noise(sweep),
            tally.right,
            tally.wrong,
            accuracy(&tally, sweep.noise),
            whole_percent(targets::accuracy(sweep.noise)),
            tally.abstained,
            abstention(&tally),
            whole_percent(targets::ABSTENTION),
            error(&judged),
            targets::CALIBRATION_ERROR,
            drive_writes(sweep.drive_writes()),
        )
    }));
    lines.join("\n")
}

fn whole_percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn noise(sweep: &Sweep) -> String {
    whole_percent(sweep.noise)
}

const PARAMETERS: &str = "## By parameter

`have` is how many drives have what is asked for; of the others, that they have none is among the answers.";

fn by_parameter(sweep: &Sweep) -> String {
    let judged = sweep.judged();
    let mut lines = vec![format!(
        "### Noise of {}\n\n| parameter | right | wrong | accuracy ({} or more) | have | abstained | of those \
         that have ({} or less) | calibration error |\n{}|",
        noise(sweep),
        whole_percent(targets::accuracy(sweep.noise)),
        whole_percent(targets::ABSTENTION),
        "|---".repeat(8)
    )];
    lines.extend(tallies(&judged).iter().map(|(parameter, tally)| {
        let of_it: Vec<Judged> =
            judged.iter().filter(|judged| judged.parameter == *parameter).cloned().collect();
        format!(
            "| `{}` | {} | {} | {} | {} | {} | {} | {} |",
            parameter.name(),
            tally.right,
            tally.wrong,
            accuracy(tally, sweep.noise),
            tally.have,
            tally.abstained,
            abstention(tally),
            error(&of_it)
        )
    }));
    lines.join("\n")
}

const WORST_CASES: &str = "## Worst cases

The wrong answers that were stated with the highest probability, with what was seen that led there. One of
them is looked into with the seed of its drive:

    cargo run --release --package flashscope-probe-bench -- --noise 0.02 --drives 1 --verbose --findings \\
        --first SEED";

fn worst(sweep: &Sweep) -> String {
    let worst = sweep.worst();
    if worst.is_empty() {
        return format!("### Noise of {}\n\nNo answer is wrong.", noise(sweep));
    }
    let shown = worst.len().min(WORST);
    let mut lines = vec![format!(
        "### Noise of {}\n\n{shown} of the {} wrong answers.\n\n\
         | drive | parameter | true | said | stated | because |\n{}|",
        noise(sweep),
        worst.len(),
        "|---".repeat(6)
    )];
    lines.extend(worst.iter().take(WORST).map(|(trial, judged)| {
        let Judged { truth, said, probability, because, .. } = judged;
        let (name, because) = (judged.parameter.name(), because.replace('|', "\\|"));
        format!("| {} | `{name}` | {truth} | {said} | {probability:.2} | {because} |", trial.seed)
    }));
    lines.join("\n")
}

/// The drives of the worst cases.
fn drives(sweeps: &[Sweep]) -> String {
    let named = sweeps.iter().flat_map(|sweep| sweep.worst().into_iter().take(WORST));
    let drives: BTreeMap<u64, &Trial> = named.map(|(trial, _)| (trial.seed, trial)).collect();
    let mut lines =
        vec![String::from("### The drives\n\nWhat `--drive` takes, and `flashscope probe`.\n")];
    lines.extend(
        drives.values().map(|trial| format!("- {}: `sim:{}`", trial.seed, trial.drawn.spec)),
    );
    lines.join("\n")
}
