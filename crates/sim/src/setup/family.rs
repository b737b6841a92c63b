//! The families of FTLs, which decide which sections of a profile apply.

/// The sections of a profile that an FTL uses. A profile that sets unsupported options is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Page mapping: any logical page may be on any page. Uses `[cleaning]` and wear levelling.
    PageMapped {
        /// True if the mapping table is on the flash. `[map_cache]` then sets the size of the
        /// memory that caches its entries.
        map_on_flash: bool,
    },
    /// Block mapping, with the log blocks of `[log]`.
    LogBlock(LogUse),
}

impl Family {
    /// Returns true if a logical page may be on any page of its pool.
    pub const fn is_page_mapped(self) -> bool {
        matches!(self, Family::PageMapped { .. })
    }

    /// Returns true if FTLs of the family support trim. Drives with log blocks predate the command.
    pub const fn trims(self) -> bool {
        self.is_page_mapped()
    }

    /// Returns which data blocks share a log block, or `None` if the FTL has no log blocks.
    pub fn sharing(self) -> Option<LogSharing> {
        match self {
            Family::PageMapped { .. } => None,
            Family::LogBlock(uses) => Some(uses.sharing),
        }
    }
}

/// The way in which an FTL uses log blocks. It determines which options of `[log]` are valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogUse {
    /// Minimum number of log blocks in a pool.
    pub min_blocks: u32,
    /// The data blocks that share a log block.
    pub sharing: LogSharing,
    /// True if the log block of a data block takes pages in any order. `log.unordered` applies only
    /// then.
    pub any_order: bool,
}

/// The data blocks whose pages a log block takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogSharing {
    /// One data block.
    One,
    /// The data blocks of a group of logical blocks.
    Group,
    /// All data blocks of the pool.
    All,
    /// All data blocks of the pool. Some log blocks are only for long writes, and some only for
    /// pages that are soon rewritten.
    ByLocality,
}
