//! `docs/papers.md`: every table and figure of the papers that can be reproduced, and the errata.

use std::fmt::Write;

use anyhow::Result;
use flashscope_papers::{ERRATA, ITEMS, Item, Paper};

pub(crate) const PATH: &str = "docs/papers.md";

const INTRODUCTION: &str = "\
# The papers, reproduced

<!-- Written by `cargo xtask schemas` from crates/papers. -->

`flashscope reproduce` recomputes tables and figures of the papers. Each item shows the printed value, the computed value and the
tolerance, and states the reason for a difference.

    flashscope reproduce                        # the items, with their verdicts
    flashscope reproduce agrawal-table3         # printed and computed values, and the difference
    flashscope reproduce all                    # the book: papers.html, with the figures and the errata
    flashscope reproduce all --json > found.json
    flashscope reproduce agrawal-table3 --set 'drive=agrawal-2008?flash.page_program=250us'

Each claim has one of three verdicts, and an item has the worst of its claims:

- *as printed*: the computed value agrees with the printed one, within the tolerance or by rounding to the printed digits.
- *print is wrong*: the values differ, and a derivation that predicts the computed value shows the error in print.
- *not reproduced*: the difference is flashscope's. The item says what is missing, such as a trace that is not public or a mechanism of
  the drive. A claim that was checked on a substitute (another workload, geometry or threshold) is never as printed.

The program fails if a claim is not reproduced for an unknown reason. The source contains only published values. Tests run every item, and run it again with each of its
inputs changed, which must change the result.

An item that measures drives runs `flashscope bench`, and has no separate measurement code. With `--full` it uses the
default options. Without `--full`, the preparation is shorter, the precision is 5 %, and runs are not repeated.

Items that measure no drive have the same verdict in their quick form and at the papers' own lengths (`--full`). With
`--full`, `boboila-figure3` generates eight workloads on a drive of 30 GiB and takes 18 minutes on a slow processor. In
a debug build, the quick items that measure drives take about four minutes of processor time together, and all others
half a minute.
";

pub(crate) fn page() -> Result<String> {
    let mut page = String::from(INTRODUCTION);
    let mut last = None;
    for item in ITEMS {
        if last != Some(item.paper) {
            last = Some(item.paper);
            write!(
                page,
                "\n## {}\n\n| item | place | content | verdict |\n|---|---|---|---|\n",
                item.paper
            )?;
        }
        let Item { id, place, title, expected, .. } = item;
        writeln!(page, "| `{id}` | {place} | {title} | {expected} |")?;
    }
    write!(
        page,
        "\n# Errata\n\nPrinted values and equations that are wrong, or that cannot be meant literally.\n"
    )?;
    let mut last: Option<Paper> = None;
    for erratum in ERRATA {
        if last != Some(erratum.paper) {
            last = Some(erratum.paper);
            let head = "| place | printed | correct | reason | shown by |\n|---|---|---|---|---|";
            write!(page, "\n## {}\n\n{head}\n", erratum.paper)?;
        }
        let shown = erratum.item.map(|item| format!("`{item}`")).unwrap_or_default();
        writeln!(
            page,
            "| {} | {} | {} | {} | {shown} |",
            erratum.place, erratum.printed, erratum.right, erratum.why
        )?;
    }
    Ok(page)
}
