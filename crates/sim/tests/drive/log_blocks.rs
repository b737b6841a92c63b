//! FTLs with log blocks: the kinds of merges, their cost and their time.

use flashscope_block::{Device, Nanos, Op};
use flashscope_sim::ftl;
use flashscope_sim::nand::{BlockId, ByCause, FlashCounters};
use flashscope_sim::setup::{Eviction, Merge};
use flashscope_sim::{Profile, SimDevice};

use crate::{drive, one_pool, round_trip};

pub(crate) const PAGE: u64 = 4096;
pub(crate) const PAGES: u64 = 64;

/// Times to read and to program a page, and to erase a block, in nanoseconds.
pub(crate) const READ: u64 = 130_600;
pub(crate) const WRITE: u64 = 305_600;
pub(crate) const ERASE: u64 = 1_500_000;

/// Returns the profile of a drive of one pool with 64 data blocks and `logs` log blocks.
pub(crate) fn profile(ftl: &str, logs: u32) -> Profile {
    let mut profile = one_pool(64 + logs + 1);
    profile.over_provisioning = f64::from(logs + 1) / f64::from(64 + logs + 1);
    profile.ftl = ftl.into();
    profile.log.blocks = logs;
    profile.log.per_group = profile.log.per_group.min(logs);
    profile
}

/// Returns a drive on which every page was written in order, twice. Every data block then exists,
/// even if the last log blocks are not merged yet.
pub(crate) fn filled(profile: &Profile) -> SimDevice {
    let mut drive = drive(profile);
    assert_eq!(drive.info().capacity.0, 64 * PAGES * PAGE);
    for block in (0..64).chain(0..64) {
        round_trip(&mut drive, Op::Write, block * PAGES * PAGE, PAGES * PAGE);
    }
    drive
}

/// Writes `pages` pages from `page` on. Returns the time that it takes, and the flash commands.
pub(crate) fn write(drive: &mut SimDevice, page: u64, pages: u64) -> (u64, FlashCounters) {
    let (start, before) = (drive.now(), drive.counters());
    let done = round_trip(drive, Op::Write, page * PAGE, pages * PAGE);
    ((done.completed - start).0, drive.counters().since(&before).flash)
}

pub(crate) fn merges(flash: &FlashCounters) -> [u64; 3] {
    let events = flash.events;
    [events.switch_merges, events.partial_merges, events.full_merges]
}

/// Writes up to a block and a half at random positions, more often near the front, `count` times.
fn random_writes(drive: &mut SimDevice, count: u32) -> FlashCounters {
    let (mut random, before) = (fastrand::Rng::with_seed(3), drive.counters());
    for _ in 0..count {
        let limit = if random.bool() { 64 * PAGES } else { 6 * PAGES };
        let page = random.u64(..limit);
        let page = if random.u32(..3) == 0 { page / PAGES * PAGES } else { page };
        let len = random.u64(1..=96).min(64 * PAGES - page);
        write(drive, page, len);
    }
    drive.counters().since(&before).flash
}

// Every moved page is read and programmed once, and only merges move pages. At the end, each block
// is in use or free, and each logical page has one valid copy.
#[test]
fn pages_and_blocks_are_conserved() {
    for kind in ftl::KINDS.iter().filter(|kind| !kind.trims()) {
        let mut drive = filled(&profile(kind.name, 6));
        let flash = random_writes(&mut drive, 2000);
        let ByCause { host, .. } = flash.programs;
        assert_eq!(flash.reads.total(), flash.programs.total() - host, "{}", kind.name);
        assert_eq!(flash.reads.host, 0);
        let in_use = |drive: &SimDevice| {
            let blocks = (0..drive.nand().geometry().blocks()).map(BlockId);
            blocks.filter(|block| drive.nand().written(*block) > 0).count()
        };
        assert_eq!(in_use(&drive) + drive.free_blocks()[0] as usize, 64 + 6 + 1);
        let pages: u32 = (0..71).map(|block| drive.nand().valid(BlockId(block))).sum();
        assert_eq!(u64::from(pages), 64 * PAGES, "{}", kind.name);
    }
}

