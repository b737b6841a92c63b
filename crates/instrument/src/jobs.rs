/// How much is simulated at once.
#[derive(clap::Args)]
pub struct JobsArgs {
    /// Simulate so many drives at once [default: all processors]; the outcome does not depend on it
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

impl JobsArgs {
    /// How many drives.
    #[must_use]
    pub fn count(&self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        self.given().unwrap_or_else(all)
    }

    /// How many drives, where that was said.
    #[must_use]
    pub fn given(&self) -> Option<usize> {
        self.jobs.map(usize::from)
    }
}
