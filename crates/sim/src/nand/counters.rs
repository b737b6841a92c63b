/// Makes an enum of what is counted, and a struct with a counter for each, from one list.
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
            /// Every one, in the order in which they are shown; as a number, each is its place.
            pub const ALL: &[$kind] = &[$($kind::$variant,)+];

            /// Its name in what is printed.
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
            /// All of them together.
            pub const fn total(&self) -> u64 {
                0 $(+ self.$field)+
            }

            /// Every one by its name.
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
    /// Why a flash command was given.
    enum Cause;
    /// Flash commands of one type, by cause.
    struct ByCause;
    /// A request of the host, including the read of a read-modify-write.
    Host host "host",
    /// Moving pages out of a block, and erasing it.
    Cleaning cleaning "cleaning",
    /// Making a log block, which holds its data block whole and in order, the data block; and
    /// erasing that.
    SwitchMerge switch_merge "switch merges",
    /// Copying to a log block in order what it lacks of its data block, then as a switch merge.
    PartialMerge partial_merge "partial merges",
    /// Gathering the newest pages of data blocks from them and their log blocks, and erasing those.
    FullMerge full_merge "full merges",
    /// Keeping the map: summaries of blocks, records of trims, pages of the map that are on the
    /// flash, and reading them at power-on.
    Mapping mapping "mapping",
    /// Moving pages from the SLC region to the rest.
    Folding folding "folding",
    /// Moving cold pages to worn blocks, and writing anew what reads have made hard to read.
    Wear wear "wear",
}

counted! {
    /// What an FTL does that is more than one flash command.
    enum Event;
    /// How often each [`Event`] has come.
    struct Events;
    /// See [`Cause::SwitchMerge`].
    SwitchMerge switch_merges "switch merges",
    /// See [`Cause::PartialMerge`].
    PartialMerge partial_merges "partial merges",
    /// See [`Cause::FullMerge`]; one for each data block that is made.
    FullMerge full_merges "full merges",
    /// A log block was given up for another.
    LogEviction log_evictions "evictions of log blocks",
    /// An entry of the map was in the memory of the controller when it was needed.
    MapHit map_hits "map hits",
    /// It was in the memory that the host lends.
    MapHostHit map_host_hits "map hits in host memory",
    /// It was in neither.
    MapMiss map_misses "map misses",
    /// A changed entry of the map was given up, and written to the flash.
    MapWriteBack map_write_backs "map write-backs",
}

/// Every command that the flash has carried out. Commands on an element of several packages count
/// once for each package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlashCounters {
    /// Pages read over the serial bus.
    pub reads: ByCause,
    /// Pages programmed, copies within a plane included.
    pub programs: ByCause,
    /// Pages copied within a plane, without the serial bus.
    pub copy_backs: ByCause,
    /// Blocks erased.
    pub erases: ByCause,
    /// What they were given for, where that took more than one.
    pub events: Events,
    /// Programs that failed; they are among `programs`.
    pub failed_programs: u64,
    /// Erases that failed; they are among `erases`.
    pub failed_erases: u64,
    /// How often pages were read again, since they could not be corrected; not among `reads`.
    pub read_retries: u64,
    /// Reads of the host that no retry made readable; they are among `reads`.
    pub failed_reads: u64,
}

impl FlashCounters {
    /// What was carried out since `earlier`, an earlier reading of the same flash.
    pub fn since(&self, earlier: &FlashCounters) -> FlashCounters {
        self.combine(earlier, |now, then| now - then)
    }

    /// The sum of what two arrays have carried out.
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
        }
    }
}