// If each log block serves a single data block, a switch or partial merge erases one block, and a
// full merge two.
#[test]
fn erases_follow_from_merges() {
    for name in ["bast", "block-map"] {
        for merge in [Merge::Eager, Merge::Lazy] {
            for eviction in [Eviction::Fifo, Eviction::Lru, Eviction::Random] {
                let mut profile = profile(name, 6);
                (profile.log.merge, profile.log.eviction) = (merge, eviction);
                let flash = random_writes(&mut filled(&profile), 1500);
                let [switch, partial, full] = merges(&flash);
                assert!(switch > 50 && partial > 50 && full > 50, "{name}: {flash:?}");
                let erases = flash.erases;
                assert_eq!(erases.total(), switch + partial + 2 * full, "{name}");
                assert_eq!(erases.switch_merge, switch);
                assert_eq!(erases.partial_merge, partial);
                assert_eq!(erases.full_merge, 2 * full);
            }
        }
    }
}

// With FAST, a switch or partial merge erases one block. Merging a random log block erases one
// block more than it writes data blocks.
#[test]
fn erases_of_fast_follow_from_merges() {
    for merge in [Merge::Eager, Merge::Lazy] {
        let mut profile = profile("fast", 6);
        profile.log.merge = merge;
        let flash = random_writes(&mut filled(&profile), 1500);
        let [switch, partial, full] = merges(&flash);
        assert!(switch > 50 && partial > 50 && full > 50, "{flash:?}");
        assert_eq!(flash.erases.switch_merge, switch);
        assert_eq!(flash.erases.partial_merge, partial);
        assert_eq!(flash.erases.full_merge, full + flash.events.log_evictions);
    }
}

// FAST sends a write to the first page of a data block, and the writes that follow it, to the
// sequential log block. This block is merged when another such write begins. All other writes go to
// the ring, which costs nothing until it is full.
#[test]
fn fast_separates_sequential_from_random_writes() {
    let mut drive = filled(&profile("fast", 3));
    assert_eq!(write(&mut drive, 5 * PAGES, PAGES).0, PAGES * WRITE + ERASE);
    let of = |drive: &SimDevice, page| {
        drive.locate(flashscope_sim::nand::Lpn(page)).expect("written").block
    };
    write(&mut drive, 0, 10);
    write(&mut drive, 10, 1);
    assert_eq!(of(&drive, 0), of(&drive, 10));
    for nth in 0..2 * PAGES {
        assert_eq!(write(&mut drive, (nth % 60 + 2) * PAGES + 12, 1).0, WRITE);
    }
    let (time, flash) = write(&mut drive, 7 * PAGES, 1);
    assert_eq!((time, merges(&flash)), (53 * (READ + WRITE) + ERASE + WRITE, [0, 1, 0]));
    // All pages of the oldest block of the ring were rewritten in the next block.
    let (time, flash) = write(&mut drive, 20 * PAGES + 12, 1);
    assert_eq!((time, merges(&flash)), (ERASE + WRITE, [0, 0, 0]));
}

// For the same page written repeatedly, the merge of 64 pages and two blocks comes with the 64th
// write, or with the 65th if merges are lazy. Times are exact to the nanosecond.
#[test]
fn every_64th_write_pays_for_a_merge() {
    for (merge, dear) in [(Merge::Eager, 63), (Merge::Lazy, 64)] {
        let mut profile = profile("bast", 3);
        profile.log.merge = merge;
        let mut drive = filled(&profile);
        // With lazy merges, the log blocks of the fill are not merged yet.
        for _ in 0..PAGES {
            write(&mut drive, 5, 1);
        }
        for nth in PAGES..4 * PAGES {
            let full = nth % PAGES == dear % PAGES;
            let merge = if full { PAGES * (READ + WRITE) + 2 * ERASE } else { 0 };
            let (time, flash) = write(&mut drive, 5, 1);
            assert_eq!(time, WRITE + merge, "write {nth}");
            assert_eq!(merges(&flash), [0, 0, u64::from(full)]);
        }
    }
}

