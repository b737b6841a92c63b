//! The parameters in the paths and queries of requests.

use flashscope_analysis::view::{MatchLimits, OUTLINE_BUCKETS};
use flashscope_query::{Expression, MAX_CHARACTERS, parse};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::limits;
use crate::problem::Problem;
use crate::shelf::{MAX_INTEGER, whole};

/// The default number of columns of colours.
const COLUMNS: u64 = 1024;
/// The maximum number of columns of colours.
const MAX_COLUMNS: u64 = 4096;
/// The maximum number of segments of an outline. A segment is a group of successive IOs, of which
/// the outline shows the fastest and the slowest.
const MAX_OUTLINE_BUCKETS: u64 = 4096;
/// The default number of single IOs in an answer.
const IOS: u64 = 100;
/// The maximum number of single IOs in an answer.
const MAX_IOS: u64 = 1000;

/// The path of a result.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ResultPath {
    /// The id of the result, from the shelf.
    #[schemars(length(min = 1))]
    pub id: String,
}

/// The path of a run.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct RunPath {
    /// The id of the result, from the shelf.
    #[schemars(length(min = 1))]
    pub id: String,
    /// The number of the run.
    #[schemars(range(max = u32::MAX))]
    pub run: u32,
}

/// The query for a window of a run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WindowQuery {
    /// The position of the first IO; 0 by default.
    #[schemars(range(max = MAX_INTEGER))]
    #[serde(default, deserialize_with = "whole")]
    pub from: Option<u64>,
    /// The position after the last IO; by default the end of the run.
    #[schemars(range(max = MAX_INTEGER))]
    #[serde(default, deserialize_with = "whole")]
    pub to: Option<u64>,
}

/// The query for the outline of a window.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OutlineQuery {
    /// The position of the first IO; 0 by default.
    #[schemars(range(max = MAX_INTEGER))]
    #[serde(default, deserialize_with = "whole")]
    pub from: Option<u64>,
    /// The position after the last IO; by default the end of the run.
    #[schemars(range(max = MAX_INTEGER))]
    #[serde(default, deserialize_with = "whole")]
    pub to: Option<u64>,
    /// The number of segments into which the window is divided, 400 by default. The outline shows
    /// the fastest and the slowest IO of each segment.
    #[schemars(range(min = 1, max = MAX_OUTLINE_BUCKETS))]
    // The name up to version 0.2.
    #[serde(alias = "stretches")]
    pub buckets: Option<u64>,
}

/// The query for single IOs of a run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct IosQuery {
    /// The position of the first IO; 0 by default.
    #[schemars(range(max = MAX_INTEGER))]
    #[serde(default, deserialize_with = "whole")]
    pub from: Option<u64>,
    /// The number of IOs; 100 by default.
    #[schemars(range(max = MAX_IOS))]
    pub count: Option<u64>,
}

/// The query for a time range of a run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ActivitiesQuery {
    /// The start of the range, in ns from the start of the run; 0 by default.
    #[schemars(range(max = MAX_INTEGER))]
    #[serde(default, deserialize_with = "whole")]
    pub from_ns: Option<u64>,
    /// The end of the range, in ns from the start of the run; by default the end of the run.
    #[schemars(range(max = MAX_INTEGER))]
    #[serde(default, deserialize_with = "whole")]
    pub to_ns: Option<u64>,
}

/// The query for the colours of an experiment.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ColoursQuery {
    /// The micro-benchmark.
    pub micro_benchmark: String,
    /// The experiment.
    pub experiment: String,
    /// The position of the first IO; 0 by default.
    #[schemars(range(max = MAX_INTEGER))]
    #[serde(default, deserialize_with = "whole")]
    pub from: Option<u64>,
    /// The position after the last IO; by default the end of the longest run.
    #[schemars(range(max = MAX_INTEGER))]
    #[serde(default, deserialize_with = "whole")]
    pub to: Option<u64>,
    /// The maximum number of columns; 1024 by default.
    #[schemars(range(min = 1, max = MAX_COLUMNS))]
    pub columns: Option<u64>,
}

