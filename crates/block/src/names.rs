use std::fmt::Display;

/// Returns the name in `valid` that is most similar to `wrong`, for "did you mean" hints.
///
/// Compares `wrong`, in lower case, with each name and its last dotted part by Jaro-Winkler
/// similarity.
/// Returns `None` if no similarity exceeds 0.7.
pub fn nearest<'a>(wrong: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = wrong.to_lowercase();
    let likeness = |candidate: &str| {
        let last = candidate.rsplit('.').next().unwrap_or(candidate);
        strsim::jaro_winkler(&wrong, candidate).max(strsim::jaro_winkler(&wrong, last))
    };
    let likeliest = valid.into_iter().map(|candidate| (likeness(candidate), candidate));
    likeliest.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|best| best.0 > 0.7).map(|best| best.1)
}

/// Returns ` (did you mean ...?)` if one of the names in `valid` is similar to `wrong`; empty
/// otherwise.
pub fn suggestion<'a>(wrong: &str, valid: impl IntoIterator<Item = &'a str>) -> String {
    did_you_mean(nearest(wrong, valid))
}

/// Returns ` (did you mean ...?)` for the name that the user probably meant; empty without a name.
pub fn did_you_mean(name: Option<impl Display>) -> String {
    name.map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{nearest, suggestion};

    #[test]
    fn suggests_the_nearest_name_or_nothing() {
        let names = ["granularity", "locality", "cleaning.policy"];
        assert_eq!(nearest("granulrity", names), Some("granularity"));
        assert_eq!(nearest("Policy", names), Some("cleaning.policy"));
        assert_eq!(nearest("xyzzy", names), None);
        assert_eq!(nearest("anything", []), None);
        assert_eq!(suggestion("granulrity", names), " (did you mean `granularity`?)");
        assert_eq!(suggestion("xyzzy", names), "");
    }
}
