use flashscope_block::{Completion, Data, Device, DeviceInfo, Io, Nanos, Op, Zone};
use flashscope_sim::setup::{self, field_names};
use flashscope_sim::{Counters, Drive, EnergyUse, ProfileError};

use crate::request;

/// A small drive on which every feature has something to do.
const BASE: &str = "demo?flash.packages=2&flash.planes_per_die=2&flash.blocks_per_plane=24\
                    &flash.pages_per_block=8&cleaning.free_threshold=0.04";

/// For each field, a valid value other than that of [`BASE`].
const OTHERS: &[(&str, &str)] = &[
    ("model", "Other"),
    ("ftl", "dftl"),
    ("allocation_pool", "die"),
    ("logical_page_size", "2KiB"),
    ("page_span", "2"),
    ("packages_per_pool", "2"),
    ("stripe", "8KiB"),
    ("active_blocks", "plane"),
    ("over_provisioning", "0.2"),
    ("interleaving", "die"),
    ("background_cleaning", "false"),
    ("timed", "false"),
    ("seed", "2"),
    ("gang.packages", "2"),
    ("gang.sharing", "control"),
    ("gang.queue_per_package", "false"),
    ("scheduling.policy", "read-first"),
    ("scheduling.overtake_limit", "1"),
    ("scheduling.overtake_wait", "300us"),
    ("scheduling.suspend_time", "20us"),
    ("scheduling.resume_time", "30us"),
    ("scheduling.max_suspensions", "1"),
    ("scheduling.min_progress", "100us"),
    ("scheduling.min_remaining", "150us"),
    ("scheduling.command_cycles", "2us"),
    ("scheduling.cache_read", "true"),
    ("scheduling.cache_program", "true"),
    ("scheduling.bus_order", "data-first"),
    ("scheduling.choice_time", "bus-granted"),
    ("scheduling.cleaning", "step"),
    ("scheduling.steps_in_a_row", "4"),
    ("scheduling.cleaning_priority", "urgent"),
    ("scheduling.erase_priority", "low"),
    ("scheduling.wear_priority", "urgent"),
    ("scheduling.mapping_priority", "urgent"),
    ("scheduling.turns", "true"),
    ("reliability.block_lifetime", "3"),
    ("reliability.factory_bad_blocks", "0.04"),
    ("reliability.program_failures", "0.001"),
    ("reliability.erase_failures", "0.01"),
    ("reliability.read_disturb", "0.5"),
    ("reliability.read_retries", "1"),
    ("reliability.refresh_retries", "2"),
    ("energy.read", "0.05"),
    ("energy.program", "0.05"),
    ("energy.erase", "0.05"),
    ("energy.bus", "0.1"),
    ("energy.request", "5"),
    ("energy.idle", "1"),
    ("errors.rate", "0.008"),
    ("errors.page_type", "1/1.5"),
    ("errors.slc_factor", "1"),
    ("errors.wear", "2"),
    ("errors.wear_exponent", "1"),
    ("errors.retention", "100ms"),
    ("errors.retention_exponent", "2"),
    ("errors.temperature", "85"),
    ("errors.reads", "50"),
    ("errors.codeword", "512"),
    ("errors.correctable", "50"),
    ("errors.retry_gain", "0.9"),
    ("errors.decode_time", "5us"),
    ("placement.handles", "2"),
    ("placement.isolation", "persistent"),
    ("placement.identifiers", "streams"),
    ("placement.groups", "2"),
    ("zones.blocks", "2"),
    ("zones.lanes", "1"),
    ("zones.size", "8MiB"),
    ("zones.open", "3"),
    ("zones.active", "3"),
    ("wear.policy", "migrate"),
    ("wear.age_variance", "0.01"),
    ("wear.retirement_age", "0.99"),
    ("cells.bits_per_cell", "2"),
    ("cells.page_read", "20us/40us"),
    ("cells.page_program", "100us/300us"),
    ("cells.programming", "one-shot"),
    ("slc.share", "0.04"),
    ("slc.dynamic", "0.5"),
    ("slc.when_full", "fold"),
    ("slc.page_read", "10us"),
    ("slc.page_program", "100us"),
    ("persistence.map", "nv-ram"),
    ("persistence.summary_pages", "2"),
    ("persistence.summary_size", "1KiB"),
    ("map_cache.size", "4KiB"),
    ("map_cache.entry_size", "4"),
    ("map_cache.batch", "false"),
    ("map_cache.host_memory", "2KiB"),
    ("map_cache.host_access", "2us"),
    ("cleaning.ties", "youngest"),
    ("cleaning.window", "3"),
    ("cleaning.choices", "3"),
    ("cleaning.frontiers", "host-and-cleaning"),
    ("cleaning.transfer", "copy-back"),
    ("interface.cut_through", "false"),
    ("flash.two_plane_commands", "true"),
    ("flash.two_plane_addresses", "any"),
    ("flash.packages", "1"),
    ("flash.dies_per_package", "4"),
    ("flash.planes_per_die", "4"),
    ("flash.blocks_per_plane", "25"),
    ("flash.pages_per_block", "9"),
    ("flash.page_size", "2KiB"),
    ("flash.metadata_size", "64"),
    ("flash.page_read", "26us"),
    ("flash.page_program", "201us"),
    ("flash.zero_page_program", "50us"),
    ("flash.block_erase", "2ms"),
    ("flash.serial_access_per_kib", "10us"),
    ("log.blocks", "3"),
    ("log.merge", "lazy"),
    ("log.switch", "false"),
    ("log.eviction", "random"),
    ("log.group", "3"),
    ("log.per_group", "2"),
    ("log.unordered", "2"),
    ("log.sequential_request", "4KiB"),
    ("log.sequential", "3"),
    ("log.hot", "1"),
    ("log.hot_interval", "4"),
    ("cleaning.policy", "fifo"),
    ("cleaning.free_threshold", "0.06"),
    ("cleaning.background_threshold", "0.08"),
    ("cleaning.urgent_threshold", "0.1"),
    ("cache.kind", "bplru"),
    ("cache.size", "128KiB"),
    ("cache.protected", "true"),
    ("cache.write_back", "0.5"),
    ("cache.batch", "4"),
    ("cache.drain", "0.4"),
    ("cache.read_ahead", "3"),
    ("interface.logical_block", "4KiB"),
    ("interface.queue_depth", "8"),
    ("interface.request_overhead", "11us"),
    ("interface.cores", "2"),
    ("interface.command_time", "7us"),
    ("interface.transfer_per_kib", "3us"),
    ("interface.largest_request", "4KiB"),
    ("groups.count", "2"),
    ("groups.switch_time", "1ms"),
    ("raid.drives", "2"),
    ("raid.stripe_unit", "16KiB"),
];

