use flashscope_block::{Bytes, Nanos, Op};
use flashscope_stats::Estimate;
use flashscope_workload::pattern::{Address, Pattern, Reference, Timing};

use super::name::{InFlight, WorkloadName};
use super::*;
use crate::scripted::{GivenMeans, result};

fn pattern(op: Op, address: Address) -> Pattern {
    Pattern {
        op,
        address,
        timing: Timing::Consecutive,
        io_size: Bytes::kib(4),
        io_shift: Bytes(0),
        target_offset: Bytes(0),
        target_size: Bytes::mib(1),
        io_count: 10,
        io_ignore: 0,
        seed: 0,
    }
}

fn of_run(reference: &Reference) -> Option<String> {
    Some(WorkloadName::of_run(reference)?.text())
}

fn of_spec(spec: &str, depth: u32) -> String {
    WorkloadName::of_spec(spec, Some(InFlight::Depth(depth))).text()
}

#[test]
fn runs_and_synthetic_workloads_with_the_same_ios_have_the_same_name() {
    let random = pattern(Op::Write, Address::Random);
    let basic = of_run(&Reference::Basic { pattern: random }).unwrap();
    assert_eq!(basic, "random writes of 4 KiB");
    assert_eq!(basic, of_spec("uniform", 1));
    assert_eq!(basic, of_spec("uniform?op=write&size=4096&seed=7&queue_depth=1", 1));
    let deep = of_run(&Reference::Parallel { pattern: random, degree: 8 }).unwrap();
    assert_eq!(deep, "random writes of 4 KiB at queue depth 8");
    assert_eq!(deep, of_spec("uniform?reads=0", 8));
    let blend = |reads_percent| {
        let (pattern, queue_depth) = (random, 4);
        of_run(&Reference::Blend { pattern, reads_percent, queue_depth, time: None }).unwrap()
    };
    assert_eq!(blend(65), of_spec("uniform?reads=65%", 4));
    assert_eq!(blend(100), of_spec("uniform?op=read", 4));
    let sequential = pattern(Op::Read, Address::Sequential);
    let streams = of_run(&Reference::Parallel { pattern: sequential, degree: 2 }).unwrap();
    assert_eq!(streams, "sequential reads of 4 KiB in 2 streams");
}

#[test]
fn workloads_that_are_more_than_a_pattern_keep_their_own_name() {
    for spec in [
        "uniform?length=1GiB",
        "zipf?exponent=0.9",
        "uniform?size=geometric:8KiB",
        "uniform?reads=0.123",
    ] {
        assert_eq!(of_spec(spec, 1), spec);
    }
    assert_eq!(of_spec("zipf?seed=3&exponent=0.9", 1), "zipf?exponent=0.9");
    assert_eq!(of_spec("trace:/a/b/web.csv?speed=2", 1), "trace:web.csv?speed=2");
    let shifted = Pattern { io_shift: Bytes(512), ..pattern(Op::Read, Address::Random) };
    let pause = Timing::Pause { pause: Nanos(1) };
    let paused = Pattern { timing: pause, ..pattern(Op::Read, Address::Random) };
    let reverse = pattern(Op::Write, Address::Ordered { incr: -1 });
    for pattern in [shifted, paused, reverse] {
        assert_eq!(of_run(&Reference::Basic { pattern }), None);
    }
}

/// Compares scripted measurements of 512 B random writes.
fn compared(results: &[&[GivenMeans]], limit: Option<f64>) -> Comparison {
    let results: Vec<_> = results.iter().map(|given| result(given)).collect();
    let names = ["old", "new", "third"];
    let contestants = results.iter().zip(names).map(|((manifest, facts), name)| {
        let subject = Subject::Measurement { manifest, facts };
        Contestant::new(name, subject)
    });
    compare(&contestants.collect::<Vec<_>>(), limit)
}

fn writes(ms: f64) -> [(i64, f64); 1] {
    [(1, ms)]
}

/// Compares three repeats each, whose means vary by `spread`, a share.
fn of_repeats(all: &[f64], spread: f64, limit: Option<f64>) -> Comparison {
    let repeats = |ms: &f64| [1.0 - spread, 1.0, 1.0 + spread].map(|factor| (1, factor * ms));
    let means: Vec<_> = all.iter().map(repeats).collect();
    let given: Vec<[GivenMeans; 1]> =
        means.iter().map(|ms| [("granularity", "RW", &ms[..])]).collect();
    let given: Vec<&[GivenMeans]> = given.iter().map(|one| &one[..]).collect();
    compared(&given, limit)
}

/// Compares repeats that vary by 0.1 %. The ratio of two means is then known to within 0.9 %.
fn of_writes(all: &[f64], limit: Option<f64>) -> Comparison {
    of_repeats(all, 0.001, limit)
}

