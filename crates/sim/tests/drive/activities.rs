//! Compares what observers report over time with the counters of the drive.

use std::collections::BTreeMap;

use flashscope_block::{Device, Nanos, Op};
use flashscope_sim::SimDevice;
use flashscope_sim::nand::{BlockId, ByCause, Interleaving, Lpn};
use flashscope_sim::observe::{
    Activities, ActivitiesReport, Activity, ActivityKind, Amplification, KINDS, Observer,
    Utilization, Watch, WearMap,
};
use flashscope_sim::setup::{Scope, Transfer};
use flashscope_sim::{Profile, ftl};

use crate::{drain, drive, one_pool, request, round_trip};

const PAGE: u64 = 4096;

/// A limit for [`Activities`] that no drive here reaches.
const ALL: usize = usize::MAX / 2;

/// Returns the profile of a small drive with this FTL.
fn small(ftl: &str) -> Profile {
    let mut profile = one_pool(64);
    profile.flash.pages_per_block = 16;
    profile.over_provisioning = 0.3;
    profile.ftl = ftl.into();
    profile.log.blocks = 6;
    profile.log.per_group = 4;
    profile.map_cache.size.0 = 1024;
    profile
}

/// Returns a drive of each FTL, and drives that differ in how they carry out commands.
fn profiles() -> Vec<(String, Profile)> {
    let mut profiles: Vec<_> =
        ftl::KINDS.iter().map(|kind| (kind.name.to_string(), small(kind.name))).collect();
    let mut with = |name: &str, change: fn(&mut Profile)| {
        let mut profile = Profile::default();
        profile.flash.packages = 2;
        profile.flash.blocks_per_plane = 8;
        profile.flash.pages_per_block = 16;
        profile.over_provisioning = 0.3;
        change(&mut profile);
        profiles.push((name.into(), profile));
    };
    with("background", |p| p.background_cleaning = true);
    with("span", |p| p.page_span = 2);
    with("small pages", |p| p.logical_page_size.0 = 1024);
    with("SLC", |p| p.slc.share = 0.1);
    with("pairs of planes, copy-back", |p| {
        p.interleaving = Interleaving::PlanePair;
        p.flash.two_plane_commands = true;
        p.active_blocks = Scope::Plane;
        p.cleaning.transfer = Transfer::CopyBack;
        p.over_provisioning = 0.5;
        p.cleaning.free_threshold = 0.25;
    });
    profiles
}

/// Issues random requests of up to 40 pages, with pauses. A third of them begin at a block
/// boundary.
fn work(drive: &mut SimDevice, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let pages = drive.info().capacity.0 / PAGE;
    for nth in 0..3 * pages {
        let page = random.u64(..pages);
        let page = if random.u32(..3) == 0 { page / 16 * 16 } else { page };
        let len = random.u64(1..=40).min(pages - page);
        let op = if nth % 5 == 4 { Op::Read } else { Op::Write };
        drive.submit(&request(op, page * PAGE, len * PAGE, drive.now()));
        if nth % 4 == 3 {
            drain(drive);
        }
        if nth % 64 == 63 {
            drive.idle_until(Nanos(drive.now().0 + 20_000_000));
        }
    }
    drain(drive);
}

/// Returns the kinds of activity that consist of commands with this cause.
fn kinds(cause: &str) -> &'static [ActivityKind] {
    use ActivityKind::{
        Cleaning, Folding, FullMerge, MappingRead, MappingWriteBack, PartialMerge, SwitchMerge,
        WearLevelling,
    };
    match cause {
        "host" => &[],
        "cleaning" => &[Cleaning],
        "switch merges" => &[SwitchMerge],
        "partial merges" => &[PartialMerge],
        "full merges" => &[FullMerge],
        "mapping" => &[MappingRead, MappingWriteBack],
        "folding" => &[Folding],
        "wear" => &[WearLevelling],
        other => panic!("{other}"),
    }
}

/// Asserts that, for each cause, the activities contain as many commands as the drive counted. `of`
/// returns the number of commands of an activity.
fn assert_counted(
    name: &str,
    found: &ActivitiesReport,
    counted: &ByCause,
    of: fn(&Activity) -> u32,
) {
    for (cause, count) in counted.entries().into_iter().filter(|(cause, _)| *cause != "host") {
        let pieces = found.longest.iter().filter(|piece| kinds(cause).contains(&piece.kind));
        let sum: u64 = pieces.map(|piece| u64::from(of(piece))).sum();
        assert_eq!(sum, count, "{name}: {cause}");
    }
}

