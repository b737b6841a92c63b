/// The one of `valid` that is most like the name `wrong`, or whose last dotted part is; `None` where
/// none is near.
pub fn nearest<'a>(wrong: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = wrong.to_lowercase();
    let likeness = |candidate: &str| {
        let last = candidate.rsplit('.').next().unwrap_or(candidate);
        strsim::jaro_winkler(&wrong, candidate).max(strsim::jaro_winkler(&wrong, last))
    };
    let likeliest = valid.into_iter().map(|candidate| (likeness(candidate), candidate));
    likeliest.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|best| best.0 > 0.7).map(|best| best.1)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    // Is the nearest name found, by its last part as well, and none when nothing is near?
    #[test]
    fn finds_the_nearest() {
        let names = ["granularity", "locality", "cleaning.policy"];
        assert_eq!(nearest("granulrity", names), Some("granularity"));
        assert_eq!(nearest("Policy", names), Some("cleaning.policy"));
        assert_eq!(nearest("xyzzy", names), None);
        assert_eq!(nearest("anything", []), None);
    }
}
