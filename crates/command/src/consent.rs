/// The owner's consent to writing to a drive.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ConsentArgs {
    /// Confirm that all data on the drive may be destroyed, by typing its serial number or path
    #[arg(
        long,
        value_name = "SERIAL_OR_PATH",
        conflicts_with = "read_only",
        help_heading = "Consent to writing"
    )]
    pub destroy_data_on: Option<String>,

    /// Write although another program has the drive open for writing, if that holds no lock on it
    ///
    /// A drive that is mounted, held or locked is refused all the same.
    #[arg(long, conflicts_with = "read_only", help_heading = "Consent to writing")]
    pub ignore_open_by_others: bool,
}
