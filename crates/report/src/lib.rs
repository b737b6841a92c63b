//! Renders facts for people. This crate computes no statistics.

/// The bars of a row in the terminal, from the lowest to the highest.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Writes a line to a string, which cannot fail.
macro_rules! line {
    ($out:expr $(, $($arg:tt)*)?) => {{ let _ = writeln!($out $(, $($arg)*)?); }};
}

mod attached;
mod collection;
mod comparison;
mod conclusions;
mod conversion;
mod count;
mod judgement;
mod matches;
mod page;
mod plan;
mod recording;
mod reliability;
mod rounds;
mod simulation;
mod sweep;
pub mod table;
mod terminal;
mod trace;
mod views;
mod what_if;
mod write_grid;

pub use attached::{AttachedDrive, attached};
pub use collection::{collection, collection_prediction};
pub use comparison::comparison;
pub use conclusions::conclusions;
pub use conversion::{Conversion, conversion};
use flashscope_analysis::Outline;
use flashscope_document::Manifest;
use flashscope_document::facts::Facts;
pub use matches::{matches, query_fields};
pub use page::{
    Exhibit, Exhibits, PageError, PredictedExhibit, ProbedExhibit, SimulatedExhibit, SweptExhibit,
    TwinExhibit, WhatIfExhibit,
};
pub use plan::plan;
pub use recording::{Recording, recording};
use schemars::JsonSchema;
use serde::Serialize;
pub use simulation::simulation;
pub use sweep::sweep;
pub use terminal::terminal;
pub use trace::{Trace, TraceStatus, trace};
pub use views::{
    Measurement, ResultKind, Shelf, ShelfItem, Views, WhatIfChoice, WhatIfChoices, WhatIfQuestion,
    WhatIfQuestionVariant,
};
pub use what_if::{
    what_if, what_if_end, what_if_expected, what_if_expected_head, what_if_question,
    what_if_simulated, what_if_simulated_head,
};

/// The page, built from `web/`, with [`MARKER`] in place of the report.
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/report.html"));

/// The simulator for the page: WebAssembly, compressed by gzip, in base64. Empty if it was not
/// built.
const PLAYGROUND: &str = include_str!(concat!(env!("OUT_DIR"), "/playground.txt"));

/// The placeholder for the simulator in the page.
const PLAYGROUND_MARKER: &str = "/*PLAYGROUND*/";

/// The search for IOs for the page: WebAssembly, compressed by gzip, in base64. Empty if it was not
/// built.
const QUERY: &str = include_str!(concat!(env!("OUT_DIR"), "/query.txt"));

/// The placeholder for the search for IOs in the page.
const QUERY_MARKER: &str = "/*QUERY*/";

/// The reader of dropped traces for the page: WebAssembly, compressed by gzip, in base64. Empty if
/// it was not built.
const TRACE_PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/trace-page.txt"));

/// The placeholder for the reader of traces in the page.
const TRACE_PAGE_MARKER: &str = "/*TRACE-PAGE*/";

/// The placeholder for `report.json` in the page.
const MARKER: &str = "/*REPORT*/";

/// The start of the element with the page's `Content-Security-Policy` (`web/policy.ts`).
const POLICY: &str = "<meta http-equiv=\"Content-Security-Policy\"";

/// The contents of `report.json`: what the report shows of a result, for programs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// The manifest: what was measured, and how.
    pub manifest: Manifest,
    /// The findings of the analysis.
    pub facts: Facts,
    /// The outline of each run, for its picture.
    pub outlines: Vec<Outline>,
}

/// The output of `flashscope bench --json`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    /// The path of the result.
    pub result: String,
    /// The manifest: what was measured, and how.
    pub manifest: Manifest,
    /// The findings of the analysis.
    pub facts: Facts,
}

/// Renders results as one self-contained HTML file that works offline. Several measurements are
/// compared with each other. Calls `progress` with the number of steps done and the total.
///
/// # Errors
/// If records cannot be read, or the report cannot be written as JSON.
pub fn html(exhibits: &Exhibits, mut progress: impl FnMut(u64, u64)) -> Result<String, PageError> {
    page::html(&whole_page(), exhibits, &mut progress)
}

/// Renders the characteristics of a trace as one HTML file.
///
/// # Errors
/// If the characteristics cannot be written as JSON.
pub fn trace_html(trace: &Trace) -> Result<String, serde_json::Error> {
    filled(PAGE, trace)
}

/// Renders reproductions of papers as one HTML file. `reproductions` is the output of
/// `flashscope reproduce --json` (`flashscope_papers::Reproductions`), a type that is not in this
/// crate's dependencies.
///
/// # Errors
/// If `reproductions` cannot be written as JSON.
pub fn papers_html(reproductions: &impl Serialize) -> Result<String, serde_json::Error> {
    filled(PAGE, reproductions)
}

/// Returns the page with its modules, and with [`MARKER`] in place of the report.
fn whole_page() -> String {
    PAGE.replacen(PLAYGROUND_MARKER, PLAYGROUND, 1).replacen(QUERY_MARKER, QUERY, 1).replacen(
        TRACE_PAGE_MARKER,
        TRACE_PAGE,
        1,
    )
}

/// The optional features of a server, which its page offers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Abilities {
    /// True if the server answers what-ifs.
    pub what_ifs: bool,
    /// True if the server accepts submissions.
    pub submissions: bool,
    /// True if the server shows the running commands that write to its shelf.
    pub commands: bool,
}

