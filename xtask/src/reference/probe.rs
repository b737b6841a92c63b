//! `docs/probe.md`: the method of the probe, every parameter, and every probe.

use std::fmt::Write;

use anyhow::Result;
use flashscope_document::probe::{PARAMETERS, Spec, Unit};
use flashscope_probe::PROBES;

pub(crate) const PATH: &str = "docs/probe.md";

const INTRODUCTION: &str = "\
# The probe

<!-- Written by `cargo xtask schemas` from crates/probe. -->

`flashscope probe` infers the internals of a drive from its timing. It finds flash pages and erase units, the mapping of
the FTL, buffers and caches, and garbage collection. It automates the method of C. Sun and Y. Zhang, \"Flash Drives:
Performance Study Based On Benchmarks\" (assume, test, refine), and adds later results:

    flashscope probe sim:demo
    flashscope probe 'file:scratch.img?size=1GiB' --budget-time 10min
    flashscope probe /dev/nvme1n1 --destroy-data-on SERIAL --budget-bytes 500GB
    flashscope probe /dev/nvme1n1 --read-only

## Effect on the drive

The probe first fills the drive sequentially, which gives every page a known position. It writes at most ten times the
capacity in total, or less with `--budget-bytes`. `--read-only` writes nothing and finds only the parameters that reads
reveal. `--file PATH` uses one file only. The guards are those of `flashscope bench`: writing needs the serial number or
path of the device, and a device in use is refused.

## Method

Each probe is an experiment and an estimator, and relies on earlier findings. The next experiment is the one with the
most expected information for its bytes and its time. If a probe contradicts an earlier finding, that finding
and all findings that rest on it are withdrawn and measured again with more samples.

The first experiment identifies the medium. The probe recognizes a disk, memory behind a block device, a file behind the
page cache, and a null device. For these it states no parameters of flash.

## Findings

The probe states one of the following for every parameter:

- a value with its 95 % interval, or a class, each with the probability that it is right. Over many drives, nine in
  ten findings stated with 90 % should be right;
- `none`: the drive does not have the feature;
- `not known`, with the reason. The probe does not guess a parameter without evidence.

Each finding has its evidence, the numbers of the runs that show it, and pictures of the signal.

[Accuracy of the probe](probe-accuracy.md) has results for drives of kinds that no probe was developed on, and for 300 random
drives like those of development. Each is measured with and without noise from the host. The page names the worst
strata, parameters and cases, and `make bench-probe` writes it.

## Output

The folder `NAME.flashscope` has `probe.json` ([schema](schemas/probe.schema.json)), and every IO of every run in
`records/*.parquet`, with the columns of a benchmark. `flashscope report NAME.flashscope` writes a page with all pictures, and
`flashscope serve` shows it among other results. `--json` prints `probe.json`. Ctrl-C ends a probe
cleanly and keeps the findings.

`--profile twin.toml` saves a simulated drive with the findings. Comments name the source of each field:

    flashscope probe /dev/nvme1n1 --destroy-data-on SERIAL --profile twin.toml
    flashscope simulate --drive sim:./twin.toml --workload 'zipf?reads=0.5'

The profile reproduces the observed behaviour. Comments mark unknown fields as assumed.
";

/// Returns the page.
pub(crate) fn page() -> Result<String> {
    let mut page = INTRODUCTION.to_string();
    page.push_str(
        "\n## Parameters\n\n`tolerance` is the largest error of a right finding.\n\n\
         | name | description | type | tolerance | source |\n|---|---|---|---|---|\n",
    );
    for spec in PARAMETERS {
        let Spec { name, title, summary, source, .. } = spec;
        let (answer, within) = (answer(spec), within(spec));
        writeln!(page, "| `{name}` | **{title}.** {summary} | {answer} | {within} | {source} |")?;
    }
    page.push_str("\n## Probes\n\n| name | experiment | finds | relies on | source |\n");
    page.push_str("|---|---|---|---|---|\n");
    for probe in PROBES {
        let names = |parameters: &[flashscope_document::probe::Parameter]| -> String {
            let names = parameters.iter().map(|parameter| format!("`{}`", parameter.name()));
            names.collect::<Vec<_>>().join(", ")
        };
        let (finds, assumes) = (names(probe.finds), names(probe.assumes));
        let (name, summary, source) = (probe.name, probe.summary, probe.source);
        writeln!(page, "| `{name}` | {summary} | {finds} | {assumes} | {source} |")?;
    }
    Ok(page)
}

/// Returns the type of a finding.
fn answer(spec: &Spec) -> String {
    match spec.unit {
        Unit::Bytes => "bytes".into(),
        Unit::Nanoseconds => "time".into(),
        Unit::Count => "a number".into(),
        Unit::Share => "a share".into(),
        Unit::Class => {
            let classes = spec.classes.iter().map(|class| format!("`{class}`"));
            classes.collect::<Vec<_>>().join(", ")
        }
    }
}

fn within(spec: &Spec) -> String {
    if spec.tolerance > 0.0 { format!("{:.0} %", 100.0 * spec.tolerance) } else { "exact".into() }
}
