use flashscope_block::{Bytes, Device, DeviceKind, Nanos, contract};
use flashscope_sim::nand::Interleaving;
use flashscope_sim::setup::{KINDS, Scheduling, parse};
use flashscope_sim::{Profile, cache, ftl, gc, open, wear};

fn refusal(spec: &str) -> String {
    open(spec).err().unwrap_or_else(|| panic!("{spec} works")).to_string()
}

#[test]
fn every_profile_keeps_the_device_contract() {
    for kind in KINDS {
        let mut drive = open(kind.name).expect("a registered profile works");
        assert_eq!(drive.info().name, format!("sim:{}", kind.name));
        assert_eq!(drive.info().kind, DeviceKind::Sim);
        contract::check(&mut drive, true);
    }
}

#[test]
fn registered_names_are_unique_documented_and_selectable() {
    let profiles = KINDS.iter().map(|kind| ("", kind.name, kind.summary, kind.source));
    let ftls = ftl::KINDS.iter().map(|kind| ("ftl", kind.name, kind.summary, kind.source));
    let policies =
        gc::KINDS.iter().map(|kind| ("cleaning.policy", kind.name, kind.summary, kind.source));
    let mut seen = std::collections::HashSet::new();
    let wear = wear::KINDS.iter().map(|k| ("wear.policy", k.name, k.summary, k.source));
    let buffers = cache::KINDS.iter().map(|k| ("cache.kind", k.name, k.summary, k.source));
    let all = profiles.chain(ftls).chain(policies).chain(wear).chain(buffers);
    for (field, name, summary, source) in all {
        assert!(seen.insert((field, name)), "{name} twice");
        assert!(summary.len() > 20 && source.len() > 10, "{name} is not documented");
        let spec = match (field, ftl::KINDS.iter().find(|kind| kind.name == name)) {
            ("", _) => name.into(),
            ("ftl", Some(kind)) if !kind.is_page_mapped() => {
                format!("demo?ftl={name}&background_cleaning=false&persistence.map=pages")
            }
            _ => format!("demo?{field}={name}"),
        };
        contract::check(&mut open(&spec).expect("it opens by its name"), true);
    }
    assert!(seen.len() >= 4);
}

// The default profile is the drive of the paper. This drive and `demo` have the sizes that their
// descriptions state.
#[test]
fn profiles_have_the_sizes_that_they_state() {
    assert_eq!(parse("agrawal-2008").expect("registered"), Profile::default());
    let capacity = |spec| open(spec).expect("registered").info().capacity.0;
    let places = 16_384 * 63; // of each package: a page of every block holds its summary
    let spare = 154_828; // 15 % of them, rounded down
    assert_eq!(capacity("agrawal-2008"), (places - spare) * 4096 * 8);
    assert!((1 << 30..(1 << 30) + (1 << 24)).contains(&capacity("demo")));
}

#[test]
fn specs_and_partial_files_are_read() {
    let spec = "demo?over_provisioning=0.28&flash.page_size=8KiB&flash.page_read=60us\
                &interleaving=die&allocation_pool=plane&model=12&interface.queue_depth=4";
    let profile = parse(spec).expect("valid");
    assert_eq!(profile.flash.page_size, Bytes::kib(8));
    assert_eq!((profile.over_provisioning, profile.interleaving), (0.28, Interleaving::Die));
    assert_eq!((profile.model.as_str(), profile.interface.queue_depth), ("12", 4));

    let free = parse("demo?interface.request_overhead=0s&interface.transfer_per_kib=0ns");
    assert_eq!(free.expect("valid").interface.request_overhead, flashscope_block::Nanos(0));

    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("my.toml");
    std::fs::write(
        &path,
        "over_provisioning = 0.3\n[flash]\npage_size = 2048\n[interface]\nrequest_overhead = 0\n",
    )
    .expect("written");
    let spec = format!("{}?flash.packages=4&cleaning.free_threshold=0.1", path.display());
    let profile = parse(&spec).expect("valid");
    let mut expected = Profile { over_provisioning: 0.3, ..Profile::default() };
    expected.flash.page_size = Bytes(2048);
    expected.flash.packages = 4;
    expected.cleaning.free_threshold = 0.1;
    assert_eq!(profile, expected);
    assert_eq!(open(&spec).expect("works").info().name, format!("sim:{spec}"));
}

