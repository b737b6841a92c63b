/// Returns the number of processors, which is the default number of jobs.
pub(crate) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The number of simulations that run at once.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
#[command(next_help_heading = "Limits")]
pub struct JobsArgs {
    /// Simulate this many drives at once [default: all processors]; the outcome does not depend on
    /// it
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

impl JobsArgs {
    /// Returns the number of drives to simulate at once.
    #[must_use]
    pub fn count(&self) -> usize {
        self.given().unwrap_or_else(processors)
    }

    /// Returns the number that the user gave, if any.
    #[must_use]
    pub fn given(&self) -> Option<usize> {
        self.jobs.map(usize::from)
    }
}