// A block written completely and in order costs only an erase. A block written up to the middle
// costs the copies of its other pages when its log block is evicted. A block written from the
// second page on costs copies of all pages.
#[test]
fn order_decides_which_merge_it_is() {
    let mut drive = filled(&profile("bast", 1));
    let (time, flash) = write(&mut drive, 0, PAGES);
    assert_eq!((time, merges(&flash)), (PAGES * WRITE + ERASE, [1, 0, 0]));
    write(&mut drive, 2 * PAGES, 24);
    let (time, flash) = write(&mut drive, 3 * PAGES + 1, 1);
    assert_eq!((time, merges(&flash)), (40 * (READ + WRITE) + ERASE + WRITE, [0, 1, 0]));
    let (time, flash) = write(&mut drive, 4 * PAGES, 1);
    assert_eq!((time, merges(&flash)), (64 * (READ + WRITE) + 2 * ERASE + WRITE, [0, 0, 1]));
}

// A log block with a limit of 8 unordered pages accepts a complete block in order. It is merged
// with the 8th page of a block written backwards. After more than 8 pages in order, it is merged
// with the next page out of order.
#[test]
fn few_pages_are_taken_out_of_order() {
    let mut profile = profile("bast", 4);
    profile.log.unordered = 8;
    let mut drive = filled(&profile);
    let full = [0, 0, 1];
    let (_, flash) = write(&mut drive, 0, PAGES);
    assert_eq!(merges(&flash), [1, 0, 0]);
    for page in (0..PAGES).rev() {
        let (_, flash) = write(&mut drive, PAGES + page, 1);
        assert_eq!(merges(&flash), if page % 8 == 0 { full } else { [0; 3] }, "{page}");
    }
    assert_eq!(merges(&write(&mut drive, 2 * PAGES, 20).1), [0; 3]);
    assert_eq!(merges(&write(&mut drive, 2 * PAGES, 1).1), [0, 1, 0]);
}

// Pages that were never written are not copied by a merge.
#[test]
fn pages_never_written_are_not_merged() {
    for name in ["bast", "block-map"] {
        let mut drive = drive(&profile(name, 1));
        for page in [9, 3, 40] {
            write(&mut drive, page, 1);
        }
        let (_, flash) = write(&mut drive, PAGES, 1);
        let moved = flash.programs.full_merge;
        assert_eq!((moved, flash.reads.full_merge), (3, 3));
        let block = drive.locate(flashscope_sim::nand::Lpn(3)).expect("written").block;
        assert_eq!((drive.nand().valid(block), drive.nand().written(block) > 3), (3, true));
    }
}

// A block-mapped drive does not merge while writes go forward within a block, and merges before a
// write that goes back.
#[test]
fn replacement_blocks_take_forward_writes() {
    let mut drive = filled(&profile("block-map", 2));
    for page in [1, 2, 7, 40] {
        assert_eq!(write(&mut drive, page, 1).0, WRITE, "page {page}");
    }
    let (time, flash) = write(&mut drive, 40, 1);
    assert_eq!((time, merges(&flash)), (64 * (READ + WRITE) + 2 * ERASE + WRITE, [0, 0, 1]));
}

// With groups of one data block and one log block, n-k carries out the same commands as bast.
#[test]
fn one_to_one_is_bast() {
    for merge in [Merge::Eager, Merge::Lazy] {
        let run = |name: &str| {
            let mut profile = profile(name, 5);
            profile.log.merge = merge;
            (profile.log.group, profile.log.per_group) = (1, 1);
            let mut drive = filled(&profile);
            (random_writes(&mut drive, 800), drive.now())
        };
        assert_eq!(run("n-k"), run("bast"));
    }
}

// Data blocks that share log blocks need no merge for writes to a few of their pages in turn. If
// each log block serves a single data block, every such write costs a merge.
#[test]
fn shared_log_blocks_take_turns() {
    let full_merges = |name| {
        let mut profile = profile(name, 2);
        (profile.log.group, profile.log.per_group) = (4, 2);
        let mut drive = filled(&profile);
        let mut turns = |count: u64| {
            let before = drive.counters();
            for nth in 0..count {
                write(&mut drive, nth % 4 * PAGES + 9, 1);
            }
            drive.counters().since(&before).flash
        };
        turns(4 * PAGES);
        merges(&turns(10 * PAGES))[2]
    };
    assert_eq!((full_merges("n-k"), full_merges("bast")), (0, 10 * PAGES));
}