/// Returns the page of a server, which loads its data from the server. The server sends the content
/// security policy as a header.
pub fn served_html(Abilities { what_ifs, submissions, commands }: Abilities) -> String {
    let data = format!(
        r#"{{"served":true,"what_ifs":{what_ifs},"submissions":{submissions},"commands":{commands}}}"#
    );
    without_policy(&whole_page()).replacen(MARKER, &data, 1)
}

/// Returns the page of an attached drive, which loads its data from the server. The server sends
/// the content security policy as a header.
pub fn attached_html() -> String {
    without_policy(PAGE).replacen(MARKER, r#"{"attached":true}"#, 1)
}

/// Returns the page of a command that runs, which loads its data from the server. The server sends
/// the content security policy as a header.
pub fn running_html() -> String {
    without_policy(PAGE).replacen(MARKER, r#"{"running":true}"#, 1)
}

/// Removes the content security policy from a page. The policy is for files, and forbids all
/// connections.
fn without_policy(page: &str) -> String {
    let Some((before, rest)) = page.split_once(POLICY) else { return page.into() };
    let after = rest.split_once('>').map_or(rest, |(_, after)| after);
    format!("{before}{after}")
}

/// Inserts a report into a page.
fn filled(page: &str, report: &impl Serialize) -> Result<String, serde_json::Error> {
    // Escaping `<` keeps texts of a result from ending the script element.
    let json = serde_json::to_string(report)?.replace('<', "\\u003c");
    Ok(page.replacen(MARKER, &json, 1))
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    use sha2::{Digest, Sha256};

    use super::*;

    /// Returns the content security policy of a page, and checks that it precedes all scripts and
    /// styles.
    fn policy(page: &str) -> &str {
        let (before, rest) = page.split_once(POLICY).expect("the page has a policy");
        assert!(!before.contains("<script") && !before.contains("<style"), "{before}");
        let (_, rest) = rest.split_once("content=\"").unwrap();
        rest.split_once('"').unwrap().0
    }

    /// Returns the sources that a policy allows for a directive.
    fn sources<'a>(policy: &'a str, directive: &str) -> Vec<&'a str> {
        let mut parts = policy.split("; ").map(|part| part.split(' '));
        let part = parts.find_map(|mut part| (part.next() == Some(directive)).then_some(part));
        part.unwrap_or_else(|| panic!("no {directive} in {policy}")).collect()
    }

    /// Returns the hashes of the elements called `name`, such as `script`, except for data in JSON.
    fn hashes(page: &str, name: &str) -> Vec<String> {
        let start = format!("<{name}");
        let elements = page.split(&start).skip(1).map(|rest| {
            let (attributes, rest) = rest.split_once('>').unwrap();
            (attributes, rest.split_once(&format!("</{name}>")).unwrap().0)
        });
        let run = elements.filter(|(attributes, _)| !attributes.contains("application/json"));
        let hash = |text: &str| BASE64_STANDARD.encode(Sha256::digest(text));
        run.map(|(_, text)| format!("'sha256-{}'", hash(text))).collect()
    }

    #[test]
    fn a_page_carries_the_hashes_of_its_script_and_style() {
        let hostile = "</script><script>alert(1)</script><meta http-equiv=\"x\">";
        let page = filled(PAGE, &serde_json::json!({ "measurements": [hostile] })).unwrap();
        let policy = policy(&page);
        for (directive, name) in [("script-src", "script"), ("style-src-elem", "style")] {
            let hashes = hashes(&page, name);
            assert!(!hashes.is_empty());
            let allowed = sources(policy, directive);
            let wasm: &[&str] = if name == "script" { &["'wasm-unsafe-eval'"] } else { &[] };
            assert_eq!(
                allowed,
                [hashes, wasm.iter().map(ToString::to_string).collect()].concat(),
                "{name}"
            );
        }
        for directive in ["default-src", "connect-src", "base-uri", "form-action"] {
            assert_eq!(sources(policy, directive), ["'none'"], "{directive}");
        }
        assert!(!page.contains("<script>alert"));
    }

    // The policy of the stand-alone file would forbid connections to the server.
    #[test]
    fn a_served_page_has_its_policy_as_a_header() {
        for page in [served_html(Abilities::default()), attached_html()] {
            assert!(!page.contains("Content-Security-Policy"));
            assert_eq!(hashes(&page, "script"), hashes(PAGE, "script"));
            assert!(page.contains("<meta charset=\"utf-8\" />") && page.contains("<title>"));
        }
        let registry = Abilities { submissions: true, ..Abilities::default() };
        assert!(served_html(registry).contains(r#""what_ifs":false,"submissions":true"#));
        assert_eq!(without_policy("<a><meta http-equiv=\"x\">"), "<a><meta http-equiv=\"x\">");
    }

    #[test]
    fn pages_of_results_contain_the_simulator_if_it_was_built() {
        let empty = Exhibits::default();
        let element = format!(
            "<script id=\"playground\" type=\"application/json\">\"{PLAYGROUND}\"</script>"
        );
        for page in [html(&empty, |_, _| ()).unwrap(), served_html(Abilities::default())] {
            assert!(page.contains(&element) && !page.contains(PLAYGROUND_MARKER));
        }
    }

    #[test]
    fn the_page_has_a_place_for_the_report() {
        assert_eq!(PAGE.matches(MARKER).count(), 1);
        assert_eq!(PAGE.matches(PLAYGROUND_MARKER).count(), 1);
    }
}
