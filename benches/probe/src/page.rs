//! `docs/probe-accuracy.md`: the accuracy of the probe, and its worst errors.

use std::collections::BTreeMap;

use crate::drives::strata::STRATA;
use crate::format::{mark, percent, whole_percent};
use crate::held_out::HeldOutTrial;
use crate::score::{Judgement, Tally, calibration, calibration_error, tallies, total};
use crate::sweep::{Plan, Sweep};
use crate::trial::{DRIVE_WRITES, Trial};
use crate::{figure, held_out_page, targets};

/// The file name.
pub const NAME: &str = "probe-accuracy.md";

/// The number of wrong findings listed for each noise, by decreasing probability.
const WORST: usize = 10;

/// Returns the page about the sweeps of a plan, and about held-out drives if there are any.
pub fn page(plan: &Plan, sweeps: &[Sweep], strangers: &[HeldOutTrial]) -> String {
    let mut parts = vec![introduction(plan, sweeps, strangers)];
    if !strangers.is_empty() {
        parts.push(held_out_page::section(strangers));
    }
    parts.push(summary(sweeps));
    parts.push(format!("![Calibration, and accuracy by parameter]({})", figure::NAME));
    parts.push(String::from(PARAMETERS));
    parts.extend(sweeps.iter().map(by_parameter));
    parts.push(String::from(WORST_CASES));
    parts.extend(sweeps.iter().map(worst));
    parts.push(drives(sweeps));
    parts.join("\n\n") + "\n"
}

fn introduction(plan: &Plan, sweeps: &[Sweep], strangers: &[HeldOutTrial]) -> String {
    let noise: Vec<String> = sweeps.iter().map(|sweep| sweep.noise.to_string()).collect();
    let Plan { first, drives, jobs, .. } = plan;
    format!(
        "# Accuracy of the probe

<!-- Written by `make bench-probe`. -->

`make bench-probe` generates {drives} random simulated drives, runs `flashscope probe` on each, and
compares its findings with the true parameters. This command wrote the page:

    cargo run --release --package flashscope-probe-bench -- --first {first} --drives {drives} --noise {} \\
        --held-out {} --jobs {jobs} --speed --write docs

## Method

**Drives.** A seed determines a drive. Four in ten are page-mapped SSDs, and one in ten keeps its map on the
flash. The others are USB drives and early SSDs with log blocks: BAST, FAST, superblock or N/K. All other
parameters are random as well (`benches/probe/src/drives`):

- the size and number of flash pages and blocks, the times of the flash and of the interface;
- packages and the distribution of addresses over them, and the longest request;
- write buffer, read-ahead, memory for the map, and an SLC cache;
- over-provisioning, cleaning policy, separation of cleaned data, and cleaning while idle;
- log lists and their eviction, address groups and their switch, and the effect of content.

The drives have about 100 MB, because size does not make probing harder.

**Noise.** A normally distributed factor with a standard deviation of 0, 2 or 10 % multiplies each response time. With noise, the host
is also busy with other work about once a second, for up to 20 ms.

**Interface.** The probe has only a block device: `crates/probe` cannot link to the simulator, and a test of its
dependencies enforces this. The true values are the generated parameters, as [probe.md](probe.md) defines them.
The costs of reads are measured at the drive itself, without noise.

**Score.** A finding is right if it is exact, or within the tolerance of the parameter in [probe.md](probe.md).
`none` is a finding as well, for example for a drive without a write buffer. Accuracy is the share of right
findings. The probe abstains if it reports a parameter of the drive as unknown. Parameters that do not exist are
not scored, such as the eviction policy of a drive without a shared log list.

**Calibration.** Findings are divided into ten bins by their stated probability. The expected calibration error
is the mean distance between the share of right findings and the stated probability, over all findings.",
        noise.join(","),
        strangers.len() / STRATA.len()
    )
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

#[allow(clippy::cast_precision_loss, reason = "the limit is ten")]
fn drive_writes(most: f64) -> String {
    mark(format!("{most:.1}"), most > DRIVE_WRITES as f64)
}

fn summary(sweeps: &[Sweep]) -> String {
    let mut lines = vec![
        String::from(
            "## Drives like those of development\n\nThe probes were developed on drives from the same ranges, of other \
             seeds. Figures that miss their target are bold.\n",
        ),
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

fn noise(sweep: &Sweep) -> String {
    whole_percent(sweep.noise)
}

const PARAMETERS: &str = "### By parameter

`have` is the number of drives with the parameter. For the other drives, `none` is the right finding.";

fn by_parameter(sweep: &Sweep) -> String {
    let judged = sweep.judged();
    let mut lines = vec![format!(
        "#### Noise of {}\n\n| parameter | right | wrong | accuracy ({} or more) | have | abstained | abstention rate \
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

const WORST_CASES: &str = "### Worst cases

These are the wrong findings with the highest stated probability, with their evidence. To examine one, use the seed of
its drive:

    cargo run --release --package flashscope-probe-bench -- --noise 0.02 --drives 1 --verbose --findings \\
        --first SEED";

fn worst(sweep: &Sweep) -> String {
    let worst = sweep.worst();
    if worst.is_empty() {
        return format!("#### Noise of {}\n\nNo finding is wrong.", noise(sweep));
    }
    let shown = worst.len().min(WORST);
    let mut lines = vec![format!(
        "#### Noise of {}\n\n{shown} of the {} wrong findings.\n\n\
         | drive | parameter | true value | finding | probability | evidence |\n{}|",
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
        vec![String::from("#### The drives\n\nPass these names to `flashscope probe`.\n")];
    lines.extend(
        drives.values().map(|trial| format!("- {}: `sim:{}`", trial.seed, trial.drive.spec)),
    );
    lines.join("\n")
}
