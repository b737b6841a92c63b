//! Measures the accuracy on a small sample of drives; `make bench-probe` uses a large sample.

use flashscope_probe_bench::score::{Tally, Verdict, calibration, calibration_error, total};
use flashscope_probe_bench::sweep::{Plan, sweep};
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
    let page = page::page(&plan, &sweeps);
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