/// The behaviour that the host can observe, without the drive's name, which repeats the spec.
#[derive(Debug, PartialEq)]
struct Behaviour {
    info: DeviceInfo,
    completions: Vec<Completion>,
    counters: Counters,
    energy: Option<EnergyUse>,
    zones: Vec<Zone>,
}

/// Runs a fixed workload, with pauses, in the part of the address space that all of the drives
/// have: batches of writes and reads, some sequential, and flushes.
fn behaviour(mut drive: Drive) -> Behaviour {
    let mut random = fastrand::Rng::with_seed(7);
    let mut completions = Vec::new();
    let len = 8192;
    let places = (drive.info().capacity.0 / len).min(600);
    for batch in 0..800 {
        for _ in 0..random.u32(1..8) {
            let op = if random.u32(..4) == 0 { Op::Read } else { Op::Write };
            let io = request(op, random.u64(..places) * len, len, drive.now());
            let data = if random.u32(..4) == 0 { Data::Zeros } else { Data::Random };
            let stream = u16::try_from(io.offset.0 / len % 6).expect("below 6");
            drive.submit(&Io { data, stream, ..io });
        }
        completions.extend(std::iter::from_fn(|| drive.complete(Nanos::MAX)));
        for place in 0..3 {
            drive.submit(&request(Op::Read, (batch + place) % places * len, len, drive.now()));
        }
        if batch % 16 == 0 {
            drive.submit(&request(Op::Flush, 0, 0, drive.now()));
        }
        completions.extend(std::iter::from_fn(|| drive.complete(Nanos::MAX)));
        if batch % 4 == 0 {
            drive.idle_until(drive.now() + Nanos::millis(1));
        }
    }
    let info = DeviceInfo { name: String::new(), ..drive.info().clone() };
    let counters = drive.counters();
    let energy = drive.energy(&counters, completions.len() as u64, drive.now());
    let zones = drive.zones().map_or(Vec::new(), |zones| {
        (0..zones.limits().zones).map(|number| zones.zone(number)).collect()
    });
    Behaviour { info, completions, counters, energy, zones }
}