#[test]
fn every_background_command_belongs_to_one_activity() {
    let mut merges = [0; 3];
    for (name, profile) in profiles() {
        let mut drive = drive(&profile);
        let activities = drive.observe(Activities::with_most(&drive, ALL));
        work(&mut drive, 5);
        let found = activities.lock().report(drive.now());
        let flash = drive.counters().flash;
        let mut reads = flash.reads;
        // A write of part of a page reads the other parts of the page for the host.
        reads.host = 0;
        assert_counted(&name, &found, &reads, |piece| piece.pages_read);
        assert_counted(&name, &found, &flash.programs, |piece| piece.pages_programmed);
        assert_counted(&name, &found, &flash.erases, |piece| piece.blocks_erased);
        assert_eq!((found.total, found.left_out), (found.longest.len() as u64, 0), "{name}");
        assert!(found.total > 20, "{name}: {}", found.total);
        let count = |kind| found.longest.iter().filter(|p| p.kind == kind).count() as u64;
        let full = |p: &&Activity| p.kind == ActivityKind::FullMerge && p.pages_programmed > 0;
        let full = found.longest.iter().filter(full).count() as u64;
        assert_eq!(full, flash.events.full_merges, "{name}");
        // LAST copies pages ahead of their merge. Each copy is a separate activity, which the
        // counter of merges does not include.
        let partial = count(ActivityKind::PartialMerge);
        let ahead = partial - flash.events.partial_merges;
        assert_eq!(ahead > 0, name == "last", "{name}: {ahead}");
        // A switch merge that makes the first data block of its logical block needs no command.
        let switch = count(ActivityKind::SwitchMerge);
        assert_eq!(switch, flash.erases.switch_merge, "{name}");
        assert!(switch <= flash.events.switch_merges, "{name}");
        for (all, found) in merges.iter_mut().zip([switch, flash.events.partial_merges, full]) {
            *all += found;
        }
        for piece in &found.longest {
            assert!(piece.start_ns < piece.end_ns, "{name}: {piece:?}");
            let unit = drive.nand().units();
            assert!(piece.unit < unit && piece.block < drive.nand().geometry().blocks());
        }
        let counted: u64 = found.count_by_bucket.values().flatten().sum();
        assert!(counted <= found.total && counted + 40 > found.total, "{name}: {counted}");
    }
    assert!(merges.iter().all(|count| *count > 100), "{merges:?}");
}

#[test]
fn a_collection_lasts_from_first_read_to_end_of_erase() {
    let mut drive = drive(&small("page-map"));
    let activities = drive.observe(Activities::with_most(&drive, ALL));
    let mut random = fastrand::Rng::with_seed(2);
    let pages = drive.info().capacity.0 / PAGE;
    let (mut cleaned, mut erases) = (0, drive.nand().erase_counts().collect::<Vec<_>>());
    while cleaned < 50 {
        let before = drive.counters();
        let start = drive.now();
        let done = round_trip(&mut drive, Op::Write, random.u64(..pages) * PAGE, PAGE);
        let flash = drive.counters().since(&before).flash;
        if flash.erases.cleaning != 1 {
            continue;
        }
        cleaned += 1;
        let now: Vec<u32> = drive.nand().erase_counts().collect();
        let victim = erases.iter().zip(&now).position(|(then, now)| then != now);
        erases = now;
        let report = activities.lock().report(drive.now());
        let last = report.longest.iter().rfind(|p| p.kind == ActivityKind::Cleaning);
        let last = last.expect("a garbage collection");
        assert_eq!(Some(last.block as usize), victim);
        assert_eq!(u64::from(last.pages_read), flash.reads.cleaning);
        assert_eq!(u64::from(last.pages_programmed), flash.programs.cleaning);
        assert!(last.start_ns >= start && last.end_ns <= done.completed, "{last:?} {done:?}");
        let took = flash.reads.cleaning * 130_600 + flash.programs.cleaning * 305_600 + 1_500_000;
        assert_eq!(last.length(), Nanos(took));
    }
}

