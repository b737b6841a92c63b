use flashscope_workload::uflip::all;
use proptest::prelude::*;

use super::*;
use crate::scripted::{GivenMeans, means, micro_benchmark, result};

/// Returns the verdict of an experiment.
fn verdict_of(given: &[GivenMeans], benchmark: &str, experiment: &str) -> Verdict {
    let (manifest, _) = result(given);
    let grid = grid(&manifest, &means(given));
    let named = |v: &&Verdict| v.micro_benchmark == benchmark && v.experiment == experiment;
    grid.iter().find(named).unwrap().clone()
}

const INTERESTING: Interest = Interest::Interesting;
const AS_USUAL: Interest = Interest::NotInteresting;

#[test]
fn the_grid_holds_every_experiment_of_the_nine_micro_benchmarks() {
    let given: &[GivenMeans] = &[("order", "SW", &[(1, 1.0), (2, 1.0)])];
    let (manifest, _) = result(given);
    let grid = super::grid(&manifest, &means(given));
    let rows: Vec<(String, usize)> = MICRO_BENCHMARKS
        .iter()
        .map(|b| {
            let of = grid.iter().filter(|verdict| verdict.micro_benchmark == b.name);
            (b.name.to_string(), of.count())
        })
        .collect();
    let counts: Vec<usize> = rows.iter().map(|(_, count)| *count).collect();
    assert_eq!(counts, [4, 4, 4, 2, 2, 4, 6, 4, 4]);
    let performed = grid.iter().filter(|verdict| verdict.interest != Interest::NotPerformed);
    assert_eq!(performed.count(), 1);
    assert!(grid.iter().all(|verdict| !verdict.reason.is_empty()));

    // A manifest may state larger IOs than any drive can have.
    let (mut hostile, _) = result(given);
    hostile.options.setup.io_size = flashscope_block::Bytes(u64::MAX);
    assert_eq!(super::grid(&hostile, &means(given)), grid);

    let (mut manifest, _) = result(&[]);
    manifest.micro_benchmarks = vec![micro_benchmark("pts-iops", vec![])];
    assert_eq!(super::grid(&manifest, &means(&[])), []);
}

#[test]
fn every_micro_benchmark_has_a_rule() {
    let ruled: Vec<_> = RULES.iter().map(|rule| rule.micro_benchmark).collect();
    let known: Vec<_> = all().map(|b| b.name).filter(|name| *name != "preparation").collect();
    assert_eq!(ruled, known);
}

/// Returns a linear cost of 0.07 ms plus 0.23 ms for 32 KiB, as the paper states for the Memoright
/// SSD.
fn line(bytes: i64) -> f64 {
    0.07 + 0.23 * f64::from(i32::try_from(bytes).unwrap()) / 32_768.0
}

#[test]
fn only_costs_off_the_line_are_interesting() {
    let sizes = [512, 4096, 16_384, 32_768, 65_536, 131_072, 262_144];
    let verdict = |ms: &dyn Fn(i64) -> f64| {
        let means = sizes.map(|size| (size, ms(size)));
        verdict_of(&[("granularity", "SR", &means)], "granularity", "SR")
    };
    assert_eq!(verdict(&line).interest, AS_USUAL);
    let step = verdict(&|size| if size < 32_768 { 2.0 } else { line(size) });
    assert_eq!(step.interest, INTERESTING, "{}", step.reason);
    let constant = verdict(&|_| 5.0);
    assert_eq!(constant.interest, INTERESTING);
    assert!(
        constant.reason.starts_with("A byte of IOSize 32 KiB costs 8.00"),
        "{}",
        constant.reason
    );
}

