//! Caches of blocks used as SLC: their size as the drive fills, their exhaustion, and folding.

use flashscope_block::{Device, Nanos, Op};
use flashscope_sim::nand::Lpn;
use flashscope_sim::setup::WhenFull;
use flashscope_sim::{Profile, SimDevice};

use crate::exactness::PAGE;
use crate::{drive, one_pool, request, round_trip};

/// The time that a page takes on the bus: 4096 + 128 bytes at 25 ns.
const TRANSFER: u64 = 105_600;
const SLC_READ: u64 = 20_000;
const SLC_PROGRAM: u64 = 100_000;
const PROGRAM: u64 = 900_000;
const ERASE: u64 = 1_500_000;
/// The time to move a page out of a block used as SLC.
const MOVE: u64 = SLC_READ + 2 * TRANSFER + PROGRAM;
const FAST_WRITE: u64 = TRANSFER + SLC_PROGRAM;
/// The numbers of pages of a block used as SLC, and of any other block.
const SLC_PAGES: u64 = 20;
const PAGES: u64 = 60;
/// The free blocks that the drive keeps for garbage collection.
const RESERVE: u32 = 4;

/// Returns the profile of a drive of one plane with three bits in a cell.
fn cached(blocks: u32) -> Profile {
    let mut profile = one_pool(blocks);
    profile.flash.pages_per_block = 60;
    profile.flash.page_program = Nanos(PROGRAM);
    profile.slc.page_read = Nanos(SLC_READ);
    profile.slc.page_program = Nanos(SLC_PROGRAM);
    profile.over_provisioning = 0.2;
    profile.cleaning.free_threshold = f64::from(RESERVE) / f64::from(blocks);
    profile.cleaning.background_threshold = profile.cleaning.free_threshold;
    profile.interface.queue_depth = 1024;
    profile
}

fn write(drive: &mut SimDevice, page: u64) -> u64 {
    round_trip(drive, Op::Write, page * PAGE, PAGE).latency().0
}

// A dynamic cache consists of a share of the blocks without other data: the fuller the drive, the
// smaller the cache. Once the cache is full, writes go directly to other blocks.
#[test]
fn a_dynamic_cache_shrinks_as_the_drive_fills() {
    for (share, folded) in
        [(1.0, 0), (1.0, 600), (1.0, 1380), (0.5, 0), (0.5, 780), (0.25, 1500), (0.25, 2400)]
    {
        let mut profile = cached(64);
        profile.slc.dynamic = share;
        profile.background_cleaning = true;
        let mut drive = drive(&profile);
        for page in 0..folded {
            write(&mut drive, page);
        }
        drive.idle_until(drive.now() + Nanos::secs(60));
        let fast = (folded..).take_while(|page| write(&mut drive, *page) == FAST_WRITE).count();
        let empty = 64 - RESERVE - u32::try_from(folded.div_ceil(PAGES)).expect("small");
        let size = (share * f64::from(empty)).floor() * SLC_PAGES as f64;
        assert_eq!(fast as f64, size, "{folded} pages, {share} of {empty} blocks");
        let next = folded + fast as u64 + 1;
        assert_eq!(write(&mut drive, next), TRANSFER + PROGRAM, "then they bypass the cache");
    }
}

/// Writes pages in order, one each `interval`, until one bypasses the cache. Returns the time until
/// then.
fn exhaustion(profile: &Profile, interval: u64) -> f64 {
    let mut drive = drive(profile);
    let role_of_slc = {
        write(&mut drive, 0);
        role(&drive, 0)
    };
    for page in 1.. {
        let at = Nanos(page * interval);
        while drive.complete(at).is_some() {}
        drive.submit(&request(Op::Write, page * PAGE, PAGE, at));
        if role(&drive, page) != role_of_slc {
            return at.0 as f64;
        }
    }
    unreachable!()
}

