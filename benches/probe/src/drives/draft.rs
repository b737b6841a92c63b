//! A drive that is being generated: its fields and its true parameters.

use std::collections::BTreeMap;
use std::fmt::Write;

use fastrand::Rng;
use flashscope_block::Nanos;
use flashscope_document::probe::{PARAMETERS, Parameter, ProfileField, Spec, Unit};

use super::ranges::Ranges;
use super::{RandomDrive, Truth};

pub(super) const KIB: u64 = 1024;

/// A drive that is being generated.
pub(super) struct Draft<'a> {
    pub(super) ranges: &'a Ranges,
    pub(super) rng: Rng,
    pub(super) spec: String,
    pub(super) truth: BTreeMap<Parameter, Truth>,
    pub(super) page: u64,
    pub(super) pages_per_block: u64,
    /// The pages at the end of each block that hold its summary.
    pub(super) summary: u64,
    pub(super) packages: u64,
    /// The dies of a package, times the planes of a die.
    pub(super) planes: u64,
    /// The number of parts of a package that each have an active block.
    pub(super) lanes: u64,
    pub(super) page_read: u64,
    pub(super) page_program: u64,
    pub(super) block_erase: u64,
    pub(super) serial_per_kib: u64,
    /// The share of blocks in the SLC region.
    pub(super) slc: Option<f64>,
    pub(super) gc: Option<GcInputs>,
}

/// A formula for the write amplification, from the spare share and the pages per block.
pub(super) type Amplification = fn(f64, u64) -> f64;

/// The inputs for computing the onset of cleaning of a page-mapped drive.
#[derive(Debug, Clone, Copy)]
pub(super) struct GcInputs {
    pub(super) over_provisioning: f64,
    /// The share of blocks that the drive keeps free when idle.
    pub(super) kept_free: f64,
    pub(super) map_on_flash: bool,
    /// The formula for uniform random writes; `None` if the policy has no formula.
    pub(super) amplification: Option<Amplification>,
}

#[allow(clippy::cast_precision_loss, reason = "sizes of drives are far below 2^53")]
impl<'a> Draft<'a> {
    /// Generates the nth candidate of a seed, which may be invalid.
    pub(super) fn generate(ranges: &'a Ranges, seed: u64, nth: u64) -> RandomDrive {
        let mut rng = Rng::with_seed(seed + (nth << 32));
        let mut draft = Draft {
            ranges,
            spec: String::from("agrawal-2008?"),
            truth: BTreeMap::new(),
            page: KIB * one_of(&mut rng, ranges.page_kib),
            pages_per_block: one_of(&mut rng, ranges.pages_per_block),
            summary: 0,
            packages: 1,
            planes: 1,
            lanes: 1,
            page_read: rng.u64(ranges.page_read_us.clone()),
            page_program: rng.u64(ranges.page_program_us.clone()),
            block_erase: rng.u64(ranges.block_erase_us.clone()),
            serial_per_kib: rng.u64(ranges.serial_us_per_kib.clone()),
            slc: None,
            gc: None,
            rng,
        };
        let dies = draft.one_of(ranges.dies);
        let planes = draft.one_of(ranges.planes);
        draft.planes = dies * planes;
        write!(draft.spec, "flash.dies_per_package={dies}&flash.planes_per_die={planes}")
            .expect("a String can always be written to");
        draft.set("seed", seed);
        let [memory, flash] = ranges.page_maps;
        match draft.rng.u32(0..100) {
            kind if kind < memory => draft.page_mapped(false),
            kind if kind < memory + flash => draft.page_mapped(true),
            _ => draft.log_blocks(),
        }
        draft.flash();
        draft.trials();
        (ranges.change)(&mut draft);
        RandomDrive { spec: draft.spec, truth: draft.truth }
    }

    /// Sets a field, and the true value of the parameter that this field alone determines, if any.
    pub(super) fn set(&mut self, field: &str, value: impl std::fmt::Display) {
        write!(self.spec, "&{field}={value}").expect("a String can always be written to");
        let spec = PARAMETERS.iter().find(|spec| spec.field.path() == Some(field));
        if let Some((spec, truth)) = spec.and_then(|spec| Some((spec, truth(spec, value)?))) {
            self.is(spec.parameter, truth);
        }
    }

    pub(super) fn set_us(&mut self, field: &str, micros: u64) {
        self.set(field, format_args!("{micros}us"));
    }

    pub(super) fn is(&mut self, parameter: Parameter, truth: Truth) {
        self.truth.insert(parameter, truth);
    }

    pub(super) fn has(&mut self, parameter: Parameter, value: u64) {
        self.is(parameter, Truth::Value(value as f64));
    }

    pub(super) fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        one_of(&mut self.rng, values)
    }

    pub(super) fn chance(&mut self, percent: u32) -> bool {
        self.rng.u32(0..100) < percent
    }

    /// Sets a write buffer and its true values. Returns its class.
    pub(super) fn write_buffer(&mut self, kind: &str, size: u64) -> &'static str {
        self.set("cache.kind", kind);
        self.set("cache.size", size);
        self.has(Parameter::WriteBuffer, size);
        let class = match kind {
            "fifo" => "queue",
            "lru" => "rewrites",
            _ => "blocks",
        };
        self.is(Parameter::WriteBufferKind, Truth::Class(class));
        class
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

    /// Returns the number of bytes of data in one block of every lane, all lanes together.
    pub(super) fn segment(&self) -> u64 {
        self.page * (self.pages_per_block - self.summary) * self.packages * self.lanes
    }

    /// Generates the flash, after the number of packages is known.
    fn flash(&mut self) {
        let raw = self.one_of(self.ranges.raw_mib) * KIB * KIB;
        let blocks = raw / (self.packages * self.page * self.pages_per_block);
        let blocks = blocks.max(self.ranges.min_blocks).next_multiple_of(self.planes);
        let Draft { packages, page, pages_per_block, .. } = *self;
        self.set("flash.packages", packages);
        self.set("flash.page_size", page);
        self.set("flash.pages_per_block", pages_per_block);
        self.set("flash.blocks_per_plane", blocks / self.planes);
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

    pub(super) fn interface(
        &mut self,
        overhead_us: u64,
        transfer_us: u64,
        depth: u32,
        largest: u64,
    ) {
        self.set("interface.request_overhead", format_args!("{overhead_us}us"));
        self.set("interface.transfer_per_kib", format_args!("{transfer_us}us"));
        self.set("interface.queue_depth", depth);
        self.set("interface.largest_request", largest);
    }
}

/// Returns one of the values, at random. A single value uses no random number.
fn one_of<T: Copy>(rng: &mut Rng, values: &[T]) -> T {
    match values {
        [value] => *value,
        _ => values[rng.usize(0..values.len())],
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
