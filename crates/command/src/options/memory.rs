use flashscope_block::Bytes;
use flashscope_sim::budget::{Budget, Limit};

/// The memory limit of simulated drives.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Limits")]
pub struct MemoryArgs {
    /// Limit the total memory of simulated drives; a drive that needs more is refused [default:
    /// half of this machine's memory]
    #[arg(long = "memory", id = "memory", value_name = "SIZE")]
    limit: Option<Bytes>,
}

impl MemoryArgs {
    /// Returns the memory budget of all simulated drives of a command.
    #[must_use]
    pub fn budget(&self) -> Budget {
        Budget::new(self.limit.map_or_else(Limit::of_machine, Limit::of))
    }

    /// Returns the limit that the user gave, if any.
    #[must_use]
    pub fn given(&self) -> Option<Bytes> {
        self.limit
    }
}
