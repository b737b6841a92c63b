use flashscope_block::{Device, Nanos, Op};
use flashscope_sim::nand::{BlockId, Lpn};
use flashscope_sim::setup::MapMemory;
use flashscope_sim::{Profile, SimDevice, ftl};

use super::life::{Life, Story, compare_with_another};
use crate::{drive, one_pool, request, round_trip};

/// Returns the bytes that describe a random life.
pub(crate) fn script(seed: u64, len: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut bytes = vec![0; len];
    random.fill(&mut bytes);
    bytes
}

/// Returns the lives of many drives with an FTL.
fn lives(ftl: &ftl::Kind, seeds: std::ops::Range<u64>, len: usize) -> Vec<Story> {
    let live = |seed| Some(Life::on(ftl, &script(seed, len))?.live());
    seeds.filter_map(live).collect()
}

// Requests, power cuts, failures and wear in any order never make a drive panic, hang or lose a
// page, and it continues to work.
#[test]
fn no_life_loses_a_page() {
    for ftl in ftl::KINDS {
        no_life_loses_a_page_on(ftl);
    }
}

fn no_life_loses_a_page_on(ftl: &ftl::Kind) {
    let stories = lives(ftl, 0..350, 3000);
    let sum = |count: fn(&Story) -> usize| stories.iter().map(count).sum::<usize>();
    assert!(stories.len() > 50, "most drives were refused");
    assert!(sum(|story| story.recoveries.len()) > 4000);
    assert!(sum(|story| story.cuts_in_flight) > 1200);
    let worn_out = stories.iter().filter(|story| story.refused_writes > 0).count();
    assert!(worn_out > 2, "{worn_out} drives wore out");
    let busy = stories.iter().filter(|story| story.counters.flash.erases.total() > 20).count();
    assert!(busy > 40, "{busy} drives erased blocks");
}

// The same holds with queued commands, for every policy: a power cut loses no acknowledged data,
// whether commands wait, run or are suspended at that time.
#[test]
fn no_life_loses_a_page_by_any_policy() {
    for policy in flashscope_sim::sched::KINDS {
        for ftl in ftl::KINDS {
            no_life_loses_a_page_in_queues(ftl, policy.name);
        }
    }
}

fn no_life_loses_a_page_in_queues(ftl: &ftl::Kind, policy: &str) {
    let live = |seed| Some(Life::queued(ftl, policy, &script(seed, 3000))?.live());
    let stories: Vec<Story> = (0..90).filter_map(live).collect();
    let sum = |count: fn(&Story) -> usize| stories.iter().map(count).sum::<usize>();
    let name = format!("{} by {policy}", ftl.name);
    assert!(stories.len() > 15, "{name}: most drives were refused");
    assert!(sum(|story| story.recoveries.len()) > 700, "{name}");
    assert!(sum(|story| story.cuts_in_flight) > 150, "{name}");
    let busy = stories.iter().filter(|story| story.counters.flash.erases.total() > 20).count();
    assert!(busy > 5, "{name}: {busy} drives erased blocks");
}

// The inputs that once broke a drive are harmless, for each FTL. Inputs named by their hash cover
// more code and may describe no valid drive: only scripts/test-fuzz replays them.
#[test]
fn the_corpus_is_lived_through() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/drive");
    let files = std::fs::read_dir(folder).expect("the corpus is there");
    let files = files.map(|file| file.expect("a file").path());
    let broke = |path: &std::path::PathBuf| path.file_name().is_some_and(|name| name.len() != 40);
    let lives = files.filter(broke).map(|path| {
        let bytes = std::fs::read(path).expect("it can be read");
        let lived = |ftl| Some(Life::on(ftl, &bytes)?.live());
        assert!(ftl::KINDS.iter().filter_map(lived).count() > 0, "no drive works");
    });
    assert!(lives.count() > 5);
}

#[test]
fn interleaved_lives_do_not_affect_each_other() {
    let scripts: Vec<_> = (0..40).map(|seed| script(seed, 1500)).collect();
    let scripts: Vec<_> = scripts.iter().filter(|bytes| Life::new(bytes).is_some()).collect();
    let life = |bytes: &'static [u8]| Life::new(bytes).expect("it works");
    assert!(scripts.len() > 4);
    for pair in scripts.windows(2) {
        let [a, b] = [pair[0], pair[1]].map(|bytes| &*bytes.clone().leak());
        let alone = (life(a).live(), life(b).live());
        let (mut first, mut second) = (life(a), life(b));
        while first.step() | second.step() {}
        assert_eq!((first.finish(), second.finish()), alone);
    }
}

fn two_packages() -> SimDevice {
    let mut profile = Profile::default();
    profile.flash.packages = 2;
    profile.flash.dies_per_package = 1;
    profile.flash.planes_per_die = 1;
    profile.flash.blocks_per_plane = 8;
    profile.flash.pages_per_block = 4;
    profile.over_provisioning = 0.5;
    profile.cleaning.free_threshold = 0.25;
    let mut drive = drive(&profile);
    drive.expect_power_cuts();
    drive
}

