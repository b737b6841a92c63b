//! Writes `docs/probe-accuracy.md`: the accuracy of the probe, and its worst errors.

use std::collections::BTreeMap;

use crate::score::{Judgement, Tally, calibration, calibration_error, tallies, total};
use crate::sweep::{Plan, Sweep};
use crate::trial::{DRIVE_WRITES, Trial};
use crate::{figure, targets};

/// The file name.
pub const NAME: &str = "probe-accuracy.md";

/// The number of wrong answers listed for each noise, the most confident first.
const WORST: usize = 10;

/// Returns the page about the sweeps of a plan.
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
        "# The accuracy of the probe

<!-- Written by `make bench-probe`. -->

`make bench-probe` generates {drives} random simulated drives, probes each with `flashscope probe`, and compares
the answers with the true parameters. It wrote this page with

    cargo run --release --package flashscope-probe-bench -- --first {first} --drives {drives} --noise {} \\
        --jobs {jobs} --speed --write docs

## How

**Drives.** A seed determines a drive. Four in ten are SSDs with a page map, one in ten such drives that keep
the map on flash, and the others USB drives and early SSDs with log blocks: BAST, FAST, superblock or
N/K. The other parameters are random as well, if the kind of drive has them: flash pages and blocks, their number, the times of
the flash and of the interface, packages and the distribution of addresses over them, the largest request, write
buffer and read-ahead, the map cache, an SLC cache, over-provisioning, the cleaning policy, the
separation of cleaned data, cleaning while idle, log lists and their eviction, address groups
and their switch time, and the effect of content. See `benches/probe/src/drives.rs`. The drives have
about 100 MB, since size does not make probing harder.

**Noise.** Each response time is multiplied by a normal factor with a deviation of 0, 2 or 10 %. With noise,
the host also pauses about once a second, for up to 20 ms.

**Black box.** The probe sees a block device and nothing else: `crates/probe` cannot link to the simulator,
which a test of its dependencies enforces. The true values are those of the generator, as defined in
[probe.md](probe.md); the costs of reads are measured on the drive itself, without noise.

**Scoring.** An answer is right if it is exact, or within the tolerance that [probe.md](probe.md) gives
for the parameter. It is also an answer that a drive lacks a feature, such as a write buffer. Accuracy is the
share of answers that are right. If a drive has a feature and the probe states nothing about it, the probe
abstained. Parameters without a definite value do not count, such as the eviction of a drive without a common log list.

**Calibration.** Answers are grouped into ten bins by their stated probability. The expected
calibration error is the mean difference between the share of right answers and the mean stated probability, weighted by count.",
        noise.join(",")
    )
}

/// Returns a figure, in bold if it misses its target.
fn mark(figure: String, misses: bool) -> String {
    if misses { format!("**{figure}**") } else { figure }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn accuracy(tally: &Tally, noise: f64) -> String {
    if tally.right + tally.wrong == 0 {
        return String::from("-");
    }
    mark(percent(tally.accuracy()), tally.accuracy() < targets::accuracy(noise))
}

fn abstention(tally: &Tally) -> String {
    if tally.have == 0 {
        return String::from("-");
    }
    mark(percent(tally.abstention()), tally.abstention() > targets::ABSTENTION)
}

fn error(judged: &[Judgement]) -> String {
    let error = calibration_error(&calibration(judged));
    mark(format!("{error:.3}"), error > targets::CALIBRATION_ERROR)
}

#[allow(clippy::cast_precision_loss, reason = "ten")]
fn drive_writes(most: f64) -> String {
    mark(format!("{most:.1}"), most > DRIVE_WRITES as f64)
}

fn summary(sweeps: &[Sweep]) -> String {
    let mut lines = vec![
        String::from("## All parameters\n\nFigures that miss their target are bold.\n"),
        format!(
            "| noise | right | wrong | accuracy | target | abstained | share of present features | \
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

`have` is the number of drives with the feature; for the others, the right answer is that they lack it.";

fn by_parameter(sweep: &Sweep) -> String {
    let judged = sweep.judged();
    let mut lines = vec![format!(
        "### Noise of {}\n\n| parameter | right | wrong | accuracy ({} or more) | have | abstained | abstention rate \
         ({} or less) | calibration error |\n{}|",
        noise(sweep),
        whole_percent(targets::accuracy(sweep.noise)),
        whole_percent(targets::ABSTENTION),
        "|---".repeat(8)
    )];
    lines.extend(tallies(&judged).iter().map(|(parameter, tally)| {
        let of_it: Vec<Judgement> =
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

The wrong answers with the highest stated probability, and the observations behind them. To investigate
one, use the seed of its drive:

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
         | drive | parameter | truth | answer | stated | because |\n{}|",
        noise(sweep),
        worst.len(),
        "|---".repeat(6)
    )];
    lines.extend(worst.iter().take(WORST).map(|(trial, judged)| {
        let Judgement { truth, answer, probability, because, .. } = judged;
        let (name, because) = (judged.parameter.name(), because.replace('|', "\\|"));
        format!("| {} | `{name}` | {truth} | {answer} | {probability:.2} | {because} |", trial.seed)
    }));
    lines.join("\n")
}

/// Lists the drives of the worst cases.
fn drives(sweeps: &[Sweep]) -> String {
    let named = sweeps.iter().flat_map(|sweep| sweep.worst().into_iter().take(WORST));
    let drives: BTreeMap<u64, &Trial> = named.map(|(trial, _)| (trial.seed, trial)).collect();
    let mut lines =
        vec![String::from("### The drives\n\nSpecs for `flashscope probe` and `--drive`.\n")];
    lines.extend(
        drives.values().map(|trial| format!("- {}: `sim:{}`", trial.seed, trial.drive.spec)),
    );
    lines.join("\n")
}
