use super::*;
use crate::scripted::{GivenMeans, means, result};
use Judgement::{DoesNotHold, Holds, HoldsInPart, NotMeasured, Undecided};

const KIB: i64 = 1 << 10;
const MIB: i64 = 1 << 20;

/// Returns the runs of the baselines, from their means in ms.
fn preparation(ms: &'static [[(i64, f64); 1]; 4]) -> [GivenMeans<'static>; 4] {
    let [sr, rr, sw, rw] = ms;
    [
        ("preparation", "SR", sr),
        ("preparation", "RR", rr),
        ("preparation", "SW", sw),
        ("preparation", "RW", rw),
    ]
}

/// The Memoright SSD as described in section 5.2 and Table 3.
fn memoright() -> Vec<GivenMeans<'static>> {
    let mut given: Vec<GivenMeans> =
        preparation(&[[(20480, 0.3)], [(20480, 0.4)], [(20480, 0.3)], [(20480, 5.0)]]).into();
    given.extend([
        (
            "granularity",
            "SR",
            &[(4 * KIB, 0.099), (12 * KIB, 0.156), (32 * KIB, 0.3), (256 * KIB, 1.91)][..],
        ),
        (
            "granularity",
            "RR",
            &[(4 * KIB, 0.15), (12 * KIB, 0.222), (32 * KIB, 0.4), (256 * KIB, 2.395)],
        ),
        (
            "granularity",
            "SW",
            &[(4 * KIB, 0.099), (12 * KIB, 0.156), (32 * KIB, 0.3), (256 * KIB, 1.91)],
        ),
        (
            "granularity",
            "RW",
            &[
                (4 * KIB, 1.25),
                (16 * KIB, 5.0),
                (32 * KIB, 5.0),
                (128 * KIB, 5.2),
                (256 * KIB, 7.0),
            ],
        ),
        ("alignment", "RW", &[(0, 5.0), (512, 5.1), (16 * KIB, 5.0)]),
        ("alignment", "SR", &[(0, 0.3), (512, 0.4), (16 * KIB, 0.3)]),
        ("locality", "RW", &[(MIB, 0.3), (8 * MIB, 0.31), (16 * MIB, 3.0), (64 * MIB, 5.0)]),
        ("partitioning", "SW", &[(1, 0.3), (4, 0.3), (8, 0.31), (16, 3.0), (256, 5.0)]),
        ("parallelism", "SR", &[(1, 0.3), (2, 0.6), (16, 4.8)]),
        ("parallelism", "RW", &[(1, 5.0), (2, 10.0), (16, 80.0)]),
        ("mix", "SR/RW", &[(1, 2.65), (64, 0.37)]),
        ("pause", "RW", &[(100_000, 4.9), (6_400_000, 0.3), (25_600_000, 0.3)]),
        ("pause", "SR", &[(100_000, 0.3), (6_400_000, 0.3)]),
    ]);
    given
}

fn judgements(given: &[GivenMeans]) -> Vec<Judgement> {
    judged(&means(given)).iter().map(|hint| hint.judgement).collect()
}