// If the host rewrites one page of a superblock, each filled block costs one erase and one move:
// the victim holds a single valid page. The pages of a logical block may be in several blocks.
#[test]
fn a_superblock_cleans_what_is_least_valid() {
    let mut profile = profile("superblock", 2);
    (profile.log.group, profile.log.per_group) = (2, 1);
    let mut drive = filled(&profile);
    for _ in 0..4 * PAGES {
        write(&mut drive, 5, 1);
    }
    let (start, before) = (drive.now(), drive.counters());
    for _ in 0..10 * PAGES {
        write(&mut drive, 5, 1);
    }
    let flash = drive.counters().since(&before).flash;
    assert_eq!((flash.erases.cleaning, flash.programs.cleaning), (10, 10));
    assert_eq!((drive.now() - start).0, 10 * (PAGES * WRITE + READ + WRITE + ERASE));
    let block = |page| drive.locate(flashscope_sim::nand::Lpn(page)).expect("written").block;
    assert!(block(5) != block(6) && block(6) == block(7));
}

// A refused trim loses no data.
#[test]
fn trims_are_refused() {
    let mut drive = filled(&profile("bast", 2));
    drive.submit(&crate::request(Op::Trim, 0, PAGE, drive.now()));
    let done = drive.complete(Nanos::MAX).expect("it is answered");
    assert_eq!(done.result, Err(flashscope_block::Errno::EOPNOTSUPP));
    assert!(drive.locate(flashscope_sim::nand::Lpn(0)).is_some());
    assert_eq!(drive.counters().host_pages_trimmed, 0);
}

// Sun and Zhang's experiment (section 4.3, Table 2): m writes go to m different data blocks, round
// after round. With m log blocks, only writes to full log blocks wait for a merge. With one log
// block less, every write waits.
#[test]
fn the_log_list_shows_as_a_step() {
    for eviction in [Eviction::Fifo, Eviction::Lru] {
        for logs in [3, 4, 9] {
            for writes in [u64::from(logs), u64::from(logs) + 1] {
                let mut profile = profile("bast", logs);
                profile.log.eviction = eviction;
                let mut drive = filled(&profile);
                let mut times = |round: u64| -> Vec<u64> {
                    (0..writes)
                        .map(|nth| write(&mut drive, nth * PAGES + 7 * round % 61 + 1, 1).0)
                        .collect()
                };
                times(0);
                let merge = 64 * (READ + WRITE) + 2 * ERASE;
                let expected = if writes > logs.into() { merge + WRITE } else { WRITE };
                for round in 1..50 {
                    assert!(
                        times(round).iter().all(|time| *time == expected),
                        "{logs} logs, {writes}"
                    );
                }
            }
        }
    }
}

// A pool begins no other work before a merge is done, not even on another package.
#[test]
fn a_pool_does_one_thing_at_a_time() {
    let mut profile = profile("bast", 7);
    profile.flash.packages = 2;
    profile.flash.blocks_per_plane /= 2;
    profile.packages_per_pool = 2;
    let mut drive = filled(&profile);
    let mut packages = std::collections::BTreeSet::new();
    for block in 1..7 {
        write(&mut drive, block * PAGES + 1, 1);
        (1..PAGES).for_each(|page| assert!(write(&mut drive, page, 1).1.erases.total() == 0));
        let start = drive.now();
        for page in [0, block * PAGES + 2] {
            drive.submit(&crate::request(Op::Write, page * PAGE, PAGE, start));
        }
        let done: Vec<_> = crate::drain(&mut drive).iter().map(|done| done.completed).collect();
        let merged = start.0 + PAGES * READ + 2 * ERASE;
        assert!(done[0].0 > merged && done[1].0 == done[0].0 + WRITE, "{start:?} {done:?}");
        let page = u32::try_from(block * PAGES + 2).expect("small");
        let place = drive.locate(flashscope_sim::nand::Lpn(page)).expect("written");
        packages.insert(place.block.0 / profile.flash.blocks_per_plane);
    }
    assert_eq!(packages.len(), 2, "the log blocks were on one package");
}
