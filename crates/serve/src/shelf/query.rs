//! Queries of the list of results: filters and sort orders.

use std::cmp::Ordering;

use flashscope_report::{ResultKind, Shelf, ShelfItem};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::limits;

/// The largest integer that every JSON reader represents exactly, 2⁵³ − 1.
pub const MAX_INTEGER: u64 = (1 << 53) - 1;

/// The maximum length of a filter in characters.
const MAX_FILTER: usize = 200;

/// Deserializes an integer of at most [`MAX_INTEGER`].
pub(crate) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let number = Option::<u64>::deserialize(deserializer)?;
    match number.filter(|number| *number > MAX_INTEGER) {
        None => Ok(number),
        Some(number) => Err(D::Error::custom(format!("{number} is more than {MAX_INTEGER}"))),
    }
}

/// A query of the shelf.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShelfQuery {
    /// Words that must all occur, each in the name, the drive, its model or firmware, the workload,
    /// a factor or a source of a twin; case-insensitive.
    #[schemars(length(max = MAX_FILTER))]
    pub search: Option<String>,
    /// Only results of this kind.
    pub kind: Option<ResultKind>,
    /// Only drives with this text in their model, or in their name if they have no model;
    /// case-insensitive.
    #[schemars(length(max = MAX_FILTER))]
    pub model: Option<String>,
    /// Only drives with this text in their firmware; case-insensitive.
    #[schemars(length(max = MAX_FILTER))]
    pub firmware: Option<String>,
    /// The minimum capacity of a drive in bytes.
    #[schemars(range(max = MAX_INTEGER))]
    #[serde(default, deserialize_with = "whole")]
    pub capacity_min: Option<u64>,
    /// The maximum capacity of a drive in bytes.
    #[schemars(range(max = MAX_INTEGER))]
    #[serde(default, deserialize_with = "whole")]
    pub capacity_max: Option<u64>,
    /// The sort order; by default by name.
    pub sort: Option<Sort>,
    /// The number of results to skip.
    #[schemars(range(max = MAX_INTEGER))]
    #[serde(default, deserialize_with = "whole")]
    pub offset: Option<u64>,
    /// The maximum number of results to return; 100 by default.
    #[schemars(range(max = limits::LARGEST_PAGE))]
    pub limit: Option<u64>,
}

/// The sort order of results; a leading `-` reverses the order. Results without the sorted value
/// come last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Sort {
    /// By name.
    #[default]
    #[serde(rename = "name")]
    Name,
    /// By name, in reverse.
    #[serde(rename = "-name")]
    NameDown,
    /// By start time, the oldest first.
    #[serde(rename = "started")]
    Started,
    /// By start time, the latest first.
    #[serde(rename = "-started")]
    StartedDown,
    /// By the capacity of the drive, the smallest first.
    #[serde(rename = "capacity")]
    Capacity,
    /// By the capacity of the drive, the largest first.
    #[serde(rename = "-capacity")]
    CapacityDown,
    /// By the model of the drive.
    #[serde(rename = "model")]
    Model,
    /// By the model of the drive, in reverse.
    #[serde(rename = "-model")]
    ModelDown,
    /// By the mean response time of random writes, the fastest first.
    #[serde(rename = "random_write")]
    RandomWrite,
    /// By the mean response time of random writes, the slowest first.
    #[serde(rename = "-random_write")]
    RandomWriteDown,
}

impl ShelfQuery {
    /// Returns the number of results to skip, and the maximum number to return.
    ///
    /// # Errors
    /// The problem with the query, in words.
    pub fn page(&self) -> Result<(u64, u64), String> {
        let (offset, limit) = (self.offset.unwrap_or(0), self.limit.unwrap_or(limits::PAGE));
        for text in [&self.search, &self.model, &self.firmware].into_iter().flatten() {
            if text.chars().count() > MAX_FILTER {
                return Err(format!("a filter has at most {MAX_FILTER} characters"));
            }
        }
        if limit > limits::LARGEST_PAGE {
            return Err(format!("`limit` is at most {}", limits::LARGEST_PAGE));
        }
        Ok((offset, limit))
    }

