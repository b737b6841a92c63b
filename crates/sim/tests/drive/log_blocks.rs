//! FTLs with log blocks: which merges there are, what they cost, and when.

use flashscope_block::{Device, Nanos, Op};
use flashscope_sim::ftl::{self, Eviction, Merge};
use flashscope_sim::nand::{BlockId, ByCause, FlashCounters};
use flashscope_sim::{Profile, SimDevice};

use crate::{drive, one_pool, round_trip};

pub(crate) const PAGE: u64 = 4096;
pub(crate) const PAGES: u64 = 64;

/// What a page takes to read and to program, and a block to erase.
pub(crate) const READ: u64 = 130_600;
pub(crate) const WRITE: u64 = 305_600;
pub(crate) const ERASE: u64 = 1_500_000;

/// A drive of one pool with 64 data blocks and these log blocks.
pub(crate) fn profile(ftl: &str, logs: u32) -> Profile {
    let mut profile = one_pool(64 + logs + 1);
    profile.over_provisioning = f64::from(logs + 1) / f64::from(64 + logs + 1);
    profile.ftl = ftl.into();
    profile.log.blocks = logs;
    profile.log.per_group = profile.log.per_group.min(logs);
    profile
}

/// One of these on which every page was written in order, twice, so that every data block exists
/// even where the last log blocks are not merged yet.
pub(crate) fn filled(profile: &Profile) -> SimDevice {
    let mut drive = drive(profile);
    assert_eq!(drive.info().capacity.0, 64 * PAGES * PAGE);
    for block in (0..64).chain(0..64) {
        round_trip(&mut drive, Op::Write, block * PAGES * PAGE, PAGES * PAGE);
    }
    drive
}

/// What a write of `pages` pages from `page` on takes, and what the flash did for it.
pub(crate) fn write(drive: &mut SimDevice, page: u64, pages: u64) -> (u64, FlashCounters) {
    let (start, before) = (drive.now(), drive.counters());
    let done = round_trip(drive, Op::Write, page * PAGE, pages * PAGE);
    ((done.completed - start).0, drive.counters().since(&before).flash)
}

pub(crate) fn merges(flash: &FlashCounters) -> [u64; 3] {
    let events = flash.events;
    [events.switch_merges, events.partial_merges, events.full_merges]
}

/// Random writes of up to a block and a half, more often to the front.
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

// Is every page that is moved read and programmed once, does nothing but merges move pages, and
// does every block come back: as many erased as were taken into use but for those in use?
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

// With one log block to each data block: is a block erased for each switch and each partial merge,
// and are two for each full one?
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

// With FAST: is a block erased for each switch and each partial merge, and for a random log block
// that is merged one more than there are data blocks made?
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

// Does FAST take a write to the first page of a data block and those behind it to one log block, which
// is completed when another begins, and any other to the ring, which costs nothing until that is full?
#[test]
fn fast_tells_sequential_from_random_writes() {
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
    // All that the oldest block of the ring holds was written again, in the next.
    let (time, flash) = write(&mut drive, 20 * PAGES + 12, 1);
    assert_eq!((time, merges(&flash)), (ERASE + WRITE, [0, 0, 0]));
}

// Does the same page, written over and over, cost 63 writes nothing more and the 64th a merge of 64
// pages and two blocks, to the nanosecond; or the 65th where merges are lazy?
#[test]
fn sixty_three_writes_are_cheap_and_one_is_dear() {
    for (merge, dear) in [(Merge::Eager, 63), (Merge::Lazy, 64)] {
        let mut profile = profile("bast", 3);
        profile.log.merge = merge;
        let mut drive = filled(&profile);
        // The log blocks of the fill are not merged yet where merges are lazy.
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

// Does a block that is written whole and in order cost an erase alone; the same up to the middle,
// when its log block goes to another, the copies of the rest; and the same backwards all of it?
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

// Does a log block that takes 8 pages out of order take a whole block in order, be merged with the
// 8th page of a block that is written backwards, and with the next page where it goes out of order
// after more than 8?
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

// Are pages that were never written left out of a merge, so that what is moved is what was written?
#[test]
fn what_was_never_written_is_left_out() {
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

// Does a block-mapped drive keep up with writes that go forward within a block, and merge before
// one that goes back?
#[test]
fn replacement_blocks_take_what_goes_forward() {
    let mut drive = filled(&profile("block-map", 2));
    for page in [1, 2, 7, 40] {
        assert_eq!(write(&mut drive, page, 1).0, WRITE, "page {page}");
    }
    let (time, flash) = write(&mut drive, 40, 1);
    assert_eq!((time, merges(&flash)), (64 * (READ + WRITE) + 2 * ERASE + WRITE, [0, 0, 1]));
}

// Does n-k with one data block and one log block do what bast does, command for command?
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

// Do data blocks that share log blocks need no merges for writes to a few of their pages in turn, which
// cost one each where every log block is tied to a data block?
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

// Does a superblock that is written in one place cost, for each block that is filled, an erase and a
// move of the one page that is newest, and nothing else; and may pages of one logical block be in several blocks?
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

// Is a trim refused, and nothing lost by it?
#[test]
fn trims_are_refused() {
    let mut drive = filled(&profile("bast", 2));
    drive.submit(&crate::request(Op::Trim, 0, PAGE, drive.now()));
    let done = drive.complete(Nanos::MAX).expect("it is answered");
    assert_eq!(done.result, Err(flashscope_block::Errno::EOPNOTSUPP));
    assert!(drive.locate(flashscope_sim::nand::Lpn(0)).is_some());
    assert_eq!(drive.counters().host_pages_trimmed, 0);
}

// Sun and Zhang's experiment (section 4.3, Table 2): of m writes, each to another data block, round
// after round, does none wait for a merge while there are m log blocks, but for those that are full,
// and does every one where there is one less?
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

// Does a pool begin nothing before a merge is done, even on another package?
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
