//! Writes the findings as the profile of a simulated drive, in TOML.

use std::fmt::Write;

use flashscope_block::DeviceInfo;

use crate::{Knowledge, PARAMETERS, Parameter, ProfileField, Spec, Unit};

/// The defaults for unknown parameters: the chips of Agrawal et al., USENIX ATC 2008, Table 1.
const PAGE: u64 = 4096;
const PAGES_PER_BLOCK: u64 = 64;
const PAGE_PROGRAM: u64 = 200_000;
const PAGE_READ: u64 = 25_000;
const SERIAL_PER_KIB: u64 = 25_600;
const BLOCK_ERASE: u64 = 1_500_000;
const OVER_PROVISIONING: f64 = 0.15;

/// Minimum number of spare blocks of each package, with some room for rounding.
const SPARE_BLOCKS: f64 = 3.5;

/// The bytes of a map entry.
const MAP_ENTRY: u64 = 8;

/// The sections with derived fields.
const SECTIONS: [&str; 7] =
    ["flash", "cleaning", "log", "persistence", "cache", "interface", "map_cache"];

/// Returns a simulated drive with the findings, as TOML for `sim:`. The simulated drive behaves
/// like the probed drive, but may have other internals. Returns `None` unless the medium is flash,
/// or is unknown while the FTL class is known.
pub fn profile(knowledge: &Knowledge, drive: &DeviceInfo) -> Option<String> {
    let is_flash = match knowledge.class(Parameter::Medium) {
        Some(medium) => medium == "flash",
        None => knowledge.class(Parameter::FtlClass).is_some(),
    };
    is_flash.then(|| Twin::new(knowledge, drive).text())
}

/// A profile under construction.
struct Twin<'k> {
    knowledge: &'k Knowledge,
    drive: &'k DeviceInfo,
    page: u64,
    packages: u64,
    pages_per_block: u64,
    ftl: &'static str,
    text: String,
}