    /// Returns the requested page of the items that match the query, and the number of all matches.
    ///
    /// # Errors
    /// The problem with the query, in words.
    pub fn apply<'a>(&self, items: impl Iterator<Item = &'a ShelfItem>) -> Result<Shelf, String> {
        let (offset, limit) = self.page()?;
        let words = self.search.as_deref().unwrap_or_default().to_lowercase();
        let words: Vec<&str> = words.split_whitespace().collect();
        let mut items: Vec<&ShelfItem> = items.filter(|item| self.takes(item, &words)).collect();
        let sort = self.sort.unwrap_or_default();
        items.sort_by(|a, b| sort.compare(a, b).then_with(|| a.id.cmp(&b.id)));
        let total = items.len() as u64;
        let [offset, limit] = [offset, limit].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        let items = items.into_iter().skip(offset).take(limit).cloned().collect();
        Ok(Shelf { total, items })
    }

    fn takes(&self, item: &ShelfItem, words: &[&str]) -> bool {
        let device = item.device.as_ref();
        let has = |text: Option<&String>, part: &Option<String>| match part {
            None => true,
            Some(part) => {
                text.is_some_and(|text| text.to_lowercase().contains(&part.to_lowercase()))
            }
        };
        let capacity = device.map(|device| device.capacity.0);
        self.kind.is_none_or(|kind| kind == item.kind)
            && has(model(item), &self.model)
            && has(device.and_then(|device| device.firmware.as_ref()), &self.firmware)
            && self.capacity_min.is_none_or(|min| capacity.is_some_and(|bytes| bytes >= min))
            && self.capacity_max.is_none_or(|max| capacity.is_some_and(|bytes| bytes <= max))
            && (words.is_empty() || has_all(item, words))
    }
}

fn has_all(item: &ShelfItem, words: &[&str]) -> bool {
    let device = item.device.as_ref();
    let texts = [
        Some(&item.name),
        item.workload.as_ref(),
        device.map(|device| &device.name),
        device.and_then(|device| device.model.as_ref()),
        device.and_then(|device| device.firmware.as_ref()),
    ];
    let texts = texts.into_iter().flatten().chain(&item.factors).chain(&item.fitted_to);
    let text: Vec<String> = texts.map(|text| text.to_lowercase()).collect();
    words.iter().all(|word| text.iter().any(|text| text.contains(word)))
}

/// Returns the model of the drive, or its name if it has no model.
fn model(item: &ShelfItem) -> Option<&String> {
    let device = item.device.as_ref()?;
    Some(device.model.as_ref().unwrap_or(&device.name))
}

impl Sort {
    fn compare(self, a: &ShelfItem, b: &ShelfItem) -> Ordering {
        let name = |item: &ShelfItem| Some(item.name.to_lowercase());
        let started = |item: &ShelfItem| item.started.clone();
        let capacity = |item: &ShelfItem| Some(item.device.as_ref()?.capacity.0);
        let model = |item: &ShelfItem| model(item).map(|model| model.to_lowercase());
        // The bit patterns of positive floats have the same order as the floats.
        let random_write = |item: &ShelfItem| {
            Some(item.characteristics.as_ref()?.random_write_ns?.value.to_bits())
        };
        match self {
            Sort::Name => compare(name(a), name(b), false),
            Sort::NameDown => compare(name(a), name(b), true),
            Sort::Started => compare(started(a), started(b), false),
            Sort::StartedDown => compare(started(a), started(b), true),
            Sort::Capacity => compare(capacity(a), capacity(b), false),
            Sort::CapacityDown => compare(capacity(a), capacity(b), true),
            Sort::Model => compare(model(a), model(b), false),
            Sort::ModelDown => compare(model(a), model(b), true),
            Sort::RandomWrite => compare(random_write(a), random_write(b), false),
            Sort::RandomWriteDown => compare(random_write(a), random_write(b), true),
        }
    }
}

fn compare<T: Ord>(a: Option<T>, b: Option<T>, down: bool) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) if down => b.cmp(&a),
        (Some(a), Some(b)) => a.cmp(&b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Cases {
        items: Vec<ShelfItem>,
        cases: Vec<Case>,
    }

    #[derive(Deserialize)]
    struct Case {
        claim: String,
        query: ShelfQuery,
        ids: Vec<String>,
        total: u64,
    }

    // The page is tested with the same cases: web/tests/shelf.test.ts.
    #[test]
    fn queries_select_as_on_the_page() {
        let cases = include_str!("../../../../testdata/shelf/queries.json");
        let Cases { items, cases } = serde_json::from_str(cases).unwrap();
        for Case { claim, query, ids, total } in cases {
            let shelf = query.apply(items.iter()).unwrap();
            let found: Vec<_> = shelf.items.iter().map(|item| &item.id).collect();
            assert_eq!((found, shelf.total), (ids.iter().collect(), total), "{claim}");
        }
    }
}