// Each case compares with a single expectation.
#[test]
fn rules_answer_as_stated() {
    let cases: &[(GivenMeans, Interest)] = &[
        // Samsung: 18 ms if aligned, 32 ms otherwise.
        (("alignment", "RW", &[(0, 18.0), (512, 32.0), (16_384, 18.0)]), INTERESTING),
        (("alignment", "RR", &[(0, 0.40), (512, 0.45), (16_384, 0.4)]), AS_USUAL),
        (("locality", "RW", &[(32_768, 0.3), (1 << 23, 0.3), (1 << 26, 5.0)]), INTERESTING),
        (("locality", "SR", &[(32_768, 0.3), (1 << 23, 0.31)]), AS_USUAL),
        (("partitioning", "SW", &[(1, 0.3), (8, 0.3), (16, 4.0)]), INTERESTING),
        (("order", "SW", &[(-1, 0.3), (0, 0.3), (1, 0.3)]), AS_USUAL),
        (("parallelism", "SR", &[(1, 0.3), (4, 1.2), (16, 4.8)]), AS_USUAL),
        (("parallelism", "RR", &[(1, 0.4), (4, 0.4), (16, 1.6)]), INTERESTING),
        (("parallelism", "SW", &[(1, 0.3), (16, 9.6)]), INTERESTING),
        (("mix", "SR/RW", &[(1, 2.65), (4, 1.24)]), AS_USUAL),
        (("mix", "SR/SW", &[(1, 0.3), (4, 0.6)]), INTERESTING),
        (("pause", "RW", &[(100_000, 4.9), (6_400_000, 0.3)]), INTERESTING),
        (("pause", "SR", &[(100_000, 0.3), (6_400_000, 0.31)]), AS_USUAL),
        (("pause", "RR", &[(100_000, 0.4), (25_600_000, 0.8)]), INTERESTING),
        (("bursts", "RW", &[(10, 0.5), (640, 4.5)]), INTERESTING),
        (("bursts", "SW", &[(10, 0.3), (640, 0.32)]), AS_USUAL),
    ];
    for (given, interest) in cases {
        let preparation: [GivenMeans; 4] = [
            ("preparation", "SR", &[(20480, 0.3)]),
            ("preparation", "RR", &[(20480, 0.4)]),
            ("preparation", "SW", &[(20480, 0.3)]),
            ("preparation", "RW", &[(20480, 5.0)]),
        ];
        let all: Vec<GivenMeans> = preparation.into_iter().chain([*given]).collect();
        let found = verdict_of(&all, given.0, given.1);
        assert_eq!(found.interest, *interest, "{} {}: {}", given.0, given.1, found.reason);
        assert!(found.effect.is_some());
    }
}

#[test]
fn experiments_without_a_comparison_are_not_performed_and_say_why() {
    let mix = verdict_of(&[("mix", "SR/RW", &[(1, 1.0), (2, 1.0)])], "mix", "SR/RW");
    assert_eq!((mix.interest, mix.effect), (Interest::NotPerformed, None));
    assert!(mix.reason.starts_with("It is compared with SR"), "{}", mix.reason);
    let one = verdict_of(&[("order", "SW", &[(1, 1.0)])], "order", "SW");
    assert_eq!(
        (one.interest, &*one.reason),
        (Interest::NotPerformed, "Only one value of Incr was run.")
    );
    let shifted = verdict_of(&[("alignment", "SR", &[(512, 1.0), (1024, 1.0)])], "alignment", "SR");
    assert_eq!(shifted.interest, Interest::NotPerformed);
}

#[test]
fn chance_is_not_interesting() {
    let given: &[GivenMeans] = &[("order", "SW", &[(1, 1.0), (2, 2.0)])];
    let (manifest, _) = result(given);
    let mut means = means(given);
    means.series[0].means[1].ns = Estimate::symmetric(2e6, Some(1.2e6));
    let grid = super::grid(&manifest, &means);
    let order = grid.iter().find(|v| v.micro_benchmark == "order" && v.experiment == "SW").unwrap();
    assert_eq!(order.interest, AS_USUAL);
    assert!(order.reason.ends_with("it may be chance."), "{}", order.reason);
}

/// An experiment: micro-benchmark, name, and the mean in ms for each value.
type OwnedMeans = (String, String, Vec<(i64, f64)>);

