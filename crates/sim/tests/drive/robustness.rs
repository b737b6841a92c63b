use std::collections::BTreeSet;

use flashscope_block::{Device, Nanos, Op};
use flashscope_sim::ftl;
use flashscope_sim::nand::{BlockId, GangSharing, Interleaving, Lpn, Page};
use flashscope_sim::setup::MapMemory;
use flashscope_sim::setup::{Eviction, Frontiers, Merge, Scope, Transfer};
use flashscope_sim::{Profile, SimDevice, gc, wear};
use proptest::prelude::*;

use crate::life::shape::{plane_addresses, share_out, without_cleaning};
use crate::{drive, request};

pub(crate) const LOGICAL_BLOCK: u64 = 512;

fn shapes() -> impl Strategy<Value = Profile> {
    let scope = || {
        prop_oneof![Just(Scope::Pool), Just(Scope::Package), Just(Scope::Die), Just(Scope::Plane)]
    };
    let flash = (1u32..5, 1u32..3, 1u32..5, 3u32..24, 1u32..80, 1u64..5);
    let pages = (0u64..4, 1u32..4, 0u32..3, 1u32..3);
    (scope(), scope(), flash, pages).prop_map(|(pool, active, flash, pages)| {
        let mut profile =
            Profile { allocation_pool: pool, active_blocks: active, ..Profile::default() };
        profile.flash.packages = flash.0;
        profile.flash.dies_per_package = flash.1;
        profile.flash.planes_per_die = flash.2;
        profile.flash.blocks_per_plane = flash.3;
        profile.flash.pages_per_block = flash.4;
        profile.flash.page_size.0 = flash.5 * LOGICAL_BLOCK;
        // Logical pages are as large as a flash page, smaller, or larger.
        profile.logical_page_size.0 = match pages.0 {
            0 | 1 => 0,
            2 => LOGICAL_BLOCK,
            _ => flash.5 * LOGICAL_BLOCK * u64::from(pages.1),
        };
        profile.page_span = [1, 1, 2][pages.2 as usize];
        profile.persistence.map = [MapMemory::NvRam, MapMemory::Summary][pages.3 as usize - 1];
        profile
    })
}

/// Generates small drives of every shape. Many of these profiles are invalid.
pub(crate) fn profiles() -> impl Strategy<Value = Profile> {
    let interleaving = prop_oneof![
        Just(Interleaving::None),
        Just(Interleaving::Die),
        Just(Interleaving::PlanePair)
    ];
    let flags =
        (any::<[bool; 8]>(), 1u32..6, interleaving, 0usize..3, 0usize..3, 0..gc::KINDS.len());
    let logs = (0usize..10, 1u32..7, 0usize..3, any::<bool>(), 1u32..5, 1u32..4);
    let shares = (0.05..0.95f64, 0.02..0.5f64, 0.02..0.6f64, 0.01..0.2f64);
    (shapes(), flags, shares, logs).prop_map(|(mut profile, flags, shares, logs)| {
        let [background, two_plane, control, queues, gang, copy_back, slc, cut_through] = flags.0;
        profile.background_cleaning = background;
        profile.flash.two_plane_commands = two_plane;
        if two_plane {
            profile.flash.two_plane_addresses = plane_addresses(profile.flash.blocks_per_plane);
        }
        profile.interleaving = flags.2;
        profile.gang.packages = if gang { profile.flash.packages } else { 1 };
        profile.gang.sharing = if control { GangSharing::Control } else { GangSharing::Bus };
        profile.gang.queue_per_package = queues;
        profile.interface.cut_through = cut_through;
        profile.interface.queue_depth = flags.1;
        profile.interface.request_overhead = Nanos(1000);
        profile.interface.transfer_per_kib = Nanos(3413);
        profile.over_provisioning = shares.0;
        profile.slc.share = if slc { shares.3 } else { 0.0 };
        profile.cleaning.free_threshold = shares.1;
        profile.cleaning.background_threshold = shares.2;
        profile.cleaning.transfer =
            if copy_back { Transfer::CopyBack } else { Transfer::InterPlane };
        profile.cleaning.frontiers =
            [Frontiers::One, Frontiers::HostAndCleaning, Frontiers::HotAndCold][flags.3];
        profile.cleaning.policy = gc::KINDS[flags.5].name.into();
        profile.wear.policy = wear::KINDS[flags.4].name.into();
        profile.reliability.block_lifetime = 1000;
        let kinds = ftl::KINDS.iter().filter(|kind| !kind.is_page_mapped());
        if let Some(kind) = kinds.cycle().nth(logs.0).filter(|_| slc || copy_back) {
            profile.ftl = kind.name.into();
            without_cleaning(&mut profile);
            // Nearly every page costs a merge here. Blocks with a shorter lifetime would wear out
            // within the test.
            profile.reliability.block_lifetime = 1_000_000;
        }
        profile.log.blocks = logs.1;
        profile.log.eviction = [Eviction::Fifo, Eviction::Lru, Eviction::Random][logs.2];
        profile.log.merge = if logs.3 { Merge::Eager } else { Merge::Lazy };
        (profile.log.group, profile.log.per_group) = (logs.4, logs.5);
        if profile.ftl == "last" {
            profile.log.blocks = profile.log.blocks.max(3);
        }
        share_out(&mut profile, u64::from(logs.1 + 7 * logs.4 + 29 * logs.5));
        if ["bast", "n-k"].contains(&profile.ftl.as_str()) {
            profile.log.unordered = (logs.4 + logs.5) % 5;
        }
        profile
    })
}

