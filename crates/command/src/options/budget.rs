use flashscope_block::{Bytes, Nanos};

use crate::names;

/// Limits on the total time and bytes of a measurement.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Limits")]
pub struct BudgetArgs {
    /// Time limit, on the clock of the drive; runs that do not fit are left out
    #[arg(long, value_name = "TIME", value_parser = names::duration)]
    pub budget_time: Option<Nanos>,

    /// Limit on bytes written, including those that bring the drive into its state
    #[arg(long, value_name = "SIZE")]
    pub budget_bytes: Option<Bytes>,
}
