//! What requests carry in their path and query.

use flashscope_analysis::view::STRETCHES;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::limits;
use crate::problem::Problem;
use crate::shelf::{LARGEST, whole};

/// The columns of colours, unless asked for otherwise.
const COLUMNS: u64 = 1024;
/// The most columns of colours.
const MOST_COLUMNS: u64 = 4096;
/// The most stretches of an outline.
const MOST_STRETCHES: u64 = 4096;
/// The single IOs in an answer, unless asked for otherwise.
const IOS: u64 = 100;
/// The most single IOs in an answer.
const MOST_IOS: u64 = 1000;

/// A result.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ResultPath {
    /// Stands for the result, as the shelf says.
    #[schemars(length(min = 1))]
    pub id: String,
}

/// A run of a result.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct RunPath {
    /// Stands for the result, as the shelf says.
    #[schemars(length(min = 1))]
    pub id: String,
    /// The number of the run.
    #[schemars(range(max = u32::MAX))]
    pub run: u32,
}

/// A window of a run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WindowQuery {
    /// The position of the first IO; that of the run unless asked for otherwise.
    #[schemars(range(max = LARGEST))]
    #[serde(default, deserialize_with = "whole")]
    pub from: Option<u64>,
    /// The position after the last IO; the end of the run unless asked for otherwise.
    #[schemars(range(max = LARGEST))]
    #[serde(default, deserialize_with = "whole")]
    pub to: Option<u64>,
}

/// A window of a run as a picture.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutlineQuery {
    /// The position of the first IO; that of the run unless asked for otherwise.
    #[schemars(range(max = LARGEST))]
    #[serde(default, deserialize_with = "whole")]
    pub from: Option<u64>,
    /// The position after the last IO; the end of the run unless asked for otherwise.
    #[schemars(range(max = LARGEST))]
    #[serde(default, deserialize_with = "whole")]
    pub to: Option<u64>,
    /// Into how many stretches the window is divided; 400 unless asked for otherwise.
    #[schemars(range(min = 1, max = MOST_STRETCHES))]
    pub stretches: Option<u64>,
}

/// Some IOs of a run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IosQuery {
    /// The position of the first IO; that of the run unless asked for otherwise.
    #[schemars(range(max = LARGEST))]
    #[serde(default, deserialize_with = "whole")]
    pub from: Option<u64>,
    /// How many; 100 unless asked for otherwise.
    #[schemars(range(max = MOST_IOS))]
    pub count: Option<u64>,
}

/// A stretch of time of a run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActivitiesQuery {
    /// From when, from the begin of the run, in ns; its begin unless asked for otherwise.
    #[schemars(range(max = LARGEST))]
    #[serde(default, deserialize_with = "whole")]
    pub from_ns: Option<u64>,
    /// Until when, in ns; its end unless asked for otherwise.
    #[schemars(range(max = LARGEST))]
    #[serde(default, deserialize_with = "whole")]
    pub to_ns: Option<u64>,
}

/// An experiment in colours.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ColoursQuery {
    /// The micro-benchmark.
    pub micro_benchmark: String,
    /// The experiment.
    pub experiment: String,
    /// The position of the first IO; that of the runs unless asked for otherwise.
    #[schemars(range(max = LARGEST))]
    #[serde(default, deserialize_with = "whole")]
    pub from: Option<u64>,
    /// The position after the last IO; the end of the longest run unless asked for otherwise.
    #[schemars(range(max = LARGEST))]
    #[serde(default, deserialize_with = "whole")]
    pub to: Option<u64>,
    /// In how many columns at most; 1024 unless asked for otherwise.
    #[schemars(range(min = 1, max = MOST_COLUMNS))]
    pub columns: Option<u64>,
}

/// Results side by side.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComparisonQuery {
    /// The results, separated by commas; the first is the one that the others are compared with.
    #[schemars(regex(pattern = "^[^,]+(,[^,]+){0,15}$"))]
    pub ids: String,
}

/// A window, half-open.
pub type Window = std::ops::Range<u64>;

/// One that ends before it begins is empty.
fn window(from: Option<u64>, to: Option<u64>) -> Window {
    let from = from.unwrap_or(0);
    from..to.unwrap_or(u64::MAX).max(from)
}

/// A number within its limits, or what it is unless asked for otherwise.
fn within(
    name: &str,
    asked: Option<u64>,
    otherwise: u64,
    least: u64,
    most: u64,
) -> Result<u64, Problem> {
    let number = asked.unwrap_or(otherwise);
    if (least..=most).contains(&number) {
        return Ok(number);
    }
    Err(Problem::bad_request(format!("`{name}` is a whole number from {least} to {most}")))
}

impl WindowQuery {
    /// The window.
    pub fn window(&self) -> Window {
        window(self.from, self.to)
    }
}

impl OutlineQuery {
    /// The window, and into how many stretches it is divided.
    pub fn window(&self) -> Result<(Window, u64), Problem> {
        let stretches = within("stretches", self.stretches, STRETCHES, 1, MOST_STRETCHES)?;
        Ok((window(self.from, self.to), stretches))
    }
}

impl IosQuery {
    /// The window.
    pub fn window(&self) -> Result<Window, Problem> {
        let from = self.from.unwrap_or(0);
        let count = within("count", self.count, IOS, 0, MOST_IOS)?;
        Ok(from..from.saturating_add(count))
    }
}

impl ActivitiesQuery {
    /// The stretch of time.
    pub fn window(&self) -> Window {
        window(self.from_ns, self.to_ns)
    }
}

impl ColoursQuery {
    /// The window, and in how many columns it is shown.
    pub fn window(&self) -> Result<(Window, u64), Problem> {
        let columns = within("columns", self.columns, COLUMNS, 1, MOST_COLUMNS)?;
        Ok((window(self.from, self.to), columns))
    }
}

impl ComparisonQuery {
    /// The ids, in their order.
    pub fn ids(&self) -> Result<Vec<String>, Problem> {
        let ids: Vec<String> = self.ids.split(',').map(String::from).collect();
        // A canary of the fuzz targets: an id that is empty is not expected.
        if cfg!(feature = "canary") && ids.contains(&String::new()) {
            panic!("an id is empty");
        }
        if ids.len() > limits::COMPARED {
            let most = limits::COMPARED;
            return Err(Problem::bad_request(format!(
                "at most {most} results are compared at once"
            )));
        }
        Ok(ids)
    }
}
