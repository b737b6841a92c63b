use flashscope_block::{did_you_mean, nearest};

/// An error in the definition of a space.
#[derive(Debug, thiserror::Error)]
pub enum SpaceError {
    /// The text is not valid TOML, or a value has the wrong type.
    #[error("the space is invalid: {0}")]
    Toml(String),
    /// An unknown name.
    #[error("{place} has no `{name}`{}", did_you_mean(.nearest.as_deref()))]
    Unknown {
        /// The part of the space that holds the name.
        place: &'static str,
        /// The name.
        name: String,
        /// The nearest known name.
        nearest: Option<String>,
    },
    /// A factor with missing or invalid values.
    #[error("factor `{factor}`: {rule}")]
    Factor {
        /// The factor.
        factor: String,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// Any other error.
    #[error("{what}: {rule}")]
    Invalid {
        /// The part of the space.
        what: String,
        /// The rule that it breaks.
        rule: String,
    },
}

impl SpaceError {
    /// Returns the error for an unknown name, with the nearest known name.
    pub(super) fn unknown<'a>(
        place: &'static str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> SpaceError {
        let nearest = nearest(name, known).map(String::from);
        SpaceError::Unknown { place, name: name.into(), nearest }
    }

    pub(super) fn invalid(what: impl Into<String>, rule: impl Into<String>) -> SpaceError {
        SpaceError::Invalid { what: what.into(), rule: rule.into() }
    }
}
