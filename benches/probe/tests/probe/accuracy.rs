//! Measures the accuracy on a small sample of drives; `make bench-probe` uses a large sample.

use flashscope_document::probe::Parameter;
use flashscope_probe_bench::drives::generate_within;
use flashscope_probe_bench::drives::strata::STRATA;
use flashscope_probe_bench::held_out::{HeldOutTrial, by_stratum, held_out, overall};
use flashscope_probe_bench::score::{Tally, Verdict, calibration, calibration_error, total};
use flashscope_probe_bench::sweep::{Plan, faults, sweep};
use flashscope_probe_bench::trial::DRIVE_WRITES;
use flashscope_probe_bench::{figure, page};

/// Seeds that were chosen before their drives were known.
const FIRST: u64 = 500;
const DRIVES: u64 = 12;

// At a noise of 2 %, at least 95 % of the answers are right and few are missing. The page states
// the same figures.
#[test]
fn the_probe_is_accurate_on_a_sample_of_noisy_drives() {
    let plan = Plan { first: FIRST, drives: DRIVES, parameters: Vec::new(), jobs: 2 };
    let swept = sweep(&plan, 0.02, &|_, _| {});
    let judged = swept.judged();
    let tally = total(&judged);
    let faults = swept.faults();
    assert_eq!(swept.trials.len(), 12);
    assert!(tally.right > 200, "{tally:?}");
    assert!(tally.accuracy() >= 0.95, "{}\n{faults}", tally.accuracy());
    assert!(tally.abstention() <= 0.25, "{}\n{faults}", tally.abstention());
    assert!(calibration_error(&calibration(&judged)) <= 0.05, "{faults}");
    #[allow(clippy::cast_precision_loss)]
    let allowed = DRIVE_WRITES as f64;
    assert!(swept.drive_writes() < allowed, "{} drive-writes", swept.drive_writes());
    let sweeps = [swept];
    let page = page::page(&plan, &sweeps, &[]);
    assert!(page.contains(&format!("| 2 % | {} | {} |", tally.right, tally.wrong)), "{page}");
    for (trial, judged) in sweeps[0].worst() {
        let named =
            format!("| {} | `{}` | {} |", trial.seed, judged.parameter.name(), judged.truth);
        assert!(page.contains(&named), "{named} is missing in\n{page}");
    }
    let dots = figure::figure(&sweeps).matches("right, ").count();
    assert!(dots >= 25, "a dot for each parameter: {dots}");
}

#[test]
fn tallies_distinguish_right_wrong_and_missing_answers() {
    let plan = Plan { first: 0, drives: 1, parameters: Vec::new(), jobs: 1 };
    let swept = sweep(&plan, 0.0, &|_, _| {});
    let mut judged = swept.judged().remove(0);
    let mut tally = Tally::default();
    for (verdict, has) in [
        (Verdict::Right, true),
        (Verdict::Right, false),
        (Verdict::Right, true),
        (Verdict::Wrong, true),
        (Verdict::Abstained, true),
        (Verdict::Abstained, false),
    ] {
        (judged.verdict, judged.has) = (verdict, has);
        tally.count(&judged);
    }
    let expected = Tally { right: 3, wrong: 1, abstained: 1, abstained_absent: 1, have: 4 };
    assert_eq!(tally, expected);
    assert!((tally.accuracy() - 0.75).abs() < 1e-9 && (tally.abstention() - 0.25).abs() < 1e-9);
}

// `make bench-probe` scores all strata; these three strata cover most of the differences.
#[test]
fn findings_about_held_out_drives_are_right_as_often_as_stated() {
    let trials: Vec<HeldOutTrial> = ["packages", "blocks", "scheduling"]
        .into_iter()
        .flat_map(|stratum| held_out(3, stratum, &[], 2, &|_, _| {}))
        .collect();
    let faults = faults(trials.iter().map(|trial| &trial.trial));
    let score = overall(&trials);
    assert!(score.confident > 200, "{} findings\n{faults}", score.confident);
    assert!(score.confident_share() >= 0.95, "{}\n{faults}", score.confident_share());
    assert!(score.calibration_error <= 0.05, "{}\n{faults}", score.calibration_error);
    assert!(score.tally.abstention() <= 0.3, "{}\n{faults}", score.tally.abstention());
}

#[test]
fn every_stratum_has_drives_and_lacks_no_parameter_that_all_others_have() {
    for stratum in STRATA {
        let drive = generate_within(&stratum.ranges, 1);
        assert!(drive.truth.contains_key(&Parameter::PageSize), "{}: {}", stratum.name, drive.spec);
        assert!(drive.truth.len() >= 15, "{}: {:?}", stratum.name, drive.truth);
    }
}

#[test]
fn small_strata_are_pooled_and_the_worst_comes_first() {
    let trials = held_out(1, "packages", &[], 1, &|_, _| {});
    let scores = by_stratum(&trials);
    let names: Vec<&str> = scores.iter().map(|score| score.name.as_str()).collect();
    assert_eq!(names, ["packages"], "one drive has fewer findings than a stratum needs");
    let page =
        page::page(&Plan { first: 0, drives: 0, parameters: Vec::new(), jobs: 1 }, &[], &trials);
    let shown = format!("| packages | 1 | {} |", scores[0].tally.right);
    assert!(page.contains(&shown), "{shown} is missing in\n{page}");
}