fn open(spec: &str) -> Result<Drive, ProfileError> {
    flashscope_sim::open(spec)
}

/// The other fields that the fields of the FTL `last` need to have an effect.
const LOCALITIES: &str =
    "ftl=last&background_cleaning=false&persistence.map=pages&log.sequential_request=12KiB";

/// The other fields that zones need.
const ZONED: &str = "zones.blocks=1&zones.open=2&persistence.map=nv-ram&background_cleaning=false&over_provisioning=0.4\
     &active_blocks=die&interface.logical_block=4KiB&cleaning.free_threshold=0.09";

/// The other fields that a field needs to have an effect.
const NEEDS: &[(&str, &str)] = &[
    ("ftl", "background_cleaning=false&persistence.map=pages"),
    ("log.blocks", "ftl=bast&background_cleaning=false&persistence.map=pages"),
    (
        "log.merge",
        "ftl=bast&background_cleaning=false&persistence.map=pages&flash.pages_per_block=2\
         &log.blocks=12",
    ),
    ("log.switch", "ftl=bast&background_cleaning=false&persistence.map=pages"),
    ("log.eviction", "ftl=bast&background_cleaning=false&persistence.map=pages"),
    ("log.unordered", "ftl=bast&background_cleaning=false&persistence.map=pages"),
    ("log.group", "ftl=n-k&background_cleaning=false&persistence.map=pages"),
    (
        "log.per_group",
        "ftl=n-k&background_cleaning=false&persistence.map=pages&flash.pages_per_block=2\
      &log.blocks=12&log.merge=lazy",
    ),
    ("log.sequential_request", LOCALITIES),
    ("log.sequential", LOCALITIES),
    ("log.hot", LOCALITIES),
    ("log.hot_interval", LOCALITIES),
    ("logical_page_size", "over_provisioning=0.4"),
    ("cache.kind", "cache.size=64KiB"),
    ("cache.size", "cache.kind=lru&cache.size=64KiB"),
    ("cache.protected", "cache.kind=lru&cache.size=64KiB"),
    ("cache.write_back", "cache.kind=lru&cache.size=64KiB"),
    ("cache.batch", "cache.kind=lru&cache.size=64KiB"),
    ("cache.drain", "cache.kind=lru&cache.size=64KiB&cache.write_back=0.5&cache.batch=4"),
    ("interface.cores", "interface.command_time=20us"),
    ("groups.count", "groups.switch_time=250us"),
    ("groups.switch_time", "groups.count=4"),
    ("ftl", "over_provisioning=0.3"),
    ("map_cache.size", "ftl=dftl&over_provisioning=0.3&map_cache.size=1KiB"),
    ("map_cache.entry_size", "ftl=dftl&over_provisioning=0.3&map_cache.size=1KiB"),
    ("map_cache.batch", "ftl=dftl&over_provisioning=0.3&map_cache.size=1KiB"),
    ("map_cache.host_memory", "ftl=dftl&over_provisioning=0.3&map_cache.size=1KiB"),
    (
        "map_cache.host_access",
        "ftl=dftl&over_provisioning=0.3&map_cache.size=1KiB&map_cache.host_memory=1KiB",
    ),
    ("raid.stripe_unit", "raid.drives=2&flash.packages=1"),
    ("cleaning.window", "cleaning.policy=windowed-greedy"),
    ("cleaning.choices", "cleaning.policy=d-choices"),
    ("gang.sharing", "gang.packages=2"),
    ("gang.queue_per_package", "gang.packages=2"),
    (
        "flash.two_plane_addresses",
        "flash.two_plane_commands=true&active_blocks=plane&over_provisioning=0.4\
         &cleaning.free_threshold=0.09",
    ),
    (
        "flash.two_plane_commands",
        "stripe=8KiB&active_blocks=plane&over_provisioning=0.4&cleaning.free_threshold=0.09",
    ),
    ("cleaning.transfer", "active_blocks=plane&over_provisioning=0.4&cleaning.free_threshold=0.09"),
    ("active_blocks", "over_provisioning=0.4&cleaning.free_threshold=0.09"),
    ("allocation_pool", "over_provisioning=0.4&cleaning.free_threshold=0.09"),
    ("cleaning.frontiers", "over_provisioning=0.2"),
    ("placement.handles", "over_provisioning=0.4"),
    ("placement.isolation", "over_provisioning=0.4&placement.handles=3"),
    ("placement.identifiers", "over_provisioning=0.4&placement.handles=3"),
    ("placement.groups", "active_blocks=die&over_provisioning=0.4&cleaning.free_threshold=0.09"),
    ("zones.blocks", ZONED),
    ("zones.lanes", ZONED),
    ("zones.size", ZONED),
    ("zones.open", ZONED),
    ("zones.active", ZONED),
    ("scheduling.overtake_limit", "scheduling.policy=read-first"),
    ("scheduling.overtake_wait", "scheduling.policy=read-first"),
    ("scheduling.suspend_time", "scheduling.policy=suspend"),
    ("scheduling.resume_time", "scheduling.policy=suspend"),
    ("scheduling.max_suspensions", "scheduling.policy=suspend"),
    ("scheduling.min_progress", "scheduling.policy=suspend"),
    ("scheduling.min_remaining", "scheduling.policy=suspend"),
    (
        "scheduling.bus_order",
        "interleaving=die&flash.packages=1&flash.dies_per_package=4\
         &flash.serial_access_per_kib=50us",
    ),
    ("scheduling.choice_time", "scheduling.policy=read-first&interleaving=die"),
    ("scheduling.steps_in_a_row", "scheduling.cleaning=step"),
    ("scheduling.cleaning_priority", "scheduling.cleaning=step"),
    ("scheduling.erase_priority", "scheduling.cleaning=step"),
    (
        "scheduling.wear_priority",
        "background_cleaning=false&scheduling.cleaning=step&reliability.block_lifetime=14\
         &wear.policy=migrate",
    ),
    ("scheduling.mapping_priority", "scheduling.cleaning=step"),
    ("scheduling.turns", "scheduling.cleaning=step"),
    ("reliability.factory_bad_blocks", "over_provisioning=0.4"),
    ("reliability.read_retries", "reliability.read_disturb=0.5&reliability.refresh_retries=3"),
    ("reliability.refresh_retries", "reliability.read_disturb=0.5"),
    ("slc.share", "over_provisioning=0.4"),
    ("errors.page_type", "errors.rate=0.007&cells.bits_per_cell=2"),
    ("errors.slc_factor", "errors.rate=0.008&over_provisioning=0.4&slc.share=0.04"),
    ("errors.wear", "errors.rate=0.006&errors.wear=20"),
    ("errors.wear_exponent", "errors.rate=0.006&errors.wear=20"),
    ("errors.retention", "errors.rate=0.005&errors.retention=5s"),
    ("errors.retention_exponent", "errors.rate=0.005&errors.retention=1s"),
    ("errors.temperature", "errors.rate=0.005&errors.retention=5s"),
    ("errors.reads", "errors.rate=0.005&errors.reads=500"),
    ("errors.codeword", "errors.rate=0.008"),
    ("errors.correctable", "errors.rate=0.007"),
    ("errors.retry_gain", "errors.rate=0.009"),
    ("errors.decode_time", "errors.rate=0.001"),
    ("slc.dynamic", "over_provisioning=0.4&slc.page_program=50us"),
    ("slc.when_full", "over_provisioning=0.4&slc.dynamic=0.1&slc.page_program=50us"),
    ("cells.bits_per_cell", "over_provisioning=0.4&slc.share=0.04"),
    ("cells.page_read", "cells.bits_per_cell=2"),
    ("cells.page_program", "cells.bits_per_cell=2"),
    ("cells.programming", "cells.bits_per_cell=2"),
    ("slc.page_read", "over_provisioning=0.4&slc.share=0.04"),
    ("slc.page_program", "over_provisioning=0.4&slc.share=0.04"),
    ("seed", "reliability.program_failures=0.001"),
    ("wear.policy", "reliability.block_lifetime=14"),
    ("wear.age_variance", "reliability.block_lifetime=14&wear.policy=rate-limit"),
    ("wear.retirement_age", "reliability.block_lifetime=14&wear.policy=migrate"),
];