#[test]
fn unknown_names_are_refused_with_the_nearest() {
    let message = refusal("agrawal2008");
    assert!(message.contains("did you mean `agrawal-2008`?") && message.contains("demo"));
    assert!(refusal("").contains("agrawal-2008, demo"));
    let message = refusal("demo?flash.page_raed=1us");
    assert!(message.contains("did you mean `flash.page_read`?"), "{message}");
    assert!(!message.contains("interface.queue_depth"), "{message}");
    assert!(refusal("demo?zzzzzzzzz=1").contains("interface.queue_depth"));
    let message = refusal("demo?queue_depth=4");
    assert!(message.contains("did you mean `interface.queue_depth`?"), "{message}");
    assert!(refusal("demo?ftl=page_map").contains("did you mean `page-map`?"));
    assert!(refusal("demo?over_provisioning").contains("field=value"));
    assert!(refusal("nowhere/my.toml").contains("nowhere/my.toml"));
}

// A section that is given as a field is refused, at any position. An earlier version crashed if
// fields of the section followed.
#[test]
fn a_section_is_no_field() {
    for spec in ["demo?flash=1", "demo?flash=1&flash.packages=2", "demo?flash.packages=2&flash=1"] {
        let message = refusal(spec);
        assert!(message.contains("`flash`"), "{message}");
    }
}

#[test]
fn invalid_files_are_refused_with_name_and_position() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let cases = [
        ("[flash]\npackges = 4\n", "did you mean `flash.packages`?"),
        ("[flsh]\n", "flsh"),
        ("flash = 3\n", "line 1"),
        ("[flash]\npage_read = 25\n", "\"25us\""),
        ("[flash]\n\npage_size = \"big\"\n", "line 3"),
        ("[flash]\npage_size = -1\n", "-1"),
        ("over_provisioning = \n", "line 1"),
        ("allocation_pool = \"planet\"\n", "plane"),
    ];
    for (index, (text, part)) in cases.into_iter().enumerate() {
        let path = folder.join(format!("wrong-{index}.toml"));
        std::fs::write(&path, text).expect("written");
        let message = refusal(&path.to_string_lossy());
        assert!(message.contains(part), "{text:?}: {message}");
    }
}

