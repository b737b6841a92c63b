//! `docs/probe.md`: the method of the probe, every parameter, and every probe.

use std::fmt::Write;

use anyhow::Result;
use flashscope_probe::{PARAMETERS, PROBES, Spec, Unit};

pub const PATH: &str = "docs/probe.md";

const INTRODUCTION: &str = "\
# The probe

<!-- Written by `cargo xtask schemas` from crates/probe. -->

`flashscope probe` infers the internals of a drive from its timing: its flash pages and erase units, its address mapping, its
buffers and caches, and its cleaning. It automates the method of
C. Sun and Y. Zhang, \"Flash Drives: Performance Study Based On Benchmarks\" (assume, test, refine), with
later results of others:

    flashscope probe sim:demo
    flashscope probe 'file:scratch.img?size=1GiB' --budget-time 10min
    flashscope probe /dev/nvme1n1 --destroy-data-on SERIAL --budget-bytes 500GB
    flashscope probe /dev/nvme1n1 --read-only

## Effect on the drive

It fills the drive once in order, which puts data at known places, and
writes up to ten times its capacity in all, unless `--budget-bytes` allows less. `--read-only` writes
nothing and determines the parameters that reads show. `--file PATH` uses only one file. The guards are those of
`flashscope bench`: it writes to a device only if you typed its serial number or path, and never to one that
is in use.

## Method

Each probe is an experiment and an estimator. The next probe is the one with the most expected information, in bits, for the
bytes that it writes and the time that it takes. A probe relies on earlier findings; if it disproves one, that finding and
everything concluded from it are withdrawn, and determined again with more samples.

The first probe determines the medium. If it is a disk, memory behind a block device, a file behind the page
cache, or nothing at all, the report says so and states nothing about flash.

## Report

For every parameter it states one of:

- a value with the interval that the evidence allows (95 %), or a class, each with the probability that
 it is right. Of the answers stated with 90 %, nine in ten should be right;
- `none`: the drive lacks the feature;
- `not known`, with the reason. The probe does not guess.

Each statement names its evidence: a sentence, the numbers of the runs, and charts.

[The accuracy of the probe](probe-accuracy.md): 300 random simulated drives behind hosts with different noise,
every parameter, and the worst cases by name; `make bench-probe` writes that page.

## Files

A folder `NAME.flashscope` with `probe.json` ([schema](schemas/probe.schema.json)) and every IO of every
run in `records/*.parquet`, with the columns of benchmarks. `flashscope report NAME.flashscope`
writes a page with all charts, `flashscope serve` shows it next to other results, and `--json`
prints the content of `probe.json`. Ctrl-C ends a probe and keeps its findings.

`--profile twin.toml` saves a simulated drive with these parameters, each field with its origin:

    flashscope probe /dev/nvme1n1 --destroy-data-on SERIAL --profile twin.toml
    flashscope simulate --drive sim:./twin.toml --workload 'zipf?reads=0.5'

The profile is a fit: it shows the same parameters as the drive. Fields that the probe did not determine are marked as assumed.
";

/// Returns the page.
pub fn page() -> Result<String> {
    let mut page = INTRODUCTION.to_string();
    page.push_str(
        "\n## Parameters\n\n`right within` is the tolerance of a right value.\n\n\
         | name | description | answer | right within | source |\n|---|---|---|---|---|\n",
    );
    for spec in PARAMETERS {
        let Spec { name, title, summary, source, .. } = spec;
        let (answer, within) = (answer(spec), within(spec));
        writeln!(page, "| `{name}` | **{title}.** {summary} | {answer} | {within} | {source} |")?;
    }
    page.push_str("\n## Probes\n\n| name | experiment | finds | assumes | source |\n");
    page.push_str("|---|---|---|---|---|\n");
    for probe in PROBES {
        let names = |parameters: &[flashscope_probe::Parameter]| -> String {
            let names = parameters.iter().map(|parameter| format!("`{}`", parameter.name()));
            names.collect::<Vec<_>>().join(", ")
        };
        let (finds, assumes) = (names(probe.finds), names(probe.assumes));
        let (name, summary, source) = (probe.name, probe.summary, probe.source);
        writeln!(page, "| `{name}` | {summary} | {finds} | {assumes} | {source} |")?;
    }
    Ok(page)
}

/// Returns the kind of a parameter's answer.
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
