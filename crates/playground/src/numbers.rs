/// Defines [`Numbers`] from one list of fields.
macro_rules! numbers {
    ($($(#[$doc:meta])* $field:ident,)+) => {
        /// The numbers beside the picture of the flash. All counts are those of the film, since the
        /// fill.
        #[derive(Debug, Clone, Copy, PartialEq, Default)]
        pub struct Numbers {
            $($(#[$doc])* pub $field: f64,)+
        }

        impl Numbers {
            /// The names of all fields, in order.
            pub const NAMES: &[&str] = &[$(stringify!($field)),+];

            /// Returns the values of all fields, in order.
            #[must_use]
            pub fn values(&self) -> [f64; Numbers::NAMES.len()] {
                [$(self.$field),+]
            }
        }
    };
}

numbers! {
    /// Dies of the drive.
    dies,
    /// Blocks of a die.
    blocks_per_die,
    /// Pages of a block.
    pages_per_block,
    /// Pages that the host can address.
    logical_pages,
    /// Bytes of a page.
    page_size,
    /// Pages written by the host.
    host_written,
    /// Pages read by the host.
    host_read,
    /// Pages trimmed by the host.
    host_trimmed,
    /// Pages programmed for the host.
    programs_host,
    /// Pages programmed to move data out of blocks that are cleaned, by cleaning or merges.
    programs_moved,
    /// Pages of the map programmed.
    programs_mapping,
    /// Pages read from the flash.
    flash_reads,
    /// Blocks erased.
    erases,
    /// Pages that hold the newest data.
    pages_valid,
    /// Pages whose data was written again elsewhere or trimmed, and programmed pages without data.
    pages_superseded,
    /// Erased pages.
    pages_free,
    /// Write amplification since the fill; 0 before the first write.
    write_amplification,
    /// Write amplification that the theory predicts; 0 if no closed form covers the drive and its
    /// workload.
    theory,
    /// Simulated time since the fill, in nanoseconds.
    time,
    /// Mean response time of reads, in nanoseconds; 0 before the first.
    read_mean,
    /// The 99th percentile of the response times of reads, in nanoseconds.
    read_p99,
    /// Mean response time of writes, in nanoseconds; 0 before the first.
    write_mean,
    /// The 99th percentile of the response times of writes, in nanoseconds.
    write_p99,
    /// IOs in flight.
    in_flight,
    /// The block of the last flash command; -1 if there was none.
    last_block,
    /// The page of that command, within its block; -1 if there was none.
    last_page,
    /// The kind of that command: see [`crate::Touch`].
    last_touch,
    /// The block from which that command moved data; -1 for data of the host, and for commands that
    /// move nothing.
    last_source,
    /// Pages with the newest data in the block of that command.
    last_valid,
}
