//! Compares measurements value by value.
//!
//! Two numbers of repeated runs differ if the 95 % interval of their ratio excludes 1. One in
//! twenty truly equal numbers appears to differ by chance, and a full uFLIP result has hundreds of
//! numbers. A single mark among many therefore means little; several marks in a row mean more. The
//! intervals are not widened for the number of comparisons, because only the reader knows which
//! comparisons matter.

use std::collections::BTreeMap;

use flashscope_document::Manifest;
use flashscope_document::manifest::{Experiment, find_experiment};
use flashscope_stats::Estimate;
use flashscope_workload::uflip;

use crate::Facts;
use flashscope_document::comparison::{
    ComparedCharacteristic, ComparedExperiment, ComparedNumber, ComparedValue,
};
use flashscope_document::facts::Characteristics;

/// Compares the characteristics of several measurements with those of the first.
pub(super) fn characteristics(results: &[(&Manifest, &Facts)]) -> Vec<ComparedCharacteristic> {
    let value = |(manifest, facts): &(&Manifest, &Facts), of: fn(&_) -> _| {
        let value: Estimate = of(&facts.characteristics)?;
        let is_repeated = manifest.options.methodology.repeats > 1;
        Some(if is_repeated { value } else { Estimate::symmetric(value.value, None) })
    };
    let characteristics = NUMERIC.into_iter().map(|(name, of)| ComparedCharacteristic {
        name: name.into(),
        results: beside_first(results.iter().map(|result| value(result, of))),
    });
    characteristics.collect()
}