fn mean_verdict(comparison: &Comparison, result: usize) -> Option<ComparisonVerdict> {
    verdict_of(&comparison.workloads[0], Quantity::MeanLatency, result).map(|(_, verdict)| verdict)
}

#[test]
fn verdicts_need_more_than_uncertainty_and_two_percent() {
    for (ms, verdict) in [
        (1.1, ComparisonVerdict::Worse),
        (0.9, ComparisonVerdict::Better),
        (1.0, ComparisonVerdict::Equivalent),
        (1.025, ComparisonVerdict::Equivalent),
        (1.045, ComparisonVerdict::Worse),
    ] {
        let found = of_writes(&[1.0, ms], None);
        assert_eq!(mean_verdict(&found, 1), Some(verdict), "{ms}");
    }
    let wide = of_repeats(&[1.0, 1.045], 0.01, None);
    assert_eq!(mean_verdict(&wide, 1), Some(ComparisonVerdict::Inconclusive));
}

#[test]
fn single_runs_have_no_verdict_and_the_conclusion_says_what_to_do() {
    let [once, other] = [writes(1.0), writes(2.0)];
    let found =
        compared(&[&[("granularity", "RW", &once)], &[("granularity", "RW", &other)]], Some(0.05));
    let numbers = found.workloads.iter().flat_map(|workload| &workload.quantities);
    let mut numbers = numbers.map(|quantity| &quantity.results[1]);
    assert!(numbers.clone().all(|number| number.ratio.is_some()));
    assert!(numbers.all(|number| number.verdict.is_none()));
    let text = &found.conclusions[0].text;
    assert!(text.contains("--repeats 3"), "{text}");
    let value = &found.experiments[0].values[0].results[1];
    assert_eq!((value.ratio.is_some(), value.differs), (true, None));
}

#[test]
fn repeats_that_agree_by_chance_have_the_spread_of_similar_patterns() {
    let [calm, loose] = [[(1, 1.0), (1, 1.0), (1, 1.0)], [(2, 0.9), (2, 1.0), (2, 1.1)]];
    let shifted = [(1, 1.04), (1, 1.04), (1, 1.04)];
    let of = |calm| [("granularity", "RW", calm), ("locality", "RW", &loose[..])];
    let (old, new) = (of(&calm[..]), of(&shifted[..]));
    let [old, new] = [result(&old), result(&new)].map(|(mut manifest, facts)| {
        for run in manifest.runs_mut().filter(|run| run.value == 2) {
            run.reference.patterns_mut().into_iter().for_each(|one| one.io_size = Bytes::kib(8));
        }
        (manifest, facts)
    });
    let of = |(manifest, facts)| Contestant::new("a", Subject::Measurement { manifest, facts });
    let found = compare(&[of((&old.0, &old.1)), of((&new.0, &new.1))], None);
    let verdict = |workload: &str| {
        let workload = found.workloads.iter().find(|one| one.name == workload).unwrap();
        verdict_of(workload, Quantity::MeanLatency, 1).unwrap().1
    };
    assert_eq!(verdict("random writes of 512 B"), ComparisonVerdict::Inconclusive);
    // Alone, the three equal means would have an interval without width.
    assert_eq!(
        mean_verdict(&of_repeats(&[1.0, 1.04], 0.0, None), 1),
        Some(ComparisonVerdict::Worse)
    );
}

#[test]
fn a_pattern_that_varies_more_than_others_is_judged_by_its_own_runs() {
    let spread = |values: &[f64]| flashscope_stats::Spread::of(values).unwrap();
    let calm = spread(&[1.0, 1.001, 0.999]);
    let loose = [1.0, 1.5, 0.5];
    let number = spread::number(&loose, &[calm, calm, calm, spread(&loose)], None).unwrap();
    let alone = spread::number(&loose, &[spread(&loose)], None).unwrap();
    assert_eq!(number, alone);
}

#[test]
fn more_comparisons_need_clearer_differences() {
    let one = of_writes(&[1.0, 1.045], None);
    let two = of_writes(&[1.0, 1.045, 1.0], None);
    let width = |comparison: &Comparison| {
        let (ratio, _) = verdict_of(&comparison.workloads[0], Quantity::MeanLatency, 1).unwrap();
        ratio.half_width().unwrap()
    };
    // The quantiles of 0.9958 and 0.9979 with 31 degrees of freedom differ by 10 %. The rates count
    // as comparisons, too.
    assert!(width(&two) > 1.05 * width(&one));
}

