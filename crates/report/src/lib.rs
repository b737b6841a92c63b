//! From facts to what people look at. Nothing is computed here that the analysis did not find.

/// Writing to a string cannot fail.
macro_rules! line {
    ($out:expr $(, $($arg:tt)*)?) => {{ let _ = writeln!($out $(, $($arg)*)?); }};
}

mod attached;
mod conversion;
mod judgement;
mod page;
mod plan;
mod recording;
mod rounds;
mod simulation;
mod sweep;
mod terminal;
mod trace;
mod views;
mod what_if;
mod write_grid;

pub use attached::{Attached, attached};
pub use conversion::{Conversion, conversion};
use flashscope_analysis::{Facts, Outline};
use flashscope_result::Manifest;
pub use page::{Exhibit, Exhibits, PageError, ProbedExhibit, SimulatedExhibit, SweptExhibit};
pub use plan::plan;
pub use recording::{Recording, recording};
use schemars::JsonSchema;
use serde::Serialize;
pub use simulation::simulation;
pub use sweep::sweep;
pub use terminal::terminal;
pub use trace::{Trace, TraceStatus, trace};
pub use views::{
    Measurement, ResultKind, Shelf, ShelfItem, Views, WhatIfAsked, WhatIfAskedVariant,
    WhatIfChoice, WhatIfChoices,
};
pub use what_if::{
    what_if, what_if_end, what_if_expected, what_if_expected_head, what_if_question,
    what_if_simulated, what_if_simulated_head,
};

/// The page, built from `web/`; the report is inserted where it holds [`MARKER`].
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/report.html"));

/// Stands in the page for `report.json`.
const MARKER: &str = "/*REPORT*/";

/// `report.json`: what the report shows of a result, for programs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// What was measured, and how.
    pub manifest: Manifest,
    /// What was found.
    pub facts: Facts,
    /// Each run as a picture.
    pub outlines: Vec<Outline>,
}

/// What `flashscope bench --json` prints: the outcome for programs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    /// Where the result lies.
    pub result: String,
    /// What was measured, and how.
    pub manifest: Manifest,
    /// What was found.
    pub facts: Facts,
}

/// Results as one HTML file that needs nothing else, and no network; several measurements are compared with
/// each other. `progress` is told how much is done, of how much.
///
/// # Errors
/// Where the records cannot be read, or what was found not be written as JSON.
pub fn html(exhibits: &Exhibits, mut progress: impl FnMut(u64, u64)) -> Result<String, PageError> {
    page::html(PAGE, exhibits, &mut progress)
}

/// The characteristics of a trace as such a file.
///
/// # Errors
/// Where they cannot be written as JSON.
pub fn trace_html(trace: &Trace) -> Result<String, serde_json::Error> {
    filled(trace)
}

/// The book of the papers as such a file: what `flashscope reproduce --json` prints
/// (`flashscope_papers::Reproductions`), of which this crate knows nothing.
///
/// # Errors
/// Where it cannot be written as JSON.
pub fn papers_html(found: &impl Serialize) -> Result<String, serde_json::Error> {
    filled(found)
}

/// The page of a server, which it asks for what it shows.
pub fn served_html() -> String {
    PAGE.replacen(MARKER, r#"{"served":true}"#, 1)
}

/// The page of an attached drive, which it asks for what it does.
pub fn attached_html() -> String {
    PAGE.replacen(MARKER, r#"{"attached":true}"#, 1)
}

/// The page with what it shows.
fn filled(report: &impl Serialize) -> Result<String, serde_json::Error> {
    // No text of a result can end the script element that holds it.
    let json = serde_json::to_string(report)?.replace('<', "\\u003c");
    Ok(PAGE.replacen(MARKER, &json, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Is there one place in the page where the report goes?
    #[test]
    fn the_page_has_a_place_for_the_report() {
        assert_eq!(PAGE.matches(MARKER).count(), 1);
    }
}