/// The query for the IOs that match an expression.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MatchesQuery {
    /// The expression, such as `latency > 10 ms and op = write`: see docs/query.md.
    #[serde(rename = "where")]
    #[schemars(length(max = MAX_CHARACTERS))]
    pub expression: String,
    /// The maximum number of IOs to list; 100 by default.
    #[schemars(range(max = MAX_IOS))]
    pub limit: Option<u64>,
}

/// The query for a comparison of results.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ComparisonQuery {
    /// The results, separated by commas; the first is the baseline.
    #[schemars(regex(pattern = "^[^,]+(,[^,]+){0,15}$"))]
    pub ids: String,
}

/// A half-open range of positions of IOs, or of times.
pub(crate) type Window = std::ops::Range<u64>;

/// Returns the window from `from` to `to`; an empty window if `to` is before `from`.
fn window(from: Option<u64>, to: Option<u64>) -> Window {
    let from = from.unwrap_or(0);
    from..to.unwrap_or(u64::MAX).max(from)
}

/// Returns the requested number, or its default. Fails if the number is not within its limits.
fn within(
    name: &str,
    requested: Option<u64>,
    otherwise: u64,
    least: u64,
    most: u64,
) -> Result<u64, Problem> {
    let number = requested.unwrap_or(otherwise);
    if (least..=most).contains(&number) {
        return Ok(number);
    }
    Err(Problem::bad_request(format!("`{name}` is a whole number from {least} to {most}")))
}

impl WindowQuery {
    /// Returns the window.
    pub(crate) fn window(&self) -> Window {
        window(self.from, self.to)
    }
}

impl OutlineQuery {
    /// Returns the window, and the number of segments into which it is divided.
    pub(crate) fn window(&self) -> Result<(Window, u64), Problem> {
        let buckets = within("buckets", self.buckets, OUTLINE_BUCKETS, 1, MAX_OUTLINE_BUCKETS)?;
        Ok((window(self.from, self.to), buckets))
    }
}

impl IosQuery {
    /// Returns the window.
    pub(crate) fn window(&self) -> Result<Window, Problem> {
        let from = self.from.unwrap_or(0);
        let count = within("count", self.count, IOS, 0, MAX_IOS)?;
        Ok(from..from.saturating_add(count))
    }
}

impl ActivitiesQuery {
    /// Returns the time range, in ns.
    pub(crate) fn window(&self) -> Window {
        window(self.from_ns, self.to_ns)
    }
}

impl ColoursQuery {
    /// Returns the window, and the number of columns.
    pub(crate) fn window(&self) -> Result<(Window, u64), Problem> {
        let columns = within("columns", self.columns, COLUMNS, 1, MAX_COLUMNS)?;
        Ok((window(self.from, self.to), columns))
    }
}

impl MatchesQuery {
    /// Returns the expression, and the limits of the search.
    pub(crate) fn search(&self) -> Result<(Expression, MatchLimits), Problem> {
        let expression = parse(&self.expression).map_err(|error| {
            Problem::bad_request(error.message.clone()).at(error.place.start, error.place.end)
        })?;
        let listed = within("limit", self.limit, IOS, 0, MAX_IOS)?;
        let listed = usize::try_from(listed).unwrap_or(usize::MAX);
        Ok((expression, MatchLimits { read: limits::SEARCHED, listed }))
    }
}

impl ComparisonQuery {
    /// Returns the ids, in order.
    pub(crate) fn ids(&self) -> Result<Vec<String>, Problem> {
        let ids: Vec<String> = self.ids.split(',').map(String::from).collect();
        // A deliberate fault that the fuzz targets must find: a panic on an empty id.
        if flashscope_block::canary::is_planted() && ids.contains(&String::new()) {
            panic!("an id is empty");
        }
        if ids.len() > limits::COMPARED {
            let most = limits::COMPARED;
            return Err(Problem::bad_request(format!(
                "at most {most} results can be compared at once"
            )));
        }
        Ok(ids)
    }
}