// The activity of a BAST merge names the merged log block, and overlaps with the write that waits
// for it.
#[test]
fn a_merge_is_about_its_log_block() {
    let mut profile = small("bast");
    profile.log.blocks = 2;
    let mut drive = drive(&profile);
    let pages = drive.info().capacity.0 / PAGE;
    for page in 0..pages {
        round_trip(&mut drive, Op::Write, page * PAGE, PAGE);
    }
    let activities = drive.observe(Activities::with_most(&drive, ALL));
    let begin = drive.now();
    // Writes a page out of order to each of two data blocks, and then to a third data block. For
    // this write, the log block of the first data block is merged.
    let mut logs = Vec::new();
    for block in [3, 9] {
        round_trip(&mut drive, Op::Write, (16 * block + 7) * PAGE, PAGE);
        let page = Lpn(u32::try_from(16 * block + 7).expect("small"));
        logs.push(drive.locate(page).expect("written").block);
    }
    let before: Vec<_> = activities.lock().report(drive.now()).longest;
    let slow = round_trip(&mut drive, Op::Write, (16 * 20 + 7) * PAGE, PAGE);
    let after = activities.lock().report(drive.now()).longest;
    let new: Vec<&Activity> = after.iter().filter(|piece| !before.contains(piece)).collect();
    let [merge] = new[..] else { panic!("{new:?}") };
    assert_eq!((merge.kind, BlockId(merge.block)), (ActivityKind::FullMerge, logs[0]));
    assert_eq!((merge.pages_read, merge.pages_programmed, merge.blocks_erased), (16, 16, 2));
    assert!(begin + merge.start_ns < slow.completed && begin + merge.end_ns > slow.submitted);
    assert!(merge.length().0 * 10 > slow.latency().0 * 9, "{merge:?} {slow:?}");
}

fn added(series: &BTreeMap<String, Vec<u64>>) -> BTreeMap<String, u64> {
    series.iter().map(|(cause, counts)| (cause.clone(), counts.iter().sum())).collect()
}

fn counted(counts: &ByCause) -> BTreeMap<String, u64> {
    let named = counts.entries().into_iter().map(|(name, count)| (name.to_string(), count));
    named.filter(|(_, count)| *count > 0).collect()
}

#[test]
fn series_and_wear_map_add_up_to_the_counters() {
    for (name, profile) in profiles() {
        let mut drive = drive(&profile);
        let amplification = drive.observe(Amplification::new(&drive));
        let utilization = drive.observe(Utilization::new(&drive));
        let wear = drive.observe(WearMap::new(&drive));
        let few = drive.observe(WearMap::with_cells(&drive, 7));
        work(&mut drive, 6);
        let (now, before) = (drive.now(), drive.counters().flash);
        amplification.lock().restart(now);
        utilization.lock().restart(now);
        wear.lock().restart(now);
        few.lock().restart(now);
        work(&mut drive, 7);
        let flash = drive.counters().flash.since(&before);
        let found = amplification.lock().report(drive.now());
        assert_eq!(found.from_ns, now, "{name}");
        assert_eq!(added(&found.programs), counted(&flash.programs), "{name}");
        assert_eq!(added(&found.reads), counted(&flash.reads), "{name}");
        assert_eq!(added(&found.erases), counted(&flash.erases), "{name}");
        let buckets = found.programs["host"].len();
        assert!((100..=256).contains(&buckets), "{name}: {buckets}");

        let found = utilization.lock().report(drive.now());
        for unit in &found.units {
            assert_eq!(unit.busy_by_bucket_ns.iter().sum::<u64>(), unit.busy_ns.0, "{name}");
            let most = unit.busy_by_bucket_ns.iter().max();
            assert!(most.is_some_and(|most| *most <= found.bucket_ns.0), "{name}");
        }

        let (map, few) = (wear.lock().report(now), few.lock().report(now));
        assert_eq!(map.blocks_per_cell, 1, "{name}");
        let counts: Vec<u64> = drive.nand().erase_counts().map(u64::from).collect();
        let since_new: Vec<u64> =
            map.units.iter().flat_map(|unit| unit.erases_since_new.clone()).collect();
        assert_eq!(since_new, counts, "{name}");
        let span = u64::from(profile.page_span);
        let erases = map.units.iter().flat_map(|unit| &unit.erases).sum::<u64>() * span;
        assert_eq!(erases, flash.erases.total(), "{name}");
        assert!(few.blocks_per_cell > 1);
        for (one, several) in map.units.iter().zip(&few.units) {
            assert_eq!(
                (one.unit, one.first_block, one.blocks),
                (several.unit, several.first_block, several.blocks)
            );
            let cells = one.erases_since_new.chunks(few.blocks_per_cell as usize);
            let sums: Vec<u64> = cells.clone().map(|cell| cell.iter().sum()).collect();
            let most: Option<Vec<u64>> = cells.map(|cell| cell.iter().max().copied()).collect();
            assert_eq!((&several.erases_since_new, &several.most_since_new), (&sums, &most));
        }
    }
}

