//! `docs/papers.md`: every table and figure of the papers that can be reproduced, and the errata.

use std::fmt::Write;

use anyhow::Result;
use flashscope_papers::{ERRATA, ITEMS, Item, Paper};

pub const PATH: &str = "docs/papers.md";

const INTRODUCTION: &str = "\
# The papers, reproduced

<!-- Written by `cargo xtask schemas` from crates/papers. -->

Each item compares the values that a paper prints with those that this project measures. It states the printed value, the
measured one and the tolerance, and explains a difference.

    flashscope reproduce                        # lists the items with their expected states
    flashscope reproduce agrawal-table3         # printed and measured values, and their differences
    flashscope reproduce all                    # writes the book: papers.html, with the figures and the errata
    flashscope reproduce all --json > items.json
    flashscope reproduce agrawal-table3 --set 'drive=agrawal-2008?flash.page_program=250us'

An item passes if all measured values agree with the printed ones. It is explained if some differ for a stated reason that
predicts the measured value. The code contains the published values but no measured ones: tests run every item, and run it
again with each of its inputs changed, which must change the measured values.

The state of an item is the same in its quick form and at the papers' own lengths (`--full`). In full, `boboila-figure3`, which generates
eight workloads on a drive of 30 GiB, takes 18 minutes on a slow processor, `uflip-hints` 16 seconds, and the other 48 together half a minute.
";

pub fn page() -> Result<String> {
    let mut page = String::from(INTRODUCTION);
    let mut last = None;
    for item in ITEMS {
        if last != Some(item.paper) {
            last = Some(item.paper);
            write!(
                page,
                "\n## {}\n\n| item | location | title | state |\n|---|---|---|---|\n",
                item.paper
            )?;
        }
        let Item { id, place, title, expected, .. } = item;
        writeln!(page, "| `{id}` | {place} | {title} | {expected} |")?;
    }
    write!(page, "\n# Errata\n\nErrors and ambiguities in the papers.\n")?;
    let mut last: Option<Paper> = None;
    for erratum in ERRATA {
        if last != Some(erratum.paper) {
            last = Some(erratum.paper);
            let head = "| location | printed | correct | reason | item |\n|---|---|---|---|---|";
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
