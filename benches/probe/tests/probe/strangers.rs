//! Drives of kinds that the random drives do not have: other numbers of packages, shared buses, and
//! idle cleaning behind a small map cache. A finding about them is right, or the probe abstains.

use flashscope_document::probe::{Finding, Parameter};
use flashscope_probe_bench::trial::probe;

fn finding(spec: &str, seed: u64, parameter: Parameter) -> Finding {
    let mut drive = flashscope_sim::open(spec).unwrap();
    let outcome = probe(&mut drive, seed, &[parameter], &mut |_| {}).unwrap();
    outcome.knowledge.finding(parameter).unwrap().clone()
}

// A block has 63 pages of data and a page with the summary of the block. The size of a segment is
// therefore no power of two.
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

// Packages on a shared bus serve one read at a time if the bus takes longer than the flash. They
// then count as one channel.
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

// Each package has its own log list.
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

/// A drive that answers reads of unwritten addresses without delay, because its interface takes no
/// time.
const INSTANT: &str = "agrawal-2008?flash.packages=4&flash.dies_per_package=1&flash.planes_per_die=1&flash.page_size=8192\
                       &flash.pages_per_block=96&flash.blocks_per_plane=200&stripe=16384&cells.bits_per_cell=2&slc.share=.1\
                       &slc.page_program=120us&flash.page_program=1500us&flash.page_read=80us&persistence.map=pages\
                       &cleaning.free_threshold=.03&over_provisioning=.18";

// The probe of the medium writes to such a drive, and must leave its SLC cache empty for the fill.
#[test]
fn slc_caches_of_drives_that_answer_first_reads_at_once_are_found() {
    for fields in ["", "&cache.kind=lru&cache.size=1MiB"] {
        let spec = format!("{INSTANT}{fields}");
        let truth = Finding::exact(Parameter::SlcCache, 31_457_280.0, 1.0);
        let found = finding(&spec, 1, Parameter::SlcCache);
        assert!(found.agrees_with(&truth), "{spec}: {found:?}");
    }
}

// The probe can determine neither the page size nor the number of parallel units of this drive. No
// distance is therefore certain to lead to the same log segment.
#[test]
fn log_lists_of_unknown_packages_are_not_taken_for_shared_log_segments() {
    let spec = "agrawal-2008?ftl=bast&flash.packages=6&flash.dies_per_package=1&flash.planes_per_die=1&flash.page_size=2048\
                &logical_page_size=2048&flash.pages_per_block=64&flash.blocks_per_plane=170&over_provisioning=0.145\
                &cleaning.free_threshold=0.03&flash.page_read=12us&flash.page_program=400us&flash.block_erase=6000us\
                &flash.serial_access_per_kib=1us&interface.request_overhead=20us&interface.transfer_per_kib=3.5us\
                &interface.queue_depth=64&interface.largest_request=131072&persistence.map=pages&log.blocks=5\
                &log.eviction=fifo&cache.kind=lru&cache.size=131072&cache.write_back=0&cache.read_ahead=16";
    let found = finding(spec, 1, Parameter::FtlClass);
    assert!(found.agrees_with(&Finding::class(Parameter::FtlClass, "bast", 1.0)), "{found:?}");
}

// A stripe over all packages is as long as the longest request, or the request is a divisor of
// every compared difference.
#[test]
fn splits_that_no_comparison_can_show_are_not_denied() {
    let interface = "&interface.request_overhead=60us&interface.transfer_per_kib=0.3us";
    for (flash, longest) in [
        ("flash.packages=4&flash.page_size=16384&stripe=32768", 131_072),
        ("flash.packages=1", 32_768),
        ("flash.packages=1", 8192),
    ] {
        let spec = format!(
            "agrawal-2008?flash.dies_per_package=1&flash.planes_per_die=1&flash.blocks_per_plane=200&{flash}{interface}\
             &interface.largest_request={longest}"
        );
        let truth = Finding::exact(Parameter::LargestRequest, f64::from(longest), 1.0);
        let found = finding(&spec, 1, Parameter::LargestRequest);
        assert!(!found.is_known() || found.agrees_with(&truth), "{spec}: {found:?}");
        let cost = finding(&spec, 1, Parameter::BlockCost);
        assert!(!cost.is_known() || found.is_known(), "{spec}: {cost:?}");
    }
}
