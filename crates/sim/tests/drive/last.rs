//! LAST: the log block that each write goes to, and the savings of its two localities.

use flashscope_block::Bytes;
use flashscope_sim::nand::{FlashCounters, Lpn};
use flashscope_sim::{Profile, SimDevice};

use crate::log_blocks::{ERASE, PAGE, PAGES, READ, WRITE, filled, merges, profile, write};

/// Returns a drive with two sequential and four other log blocks, whose pages were all written in
/// order.
fn last() -> SimDevice {
    filled(&profile("last", 6))
}

fn block_of(drive: &SimDevice, page: u64) -> u32 {
    let lpn = Lpn(u32::try_from(page).expect("small"));
    drive.locate(lpn).expect("written").block.0
}

/// Writes two streams in turn, with requests of `len` pages.
fn two_streams(drive: &mut SimDevice, len: u64) -> FlashCounters {
    let (before, per_stream) = (drive.counters(), 30 * PAGES);
    for nth in 0..per_stream.div_ceil(len) {
        let page = nth * len;
        for stream in 0..2 {
            write(drive, stream * per_stream + page, len.min(per_stream - page));
        }
    }
    drive.counters().since(&before).flash
}

// Long sequential writes cause one switch merge for each block and nothing else, even with as many
// streams as sequential log blocks. FAST has one sequential log block and copies nearly every page.
#[test]
fn sequential_writes_are_switch_merges() {
    for len in [2, 8, 48, 64] {
        let flash = two_streams(&mut last(), len);
        assert_eq!(merges(&flash), [60, 0, 0], "{len}");
        assert_eq!((flash.programs.total(), flash.erases.total()), (60 * PAGES, 60));
    }
    let fast = two_streams(&mut filled(&profile("fast", 6)), 8);
    let copied = fast.programs.partial_merge + fast.programs.full_merge;
    assert!(5 * copied > 4 * fast.programs.host, "{fast:?}");
}

// With one stream too many, each eviction copies the remaining pages of the evicted stream's block.
// When that stream continues, the pages before it are copied.
#[test]
fn a_stream_too_many_is_a_partial_merge_each_time() {
    let mut drive = last();
    for round in 0..4 {
        for stream in 0..3 {
            let (time, flash) = write(&mut drive, 10 * stream * PAGES + 8 * round, 8);
            if round == 0 && stream < 2 {
                assert_eq!(time, 8 * WRITE);
                continue;
            }
            // The evicted block was begun two writes earlier, in this round or the previous round.
            let rest = if stream == 2 { PAGES - 8 * (round + 1) } else { PAGES - 8 * round };
            let copies = rest + 8 * round;
            assert_eq!(merges(&flash), [0, 1, 0], "{round} {stream}");
            assert_eq!(time, copies * (READ + WRITE) + ERASE + 8 * WRITE, "{round} {stream}");
        }
    }
}

// A write from the middle of a block first copies the pages before it. A write that goes back
// completes the block first.
#[test]
fn long_writes_in_the_middle_are_in_order_too() {
    let mut drive = last();
    let (time, flash) = write(&mut drive, 3 * PAGES + 20, 30);
    assert_eq!((time, merges(&flash)), (20 * (READ + WRITE) + 30 * WRITE, [0, 0, 0]));
    let (time, flash) = write(&mut drive, 3 * PAGES + 60, 4);
    let expected = 10 * (READ + WRITE) + 4 * WRITE + ERASE;
    assert_eq!((time, merges(&flash)), (expected, [1, 0, 0]));
    write(&mut drive, 5 * PAGES, 10);
    let (time, flash) = write(&mut drive, 5 * PAGES + 5, 2);
    let expected = 54 * (READ + WRITE) + ERASE + 5 * (READ + WRITE) + 2 * WRITE;
    assert_eq!((time, merges(&flash)), (expected, [0, 1, 0]));
}

