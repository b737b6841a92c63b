//! Tests idle times of a drive.

use flashscope_block::{Completion, Device, Nanos, Op};
use flashscope_sim::nand::{Lpn, Page};
use flashscope_sim::{Counters, Drive, cache, ftl, gc, setup, wear};

use crate::request;

/// A small drive that collects garbage and writes back in the background.
const SMALL: &str = "demo?flash.packages=2&flash.planes_per_die=2&flash.blocks_per_plane=24\
                     &flash.pages_per_block=8&cleaning.free_threshold=0.04\
                     &cleaning.background_threshold=0.2&over_provisioning=0.35\
                     &cache.size=64KiB&cache.write_back=0.5";

/// The fields that FTLs with log blocks need.
const LOGS: &str = "background_cleaning=false&persistence.map=pages&log.blocks=6&log.group=2\
                    &log.per_group=2&log.sequential=2&log.hot=1";

const DAY: u64 = 86_400_000_000_000;
const YEAR: u64 = 365 * DAY;

/// The length of a step of a wait, in nanoseconds, unless the drive is quiet for longer.
const STEP: u64 = 100_000_000;

/// Waits in steps, as measurements do. Returns the number of steps.
fn wait(drive: &mut Drive, until: Nanos) -> u64 {
    let mut steps = 0;
    while drive.now() < until {
        let (now, quiet) = (drive.now(), drive.quiet_until());
        let whole = (quiet.since(now).0 / STEP).max(1) * STEP;
        let next = if quiet >= until { until } else { until.min(now + Nanos(whole)) };
        assert_eq!(drive.complete(next), None);
        steps += 1;
    }
    steps
}

fn give(drive: &mut Drive, op: Op, offset: u64, len: u64) -> Completion {
    drive.submit(&request(op, offset, len, drive.now()));
    drive.complete(Nanos::MAX).expect("an IO in flight completes")
}

/// Opens a drive and overwrites it at random, which leaves background work. Returns `None` if the
/// drive is invalid.
fn used(spec: &str) -> Option<Drive> {
    let mut drive = flashscope_sim::open(spec).ok()?;
    let places = drive.info().capacity.0 / 4096;
    let mut random = fastrand::Rng::with_seed(5);
    for place in 0..places {
        give(&mut drive, Op::Write, place * 4096, 4096);
    }
    for _ in 0..2 * places {
        give(&mut drive, Op::Write, random.u64(..places) * 4096, 4096);
    }
    Some(drive)
}

/// The observable state of a drive, and the latencies of its next requests.
#[derive(Debug, PartialEq)]
struct State {
    counters: Counters,
    free: Vec<Vec<u32>>,
    erases: Vec<u32>,
    places: Vec<Option<Page>>,
    latencies: Vec<Nanos>,
}

fn state(mut drive: Drive) -> State {
    let pages = u32::try_from(drive.info().capacity.0 / 4096).expect("small");
    let members = drive.members();
    let counters = drive.counters();
    let free = members.iter().map(|one| one.free_blocks()).collect();
    let erases = members.iter().flat_map(|one| one.nand().erase_counts()).collect();
    let of_one = u32::try_from(members.len()).expect("few");
    let places = (0..pages / of_one).map(|lpn| members[0].locate(Lpn(lpn))).collect();
    let mut random = fastrand::Rng::with_seed(6);
    let latencies = (0..200).map(|nth| {
        let op = if nth % 3 == 0 { Op::Read } else { Op::Write };
        give(&mut drive, op, random.u64(..u64::from(pages)) * 4096, 4096).latency()
    });
    let latencies = latencies.collect();
    State { counters, free, erases, places, latencies }
}

/// Checks that a long idle gap takes few steps. It must leave the drive in the same state as a gap
/// that is just long enough for the background work. Returns false if the drive is invalid.
fn check(spec: &str) -> bool {
    let Some(mut drive) = used(spec) else { return false };
    let (start, before) = (drive.now(), drive.counters());
    let mut least = 0;
    while drive.quiet_until() < Nanos::MAX {
        least += 1;
        assert!(least < 100_000, "{spec}: it is never done");
        let next = drive.now() + Nanos(STEP);
        assert_eq!(drive.complete(next), None);
    }
    let enough = drive.now().since(start);
    let done = drive.counters().since(&before).flash;
    let commands = done.programs.total() + done.erases.total();
    assert!(enough < Nanos(DAY), "{spec}: {enough}");
    let least = state(drive);
    for gap in [enough, Nanos(DAY), Nanos(YEAR), Nanos(300 * YEAR)] {
        let mut drive = used(spec).expect("it worked");
        let until = drive.now() + gap;
        let steps = wait(&mut drive, until);
        assert!(steps <= commands + 8, "{spec}: {steps} steps, {commands} commands, over {gap}");
        assert_eq!(drive.now(), until);
        assert_eq!(state(drive), least, "{spec} after {gap}");
    }
    // A gap of a second may be too short for all background work, but takes few steps.
    let mut drive = used(spec).expect("it worked");
    let until = drive.now() + Nanos::secs(1);
    assert!(wait(&mut drive, until) <= 11, "{spec}");
    true
}

