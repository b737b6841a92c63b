use flashscope_block::nearest;

/// What is wrong with a space.
#[derive(Debug, thiserror::Error)]
pub enum SpaceError {
    /// It is no TOML, or something has the wrong type.
    #[error("the space is not as it should be: {0}")]
    Toml(String),
    /// A name that means nothing.
    #[error("{place} has no `{name}`{}", .nearest.as_deref().map(|near| format!(", did you mean `{near}`?")).unwrap_or_default())]
    Unknown {
        /// Where it stands.
        place: &'static str,
        /// What was named.
        name: String,
        /// What may have been meant.
        nearest: Option<String>,
    },
    /// A factor without values, or with ones that are none.
    #[error("factor `{factor}`: {rule}")]
    Factor {
        /// The factor.
        factor: String,
        /// What is asked of it.
        rule: &'static str,
    },
    /// Something else that cannot be.
    #[error("{what}: {rule}")]
    Invalid {
        /// Which part of the space.
        what: String,
        /// What is asked of it.
        rule: String,
    },
}

impl SpaceError {
    /// An unknown name, among those that are known.
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