// Recovery takes exactly the time of its reads. The first package reads the summary of its full
// block, then the metadata of the page in its open block. Meanwhile the second package reads the
// metadata of its two pages.
#[test]
fn recovery_takes_its_reads() {
    let mut drive = two_packages();
    // Pages go to the packages in turn. A block holds three data pages and a summary.
    for page in [0, 2, 4, 6, 1, 3] {
        round_trip(&mut drive, Op::Write, page * 4096, 4096);
    }
    drive.idle_until(drive.now() + Nanos::secs(1));
    let cut = drive.now();
    let recovery = drive.cut_power().expect("it recovers");
    let (summary, page) = (25_000 + 528 * 25, 25_000 + 128 * 25);
    let expected = (summary + page).max(2 * page);
    assert_eq!((recovery.pages_read, recovery.done), (4, Nanos(cut.0 + expected)));
    assert_eq!(drive.now(), recovery.done);
}

#[test]
fn a_map_that_survives_a_power_cut_needs_no_reads() {
    let mut drive = drive(&one_pool(64));
    drive.expect_power_cuts();
    round_trip(&mut drive, Op::Write, 0, 4096);
    let (cut, stamp) = (drive.now(), drive.stamp(Lpn(0)));
    let recovery = drive.cut_power().expect("it recovers");
    assert_eq!((recovery.pages_read, recovery.done), (0, cut));
    assert_eq!(drive.stamp(Lpn(0)), stamp);
}

#[test]
#[should_panic(expected = "page 0 came back as")]
fn losing_an_acknowledged_write_is_detected() {
    compare_with_another(&mut two_packages(), &mut two_packages());
}

/// Returns a filled drive with log blocks, whose only pool spans four packages. Requests of at
/// least `long` bytes count as long.
fn four_packages(ftl: &str, long: u64) -> SimDevice {
    let mut profile = Profile::default();
    profile.flash.packages = 4;
    profile.packages_per_pool = 4;
    profile.flash.dies_per_package = 1;
    profile.flash.planes_per_die = 1;
    profile.flash.blocks_per_plane = 6;
    profile.flash.pages_per_block = 4;
    profile.persistence.map = MapMemory::Pages;
    profile.over_provisioning = 5.0 / 24.0;
    profile.ftl = ftl.into();
    (profile.log.blocks, profile.log.per_group) = (4, 2);
    (profile.log.sequential, profile.log.hot) = (2, 1);
    profile.log.sequential_request.0 = long;
    let mut drive = drive(&profile);
    drive.expect_power_cuts();
    for page in (0..19 * 4).chain(0..19 * 4) {
        round_trip(&mut drive, Op::Write, page * 4096, 4096);
    }
    drive
}

/// Returns the stamps of all pages of the drive of [`four_packages`].
fn stamps(drive: &SimDevice) -> Vec<u32> {
    (0..19 * 4).map(|page| drive.stamp(Lpn(page)).expect("every page was written")).collect()
}

// A power cut at any time during many merges, submitted at once for blocks on several packages,
// leaves every page in its old or new version, and the drive continues to work.
#[test]
fn merges_of_many_packages_survive_cuts_at_any_time() {
    let kinds = ftl::KINDS.iter().filter(|kind| !kind.trims()).map(|kind| (kind, 8192));
    // If a single page counts as a long write, the FTL first copies the pages before it.
    let long = ftl::KINDS.iter().filter(|kind| kind.name == "last").map(|kind| (kind, 4096));
    for (kind, long) in kinds.chain(long) {
        let mut merges = 0;
        for cut in 0..160 {
            let mut drive = four_packages(kind.name, long);
            let (before, start) = (stamps(&drive), drive.now());
            for nth in 0..16 {
                let page = nth * 7 % 19 * 4 + nth % 3 + 1;
                drive.submit(&request(Op::Write, page * 4096, 4096, start));
            }
            let after = stamps(&drive);
            merges += drive.counters().flash.erases.total();
            let _ = std::iter::from_fn(|| drive.complete(Nanos(start.0 + cut * 400_000))).count();
            drive.cut_power().expect("it recovers");
            for ((found, before), after) in stamps(&drive).iter().zip(&before).zip(&after) {
                assert!(found == before || found == after, "{} cut at {cut}", kind.name);
            }
            for nth in 0..60 {
                round_trip(&mut drive, Op::Write, nth * 29 % 76 * 4096, 4096);
            }
            let blocks = (0..24).map(BlockId);
            let used = blocks.filter(|block| drive.nand().written(*block) > 0).count();
            assert_eq!(used + drive.free_blocks()[0] as usize, 24, "{} cut at {cut}", kind.name);
        }
        assert!(merges > 16 * 160, "{}: {merges} erases", kind.name);
    }
}
