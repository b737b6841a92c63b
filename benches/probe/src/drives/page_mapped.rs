//! SSDs with a page map.

use flashscope_document::probe::Parameter;

use super::Truth;
use super::cleaning::{by_age, greedy};
use super::draft::{Amplification, Draft, GcInputs, KIB};

#[allow(clippy::cast_precision_loss, reason = "sizes of drives are far below 2^53")]
impl Draft<'_> {
    /// Generates an SSD with a page map.
    pub(super) fn page_mapped(&mut self, dftl: bool) {
        // Mostly powers of two, as in real controllers.
        self.packages = self.one_of(self.ranges.packages);
        let overhead = self.rng.u64(self.ranges.overhead_us.clone());
        let transfer = self.rng.u64(self.ranges.transfer_us_per_kib.clone());
        let largest = self.one_of(&[0, 0, 128, 256, 512]) * KIB;
        let depth = self.one_of(self.ranges.depths);
        self.interface(overhead, transfer, depth, largest);
        self.set("ftl", if dftl { "dftl" } else { "page-map" });
        let map = self.one_of(self.ranges.persistence);
        self.set("persistence.map", map);
        self.summary = u64::from(map == "summary");
        self.is(Parameter::FtlClass, Truth::Class("page-mapped"));
        for absent in [Parameter::LogList, Parameter::LogEviction, Parameter::OpenPartitions] {
            self.is(absent, Truth::Absent);
        }
        self.no_groups();
        self.is(Parameter::ContentEffect, Truth::Class("none"));
        let over_provisioning =
            self.rng.f64() * self.ranges.over_provisioning.1 + self.ranges.over_provisioning.0;
        self.set("over_provisioning", format_args!("{over_provisioning:.3}"));
        self.striping();
        let (kept_free, amplification) = self.cleaning();
        let amplification = amplification.filter(|_| !dftl);
        self.gc =
            Some(GcInputs { over_provisioning, kept_free, map_on_flash: dftl, amplification });
        self.memory();
        if dftl {
            let entries = self.one_of(self.ranges.map_entries);
            self.set("map_cache.size", entries * 8);
            self.has(Parameter::MapCache, entries * self.page);
        } else {
            self.is(Parameter::MapCache, Truth::Absent);
        }
        // With dynamic mapping, the simulator uses SLC blocks only after all other blocks are full;
        // such a drive shows no SLC cache.
        let in_place = self.truth.get(&Parameter::Mapping) != Some(&Truth::Class("dynamic"));
        if !dftl && in_place && self.chance(40) {
            self.slc = Some(f64::from(self.rng.u32(50..150)) / 1000.0);
        } else {
            self.is(Parameter::SlcCache, Truth::Absent);
            self.is(Parameter::SlcCacheKind, Truth::Absent);
        }
    }

    /// Generates the distribution of addresses over packages.
    fn striping(&mut self) {
        self.has(Parameter::Parallelism, self.packages);
        if self.packages == 1 {
            self.is(Parameter::Chunk, Truth::Absent);
            self.is(Parameter::Mapping, Truth::Absent);
            self.has(Parameter::Volumes, 1);
            return;
        }
        if self.chance(30) {
            let packages = self.packages;
            self.set("packages_per_pool", packages);
            self.set("active_blocks", "package");
            // Sequential data goes to the packages in turn, one page each.
            self.has(Parameter::Chunk, self.page);
            self.is(Parameter::Mapping, Truth::Class("dynamic"));
            self.has(Parameter::Volumes, 1);
            return;
        }
        let pages = self.one_of(&[1, 1, 2, 4, 8]);
        let chunk = pages * self.page;
        self.set("stripe", chunk);
        self.has(Parameter::Chunk, chunk);
        self.is(Parameter::Mapping, Truth::Class("static"));
        self.has(Parameter::Volumes, self.packages);
    }

    /// Generates the cleaning policy. Returns the share of blocks kept free, and a formula for the
    /// amplification if there is one.
    fn cleaning(&mut self) -> (f64, Option<Amplification>) {
        let policy = self.one_of(&[
            "greedy",
            "greedy",
            "d-choices",
            "cost-benefit",
            "fifo",
            "fifo",
            "random",
        ]);
        self.set("cleaning.policy", policy);
        let apart = self.chance(40);
        self.set("cleaning.frontiers", if apart { "host-and-cleaning" } else { "one" });
        let threshold = self.one_of(self.ranges.free_thresholds);
        self.set("cleaning.free_threshold", threshold);
        let idle = self.chance(35);
        self.set("background_cleaning", idle);
        self.set("cleaning.background_threshold", 0.06);
        // A package cleans again after each package has received one block of writes.
        self.has(Parameter::Segment, self.segment());
        // No formula holds for a drive that cleans between requests, because writes wait for parts
        // of
        // a cleaning, or for a drive that writes cleaned data to separate blocks.
        let amplification: Option<Amplification> = match policy {
            _ if idle || apart => None,
            "fifo" => Some(|spare, _| by_age(1.0 / (1.0 - spare))),
            "greedy" => Some(greedy),
            _ => None,
        };
        (if idle { 0.06 } else { threshold }, amplification)
    }

    /// Generates the write buffer and the read-ahead.
    fn memory(&mut self) {
        let kind = self.one_of(&["none", "none", "lru", "fifo", "bplru"]);
        if kind == "none" {
            self.set("cache.kind", kind);
            self.is(Parameter::WriteBuffer, Truth::Absent);
            self.is(Parameter::WriteBufferKind, Truth::Absent);
        } else {
            let size = self.one_of(&[256, 512, 1024, 2048, 4096]) * KIB;
            let class = self.write_buffer(kind, size);
            let write_back = self.one_of(&[0.0, 0.0, 0.5, 1.0]);
            self.set("cache.write_back", write_back);
            // A flush does not empty a protected buffer: only writing out while idle makes room.
            let protected = write_back == 1.0 && self.chance(50);
            self.set("cache.protected", protected);
            let batch = self.one_of(&[1, 1, 4]);
            self.set("cache.batch", batch);
            if class == "blocks" && self.packages > 1 {
                // All writes reach the flash as complete blocks, with a share for every package.
                // The address therefore determines the package even under dynamic mapping, and no
                // package is written alone.
                self.is(Parameter::Mapping, Truth::Class("static"));
                self.truth.remove(&Parameter::Volumes);
            }
        }
        let ahead = self.one_of(&[0, 0, 0, 4, 8, 16, 32]);
        self.set("cache.read_ahead", ahead);
        match ahead {
            0 => self.is(Parameter::ReadAhead, Truth::Absent),
            _ => self.has(Parameter::ReadAhead, ahead * self.page),
        }
    }

    /// Generates the SLC cache, given the blocks per package. The cache consists of complete blocks
    /// of each package; an SLC block holds a third of the pages of a normal block.
    pub(super) fn slc(&mut self, share: f64, blocks: u64) {
        self.set("slc.share", share);
        self.set_us("slc.page_program", self.page_program / 3);
        self.set_us("slc.page_read", self.page_read);
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most the blocks of a package"
        )]
        let of_each = (share * blocks as f64 - 1e-6).ceil() as u64;
        let pages = of_each * (self.pages_per_block / 3);
        self.has(Parameter::SlcCache, self.packages * pages * self.page);
        // The simulator never adds other blocks to the cache.
        self.is(Parameter::SlcCacheKind, Truth::Class("static"));
        // An SLC block holds fewer pages than other blocks, which gives two segment sizes.
        self.truth.remove(&Parameter::Segment);
        self.separation_with_slc();
        // SLC blocks count neither as over-provisioning nor as space for all data.
        self.gc = None;
    }

    /// Corrects the true separation of cleaned data for drives with an SLC cache. Data that leaves
    /// the cache goes to the same blocks as cleaned data. Without idle cleaning, all host data goes
    /// this way and mixes with cleaned data; with idle cleaning, only a part of it does.
    fn separation_with_slc(&mut self) {
        let apart = Some(&Truth::Class("apart"));
        if self.truth.get(&Parameter::CleaningSeparation) != apart {
            return;
        }
        match self.truth.get(&Parameter::IdleCleaning) {
            Some(Truth::Class("no")) => {
                self.is(Parameter::CleaningSeparation, Truth::Class("together"));
            }
            _ => {
                self.truth.remove(&Parameter::CleaningSeparation);
            }
        }
    }
}
