//! `docs/agreement.md`: the comparison of all drives.

use flashscope_block::Bytes;
use flashscope_sim::setup;

use crate::agreement::{Comparison, Line};

/// The file name.
pub const NAME: &str = "agreement.md";

/// The largest drive that is compared by default.
const MAX_CAPACITY: Bytes = Bytes::gib(2);

/// Returns the profiles that are compared by default.
pub fn drives() -> Vec<String> {
    let names = setup::KINDS.iter().map(|kind| kind.name);
    let is_small = |name: &&str| {
        let capacity = setup::parse(name).ok().and_then(|profile| profile.capacity().ok());
        capacity.is_some_and(|capacity| capacity <= MAX_CAPACITY)
    };
    names.filter(is_small).map(String::from).collect()
}

/// Returns the table of a drive.
pub fn table(comparison: &Comparison) -> String {
    let mut text = format!("{}\n", comparison.drive);
    for line in &comparison.lines {
        let [stated, truth, long] = cells(line);
        text += &format!("  {:<46} {stated:<38} {truth:<26} {long}\n", line.quantity.name());
    }
    text
}

/// Returns the statement of the benchmark, the value from the profile, and the result of the long
/// run. Values that disagree with the statement are bold.
fn cells(line: &Line) -> [String; 3] {
    let text = |value| line.quantity.text(value);
    let stated = line.stated.map_or_else(
        || "nothing".into(),
        |stated| {
            let [value, low, high] = [stated.value, stated.low, stated.high].map(text);
            if low == high { value } else { format!("{value} ({low} to {high})") }
        },
    );
    let mark = |value: String, agrees: Option<bool>| {
        if agrees == Some(false) { format!("**{value}**") } else { value }
    };
    let truth = match line.truth {
        Ok(value) => mark(text(value), line.agrees_with_truth()),
        Err(_) => "-".into(),
    };
    let long = line.long_run.map_or_else(|| "-".into(), text);
    [stated, truth, mark(long, line.agrees_with_long_run())]
}

/// Returns the page.
pub fn page(all: &[Comparison]) -> String {
    let mut text = String::from(INTRODUCTION);
    for comparison in all {
        text += &format!("\n## `sim:{}`\n\n", comparison.drive);
        text += "| quantity | `bench` | from the profile | long run |\n|---|---|---|---|\n";
        for line in &comparison.lines {
            let [stated, truth, long] = cells(line);
            text += &format!("| {} | {stated} | {truth} | {long} |\n", line.quantity.name());
        }
    }
    text + "\n" + &reasons(all)
}

const INTRODUCTION: &str = "# The benchmark against the truth

<!-- Written by `make bench-agreement`. -->

`make bench-agreement` compares the statements of `flashscope bench` about simulated drives with two references. It
wrote this page, with seed 1. A value in bold disagrees with the statement: it is outside the stated
interval. Unless it is a limit, it also differs by more than 2 %, the precision of a mean.

- *From the profile*: arithmetic on the fields of the profile, without a simulation (`benches/agreement/src/truth.rs`).
  The quantities that do not follow from a profile are listed below, with the reasons.
- *Long run*: a simulation that uses neither the plan nor the analysis of the benchmark. Each read pattern runs
  for 100,000 IOs. Random writes write the drive four times, and the second half counts. Sequential writes count from a
  quarter to half of the drive, in three states. To find the largest cheap area, the simulation writes the capacity of
  the drive into each area.
- *Not compared*: erase blocks, stripes and units of parallelism. The benchmark does not state them; `flashscope probe`
  does, and [probe-accuracy.md](probe-accuracy.md) scores it. [long-run.md](long-run.md) scores the models of write
  amplification, which the benchmark does not state either.

The tests `statements_about_the_demo_drive_agree` and `statements_about_a_drive_with_log_blocks_agree` repeat two of the tables.

## Known disagreements

- `demo`, area of cheap random writes. In the random state every block is full of valid data, and a run in an area of up
  to 32 MiB moves no page. After random writes over the whole drive, each block also holds invalid pages, and small
  areas cost as much as large areas. The statement holds for the state that the benchmark enforces.
- `flashsim-2009`, area of cheap random writes. In the random state all 572 log blocks hold other data, and a run has at
  most 5,120 counted IOs. The long run shows the cheap areas, but the benchmark does not.
- `transcend-module`, sequential writes: the cause of 3.6 % is unknown.
";

/// Lists the reasons for which quantities do not follow from a profile.
fn reasons(all: &[Comparison]) -> String {
    let mut text = String::from("## Quantities that do not follow from a profile\n\n");
    for comparison in all {
        let missing =
            comparison.lines.iter().filter_map(|line| Some((line.quantity, line.truth.err()?)));
        for (quantity, reason) in missing {
            text += &format!("- `{}`, {}: {reason}.\n", comparison.drive, quantity.name());
        }
    }
    text
}