// Short writes go to other log blocks than long writes. Pages that are rewritten within the
// interval go to separate log blocks; with one more write in between, they do not.
#[test]
fn localities_follow_from_length_and_interval() {
    let mut profile = profile("last", 6);
    profile.log.hot_interval = 10;
    let mut drive = filled(&profile);
    write(&mut drive, 0, 2);
    write(&mut drive, 7, 1);
    let (sequential, cold) = (block_of(&drive, 0), block_of(&drive, 7));
    assert_ne!(sequential, cold);
    let others = |drive: &mut SimDevice, from: u64, count: u64| {
        for page in 0..count {
            write(drive, (from + page) * PAGES + 9, 1);
        }
    };
    others(&mut drive, 10, 10);
    write(&mut drive, 7, 1);
    assert_eq!(block_of(&drive, 7), cold, "it was written 11 writes ago");
    others(&mut drive, 20, 9);
    write(&mut drive, 7, 1);
    let hot = block_of(&drive, 7);
    assert!(hot != cold && hot != sequential, "it was written 10 writes ago");
    write(&mut drive, 2, 2);
    assert_eq!(block_of(&drive, 3), sequential, "long writes continue in their log block");
}

// Updates of few pages cost only the erase of a dead block for each block that they fill, and no
// merge.
#[test]
fn hot_updates_leave_dead_blocks() {
    let mut drive = last();
    let hot = 40;
    let mut rounds = |count: u64| {
        let before = drive.counters();
        for nth in 0..count * PAGES {
            write(&mut drive, nth % hot * PAGES + 3, 1);
        }
        drive.counters().since(&before).flash
    };
    rounds(10);
    let flash = rounds(50);
    assert_eq!((merges(&flash), flash.programs.total()), ([0; 3], 50 * PAGES));
    assert_eq!((flash.erases.total(), flash.events.log_evictions), (50, 50));
}

/// Returns the erases for each host page, and the flash commands, if most short writes go to few
/// pages, others to any page, and some writes are long and sequential.
fn erases_per_page(profile: &Profile) -> (f64, FlashCounters) {
    let mut drive = filled(profile);
    let (mut random, mut stream) = (fastrand::Rng::with_seed(12), 0);
    let mut writes = |drive: &mut SimDevice, count: u32| {
        let before = drive.counters();
        for _ in 0..count {
            match random.u32(..100) {
                0..85 => write(drive, random.u64(..48) * PAGES + random.u64(..2) + 11, 1),
                85..95 => write(drive, random.u64(..64 * PAGES), 1),
                _ => {
                    stream = (stream + 16) % (64 * PAGES);
                    write(drive, stream, 16)
                }
            };
        }
        drive.counters().since(&before)
    };
    writes(&mut drive, 5_000);
    let done = writes(&mut drive, 40_000);
    let pages = u32::try_from(done.host_pages_written).expect("few");
    let erases = u32::try_from(done.flash.erases.total()).expect("few");
    (f64::from(erases) / f64::from(pages), done.flash)
}

// LAST erases less than FAST and BAST with the same log blocks.
#[test]
fn hot_and_cold_apart_save_erases() {
    let [last, fast, bast] = ["last", "fast", "bast"].map(|name| {
        let mut profile = profile(name, 12);
        profile.log.hot = 6;
        profile.log.hot_interval = 600;
        erases_per_page(&profile)
    });
    println!("erases a page: LAST {:.4}, FAST {:.4}, BAST {:.4}", last.0, fast.0, bast.0);
    println!("LAST {:?}\nFAST {:?}", last.1.events, fast.1.events);
    assert!(last.0 < 0.9 * fast.0 && fast.0 < bast.0, "{last:?} {fast:?} {bast:?}");
}

// One-page writes that a write buffer gathers into long runs are switch merges. Without the buffer
// they are short writes.
#[test]
fn runs_gathered_by_a_buffer_are_one_write() {
    let full_merges = |kind: &str| {
        let mut profile = profile("last", 6);
        (profile.cache.kind, profile.cache.size) = (kind.into(), Bytes(PAGES * PAGE));
        let mut drive = filled(&profile);
        let before = drive.counters();
        for page in 0..40 * PAGES {
            write(&mut drive, page, 1);
        }
        merges(&drive.counters().since(&before).flash)
    };
    let [switch, partial, full] = full_merges("gather");
    assert!(switch > 35 && partial == 0 && full == 0, "{switch} {partial} {full}");
    assert!(full_merges("none")[2] > 35);
}
