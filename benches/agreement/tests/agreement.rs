//! Tests that the statements of the benchmark agree with the profiles of drives.

use flashscope_agreement_bench::agreement::{Comparison, Line};
use flashscope_agreement_bench::long_run::LongRun;
use flashscope_agreement_bench::quantity::{QUANTITIES, Quantity};
use flashscope_agreement_bench::truth::truth;
use flashscope_sim::setup;

/// Measures a drive, and returns the comparison of each quantity.
fn compare(drive: &str) -> Comparison {
    // A result folder waits for its disk after every run; in memory, it does not.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    Comparison::of(drive, 1, &folder.path().join("r.flashscope")).unwrap()
}

/// Checks that the benchmark states every quantity, and that all statements except those of
/// `except` agree.
fn check(drive: &str, except: &[Quantity]) -> Comparison {
    let comparison = compare(drive);
    for line in &comparison.lines {
        let Line { quantity, stated, .. } = line;
        assert!(stated.is_some(), "{drive} {}: nothing stated", quantity.name());
        assert_ne!(line.agrees_with_truth(), Some(false), "{drive}: {line:?}");
        let expected = Some(!except.contains(quantity)).filter(|_| line.long_run.is_some());
        assert_eq!(line.agrees_with_long_run(), expected, "{drive}: {line:?}");
    }
    comparison
}

// Garbage collection adapts to an area only when as much was written as the drive holds.
#[test]
fn statements_about_the_demo_drive_agree() {
    check("demo", &[Quantity::Locality]);
}

#[test]
fn statements_about_a_drive_with_log_blocks_agree() {
    let samsung = check("samsung", &[]);
    // The statements do not agree with the profile of another drive.
    let other = setup::parse("samsung?flash.page_read=90us&log.blocks=8").unwrap();
    for quantity in [Quantity::SequentialRead, Quantity::RandomRead, Quantity::Partitions] {
        let line = samsung.line(quantity).unwrap();
        let changed = Line { truth: truth(&other, quantity), ..*line };
        assert_eq!(changed.agrees_with_truth(), Some(false), "{changed:?}");
    }
}

// The two values are independent: one is arithmetic, the other a long simulation. The drives have
// few log blocks for their size, because each log block that the state leaves half full costs a
// merge.
#[test]
fn arithmetic_agrees_with_long_runs() {
    for drive in [
        "sun-zhang-kingston?flash.blocks_per_plane=128",
        "kingston-dthx?flash.blocks_per_plane=400&over_provisioning=0.02&log.blocks=2",
        "flashsim-2009?flash.blocks_per_plane=1024&over_provisioning=0.02&log.blocks=4",
    ] {
        let profile = setup::parse(drive).unwrap();
        let long = LongRun::of(&profile, 1).unwrap();
        for quantity in QUANTITIES.into_iter().filter(|quantity| !quantity.is_limit()) {
            let Some(run) = long.get(quantity) else { continue };
            let arithmetic = truth(&profile, quantity).unwrap();
            let off = (arithmetic / run - 1.0).abs();
            assert!(off < 0.02, "{drive} {}: {arithmetic} and {run}", quantity.name());
        }
    }
}
