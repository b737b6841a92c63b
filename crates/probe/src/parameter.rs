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
    /// The approximate number of possible answers before any measurement. Its binary logarithm is the information in a certain
    /// answer.
    pub alternatives: u32,
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
        summary: "What the data is on, as far as timing tells: flash; memory, which takes the same \
                  short time for everything; a rotating disk, whose random reads wait for its arm and \
                  its platter; or nothing, which answers at once",
        source: "Sun and Zhang, section 3.2, whose basic assumptions these are",
        alternatives: 4,
        ..CLASS
    },
    Spec {
        parameter: Parameter::LargestRequest,
        name: "largest-request",
        title: "Largest request",
        summary: "The longest request that is carried out as one; longer ones are cut up, each part \
                  with the fixed cost of a request",
        source: "Sun and Zhang, section 4.4: 30 x 4 KiB",
        ..BYTES
    },
    Spec {
        parameter: Parameter::RequestCost,
        name: "request-cost",
        title: "Cost of a read request",
        summary: "What a read of 4 KiB at a random place takes, alone and without a switch of groups: the \
                  median",
        source: "Sun and Zhang, section 3.3",
        ..TIME
    },
    Spec {
        parameter: Parameter::BlockCost,
        name: "block-cost",
        title: "Cost per 4 KiB of long reads",
        summary: "What each further 4 KiB adds to a long read that is carried out as one",
        source: "Sun and Zhang, section 4.4: 0.25 ms",
        ..TIME
    },
    Spec {
        parameter: Parameter::PageSize,
        name: "page-size",
        title: "Flash page",
        summary: "What the flash reads and programs at once",
        source: "Sun and Zhang, section 4.2",
        alternatives: 6,
        ..BYTES
    },
    Spec {
        parameter: Parameter::Alignment,
        name: "alignment",
        title: "Alignment",
        summary: "Where the first page begins that does: how far requests should begin from address 0, \
                  modulo the page",
        source: "Agrawal et al., section 3.5; uFLIP, micro-benchmark 2",
        alternatives: 2,
        ..BYTES
    },
    Spec {
        parameter: Parameter::ContentEffect,
        name: "content-effect",
        title: "Effect of content",
        classes: &["none", "zeros-cost-less"],
        summary: "Whether it matters what is written: 0 == 1 of the paper",
        source: "Sun and Zhang, section 4.2 and Table 3",
        alternatives: 2,
        ..CLASS
    },
    Spec {
        parameter: Parameter::Groups,
        name: "groups",
        title: "Address groups",
        summary: "Into how many equal parts the address space is divided, of which one is at hand",
        source: "Sun and Zhang, section 4.1 and Table 3",
        alternatives: 4,
        ..COUNT
    },
    Spec {
        parameter: Parameter::GroupSwitch,
        name: "group-switch",
        title: "Switch of groups",
        summary: "What a request takes longer that begins in another group than the one before ended in",
        source: "Sun and Zhang, section 4.1: 0.25 ms",
        ..TIME
    },
    Spec {
        parameter: Parameter::ReadAhead,
        name: "read-ahead",
        title: "Read-ahead",
        summary: "How much is fetched behind sequential reads before it is asked for",
        source: "uFLIP, section 5.1; Kim et al., IEEE TC 2012",
        ..BYTES
    },
    Spec {
        parameter: Parameter::Parallelism,
        name: "parallelism",
        title: "Parallel units",
        summary: "How many parts of the flash serve reads at once: channels, or chips that interleave",
        source: "Chen et al., HPCA 2011; Agrawal et al., section 3.3",
        alternatives: 6,
        ..COUNT
    },
    Spec {
        parameter: Parameter::Chunk,
        name: "chunk",
        title: "Chunk",
        summary: "How many consecutive bytes are on one parallel unit before the next has its turn",
        source: "Chen et al., HPCA 2011; Agrawal et al., section 3.1",
        alternatives: 6,
        ..BYTES
    },
    Spec {
        parameter: Parameter::Mapping,
        name: "mapping",
        title: "Mapping to parallel units",
        classes: &["static", "dynamic"],
        summary: "Whether the address decides on which parallel unit data is, or the order in which it \
                  was written",
        source: "Chen et al., HPCA 2011; Agrawal et al., section 3.1",
        alternatives: 2,
        ..CLASS
    },
    Spec {
        parameter: Parameter::Volumes,
        name: "volumes",
        title: "Internal volumes",
        summary: "How many parts of the address space write and clean for themselves",
        source: "Kim et al., SSDcheck, MICRO 2018",
        alternatives: 5,
        ..COUNT
    },
    Spec {
        parameter: Parameter::WriteBuffer,
        name: "write-buffer",
        title: "Write buffer",
        summary: "How much the drive takes at the speed of its memory before writes wait for the flash",
        source: "Kim et al., SSDcheck, MICRO 2018; uFLIP, section 5.2",
        tolerance: 0.1,
        ..BYTES
    },
    Spec {
        parameter: Parameter::WriteBufferKind,
        name: "write-buffer-kind",
        title: "Kind of write buffer",
        classes: &["queue", "rewrites", "blocks"],
        summary: "What it does for what is written again while it is there: nothing (a queue), it takes \
                  no place (rewrites), or it leaves by whole blocks (blocks)",
        source: "Kim and Ahn, BPLRU, FAST 2008",
        alternatives: 3,
        ..CLASS
    },
    Spec {
        parameter: Parameter::MapCache,
        name: "map-cache",
        title: "Reach of the map's memory",
        summary: "How much of the address space can be read at random before entries of the map have to \
                  be fetched from the flash",
        source: "Gupta et al., DFTL, ASPLOS 2009",
        tolerance: 0.15,
        ..BYTES
    },
    Spec {
        parameter: Parameter::SlcCache,
        name: "slc-cache",
        title: "SLC cache",
        summary: "How much can be written at the speed of cells with one bit before that of the others \
                  shows",
        source: "whole-drive fills, as reviewers of drives run them",
        tolerance: 0.1,
        ..BYTES
    },
    Spec {
        parameter: Parameter::SlcCacheKind,
        name: "slc-cache-kind",
        title: "Kind of SLC cache",
        classes: &["static", "dynamic"],
        summary: "Whether it has blocks of its own and is always as large, or borrows the cells that no \
                  data is in and shrinks as the drive fills up",
        source: "whole-drive fills, as reviewers of drives run them at several fill levels",
        alternatives: 3,
        ..CLASS
    },
    Spec {
        parameter: Parameter::FtlClass,
        name: "ftl-class",
        title: "Class of FTL",
        classes: &["page-mapped", "bast", "fast", "groups-of-blocks"],
        summary: "How addresses are mapped: by pages; by blocks with log blocks of one data block each \
                  (bast) or of any (fast); or with log blocks shared by a group of data blocks \
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
        summary: "How many segments can be written to in turns before one has to be merged for another",
        source: "Sun and Zhang, section 4.3 and Table 3",
        alternatives: 16,
        ..COUNT
    },
    Spec {
        parameter: Parameter::LogEviction,
        name: "log-eviction",
        title: "Eviction from the log list",
        classes: &["fifo", "lru", "random"],
        summary: "Which log segment is merged when another is needed: the one in use for longest (fifo), \
                  the one whose last write is longest ago (lru), or any (random)",
        source: "Sun and Zhang, section 4.3, which leaves it open",
        alternatives: 3,
        ..CLASS
    },
    Spec {
        parameter: Parameter::MergeCost,
        name: "merge-cost",
        title: "Cost of a merge",
        summary: "What a write takes longer that needs a full merge: the valid pages of a segment copied \
                  and the segment erased",
        source: "Sun and Zhang, section 3.4: 120 ms",
        tolerance: 0.15,
        ..TIME
    },
    Spec {
        parameter: Parameter::OpenPartitions,
        name: "open-partitions",
        title: "Open partitions",
        summary: "How many places can be written sequentially in turns at the cost of one",
        source: "uFLIP, micro-benchmark 4 (Partitions)",
        alternatives: 16,
        ..COUNT
    },
    Spec {
        parameter: Parameter::OverProvisioning,
        name: "over-provisioning",
        title: "Over-provisioning",
        summary: "The share of the flash's places for data that the host cannot address, S_f, without \
                  the blocks that are always kept free: no host ever sees those",
        source: "Desnoyers, SYSTOR 2012; Boboila and Desnoyers, section III",
        ..SHARE
    },
    Spec {
        parameter: Parameter::CleaningPolicy,
        name: "cleaning-policy",
        title: "Cleaning policy",
        classes: &["greedy-like", "fifo-like", "random-like"],
        summary: "How the block to clean is chosen: by its valid pages (greedy, cost-benefit, the best of \
                  several), by its age, or at random",
        source: "Agrawal et al., section 3.2; Desnoyers, SYSTOR 2012",
        alternatives: 3,
        ..CLASS
    },
    Spec {
        parameter: Parameter::CleaningSeparation,
        name: "cleaning-separation",
        title: "Separation of cleaned data",
        classes: &["together", "apart"],
        summary: "Whether what cleaning moves shares blocks with what the host writes",
        source: "Desnoyers, SYSTOR 2012; Van Houdt, SIGMETRICS 2013",
        alternatives: 2,
        ..CLASS
    },
    Spec {
        parameter: Parameter::CleaningOnset,
        name: "cleaning-onset",
        title: "Onset of cleaning",
        summary: "How much can be written to a drive that was trimmed before cleaning has to move data",
        source: "uFLIP, section 4.2 (start-up phase)",
        tolerance: 0.15,
        ..BYTES
    },
    Spec {
        parameter: Parameter::CleaningPeriod,
        name: "cleaning-period",
        title: "Period of cleaning",
        summary: "How many bytes are written between one wait for cleaning and the next, on average, \
                  when pages are written at random for long",
        source: "uFLIP, section 4.2 (running phase)",
        tolerance: 0.15,
        ..BYTES
    },
    Spec {
        parameter: Parameter::IdleCleaning,
        name: "idle-cleaning",
        title: "Cleaning while idle",
        classes: &["no", "yes"],
        summary: "Whether the drive cleans while nothing is asked of it",
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