#[test]
fn every_field_has_a_visible_effect() {
    for field in field_names() {
        let (_, other) = (OTHERS.iter().find(|(name, _)| *name == field))
            .unwrap_or_else(|| panic!("no other value is given for {field}"));
        let needs = NEEDS.iter().find(|(name, _)| *name == field).map_or("", |(_, needs)| needs);
        let spec = format!("{BASE}&{needs}");
        let base = behaviour(open(&spec).unwrap_or_else(|error| panic!("{field}: {error}")));
        let programs = base.counters.flash.programs;
        let moved = programs.total() - programs.host - programs.mapping;
        assert!(moved > 50 || needs == ZONED, "{field}: {:?}", base.counters);
        match open(&format!("{spec}&{field}={other}")) {
            Ok(drive) => assert!(behaviour(drive) != base, "{field}={other} changes nothing"),
            Err(ProfileError::Rule { field: refused, .. }) => {
                assert_eq!(refused, field);
                panic!("{field}={other} is refused");
            }
            Err(error) => panic!("{field}={other}: {error}"),
        }
    }
    assert_eq!(OTHERS.len(), field_names().len(), "a value is given for a field that is gone");
}

#[test]
fn equal_ios_give_equal_completions() {
    for with in ["", "cleaning.policy=random", "cleaning.policy=d-choices"] {
        let run = || behaviour(open(&format!("{BASE}&{with}")).expect("it works"));
        assert_eq!(run(), run());
    }
}

// Every field of a built-in profile states its source. The profiles on which others are based set
// every field.
#[test]
fn profiles_give_their_sources() {
    for kind in setup::KINDS {
        for line in kind.toml.lines().filter(|line| line.contains('=') && !line.starts_with('#')) {
            let source = line.split_once('#').map_or("", |(_, comment)| comment.trim());
            assert!(source.len() > 5, "{}: `{line}` is without its source", kind.name);
        }
        let whole = ["agrawal-2008", "demo"].contains(&kind.name);
        for field in field_names().iter().filter(|_| whole) {
            let key = field.rsplit('.').next().expect("at least one part");
            let mut lines = kind.toml.lines();
            let given = lines.any(|line| line.split_once('=').is_some_and(|l| l.0.trim() == key));
            assert!(given, "{}: {field} is not given", kind.name);
        }
    }
}
