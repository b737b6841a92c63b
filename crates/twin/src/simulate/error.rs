use flashscope_measure::MOST_IOS;
use flashscope_sim::ProfileError;
use flashscope_workload::synthetic::WorkloadError;
use flashscope_workload::trace;

/// Why nothing was simulated.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The drive is a real one, or none.
    #[error(
        "`{name}` is no simulated drive: name a profile, such as `sim:demo` (see `flashscope \
         simulate --list`), or one that `flashscope probe {name} --profile` has saved; `flashscope \
         bench` measures other drives"
    )]
    NotSimulated {
        /// What was named.
        name: String,
    },
    /// The profile is wrong, or no drive can work as it says.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The workload is wrong, or does not fit the drive.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The trace cannot be read, or does not fit the drive.
    #[error(transparent)]
    Trace(#[from] trace::Error),
    /// A length that is none.
    #[error("{option}: measure at least one IO, at most {MOST_IOS}, or for longer than nothing")]
    NoLength {
        /// The option.
        option: &'static str,
    },
    /// Two lengths.
    #[error("--ios and --duration: one of them says how much is measured")]
    TwoLengths,
    /// A uFLIP pattern that is to have more IOs in flight than processes.
    #[error(
        "--queue-depth: each process of a uFLIP pattern has one IO in flight; \
         `uflip:parallelism` has more processes"
    )]
    OneEach,
    /// More IOs in flight than the drive takes.
    #[error(
        "{asked} IOs in flight are more than the drive takes, {taken}; a larger \
         `interface.queue_depth` of the profile lets it take more"
    )]
    TooDeep {
        /// How many are asked for.
        asked: u32,
        /// How many the drive takes.
        taken: u32,
    },
    /// No IO is to be in flight.
    #[error("--queue-depth: at least 1 IO is in flight")]
    NoDepth,
    /// An array is to be looked into.
    #[error(
        "--observe and --trace-events look into one drive, and this is an array of {drives}: leave \
         them out, or set raid.drives=1"
    )]
    Array {
        /// How many drives it has.
        drives: usize,
    },
    /// There is no observer of that name.
    #[error("--observe: there is no `{name}` to observe with: see `flashscope simulate --list`")]
    NoObserver {
        /// What was named.
        name: String,
    },
    /// Nothing was measured yet when it was stopped.
    #[error("interrupted before anything was measured")]
    Interrupted,
    /// The drive failed an IO before anything was measured.
    #[error("{failure} before anything was measured{}", .end_of_life.as_deref().unwrap_or_default())]
    Failed {
        /// What went wrong where.
        failure: String,
        /// Why, where the drive is worn out.
        end_of_life: Option<String>,
    },
    /// The warm-up took all of the workload.
    #[error("the workload ended in its warm-up, after {ios} IOs: nothing is left to be measured")]
    NothingLeft {
        /// IOs of the warm-up.
        ios: u64,
    },
}

impl Error {
    /// Whether it is about what was asked for, rather than about what happened on the way.
    #[must_use]
    pub fn is_input(&self) -> bool {
        match self {
            Error::Trace(error) => !matches!(error, trace::Error::Io { .. }),
            Error::Interrupted | Error::Failed { .. } | Error::NothingLeft { .. } => false,
            _ => true,
        }
    }
}
