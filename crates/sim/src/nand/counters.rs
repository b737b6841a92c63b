/// Defines an enum of counted things and a struct with one counter for each, from one list.
macro_rules! counted {
    (
        $(#[$enum_doc:meta])* enum $kind:ident;
        $(#[$struct_doc:meta])* struct $counters:ident;
        $($(#[$doc:meta])* $variant:ident $field:ident $name:literal,)+
    ) => {
        $(#[$enum_doc])*
        #[derive(
            Debug,
            Clone,
            Copy,
            PartialEq,
            Eq,
            Hash,
            serde::Serialize,
            serde::Deserialize,
            schemars::JsonSchema,
        )]
        pub enum $kind {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)+
        }

        impl $kind {
            /// All variants in display order. The discriminant of a variant is its index here.
            pub const ALL: &[$kind] = &[$($kind::$variant,)+];

            /// Returns the name used in output.
            pub const fn name(self) -> &'static str {
                match self { $($kind::$variant => $name,)+ }
            }
        }

        $(#[$struct_doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct $counters {
            $(#[doc = concat!("See [`", stringify!($kind), "::", stringify!($variant), "`].")]
            pub $field: u64,)+
        }

        impl $counters {
            /// Returns the sum of all counters.
            pub const fn total(&self) -> u64 {
                0 $(+ self.$field)+
            }

            /// Returns each counter with its name.
            pub const fn entries(&self) -> [(&'static str, u64); $kind::ALL.len()] {
                [$(($name, self.$field),)+]
            }

            fn combine(&self, other: &$counters, with: fn(u64, u64) -> u64) -> $counters {
                $counters { $($field: with(self.$field, other.$field),)+ }
            }

            #[inline]
            pub(super) fn count(&mut self, kind: $kind, times: u32) {
                let counter = match kind { $($kind::$variant => &mut self.$field,)+ };
                *counter += u64::from(times);
            }
        }
    };
}

counted! {
    /// The reason for a flash command.
    enum Cause;
    /// Flash commands of one type, by cause.
    struct ByCause;
    /// A host request, including the read of a read-modify-write.
    Host host "host",
    /// Garbage collection: moving valid pages out of a victim block, and erasing it.
    Cleaning cleaning "cleaning",
    /// A switch merge: a log block that holds all pages of a data block in order becomes the data
    /// block, and the old data block is erased.
    SwitchMerge switch_merge "switch merges",
    /// A partial merge: a log block holds the first pages of a data block in order, and the
    /// remaining pages are copied to it from the data block. The log block then becomes the data
    /// block, as in a switch merge.
    PartialMerge partial_merge "partial merges",
    /// A full merge: the newest copies of pages are gathered from data blocks and their log blocks
    /// into new blocks, and the old blocks are erased.
    FullMerge full_merge "full merges",
    /// Maintenance of the mapping table: block summaries, trim records, mapping pages on the flash,
    /// and reading all of these at power-on.
    Mapping mapping "mapping",
    /// Moving pages from blocks used as SLC to other blocks, and erasing the emptied blocks.
    Folding folding "folding",
    /// Wear levelling, which moves cold pages to worn blocks, and read refresh, which rewrites
    /// pages that have become hard to read.
    Wear wear "wear",
}

counted! {
    /// A merge, an eviction of a log block, or an event of the mapping cache.
    enum Event;
    /// The number of occurrences of each [`Event`].
    struct Events;
    /// A switch merge; see [`Cause::SwitchMerge`].
    SwitchMerge switch_merges "switch merges",
    /// A partial merge; see [`Cause::PartialMerge`].
    PartialMerge partial_merges "partial merges",
    /// A full merge; see [`Cause::FullMerge`]. Counts one for each data block written.
    FullMerge full_merges "full merges",
    /// A log block was evicted to make room for another one.
    LogEviction log_evictions "evictions of log blocks",
    /// A mapping entry was in the controller's memory.
    MapHit map_hits "map hits",
    /// A mapping entry was in the host memory buffer.
    MapHostHit map_host_hits "map hits in host memory",
    /// A mapping entry was in neither memory and was read from the flash.
    MapMiss map_misses "map misses",
    /// A changed mapping entry was evicted from memory and written to the flash.
    MapWriteBack map_write_backs "map write-backs",
}

/// Counts of all commands that the flash has carried out. A command on an element of several
/// packages counts once for each package, except in the counts of failures and retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlashCounters {
    /// Pages read over the serial bus.
    pub reads: ByCause,
    /// Pages programmed, including copies within a plane.
    pub programs: ByCause,
    /// Pages copied within a plane, without the serial bus.
    pub copy_backs: ByCause,
    /// Blocks erased.
    pub erases: ByCause,
    /// Merges, evictions of log blocks, and events of the mapping cache.
    pub events: Events,
    /// Failed programs, also counted in `programs`.
    pub failed_programs: u64,
    /// Failed erases, also counted in `erases`.
    pub failed_erases: u64,
    /// Retries of reads whose page could not be corrected, not counted in `reads`.
    pub read_retries: u64,
    /// Reads of pages that all retries left uncorrected, also counted in `reads`.
    pub failed_reads: u64,
    /// The times of commands; 0 unless the drive measures its energy.
    pub busy: BusyTimes,
}

/// The times in nanoseconds for which commands occupied cells and buses, summed over packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BusyTimes {
    /// Time to read cells.
    pub read: u64,
    /// Time to program cells.
    pub program: u64,
    /// Time to erase cells.
    pub erase: u64,
    /// Time to transfer data over a bus.
    pub bus: u64,
}

impl FlashCounters {
    /// Returns the counts since `earlier`, an earlier snapshot of the same flash.
    pub fn since(&self, earlier: &FlashCounters) -> FlashCounters {
        self.combine(earlier, |now, then| now - then)
    }

    /// Returns the sum of the counts of two arrays.
    pub fn plus(&self, other: &FlashCounters) -> FlashCounters {
        self.combine(other, |one, two| one + two)
    }

    fn combine(&self, other: &FlashCounters, with: fn(u64, u64) -> u64) -> FlashCounters {
        FlashCounters {
            reads: self.reads.combine(&other.reads, with),
            programs: self.programs.combine(&other.programs, with),
            copy_backs: self.copy_backs.combine(&other.copy_backs, with),
            erases: self.erases.combine(&other.erases, with),
            events: self.events.combine(&other.events, with),
            failed_programs: with(self.failed_programs, other.failed_programs),
            failed_erases: with(self.failed_erases, other.failed_erases),
            read_retries: with(self.read_retries, other.read_retries),
            failed_reads: with(self.failed_reads, other.failed_reads),
            busy: BusyTimes {
                read: with(self.busy.read, other.busy.read),
                program: with(self.busy.program, other.busy.program),
                erase: with(self.busy.erase, other.busy.erase),
                bus: with(self.busy.bus, other.busy.bus),
            },
        }
    }
}