/// A numeric column of Table 3: the field name and its value.
type Column = (&'static str, fn(&Characteristics) -> Option<Estimate>);

const NUMERIC: [Column; 7] = [
    ("sequential_read_ns", |found| found.sequential_read_ns),
    ("random_read_ns", |found| found.random_read_ns),
    ("sequential_write_ns", |found| found.sequential_write_ns),
    ("random_write_ns", |found| found.random_write_ns),
    ("reverse", |found| found.reverse),
    ("in_place", |found| found.in_place),
    ("large_increments", |found| found.large_increments),
];

fn beside_first(values: impl IntoIterator<Item = Option<Estimate>>) -> Vec<ComparedNumber> {
    let mut values = values.into_iter();
    let Some(first) = values.next() else { return vec![] };
    let beside = |value: Option<Estimate>| {
        let ratio = value.zip(first).and_then(|(value, first)| value.ratio(&first));
        let differs = ratio.and_then(|Estimate { low, high, .. }| match (low, high) {
            (None, None) => None,
            _ => Some(low.is_some_and(|low| low > 1.0) || high.is_some_and(|high| high < 1.0)),
        });
        ComparedNumber { value, ratio, differs, verdict: None }
    };
    let first = ComparedNumber { value: first, ..ComparedNumber::default() };
    std::iter::once(first).chain(values.map(beside)).collect()
}

/// The means of an experiment in one result, by value.
type ByValue = BTreeMap<i64, Estimate>;

/// Compares the experiments of several measurements with those of the first.
pub(super) fn experiments(results: &[(&Manifest, &Facts)]) -> Vec<ComparedExperiment> {
    let mut named: Vec<(&str, &str)> = Vec::new();
    for (manifest, _) in results {
        for benchmark in &manifest.micro_benchmarks {
            for experiment in &benchmark.experiments {
                let name = (benchmark.name.as_str(), experiment.name.as_str());
                if !named.contains(&name) {
                    named.push(name);
                }
            }
        }
    }
    // The micro-benchmarks of uFLIP come first, in their order, and then all others in the order of
    // the results.
    let rank = |benchmark: &str| uflip::all().position(|known| known.name == benchmark);
    named.sort_by_key(|(benchmark, _)| rank(benchmark).unwrap_or(usize::MAX));
    let compared = |(benchmark, experiment): (&str, &str)| {
        let means: Vec<ByValue> = results
            .iter()
            .map(|(manifest, facts)| {
                let plan = &manifest.micro_benchmarks;
                let found = find_experiment(plan, benchmark, experiment);
                found.map(|found| by_value(found, facts)).unwrap_or_default()
            })
            .collect();
        let values = values(&means);
        (!values.is_empty()).then(|| ComparedExperiment {
            micro_benchmark: benchmark.into(),
            experiment: experiment.into(),
            values,
        })
    };
    named.into_iter().filter_map(compared).collect()
}

/// Returns the means of an experiment. A value that ran once has no interval, because a single run
/// does not show how much runs differ.
fn by_value(experiment: &Experiment, facts: &Facts) -> ByValue {
    let runs = |value: i64| experiment.runs.iter().filter(|run| run.value == value).count();
    let means = facts.means(experiment).into_iter();
    let means = means.filter_map(|(value, mean)| {
        let mean = mean?;
        let is_repeated = runs(value) > 1;
        Some((value, if is_repeated { mean } else { Estimate::symmetric(mean.value, None) }))
    });
    means.collect()
}

/// Returns every value of the parameter that any result has.
fn values(means: &[ByValue]) -> Vec<ComparedValue> {
    let mut values: Vec<i64> = means.iter().flat_map(BTreeMap::keys).copied().collect();
    values.sort_unstable();
    values.dedup();
    let of_value = |value| ComparedValue {
        value,
        results: beside_first(means.iter().map(|means| means.get(&value).copied())),
    };
    values.into_iter().map(of_value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::{GivenMeans, result};

    fn compared(
        results: &[&[GivenMeans]],
    ) -> (Vec<ComparedCharacteristic>, Vec<ComparedExperiment>) {
        let results: Vec<_> = results.iter().map(|given| result(given)).collect();
        let results: Vec<_> = results.iter().map(|(manifest, facts)| (manifest, facts)).collect();
        (characteristics(&results), experiments(&results))
    }

    #[test]
    fn numbers_differ_from_the_first_if_intervals_exclude_equality() {
        let locality = |ms: [f64; 2]| {
            let [small, large] = [(1 << 20, ms[0]), (2 << 20, ms[1])];
            ("locality", "RW", [small, small, large, large])
        };
        let [a, b] = [locality([1.0, 2.0]), locality([1.005, 3.0])];
        let (_, found) = compared(&[&[(a.0, a.1, &a.2)], &[(b.0, b.1, &b.2)]]);
        let [experiment] = &found[..] else { panic!("one experiment") };
        assert_eq!((&*experiment.micro_benchmark, &*experiment.experiment), ("locality", "RW"));
        let [same, other] = &experiment.values[..] else { panic!("two values") };
        assert_eq!((same.results[0].ratio, same.results[0].differs), (None, None));
        assert_eq!(same.results[1].differs, Some(false));
        assert_eq!(other.results[1].differs, Some(true));
        assert!(other.results[1].ratio.unwrap().covers(1.5));
    }

    #[test]
    fn missing_experiments_are_absent_and_order_follows_uflip() {
        let first: &[GivenMeans] =
            &[("trace", "x", &[(1, 1.0)]), ("order", "SW", &[(1, 1.0), (1, 1.0)])];
        let second: &[GivenMeans] = &[
            ("preparation", "SW", &[(20480, 2.0)]),
            ("order", "SW", &[(-1, 3.0), (1, 1.5)]),
            ("granularity", "SR", &[]),
        ];
        let (characteristics, found) = compared(&[first, second, first]);
        let names: Vec<_> = found.iter().map(|e| &*e.micro_benchmark).collect();
        assert_eq!(names, ["preparation", "order", "trace"]);
        let order = &found[1];
        assert_eq!(order.values.iter().map(|v| v.value).collect::<Vec<_>>(), [-1, 1]);
        let reverse = &order.values[0].results;
        assert_eq!(
            reverse.iter().map(|c| c.value.is_some()).collect::<Vec<_>>(),
            [false, true, false]
        );
        assert!(reverse.iter().all(|compared| compared.ratio.is_none()));
        assert_eq!(order.values[1].results[2].differs, Some(false));
        let sw = characteristics.iter().find(|c| c.name == "sequential_write_ns").unwrap();
        assert_eq!(
            sw.results.iter().map(|c| c.value.is_some()).collect::<Vec<_>>(),
            [false, true, false]
        );
        assert_eq!(experiments(&[]), []);
    }

    #[test]
    fn every_numeric_characteristic_is_compared() {
        let estimate = Some(Estimate::symmetric(1.0, None));
        let full = Characteristics {
            sequential_read_ns: estimate,
            random_read_ns: estimate,
            sequential_write_ns: estimate,
            random_write_ns: estimate,
            reverse: estimate,
            in_place: estimate,
            large_increments: estimate,
            ..Characteristics::default()
        };
        let serde_json::Value::Object(fields) = serde_json::to_value(full).unwrap() else {
            panic!("an object");
        };
        let numeric = fields.iter().filter(|(_, value)| value.get("value").is_some());
        let mut names: Vec<&str> = numeric.map(|(name, _)| name.as_str()).collect();
        let mut compared = NUMERIC.map(|(name, _)| name);
        names.sort_unstable();
        compared.sort_unstable();
        assert_eq!(names, compared);
    }
}
