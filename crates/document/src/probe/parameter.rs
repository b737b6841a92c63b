//! The parameters of a drive that probes look for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A parameter of a drive.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "PARAMETERS describes each")]
pub enum Parameter {
    Medium,
    LargestRequest,
    RequestCost,
    BlockCost,
    PageSize,
    Alignment,
    ContentEffect,
    Groups,
    GroupSwitch,
    ReadAhead,
    Parallelism,
    Chunk,
    Mapping,
    Volumes,
    WriteBuffer,
    WriteBufferKind,
    MapCache,
    SlcCache,
    SlcCacheKind,
    FtlClass,
    Segment,
    LogList,
    LogEviction,
    MergeCost,
    OpenPartitions,
    OverProvisioning,
    CleaningPolicy,
    CleaningSeparation,
    CleaningOnset,
    CleaningPeriod,
    IdleCleaning,
}

/// The unit of a parameter's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
    /// A count.
    Count,
    /// A share, 0 to 1.
    Share,
    /// No unit: one of the classes in [`Spec::classes`].
    Class,
}

/// The specification of a parameter.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// The parameter.
    pub parameter: Parameter,
    /// The name on the command line and in results.
    pub name: &'static str,
    /// The name for readers.
    pub title: &'static str,
    /// The unit of its values.
    pub unit: Unit,
    /// The possible classes; empty unless `unit` is [`Unit::Class`].
    pub classes: &'static [&'static str],
    /// The exact meaning.
    pub summary: &'static str,
    /// The source.
    pub source: &'static str,
    /// The relative error that a value may have and still count as right.
    pub tolerance: f64,
    /// The field of a simulated drive's profile that states the value, if any.
    pub field: ProfileField,
    /// The approximate number of possible answers before any measurement. Its binary logarithm is
    /// the information, in bits, that an answer with probability 1 gives.
    pub alternatives: u32,
}

/// The fields of a simulated drive's profile that state the value of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileField {
    /// No field: the fields of other parameters imply the value, or the simulator lacks the
    /// feature.
    Unstated,
    /// Fields that are derived from this parameter and others (`crates/probe/src/profile.rs`).
    Derived,
    /// A field that holds the value.
    Value {
        /// The path of the field.
        path: &'static str,
        /// The value of a drive without the feature.
        absent: u64,
        /// The values that simulated test drives get at random. The accuracy of the probe is
        /// measured on these drives. Empty if their generator (`benches/probe/src/drives.rs`) sets
        /// the field.
        trials: &'static [u64],
    },
    /// A field that holds a word for the class.
    Words {
        /// The path of the field.
        path: &'static str,
        /// The words that the field may hold, each with its class. A fitted profile gets the first
        /// word of the class found, or the first of all words if the class is unknown.
        words: &'static [(&'static str, &'static str)],
    },
}

impl ProfileField {
    /// Returns the path of the field that this parameter alone determines.
    pub fn path(self) -> Option<&'static str> {
        match self {
            ProfileField::Unstated | ProfileField::Derived => None,
            ProfileField::Value { path, .. } | ProfileField::Words { path, .. } => Some(path),
        }
    }
}

impl Parameter {
    /// Returns the specification.
    pub fn spec(self) -> &'static Spec {
        // PARAMETERS has the order of the variants; a test checks that.
        &PARAMETERS[self as usize]
    }

    /// Returns the parameter of this name.
    pub fn named(name: &str) -> Option<Parameter> {
        PARAMETERS.iter().find(|spec| spec.name == name).map(|spec| spec.parameter)
    }

    /// Returns the name on the command line and in results.
    pub fn name(self) -> &'static str {
        self.spec().name
    }
}

const BYTES: Spec = Spec {
    parameter: Parameter::Medium,
    name: "",
    title: "",
    unit: Unit::Bytes,
    classes: &[],
    summary: "",
    source: "",
    tolerance: 0.0,
    field: ProfileField::Derived,
    alternatives: 8,
};
const CLASS: Spec = Spec { unit: Unit::Class, ..BYTES };
const COUNT: Spec = Spec { unit: Unit::Count, ..BYTES };
const TIME: Spec = Spec { unit: Unit::Nanoseconds, tolerance: 0.1, ..BYTES };
const SHARE: Spec = Spec { unit: Unit::Share, tolerance: 0.2, ..BYTES };

