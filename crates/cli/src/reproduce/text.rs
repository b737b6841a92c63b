//! Formats reproduced items as text.

use std::collections::BTreeSet;
use std::fmt::Write;

use flashscope_block::Nanos;
use flashscope_papers::{
    Claim, Finding, ITEMS, InputValue, Item, Number, Reproduction, Reproductions, State, Statement,
    Tolerance,
};
use flashscope_report::table::{Align, Table};

/// Lists the items.
pub(super) fn list() -> String {
    let mut text = String::new();
    for item in ITEMS {
        let Item { id, expected, paper, place, title, .. } = item;
        let _ = writeln!(text, "{id:<20} {expected:<14} {paper}, {place}: {title}");
    }
    text
}

/// Formats an item in a line, with its duration and its unexplained claims.
pub(super) fn line(item: &Reproduction, took: Nanos) -> String {
    let Reproduction { id, state, paper, place, title, .. } = item;
    let took = format!("{:.1} s", took.as_secs_f64());
    let text = format!("{id:<20} {state:<14} {took:>8}  {paper}, {place}: {title}\n");
    text + &claims(None, item.claims.iter().filter(|claim| claim.is_unexplained()))
}

/// Formats the number of items, and of their claims, by verdict.
pub(super) fn sum(reproductions: &Reproductions) -> String {
    let items = &reproductions.items;
    let counts = |states: &[State]| {
        let count = |of: &State| states.iter().filter(|state| *state == of).count();
        let counts = STATES.iter().map(|state| format!("{} {state}", count(state)));
        counts.collect::<Vec<_>>().join(", ")
    };
    let states: Vec<State> = items.iter().map(|item| item.state).collect();
    let claims = items.iter().flat_map(|item| &item.claims).map(|claim| claim.state);
    let claims: Vec<State> = claims.collect();
    let mut text = format!("\n{} items: {}", items.len(), counts(&states));
    if !reproductions.missing.is_empty() {
        let _ = write!(text, "; {} not run", reproductions.missing.len());
    }
    let _ = writeln!(text, "\n{} claims: {}", claims.len(), counts(&claims));
    text
}

/// Formats items with their inputs and all claims.
pub(super) fn text(reproductions: &Reproductions) -> String {
    reproductions.items.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn one(item: &Reproduction) -> String {
    let mut text = format!("{}, {}: {} ({})\n", item.paper, item.place, item.title, item.id);
    for InputValue { name, value, .. } in &item.inputs {
        let _ = writeln!(text, "  {name} = {value}");
    }
    text += &format!("\n{}", claims(Some(HEAD), item.claims.iter()));
    for state in STATES {
        let of = item.claims.iter().filter(|claim| claim.state == state);
        let whys: BTreeSet<&str> = of.filter_map(|claim| claim.explanation.as_deref()).collect();
        for why in whys {
            let _ = writeln!(text, "\n  {}: {why}.", heading(state));
        }
    }
    let count = |state| item.claims.iter().filter(|claim| claim.state == state).count();
    let [printed, wrong, missing] = STATES.map(count);
    let (state, all) = (item.state, item.claims.len());
    let _ = write!(text, "\n  {state}: {printed} of {all} claims as printed");
    for (count, verdict) in [(wrong, "wrong in print"), (missing, "not reproduced")] {
        if count > 0 {
            let _ = write!(text, ", {count} {verdict}");
        }
    }
    text + "\n"
}

/// The verdicts, from best to worst.
const STATES: [State; 3] = [State::AsPrinted, State::PrintWrong, State::NotReproduced];

/// Returns the words before the reason for a verdict.
fn heading(state: State) -> &'static str {
    match state {
        State::AsPrinted => "Note",
        State::PrintWrong => "Wrong in print",
        State::NotReproduced => "Not reproduced",
    }
}

/// The header of the table of claims with numbers.
const HEAD: [&str; 6] = ["", "published", "reproduced", "error", "tolerance", ""];

/// Formats claims in their order: numbers as rows of one table below `head`, statements as two
/// lines.
fn claims<'c>(head: Option<[&str; 6]>, claims: impl Iterator<Item = &'c Claim> + Clone) -> String {
    const COLUMNS: [Align; 6] =
        [Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Left];
    let mut table = Table::new(&COLUMNS);
    head.into_iter().for_each(|head| table.row(head));
    for claim in claims.clone() {
        if let Finding::Number(number) = &claim.finding {
            table.row(cells(number, claim.state));
        }
    }
    let table = table.to_string();
    let mut rows = table.lines();
    let mut lines: Vec<String> = rows.by_ref().take(head.iter().len()).map(String::from).collect();
    lines.extend(claims.map(|claim| match &claim.finding {
        Finding::Number(_) => rows.next().unwrap_or_default().to_owned(),
        Finding::Statement(Statement { published, found, .. }) => {
            format!("  “{published}”\n  reproduced: {found}  {}", claim.state)
        }
    }));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn cells(number: &Number, state: State) -> [String; 6] {
    [
        format!("  {} ({})", number.what, number.unit).replace(" ()", ""),
        short(number.published),
        short(number.found),
        error(number),
        tolerance(number.tolerance),
        state.to_string(),
    ]
}

/// Formats a number with all digits before the point, and as many decimals as make five digits, at
/// most four.
/// Omits zeros at the end of the decimals.
fn short(value: f64) -> String {
    let before = value.abs().max(1.0).log10().floor();
    let digits = (4.0 - before).clamp(0.0, 4.0);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0 to 4")]
    let digits = digits as usize;
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

fn error(number: &Number) -> String {
    match number.difference() {
        Some(share) => format!("{:+.2} %", 100.0 * share),
        None => short(number.found),
    }
}

fn tolerance(tolerance: Tolerance) -> String {
    match tolerance {
        Tolerance::Share(share) => format!("{} %", short(100.0 * share)),
        Tolerance::Absolute(most) => short(most),
    }
}