// An idle gap of up to 300 years takes no more steps than its background work needs, for every FTL,
// policy and buffer. It leaves the drive in the same state as a gap that was just long enough for
// that work.
#[test]
fn long_gaps_cost_no_more_than_short_ones() {
    let mut checked = 0;
    for ftl in ftl::KINDS {
        let (ftl, mapped) = (ftl.name, ftl.is_page_mapped());
        for cleaning in gc::KINDS.iter().filter(|kind| mapped || kind.name == "greedy") {
            for wear in wear::KINDS.iter().filter(|kind| mapped || kind.name == "none") {
                for buffer in cache::KINDS {
                    let more = if mapped { "map_cache.size=1KiB" } else { LOGS };
                    let spec = format!(
                        "{SMALL}&ftl={ftl}&{more}&cleaning.policy={}&wear.policy={}&cache.kind={}",
                        cleaning.name, wear.name, buffer.name
                    );
                    checked += u32::from(check(&spec));
                }
            }
        }
    }
    assert!(checked >= 200, "{checked}");
}

#[test]
fn long_gaps_cost_nothing_with_every_option() {
    for option in [
        "slc.share=0.1",
        "active_blocks=plane&cleaning.free_threshold=0.1&over_provisioning=0.5",
        "gang.packages=2",
        "gang.packages=2&gang.sharing=control",
        "interleaving=die",
        "flash.two_plane_commands=true",
        "timed=false",
        "cache.kind=lru&cache.batch=4&cache.protected=true",
        "cache.kind=lru&cache.read_ahead=8",
        "reliability.block_lifetime=20",
        "reliability.program_failures=0.002",
        "ftl=dftl&map_cache.size=256&map_cache.host_memory=512",
        "raid.drives=3",
        "raid.drives=2&cache.kind=bplru",
    ] {
        assert!(check(&format!("{SMALL}&{option}")), "{option} does not work");
    }
}

#[test]
fn commands_of_hours_are_awaited_in_few_steps() {
    let spec = format!("{SMALL}&flash.block_erase=5h&flash.page_program=1h&flash.page_read=30min");
    let mut drive = used(&spec).expect("it works");
    let before = drive.counters();
    let until = drive.now() + Nanos(50 * YEAR);
    let steps = wait(&mut drive, until);
    let done = drive.counters().since(&before).flash;
    let commands = done.programs.total() + done.erases.total();
    assert!(steps <= 2 * commands + 8, "{steps} steps, {commands} commands");
}

#[test]
fn many_long_gaps_cost_no_more_than_single_ones() {
    let smaller = "flash.blocks_per_plane=64";
    let profiles = setup::KINDS.iter().map(|kind| kind.name.to_string());
    let small = [format!("{SMALL}&raid.drives=4"), format!("{SMALL}&ftl=dftl&map_cache.size=1KiB")];
    for spec in profiles.chain(small) {
        let reduced = format!("{spec}?{smaller}");
        let spec = if flashscope_sim::open(&reduced).is_ok() { reduced } else { spec };
        let mut drive = flashscope_sim::open(&spec).expect("it works");
        let places = (drive.info().capacity.0 / 65536).min(4000);
        for place in 0..places {
            give(&mut drive, Op::Write, place * 65536, 65536);
        }
        let (mut steps, before) = (0, drive.counters());
        for nth in 0..500 {
            let until = drive.now() + Nanos(YEAR);
            steps += wait(&mut drive, until);
            give(&mut drive, Op::Write, nth % places * 65536, 65536);
        }
        let done = drive.counters().since(&before).flash;
        let commands = done.programs.total() + done.erases.total();
        assert!(steps <= 4 * 500 + commands, "{spec}: {steps} steps, {commands} commands");
    }
}

#[test]
fn time_ends_without_a_panic() {
    let slow = "flash.page_program=5000000h&flash.page_read=5000000h&flash.block_erase=5000000h";
    for spec in [SMALL.to_string(), format!("{SMALL}&cache.kind=lru"), format!("{SMALL}&{slow}")] {
        let mut drive = flashscope_sim::open(&spec).expect("it works");
        for at in [Nanos(0), Nanos(u64::MAX - 3), Nanos(u64::MAX - 1), Nanos::MAX, Nanos::MAX] {
            for (op, offset) in [(Op::Write, 0), (Op::Read, 0), (Op::Write, 8192), (Op::Trim, 0)] {
                drive.submit(&request(op, offset, 8192, at));
                assert!(drive.complete(Nanos::MAX).is_some(), "{spec}: {op:?} at {at:?}");
            }
            wait(&mut drive, Nanos(u64::MAX - 2));
        }
    }
}
