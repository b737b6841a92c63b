//! `docs/fio-jobs.md`: the options of fio's jobs that flashscope runs.

use std::fmt::Write;

use anyhow::Result;
use flashscope_command::fio::{HARMLESS, SUPPORTED};

pub(crate) const PATH: &str = "docs/fio-jobs.md";

const INTRODUCTION: &str = "\
# Run job files of fio

<!-- Written by `cargo xtask schemas` from crates/command/src/fio. -->

`flashscope bench --fio-job FILE` runs a job file of fio and records every IO:

    flashscope bench sim:demo --fio-job docs/examples/mixed.fio --state sequential
    flashscope bench --fio-job docs/examples/mixed.fio --destroy-data-on scratch.img
    flashscope plan sim:demo --fio-job docs/examples/mixed.fio

Without a drive, the jobs run on their `filename`, with their `ioengine` and their `direct`. A drive that the command names
replaces all three. The guards are those of every benchmark: a file that flashscope did not create, and every device, needs
`--destroy-data-on`, unless all jobs only read.

Jobs run at the same time up to a `stonewall`, which begins a new run. The page of a run shows the mean of each job and
of each operation. The drive keeps its state, as with fio; `--state` prepares the drive first.

## Options

| option | meaning |
|---|---|
";

const NOTES: &str = "
Numbers have fio's notation: `4k` is 4096, `4ki` is 4000, `50%` is half of the drive. A later option replaces an earlier one.
A comment begins with `;` or `#`.

## Options without effect

flashscope accepts these options and says that they have no effect:

| option | reason |
|---|---|
";

const DIFFERENCES: &str = "
Any other option is refused by name, with its section and its line.

## Compared with fio

Tests run the same files with fio 3 and compare the IOs of both. Jobs without randomness have equal IOs: their number,
offsets, sizes and flushes. For mixes and skewed offsets, numbers, sizes and shares agree within the random variation of
both programs.

- Random offsets come from flashscope's own generator: their order differs from fio's. The seed is `randseed` or follows
  from `--seed`, and the same seed gives the same IOs.
- fio 3.33 flushes again if a read follows a flush. flashscope flushes once after each `fsync` writes.
- With `random_distribution`, the most frequent offsets are spread over the target space by another permutation than
  fio's.
- All processes share one thread of flashscope. `iodepth` of an engine that waits for each IO has no effect, as in fio.
- Writes have random data that no drive can compress.
";

/// Returns the page.
pub(crate) fn page() -> Result<String> {
    let mut page = INTRODUCTION.to_owned();
    for option in SUPPORTED {
        let names = [option.name].into_iter().chain(option.others.iter().copied());
        let names = names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        writeln!(page, "| {names} | {} |", option.summary)?;
    }
    page += NOTES;
    for harmless in HARMLESS {
        for name in harmless.names {
            writeln!(page, "| `{name}` | {} |", harmless.reason)?;
        }
    }
    Ok(page + DIFFERENCES)
}
