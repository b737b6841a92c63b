//! The conclusions of a what-if.

use flashscope_document::conclusion::{Conclusion, Evidence, EvidenceUnit, PageSection};
use flashscope_document::sweep::RowStatus;
use flashscope_document::what_if::{Quantity, SimulatedQuantity, Variant, WhatIf};
use flashscope_stats::Estimate;

use crate::words::{change, list, percent, quantity_words, relative};

/// The quantities of the conclusions, the most important first.
const QUANTITIES: [Quantity; 2] = [Quantity::MeanLatency, Quantity::WriteAmplification];

/// Maximum number of variants to name in a sentence.
const MAX_NAMED: usize = 3;

pub(super) fn conclusions(what_if: &WhatIf) -> Vec<Conclusion> {
    let mut all: Vec<Conclusion> =
        QUANTITIES.into_iter().filter_map(|quantity| of_quantity(what_if, quantity)).collect();
    all.extend(disagreement(what_if));
    all
}

/// The change of a quantity by a variant.
struct VariantChange<'a> {
    name: &'a str,
    /// The change relative to the baseline.
    relative: Estimate,
    sign: i8,
}

fn of_variant(variant: &Variant, quantity: Quantity) -> Option<VariantChange<'_>> {
    if variant.status != Some(RowStatus::Done) {
        return None;
    }
    let is_one = |one: &&SimulatedQuantity| one.quantity == quantity;
    let difference = variant.simulated.iter().find(is_one)?.difference.as_ref()?;
    let unchanged = Estimate::symmetric(0.0, None);
    let relative = match difference.absolute.value {
        0.0 => Some(unchanged),
        _ => relative(&difference.absolute, difference.relative),
    };
    Some(VariantChange { name: &variant.name, relative: relative?, sign: difference.sign })
}

fn of_quantity(what_if: &WhatIf, quantity: Quantity) -> Option<Conclusion> {
    let all: Vec<VariantChange> =
        what_if.variants.iter().filter_map(|variant| of_variant(variant, quantity)).collect();
    if all.is_empty() {
        return None;
    }
    let words = quantity_words(quantity);
    let text = match what_if.repeats {
        1 => of_one_repeat(&all, words),
        _ => of_repeats(&all, words),
    };
    let evidence = all.iter().map(|one| {
        let what = format!("{}: change of {words}", one.name);
        Evidence::shown_in(PageSection::Simulations, what, one.relative, EvidenceUnit::Share)
    });
    Some(Conclusion::new(text, evidence.collect()))
}

fn of_repeats(all: &[VariantChange], words: &str) -> String {
    let mut sentences = Vec::new();
    for sign in [-1, 1] {
        let mut changed: Vec<&VariantChange> = all.iter().filter(|one| one.sign == sign).collect();
        changed.sort_by(|a, b| b.relative.value.abs().total_cmp(&a.relative.value.abs()));
        let named = changed.iter().take(MAX_NAMED).enumerate().map(|(nth, one)| {
            let (verb, by) = change(&one.relative);
            match nth {
                0 => format!("{} {verb} {words} by {by}", one.name),
                _ => format!("{} by {by}", one.name),
            }
        });
        let mut parts: Vec<String> = named.collect();
        if let more @ 1.. = changed.len().saturating_sub(MAX_NAMED) {
            parts.push(format!("{more} more by less"));
        }
        if !parts.is_empty() {
            sentences.push(format!("{}.", parts.join(", ")));
        }
    }
    let unclear: Vec<String> =
        all.iter().filter(|one| one.sign == 0).map(|one| one.name.to_string()).collect();
    match (&unclear[..], sentences.is_empty()) {
        ([], _) => {}
        (_, true) => sentences.push(format!(
            "No variant changes {words} beyond the uncertainty: keep the drive unchanged, or add --repeats to see smaller effects."
        )),
        ([one], false) => sentences.push(format!("{one} does not change it beyond the uncertainty.")),
        (several, false) => {
            let names = match several.len() <= MAX_NAMED {
                true => list(several),
                false => format!("{} other variants", several.len()),
            };
            sentences.push(format!("{names} do not change it beyond the uncertainty."));
        }
    }
    sentences.join(" ")
}

/// Describes changes that have no intervals, because each variant was simulated once.
fn of_one_repeat(all: &[VariantChange], words: &str) -> String {
    let largest =
        all.iter().max_by(|a, b| a.relative.value.abs().total_cmp(&b.relative.value.abs()));
    let Some(VariantChange { name, relative, .. }) = largest else { return String::new() };
    if relative.value == 0.0 {
        return format!("No variant changed {words}; each was simulated once.");
    }
    let side = if relative.value < 0.0 { "below" } else { "above" };
    format!(
        "In one simulation of each, {name} differed most in {words}: {} {side} the baseline. Repeat with --repeats 3 or more \
         to know how much of it is chance.",
        percent(relative.value.abs())
    )
}

fn disagreement(what_if: &WhatIf) -> Option<Conclusion> {
    let variant = what_if.all().find(|variant| variant.disagreement.is_some())?;
    let found = variant.disagreement?;
    let side = if found.relative > 0.0 { "above" } else { "below" };
    let words = quantity_words(found.quantity);
    let text = format!(
        "For {}, the model is {} {side} the simulations in {words}: trust the simulations.",
        variant.name,
        percent(found.relative.abs())
    );
    let what = format!("{}: model relative to the simulations in {words}", variant.name);
    let value = Estimate::symmetric(found.relative, None);
    let evidence = Evidence::shown_in(PageSection::Predictions, what, value, EvidenceUnit::Share);
    Some(Conclusion::new(text, vec![evidence]))
}
