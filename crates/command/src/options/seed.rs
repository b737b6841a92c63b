use crate::names;

/// The seed of random choices.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct SeedArgs {
    /// Seed of all random choices, unless the workload has its own; the same seed gives the same
    /// IOs
    #[arg(long = "seed", id = "seed", value_name = "SEED", default_value_t = 1,
          allow_negative_numbers = true, value_parser = names::seed)]
    pub value: u64,
}
