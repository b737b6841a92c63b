//! `docs/probe.md`: how a drive is probed, every parameter, and every probe.

use std::fmt::Write;

use anyhow::Result;
use flashscope_probe::{PARAMETERS, PROBES, Spec, Unit};

pub const PATH: &str = "docs/probe.md";

const INTRODUCTION: &str = "\
# The probe

<!-- Written by `cargo xtask schemas` from crates/probe. -->

`flashscope probe` reads the internals of a drive from its timing: what its flash pages and erase units
are, how its FTL maps addresses, which buffers and caches it has, and how it cleans. It is the method of
C. Sun and Y. Zhang, \"Flash Drives: Performance Study Based On Benchmarks\" (assume, test, refine), with
what others have found since, as a program:

    flashscope probe sim:demo
    flashscope probe 'file:scratch.img?size=1GiB' --budget-time 10min
    flashscope probe /dev/nvme1n1 --destroy-data-on SERIAL --budget-bytes 500GB
    flashscope probe /dev/nvme1n1 --read-only

## What it does to the drive

It fills the drive once in order, so that what is read is there and lies where it is known to lie, and
writes up to ten times its capacity in all, unless `--budget-bytes` allows less. `--read-only` writes
nothing and finds what reads tell. `--file PATH` keeps to one file. The guards are those of
`flashscope bench`: a device is written only if its serial number or path was typed, and never one that
is in use.

## How it finds things

Each probe is an experiment and an estimator. The next one is that which is expected to tell the most
bits for the bytes that it writes and the time that it takes; what was found before is what it goes by.
Where a probe finds that something it went by cannot be right, that finding and what rests on it are
withdrawn, and looked for again with more samples.

First of all it asks what the medium is. A disk, memory behind a block device, a file behind the page
cache, and nothing at all come out as such, and then nothing is stated of flash that is not there.

## What it states

Of every parameter one of:

- a value with the interval that the evidence allows (95 %), or a class, each with the probability that
  it is right. Over many drives, of the answers stated with 90 % nine in ten should be right;
- `none`: the drive has no such thing;
- `not known`, with the reason. A parameter that the drive does not tell is not guessed.

With each comes what was seen, the numbers of the runs that show it, and pictures of the signal.

[How often it is right](probe-accuracy.md): 300 random simulated drives behind hosts of different noise,
every parameter, and the worst cases by name; `make bench-probe` writes that page.

## What it leaves

A folder `NAME.flashscope` with `probe.json` ([schema](schemas/probe.schema.json)) and every IO of every
run in `records/*.parquet`, with the columns that benchmarks have. `flashscope report NAME.flashscope`
makes a page of it with all pictures, `flashscope serve` shows it among other results, and `--json`
prints what is in `probe.json`. Ctrl-C ends a probe cleanly: what was found is kept.

`--profile twin.toml` saves a simulated drive with what was found, each field with where it comes from:

    flashscope probe /dev/nvme1n1 --destroy-data-on SERIAL --profile twin.toml
    flashscope simulate --drive sim:./twin.toml --workload 'zipf?reads=0.5'

It is a fit, which shows what the drive shows; what was not found is said to be assumed.
";

/// The page.
pub fn page() -> Result<String> {
    let mut page = INTRODUCTION.to_string();
    page.push_str(
        "\n## Parameters\n\n`right within` is how far a value may be off and still count as right.\n\n\
         | name | what it is | answer | right within | source |\n|---|---|---|---|---|\n",
    );
    for spec in PARAMETERS {
        let Spec { name, title, summary, source, .. } = spec;
        let (answer, within) = (answer(spec), within(spec));
        writeln!(page, "| `{name}` | **{title}.** {summary} | {answer} | {within} | {source} |")?;
    }
    page.push_str("\n## Probes\n\n| name | what it does | finds | goes by | source |\n");
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

/// What is answered.
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
