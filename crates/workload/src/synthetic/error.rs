use flashscope_block::did_you_mean;

/// The reason why a text is not a workload, or why the workload cannot run on the drive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    /// No workload has this name.
    #[error("no workload is called `{name}`{}; choose one of: {}", did_you_mean(*nearest), valid.join(", "))]
    Unknown {
        /// The name given.
        name: String,
        /// The most similar valid name.
        nearest: Option<&'static str>,
        /// Every valid name.
        valid: Vec<&'static str>,
    },
    /// The workload has no field of this name.
    #[error(
        "the workload `{workload}` has no field `{name}`{}; choose one of: {}",
        did_you_mean(*nearest), valid.join(", ")
    )]
    UnknownField {
        /// The name of the workload.
        workload: &'static str,
        /// The name given.
        name: String,
        /// The most similar valid name.
        nearest: Option<&'static str>,
        /// Every valid name.
        valid: Vec<&'static str>,
    },
    /// A part after `?` is not of the form `field=value`.
    #[error("`{0}` after `?` is not of the form `field=value`; join several by `&`")]
    NoField(String),
    /// The value of a field is invalid, or invalid on this drive.
    #[error("workload field `{field}` is {value}: {rule}")]
    Invalid {
        /// The field.
        field: &'static str,
        /// The value of the field.
        value: String,
        /// The requirement for a value.
        rule: String,
    },
    /// uFLIP has no micro-benchmark or experiment of this name, or the drive cannot run it.
    #[error("{0}")]
    Uflip(String),
    /// The name of the trace is missing, or its options cannot be applied.
    #[error("{0}")]
    Trace(String),
}
