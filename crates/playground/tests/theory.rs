//! The closed form of the playground against its simulation in the steady state.

use flashscope_playground::{Pattern, Playground, Setup, Workload};

const SMALL: &str = "flash.packages=4&flash.dies_per_package=1&flash.planes_per_die=1&\
                     flash.blocks_per_plane=64&flash.pages_per_block=32&persistence.map=nv-ram";

/// Returns the simulated write amplification after a warm-up, and the predicted one.
fn both(drive: &str, pattern: Pattern, reads: f64, trims: f64) -> (f64, f64) {
    let workload = Workload { pattern, reads, trims };
    let mut playground = Playground::open(&Setup {
        drive: drive.into(),
        workload,
        queue_depth: 1,
        filled: true,
        seed: 1,
    })
    .unwrap();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a count
    let pages = playground.numbers().logical_pages as u64;
    playground.run(6 * pages);
    let before = playground.counters();
    playground.run(12 * pages);
    let counted = playground.counters().since(&before);
    (counted.write_amplification().unwrap(), playground.numbers().theory)
}

/// The overrides for drives with log blocks.
const LOGS: &str =
    "flash.packages=1&flash.blocks_per_plane=256&over_provisioning=0.15&log.blocks=20";

#[test]
fn closed_forms_are_within_3_percent_of_the_simulation() {
    let uniform = Pattern::Uniform;
    for (fields, pattern, trims) in [
        ("", uniform, 0.0),
        ("over_provisioning=0.1", uniform, 0.0),
        ("over_provisioning=0.5", uniform, 0.0),
        ("", uniform, 0.2),
        ("", uniform, 0.4),
        ("", Pattern::HotCold(0.95), 0.0),
        ("", Pattern::Zipf(0.99), 0.0),
        ("", Pattern::Sequential, 0.0),
        ("cleaning.policy=fifo", uniform, 0.0),
        ("cleaning.policy=fifo", Pattern::HotCold(0.9), 0.0),
        ("cleaning.policy=fifo", Pattern::Sequential, 0.0),
        ("cleaning.policy=d-choices", uniform, 0.0),
        ("cleaning.policy=cost-benefit", uniform, 0.0),
        ("ftl=bast&LOGS", uniform, 0.0),
        ("ftl=fast&LOGS", uniform, 0.0),
    ] {
        let drive = format!("agrawal-2008?{SMALL}&{}", fields.replace("LOGS", LOGS));
        let (simulated, theory) = both(&drive, pattern, 0.0, trims);
        let error = theory / simulated - 1.0;
        assert!(error.abs() < 0.03, "{simulated:.3} and {theory:.3}: {drive}, {pattern:?}");
    }
}

#[test]
fn reads_do_not_change_the_theory() {
    let drive = format!("agrawal-2008?{SMALL}&over_provisioning=0.3");
    let [(simulated, theory), (other, same)] =
        [0.0, 0.5].map(|reads| both(&drive, Pattern::Uniform, reads, 0.0));
    assert_eq!(theory, same);
    assert!((simulated / other - 1.0).abs() < 0.02, "{simulated} and {other}");
}

#[test]
fn without_a_closed_form_there_is_no_number() {
    for (fields, pattern, trims) in [
        ("ftl=dftl&map_cache.size=1KiB", Pattern::Uniform, 0.0),
        ("cleaning.policy=random", Pattern::Uniform, 0.0),
        ("cleaning.policy=cost-benefit", Pattern::HotCold(0.9), 0.0),
        ("", Pattern::Zipf(0.99), 0.1),
        ("background_cleaning=true", Pattern::Uniform, 0.0),
        ("ftl=fast&LOGS", Pattern::HotCold(0.9), 0.0),
    ] {
        let drive = format!("agrawal-2008?{SMALL}&{}", fields.replace("LOGS", LOGS));
        let workload = Workload { pattern, reads: 0.0, trims };
        let setup = Setup { drive, workload, queue_depth: 1, filled: false, seed: 1 };
        let theory = Playground::open(&setup).unwrap().numbers().theory;
        assert_eq!(theory, 0.0, "{fields} {pattern:?}");
    }
}

#[test]
fn refusals_name_the_setting() {
    let open = |drive: &str, trims, queue_depth| {
        let workload = Workload { pattern: Pattern::Uniform, reads: 0.0, trims };
        let drive = drive.replace("SMALL", SMALL).replace("LOGS", LOGS);
        let setup = Setup { drive, workload, queue_depth, filled: false, seed: 1 };
        Playground::open(&setup).err().map(|refusal| refusal.to_string()).unwrap_or_default()
    };
    assert_eq!(open("agrawal-2008?SMALL", 0.0, 1), "");
    assert!(open("agrawal-2008", 0.0, 1).contains("flash.blocks_per_plane"));
    assert!(open("agrawal-2008?SMALL", 0.0, 33).contains("queue depth must be from 1 to 32"));
    assert!(open("agrawal-2008?SMALL&LOGS&ftl=fast", 0.1, 1).contains("does not support trims"));
    assert!(open("agrawal-2008?SMALL&persistence.map=pages", 0.1, 1).contains("nv-ram"));
    assert!(open("agrawal-2008?SMALL&page_span=2", 0.0, 1).contains("page_span"));
    assert!(open("agrawal-2008?over_provisioning=2", 0.0, 1).contains("over_provisioning"));
    assert!(open("agrawal-2009", 0.0, 1).contains("agrawal-2008"));
}
