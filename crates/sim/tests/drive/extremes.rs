//! Tests profiles with extreme values in each field.

use flashscope_block::{Bytes, Device, Io, Nanos, Op};
use flashscope_sim::observe::{Watch, erases};
use flashscope_sim::setup::{field_names, parse};
use flashscope_sim::{Drive, Profile};

use crate::request;

/// Small drives of every family.
const BASES: [&str; 8] = [
    "",
    "ftl=dftl&over_provisioning=0.4&map_cache.size=1KiB&map_cache.host_memory=1KiB",
    "ftl=last&background_cleaning=false&persistence.map=pages&log.sequential_request=12KiB",
    "ftl=n-k&background_cleaning=false&persistence.map=pages&log.group=2",
    "cache.kind=bplru&cache.size=64KiB&cache.write_back=0.5&cache.read_ahead=2&groups.count=2",
    "scheduling.policy=suspend&interleaving=die",
    "scheduling.policy=fcfs&scheduling.cache_read=true&scheduling.cache_program=true",
    "raid.drives=2&slc.share=0.05&over_provisioning=0.5&reliability.read_disturb=0.5",
];

const SMALL: &str = "demo?flash.packages=2&flash.planes_per_die=2&flash.blocks_per_plane=24\
                     &flash.pages_per_block=8&cleaning.free_threshold=0.04";

/// Extreme values for each type of field: limits of integers, neighbours of powers of two, tiny and
/// huge units, `nan` and `inf`.
const VALUES: [&str; 24] = [
    "0",
    "1",
    "2",
    "3",
    "63",
    "64",
    "65",
    "65535",
    "65536",
    "2147483648",
    "4294967294",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "-1",
    "0.5",
    "0.999999999",
    "1e308",
    "nan",
    "inf",
    "18446744073709551615ns",
    "16777215TiB",
    "1ns",
];

/// The test skips drives that need more memory, because small machines refuse them.
const LIMIT: Bytes = Bytes::mib(24);

/// Issues each kind of request, idles, and reads all reports of a drive.
fn try_out(mut drive: Drive) {
    let mut watch = Watch::default();
    if let Some(one) = drive.only() {
        watch.add_all(one);
    }
    let info = drive.info().clone();
    let (block, capacity) = (info.logical_block.0, info.capacity.0);
    let mut random = fastrand::Rng::with_seed(3);
    for nth in 0..120 {
        let len = (block * [1, 2, 8, 64][nth % 4]).min(capacity).min(4 << 20).max(block);
        let offset = random.u64(..=(capacity - len) / block) * block;
        let op = [Op::Write, Op::Write, Op::Read, Op::Trim, Op::Flush][nth % 5];
        drive.submit(&Io { at: drive.now(), ..request(op, offset, len, Nanos(0)) });
        while drive.complete(Nanos::MAX).is_some() {}
        if nth % 10 == 0 {
            let until = drive.now() + Nanos::millis(7);
            if until < Nanos::MAX {
                drive.idle_until(until);
            }
        }
    }
    drive.idle_until(Nanos(u64::MAX - 1));
    std::hint::black_box((erases(drive.members()), watch.report(drive.now()), drive.flash()));
}

/// Creates a drive and uses it. Returns false if the profile is invalid or needs too much memory.
fn is_usable(profile: &Profile) -> bool {
    match profile.footprint() {
        Ok(need) if need.total() <= LIMIT => {
            try_out(Drive::new("sim:test", profile).expect("a profile with a footprint works"));
            true
        }
        // The profile is invalid, or needs too much memory.
        _ => false,
    }
}

// With each field of a profile at extreme values, such as 0, 1 and the largest numbers, the profile
// is refused, or the drive works: no panic, no endless loop, and no more memory than its footprint
// states.
#[test]
fn extreme_values_are_refused_or_work() {
    let (mut usable, mut refused) = (0, 0);
    for base in BASES {
        for field in field_names() {
            for value in VALUES {
                let Ok(profile) = parse(&format!("{SMALL}&{base}&{field}={value}")) else {
                    continue;
                };
                match is_usable(&profile) {
                    true => usable += 1,
                    false => refused += 1,
                }
            }
        }
    }
    assert!(usable > 1000 && refused > 1000, "{usable} usable, {refused} refused");
}

#[test]
fn products_of_large_values_are_refused_or_work() {
    let sizes = [
        "flash.packages",
        "flash.dies_per_package",
        "flash.planes_per_die",
        "flash.blocks_per_plane",
        "flash.pages_per_block",
        "flash.page_size",
        "logical_page_size",
        "raid.drives",
        "stripe",
        "log.blocks",
        "log.group",
        "cache.size",
        "map_cache.size",
        "interface.queue_depth",
        "page_span",
    ];
    for (nth, one) in sizes.iter().enumerate() {
        for other in &sizes[nth + 1..] {
            for value in ["2", "64", "65536", "4294967295", "9223372036854775807"] {
                let more = format!("{one}={value}&{other}={value}");
                for base in ["", "ftl=fast&background_cleaning=false&persistence.map=pages"] {
                    if let Ok(profile) = parse(&format!("{SMALL}&{base}&{more}")) {
                        is_usable(&profile);
                    }
                }
            }
        }
    }
}
