//! `docs/papers.md`: every table and figure of the papers that can be reproduced, and every error in print.

use std::fmt::Write;

use anyhow::Result;
use flashscope_papers::{ERRATA, ITEMS, Item, Paper};

pub const PATH: &str = "docs/papers.md";

const INTRODUCTION: &str = "\
# The papers, reproduced

<!-- Written by `cargo xtask schemas` from crates/papers. -->

What the papers print, beside what this project finds: each item is run, and says what is printed, what is found, how
far these may be apart, and where they are, why.

    flashscope reproduce                        # the items, with how each stands
    flashscope reproduce agrawal-table3         # what is printed, found, and the difference
    flashscope reproduce all                    # the book: papers.html, with the figures and the errata
    flashscope reproduce all --json > found.json
    flashscope reproduce agrawal-table3 --set 'drive=agrawal-2008?flash.page_program=250us'

An item passes where all that is printed is found; it is explained where something is not, for a reason that is given and
that predicts what is found instead. Nothing but the published values is written down: tests run every item, and run it
with each of its inputs changed, which must change what is found.

How an item stands is the same in its quick form and at the papers' own lengths (`--full`). In full `boboila-figure3`, which draws
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
                "\n## {}\n\n| item | where | what | stands |\n|---|---|---|---|\n",
                item.paper
            )?;
        }
        let Item { id, place, title, stands, .. } = item;
        writeln!(page, "| `{id}` | {place} | {title} | {stands} |")?;
    }
    write!(page, "\n# Errata\n\nWhat is wrong in print, or cannot be meant as it stands.\n")?;
    let mut last: Option<Paper> = None;
    for erratum in ERRATA {
        if last != Some(erratum.paper) {
            last = Some(erratum.paper);
            let head = "| where | printed | right | why | shown by |\n|---|---|---|---|---|";
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