/// Returns the role of the block that holds a page.
fn role(drive: &SimDevice, page: u64) -> u8 {
    let lpn = Lpn(u32::try_from(page).expect("a small drive"));
    drive.nand().opened(drive.locate(lpn).expect("it was written").block).1
}

// The time to exhaustion is size / (rate - drain). The drive folds whenever it is idle. In a
// dynamic cache, a folded page still occupies a third of its space.
#[test]
fn a_cache_is_exhausted_by_the_rate_less_the_drain() {
    for interval in [350_000, 500_000, 700_000] {
        for is_dynamic in [false, true] {
            let mut profile = cached(1024);
            profile.background_cleaning = true;
            let (size, gain) = match is_dynamic {
                true => (f64::from(1024 - RESERVE), 2.0 / 3.0),
                false => (512.0, 1.0),
            };
            profile.slc.dynamic = if is_dynamic { 1.0 } else { 0.0 };
            profile.slc.share = if is_dynamic { 0.0 } else { 0.5 };
            profile.cleaning.free_threshold = f64::from(RESERVE) / 1024.0;
            let rate = 1.0 / interval as f64;
            let idle = 1.0 - FAST_WRITE as f64 * rate;
            let drain = idle / (MOVE as f64 + ERASE as f64 / SLC_PAGES as f64);
            let expected = size * SLC_PAGES as f64 / (rate - gain * drain);
            let found = exhaustion(&profile, interval);
            let error = found / expected - 1.0;
            println!("every {interval} ns, dynamic {is_dynamic}: {found:.4e} ns, {error:+.5}");
            assert!(error.abs() < 0.005, "every {interval} ns, dynamic {is_dynamic}: {error:+.4}");
        }
    }
}

// With `fold`, each write waits for exactly the folds that a count of blocks predicts, without
// background work.
#[test]
fn writes_wait_for_folds() {
    for share in [0.3, 0.5, 1.0] {
        let mut profile = cached(64);
        profile.slc.dynamic = share;
        profile.slc.when_full = WhenFull::Fold;
        let mut drive = drive(&profile);
        let (mut free, mut used, mut in_slc, mut room) = (64, 0, 0, 0);
        for page in 0..2400 {
            let mut folds = 0;
            if in_slc == 0 {
                let fits = |free: u32, used: u32| {
                    free > RESERVE
                        && f64::from(used + 1) <= share * f64::from(used + free - RESERVE)
                };
                while !fits(free, used) {
                    // A fold fills a third of a block, and frees a complete block.
                    free += 1;
                    free -= u32::from(room == 0);
                    room = (room + 2) % 3;
                    (used, folds) = (used - 1, folds + 1);
                }
                (free, used) = (free - 1, used + 1);
            }
            in_slc = (in_slc + 1) % SLC_PAGES;
            let expected = folds * (SLC_PAGES * MOVE + ERASE) + FAST_WRITE;
            assert_eq!(write(&mut drive, page), expected, "page {page}, {folds} folds");
        }
        assert!(drive.counters().flash.programs.folding > 1000);
    }
}

// Blocks used as SLC hold no page that the drive cannot fold. The drive can always be filled and
// overwritten, with and without time to fold.
#[test]
fn a_drive_with_a_dynamic_cache_keeps_its_capacity() {
    for (when_full, background) in
        [(WhenFull::Bypass, false), (WhenFull::Fold, false), (WhenFull::ByCleaning, true)]
    {
        let mut profile = cached(64);
        profile.slc.dynamic = 1.0;
        profile.slc.when_full = when_full;
        profile.background_cleaning = background;
        let mut drive = drive(&profile);
        let pages = drive.info().capacity.0 / PAGE;
        let mut random = fastrand::Rng::with_seed(8);
        for page in 0..pages {
            write(&mut drive, page);
        }
        for _ in 0..5 * pages {
            write(&mut drive, random.u64(..pages));
        }
        let flash = drive.counters().flash;
        assert!(flash.programs.cleaning > 0 && flash.programs.folding > 0, "{flash:?}");
    }
}
