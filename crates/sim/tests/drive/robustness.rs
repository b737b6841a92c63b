use std::collections::BTreeSet;

use flashscope_block::{Device, Nanos, Op};
use flashscope_sim::nand::{BlockId, Lpn, Page};
use flashscope_sim::profile::AllocationPool;
use flashscope_sim::{Profile, SimDevice};
use proptest::prelude::*;

use crate::{drive, request};

const LOGICAL_BLOCK: u64 = 512;

/// Small drives of every shape; many of them are refused.
fn profiles() -> impl Strategy<Value = Profile> {
    let pool = prop_oneof![
        Just(AllocationPool::Package),
        Just(AllocationPool::Die),
        Just(AllocationPool::Plane)
    ];
    let flash = (1u32..4, 1u32..3, 1u32..3, 3u32..24, 1u32..80, 1u64..5);
    let flags = (any::<bool>(), any::<bool>(), 1u32..6);
    let shares = (0.001..0.9f64, 0.02..0.5f64, 0.02..0.6f64);
    (pool, flash, flags, shares).prop_map(|(pool, flash, flags, shares)| {
        let mut profile = Profile { allocation_pool: pool, ..Profile::default() };
        profile.flash.packages = flash.0;
        profile.flash.dies_per_package = flash.1;
        profile.flash.planes_per_die = flash.2;
        profile.flash.blocks_per_plane = flash.3;
        profile.flash.pages_per_block = flash.4;
        profile.flash.page_size.0 = flash.5 * LOGICAL_BLOCK;
        profile.interleaving = flags.0;
        profile.background_cleaning = flags.1;
        profile.interface.queue_depth = flags.2;
        profile.interface.request_overhead = Nanos(1000);
        profile.interface.transfer_per_kib = Nanos(3413);
        profile.over_provisioning = shares.0;
        profile.cleaning.free_threshold = shares.1;
        profile.cleaning.background_threshold = shares.2;
        profile
    })
}

/// Where a logical page is, and in which life of its block.
fn place(drive: &SimDevice, lpn: u32) -> Option<(Page, u32)> {
    let page = drive.locate(Lpn(lpn))?;
    Some((page, drive.nand().erase_counts().nth(page.block.0 as usize)?))
}

/// What the host knows: which pages hold data.
struct Shadow {
    written: BTreeSet<u32>,
    page_size: u64,
}

impl Shadow {
    /// Logical pages that a range touches, each with whether it is covered whole.
    fn pages(&self, offset: u64, len: u64) -> impl Iterator<Item = (u32, bool)> + use<> {
        let (size, end) = (self.page_size, offset + len);
        (offset / size..end.div_ceil(size)).map(move |page| {
            let whole = offset <= page * size && (page + 1) * size <= end;
            (u32::try_from(page).expect("a small drive"), whole)
        })
    }

    /// Submits an IO and checks that it had the effect on the map and the flash that it must.
    fn submit(&mut self, drive: &mut SimDevice, op: Op, offset: u64, len: u64) {
        let pages: Vec<_> = self.pages(offset, len).collect();
        let before: Vec<_> = pages.iter().map(|page| place(drive, page.0)).collect();
        let counters = drive.counters();
        drive.submit(&request(op, offset, len, drive.now()));
        let flash = drive.counters().since(&counters).flash;
        let held = pages.iter().filter(|page| self.written.contains(&page.0)).count();
        let partly = pages.iter().filter(|page| !page.1 && self.written.contains(&page.0)).count();
        match op {
            Op::Read => {
                assert_eq!(flash.reads.host, held as u64);
                assert_eq!(flash.programs.host, 0);
            }
            Op::Write => {
                assert_eq!(flash.programs.host, pages.len() as u64);
                assert_eq!(flash.reads.host, partly as u64);
                for ((lpn, _), before) in pages.iter().zip(before) {
                    assert_ne!(place(drive, *lpn), before, "page {lpn} was not written anew");
                    self.written.insert(*lpn);
                }
            }
            Op::Trim => {
                for (lpn, _) in pages.iter().filter(|page| page.1) {
                    self.written.remove(lpn);
                }
            }
            Op::Flush => {}
        }
    }