#[test]
fn a_measurement_includes_work_in_progress_at_its_begin() {
    let mut drive = drive(&small("page-map"));
    let activities = drive.observe(Activities::with_most(&drive, ALL));
    work(&mut drive, 8);
    let all = activities.lock().report(drive.now()).longest;
    let middle = all[all.len() / 2];
    let now = Nanos(middle.start_ns.0 + middle.length().0 / 2);
    activities.lock().restart(now);
    let found = activities.lock().report(drive.now());
    let later: Vec<&Activity> = all.iter().filter(|piece| piece.end_ns > now).collect();
    assert!(later.len() > 5 && later.len() < all.len());
    assert_eq!((found.longest.len(), found.total), (later.len(), later.len() as u64));
    assert_eq!(found.longest[0].start_ns, Nanos(0));
    for (found, before) in found.longest.iter().zip(later) {
        assert_eq!(found.end_ns, before.end_ns - now);
        assert_eq!(found.pages_programmed, before.pages_programmed);
    }
}

#[test]
fn observers_resumed_in_time_miss_nothing() {
    let mut under_way = 0;
    for (name, profile) in profiles() {
        let found = |looks_from: u64| {
            let mut drive = drive(&profile);
            let mut watch = Watch::default();
            // The observer `activities` keeps a limited number of activities: those before the
            // measurement would change its report.
            let kinds = KINDS.iter().filter(|kind| kind.name != "activities");
            kinds.for_each(|kind| _ = watch.add(kind.name, &mut drive));
            let activities = drive.observe(Activities::with_most(&drive, ALL));
            let switch = drive.observer_switch();
            for step in 0..4 {
                switch.set(step >= looks_from);
                work(&mut drive, step);
            }
            // Requests are in flight when the measurement begins.
            let capacity = drive.info().capacity.0;
            for nth in 0..8 {
                let page = nth * 37 % (capacity / PAGE - 40);
                drive.submit(&request(Op::Write, page * PAGE, 40 * PAGE, drive.now()));
            }
            let begins = drive.now() + Nanos::millis(2);
            drive.observer_switch().restart(begins);
            drain(&mut drive);
            work(&mut drive, 99);
            let now = drive.now();
            let activities = activities.lock().report(now);
            (watch.report(now), activities, drive.counters(), drive.free_blocks(), now)
        };
        let expected = found(0);
        assert!(expected.1.total > 20, "{name}");
        under_way += usize::from(expected.1.longest[0].start_ns == Nanos(0));
        assert!(found(3) == expected, "{name}");
    }
    assert!(under_way > 5, "{under_way}");
}

#[test]
fn switched_off_observers_record_nothing() {
    for (name, profile) in profiles() {
        let mut drive = drive(&profile);
        let mut watch = Watch::default();
        watch.add_all(&mut drive);
        work(&mut drive, 1);
        let (now, before) = (drive.now(), watch.report(drive.now()));
        drive.observer_switch().set(false);
        work(&mut drive, 2);
        assert_eq!(watch.report(now), before, "{name}");
        drive.observer_switch().set(true);
        let mut fresh = Watch::default();
        fresh.add_all(&mut drive);
        work(&mut drive, 3);
        let (seen, expected) = (watch.report(drive.now()), fresh.report(drive.now()));
        assert_eq!(seen, expected, "{name}");
    }
}