#[test]
fn a_conclusion_states_what_differs_and_what_does_not() {
    let found = of_writes(&[1.0, 0.5], None);
    assert_eq!(
        found.conclusions[0].text,
        "new is 1.95 to 2.06 times as fast as old in random writes."
    );
    assert_eq!(found.conclusions[0].evidence[0].verdict, ComparisonVerdict::Better);
    let same = of_writes(&[1.0, 1.0], None);
    assert_eq!(same.conclusions[0].text, "new and old differ by at most 5 % in random writes.");
    let unclear = of_repeats(&[1.0, 1.045], 0.01, None);
    assert_eq!(
        unclear.conclusions[0].text,
        "new and old: the mean latencies of random writes are too uncertain for a verdict."
    );
}

#[test]
fn a_ranking_gives_equal_results_the_same_place() {
    let found = of_writes(&[1.0, 0.5, 1.001], None);
    let places: Vec<_> = found.ranking.iter().map(|rank| (rank.result, rank.place)).collect();
    assert_eq!(places, [(1, 1), (0, 2), (2, 2)]);
    assert!(found.ranking[0].speed.covers(2.0) && !found.ranking[0].speed.covers(1.9));
}

#[test]
fn a_regression_exceeds_the_limit_beyond_uncertainty() {
    let check = |ms: f64| of_writes(&[1.0, ms], Some(0.05)).regressions.unwrap();
    let found = check(1.1);
    let latency = found.found.iter().find(|one| one.quantity == Quantity::MeanLatency).unwrap();
    assert!(latency.loss.covers(0.1) && latency.loss.low.unwrap() > 0.05);
    // The scripted runs have the same rate, with the interval of the mean.
    assert!(found.found.iter().all(|one| one.quantity == Quantity::MeanLatency), "{found:?}");
    assert!(check(1.02).found.is_empty() && check(0.5).found.is_empty());
    let close = check(1.05);
    assert!(close.found.is_empty() && !close.undecided.is_empty());
    // Percentiles of writes have no interval.
    assert_eq!(found.not_judged, 3);
}

#[test]
fn the_experiment_in_the_largest_space_stands_for_a_pattern() {
    let small = [("locality", "RW", &writes(0.1)[..]), ("granularity", "RW", &writes(1.0)[..])];
    let (mut manifest, facts) = result(&small);
    for run in manifest.runs_mut() {
        for pattern in run.reference.patterns_mut() {
            pattern.target_size = if run.id == 1 { Bytes::mib(1) } else { Bytes::gib(1) };
        }
    }
    let subject = Subject::Measurement { manifest: &manifest, facts: &facts };
    let one = Contestant::new("a", subject);
    assert_eq!(one.workloads(), ["random writes of 512 B"]);
    assert_eq!(one.numbers[0].space, Some(Bytes::gib(1)));
    assert_eq!(one.numbers[0].numbers[0].1.value, Estimate::symmetric(1e6, None));
}

#[test]
fn different_target_spaces_and_states_are_stated() {
    let results = [
        result(&[("granularity", "RW", &writes(1.0))]),
        result(&[("granularity", "RW", &writes(1.0))]),
    ];
    let [(a, facts_a), (mut b, facts_b)] = results;
    b.options.state = flashscope_document::manifest::State::Random;
    for run in b.runs_mut() {
        run.reference
            .patterns_mut()
            .into_iter()
            .for_each(|pattern| pattern.target_size = Bytes::gib(2));
    }
    let of =
        |name, manifest, facts| Contestant::new(name, Subject::Measurement { manifest, facts });
    let found = compare(&[of("a", &a, &facts_a), of("b", &b, &facts_b)], None);
    assert_eq!(found.differing_conditions.len(), 2, "{:?}", found.differing_conditions);
    assert!(found.differing_conditions[0].contains("b began filled in random order"));
    assert!(found.differing_conditions[1].contains("covered 1 MiB in a and 2 GiB in b"));
    let same = compare(&[of("a", &a, &facts_a), of("b", &a, &facts_a)], None);
    assert_eq!(same.differing_conditions, [] as [String; 0]);
}

#[test]
fn results_without_a_common_workload_are_not_compared() {
    let (manifest, facts) = result(&[("granularity", "RW", &writes(1.0))]);
    let (mut other, _) = result(&[("order", "SW", &writes(1.0))]);
    for run in other.runs_mut() {
        run.reference.patterns_mut().into_iter().for_each(|pattern| pattern.op = Op::Read);
    }
    let of = |manifest| {
        let subject = Subject::Measurement { manifest, facts: &facts };
        Contestant::new("a", subject)
    };
    let found = compare(&[of(&manifest), of(&other), of(&manifest)], None);
    assert!(!is_compared(&found, 1) && is_compared(&found, 2));
    assert_eq!(found.ranking, []);
}