#[test]
fn unusable_profiles_are_refused_with_field_value_and_rule() {
    let cases = [
        ("flash.packages=0", "`flash.packages` is 0: it must be at least 1"),
        ("flash.pages_per_block=0", "`flash.pages_per_block` is 0"),
        ("flash.blocks_per_plane=0", "`flash.blocks_per_plane` is 0"),
        ("flash.blocks_per_plane=4294967295", "fewer than 2^32 pages"),
        ("flash.page_size=0", "`flash.page_size` is 0"),
        ("flash.page_size=8388608TiB", "below 4 GiB"),
        ("flash.page_size=700", "divide flash.page_size, which is 700"),
        ("interface.logical_block=0", "`interface.logical_block` is 0"),
        ("interface.logical_block=8KiB", "divide flash.page_size"),
        ("interface.queue_depth=0", "from 1 to 65536"),
        ("interface.queue_depth=-1", "-1"),
        ("flash.page_read=0us", "`flash.page_read` is 0 ns"),
        ("flash.block_erase=0ns", "it must be above 0"),
        ("over_provisioning=0", "above 0 and below 1"),
        ("over_provisioning=1", "above 0 and below 1"),
        ("over_provisioning=nan", "above 0 and below 1"),
        ("over_provisioning=0.99999999999", "at least a stripe"),
        ("over_provisioning=0.04", "at least 0.1008"),
        ("over_provisioning=0.0505&background_cleaning=false", ""),
        ("over_provisioning=0.0503&background_cleaning=false", "at least 0.0505"),
        ("cleaning.free_threshold=0.001", "at least 2 of the 616 blocks"),
        ("cleaning.free_threshold=0.2&background_cleaning=false", "more than 124"),
        ("cleaning.background_threshold=0.01", "not be below cleaning.free_threshold"),
        ("cleaning.urgent_threshold=0.01", "it must be from cleaning.free_threshold"),
        ("cleaning.urgent_threshold=0.5", "it must be from cleaning.free_threshold"),
        ("background_cleaning=false&cleaning.urgent_threshold=0.08", "it needs a page-mapped FTL"),
        ("cleaning.window=0", "`cleaning.window` is 0: it must be at least 1"),
        ("cleaning.choices=0", "`cleaning.choices` is 0: it must be at least 1"),
        ("cleaning.ties=random", "oldest"),
        ("seed=-1", "-1"),
        ("page_span=3", "divide flash.packages, which is 8"),
        ("page_span=0", "`page_span` is 0"),
        ("logical_page_size=3KiB", "multiple of the 4096 bytes"),
        ("logical_page_size=2KiB&page_span=2", "multiple of the 8192 bytes"),
        ("logical_page_size=512KiB", "fit in a block, which has 258048 bytes"),
        ("stripe=6KiB", "multiple of 4096 bytes"),
        ("packages_per_pool=3", "divide the 8 packages"),
        ("packages_per_pool=2&allocation_pool=die", "must be 1 unless"),
        ("allocation_pool=pool", "`allocation_pool` is pool"),
        (
            "allocation_pool=plane&active_blocks=die",
            "is die: it must not be larger than allocation_",
        ),
        ("cleaning.transfer=copy-back", "needs active_blocks"),
        ("gang.packages=3", "divide flash.packages, which is 8"),
        ("gang.packages=4&page_span=2", "must be 1 or"),
        ("gang.packages=4&gang.queue_per_package=false&interleaving=die", "interleave"),
        ("gang.packages=4&gang.sharing=control&interleaving=die", "must be \"bus\""),
        ("gang.packages=4&gang.sharing=control&gang.queue_per_package=false", "data pins"),
        ("flash.planes_per_die=3&interleaving=plane-pair", "planes in pairs"),
        ("flash.planes_per_die=3&flash.two_plane_commands=true", "planes in pairs"),
        ("flash.two_plane_addresses=any", "needs flash.two_plane_commands"),
        ("flash.two_plane_addresses=same-block", "needs flash.two_plane_commands"),
        (
            "scheduling.policy=read-first&scheduling.wear_priority=low",
            "no commands have this class",
        ),
        ("scheduling.wear_priority=urgent&reliability.read_disturb=0.5", ""),
        (
            "scheduling.mapping_priority=urgent&persistence.map=nv-ram",
            "no commands have this class",
        ),
        ("scheduling.mapping_priority=low", "must be urgent or equal"),
        ("reliability.block_lifetime=0", "at least 1"),
        ("reliability.program_failures=1", "from 0 to below 1"),
        ("reliability.factory_bad_blocks=0.1", "`over_provisioning` is 0.15"),
        ("slc.share=0.999", "leave some of the"),
        ("slc.dynamic=1.1", "`slc.dynamic` is 1.1: it must be from 0 to 1"),
        ("slc.dynamic=1", ""),
        ("slc.dynamic=0.5&slc.share=0.02", "must be 0 where slc.share"),
        ("slc.dynamic=0.5&cells.bits_per_cell=1", "folding must gain space"),
        ("slc.share=0.02&slc.when_full=bypass", ""),
        ("slc.share=0.02&slc.when_full=bypass&background_cleaning=false", "ever empty the cache"),
        ("slc.dynamic=0.5&placement.handles=2", "the SLC cache mixes the data"),
        ("cells.bits_per_cell=0", "`cells.bits_per_cell` is 0"),
        ("cells.bits_per_cell=6", "from 1 to 5"),
        ("slc.share=0.02&flash.pages_per_block=3", "leave a page in a block of 2 that"),
        ("cells.page_read=20us", "multiple of cells.bits_per_cell, which is 3"),
        ("cells.bits_per_cell=2&cells.page_read=20us/30us/40us", "must have 2 times"),
        ("cells.bits_per_cell=2&cells.page_read=20us/0us", "each time must be above 0"),
        ("cells.page_read=20us/x", "separate the values of page types by `/`"),
        (
            "cells.programming=one-shot&cells.bits_per_cell=2&cells.page_program=1us/2us",
            "must be empty",
        ),
        (
            "cells.bits_per_cell=2&cells.page_read=20us/30us&flash.zero_page_program=50us",
            "where pages have types",
        ),
        ("energy.idle=-1", "`energy.idle` is -1: it must be from 0 to 1000"),
        ("energy.idle=1&timed=false", "commands without time take no energy"),
        ("errors.rate=0.6", "`errors.rate` is 0.6: it must be from 0 to 0.5"),
        ("errors.rate=1e-3", ""),
        ("errors.rate=1e-3&errors.page_type=1/2", "must have 3 factors above 0"),
        ("errors.rate=1e-3&errors.page_type=1/2/0", "must have 3 factors above 0"),
        ("errors.rate=1e-3&errors.page_type=1/2/x", "separate the values of page types by `/`"),
        ("errors.rate=1e-3&errors.slc_factor=-1", "from 0 to 1000"),
        ("errors.rate=1e-3&errors.wear_exponent=0", "from 0.1 to 10"),
        ("errors.rate=1e-3&errors.retention_exponent=11", "from 0.1 to 10"),
        ("errors.rate=1e-3&errors.temperature=200", "from -40 to 125"),
        ("errors.rate=1e-3&errors.codeword=0", "from 1 byte to 64 KiB"),
        ("errors.rate=1e-3&errors.correctable=8192", "below the 8192 bits of errors.codeword"),
        ("errors.rate=1e-3&errors.retry_gain=1", "above 0 and below 1"),
        ("errors.rate=1e-3&reliability.read_disturb=0.1", "errors.reads describes"),
        (
            "errors.rate=1e-3&active_blocks=plane&over_provisioning=0.4&cleaning.transfer=copy-back",
            "correct no errors",
        ),
        ("wear.policy=migration", "did you mean `migrate`?"),
        ("wear.age_variance=1", "from 0 to below 1"),
        ("persistence.summary_pages=0", "`persistence.summary_pages` is 0"),
        ("persistence.summary_pages=64", "leave pages for data"),
        ("persistence.map=paper", "nv-ram"),
        ("ftl=fest", "block-map"),
        ("ftl=bast", "`background_cleaning` is true: with ftl = \"bast\" it must be false"),
        ("ftl=bast&background_cleaning=false", "`persistence.map` is summary: with ftl"),
        (
            "ftl=bast&background_cleaning=false&persistence.map=pages&wear.policy=migrate",
            "must be \"none\"",
        ),
        (
            "ftl=bast&background_cleaning=false&persistence.map=pages&slc.share=0.1",
            "`slc.share` is above 0",
        ),
        (
            "ftl=bast&background_cleaning=false&persistence.map=pages&active_blocks=die",
            "`active_blocks` is part of a pool",
        ),
        (
            "ftl=bast&background_cleaning=false&persistence.map=pages&cleaning.frontiers=host-and-cleaning",
            "`cleaning.frontiers` is",
        ),
        (
            "ftl=bast&background_cleaning=false&persistence.map=pages&allocation_pool=plane&cleaning.transfer=copy-back",
            "`cleaning.transfer` is copy-back",
        ),
        (
            "ftl=bast&background_cleaning=false&persistence.map=pages&logical_page_size=8KiB",
            "it must be 4096: page_span flash pages",
        ),
        (
            "ftl=bast&background_cleaning=false&persistence.map=pages&log.blocks=0",
            "`log.blocks` is 0: with ftl",
        ),
        (
            "ftl=bast&background_cleaning=false&persistence.map=pages&log.blocks=92",
            "it must be at most 91: of the 616",
        ),
        ("ftl=bast&background_cleaning=false&persistence.map=pages&log.blocks=91", ""),
        (
            "ftl=fast&background_cleaning=false&persistence.map=pages&log.unordered=8",
            "`log.unordered` is 8: with ftl = \"fast\" it must be 0",
        ),
        (
            "ftl=bast&background_cleaning=false&persistence.map=pages&over_provisioning=0.001",
            "`over_provisioning` is 0.001: it must be larger",
        ),
        ("ftl=bast&background_cleaning=false&persistence.map=pages&log.eviction=mru", "lru"),
        ("log.sequential=0&log.hot=0&log.hot_interval=0&log.sequential_request=0", ""),
        ("ftl=last&background_cleaning=false&persistence.map=pages", ""),
        (
            "ftl=last&background_cleaning=false&persistence.map=pages&log.blocks=2",
            "`log.blocks` is 2: with ftl = \"last\" it must be at least 3",
        ),
        (
            "ftl=last&background_cleaning=false&persistence.map=pages&log.blocks=0",
            "`log.blocks` is 0: with ftl",
        ),
        (
            "ftl=last&background_cleaning=false&persistence.map=pages&log.sequential=0",
            "`log.sequential` is 0: it must be from 1 to log.blocks - 2, which is 6",
        ),
        ("ftl=last&background_cleaning=false&persistence.map=pages&log.sequential=7", "which is 6"),
        (
            "ftl=last&background_cleaning=false&persistence.map=pages&log.hot=0",
            "`log.hot` is 0: it must be from 1 to log.blocks - log.sequential - 1, which is 5",
        ),
        ("ftl=last&background_cleaning=false&persistence.map=pages&log.hot=6", "which is 5"),
        ("ftl=last&background_cleaning=false&persistence.map=pages&log.hot=5", ""),
        (
            "ftl=last&background_cleaning=false&persistence.map=pages&log.hot_interval=0",
            "`log.hot_interval` is 0: it must be at least 1",
        ),
        (
            "ftl=last&background_cleaning=false&persistence.map=pages&log.sequential_request=0",
            "`log.sequential_request` is 0: it must be at least 1",
        ),
        ("map_cache.size=0", ""),
        ("ftl=dftl&map_cache.size=7", "`map_cache.size` is 7: it must hold at least one entry"),
        ("ftl=dftl&map_cache.size=0", "one entry, which takes 8 bytes"),
        ("ftl=dftl&map_cache.entry_size=0", "`map_cache.entry_size` is 0: it must be at least 1"),
        ("map_cache.host_memory=7", ""),
        ("ftl=dftl&map_cache.host_memory=8", ""),
        (
            "ftl=dftl&map_cache.host_memory=7",
            "`map_cache.host_memory` is 7: it must hold at least one entry, which takes 8 bytes, or be 0",
        ),
        (
            "ftl=dftl&map_cache.host_memory=1MiB&persistence.map=nv-ram",
            "it must be 0 where persistence.map is \"nv-ram\"",
        ),
        ("map_cache.host_memory=1MiB&persistence.map=nv-ram", ""),
        ("ftl=dftl&logical_page_size=2KiB", "maps whole pages of the flash"),
        (
            "ftl=dftl&flash.page_size=2&interface.logical_block=2",
            "`flash.page_size` is 2: it must hold an entry of the map",
        ),
        ("cache.kind=bpulru", "did you mean `bplru`?"),
        ("cache.size=5000", ""),
        ("cache.kind=lru&cache.size=5000", "`cache.size` is 5000: it must be a multiple"),
        ("cache.kind=bplru&cache.size=0", "the logical page, which is 4096"),
        ("cache.kind=lru&cache.size=2GiB", "not exceed the drive's capacity"),
        ("cache.kind=lru&cache.size=1048576TiB", "not exceed the drive's capacity"),
        ("cache.write_back=1.01", "`cache.write_back` is 1.01: it must be from 0 to 1"),
        ("cache.write_back=nan", "from 0 to 1"),
        ("cache.batch=0", ""),
        ("cache.kind=lru&cache.batch=0", "`cache.batch` is 0: it must be from 1 to the 4096"),
        ("cache.kind=lru&cache.size=8KiB&cache.batch=3", "from 1 to the 2 logical pages"),
        ("cache.read_ahead=65537", "from 0 to 65536"),
        ("raid.drives=0", "`raid.drives` is 0: it must be from 1 to 256"),
        ("raid.drives=257", "from 1 to 256"),
        ("raid.stripe_unit=6KiB", ""),
        ("raid.drives=2&raid.stripe_unit=6KiB", "`raid.stripe_unit` is 6144: it must be a mult"),
        ("raid.drives=2&raid.stripe_unit=0", "the logical page, which is 4096"),
        ("raid.drives=2&raid.stripe_unit=2GiB", "not exceed a drive's capacity"),
        ("cleaning.policy=greed", "did you mean `greedy`?"),
    ];
    for (overrides, part) in cases {
        let spec = format!("demo?{overrides}");
        if part.is_empty() {
            open(&spec).expect("it is accepted");
        } else {
            let message = refusal(&spec);
            assert!(message.contains(part), "{spec}: {message}");
        }
    }
}