/// Returns the flash page of a logical page, and the number of erases of its block.
pub(crate) fn place(drive: &SimDevice, lpn: u32) -> Option<(Page, u32)> {
    let page = drive.locate(Lpn(lpn))?;
    Some((page, drive.nand().erases(page.block)))
}

/// The host's record of the pages that hold data.
struct Shadow {
    written: BTreeSet<u32>,
    page_size: u64,
}

impl Shadow {
    /// Returns the logical pages that a range touches, each with true if the range covers the whole
    /// page.
    fn pages(&self, offset: u64, len: u64) -> impl Iterator<Item = (u32, bool)> + use<> {
        let (size, end) = (self.page_size, offset + len);
        (offset / size..end.div_ceil(size)).map(move |page| {
            let whole = offset <= page * size && (page + 1) * size <= end;
            (u32::try_from(page).expect("a small drive"), whole)
        })
    }

    /// Submits an IO and checks its effect on the map and the flash.
    fn submit(&mut self, drive: &mut SimDevice, op: Op, offset: u64, len: u64) {
        let pages: Vec<_> = self.pages(offset, len).collect();
        let before: Vec<_> = pages.iter().map(|page| place(drive, page.0)).collect();
        let counters = drive.counters();
        drive.submit(&request(op, offset, len, drive.now()));
        let flash = drive.counters().since(&counters).flash;
        let held = pages.iter().any(|page| self.written.contains(&page.0));
        match op {
            Op::Read => {
                assert_eq!(flash.reads.host > 0, held);
                assert_eq!(flash.programs.host, 0);
            }
            Op::Write => {
                assert!(flash.programs.host > 0);
                for ((lpn, _), before) in pages.iter().zip(before) {
                    assert_ne!(place(drive, *lpn), before, "page {lpn} has no new copy");
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
    fn check(&self, drive: &mut SimDevice) {
        drive.catch_up();
        let geometry = *drive.nand().geometry();
        let host_pages =
            u32::try_from(drive.info().capacity.0 / self.page_size).expect("a small drive");
        let mapped: BTreeSet<_> =
            (0..host_pages).filter(|lpn| drive.locate(Lpn(*lpn)).is_some()).collect();
        assert_eq!(mapped, self.written, "the pages that hold data");
        let mut valid = 0;
        for block in (0..geometry.blocks()).map(BlockId) {
            let slots = (0..geometry.slots_per_block).map(|index| geometry.slot(block, index));
            let live: Vec<_> = slots.filter(|slot| drive.nand().is_valid(*slot)).collect();
            assert_eq!(drive.nand().valid(block) as usize, live.len(), "valid pages of {block:?}");
            assert_eq!(drive.nand().next_valid(block, 0), live.first().copied());
            for slot in live {
                let entry = drive.nand().entry(slot).expect("valid pages are programmed");
                // A trimmed page stays valid until the trim is recorded.
                let kept = !mapped.contains(&entry.lpn.0);
                if entry.lpn.0 < host_pages && !kept {
                    let place = Some(geometry.page(slot));
                    assert_eq!(drive.locate(entry.lpn), place, "the map and the flash disagree");
                    valid += 1;
                }
            }
        }
        assert_eq!(valid, self.written.len(), "valid pages of the drive");
    }
}

/// Executes random IOs, skewed to the start of the drive, with pauses and with up to the queue
/// depth in flight.
fn exercise(drive: &mut SimDevice, seed: u64, ios: u32, trims: bool) {
    let page_size = u64::from(drive.nand().geometry().logical_page_size);
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
        let op = if op == Op::Trim && !trims { Op::Write } else { op };
        let limit = if random.bool() { blocks } else { blocks.div_ceil(5) };
        let offset = random.u64(..limit);
        let len = if op == Op::Flush { 0 } else { random.u64(1..=(blocks - offset).min(40)) };
        shadow.submit(drive, op, offset * LOGICAL_BLOCK, len * LOGICAL_BLOCK);
        in_flight += 1;
        while in_flight == depth || (in_flight > 0 && random.bool()) {
            let done = drive.complete(Nanos::MAX).expect("an IO in flight completes");
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

    // On any valid drive and for any sequence of IOs, every IO completes, the map points to the
    // last copy of every page, and the counts of valid pages agree with the map.
    #[test]
    fn any_drive_keeps_its_pages(
        profile in profiles().prop_filter("refused", |profile| profile.layout().is_ok()),
        seed: u64,
    ) {
        let trims = profile.layout().is_ok_and(|layout| layout.family.trims());
        exercise(&mut drive(&profile), seed, 600, trims);
    }
}

// A drive with as few spare pages as the rules allow survives random writes, with and without
// background garbage collection.
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
        exercise(&mut drive, 5, 20_000 / blocks, true);
        let blocks_of_data = (pages - spare) / f64::from(pages_per_block);
        assert!(drive.counters().pages_moved() > 0 || blocks_of_data < 1.0 || pages_per_block == 1);
    }
}

#[test]
fn the_clock_stops_at_the_end_of_time() {
    let mut drive = drive(&crate::one_pool(64));
    drive.idle_until(Nanos(u64::MAX - 1));
    for op in [Op::Write, Op::Read, Op::Trim, Op::Flush] {
        drive.submit(&request(op, 0, if op == Op::Flush { 0 } else { 8192 }, Nanos::MAX));
        assert_eq!(drive.complete(Nanos::MAX).map(|done| done.completed), Some(Nanos::MAX));
    }
}

#[test]
fn refused_pages_are_not_counted() {
    let mut profile = Profile::default();
    profile.flash.packages = 1;
    profile.flash.blocks_per_plane = 8;
    profile.reliability.block_lifetime = 3;
    let mut drive = drive(&profile);
    let pages = drive.info().capacity.0 / 4096;
    let refused = (0..).find(|nth| {
        drive.submit(&request(Op::Write, nth * 7 % pages * 4096, 4096, drive.now()));
        drive.complete(Nanos::MAX).expect("in flight").result.is_err()
    });
    let counters = drive.counters();
    assert_eq!(Some(counters.host_pages_written), refused);
    assert_eq!(counters.host_pages_written, counters.flash.programs.host);
    assert!(drive.health().end_of_life.is_some());
}
