//! Drives of kinds that the random drives do not have: other numbers of packages, shared buses, and
//! idle cleaning behind a small map cache. A finding about them is right, or the probe abstains.

use flashscope_document::probe::{Finding, Parameter};
use flashscope_probe_bench::trial::probe;

fn finding(spec: &str, seed: u64, parameter: Parameter) -> Finding {
    let mut drive = flashscope_sim::open(spec).unwrap();
    let outcome = probe(&mut drive, seed, &[parameter], &mut |_| {}).unwrap();
    outcome.knowledge.finding(parameter).unwrap().clone()
}

// A block has 63 pages of data and a page with the summary of the block, so no segment is a round
// number.
#[test]
fn segments_are_found_on_any_number_of_packages() {
    for (packages, seed) in [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (7, 6)] {
        let spec = format!("demo?flash.packages={packages}");
        let truth = Finding::exact(Parameter::Segment, f64::from(packages * 63 * 4096), 1.0);
        let found = finding(&spec, seed, Parameter::Segment);
        assert!(found.agrees_with(&truth), "{spec}: {found:?}");
    }
}

// Slow writes come in groups, and at unequal distances.
#[test]
fn segments_are_found_through_stripes_and_blocks_on_each_plane() {
    for (fields, pages) in [("stripe=64KiB", 252), ("active_blocks=plane", 2016)] {
        let spec = format!("demo?flash.packages=4&{fields}");
        let truth = Finding::exact(Parameter::Segment, f64::from(pages * 4096), 1.0);
        let found = finding(&spec, 3, Parameter::Segment);
        assert!(found.agrees_with(&truth), "{spec}: {found:?}");
    }
}

// Packages on a shared bus serve one read at a time where the bus takes longer than the flash, and are one channel then.
#[test]
fn packages_that_share_buses_are_not_counted_one_by_one() {
    for (fields, units) in
        [("gang.packages=4", 1), ("gang.packages=4&flash.packages=16", 4), ("stripe=64KiB", 8)]
    {
        let found = finding(&format!("demo?{fields}"), 3, Parameter::Parallelism);
        let channels = Finding::exact(Parameter::Parallelism, f64::from(units), 1.0);
        assert!(!found.is_known() || found.agrees_with(&channels), "{fields}: {found:?}");
    }
    let found = finding("demo?flash.packages=7", 3, Parameter::Parallelism);
    let truth = Finding::exact(Parameter::Parallelism, 7.0, 1.0);
    assert!(found.agrees_with(&truth), "{found:?}");
}

// Each package has a list of its own.
#[test]
fn log_lists_of_drives_with_several_packages_are_found() {
    for (packages, logs) in [(8, 2), (8, 3), (8, 16), (3, 8), (16, 4)] {
        let spec = format!(
            "demo?background_cleaning=false&persistence.map=nv-ram&ftl=bast&flash.packages={packages}&log.blocks={logs}"
        );
        let truth = Finding::exact(Parameter::LogList, f64::from(logs), 1.0);
        let found = finding(&spec, 3, Parameter::LogList);
        assert!(found.agrees_with(&truth), "{spec}: {found:?}");
    }
}

// Neither the parallel units nor a power of two shows which pages are on the same package.
#[test]
fn log_lists_behind_shared_buses_are_found() {
    let spec = "demo?background_cleaning=false&persistence.map=nv-ram&ftl=bast&gang.packages=4\
                &log.blocks=6&flash.pages_per_block=48&flash.blocks_per_plane=100";
    let found = finding(spec, 3, Parameter::LogList);
    assert!(found.agrees_with(&Finding::exact(Parameter::LogList, 6.0, 1.0)), "{found:?}");
}

#[test]
fn idle_cleaning_is_not_denied_behind_a_small_map_cache() {
    for seed in 1..=2 {
        let spec = "demo?ftl=dftl&map_cache.size=32KiB";
        let found = finding(spec, seed, Parameter::IdleCleaning);
        let denied = Finding::class(Parameter::IdleCleaning, "no", 1.0);
        assert!(!found.agrees_with(&denied), "{found:?}");
    }
}
