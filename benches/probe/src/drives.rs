//! Random simulated drives with known internals.

use std::collections::BTreeMap;
use std::fmt::Write;

use fastrand::Rng;
use flashscope_block::Nanos;
use flashscope_document::probe::{PARAMETERS, Parameter, ProfileField, Spec, Unit};

/// The true value of a drive's parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Truth {
    /// The parameter has this value.
    Value(f64),
    /// The parameter is of this class.
    Class(&'static str),
    /// The drive lacks the feature.
    Absent,
}

/// A generated drive.
#[derive(Debug, Clone)]
pub struct RandomDrive {
    /// The spec after `sim:`.
    pub spec: String,
    /// The true values of its parameters. A parameter is missing if it has no definite value, such
    /// as the log eviction of a drive whose log blocks belong to groups; such a parameter is not
    /// scored.
    pub truth: BTreeMap<Parameter, Truth>,
}

const KIB: u64 = 1024;

/// A drive that is being generated.
struct Draft {
    rng: Rng,
    spec: String,
    truth: BTreeMap<Parameter, Truth>,
    page: u64,
    pages_per_block: u64,
    packages: u64,
    /// The least number of blocks in a package.
    least_blocks: u64,
    page_read: u64,
    page_program: u64,
    block_erase: u64,
    serial_per_kib: u64,
    /// The share of blocks in the SLC region.
    slc: Option<f64>,
    gc: Option<GcInputs>,
}

/// A formula for the write amplification, from the spare share and the pages per block.
type Amplification = fn(f64, u64) -> f64;

/// The inputs for computing the onset of cleaning of a page-mapped drive.
#[derive(Debug, Clone, Copy)]
struct GcInputs {
    over_provisioning: f64,
    /// The share of blocks that the drive keeps free when idle.
    kept_free: f64,
    map_on_flash: bool,
    /// The formula for uniform random writes; `None` if the policy has no formula.
    amplification: Option<Amplification>,
}

/// Generates a valid drive.
///
/// # Panics
/// Panics if no drive is valid, which a test would reveal.
pub fn generate(seed: u64) -> RandomDrive {
    let drives = (0..).map(|nth| generate_any(seed, Rng::with_seed(seed + (nth << 32))));
    let mut valid = drives.filter(|drive| flashscope_sim::open(&drive.spec).is_ok());
    valid.next().expect("some drives are valid")
}

fn generate_any(seed: u64, mut rng: Rng) -> RandomDrive {
    let mut draft = Draft {
        spec: String::from("agrawal-2008?flash.dies_per_package=1&flash.planes_per_die=1"),
        truth: BTreeMap::new(),
        page: [2, 4, 4, 8, 16][rng.usize(0..5)] * KIB,
        pages_per_block: [32, 64, 64, 128][rng.usize(0..4)],
        least_blocks: 128,
        packages: 1,
        page_read: rng.u64(20..60),
        page_program: rng.u64(200..900),
        block_erase: rng.u64(1500..4000),
        serial_per_kib: rng.u64(5..26),
        slc: None,
        gc: None,
        rng,
    };
    draft.set("seed", seed);
    match draft.rng.u32(0..100) {
        0..40 => draft.page_mapped(false),
        40..52 => draft.page_mapped(true),
        52..100 => draft.log_blocks(),
        _ => unreachable!("the range ends at 100"),
    }
    draft.flash();
    draft.trials();
    RandomDrive { spec: draft.spec, truth: draft.truth }
}

#[allow(clippy::cast_precision_loss, reason = "sizes of drives are far below 2^53")]
impl Draft {
    /// Sets a field, and the true value of the parameter that this field alone determines, if any.
    fn set(&mut self, field: &str, value: impl std::fmt::Display) {
        write!(self.spec, "&{field}={value}").expect("a String can always be written to");
        let spec = PARAMETERS.iter().find(|spec| spec.field.path() == Some(field));
        if let Some((spec, truth)) = spec.and_then(|spec| Some((spec, truth(spec, value)?))) {
            self.is(spec.parameter, truth);
        }
    }

    fn set_us(&mut self, field: &str, micros: u64) {
        self.set(field, format_args!("{micros}us"));
    }

    fn is(&mut self, parameter: Parameter, truth: Truth) {
        self.truth.insert(parameter, truth);
    }