/// A drive with no interesting experiment: every experiment has the expected means.
fn plain(setup: &uflip::Setup) -> Vec<OwnedMeans> {
    let base = |name: &str| match name {
        "SR" => 0.3,
        "RR" => 0.4,
        "SW" => 0.35,
        _ => 0.5,
    };
    let mut given = vec![];
    for benchmark in all() {
        for experiment in benchmark.experiments(setup) {
            let name = experiment.name.as_str();
            #[allow(clippy::cast_precision_loss)]
            let mean = |value: i64| match (benchmark.name, name.split_once('/')) {
                ("granularity", _) => base(name) / 0.3 * (0.07 + 0.23 * value as f64 / 32_768.0),
                ("parallelism", _) => base(name) * value as f64,
                ("mix", Some((a, b))) => (value as f64 * base(a) + base(b)) / (value as f64 + 1.0),
                _ => base(name),
            };
            let means = experiment.runs.iter().map(|run| (run.value, mean(run.value))).collect();
            given.push((benchmark.name.to_string(), experiment.name.clone(), means));
        }
    }
    given
}

/// Returns an approximately normally distributed number of variance 1.
fn normal(random: &mut fastrand::Rng) -> f64 {
    (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
}

fn borrowed(given: &[OwnedMeans]) -> Vec<GivenMeans<'_>> {
    given.iter().map(|(b, e, means)| (b.as_str(), e.as_str(), means.as_slice())).collect()
}

// Noise alone never makes an experiment interesting if the means are as precise as in a benchmark.
// With less precise means, noise makes an experiment interesting hardly more often than an interval
// misses its true value.
#[test]
fn noise_alone_is_rarely_interesting() {
    let (manifest, _) = result(&[]);
    let given = plain(&manifest.options.setup);
    let (manifest, _) = result(&borrowed(&given));
    let truth = means(&borrowed(&given));
    for (relative, most) in [(0.01, 0.0), (0.05, 0.0), (0.2, 0.05), (0.5, 0.08)] {
        let mut random = fastrand::Rng::with_seed(5);
        let (mut alarms, mut experiments) = (Vec::new(), 0);
        for _ in 0..60 {
            let mut noisy = truth.clone();
            for mean in noisy.series.iter_mut().flat_map(|series| &mut series.means) {
                // The interval is 1.96 standard errors wide to either side; `relative` is that
                // half-width.
                let error = relative / 1.96 * normal(&mut random);
                let value = (mean.ns.value * (1.0 + error)).max(0.01 * mean.ns.value);
                mean.ns = Estimate::symmetric(value, Some(relative * mean.ns.value));
            }
            let grid = grid(&manifest, &noisy);
            experiments += grid.len();
            let alarmed = grid.into_iter().filter(|verdict| verdict.interest == INTERESTING);
            alarms.extend(alarmed.map(|verdict| verdict.micro_benchmark));
        }
        #[allow(clippy::cast_precision_loss)]
        let rate = alarms.len() as f64 / experiments as f64;
        alarms.sort_unstable();
        let of: Vec<_> = alarms.chunk_by(|a, b| a == b).map(|of| (&of[0], of.len())).collect();
        assert!(rate <= most, "{rate} at ±{relative}: {of:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn verdicts_do_not_depend_on_the_speed_of_the_drive(
        factor in 0.001f64..1000.0,
        ratios in prop::collection::vec(0.2f64..5.0, 500),
    ) {
        let (manifest, _) = result(&[]);
        let mut given = plain(&manifest.options.setup);
        let all = given.iter_mut().flat_map(|(_, _, means)| means);
        all.zip(ratios.iter().cycle()).for_each(|((_, ms), ratio)| *ms *= ratio);
        let (manifest, _) = result(&borrowed(&given));
        let slow = means(&borrowed(&given));
        let mut fast = slow.clone();
        for mean in fast.series.iter_mut().flat_map(|series| &mut series.means) {
            let scaled = |x: f64| x * factor;
            mean.ns.value *= factor;
            mean.ns.low = mean.ns.low.map(scaled);
            mean.ns.high = mean.ns.high.map(scaled);
        }
        let interests = |means: &Means| -> Vec<Interest> {
            grid(&manifest, means).iter().map(|verdict| verdict.interest).collect()
        };
        prop_assert_eq!(interests(&slow), interests(&fast));
    }
}

#[test]
fn the_rules_are_documented() {
    let page = include_str!("../../../../docs/judgement.md");
    let page: Vec<&str> = page.split_whitespace().collect();
    let page = page.join(" ");
    for rule in &RULES {
        assert!(page.contains(rule.statement), "{}: {}", rule.micro_benchmark, rule.statement);
    }
}