// The paper derived the hints from this drive, among others. It needs alignment for reads only.
#[test]
fn the_memoright_confirms_the_hints_as_the_paper_states() {
    let given = memoright();
    let hints = judged(&means(&given));
    let found: Vec<_> = hints.iter().map(|hint| hint.judgement).collect();
    assert_eq!(found, [Holds, Holds, HoldsInPart, Holds, Holds, Holds, Holds], "{hints:#?}");
    let finding = |number: usize| &*hints[number - 1].finding;
    assert!(finding(2).starts_with("32 KiB is the good trade-off"), "{}", finding(2));
    assert!(finding(3).contains("multiples of 16 KiB cost nothing"), "{}", finding(3));
    assert!(finding(4).contains("areas up to 8 MiB"), "{}", finding(4));
    assert!(finding(5).contains("up to 8 partitions"), "{}", finding(5));
    let latency = hints[0].evidence.iter().find(|e| e.unit == EvidenceUnit::Nanoseconds).unwrap();
    assert!((60e3..80e3).contains(&latency.value.value), "{latency:?}");
    let numbers: Vec<u32> = hints.iter().map(|hint| hint.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn evidence_names_runs_of_its_experiment_or_of_a_baseline() {
    let given = memoright();
    let (manifest, _) = result(&given);
    let hints = judged(&means(&given));
    for evidence in hints.iter().flat_map(|hint| &hint.evidence) {
        assert!(!evidence.runs.is_empty() && evidence.value.low.is_some());
        for &run in &evidence.runs {
            let (benchmark, experiment, _) =
                flashscope_document::manifest::find_run(&manifest.micro_benchmarks, run).unwrap();
            let own = benchmark.name == evidence.micro_benchmark
                && experiment.name == evidence.experiment;
            assert!(own || benchmark.prepares(), "{evidence:?}");
        }
    }
}

// According to the paper, no area helps this drive, and a few partitions cost five times as much.
#[test]
fn the_kingston_dti_has_no_good_area_and_few_partitions() {
    let mut given: Vec<GivenMeans> =
        preparation(&[[(20480, 1.9)], [(20480, 2.2)], [(20480, 2.9)], [(20480, 256.0)]]).into();
    given.extend([
        ("locality", "RW", &[(MIB, 250.0), (8 * MIB, 256.0), (64 * MIB, 256.0)][..]),
        ("partitioning", "SW", &[(1, 2.9), (4, 14.5), (8, 200.0), (256, 256.0)]),
    ]);
    let hints = judged(&means(&given));
    let found: Vec<_> = hints.iter().map(|hint| hint.judgement).collect();
    assert_eq!(
        found,
        [NotMeasured, NotMeasured, NotMeasured, DoesNotHold, HoldsInPart, NotMeasured, NotMeasured]
    );
    assert!(hints[4].finding.contains("up to 4 partitions"), "{}", hints[4].finding);
    assert!(hints[4].finding.contains("5.00"), "{}", hints[4].finding);
}

// Writes to a drive of today are fast everywhere, and concurrency helps.
#[test]
fn the_hints_do_not_hold_for_a_drive_of_today() {
    let mut given: Vec<GivenMeans> =
        preparation(&[[(20480, 0.1)], [(20480, 0.1)], [(20480, 0.1)], [(20480, 0.11)]]).into();
    given.extend([
        ("locality", "RW", &[(MIB, 0.1), (64 * MIB, 0.11)][..]),
        ("partitioning", "SW", &[(1, 0.1), (256, 0.11)]),
        ("parallelism", "SR", &[(1, 0.1), (16, 0.12)]),
        ("parallelism", "RW", &[(1, 0.1), (16, 0.2)]),
        ("mix", "SR/RW", &[(1, 0.5), (64, 0.3)]),
    ]);
    let found = judgements(&given);
    assert_eq!(found[3..], [DoesNotHold, DoesNotHold, DoesNotHold, DoesNotHold]);
}

// If an interval contains the limit, the hint is undecided. If only half of a hint was measured, it
// holds at most in part.
#[test]
fn uncertain_or_incomplete_measurements_limit_the_judgement() {
    let mut given: Vec<GivenMeans> =
        preparation(&[[(20480, 0.3)], [(20480, 0.4)], [(20480, 0.3)], [(20480, 5.0)]]).into();
    given.extend([
        ("alignment", "RW", &[(0, 5.0), (512, 6.2)][..]),
        ("parallelism", "SR", &[(1, 0.3), (16, 4.8)]),
    ]);
    let mut means = means(&given);
    let judgement = |means: &Means, number: usize| judged(means)[number - 1].judgement;
    assert_eq!(judgement(&means, 3), DoesNotHold);
    assert_eq!(judgement(&means, 7), HoldsInPart);
    let shifted = means.series.iter_mut().find(|s| s.benchmark == "alignment").unwrap();
    shifted.means[1].ns = flashscope_stats::Estimate::symmetric(6.2e6, Some(0.4e6));
    assert_eq!(judgement(&means, 3), Undecided);
}

#[test]
fn other_results_have_no_hints_and_empty_ones_no_judgement() {
    let (manifest, _) = result(&[("pts-iops", "RW", &[(1, 1.0)])]);
    assert_eq!(hints(&manifest, &means(&[])), []);
    assert_eq!(judgements(&[]), [NotMeasured; 7]);
}

#[test]
fn answers_determine_the_judgement() {
    use Answer::{No, Unsure, Yes};
    let cases: [(&[Answer], Judgement); 7] = [
        (&[], NotMeasured),
        (&[Yes, Yes], Holds),
        (&[No, No], DoesNotHold),
        (&[Yes, No], HoldsInPart),
        (&[Yes, Unsure], HoldsInPart),
        (&[No, Unsure], Undecided),
        (&[Unsure], Undecided),
    ];
    for (answers, judgement) in cases {
        assert_eq!(judge(answers.iter().copied()), judgement, "{answers:?}");
    }
}

#[test]
fn the_rules_are_documented() {
    let page = include_str!("../../../../docs/judgement.md");
    let page: Vec<&str> = page.split_whitespace().collect();
    let page = page.join(" ");
    for rule in &RULES {
        assert!(page.contains(rule.statement), "{}: {}", rule.title, rule.statement);
        assert!(page.contains(rule.title), "{}", rule.title);
    }
}