impl<'k> Twin<'k> {
    fn new(knowledge: &'k Knowledge, drive: &'k DeviceInfo) -> Twin<'k> {
        let page = knowledge.whole(Parameter::PageSize).filter(|page| *page >= 512);
        let page = page.unwrap_or(PAGE);
        let packages = knowledge.whole(Parameter::Parallelism).unwrap_or(1).max(1);
        let segment = knowledge.whole(Parameter::Segment);
        let in_block = segment.map(|segment| segment / page / packages).filter(|pages| *pages > 1);
        let ftl = match knowledge.class(Parameter::FtlClass) {
            Some("bast") => "bast",
            Some("fast") => "fast",
            Some("groups-of-blocks") => "superblock",
            _ if knowledge.value(Parameter::MapCache).is_some() => "dftl",
            _ => "page-map",
        };
        let pages_per_block = in_block.unwrap_or(PAGES_PER_BLOCK);
        Twin { knowledge, drive, page, packages, pages_per_block, ftl, text: String::new() }
    }

    fn text(mut self) -> String {
        let name = self.drive.model.as_deref().unwrap_or(&self.drive.name);
        let name: String =
            name.chars().filter(|c| !c.is_control() && *c != '"' && *c != '\\').collect();
        self.line(
            "# A simulated drive with the findings of `flashscope probe`. `found` is followed by the",
        );
        self.line(
            "# probability that it is right. An `assumed` value was not measured. A `fitted` value",
        );
        self.line("# is chosen so that the drive reproduces the findings.");
        self.line("");
        self.line(&format!("model = \"{name}, as probed\""));
        self.drive_fields();
        self.section("flash");
        self.flash();
        self.section("cleaning");
        self.cleaning();
        if self.has_log() {
            self.section("log");
            self.log();
        }
        self.section("persistence");
        self.set("map", "\"pages\"", "assumed: a map in the metadata of pages");
        if self.ftl == "dftl" {
            self.section("map_cache");
            let reach = self.knowledge.whole(Parameter::MapCache).unwrap_or(0);
            let entries = (reach / self.page).max(1);
            self.set("size", entries * MAP_ENTRY, &self.found(Parameter::MapCache));
            self.set("entry_size", MAP_ENTRY, "assumed");
        }
        self.section("cache");
        self.cache();
        self.section("interface");
        self.interface();
        self.other_sections();
        self.rest();
        self.text
    }

    fn drive_fields(&mut self) {
        self.set("ftl", quoted(self.ftl), &self.found(Parameter::FtlClass));
        let share = self.over_provisioning();
        let found = self.knowledge.value(Parameter::OverProvisioning);
        let because = match found {
            Some(found) if found < share => String::from("fitted: cleaning needs this many blocks"),
            _ => self.found(Parameter::OverProvisioning),
        };
        self.set("over_provisioning", format_args!("{share:.4}"), &because);
        let stripe = self.knowledge.whole(Parameter::Chunk).unwrap_or(0) / self.page * self.page;
        self.set("stripe", stripe, &self.found(Parameter::Chunk));
        if self.packages > 1 && self.knowledge.class(Parameter::Mapping) == Some("dynamic") {
            let packages = self.packages;
            self.set("packages_per_pool", packages, &self.found(Parameter::Mapping));
            self.set("active_blocks", quoted("package"), &self.found(Parameter::Mapping));
        }
        self.direct_fields("");
    }

    /// Returns the over-provisioning found, but at least the few blocks of each package that a
    /// drive needs: one to write to, one to move pages to, and one to clean.
    fn over_provisioning(&self) -> f64 {
        let found = self.knowledge.value(Parameter::OverProvisioning);
        let found = found.filter(|share| (0.01..0.9).contains(share)).unwrap_or(OVER_PROVISIONING);
        let least = SPARE_BLOCKS / (self.blocks_of_data() + SPARE_BLOCKS);
        found.max(least)
    }

    /// Returns the number of blocks of each package that the addressable data takes.
    #[allow(clippy::cast_precision_loss, reason = "bytes of drives are below 2^53")]
    fn blocks_of_data(&self) -> f64 {
        self.drive.capacity.0 as f64 / (self.packages * self.page * self.pages_per_block) as f64
    }

    /// Returns the number of blocks of each package that gives the capacity of the drive.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn blocks(&self) -> u64 {
        (self.blocks_of_data() / (1.0 - self.over_provisioning())).ceil() as u64
    }

    fn flash(&mut self) {
        let (packages, page, pages_per_block) = (self.packages, self.page, self.pages_per_block);
        self.set("packages", packages, &self.found(Parameter::Parallelism));
        self.set("dies_per_package", 1, "assumed");
        self.set("planes_per_die", 1, "assumed");
        self.set("blocks_per_plane", self.blocks(), "fitted to the capacity");
        self.set("pages_per_block", pages_per_block, &self.found(Parameter::Segment));
        self.set("page_size", page, &self.found(Parameter::PageSize));
        let Times { page_read, serial_per_kib, .. } = self.times();
        self.set_time("page_read", page_read, "fitted: half of the cost of a block at most");
        self.set_time("serial_access_per_kib", serial_per_kib, "fitted, like `page_read`");
        let program = self.page_program();
        self.set_time("page_program", program, &self.fitted(Parameter::MergeCost));
        self.set_time("block_erase", BLOCK_ERASE, "assumed");
        let zeros = self.knowledge.class(Parameter::ContentEffect) == Some("zeros-cost-less");
        let zeros = if zeros { program / 8 } else { 0 };
        self.set_time("zero_page_program", zeros, &self.found(Parameter::ContentEffect));
    }

    /// Returns the program time of a page that explains the cost of a merge.
    fn page_program(&self) -> u64 {
        let Some(merge) = self.knowledge.whole(Parameter::MergeCost) else { return PAGE_PROGRAM };
        let Times { page_read, serial_per_kib, .. } = self.times();
        let copied = merge.saturating_sub(2 * BLOCK_ERASE) / self.pages_per_block;
        let moved = page_read + 2 * serial_per_kib * self.page / 1024;
        copied.saturating_sub(moved).max(page_read)
    }

    /// Returns times that reproduce the costs of reads. The flash is so fast that the host bus
    /// determines the cost of long reads.
    fn times(&self) -> Times {
        let request = self.knowledge.whole(Parameter::RequestCost).unwrap_or(2 * PAGE_READ);
        let block = self.knowledge.whole(Parameter::BlockCost).unwrap_or(request / 4);
        // The time that a page may take while the bus transfers the pages of all packages.
        let per_page = block.min(request) * self.page / 4096 * self.packages;
        let page_read = PAGE_READ.min(per_page / 4).max(1);
        let serial_per_kib = SERIAL_PER_KIB.min(per_page / 4 * 1024 / self.page).max(1);
        let transfer_per_kib = block / 4;
        let pages = 4096u64.div_ceil(self.page);
        let flash = pages * (page_read + serial_per_kib * self.page / 1024);
        let overhead = request.saturating_sub(flash + 4 * transfer_per_kib);
        Times { page_read, serial_per_kib, transfer_per_kib, overhead }
    }

    fn cleaning(&mut self) {
        self.direct_fields("cleaning");
        // The threshold is well within the spare blocks, but at least the two that a drive needs:
        // one to write to and one to move pages to.
        #[allow(clippy::cast_precision_loss, reason = "drives have fewer than 2^53 blocks")]
        let least = 1.999 / self.blocks() as f64;
        let threshold = (self.over_provisioning() / 4.0).min(0.03).max(least);
        self.set("free_threshold", format_args!("{threshold:.6}"), "assumed");
        let background = (self.over_provisioning() / 2.0).min(0.06).max(least);
        self.set("background_threshold", format_args!("{background:.6}"), "assumed");
    }

    fn has_log(&self) -> bool {
        matches!(self.ftl, "bast" | "fast" | "superblock")
    }

    fn log(&mut self) {
        let blocks = self.knowledge.whole(Parameter::LogList).unwrap_or(4).max(1);
        // FAST has one log block for sequential writes in addition to its list. Superblock
        // FTLs get the same number: one more than the list, and at least five.
        let blocks = if self.ftl == "bast" { blocks } else { blocks.max(4) + 1 };
        self.set("blocks", blocks, &self.found(Parameter::LogList));
        self.direct_fields("log");
        if self.ftl == "superblock" {
            self.set("group", 4, "assumed");
            self.set("per_group", 2, "assumed");
        }
    }

    fn cache(&mut self) {
        let kind = match self.knowledge.class(Parameter::WriteBufferKind) {
            Some("queue") => "fifo",
            Some("blocks") => "bplru",
            _ => "lru",
        };
        match self.knowledge.whole(Parameter::WriteBuffer) {
            Some(size) if size >= self.page => {
                self.set("kind", quoted(kind), &self.found(Parameter::WriteBufferKind));
                let size = size / self.page * self.page;
                self.set("size", size, &self.found(Parameter::WriteBuffer));
            }
            _ => self.set("kind", quoted("none"), &self.found(Parameter::WriteBuffer)),
        }
        let ahead = self.knowledge.whole(Parameter::ReadAhead).unwrap_or(0) / self.page;
        self.set("read_ahead", ahead, &self.found(Parameter::ReadAhead));
    }

    fn interface(&mut self) {
        let DeviceInfo { logical_block, queue_depth, .. } = *self.drive;
        self.set("logical_block", logical_block.0.min(self.page), "as the drive says");
        self.set("queue_depth", queue_depth, "as the drive was opened");
        let Times { overhead, transfer_per_kib, .. } = self.times();
        self.set_time("request_overhead", overhead, &self.fitted(Parameter::RequestCost));
        self.set_time("transfer_per_kib", transfer_per_kib, &self.fitted(Parameter::BlockCost));
        self.direct_fields("interface");
    }

    /// Writes the sections that have only direct fields.
    fn other_sections(&mut self) {
        let mut written: Vec<&str> = SECTIONS.to_vec();
        for spec in PARAMETERS {
            let Some((section, _)) = spec.field.path().and_then(|path| path.split_once('.')) else {
                continue;
            };
            if !written.contains(&section) {
                written.push(section);
                self.section(section);
                self.direct_fields(section);
            }
        }
    }

    /// Writes the fields of a section that are each determined by a single parameter; `""` stands
    /// for the fields before the first section.
    fn direct_fields(&mut self, section: &str) {
        for Spec { parameter, unit, field, .. } in PARAMETERS {
            let Some(path) = field.path() else { continue };
            let (of, name) = path.split_once('.').unwrap_or(("", path));
            if of == section {
                self.set(name, self.direct(*parameter, *unit, *field), &self.found(*parameter));
            }
        }
    }

    /// Returns the value of a direct field, as TOML.
    fn direct(&self, parameter: Parameter, unit: Unit, field: ProfileField) -> String {
        match field {
            ProfileField::Unstated | ProfileField::Derived => String::new(),
            ProfileField::Value { absent, .. } => {
                let value = self.knowledge.whole(parameter).unwrap_or(absent);
                match unit {
                    Unit::Nanoseconds => quoted(&format!("{value}ns")),
                    _ => value.to_string(),
                }
            }
            ProfileField::Words { words, .. } => {
                let class = self.knowledge.class(parameter);
                let of_class = words.iter().find(|(_, of)| Some(*of) == class);
                match of_class.unwrap_or(&words[0]).0 {
                    truth @ ("true" | "false") => truth.into(),
                    word => quoted(word),
                }
            }
        }
    }

    /// Writes the findings without a field, as comments.
    fn rest(&mut self) {
        self.line("");
        let unstated = PARAMETERS.iter().filter(|spec| spec.field == ProfileField::Unstated);
        for Spec { parameter, .. } in unstated {
            let finding = self.knowledge.finding(*parameter).filter(|finding| finding.is_known());
            if let Some(finding) = finding {
                let stated = finding.text();
                let name = parameter.name();
                self.line(&format!("# {name}: {stated}; no field says so"));
            }
        }
    }

    fn section(&mut self, name: &str) {
        self.line(&format!("\n[{name}]"));
    }

    fn set(&mut self, field: &str, value: impl std::fmt::Display, why: &str) {
        self.line(&format!("{field} = {value} # {why}"));
    }

    fn set_time(&mut self, field: &str, nanos: u64, why: &str) {
        self.set(field, format_args!("\"{nanos}ns\""), why);
    }

    fn line(&mut self, text: &str) {
        writeln!(self.text, "{text}").expect("a String can always be written to");
    }

    /// Returns the origin of a field's value.
    fn found(&self, parameter: Parameter) -> String {
        let finding = self.knowledge.finding(parameter).filter(|finding| finding.is_known());
        let name = parameter.name();
        match finding {
            Some(finding) => format!("found ({:.2}): {name}", finding.probability),
            None => format!("assumed: {name} was not found"),
        }
    }

    fn fitted(&self, parameter: Parameter) -> String {
        match self.knowledge.value(parameter) {
            Some(_) => format!("fitted to {}", parameter.name()),
            None => format!("assumed: {} was not found", parameter.name()),
        }
    }
}

/// Times, in nanoseconds.
struct Times {
    page_read: u64,
    serial_per_kib: u64,
    transfer_per_kib: u64,
    overhead: u64,
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}
