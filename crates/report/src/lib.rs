//! From facts to what people look at. Nothing is computed here that the analysis did not find.

/// Writing to a string cannot fail.
macro_rules! line {
    ($out:expr $(, $($arg:tt)*)?) => {{ let _ = writeln!($out $(, $($arg)*)?); }};
}

mod conversion;
mod plan;
mod recording;
mod rounds;
mod simulation;
mod terminal;
mod trace;
mod views;

use std::io::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
pub use conversion::{Conversion, conversion};
use flashscope_analysis::{Facts, Outline};
use flashscope_result::Manifest;
use flate2::Compression;
use flate2::write::GzEncoder;
pub use plan::plan;
pub use recording::{Recording, recording};
use schemars::JsonSchema;
use serde::Serialize;
pub use simulation::{
    Cleaning, LatencyHeatMap, LatencyNs, Simulation, SimulationFill, SimulationStatus,
    SimulationWarmUp, simulation,
};
pub use terminal::terminal;
pub use trace::{Trace, TraceStatus, trace};
pub use views::{Measurement, ResultKind, Shelf, ShelfItem, Views};

/// The page, built from `web/`; the report is inserted where it holds [`MARKER`].
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/report.html"));

/// Stands in the page for `report.json`.
const MARKER: &str = "/*REPORT*/";

/// `report.json`: everything that the report shows.
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

/// A [`Report`] as the page holds it: the pictures, which are nearly all of it, take a quarter of
/// the room when compressed.
#[derive(Serialize)]
struct Paged<'a> {
    manifest: &'a Manifest,
    facts: &'a Facts,
    /// JSON, by gzip, in base64.
    outlines: String,
}

/// The report as one HTML file that needs nothing else, and no network.
///
/// # Errors
/// Where it cannot be written as JSON.
pub fn html(report: &Report) -> Result<String, serde_json::Error> {
    let Report { manifest, facts, outlines } = report;
    page(&Paged { manifest, facts, outlines: compressed(outlines)? })
}

fn compressed(outlines: &[Outline]) -> Result<String, serde_json::Error> {
    let json = serde_json::to_vec(outlines)?;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let gzip = encoder.write_all(&json).and_then(|()| encoder.finish());
    Ok(BASE64_STANDARD.encode(gzip.map_err(serde_json::Error::io)?))
}

/// The characteristics of a trace as such a file.
///
/// # Errors
/// Where they cannot be written as JSON.
pub fn trace_html(trace: &Trace) -> Result<String, serde_json::Error> {
    page(trace)
}

/// The page with what it shows.
fn page(report: &impl Serialize) -> Result<String, serde_json::Error> {
    // No text of a result can end the script element that holds it.
    let json = serde_json::to_string(report)?.replace('<', "\\u003c");
    Ok(PAGE.replacen(MARKER, &json, 1))
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;

    // Do outlines come out of the page's form of them as they went in?
    #[test]
    fn outlines_are_only_compressed() {
        let outline =
            Outline { run: 7, ios: 2, latency_ns: vec![u64::MAX, 1], ..Outline::default() };
        let gzip =
            BASE64_STANDARD.decode(compressed(std::slice::from_ref(&outline)).unwrap()).unwrap();
        let mut json = String::new();
        GzDecoder::new(&gzip[..]).read_to_string(&mut json).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Outline>>(&json).unwrap(), [outline]);
    }

    // Is there one place in the page where the report goes?
    #[test]
    fn the_page_has_a_place_for_the_report() {
        assert_eq!(PAGE.matches(MARKER).count(), 1);
    }
}