    /// Checks that logical pages and valid physical pages are one to one.
    fn check(&self, drive: &SimDevice) {
        let geometry = *drive.nand().geometry();
        let mapped: BTreeSet<_> = (0..drive.info().capacity.0 / self.page_size)
            .map(|lpn| u32::try_from(lpn).expect("a small drive"))
            .filter(|lpn| drive.locate(Lpn(*lpn)).is_some())
            .collect();
        assert_eq!(mapped, self.written, "the pages that hold data");
        let mut valid = 0;
        for block in (0..geometry.blocks()).map(BlockId) {
            let pages = (0..geometry.pages_per_block).map(|index| Page { block, index });
            let live: Vec<_> = pages.filter(|page| drive.nand().is_valid(*page)).collect();
            assert_eq!(drive.nand().valid(block) as usize, live.len(), "valid pages of {block:?}");
            assert_eq!(drive.nand().first_valid(block), live.first().copied());
            for page in &live {
                let lpn = drive.nand().logical(*page).expect("valid pages are programmed");
                assert_eq!(drive.locate(lpn), Some(*page), "the map and the flash disagree");
            }
            valid += live.len();
        }
        assert_eq!(valid, self.written.len(), "valid pages of the drive");
    }
}

/// Random IOs, skewed to the start of the drive, with pauses, up to the queue depth in flight.
fn exercise(drive: &mut SimDevice, page_size: u64, seed: u64, ios: u32) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut shadow = Shadow { written: BTreeSet::new(), page_size };
    let blocks = drive.info().capacity.0 / LOGICAL_BLOCK;
    let depth = drive.info().queue_depth;
    let (mut in_flight, mut last) = (0, Nanos(0));
    for i in 0..ios {
        let op = *random
            .choice([Op::Read, Op::Write, Op::Write, Op::Write, Op::Trim, Op::Flush])
            .as_ref()
            .expect("not empty");
        let limit = if random.bool() { blocks } else { blocks.div_ceil(5) };
        let offset = random.u64(..limit);
        let len = if op == Op::Flush { 0 } else { random.u64(1..=(blocks - offset).min(40)) };
        shadow.submit(drive, op, offset * LOGICAL_BLOCK, len * LOGICAL_BLOCK);
        in_flight += 1;
        while in_flight == depth || (in_flight > 0 && random.bool()) {
            let done = drive.complete(Nanos::MAX).expect("what is in flight completes");
            assert_eq!(done.result, Ok(()), "{done:?}");
            assert!(last <= done.completed && done.completed <= drive.now(), "out of order");
            last = done.completed;
            in_flight -= 1;
        }
        if in_flight == 0 && random.u32(..8) == 0 {
            let longest = 1 << random.u32(10..25);
            drive.idle_until(drive.now() + Nanos(random.u64(..longest)));
        }
        if i % 64 == 0 {
            shadow.check(drive);
        }
    }
    shadow.check(drive);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    // On any drive that is not refused, whatever the host does: is every IO done, is every page
    // where it was last written, and do the counts of valid pages agree with the map?
    #[test]
    fn any_drive_keeps_its_pages(
        profile in profiles().prop_filter("refused", |profile| profile.layout().is_ok()),
        seed: u64,
    ) {
        exercise(&mut drive(&profile), profile.flash.page_size.0, seed, 600);
    }
}

// Does the tightest drive that is not refused survive random writes, with as few spare pages as
// the rule allows, whether it cleans in the background or not?
#[test]
fn the_tightest_drive_works() {
    let shapes = [(4, 1), (4, 2), (5, 64), (12, 7), (48, 8)];
    for ((blocks, pages_per_block), background) in shapes.into_iter().flat_map(|s| [(s, 0), (s, 1)])
    {
        let mut profile = crate::one_pool(blocks);
        profile.flash.pages_per_block = pages_per_block;
        profile.flash.page_size.0 = LOGICAL_BLOCK;
        profile.cleaning.free_threshold = 2.0 / f64::from(blocks);
        profile.background_cleaning = background > 0;
        profile.cleaning.background_threshold = f64::from(2 + background) / f64::from(blocks);
        let pages = f64::from(blocks * pages_per_block);
        let spare = f64::from((2 + background) * pages_per_block + 1);
        profile.over_provisioning = (spare - 1.0) / pages;
        assert!(profile.layout().is_err(), "one spare page less is accepted");
        profile.over_provisioning = spare / pages;
        if spare == pages {
            continue;
        }
        let mut drive = drive(&profile);
        exercise(&mut drive, LOGICAL_BLOCK, 5, 20_000 / blocks);
        let blocks_of_data = (pages - spare) / f64::from(pages_per_block);
        assert!(drive.counters().pages_moved() > 0 || blocks_of_data < 1.0 || pages_per_block == 1);
    }
}

// Does the clock stop at the end of time, instead of passing it?
#[test]
fn the_end_of_time_is_no_panic() {
    let mut drive = drive(&crate::one_pool(64));
    drive.idle_until(Nanos(u64::MAX - 1));
    for op in [Op::Write, Op::Read, Op::Trim, Op::Flush] {
        drive.submit(&request(op, 0, if op == Op::Flush { 0 } else { 8192 }, Nanos::MAX));
        assert_eq!(drive.complete(Nanos::MAX).map(|done| done.completed), Some(Nanos::MAX));
    }
}
