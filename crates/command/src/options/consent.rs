/// The owner's consent to writing to a drive.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Consent to writing")]
pub struct ConsentArgs {
    /// Confirm that all data on the drive may be destroyed, by typing its serial number or path
    #[arg(long, value_name = "SERIAL_OR_PATH", conflicts_with = "read_only")]
    pub destroy_data_on: Option<String>,

    /// Write even if another program has the drive open for writing, as long as that program holds
    /// no lock on it
    ///
    /// flashscope still refuses a drive that is mounted, locked, or held by LVM or RAID.
    #[arg(long, conflicts_with = "read_only")]
    pub ignore_open_by_others: bool,
}

/// The option to write nothing.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
#[command(next_help_heading = "Consent to writing")]
pub struct ReadOnlyArgs {
    /// Open the drive for reading only, and run only experiments that do not write
    #[arg(long = "read-only", id = "read_only")]
    pub is_set: bool,
}
