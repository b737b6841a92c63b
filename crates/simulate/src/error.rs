use flashscope_measure::MAX_IOS;
use flashscope_sim::ProfileError;
use flashscope_workload::synthetic::WorkloadError;

/// The reason why a simulation failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The name belongs to a real drive or a file, which `flashscope simulate` cannot open.
    #[error(
        "`{name}` is not a simulated drive: name a profile, such as `sim:demo` (see `flashscope \
         simulate --list`), or one that `flashscope probe {name} --profile` has saved; `flashscope \
         bench` measures other drives"
    )]
    NotSimulated {
        /// The name that was given.
        name: String,
    },
    /// The profile is invalid, or describes a drive that cannot work.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The workload is invalid, or does not fit the drive.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The trace cannot be read, or does not fit the drive.
    #[error(transparent)]
    Trace(#[from] flashscope_trace::Error),
    /// The length of the measurement is zero or too large.
    #[error("{option}: measure at least one IO, at most {MAX_IOS}, or a duration above 0")]
    NoLength {
        /// The option.
        option: &'static str,
    },
    /// The request gives both a number of IOs and a duration.
    #[error("--ios and --duration: give only one of them")]
    TwoLengths,
    /// A queue depth above 1 for a uFLIP pattern, whose processes have one IO in flight each.
    #[error(
        "--queue-depth: each process of a uFLIP pattern has one IO in flight; \
         `uflip:parallelism` has more processes"
    )]
    OneEach,
    /// More IOs in flight than the drive accepts.
    #[error(
        "{requested} IOs in flight exceed the {accepted} that the drive accepts: set a larger \
         `interface.queue_depth` in the profile"
    )]
    TooDeep {
        /// The number that was requested.
        requested: u32,
        /// The number that the drive accepts.
        accepted: u32,
    },
    /// A steady fill of a drive that does not map pages.
    #[error(
        "--fill steady: the drive's FTL does not map pages, so no order of writes is known that leads to \
         its steady state: choose --fill random and --warmup steady"
    )]
    NoSteadyFill,
    /// The queue depth is 0.
    #[error("--queue-depth: give at least 1 IO in flight")]
    NoDepth,
    /// A request to observe an array, which has no single drive to observe.
    #[error(
        "--observe and --trace-events work on a single drive, and this is an array of {drives}: remove \
         these options, or set raid.drives=1"
    )]
    Array {
        /// The number of drives in the array.
        drives: usize,
    },
    /// There is no observer of that name.
    #[error("--observe: there is no observer `{name}`: see `flashscope simulate --list`")]
    NoObserver {
        /// The name that was given.
        name: String,
    },
    /// The workload of a tenant is invalid, or does not fit its namespace.
    #[error("--tenant {name}: {error}")]
    Tenant {
        /// The name of the tenant.
        name: String,
        /// The reason.
        error: Box<Error>,
    },
    /// A uFLIP pattern as the workload of a tenant.
    #[error(
        "--tenant {name}: the runs of a uFLIP pattern follow each other: choose an endless workload or a trace"
    )]
    TenantRuns {
        /// The name of the tenant.
        name: String,
    },
    /// Two tenants with the same name.
    #[error("--tenant: two tenants are named `{name}`: give them different names")]
    TenantTwice {
        /// The name.
        name: String,
    },
    /// Too many tenants.
    #[error("--tenant: a drive has at most {most} tenants")]
    Tenants {
        /// The largest number.
        most: usize,
    },
    /// The simulation was stopped before it had measured anything.
    #[error("interrupted before anything was measured")]
    Interrupted,
    /// The drive failed an IO before anything was measured.
    #[error("{failure} before anything was measured{}", .reason.as_deref().unwrap_or_default())]
    Failed {
        /// The error and the offset.
        failure: String,
        /// The reason, if the drive is worn out or has zones.
        reason: Option<String>,
    },
    /// The workload ended during its warm-up.
    #[error("the workload ended in its warm-up, after {ios} IOs: nothing is left to measure")]
    NothingLeft {
        /// IOs of the warm-up.
        ios: u64,
    },
}

impl Error {
    /// Returns true if the request is invalid, and false if its execution failed.
    #[must_use]
    pub fn is_input(&self) -> bool {
        match self {
            Error::Trace(error) => !matches!(error, flashscope_trace::Error::Io { .. }),
            Error::Interrupted | Error::Failed { .. } | Error::NothingLeft { .. } => false,
            _ => true,
        }
    }
}