/// Every parameter, in display order.
pub const PARAMETERS: &[Spec] = &[
    Spec {
        parameter: Parameter::Medium,
        name: "medium",
        title: "Medium",
        classes: &["flash", "memory", "rotating", "nothing"],
        summary: "The storage medium, judged by timing: flash, memory (the same short time for \
                         everything), a rotating disk (random reads wait for arm and platter), or \
                         nothing (immediate answers)",
        field: ProfileField::Unstated,
        source: "Sun and Zhang, section 3.2, which states these basic assumptions",
        alternatives: 4,
        ..CLASS
    },
    Spec {
        parameter: Parameter::LargestRequest,
        name: "largest-request",
        title: "Largest request",
        summary: "The longest request that the drive does not split; it splits longer requests, and each \
                         part has the fixed cost of a request",
        field: ProfileField::Value { path: "interface.largest_request", absent: 0, trials: &[] },
        source: "Sun and Zhang, section 4.4: 30 x 4 KiB",
        ..BYTES
    },
    Spec {
        parameter: Parameter::RequestCost,
        name: "request-cost",
        title: "Cost of a read request",
        summary: "The median time of a read of 4 KiB at a random address, with no other request in flight \
                         and in the same address group as the previous read",
        source: "Sun and Zhang, section 3.3",
        ..TIME
    },
    Spec {
        parameter: Parameter::BlockCost,
        name: "block-cost",
        title: "Cost per 4 KiB of long reads",
        summary: "The additional time per 4 KiB of a long read that the drive does not split",
        source: "Sun and Zhang, section 4.4: 0.25 ms",
        ..TIME
    },
    Spec {
        parameter: Parameter::PageSize,
        name: "page-size",
        title: "Flash page",
        summary: "The unit in which the flash is read and programmed",
        source: "Sun and Zhang, section 4.2",
        alternatives: 6,
        ..BYTES
    },
    Spec {
        parameter: Parameter::Alignment,
        name: "alignment",
        title: "Alignment",
        summary: "The first page boundary: its offset from address 0, modulo the page size",
        field: ProfileField::Unstated,
        source: "Agrawal et al., section 3.5; uFLIP, micro-benchmark 2",
        alternatives: 2,
        ..BYTES
    },
    Spec {
        parameter: Parameter::ContentEffect,
        name: "content-effect",
        title: "Effect of content",
        classes: &["none", "zeros-cost-less"],
        summary: "The effect of the written data on the cost of writes; the paper calls it 0 == 1",
        source: "Sun and Zhang, section 4.2 and Table 3",
        alternatives: 2,
        ..CLASS
    },
    Spec {
        parameter: Parameter::Groups,
        name: "groups",
        title: "Address groups",
        summary: "The number of equal parts of the address space, of which one at a time is quickly accessible",
        field: ProfileField::Value { path: "groups.count", absent: 1, trials: &[] },
        source: "Sun and Zhang, section 4.1 and Table 3",
        alternatives: 4,
        ..COUNT
    },
    Spec {
        parameter: Parameter::GroupSwitch,
        name: "group-switch",
        title: "Switch of groups",
        summary: "The additional time of a request that begins in another group than that in which the \
                         last request ended",
        field: ProfileField::Value { path: "groups.switch_time", absent: 0, trials: &[] },
        source: "Sun and Zhang, section 4.1: 0.25 ms",
        ..TIME
    },
    Spec {
        parameter: Parameter::ReadAhead,
        name: "read-ahead",
        title: "Read-ahead",
        summary: "The number of bytes that the drive fetches ahead of sequential reads",
        source: "uFLIP, section 5.1; Kim et al., IEEE TC 2012",
        ..BYTES
    },
    Spec {
        parameter: Parameter::Parallelism,
        name: "parallelism",
        title: "Parallel units",
        summary: "The number of flash parts that serve reads at once: channels, or chips that interleave",
        source: "Chen et al., HPCA 2011; Agrawal et al., section 3.3",
        alternatives: 6,
        ..COUNT
    },
    Spec {
        parameter: Parameter::Chunk,
        name: "chunk",
        title: "Chunk",
        summary: "The number of consecutive bytes on one parallel unit before the next unit follows",
        source: "Chen et al., HPCA 2011; Agrawal et al., section 3.1",
        alternatives: 6,
        ..BYTES
    },
    Spec {
        parameter: Parameter::Mapping,
        name: "mapping",
        title: "Mapping to parallel units",
        classes: &["static", "dynamic"],
        summary: "The rule that assigns data to parallel units: by its address (static), or by the order \
                         of writing (dynamic)",
        source: "Chen et al., HPCA 2011; Agrawal et al., section 3.1",
        alternatives: 2,
        ..CLASS
    },
    Spec {
        parameter: Parameter::Volumes,
        name: "volumes",
        title: "Internal volumes",
        summary: "The number of parts of the address space that write and clean independently",
        field: ProfileField::Unstated,
        source: "Kim et al., SSDcheck, MICRO 2018",
        alternatives: 5,
        ..COUNT
    },
    Spec {
        parameter: Parameter::WriteBuffer,
        name: "write-buffer",
        title: "Write buffer",
        summary: "The number of bytes that the drive accepts at the speed of memory before writes wait for the flash",
        source: "Kim et al., SSDcheck, MICRO 2018; uFLIP, section 5.2",
        tolerance: 0.1,
        ..BYTES
    },
    Spec {
        parameter: Parameter::WriteBufferKind,
        name: "write-buffer-kind",
        title: "Kind of write buffer",
        classes: &["queue", "rewrites", "blocks"],
        summary: "The treatment of data that is written again while buffered: it takes up space again \
                         (queue), it replaces the old data (rewrites), or the buffer evicts whole blocks (blocks)",
        source: "Kim and Ahn, BPLRU, FAST 2008",
        alternatives: 3,
        ..CLASS
    },
    Spec {
        parameter: Parameter::MapCache,
        name: "map-cache",
        title: "Reach of the map's memory",
        summary: "The part of the address space that can be read at random before map entries must be \
                         fetched from the flash",
        source: "Gupta et al., DFTL, ASPLOS 2009",
        tolerance: 0.15,
        ..BYTES
    },
    Spec {
        parameter: Parameter::SlcCache,
        name: "slc-cache",
        title: "SLC cache",
        summary: "The number of bytes that can be written at the speed of one-bit cells before writes \
                         slow down",
        field: ProfileField::Unstated,
        source: "whole-drive fills, as reviewers of drives run them",
        tolerance: 0.1,
        ..BYTES
    },
    Spec {
        parameter: Parameter::SlcCacheKind,
        name: "slc-cache-kind",
        title: "Kind of SLC cache",
        classes: &["static", "dynamic"],
        summary: "The allocation of the cache: blocks of its own and a fixed size (static), or cells \
                         without data, which become fewer as the drive fills up (dynamic)",
        field: ProfileField::Unstated,
        source: "whole-drive fills, as reviewers of drives run them at several fill levels",
        alternatives: 3,
        ..CLASS
    },
    Spec {
        parameter: Parameter::FtlClass,
        name: "ftl-class",
        title: "Class of FTL",
        classes: &["page-mapped", "bast", "fast", "groups-of-blocks"],
        summary: "The address mapping: by pages; by blocks with log blocks for one data block each \
                         (bast) or for any (fast); or with log blocks shared by a group of data blocks \
                         (superblock, N/K)",
        source: "Sun and Zhang, section 2.2; Boboila and Desnoyers, section II",
        alternatives: 4,
        ..CLASS
    },
    Spec {
        parameter: Parameter::Segment,
        name: "segment",
        title: "Segment",
        summary: "The erase unit as the host sees it: the consecutive bytes that are merged or recycled \
                  together",
        source: "Sun and Zhang, section 3.4 and Table 3",
        alternatives: 10,
        ..BYTES
    },
    Spec {
        parameter: Parameter::LogList,
        name: "log-list",
        title: "Log list",
        summary: "The number of segments that can be written in turns before the drive must merge \
                         one to write another",
        source: "Sun and Zhang, section 4.3 and Table 3",
        alternatives: 16,
        ..COUNT
    },
    Spec {
        parameter: Parameter::LogEviction,
        name: "log-eviction",
        title: "Eviction from the log list",
        classes: &["fifo", "lru", "random"],
        summary: "The log segment that is merged when another is needed: the segment in use for longest (fifo), \
                         the least recently written segment (lru), or any segment (random)",
        field: ProfileField::Words {
            path: "log.eviction",
            words: &[("fifo", "fifo"), ("lru", "lru"), ("random", "random")],
        },
        source: "Sun and Zhang, section 4.3, which leaves it open",
        alternatives: 3,
        ..CLASS
    },
    Spec {
        parameter: Parameter::MergeCost,
        name: "merge-cost",
        title: "Cost of a merge",
        summary: "The additional time of a write that causes a full merge: copying the valid pages of a \
                         segment and erasing it",
        source: "Sun and Zhang, section 3.4: 120 ms",
        tolerance: 0.15,
        ..TIME
    },
    Spec {
        parameter: Parameter::OpenPartitions,
        name: "open-partitions",
        title: "Open partitions",
        summary: "The number of regions that can be written in turns, each sequentially, at the cost of \
                         a single region",
        field: ProfileField::Unstated,
        source: "uFLIP, micro-benchmark 4 (Partitions)",
        alternatives: 16,
        ..COUNT
    },
    Spec {
        parameter: Parameter::OverProvisioning,
        name: "over-provisioning",
        title: "Over-provisioning",
        summary: "S_f: of the flash capacity for data, the share that the host cannot address; blocks \
                         that the drive always keeps free do not count, because hosts cannot observe them",
        source: "Desnoyers, SYSTOR 2012; Boboila and Desnoyers, section III",
        ..SHARE
    },
    Spec {
        parameter: Parameter::CleaningPolicy,
        name: "cleaning-policy",
        title: "Cleaning policy",
        classes: &["greedy-like", "fifo-like", "random-like"],
        summary: "The choice of the block to clean: by its valid pages (greedy, cost-benefit, the best of \
                         several random blocks), by its age, or at random",
        field: ProfileField::Words {
            path: "cleaning.policy",
            words: &[
                ("greedy", "greedy-like"),
                ("d-choices", "greedy-like"),
                ("cost-benefit", "greedy-like"),
                ("fifo", "fifo-like"),
                ("random", "random-like"),
            ],
        },
        source: "Agrawal et al., section 3.2; Desnoyers, SYSTOR 2012",
        alternatives: 3,
        ..CLASS
    },
    Spec {
        parameter: Parameter::CleaningSeparation,
        name: "cleaning-separation",
        title: "Separation of cleaned data",
        classes: &["together", "apart"],
        summary: "The placement of moved data: in blocks of its own (apart), or with the host's writes (together)",
        field: ProfileField::Words {
            path: "cleaning.frontiers",
            words: &[("one", "together"), ("host-and-cleaning", "apart")],
        },
        source: "Desnoyers, SYSTOR 2012; Van Houdt, SIGMETRICS 2013",
        alternatives: 2,
        ..CLASS
    },
    Spec {
        parameter: Parameter::CleaningOnset,
        name: "cleaning-onset",
        title: "Onset of cleaning",
        summary: "The number of bytes that can be written to a trimmed drive before cleaning has to move data",
        field: ProfileField::Unstated,
        source: "uFLIP, section 4.2 (start-up phase)",
        tolerance: 0.15,
        ..BYTES
    },
    Spec {
        parameter: Parameter::CleaningPeriod,
        name: "cleaning-period",
        title: "Period of cleaning",
        summary: "The mean number of bytes written from one wait for cleaning to the next, under \
                         sustained random writes of pages",
        field: ProfileField::Unstated,
        source: "uFLIP, section 4.2 (running phase)",
        tolerance: 0.15,
        ..BYTES
    },
    Spec {
        parameter: Parameter::IdleCleaning,
        name: "idle-cleaning",
        title: "Cleaning while idle",
        classes: &["no", "yes"],
        summary: "Cleaning while the drive receives no requests",
        field: ProfileField::Words {
            path: "background_cleaning",
            words: &[("false", "no"), ("true", "yes")],
        },
        source: "uFLIP, section 5.1 (Pause); SSDcheck, MICRO 2018",
        alternatives: 2,
        ..CLASS
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_in_order_with_serde_names_and_classes() {
        for (i, spec) in PARAMETERS.iter().enumerate() {
            assert_eq!(spec.parameter as usize, i);
            assert_eq!(format!("{:?}", spec.parameter), pascal(spec.name));
            assert_eq!(Parameter::named(spec.name), Some(spec.parameter));
            assert_eq!(spec.classes.is_empty(), spec.unit != Unit::Class, "{}", spec.name);
            assert!(spec.alternatives > 1 && !spec.summary.is_empty() && !spec.source.is_empty());
        }
    }

    fn pascal(kebab: &str) -> String {
        let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
        kebab.split('-').map(capital).collect()
    }
}
