//! Suggestions for misspelt names.

/// Returns `, did you mean ...?` if one of `names` is similar to `wrong`; empty otherwise.
pub(crate) fn suggestion<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> String {
    flashscope_block::nearest(wrong, names)
        .map(|name| format!(", did you mean `{name}`?"))
        .unwrap_or_default()
}
