use flashscope_block::Bytes;

use super::recovery::stale;
use super::*;
use crate::Profile;
use crate::ftl::{Ftl, Slice};
use crate::nand::BlockId;
use crate::setup::Frontiers;
use crate::setup::MapMemory;

/// Returns the profile of a drive of two packages with 24 translation pages. The controller holds
/// `entries` map entries, and the host memory buffer `on_host`.
fn profile(entries: u64, on_host: u64) -> Profile {
    let mut profile = Profile { ftl: "dftl".into(), ..Profile::default() };
    profile.flash.packages = 2;
    profile.flash.dies_per_package = 1;
    profile.flash.planes_per_die = 1;
    profile.flash.blocks_per_plane = 48;
    profile.flash.pages_per_block = 9;
    profile.flash.page_size = Bytes(128);
    profile.interface.logical_block = Bytes(128);
    profile.over_provisioning = 0.3;
    profile.cleaning.free_threshold = 0.08;
    profile.map_cache.size = Bytes(8 * entries);
    profile.map_cache.host_memory = Bytes(8 * on_host);
    profile
}

struct Drive {
    ftl: Dftl,
    nand: Array,
    random: fastrand::Rng,
    /// The start of the last step. `now` is the time at which the drive answered it.
    began: Nanos,
    now: Nanos,
}

impl Drive {
    fn new(profile: &Profile) -> Drive {
        let design = profile.design().expect("it works");
        let mut nand = Array::new(&design.parts());
        let mut ftl = Dftl::new(&design, design.policies, &mut nand);
        nand.expect_power_cuts();
        ftl.expect_power_cuts();
        Drive { ftl, nand, random: fastrand::Rng::with_seed(9), began: Nanos(0), now: Nanos(0) }
    }

    /// Carries out one random host request.
    fn step(&mut self) {
        self.began = self.now;
        self.nand.settle(self.began);
        self.ftl.settle(&self.nand, self.began);
        let len = self.ftl.layout.geometry.logical_page_size;
        let lpn = Lpn(self.random.u32(..self.ftl.layout.logical_pages()));
        let slice =
            Slice { lpn, start: 0, len, zero: false, long: false, stream: self.random.u16(0..3) };
        let (ftl, nand) = (&mut self.ftl, &mut self.nand);
        match self.random.u32(..40) {
            0..28 => self.now = ftl.write(nand, slice, self.now).expect("there is room"),
            28..35 => self.now = ftl.read(nand, slice, self.now).expect("it can be read"),
            35..39 => ftl.trim(nand, lpn, self.now).expect("it can be trimmed"),
            _ => self.now = ftl.flush(nand, self.now).expect("it can be flushed"),
        }
    }

    /// Cuts the power at a random time of the last step.
    fn cut_power(&mut self) {
        let cut = Nanos(self.random.u64(self.began.0..=self.now.0));
        self.nand.cut_power(cut);
        self.now = self.ftl.recover(&mut self.nand, cut).expect("it recovers").done;
    }

    /// Returns how many entries are newer in memory than on the translation pages, and checks that
    /// all others are equal.
    fn changed_in_memory(&self) -> usize {
        let mapping = &self.ftl.mapping;
        let changed = &mapping.contents.as_ref().expect("power cuts are expected").changed;
        let pages = 0..self.ftl.layout.translation_pages();
        let stale: Vec<Lpn> = pages.flat_map(|page| stale(&self.ftl, &self.nand, page)).collect();
        for lpn in &stale {
            let known = mapping.memory.is_changed(*lpn) || changed.contains(lpn);
            assert!(known, "the entry of {lpn:?} is lost");
        }
        stale.len()
    }

