//! USB drives and early SSDs, with a block map and log blocks.

use flashscope_document::probe::Parameter;

use super::Truth;
use super::draft::{Draft, KIB};

#[allow(clippy::cast_precision_loss, reason = "sizes of drives are far below 2^53")]
impl Draft<'_> {
    pub(super) fn no_groups(&mut self) {
        self.has(Parameter::Groups, 1);
        self.is(Parameter::GroupSwitch, Truth::Absent);
    }

    /// Generates a USB drive or an early SSD, with a block map and log blocks.
    pub(super) fn log_blocks(&mut self) {
        self.pages_per_block = self.one_of(self.ranges.log_pages_per_block);
        self.packages = self.one_of(self.ranges.log_packages);
        let (overhead, transfer) = (self.rng.u64(100..500), self.rng.u64(20..60));
        let largest = self.one_of(&[0, 64, 120, 128, 240]) * KIB;
        let depth = self.one_of(self.ranges.log_depths);
        self.interface(overhead, transfer, depth, largest);
        self.set("persistence.map", "pages");
        self.set("over_provisioning", 0.15);
        let blocks = self.rng.u64(self.ranges.log_blocks.clone());
        let merge = self.one_of(&["eager", "lazy"]);
        self.set("log.merge", merge);
        let switch = self.chance(60);
        self.set("log.switch", switch);
        match self.rng.u32(0..100) {
            0..45 => self.bast(blocks),
            45..70 => {
                self.set("ftl", "fast");
                self.set("log.blocks", blocks + 1);
                self.is(Parameter::FtlClass, Truth::Class("fast"));
            }
            _ => {
                let ftl = self.one_of(&["superblock", "n-k"]);
                self.set("ftl", ftl);
                self.set("log.blocks", blocks + 4);
                let group = self.one_of(&[2, 4, 8]);
                self.set("log.group", group);
                self.set("log.per_group", 2);
                self.is(Parameter::FtlClass, Truth::Class("groups-of-blocks"));
            }
        }
        for absent in [
            Parameter::MapCache,
            Parameter::SlcCache,
            Parameter::SlcCacheKind,
            Parameter::ReadAhead,
            Parameter::WriteBuffer,
            Parameter::WriteBufferKind,
        ] {
            self.is(absent, Truth::Absent);
        }
        self.has(Parameter::Segment, self.segment());
        self.content();
        self.groups();
        self.turns();
        let block = self.pages_per_block;
        let on_bus = self.serial_per_kib * (self.page + 128) / KIB;
        let copy = self.page_read + self.page_program + 2 * on_bus;
        self.has(Parameter::MergeCost, 1000 * (block * copy + 2 * self.block_erase));
    }

    fn bast(&mut self, blocks: u64) {
        self.set("ftl", "bast");
        self.set("log.blocks", blocks);
        self.is(Parameter::FtlClass, Truth::Class("bast"));
        self.has(Parameter::LogList, blocks);
        self.has(Parameter::OpenPartitions, blocks);
        let eviction = self.one_of(&["fifo", "lru", "random"]);
        self.set("log.eviction", eviction);
        if blocks == 1 {
            self.truth.remove(&Parameter::LogEviction);
        }
    }

    /// Sets the truth for drives whose consecutive pages are on the packages in turn.
    fn turns(&mut self) {
        self.has(Parameter::Parallelism, self.packages);
        if self.packages == 1 {
            self.is(Parameter::Mapping, Truth::Absent);
            return self.is(Parameter::Chunk, Truth::Absent);
        }
        self.has(Parameter::Chunk, self.page);
        self.is(Parameter::Mapping, Truth::Class("static"));
    }

    fn content(&mut self) {
        let zeros = if self.chance(40) { self.page_program / 8 } else { 0 };
        self.set("flash.zero_page_program", format_args!("{zeros}us"));
        let class = if zeros > 0 { "zeros-cost-less" } else { "none" };
        self.is(Parameter::ContentEffect, Truth::Class(class));
    }

    fn groups(&mut self) {
        let groups = self.one_of(&[1, 1, 2, 4, 8]);
        if groups == 1 {
            return self.no_groups();
        }
        let switch = self.rng.u64(100..500);
        self.set("groups.count", groups);
        self.set("groups.switch_time", format_args!("{switch}us"));
    }
}