    fn has(&mut self, parameter: Parameter, value: u64) {
        self.is(parameter, Truth::Value(value as f64));
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.rng.usize(0..values.len())]
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.rng.u32(0..100) < percent
    }

    /// Sets each field that has a list of trial values to one of these values.
    fn trials(&mut self) {
        for spec in PARAMETERS {
            if let ProfileField::Value { path, trials, .. } = spec.field
                && !trials.is_empty()
            {
                let value = self.one_of(trials);
                match spec.unit {
                    Unit::Nanoseconds => self.set(path, Nanos(value)),
                    _ => self.set(path, value),
                }
            }
        }
    }

    /// Generates the flash, after the number of packages is known.
    fn flash(&mut self) {
        let raw = self.one_of(&[64, 96, 128, 192]) * KIB * KIB;
        let blocks = raw / (self.packages * self.page * self.pages_per_block);
        let blocks = blocks.max(self.least_blocks);
        let Draft { packages, page, pages_per_block, .. } = *self;
        self.set("flash.packages", packages);
        self.set("flash.page_size", page);
        self.set("flash.pages_per_block", pages_per_block);
        self.set("flash.blocks_per_plane", blocks);
        self.set_us("flash.page_read", self.page_read);
        self.set_us("flash.page_program", self.page_program);
        self.set_us("flash.block_erase", self.block_erase);
        self.set_us("flash.serial_access_per_kib", self.serial_per_kib);
        self.is(Parameter::Medium, Truth::Class("flash"));
        self.has(Parameter::PageSize, self.page);
        if let Some(share) = self.slc {
            self.slc(share, blocks);
        }
        self.is(Parameter::Alignment, Truth::Value(0.0));
        if let Some(inputs) = self.gc {
            self.cleaning_onset(inputs, blocks);
        }
    }

    /// Derives the true over-provisioning, cleaning onset and cleaning period. Blocks that the
    /// drive always keeps free do not count as places for data. When the drive cleans the first
    /// block of each package, all places have been written.
    fn cleaning_onset(&mut self, inputs: GcInputs, blocks: u64) {
        let GcInputs { over_provisioning, kept_free, map_on_flash, amplification } = inputs;
        let kept = (kept_free * blocks as f64 - 1e-6).ceil();
        let all = (blocks * self.pages_per_block) as f64;
        let logical = (1.0 - over_provisioning) * all;
        let map = match map_on_flash {
            // The pages of the map, and its open block.
            true => logical / (self.page / 8) as f64 + self.pages_per_block as f64,
            false => 0.0,
        };
        let places = all - kept * self.pages_per_block as f64 - map;
        self.is(Parameter::OverProvisioning, Truth::Value(1.0 - logical / places));
        let bytes = places * (self.packages * self.page) as f64;
        self.is(Parameter::CleaningOnset, Truth::Value(bytes));
        if let Some(amplification) = amplification {
            // Each cleaning frees a block, less the valid pages that the cleaning moves.
            let block = (self.page * self.pages_per_block) as f64;
            let spare = 1.0 - logical / places;
            let period = block / amplification(spare, self.pages_per_block);
            self.is(Parameter::CleaningPeriod, Truth::Value(period));
        }
    }

    fn interface(&mut self, overhead_us: u64, transfer_us: u64, depth: u32, largest: u64) {
        self.set("interface.request_overhead", format_args!("{overhead_us}us"));
        self.set("interface.transfer_per_kib", format_args!("{transfer_us}us"));
        self.set("interface.queue_depth", depth);
        self.set("interface.largest_request", largest);
    }

    /// Generates an SSD with a page map.
    fn page_mapped(&mut self, dftl: bool) {
        // Mostly powers of two, as in real controllers.
        self.packages = self.one_of(&[1, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 3, 6]);
        let (overhead, transfer) = (self.rng.u64(5..50), self.rng.u64(2..11));
        let largest = self.one_of(&[0, 0, 128, 256, 512]) * KIB;
        self.interface(overhead, transfer, 32, largest);
        self.set("ftl", if dftl { "dftl" } else { "page-map" });
        self.set("persistence.map", "pages");
        self.is(Parameter::FtlClass, Truth::Class("page-mapped"));
        for absent in [Parameter::LogList, Parameter::LogEviction, Parameter::OpenPartitions] {
            self.is(absent, Truth::Absent);
        }
        self.no_groups();
        self.is(Parameter::ContentEffect, Truth::Class("none"));
        let over_provisioning = self.rng.f64() * 0.2 + 0.08;
        self.set("over_provisioning", format_args!("{over_provisioning:.3}"));
        self.striping();
        let (kept_free, amplification) = self.cleaning();
        let amplification = amplification.filter(|_| !dftl);
        self.gc =
            Some(GcInputs { over_provisioning, kept_free, map_on_flash: dftl, amplification });
        self.memory();
        if dftl {
            let entries = self.one_of(&[512, 1024, 2048]);
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
        let threshold = self.one_of(&[0.02, 0.03, 0.04]);
        self.set("cleaning.free_threshold", threshold);
        let idle = self.chance(35);
        self.set("background_cleaning", idle);
        self.set("cleaning.background_threshold", 0.06);
        // A package cleans again after each package has received one block of writes.
        self.has(Parameter::Segment, self.page * self.pages_per_block * self.packages);
        // No formula holds for a drive that cleans between requests: writes wait for parts of a
        // cleaning.
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
        self.set("cache.kind", kind);
        if kind == "none" {
            self.is(Parameter::WriteBuffer, Truth::Absent);
            self.is(Parameter::WriteBufferKind, Truth::Absent);
        } else {
            let size = self.one_of(&[256, 512, 1024, 2048, 4096]) * KIB;
            self.set("cache.size", size);
            let write_back = self.one_of(&[0.0, 0.0, 0.5, 1.0]);
            self.set("cache.write_back", write_back);
            // A flush does not empty a protected buffer: only writing out while idle makes room.
            let protected = write_back == 1.0 && self.chance(50);
            self.set("cache.protected", protected);
            let batch = self.one_of(&[1, 1, 4]);
            self.set("cache.batch", batch);
            self.has(Parameter::WriteBuffer, size);
            let class = match kind {
                "fifo" => "queue",
                "lru" => "rewrites",
                _ => "blocks",
            };
            self.is(Parameter::WriteBufferKind, Truth::Class(class));
            if class == "blocks" && self.packages > 1 {
                // All writes reach the flash as whole blocks with a share for every package: the
                // address determines the package even under dynamic mapping, and no package is
                // written alone.
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

    /// Generates the SLC cache, given the blocks per package. The cache takes whole blocks of each
    /// package; an SLC block holds a third of the pages of a normal block.
    fn slc(&mut self, share: f64, blocks: u64) {
        self.set("slc.share", share);
        self.set_us("slc.page_program", self.page_program / 3);
        self.set_us("slc.page_read", self.page_read);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below blocks")]
        let of_each = (share * blocks as f64 - 1e-6).ceil() as u64;
        let pages = of_each * (self.pages_per_block / 3);
        self.has(Parameter::SlcCache, self.packages * pages * self.page);
        // The simulator never lends other blocks to the cache.
        self.is(Parameter::SlcCacheKind, Truth::Class("static"));
        // An SLC block holds fewer pages than other blocks, which gives two segment sizes.
        self.truth.remove(&Parameter::Segment);
        self.separation_with_slc();
        // SLC blocks count neither as over-provisioning nor as places for all data.
        self.gc = None;
    }

    /// Corrects the true separation of cleaned data for drives with an SLC cache. Data that
    /// leaves the cache goes to the same blocks as cleaned data. Without idle cleaning, all host data goes this
    /// way and mixes with cleaned data; with idle cleaning, only a part of it does.
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

    fn no_groups(&mut self) {
        self.has(Parameter::Groups, 1);
        self.is(Parameter::GroupSwitch, Truth::Absent);
    }

    /// Generates a USB drive or an early SSD, with a block map and log blocks.
    fn log_blocks(&mut self) {
        self.pages_per_block = self.one_of(&[32, 64, 128, 128, 256]);
        self.packages = self.one_of(&[1, 1, 2]);
        let (overhead, transfer) = (self.rng.u64(100..500), self.rng.u64(20..60));
        let largest = self.one_of(&[0, 64, 120, 128, 240]) * KIB;
        self.interface(overhead, transfer, 1, largest);
        self.set("persistence.map", "pages");
        self.set("over_provisioning", 0.15);
        let blocks = self.rng.u64(2..13);
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
        self.has(Parameter::Segment, self.page * self.pages_per_block * self.packages);
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

    /// Sets the truth for drives whose addresses go to the packages in turn, one page each.
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

/// Returns the true value of a parameter whose profile field has this value.
#[allow(clippy::cast_precision_loss, reason = "sizes of drives are far below 2^53")]
fn truth(spec: &Spec, value: impl std::fmt::Display) -> Option<Truth> {
    let value = value.to_string();
    match spec.field {
        ProfileField::Unstated | ProfileField::Derived => None,
        ProfileField::Words { words, .. } => {
            let (_, class) = words.iter().find(|(word, _)| *word == value)?;
            Some(Truth::Class(class))
        }
        ProfileField::Value { absent, .. } => {
            let number = match spec.unit {
                Unit::Nanoseconds => value.parse::<Nanos>().ok()?.0,
                _ => value.parse().ok()?,
            };
            // A count is never absent: a drive without groups has one group.
            let is_absent = number == absent && spec.unit != Unit::Count;
            Some(if is_absent { Truth::Absent } else { Truth::Value(number as f64) })
        }
    }
}

/// Returns the write amplification of FIFO cleaning under uniform random writes, with `places`
/// physical pages per logical page (Desnoyers, SYSTOR 2012, equation 4): `1 / (1 - x)` with `x =
/// exp(-places (1 - x))`.
fn by_age(places: f64) -> f64 {
    let mut valid = 0.5;
    for _ in 0..500 {
        valid = f64::exp(-places * (1.0 - valid));
    }
    1.0 / (1.0 - valid)
}

/// Returns the write amplification of greedy cleaning (equation 12), from the spare share and the
/// pages per block.
#[allow(clippy::cast_precision_loss, reason = "pages of a block are few")]
fn greedy(spare: f64, pages_per_block: u64) -> f64 {
    let correction = 1.0 + 0.5 / pages_per_block as f64;
    by_age(correction / (1.0 - spare)) / correction
}