    /// Checks that the translation blocks hold all translation pages and nothing else. Returns
    /// these blocks with their erase counts.
    fn translation_blocks(&self) -> Vec<(BlockId, u32)> {
        let geometry = *self.nand.geometry();
        for lpn in (0..self.ftl.map.len()).map(|lpn| Lpn(u32::try_from(lpn).expect("small"))) {
            let Some(slot) = self.ftl.slot(lpn) else { continue };
            let role = self.nand.opened(geometry.block(slot)).1;
            let of_map = lpn >= self.ftl.layout.translation_page(0);
            assert_eq!(role == Role::Map.number(), of_map, "{lpn:?} at {slot:?}");
        }
        let blocks = (0..geometry.blocks()).map(BlockId);
        let of_map = |block: &BlockId| {
            self.nand.written(*block) > 0 && self.nand.opened(*block).1 == Role::Map.number()
        };
        blocks.filter(of_map).map(|block| (block, self.nand.erases(block))).collect()
    }
}

// Each entry is up to date on its translation page, or marked in memory as changed.
#[test]
fn no_entry_is_lost() {
    let memories = [
        (1, 0, true),
        (1, 0, false),
        (20, 0, true),
        (20, 0, false),
        (400, 0, true),
        (1, 1, false),
        (1, 60, true),
        (20, 60, false),
    ];
    for (entries, on_host, batch) in memories {
        for (background, frontiers) in
            [(false, Frontiers::One), (true, Frontiers::HotAndCold), (true, Frontiers::One)]
        {
            let mut profile = profile(entries, on_host);
            profile.map_cache.batch = batch;
            profile.background_cleaning = background;
            profile.cleaning.frontiers = frontiers;
            let mut drive = Drive::new(&profile);
            let mut changed = 0;
            for round in 0..4000 {
                drive.step();
                if round % 10 == 0 {
                    changed += drive.changed_in_memory();
                }
            }
            assert!(changed > 0, "memory never knew more than the flash");
            let counters = drive.nand.counters();
            assert!(counters.erases.cleaning > 300, "{counters:?}");
            assert!(counters.events.map_misses > 1000 && counters.events.map_hits > 5);
            assert_eq!(counters.events.map_host_hits > 0, on_host > 0);
        }
    }
}

// Translation blocks hold only translation pages, are collected, and are limited in number.
#[test]
fn translation_blocks_are_cleaned() {
    let mut drive = Drive::new(&profile(20, 0));
    let layout = drive.ftl.layout.clone();
    // In addition to the full translation blocks, one block is open, and one may be full and not
    // yet collected.
    let most = (layout.translation_blocks_per_lane() + 2) * layout.lanes();
    let (mut erased, mut before) = (0, Vec::new());
    for round in 0..4000 {
        drive.step();
        erased += before.iter().filter(|(block, n)| drive.nand.erases(*block) > *n).count();
        before = drive.translation_blocks();
        // The limit holds only after a while: GC collects no translation block while free blocks
        // remain.
        assert!(round < 1000 || before.len() <= most as usize, "{before:?}, at most {most}");
    }
    assert!(erased > 200, "{erased} translation blocks were collected");
}

// After a power cut all translation pages are correct, although both memories are empty.
#[test]
fn the_map_is_on_the_flash_after_power_cuts() {
    for map in [MapMemory::Summary, MapMemory::NvRam] {
        let on_host = if map == MapMemory::NvRam { 0 } else { 40 };
        for (entries, on_host, batch) in
            [(1, 0, false), (20, 0, true), (400, 0, false), (20, on_host, true)]
        {
            let mut profile = profile(entries, on_host);
            profile.map_cache.batch = batch;
            profile.persistence.map = map;
            let mut drive = Drive::new(&profile);
            let mut written = 0;
            for round in 0..4000 {
                drive.step();
                if round % 23 == 0 {
                    let before = drive.nand.counters().programs.mapping;
                    drive.cut_power();
                    written += drive.nand.counters().programs.mapping - before;
                    assert_eq!(drive.changed_in_memory(), 0, "{map:?}, round {round}");
                }
            }
            assert!(written > 100, "recovery wrote {written} pages");
        }
    }
}
