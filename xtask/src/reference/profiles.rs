//! `docs/profiles.md`: every field of a profile, and every variant in the simulator.

use std::fmt::Write;

use anyhow::{Context, Result};
use flashscope_sim::{Profile, cache, ftl, gc, sched, setup, wear};
use serde_json::Value;

use super::variants;

pub(crate) const PATH: &str = "docs/profiles.md";

const INTRODUCTION: &str = "\
# Simulated drives

<!-- Written by `cargo xtask schemas` from crates/sim. -->

A simulated drive is a *profile*: a built-in one, or a TOML file with the fields that differ from their
defaults. You can also set any field on the command line, by its full name after `?`:

    flashscope simulate --drive 'demo?over_provisioning=0.28&flash.packages=4' --workload uniform
    flashscope bench 'sim:my-drive.toml?cleaning.policy=fifo'

Sizes are bytes or a text such as `\"4KiB\"`, times a text such as `\"25us\"`. An unknown field is an
error. If a combination of fields is impossible, the error names the field, its value and the rule.

\"Table\" and \"section\" refer to Agrawal et al., \"Design Tradeoffs for SSD Performance\", USENIX ATC 2008. The
defaults describe the drive of that paper.
";

/// Returns the page.
pub(crate) fn page() -> Result<String> {
    let schema = serde_json::to_value(schemars::schema_for!(Profile))?;
    let mut page = INTRODUCTION.to_string();
    let kinds = setup::KINDS.iter().map(|k| (k.name, k.summary, k.source));
    variants(&mut page, "Built-in profiles", kinds)?;
    page.push_str("\n## Fields\n");
    section(&mut page, &schema, &schema, "")?;
    let kinds = ftl::KINDS.iter().map(|k| (k.name, k.summary, k.source));
    variants(&mut page, "Translation layers (`ftl`)", kinds)?;
    let kinds = sched::KINDS.iter().map(|k| (k.name, k.summary, k.source));
    variants(&mut page, "Scheduling policies (`scheduling.policy`)", kinds)?;
    let kinds = gc::KINDS.iter().map(|k| (k.name, k.summary, k.source));
    variants(&mut page, "Cleaning policies (`cleaning.policy`)", kinds)?;
    let kinds = wear::KINDS.iter().map(|k| (k.name, k.summary, k.source));
    variants(&mut page, "Wear levelling (`wear.policy`)", kinds)?;
    let kinds = cache::KINDS.iter().map(|k| (k.name, k.summary, k.source));
    variants(&mut page, "Write buffers (`cache.kind`)", kinds)?;
    anyhow::ensure!(!page.contains("crate::"), "{PATH} refers to a path in the code");
    Ok(page)
}

/// Returns a doc comment for readers outside the code: on one line, with links to registries
/// replaced by a reference to this page.
fn plain(text: &str) -> String {
    let text = text.replace('\n', " ");
    ["ftl", "sched", "gc", "wear", "cache"].iter().fold(text, |text, registry| {
        let name = format!("a name of [`crate::{registry}::KINDS`]");
        text.replace(&name, "one of those listed below")
    })
}

/// Appends the fields of one table of a profile, then those of its nested tables.
fn section(page: &mut String, root: &Value, schema: &Value, prefix: &str) -> Result<()> {
    let fields = schema["properties"].as_object().context("a table without fields")?;
    let target = |field: &Value| -> Option<Value> {
        let name = field["$ref"].as_str()?.strip_prefix("#/$defs/")?;
        let target = &root["$defs"][name];
        target["properties"].is_object().then(|| target.clone())
    };
    if prefix.is_empty() {
        page.push_str("\n### The drive\n");
    } else {
        write!(page, "\n### `[{}]`\n", prefix.trim_end_matches('.'))?;
        if let Some(text) = schema["description"].as_str() {
            write!(page, "\n{}\n", text.replace('\n', " "))?;
        }
    }
    page.push_str("\n| field | description |\n|---|---|\n");
    for (name, field) in fields.iter().filter(|(_, field)| target(field).is_none()) {
        let text = field["description"].as_str().context("a field without documentation")?;
        writeln!(page, "| `{prefix}{name}` | {} |", plain(text))?;
    }
    for (name, field) in fields {
        if let Some(target) = target(field) {
            section(page, root, &target, &format!("{prefix}{name}."))?;
        }
    }
    Ok(())
}
