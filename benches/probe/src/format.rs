//! Formats the figures of a page.

/// Returns a figure, in bold if it misses its target.
pub(crate) fn mark(figure: String, misses: bool) -> String {
    if misses { format!("**{figure}**") } else { figure }
}

pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

pub(crate) fn whole_percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}