#[test]
fn profiles_of_earlier_versions_are_read() {
    let text = "model = \"of version 0.2\"\n[slc]\nshare = 0.05\nbits_per_cell = 2\n";
    let read = flashscope_sim::setup::from_toml(text).unwrap();
    assert_eq!((read.cells.bits_per_cell, read.slc.share), (2, 0.05));
    assert_eq!(parse("demo?slc.bits_per_cell=4").unwrap().cells.bits_per_cell, 4);
    let both = "[slc]\nbits_per_cell = 2\n[cells]\nbits_per_cell = 4\n";
    let read = flashscope_sim::setup::from_toml(both).unwrap();
    assert_eq!(read.cells.bits_per_cell, 4, "the new name wins");
    let named = "[scheduling]\nmost_suspensions = 3\nleast_progress = \"2us\"\n\
                 least_remaining = \"1us\"\n";
    let Scheduling { max_suspensions, min_progress, min_remaining, .. } =
        flashscope_sim::setup::from_toml(named).unwrap().scheduling;
    assert_eq!((max_suspensions, min_progress, min_remaining), (3, Nanos(2000), Nanos(1000)));
    let wrong = "[slc]\nbits_per_cell = \"two\"\n";
    assert!(flashscope_sim::setup::from_toml(wrong).is_err());
}
